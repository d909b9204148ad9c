"""``mercer dedup``: every format gives the same answer, the bytes of records are kept, bad files
are named, and a job that was killed goes on."""

import bz2
import csv
import errno
import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.runner import command, printed
from lanes import few
from mercer import deduplicate
from mercer.cli import documents
from mercer.kernels import Morgan
from mercer.samples import chemistry

zstd = pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd")


def corpus(n=60, seed=0):
    rng = np.random.default_rng(seed)
    texts = []
    for i in range(n):
        words = [f"w{k}" for k in rng.integers(0, 500, 30)]
        if i % 3 == 2:
            words = texts[i - 2].replace("\n", " ").split()
            words[int(rng.integers(30))] = "other"
        texts.append(" ".join(words[:9]) + "\n" + ' "é", ' + " ".join(words[9:]))
    return [*texts, "", texts[0], ""]


TEXTS = corpus()
ROWS = [{"id": i, "text": text, "score": i % 7} for i, text in enumerate(TEXTS)]
KEPT = deduplicate(TEXTS).kept.tolist()


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def delimited(rows, separator=","):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(documents, "ROWS", 7)


def ids(path="out.jsonl"):
    return [json.loads(line)["id"] for line in Path(path).read_bytes().splitlines()]


PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstd.compress}


@pytest.mark.spread(2)
@pytest.mark.parametrize("packed", PACKERS)
def test_json_lines(packed):
    content = json_lines(ROWS)
    Path(f"in.jsonl{packed}").write_bytes(PACKERS[packed](content))
    assert command("dedup", f"in.jsonl{packed}", "-o", "out.jsonl") == 0
    lines = content.splitlines(keepends=True)
    assert Path("out.jsonl").read_bytes() == b"".join(lines[i] for i in KEPT)
    assert sorted(os.listdir()) == sorted([f"in.jsonl{packed}", "out.jsonl"])


def test_packed_output_is_the_same_each_time():
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    for suffix, unpack in ((".gz", gzip.decompress), (".zst", zstd.decompress)):
        found = []
        for _ in range(2):
            assert command("dedup", "in.jsonl", "-o", f"out.jsonl{suffix}", "--force") == 0
            found.append(Path(f"out.jsonl{suffix}").read_bytes())
        assert found[0] == found[1]
        Path("out.jsonl").write_bytes(unpack(found[0]))
        assert ids() == KEPT


def test_several_files_are_one_corpus():
    for k, part in enumerate((ROWS[:20], ROWS[20:21], [], ROWS[21:])):
        Path(f"part-{k}.jsonl").write_bytes(json_lines(part).rstrip(b"\n"))
    assert command("dedup", "part-*.jsonl", "-o", "out.jsonl") == 0
    assert ids() == KEPT


@pytest.mark.spread(1)
@pytest.mark.parametrize(("separator", "suffix"), [(",", ".csv"), ("\t", ".tsv"), (";", ".csv")])
def test_delimited(separator, suffix):
    content = delimited(ROWS, separator)
    Path(f"in{suffix}").write_bytes(b"\xef\xbb\xbf" + content)
    assert command("dedup", f"in{suffix}", "-o", f"out{suffix}") == 0
    rows = list(csv.DictReader(io.StringIO(Path(f"out{suffix}").read_text(), newline=""),
                               delimiter=separator))  # fmt: skip
    assert [int(row["id"]) for row in rows] == KEPT
    assert [row["text"] for row in rows] == [TEXTS[i] for i in KEPT]
    Path(f"two{suffix}").write_bytes(delimited(ROWS[:9], separator))
    assert command("dedup", f"in{suffix}", f"two{suffix}", "-o", f"out{suffix}", "--force") == 0
    assert len(Path(f"out{suffix}").read_text().split("id" + separator)) == 2  # one header


def test_plain_text():
    lines = [text.replace("\n", " ") for text in TEXTS]
    Path("in.txt").write_bytes("\r\n".join(lines).encode())
    assert command("dedup", "in.txt", "-o", "out.txt") == 0
    kept = Path("out.txt").read_bytes().decode().split("\r\n")
    assert [line.strip("\n") for line in kept] == [lines[i] for i in KEPT]


