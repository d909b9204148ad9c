"""``mercer dedup`` on large files and on many processes: shards, executors and the index of earlier
runs change nothing about what is kept."""

import concurrent.futures
import csv
import gzip
import json
import os
import pickle
import random
from functools import partial
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

import mercer
from cli.runner import command, printed
from cli.test_dedup import KEPT, PACKERS, ROWS, TEXTS, delimited, drawn, ids, json_lines
from killed_task import dying_once
from mercer import deduplicate
from mercer.cli import document_files, documents
from mercer.cli.dedup import DedupOptions, deduplicate_files
from mercer.cli.executors import mapped_by
from mercer.cli.files import ByteSource
from mercer.cli.terminal import OptionError
from mercer.dedup import CorpusIndex


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(documents, "ROWS", 7)


# --- shards --------------------------------------------------------------------------------------


def outputs(name, *options):
    suffix = Path(name.removesuffix(".gz")).suffix
    asked = ("dedup", name, "-o", f"out{suffix}", "--pairs", "p.csv", "--force", *options)
    assert command(*asked) == 0
    return Path(f"out{suffix}").read_bytes(), Path("p.csv").read_bytes()


@pytest.mark.spread(1)
@pytest.mark.parametrize("shard", [1, 300, 2500])
@pytest.mark.parametrize(
    "name", ["in.jsonl", "in.csv", "in.txt", "in.parquet", "in.jsonl.gz", "in.fa"]
)
def test_a_file_in_shards_gives_the_same(name, shard, monkeypatch):
    plain = json_lines(ROWS[:20]) + b"{broken\n" + json_lines(ROWS[20:])
    if name == "in.parquet":
        pl.DataFrame(ROWS).write_parquet(name, row_group_size=8)
    else:
        Path(name).write_bytes({
            "in.jsonl": plain, "in.jsonl.gz": gzip.compress(plain),
            "in.csv": b"\xef\xbb\xbf" + delimited(ROWS).replace(b"\r\n", b"\n"),
            "in.fa": "".join(
                f">{i}\n{text}\n\n" for i, text in enumerate([*drawn(61), *drawn(61)[:4]])
            ).encode(),
            "in.txt": "\r\n".join(text.replace("\n", " ") for text in TEXTS).encode(),
        }[name])  # fmt: skip
    whole = outputs(name, "--malformed", "skip")
    monkeypatch.setattr(documents, "SHARD", shard)
    monkeypatch.setattr(documents, "STEP", 50)
    made = document_files.format_of(ByteSource(Path(name)).name, name)(
        ByteSource(Path(name)), "text", None, None
    )
    shards = made.shards()
    assert len(shards) > 1 or name.endswith(".gz") or shard == 2500
    if made.source.plain:
        assert sum(len(part) for one in shards for part, _ in one.records(None)) > 60
    again = outputs(name, "--malformed", "skip")
    assert again[1] == whole[1]
    if name == "in.parquet":
        assert pl.read_parquet("out.parquet").equals(pl.DataFrame(ROWS)[KEPT])
    else:
        assert again[0] == whole[0]
    assert name != "in.fa" or again[0].count(b">") == 61


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz", "in.txt.bz2"])
def test_a_stream_begins_after_some_bytes(name):
    content = bytes(range(256)) * 9000
    Path(name).write_bytes(PACKERS[name.removeprefix("in.txt")](content))
    for after in (0, 10, 2**20 + 1, len(content) - 1, len(content), len(content) + 5):
        with ByteSource(Path(name)).opened(after) as file:
            assert file.read() == content[after:]


@pytest.mark.full
@pytest.mark.parametrize("shard", [1, 300, 10**9])
def test_malformed_lines_of_shards_have_their_numbers(shard, capsys, monkeypatch):
    monkeypatch.setattr(documents, "SHARD", shard)
    lines = json_lines(ROWS).splitlines(keepends=True)
    Path("in.jsonl").write_bytes(b"".join([*lines[:40], b"{broken\n", *lines[40:], b"3\n"]))
    code, said = printed(capsys, "dedup", "in.jsonl", "-o", "out.jsonl")
    assert code == 3
    assert "in.jsonl, line 41 is no JSON" in said
    code, said = printed(capsys, "dedup", "in.jsonl", "-o", "out.jsonl", "--malformed", "skip")
    assert "2 malformed left out: in.jsonl, line 41; in.jsonl, line 65." in said
    assert ids() == KEPT


