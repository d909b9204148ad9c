"""Files of a job that were damaged or altered are named, before anything is made of them."""

import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from cli.runner import command

WORDS = [f"w{i}" for i in range(60)]
ASKED = ("dedup", "in.jsonl", "-o", "out.jsonl", "--work", "w", "--quiet")
#: what is made from a file, and would be read in its place
LATER = {
    "keys": ["buckets", "equals", "candidates", "sets", "shingles"],
    "signs": ["buckets", "equals", "candidates", "sets", "shingles"],
    "file": ["equals", "candidates", "sets", "shingles"],
    "equals": ["candidates", "sets", "shingles"],
    "buckets": ["candidates", "sets", "shingles"],
    "candidates": ["sets", "shingles"],
}


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("job"), np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, 20)) for _ in range(30)]
    texts += [f"{text} more" for text in texts[:15]]
    with (folder / "in.jsonl").open("w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert command(*ASKED) == 0
    finally:
        os.chdir(before)
    shutil.copytree(folder / "w", folder / "good")
    return folder


def archive(arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def forged(path):
    """Ways to spoil a file, by their names."""
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 255
    yield "cut", content[: len(content) // 2]
    yield "empty", b""
    if path.suffix == ".npy":
        array = np.load(path)
        for name, other in (("half", array[..., ::2]), ("floats", array.astype(float))):
            buffer = io.BytesIO()
            np.save(buffer, other)
            yield name, buffer.getvalue()
        header = io.BytesIO()
        vast = {"descr": "<u8", "fortran_order": False, "shape": (*array.shape[:-1], 10**13)}
        np.lib.format.write_array_header_1_0(header, vast)
        yield "vast", header.getvalue()
        return
    yield "flipped", bytes(flipped)
    yield "objects", archive({"sizes": np.array([None], object)})
    arrays = dict(np.load(path))
    for name, array in arrays.items():
        yield f"without {name}", archive({k: v for k, v in arrays.items() if k != name})
        if array.ndim and len(array) > 1:
            yield f"half of {name}", archive(arrays | {name: array[::2]})
        if array.dtype.kind == "i":
            for size in (np.iinfo(np.int64).max, np.iinfo(np.int64).min):
                other = array.copy()
                other.flat[-1] = size
                yield f"{name} up to {size}", archive(arrays | {name: other})


#: what changes the answer and harms nothing: no number that is read has a limit
HARMLESS = {"lengths up to", "counts up to", "told up to", "empty up to", "objects"}


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    "name",
    ["file-00000.npz", "signs-00000-000000.npz", "keys-00000-000000.npy", "equals.npz",
     "buckets-00000-000000.npz", "candidates.npz", "sets-00000-000000.npz",
     "shingles-00000-000000.npy", "verdicts.npz"],
)  # fmt: skip
def test_a_file_that_is_forged_is_named(job, name, monkeypatch, capsys):
    monkeypatch.chdir(job)
    for how, content in forged(Path("good", name)):
        shutil.rmtree("w", ignore_errors=True)
        shutil.copytree("good", "w")
        for later in ("verdicts", *LATER.get(name.partition("-")[0].partition(".")[0], [])):
            for path in Path("w").glob(f"{later}*"):
                if path.name != name:
                    path.unlink()
        Path("w", name).write_bytes(content)
        code = command(*ASKED, "--force")
        said = capsys.readouterr().err
        if code == 0:
            assert any(how.startswith(start) for start in HARMLESS), how
        else:
            assert code == 3, (how, said)
            assert "is damaged, or was altered" in said, (how, said)
            assert "Remove the folder" in said
