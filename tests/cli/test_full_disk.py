"""A disk that is full, in every writer of the library and of the command: what was there stays.

The limit of a file's size stands for the disk: the system refuses the write that passes it. It is
tried at several sizes below that of each file, in the first write, in the middle and in the last.
"""

import re
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command
from lanes import few
from mercer import AdditiveRegressor, Checkpoint, Chunks
from mercer.dedup import CorpusIndex
from mercer.distances import Minkowski
from mercer.plots import save_report
from mercer.search import BruteForce, files
from mercer.speech import write_audio

resource = pytest.importorskip("resource")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] > 0
TEXTS = [f"words {i} of a document {i * i} that says {i % 7} things and no more" for i in range(50)]


@contextmanager
def room_for(size):
    """No file becomes larger than so many bytes."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.SIGXFSZ
    heard = signal.signal(handler, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(handler, heard)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A table, documents, a recording, and a model, which commands read."""
    folder = tmp_path_factory.mktemp("given")
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.where(Y, "yes", "no")})
    table.write_csv(folder / "t.csv")
    pl.DataFrame({"text": [*TEXTS, *TEXTS[:9]]}).write_ndjson(folder / "d.jsonl")
    write_audio(folder / "noisy.wav", 0.1 * RNG.normal(size=8000), 16000)
    fit = ("fit", folder / "t.csv", "--target", "y", "--trials", 1, "--quiet")
    assert command(*fit, "-o", folder / "m.mercer") == 0
    return folder


def run(*arguments):
    """A command whose exit code 4 is a full disk."""
    code = command(*arguments, "--force")
    if code == 4:
        raise OSError
    assert code == 0


def whole_index(path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "LARGE", 0)
        BruteForce(Minkowski()).fit(X).save(path)


DEDUP = ("dedup", "d.jsonl", "--quiet")
#: the file that is looked at, and what writes it and perhaps others beside it
WRITERS = {
    "model": ("m", lambda given: mercer.save(mercer.KernelRidge().fit(X, X[:, 0]), "m")),
    "index": ("i", lambda given: whole_index("i")),
    "report": ("r.html", lambda given: save_report("r.html", mercer.SVC().fit(X, Y), X, Y)),
    "audio": ("a.wav", lambda given: write_audio("a.wav", X[:, 0], 16000)),
    "predict": ("p.csv", lambda given: run("predict", given / "m.mercer", given / "t.csv",
                                           "-o", "p.csv")),
    "predict, Parquet": ("p.parquet", lambda given: run("predict", given / "m.mercer",
                                                        given / "t.csv", "-o", "p.parquet")),
    "neighbors": ("n.csv", lambda given: run("neighbors", given / "t.csv", "-k", 3, "-o", "n.csv")),
    "map": ("m.html", lambda given: run("map", given / "t.csv", "-o", "m.html")),
    "link": ("l.csv", lambda given: run("link", given / "t.csv", "-o", "l.csv")),
    "linked, report": ("l.html", lambda given: run("link", given / "t.csv", "-o", "l.csv",
                                                    "--report", "l.html")),
    "points": ("p.csv", lambda given: run("map", given / "t.csv", "--points", "p.csv")),
    "dedup": ("o.jsonl", lambda given: run("dedup", given / "d.jsonl", "-o", "o.jsonl")),
    "dedup, packed": ("o.jsonl.gz", lambda given: run("dedup", given / "d.jsonl",
                                                      "-o", "o.jsonl.gz")),
    "dedup, pairs": ("pairs.csv", lambda given: run("dedup", given / "d.jsonl", "-o", "o.jsonl",
                                                    "--pairs", "pairs.csv")),
    "report of new rows": ("new.html", lambda given: run("report", given / "m.mercer",
                                                         given / "t.csv", "-o", "new.html")),
    "fit": ("f.mercer", lambda given: run("fit", given / "t.csv", "--target", "y", "--trials", 1,
                                          "-o", "f.mercer")),
    "denoise": ("clean.wav", lambda given: run("denoise", given / "noisy.wav", "-o", "clean.wav")),
}  # fmt: skip


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", few(8, WRITERS))
def test_a_full_disk_leaves_the_old_file_whole(name, given, folder):
    target, write = WRITERS[name]
    write(given)
    size = Path(target).stat().st_size
    before = sorted(path.name for path in folder.iterdir())
    for path in folder.iterdir():
        path.write_bytes(b"old")
    # a model holds how long its fit took, so two of them differ by some bytes
    nearly = size - size // 100 - 1
    for limit in sorted({0, size // 2, nearly}):
        with room_for(limit), pytest.raises(OSError):  # noqa: PT011 - the system's own words
            write(given)
        assert Path(target).read_bytes() == b"old"
        left = [p.name for p in folder.iterdir() if p.name not in before]
        assert all(left_name.endswith(".work") for left_name in left), left
    write(given)
    assert Path(target).stat().st_size >= size / 2


def test_an_index_of_documents_on_a_full_disk(folder):
    made = CorpusIndex.create("i")
    made.append(TEXTS[:20])
    with room_for(100), pytest.raises(OSError, match="too large"):
        made.append(TEXTS)
    with room_for(10), pytest.raises(OSError, match="too large"):
        CorpusIndex.create("j")
    assert sorted(path.name for path in folder.rglob("*")) == [
        "000000.segment", "i", "index.json", "j"
    ]  # fmt: skip
    assert len(made) == 20
    assert made.append(TEXTS)[0] == 20
    assert len(CorpusIndex.create("j")) == 0


def test_a_checkpoint_on_a_full_disk(folder, monkeypatch):
    """The fit ends with the error of the system, and the last checkpoint is whole."""
    monkeypatch.setattr("mercer.learners.additive.in_parts.AdditiveParts.block", 20)
    kept = []

    def parts():
        for start in range(0, 60, 20):
            yield X[start : start + 20], X[start : start + 20, 0]
            if start == 20:
                kept.append(Path("c").read_bytes())
                resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with room_for(before[0]), pytest.raises(OSError, match="too large"):
        AdditiveRegressor().fit_chunks(Chunks(parts), checkpoint=Checkpoint("c", 0))
    assert [path.name for path in folder.iterdir()] == ["c"]
    assert Path("c").read_bytes() == kept[0]
    again = AdditiveRegressor().fit_chunks(
        Chunks(lambda: [(X, X[:, 0])]), checkpoint=Checkpoint("c", 0)
    )
    assert np.corrcoef(again.predict(X), X[:, 0])[0, 1] > 0.9
    assert not Path("c").exists()


def test_nothing_is_written_but_by_the_room_of_whole_files():
    """A file that another module opens to write could be left half-written."""
    opened = re.compile(
        r"""\bopen\([^)]*["'][wax]b?\+?["']|\.write_(text|bytes)\(|\.savefig\(["'\w]|\.tofile\(|"""
        r"""\bnp\.save\w*\((?!buffer|file)|\.write_(csv|parquet|ndjson|ipc)\((?!buffer|file|\)|s)"""
    )
    root = Path(mercer.__file__).parent
    for path in root.rglob("*.py"):
        for line in path.read_text().splitlines():
            if not line.lstrip().startswith(("...", ">>>", "#")) and opened.search(line):
                allowed = path.name in ("whole_files.py", "files.py", "dedup_outcome.py")
                assert allowed, (path, line)