# --- executors -----------------------------------------------------------------------------------


def dedup(**options):
    """As docs/duplicates.rst calls it from Python."""
    deduplicate_files(DedupOptions(files=(Path("in.jsonl"),), **options))


def elsewhere(function, numbers):
    """As another process would, in any order and in another folder."""
    copy, here = pickle.loads(pickle.dumps(function)), os.getcwd()
    os.chdir("/")
    try:
        return [copy(k) for k in random.Random(0).sample(list(numbers), len(numbers))]
    finally:
        os.chdir(here)


def forgetful(function, numbers):
    """Half of the tasks are not done, as if their process had been killed."""
    return elsewhere(function, list(numbers)[: (len(numbers) + 1) // 2])


@pytest.mark.full
def test_any_function_that_maps_runs_the_tasks(monkeypatch):
    monkeypatch.setattr(documents, "SHARD", 2000)
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    pool = concurrent.futures.ThreadPoolExecutor(3)
    for executor in (elsewhere, map, pool):
        output = Path("out.jsonl")
        dedup(output=output, executor=executor, force=True, quiet=True)
        assert ids() == KEPT
    with pytest.raises(RuntimeError, match="tasks of the stage 'buckets' were not done"):
        dedup(output=output, executor=forgetful, force=True, work=Path("w"))
    # what was done is there, and the next run does the rest
    dedup(output=output, executor=elsewhere, force=True, work=Path("w"))
    assert ids() == KEPT


def test_errors_of_tasks_are_said(capsys):
    Path("in.jsonl").write_bytes(json_lines(ROWS) + b"{broken\n")
    for executor in (elsewhere, map):
        with pytest.raises(ValueError, match=r"in\.jsonl, line 64 is no JSON"):
            dedup(output=Path("out.jsonl"), executor=executor)
    for executor, message in (
        ("spark", "--executor spark: give"), ("processes:0", "at least 1"),
        ("processes", "at least 1"),
    ):  # fmt: skip
        code, said = printed(capsys, "dedup", "in.jsonl", "-o", "o.jsonl", "--executor", executor)
        assert (code, message in said) == (2, True)
    asked = ("dedup", "in.jsonl", "-o", "o.jsonl", "--work", "w", "--task", "1/2")
    code, said = printed(capsys, *asked, "--executor", "processes:2")
    assert (code, "--task and --executor: give one of them" in said) == (2, True)
    with pytest.raises(TypeError, match="executor=3: give an object"), mapped_by(3):
        pass
    with pytest.raises(OptionError, match="pip install ray"), missing("ray"), mapped_by("ray"):
        pass


def missing(name):
    return patch.dict("sys.modules", {name: None})


@pytest.mark.parametrize("said", ["0.0.1", ModuleNotFoundError("No module named 'mercer'")])
def test_workers_of_dask_have_the_same_mercer(said):
    """Else it would wait without end for tasks that they cannot read."""
    client_of = type("Client", (), {"__module__": "distributed.client"})
    client_of.run = lambda self, *args, **named: {"tcp://there:1": said}
    message = rf"the worker tcp://there:1 has no Mercer {mercer.__version__} \(it says "
    with pytest.raises(ImportError, match=message), mapped_by(client_of()):
        pass


# Dask leaves sockets open where a worker has died
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.full
@pytest.mark.parametrize("kind", ["processes:2", "dask"])
def test_one_of_two_workers_is_killed(kind, monkeypatch, tmp_path):
    """The output is that of an undisturbed run."""
    monkeypatch.setattr(documents, "ROWS", 32_768)  # that of the workers
    monkeypatch.setattr(documents, "SHARD", 6000)
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    if kind == "dask":
        distributed = pytest.importorskip("distributed")
        cluster = distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0")
        kind = f"dask:{cluster.scheduler_address}"
    marker = str(tmp_path / "killed")

    def killing(function, numbers):
        return mapped(partial(dying_once, marker, function), numbers)

    with mapped_by(kind) as mapped:
        dedup(output=Path("out.jsonl"), executor=killing)
    assert os.path.exists(marker)
    assert ids() == KEPT
    if kind.startswith("dask"):
        cluster.close()


# --- an index ------------------------------------------------------------------------------------

NEW = [{"id": 100 + i, "text": text} for i, text in enumerate([
    TEXTS[0], TEXTS[4] + " more", "words that nobody has seen before", "",
    "words that nobody has seen before", TEXTS[7],
])]  # fmt: skip


@pytest.mark.spread(1)
@pytest.mark.parametrize("bits", [(), ("--bits", 8)])
def test_an_index_of_earlier_runs(bits, capsys):
    Path("monday.jsonl").write_bytes(json_lines(ROWS))
    Path("tuesday.jsonl").write_bytes(json_lines(NEW))
    code, said = printed(capsys, "dedup", "monday.jsonl", "-o", "out.jsonl", "--index", "i", *bits)
    assert code == 0
    assert ids() == KEPT
    assert f"{len(KEPT)} added to it. It has {len(KEPT)} now" in said
    assert "0 documents like one of the index" in said
    asked = ("dedup", "tuesday.jsonl", "-o", "new.jsonl", "--index", "i", "--pairs", "p.csv",
             "--report", "r.html", "--json")  # fmt: skip
    code, said = printed(capsys, *asked)
    facts = json.loads(said)
    assert (facts["like_the_index"], facts["removed"], facts["index"]["added"]) == (3, 4, 2)
    wanted = deduplicate([row["text"] for row in NEW], against=[TEXTS[i] for i in KEPT])
    assert ids("new.jsonl") == [NEW[i]["id"] for i in wanted.kept] == [102, 103]
    with open("p.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["kept_file"] for row in rows] == ["i", "i", "tuesday.jsonl", "i"]
    for row, old in zip((rows[0], rows[1], rows[3]), (0, 4, 7)):
        assert KEPT[int(row["kept_record"]) - 1] == old
    assert (rows[2]["record"], rows[2]["kept_record"]) == ("5", "3")
    # the same command again: the same answer, and nothing is added twice
    before = Path("new.jsonl").read_bytes(), Path("p.csv").read_bytes()
    code, said = printed(capsys, *asked, "--force")
    assert (Path("new.jsonl").read_bytes(), Path("p.csv").read_bytes()) == before
    assert len(CorpusIndex.open("i")) == len(KEPT) + 2
    # without an output it only adds
    code, said = printed(capsys, "dedup", "tuesday.jsonl", "--index", "i", "--keep", "longest")
    assert code == 0
    assert "Near-duplicates removed: 5" in said


def test_a_run_that_died_after_the_index_was_extended(capsys, monkeypatch):
    """Done again, it keeps what it has added."""
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    asked = ("dedup", "in.jsonl", "-o", "out.jsonl", "--index", "i")

    def dying(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("mercer.cli.dedup_outcome.Job.finish", dying)
        assert command(*asked) == 130
    assert len(CorpusIndex.open("i")) == len(KEPT)
    assert not Path("out.jsonl").exists()
    assert command(*asked) == 0
    assert ids() == KEPT
    assert len(CorpusIndex.open("i")) == len(KEPT)


def test_batches_of_an_index(monkeypatch):
    monkeypatch.setattr("mercer.cli.dedup.BATCH", 20)
    monkeypatch.setattr(documents, "SHARD", 3000)
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    assert command("dedup", "in.jsonl", "-o", "out.jsonl", "--index", "i") == 0
    index = CorpusIndex.open("i")
    assert (len(index), index.segments > 1) == (len(KEPT), True)
    texts = [TEXTS[i] for i in KEPT if TEXTS[i]]
    found = index.query(texts, threshold=1.0)
    places = [k for k, i in enumerate(KEPT) if TEXTS[i]]
    assert found["row"].tolist() == places


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--bits", 8), 2, "--bits: give --index"),
        (("--index", "i", "--threshold", 0.7), 2, "--threshold 0.7: the index i was made with 0.8"),
        (("--index", "i", "--recall", 0.9), 2, "--recall 0.9: the index i was made with 0.99"),
        (("--index", "i", "--bits", 8), 2, "--bits 8: the index i was made with the shingles"),
        (("--index", "i", "--words", 2), 2, "--index i: it was made with Words(size=3)"),
        (("--index", "full"), 3, "holds no index of documents"),
    ],
)
def test_an_index_with_other_options_is_refused(options, code, message, capsys):
    CorpusIndex.create("i")
    Path("full").mkdir()
    Path("full/file").touch()
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    found, said = printed(capsys, "dedup", "in.jsonl", "-o", "out.jsonl", *options)
    assert message in " ".join(said.split())
    assert found == code