def test_parquet():
    frame = pl.DataFrame(ROWS).with_columns(pl.col("text").replace("", None))
    frame[:30].write_parquet("a.parquet", row_group_size=8)
    frame[30:].write_parquet("b.parquet", row_group_size=8)
    assert command("dedup", "a.parquet", "b.parquet", "-o", "out.parquet") == 0
    assert pl.read_parquet("out.parquet").equals(frame[KEPT])


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "cells",
    [["1.234,5", "2.000,0", "950"], ["30.01.2024", "31.1.24", "15 Dec 2023"], ["n/a", "1", "-5"],
     ["$1,200", "$1.3k", "$999"]],
    ids=["decimal commas", "dates", "marks", "amounts"],
)  # fmt: skip
def test_what_is_preferred_is_read_as_a_column_of_a_table_is(cells):
    rows = [{"text": TEXTS[0], "size": cell} for cell in cells]
    for name, content in (("in.csv", delimited(rows, ";")), ("in.jsonl", json_lines(rows))):
        Path(name).write_bytes(content)
        out = "out" + Path(name).suffix
        assert command("dedup", name, "-o", out, "--keep", "size", "--force") == 0
        assert cells[1] in Path(out).read_text()


@pytest.mark.parametrize("keep", ["longest", "score"])
def test_what_is_preferred(keep):
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    assert command("dedup", "in.jsonl", "-o", "out.jsonl", "--keep", keep) == 0
    scores = [row["score"] for row in ROWS] if keep == "score" else keep
    assert ids() == deduplicate(TEXTS, keep=scores).kept.tolist()


def test_dates_are_preferred_by_their_time():
    dates = ["2024-01-01", "2024-05-01T10:00:00+02:00", None]
    Path("in.jsonl").write_bytes(json_lines(
        [{"id": i, "text": "a b c d", "day": day} for i, day in enumerate(dates)]
    ))  # fmt: skip
    assert command("dedup", "in.jsonl", "-o", "out.jsonl", "--keep", "day") == 0
    assert ids() == [1]


def test_against_an_earlier_corpus():
    Path("old.jsonl").write_bytes(json_lines(ROWS[:20]))
    Path("new.jsonl").write_bytes(json_lines(ROWS[20:]))
    asked = ("dedup", "new.jsonl", "--against", "old.jsonl", "-o", "out.jsonl", "--pairs", "p.csv")
    assert command(*asked) == 0
    found = deduplicate(TEXTS[20:], against=TEXTS[:20])
    assert ids() == (found.kept + 20).tolist()
    pairs = pl.read_csv("p.csv")
    assert pairs["kept_file"].to_list() == [
        "old.jsonl" if earlier else "new.jsonl" for earlier in found.pairs["earlier"]
    ]
    assert (pairs["record"] == found.removed + 1).all()
    assert (pairs["kept_record"] == found.pairs["kept"] + 1).all()


def test_columns_inside_of_objects_and_characters():
    rows = [{"id": i, "post": {"body": text}} for i, text in enumerate(["abcdefgh", "abcdefghi"])]
    Path("in.jsonl").write_bytes(json_lines(rows))
    asked = ("dedup", "in.jsonl", "--column", "post.body", "-o", "out.jsonl", "--characters", 3)
    assert command(*asked) == 0
    assert ids() == [0]


def test_report_and_facts(capsys):
    rows = [*ROWS, {"id": 99, "text": "<script>é " + TEXTS[1]}]
    Path("in.jsonl").write_bytes(json_lines(rows))
    code, said = printed(capsys, "dedup", "in.jsonl", "--report", "r.html", "--json", "--fail",
                         "--threshold", 0.7)  # fmt: skip
    facts = json.loads(said)
    assert code == 7
    assert facts["documents"] == len(rows) == facts["kept"] + facts["removed"]
    assert facts["empty"] == 2
    assert facts["output"] is None
    text = Path("r.html").read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "in.jsonl, line 2: 1 removed" in text
    assert "<ins>other</ins>" in text
    assert "<svg" in text
    Path("one.jsonl").write_bytes(json_lines(ROWS[:2]))
    assert command("dedup", "one.jsonl", "--fail") == 0
    assert sorted(os.listdir()) == ["in.jsonl", "one.jsonl", "r.html"]


def test_screen(capsys):
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    code, said = printed(capsys, "dedup", "in.jsonl", "-o", "out.jsonl")
    assert code == 0
    assert f"Near-duplicates removed: {63 - len(KEPT)}" in said
    assert "2 documents without text: kept" in said


# --- bad input -----------------------------------------------------------------------------------

GOOD = json.dumps({"text": "a b c"}).encode()
BAD = [
    (b"{broken", "is no JSON"), (b'["text"]', "holds a list and no object"),
    (b'{"text": 3}', "has a number as 'text', and no text"),
    (b'{"body": "a"}', "has no column 'text'; it has ['body']"),
    (b'{"text": "\xff"}', "is not UTF-8: byte 11 is 0xff"),
    (b"[" * 100_000, "is no JSON"),
]  # fmt: skip


@pytest.mark.spread(3)
@pytest.mark.parametrize(("line", "message"), BAD)
def test_malformed_lines_are_named(line, message, capsys):
    Path("in.jsonl").write_bytes(b"\n".join([GOOD, b"", *[GOOD] * 8, line, GOOD]))
    code, said = printed(capsys, "dedup", "in.jsonl", "-o", "out.jsonl")
    assert code == 3
    assert f"in.jsonl, line 11 {message}" in said
    assert "--malformed skip" in said
    assert os.listdir() == ["in.jsonl"]
    code, said = printed(capsys, "dedup", "in.jsonl", "-o", "out.jsonl", "--malformed", "skip")
    assert code == 0
    assert "1 malformed left out: in.jsonl, line 11." in said
    assert Path("out.jsonl").read_bytes() == GOOD + b"\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.jsonl.gz", gzip.compress(json_lines(ROWS))[:-9], "cannot be uncompressed"),
        ("in.jsonl.gz", b"no gzip", "cannot be uncompressed"),
        ("in.csv", b"a,text\n1,x\n2\n", "row 2 has 1 fields, and the header has 2"),
        ("in.csv", b'a,text\n1,"x\n2,y\n', "row 1 is no row of fields"),
        ("in.csv", b"a,body\n1,x\n", "--column text: in.csv has no such column"),
        ("in.csv", b"", "is empty: it has no header"),
        ("in.csv", b"text\xff,b\n1,2\n", "the header is not UTF-8"),
        ("in.parquet", b"PAR1", "is not a readable Parquet file"),
        ("in.txt", b"good\nb\xe9d\n", "line 2 is not UTF-8: byte 2 is 0xe9"),
        ("in.doc", b"", "the name must end in .jsonl"),
    ],
)
def test_bad_files_are_named(name, content, message, capsys):
    Path(name).write_bytes(content)
    suffix = Path(name.removesuffix(".gz")).suffix
    code, said = printed(capsys, "dedup", name, "-o", f"out{suffix}")
    assert code == 3
    assert message in said
    assert not Path(f"out{suffix}").exists()


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".zst"])
def test_packed_files_that_are_torn_are_named(packed, capsys):
    Path("good.jsonl").write_bytes(json_lines(ROWS))
    whole = PACKERS[packed](json_lines(ROWS))
    for content in (whole[:-9], whole[: len(whole) // 2], whole[:20] + b"\0" * 20 + whole[40:]):
        Path(f"in.jsonl{packed}").write_bytes(content)
        asked = ("dedup", "good.jsonl", f"in.jsonl{packed}", "-o", "out.jsonl")
        code, said = printed(capsys, *asked)
        assert code == 3
        assert f"in.jsonl{packed} cannot be uncompressed" in said
        assert not Path("out.jsonl").exists()


def test_a_column_that_one_file_lacks_is_said(capsys):
    Path("a.jsonl").write_bytes(json_lines(ROWS))
    Path("b.jsonl").write_bytes(b'{"id": 1, "body": "x"}\n')
    code, said = printed(capsys, "dedup", "a.jsonl", "b.jsonl", "-o", "out.jsonl")
    assert (code, "b.jsonl, line 1 has no column 'text'; it has ['id', 'body']" in said) == (
        3,
        True,
    )
    pl.DataFrame(ROWS).write_parquet("a.parquet")
    pl.DataFrame({"id": [1], "body": ["x"]}).write_parquet("b.parquet")
    code, said = printed(capsys, "dedup", "a.parquet", "b.parquet", "-o", "out.parquet")
    assert (code, "--column text: b.parquet has no such column" in said) == (3, True)
    pl.DataFrame({"text": ["x"], "other": [1]}).write_parquet("b.parquet")
    code, said = printed(capsys, "dedup", "a.parquet", "b.parquet", "-o", "out.parquet")
    assert (code, "The files have different columns" in said) == (3, True)
    assert not Path("out.parquet").exists()


@pytest.mark.full
def test_a_document_of_100_megabytes():
    """It is read like others, and so is a copy of it with a word more."""
    text = " ".join(f"w{i:07d}" for i in range(10**8 // 9))
    with open("in.jsonl", "w") as file:
        for i, one in enumerate([text, "a b c", text + " more", "d e f"]):
            file.write(f'{{"id": {i}, "text": "{one}"}}\n')
    assert command("dedup", "in.jsonl", "-o", "out.jsonl") == 0
    assert ids() == [0, 1, 3]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ((), 2, "--output: give the file for the kept documents"),
        (("-o", "out.csv"), 2, "--output out.csv: records are copied as they are"),
        (("-o", "in.jsonl"), 4, "would replace a file that is read"),
        (("-o", "no/out.jsonl"), 4, "no such folder"),
        (("-o", "o.jsonl", "--threshold", 0), 2, "--threshold 0: give a number between"),
        (("-o", "o.jsonl", "--recall", 1), 2, "--recall 1: give a number between"),
        (("-o", "o.jsonl", "--threshold", 0.01), 2, "bands cannot find"),
        (("-o", "o.jsonl", "--words", 0), 2, "--words 0: give a number, at least 1"),
        (("-o", "o.jsonl", "--words", 2, "--characters", 2), 2, "give one of them"),
        (("-o", "o.jsonl", "--most-kept", 0), 2, "--most-kept 0"),
        (("-o", "o.jsonl", "--task", "3/2"), 2, "--task 3/2: give its number and how many"),
        (("-o", "o.jsonl", "--task", "1/2"), 2, "--task: give --work"),
        (("-o", "o.jsonl", "--keep", "text"), 3, "line 1 has 'w"),
        (("-o", "o.jsonl", "--keep", "when"), 3, "has no column 'when'"),
        (("-o", "o.jsonl", "other.csv"), 3, "several formats"),
        (("-o", "o.jsonl", "--column", "body"), 3, "has no column 'body'"),
    ],
)
def test_options_are_checked(options, code, message, capsys):
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    Path("other.csv").write_bytes(b"text\na\n")
    found, said = printed(capsys, "dedup", "in.jsonl", *options)
    assert message in said
    assert found == code


def test_files_with_other_headers_are_refused_at_once(capsys):
    Path("a.csv").write_bytes(b"id,text\n1,a\n")
    Path("b.csv").write_bytes(b"text,id\na,1\n")
    code, said = printed(capsys, "dedup", "a.csv", "b.csv", "-o", "out.csv")
    assert (code, "b.csv has another header than a.csv" in said) == (3, True)


def test_a_work_folder_of_another_job_is_refused(capsys):
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    assert command("dedup", "in.jsonl", "-o", "out.jsonl", "--work", "w") == 0
    assert command("dedup", "in.jsonl", "-o", "out.jsonl", "--work", "w", "--force") == 0
    asked = ("dedup", "in.jsonl", "-o", "o.jsonl", "--work", "w", "--threshold", 0.5)
    code, said = printed(capsys, *asked)
    assert (code, "w belongs to a job with other files, options" in said) == (3, True)


# --- stages --------------------------------------------------------------------------------------

# the command in a process that kills itself when it begins to write some file of a stage
KILLED = """
import os, signal, sys
from mercer.cli import app, documents
from mercer.dedup import stages, work_folder
from mercer.persistence import tasks, write_whole, written_whole
name, left = sys.argv[1], [int(sys.argv[2])]
documents.ROWS = 7
def counted(write):
    def killing(path, *content):
        left[0] -= os.path.basename(path).startswith(name)
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return write(path, *content)
    return killing
stages.written_whole = work_folder.written_whole = counted(written_whole)
work_folder.write_whole = tasks.write_whole = counted(write_whole)
app.run(sys.argv[3:])
"""


def dying(name, count, *asked):
    """A process that dies when it writes the file number ``count`` with such a name."""
    return subprocess.Popen([sys.executable, "-c", KILLED, name, str(count), *map(str, asked)])


KILLS = [("buckets", 7), ("signs", 5), ("keys", 1), ("candidates", 1), ("sets", 3),
         ("verdicts", 1)]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(("name", "count"), few(1, KILLS))
def test_after_a_kill_the_output_is_the_same(name, count):
    for k, part in enumerate((ROWS[:31], ROWS[31:])):
        Path(f"part-{k}.jsonl").write_bytes(json_lines(part))
    asked = ["dedup", "part-0.jsonl", "part-1.jsonl", "-o", "out.jsonl"]
    assert command(*asked, "--pairs", "p.csv") == 0
    whole = [Path(path).read_bytes() for path in ("out.jsonl", "p.csv")]
    for path in ("out.jsonl", "p.csv"):
        Path(path).unlink()
    assert dying(name, count, *asked).wait(timeout=60) == -signal.SIGKILL
    assert not Path("out.jsonl").exists()
    done = {path: path.stat().st_mtime_ns for path in Path("out.jsonl.work").glob("*.np?")}
    assert name == "keys" or any(path.name.startswith("signs") for path in done)
    kept = Path("kept")
    Path("out.jsonl.work").rename(kept)  # so that it stays
    assert command(*asked, "--pairs", "p.csv", "--work", kept) == 0
    assert [Path(path).read_bytes() for path in ("out.jsonl", "p.csv")] == whole
    for path, stamp in done.items():  # what was done is not done again
        if path.name.startswith(("signs", "buckets", "file", "equals", "sets")):
            assert (kept / path.name).stat().st_mtime_ns == stamp


# the command in a process that kills itself before it changes the names of files in its last steps:
# from the note of what is put in place, over the outputs, to the removal of the work folder
KILLED_LATE = """
import os, signal, sys
from pathlib import Path
from mercer.cli import app, documents
from mercer.persistence import whole_files
left, begun = [int(sys.argv[1])], []
documents.ROWS = 7
def counted(change):
    def killing(path, *rest, **more):
        if rest and os.path.basename(rest[0]) == "placed.json":
            begun.append(path)
        left[0] -= len(begun) > 0
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return change(path, *rest, **more)
    return killing
os.replace, os.rmdir, Path.unlink = map(counted, (os.replace, os.rmdir, Path.unlink))
app.run(sys.argv[2:])
"""


def killed_late(count, *asked):
    """Whether a process was killed before so many changes of names, counted from the last steps."""
    command_line = [sys.executable, "-c", KILLED_LATE, str(count), *map(str, asked)]
    code = subprocess.run(command_line, timeout=60, capture_output=True).returncode
    assert code in (0, -signal.SIGKILL)
    return code != 0


OUTPUTS = ["-o", "out.jsonl", "--pairs", "p.csv", "--report", "r.html"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("moments", "outputs"),
    few(1, [([3], OUTPUTS), ([0, 1, 2, 4], OUTPUTS), (range(5, 200, 9), OUTPUTS),
            (range(0, 200, 9), OUTPUTS[2:]), ([2, 4, 5], [*OUTPUTS, "--work", "o.work"])]),
)  # fmt: skip
def test_a_run_that_is_killed_while_it_writes_ends_well_when_done_again(moments, outputs):
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    names = outputs[1:6:2]
    folder = Path(outputs[-1] if "--work" in outputs else f"{names[0]}.work")
    assert command("dedup", "in.jsonl", *outputs) == 0
    whole = [Path(name).read_bytes() for name in names]
    for moment in moments:
        for name in names:
            Path(name).unlink()
        ended = not killed_late(moment, "dedup", "in.jsonl", *outputs)
        if ended or not any(folder.iterdir()):
            break  # all was done, but for the removal of a folder with nothing in it
        assert command("dedup", "in.jsonl", *outputs) == 0
        assert [Path(name).read_bytes() for name in names] == whole
        assert not [n for n in os.listdir() if n.startswith(".mercer")]
        assert folder.exists() == ("--work" in outputs)
    assert ended or len(moments) < 20  # else some moment is left out


@pytest.mark.full
def test_what_another_job_or_the_user_has_written_is_not_replaced(capsys):
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    asked = ("dedup", "in.jsonl", *OUTPUTS)
    assert killed_late(2, *asked)
    assert Path("out.jsonl.work/placed.json").exists()
    code, said = printed(capsys, *asked, "--threshold", 0.7)  # another job
    assert (code, "out.jsonl: the file exists" in said) == (4, True)
    os.utime("out.jsonl")  # changed by the user
    code, said = printed(capsys, *asked)
    assert (code, "out.jsonl: the file exists" in said) == (4, True)
    assert command(*asked, "--force") == 0
    assert ids() == KEPT


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.parquet"])
@pytest.mark.parametrize("stage", ["_equals", "_verdicts"])
def test_a_file_that_changes_during_the_work_is_said(name, stage, capsys, monkeypatch):
    from mercer.dedup.stages import Stages

    def write(rows):
        if name == "in.parquet":
            pl.DataFrame(rows).write_parquet(name)
        else:
            Path(name).write_bytes((delimited if name == "in.csv" else json_lines)(rows))

    work = getattr(Stages, stage)

    def changing(stages):
        work(stages)
        write([row | {"text": f"other {row['text']}"} for row in ROWS])

    write(ROWS)
    monkeypatch.setattr(Stages, stage, changing)
    code, said = printed(capsys, "dedup", name, "-o", f"out{Path(name).suffix}")
    assert (code, f"{name} was changed while it was read" in said) == (3, True)
    assert os.listdir() == [name]
    if stage == "_equals":  # texts are read again after it
        write(ROWS)
        code, said = printed(capsys, "dedup", name, "--pairs", "p.csv")
        assert (code, f"{name} was changed while it was read" in said) == (3, True)


def test_no_output_is_written_if_one_cannot_be(capsys, monkeypatch):
    """A disk that is full when the last of them is written."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    Path("in.jsonl").write_bytes(json_lines(ROWS))
    asked = ("dedup", "in.jsonl", *OUTPUTS)
    with monkeypatch.context() as patched:
        patched.setattr("mercer.cli.dedup_outcome.Job._report", full)
        code, said = printed(capsys, *asked)
    assert (code, "r.html: No space left on device." in said) == (4, True)
    assert sorted(os.listdir()) == ["in.jsonl", "out.jsonl.work"]
    assert command(*asked) == 0
    assert ids() == KEPT


def test_a_full_disk_is_said_and_the_job_goes_on(capsys, monkeypatch):
    """The limit of a file's size stands for it."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(documents, "ROWS", 20_000)
    Path("in.jsonl").write_bytes(json_lines(ROWS * 20))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        code, said = printed(capsys, "dedup", "in.jsonl", "-o", "out.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert code == 4
    assert "Free some space" in said
    assert not Path("out.jsonl").exists()
    assert command("dedup", "in.jsonl", "-o", "out.jsonl") == 0
    assert ids() == KEPT[: len(KEPT)] + [i for k in range(1, 20) for i in (60, 62)]


@pytest.mark.full
@pytest.mark.parametrize("name", ["none", "signs", "buckets"])
def test_several_processes_share_the_work(name):
    """Also where one of them is killed and started again."""
    for k in range(3):
        Path(f"part-{k}.jsonl").write_bytes(json_lines(ROWS[21 * k : 21 * (k + 1)]))
    files = [f"part-{k}.jsonl" for k in range(3)]
    assert command("dedup", *files, "-o", "alone.jsonl") == 0
    asked = ["dedup", *files, "-o", "out.jsonl", "--work", "w", "--task"]
    first, second = dying("none", 1, *asked, "1/2"), dying(name, 1, *asked, "2/2")
    if name != "none":
        assert second.wait(timeout=60) == -signal.SIGKILL
        second = dying("none", 1, *asked, "2/2")
    assert [process.wait(timeout=60) for process in (first, second)] == [0, 0]
    assert Path("out.jsonl").read_bytes() == Path("alone.jsonl").read_bytes()


@pytest.mark.full
def test_pieces_of_a_band_change_nothing(monkeypatch):
    Path("in.jsonl").write_bytes(json_lines(ROWS))
    assert command("dedup", "in.jsonl", "-o", "out.jsonl") == 0
    whole = Path("out.jsonl").read_bytes()
    monkeypatch.setattr("mercer.dedup.stages.PIECE", 9)
    assert command("dedup", "in.jsonl", "-o", "out.jsonl", "--force") == 0
    assert Path("out.jsonl").read_bytes() == whole


# --- molecules and sequences ---------------------------------------------------------------------


def drawn(n, length=60):
    return ["".join(row) for row in np.random.default_rng(0).choice(list("ACGT"), (n, length))]


def test_sequences_of_fasta(capsys):
    """Copies with other ends of lines, in small letters; records stay as they are."""
    texts = drawn(20)
    records = [f">s{i} of drawn\n{text[:40]}\n{text[40:]}\n" for i, text in enumerate(texts)]
    copies = [f">c{i}\r\n{texts[i].lower()}\r\n\r\n" for i in (3, 5)]
    Path("in.fa").write_text(
        "; drawn\n" + "".join([*records[:7], *copies, *records[7:]]), newline=""
    )
    code, said = printed(capsys, "dedup", "in.fa", "-o", "out.fasta.gz", "--pairs", "p.csv")
    assert code == 0, said
    assert "Sequences are compared by runs of 10 letters; --characters 20 takes longer" in said
    assert "removed: 2, in 2 groups" in said
    assert gzip.decompress(Path("out.fasta.gz").read_bytes()).decode() == "; drawn\n" + "".join(
        records
    )
    pairs = pl.read_csv("p.csv")
    assert pairs["record"].to_list() == [8, 9]
    assert pairs["kept_record"].to_list() == [4, 6]
    code, said = printed(capsys, "dedup", "in.fa", "--fail", "--characters", "30", "--json")
    assert (code, json.loads(said)["notices"]) == (7, [])


def test_sequences_of_fastq():
    a, b = drawn(2)
    Path("in.fq").write_text(
        f"@a\n{a}\n+\n{'@' * 60}\n@b\n{b}\n+\n{'I' * 60}\n@c\n{a}\n+\n{'I' * 60}\n"
    )
    assert command("dedup", "in.fq", "-o", "out.fastq") == 0
    assert Path("out.fastq").read_bytes() == Path("in.fq").read_bytes()[: 2 * 127]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quality_of_fastq_may_begin_with_a_semicolon(end):
    """``;`` is the quality 26 there, and no remark."""
    a, b = drawn(2)
    records = [f"@a\n{a}\n+\n;{'I' * 59}\n", f"@b\n{b}\n+\n{';' * 60}\n"]
    text = "".join([*records, records[0]]).replace("\n", end)
    Path("in.fq").write_text(text, newline="")
    assert command("dedup", "in.fq", "-o", "out.fq") == 0
    assert Path("out.fq").read_bytes() == "".join(records).replace("\n", end).encode()


@pytest.mark.parametrize("end", ["\n", "", "\n\n\n"])
def test_reads_without_letters_are_records_of_four_lines(end, capsys):
    """Programs that trim reads write them; blank lines between records are no part of any."""
    a, c = drawn(2)
    reads = [f"@a\n{a}\n+\n{'I' * 60}\n", "@b\n\n+\n\n", f"\n@c\n{c}\n+\n{'I' * 60}\n"]
    Path("in.fq").write_text("".join(reads) + f"@d\n{a}\n+\n{'I' * 60}" + end)
    code, said = printed(capsys, "dedup", "in.fq", "-o", "out.fq", "--json")
    assert (code, json.loads(said)["documents"]) == (0, 4), said
    assert Path("out.fq").read_text() == "".join(reads)


def test_the_last_read_may_be_without_letters(capsys):
    Path("in.fq").write_text("@a\nGATTACA\n+\nIIIIIII\n@b\n\n+\n")
    code, said = printed(capsys, "dedup", "in.fq", "-o", "out.fq")
    assert code == 0, said
    assert Path("out.fq").read_bytes() == Path("in.fq").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "options", "code", "message"),
    [
        (
            "in.fa",
            ">a\nACGT\n>b\nAC!GT\n",
            (),
            3,
            "in.fa, record 2 has 'AC!GT', but a sequence has",
        ),
        ("in.fa", "ACGT\n>b\nACGT\n", (), 3, "record 1 is 'ACGT', but a record of FASTA begins"),
        ("in.fq", "@a\nACGT\n+\nIII\n", (), 3, "record 1 is '@a', but a record of FASTQ is @ and"),
        ("in.fa", ">a\nACGT\n", ("--keep", "x"), 2, "--keep x: sequences have no columns"),
    ],
)
def test_malformed_sequences(name, content, options, code, message, capsys):
    Path(name).write_text(content)
    out = f"out{Path(name).suffix}"
    found, said = printed(capsys, "dedup", name, "-o", out, *options)
    assert (found, message in " ".join(said.split())) == (code, True), said
    if "record 2" in message:
        assert command("dedup", name, "-o", out, "--malformed", "skip") == 0
        assert Path(out).read_text() == ">a\nACGT\n"


def test_a_column_of_sequences(capsys):
    texts = drawn(30)
    Path("in.csv").write_text("id,dna\n" + "".join(
        f"{i},{text}\n" for i, text in enumerate([*texts, texts[4].lower()])))  # fmt: skip
    code, said = printed(capsys, "dedup", "in.csv", "--column", "dna", "-o", "out.csv")
    assert code == 0, said
    assert "compared by runs of 10 letters" in said
    assert pl.read_csv("out.csv")["id"].to_list() == [*range(30)]


@pytest.mark.full
def test_a_column_of_molecules(capsys):
    """Equal molecules have other texts, which are no words in common."""
    pytest.importorskip("rdkit")
    rows = ["CC(=O)Oc1ccccc1C(=O)O", "CCO", "O=C(C)Oc1ccccc1C(O)=O", "C(C)O", "CCN", "c1ccccc1"]
    rows += [f"{'C' * n}(=O){end}" for n in range(1, 7) for end in ("C", "N", "Cl", "OC")]
    Path("in.csv").write_text("id,smiles\n" + "".join(f"{i},{t}\n" for i, t in enumerate(rows)))
    call = ("dedup", "in.csv", "--column", "smiles")
    code, said = printed(capsys, *call, "-o", "out.csv", "--report", "r.html", "--index", "i")
    assert code == 0, said
    assert "Molecules are compared by their fragments" in said
    kept = pl.read_csv("out.csv")["id"].to_list()
    assert kept[:4] == [0, 1, 4, 5]
    assert kept == deduplicate(rows, similarity=Morgan()).kept.tolist()
    assert "<ins>" in Path("r.html").read_text()
    code, said = printed(capsys, *call, "-o", "texts.csv", "--words", 3)
    assert "Molecules" not in said
    assert pl.read_csv("texts.csv")["id"].to_list() == [*range(30)]
    code, said = printed(capsys, *call, "-o", "x.csv", "--index", "i", "--words", 3)
    assert "made with Fragments(size=2), and these documents are read by Words(size=3)" in said
    with Path("in.csv").open("a") as file:
        file.write("99,C1CC\n")
    code, said = printed(capsys, *call, "-o", "x.csv")
    assert (code, "row 31 has 'C1CC', which is no molecule: no SMILES" in said) == (3, True), said
    code, said = printed(capsys, *call, "-o", "x.csv", "--malformed", "skip")
    assert "1 malformed left out: in.csv, row 31." in said


def test_molecules_without_rdkit_are_texts(capsys, monkeypatch):
    rows = ["CC(=O)O", "CCO", "CC(O)=O", "CCN", "c1ccccc1", "CCCC=O", "CC(C)=O"]
    Path("in.csv").write_text("id,smiles\n" + "".join(f"{i},{t}\n" for i, t in enumerate(rows)))
    monkeypatch.setitem(sys.modules, "rdkit", None)
    monkeypatch.setattr(chemistry, "rdkit", chemistry.rdkit.__wrapped__)
    monkeypatch.setattr(chemistry, "_known", {})
    code, said = printed(capsys, "dedup", "in.csv", "--column", "smiles", "-o", "out.csv")
    assert (code, pl.read_csv("out.csv").height) == (0, 7)
    assert 'smiles: its cells look like molecules, which pip install "mercer[chem]" reads' in said
