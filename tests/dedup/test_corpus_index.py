"""An index of documents on disk: it finds what all pairs show, grows whole while others read it,
and refuses what is damaged, foreign or of another version."""

import json
import os
import random
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fuzz.fuzz_fields import FORGED
from mercer import deduplicate
from mercer.dedup import Characters, CorpusIndex, Words, segments
from mercer.dedup.segments import Signatures
from mercer.kernels import RBF
from mercer.persistence import ModelFileError


def corpus(n, seed=0, words=40):
    """Every third document copies an earlier one and changes up to 4 words of it."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 2000, words) for _ in range(n)]
    for i in range(2, n, 3):
        rows[i] = rows[rng.integers(i)].copy()
        rows[i][rng.integers(0, words, rng.integers(0, 5))] = rng.integers(2000)
    return [" ".join(f"w{k}" for k in row) for row in rows]


def index_of(a, b):
    A, B = ({tuple(t.split()[i : i + 3]) for i in range(len(t.split()) - 2)} for t in (a, b))
    return len(A & B) / len(A | B)


@pytest.fixture(params=[300, 7], ids=["one segment", "many segments"])
def index(request, tmp_path):
    made = CorpusIndex.create(tmp_path / "old.index", recall=0.9999)
    texts = corpus(300)
    for start in range(0, 300, request.param):
        numbers = made.append(texts[start : start + request.param])
        assert_array_equal(numbers, np.arange(start, start + len(numbers)))
    made.texts = texts
    return made


@pytest.mark.spread(1)
def test_queries_beside_all_pairs(index):
    new = [*corpus(60, seed=1), *index.texts[5:50:4], ""]
    wanted = [
        (i, j, J) for i, a in enumerate(new) if a for j, b in enumerate(index.texts)
        if (J := index_of(a, b)) >= 0.8
    ]  # fmt: skip
    assert index.query(new).tolist() == wanted
    assert len(wanted) > 15
    again = CorpusIndex.open(index.folder)
    assert again.query(new, threshold=0.9).tolist() == [row for row in wanted if row[2] >= 0.9]
    assert len(again) == 300
    assert f"300 documents, {index.n_bytes / 300:,.0f} bytes each" in repr(again)
    again.check()
    assert len(index.query([])) == 0


def test_removal_beside_that_against_a_list(index):
    new = [*corpus(90, seed=2), *index.texts[3:60:5], "", index.texts[3], index.texts[3] + " more"]
    wanted = deduplicate(new, against=index.texts, recall=0.9999, keep="longest")
    found = deduplicate(new, against=index, keep="longest")
    assert_array_equal(found.kept, wanted.kept)
    assert_array_equal(found.empty, wanted.empty)
    assert found.bands == index.bands
    for i in np.flatnonzero(found.earlier):
        J = [index_of(new[i], b) for b in index.texts]
        assert (found.partners[i], found.similarities[i]) == (int(np.argmax(J)), max(J))
    inside = found.removed[~found.earlier[found.removed]]
    assert len(inside) > 9
    for i in inside:
        assert found.partners[i] in found.kept
        assert found.similarities[i] == index_of(new[i], new[found.partners[i]]) >= 0.8
    alone = deduplicate(new, against=index, within=False)
    assert_array_equal(alone.removed, np.flatnonzero(found.earlier))


def test_forms_are_compared_with_few(tmp_path):
    """Where very many share a key, the earliest are compared, and it is said."""
    made = CorpusIndex.create(tmp_path / "i", threshold=0.9)
    made.append(["a b c d e f g h"] * 500)
    texts = ["a b c d e f g h"]
    found = made.found(made.signer.sign(texts), texts, 0.9, 10)
    assert_array_equal(found.rows, np.arange(10))
    assert found.full == made.bands.n_bands
    assert deduplicate(texts, threshold=0.9, against=made, most_kept=10).full_buckets > 0


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_estimates_by_few_bits(bits, tmp_path):
    """Their errors are those of the theory, and the bytes are few."""
    rng = np.random.default_rng(bits)
    sets = [rng.integers(0, 2**63, 300).astype(np.uint64) for _ in range(400)]
    for i in range(0, 400, 2):
        sets[i + 1][:267] = sets[i][:267]  # 267 of 333
    values = np.concatenate([np.sort(one) for one in sets])
    sketch = Signatures(bits, 128, seed=3)
    S = sketch.of(values, np.arange(0, 300 * 401, 300))
    assert S.shape == (400, 16 * bits)
    left = np.arange(0, 400, 2)
    J = 267 / 333
    error = sketch.similarity(S, S, left, left + 1) - J
    spread = sketch.deviation(J)
    assert abs(error.mean()) < 4 * spread / np.sqrt(200)
    assert_allclose(np.sqrt(np.mean(error**2)), spread, rtol=0.25)
    apart = sketch.similarity(S, S, left[1:], left[:-1] + 1)
    assert apart.mean() < 2 * sketch.deviation(0)
    assert_array_equal(sketch.similarity(S, S, left, left), 1)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize(("size", "shared"), [(1, 0), (2, 1), (3, 1), (5, 4), (10, 8)])
def test_estimates_of_short_documents_err_as_the_theory_says(bits, size, shared):
    """The bits of one function say nothing about those of another, even of few shingles."""
    rng = np.random.default_rng(10 * size + bits)
    sets = rng.integers(0, 2**63, (800, size)).astype(np.uint64)
    sets[1::2, :shared] = sets[::2, :shared]
    sketch = Signatures(bits, 128, seed=3)
    S = sketch.of(np.sort(sets, axis=1).ravel(), np.arange(0, size * 801, size))
    J = shared / (2 * size - shared)
    left = np.arange(0, 800, 2)
    found = sketch.similarity(S, S, left, left + 1)
    spread = sketch.deviation(J)
    assert np.sqrt(np.mean((found - J) ** 2)) < 1.2 * spread
    assert np.abs(found - J).max() < 5 * spread + 8 / 128
    # and each bit is set half of the time, so that the chance of equal ones is 2⁻ᵇ
    assert_allclose(np.unpackbits(S).mean(), 0.5, atol=0.02)


def test_signatures_are_the_bits_that_their_bytes_say():
    """Fields of b bits side by side, of which a share of equal ones is the estimate."""
    rng = np.random.default_rng(4)
    values, starts = np.sort(rng.integers(0, 2**63, (6, 30)), axis=1), np.arange(0, 181, 30)
    values[1, :20] = values[0, :20]
    for bits in (1, 2, 4, 8):
        sketch = Signatures(bits, 64, seed=9)
        S = sketch.of(np.sort(values, axis=1).ravel().astype(np.uint64), starts)
        fields = [
            [int(byte) >> k & (2**bits - 1) for byte in row for k in range(0, 8, bits)] for row in S
        ]
        for i in range(6):
            for j in range(6):
                equal = np.mean([a == b for a, b in zip(fields[i], fields[j])])
                wanted = max(0.0, (equal - 0.5**bits) / (1 - 0.5**bits))
                found = sketch.similarity(S, S, np.array([i]), np.array([j]))
                assert_allclose(found, [wanted], rtol=1e-12)


@pytest.mark.spread(2)
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("shingles", [Words(2), Characters(4)], ids=str)
def test_queries_by_few_bits_are_the_estimates_of_all_pairs(bits, shingles, tmp_path):
    """What is found is what the signatures of all pairs say, near the exact index of the sets."""
    made = CorpusIndex.create(
        tmp_path / "i", threshold=0.6, recall=0.99999, shingles=shingles, bits=bits, n_hashes=512
    )
    texts = corpus(120, seed=bits, words=25)
    for start in range(0, 120, 50):
        made.append(texts[start : start + 50])
    new = [*corpus(20, seed=50 + bits, words=25), *(" ".join(t.split()[1:]) for t in texts[:40])]

    def runs(text):
        parts = text.split() if shingles.kind == "words" else text
        return {tuple(parts[i : i + shingles.size]) for i in range(len(parts) - shingles.size + 1)}

    sketch = made.signatures
    old, asked = (sketch.of(*shingles.sets(part)) for part in (texts, new))
    i, j = (grid.ravel() for grid in np.indices((len(new), len(texts))))
    estimates = sketch.similarity(asked, old, i, j)
    exact = np.array([
        len(runs(new[a]) & runs(texts[b])) / len(runs(new[a]) | runs(texts[b]))
        for a, b in zip(i, j)
    ])  # fmt: skip
    spread = np.array([sketch.deviation(J) for J in exact])
    assert (np.abs(estimates - exact) <= 5.5 * spread).all()
    wanted = {(a, b): J for a, b, J in zip(i, j, estimates) if J >= 0.6}
    found = {(a, b): J for a, b, J in made.query(new).tolist()}
    assert found.items() <= wanted.items()
    near = {(a, b) for a, b, J in zip(i, j, exact) if J >= 0.6}  # sure to share a key
    assert wanted.keys() & near <= found.keys()
    assert len(found) >= 40


def test_an_index_of_few_bits(tmp_path):
    texts = corpus(300)
    made = CorpusIndex.create(tmp_path / "i", bits=8, n_hashes=256, recall=0.9999)
    assert len(made) == 0
    made.append(texts)
    assert made.n_bytes / 300 < 8 * made.bands.n_bands + 256 + 16
    found = {tuple(row)[:2]: row[2] for row in made.query(texts).tolist()}
    assert all((i, i) in found for i in range(300))
    exact = {pair: index_of(texts[pair[0]], texts[pair[1]]) for pair in found}
    error = np.array([found[pair] - exact[pair] for pair in found])
    assert np.abs(error).max() < 6 * made.signatures.deviation(0.8)
    result = deduplicate([texts[7], "other words than those of the corpus"], against=made)
    assert_array_equal(result.removed, [0])
    assert result.similarities[0] == 1


# --- several processes ---------------------------------------------------------------------------

APPENDS = """
import sys
from mercer.dedup import CorpusIndex
index = CorpusIndex.open(sys.argv[1])
for k in range(5):
    numbers = index.append([f"text {sys.argv[2]} {k} of some words {i}" for i in range(3)])
    assert len(index.query([f"text {sys.argv[2]} {k} of some words 1"])) >= 1
"""


@pytest.mark.full
def test_several_processes_append_and_read_at_once(tmp_path):
    made = CorpusIndex.create(tmp_path / "i")
    called = [sys.executable, "-c", APPENDS, str(made.folder)]
    processes = [subprocess.Popen([*called, str(k)]) for k in range(3)]
    reader = CorpusIndex.open(made.folder)
    while any(process.poll() is None for process in processes):
        assert len(reader) % 3 == 0  # nothing is seen in part
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(reader) == 45
    rows = [reader.query([f"text {a} {k} of some words 1"], 1.0)["row"] for a in range(3)
            for k in range(5)]  # fmt: skip
    assert len({int(row[0]) for row in rows}) == 15


def test_a_job_that_is_done_again_adds_nothing(tmp_path):
    made = CorpusIndex.create(tmp_path / "i")
    made.append(["one two three"])
    assert made.before("monday") == 1
    assert_array_equal(made.append(["a b c", "d e f"], job="monday"), [1, 2])
    made.append(["four five six"])
    assert_array_equal(made.append(["a b c", "d e f"], job="monday"), [1, 2])
    assert len(made) == 4
    assert made.before("monday") == 1
    assert made.before("tuesday") == 3


def test_what_cannot_be_written_leaves_no_trace(tmp_path, monkeypatch):
    made = CorpusIndex.create(tmp_path / "i")
    made.append(["one two three"])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        made.append(["four five six"])
    monkeypatch.undo()
    assert sorted(os.listdir(made.folder)) == ["000000.segment", "index.json"]
    assert_array_equal(made.append(["four five six"]), [1])


# --- what is refused -----------------------------------------------------------------------------


def rewritten(path, change):
    """The header of a segment, changed; what follows stays."""
    content = path.read_bytes()
    length = int.from_bytes(content[8:16], "little")
    header = json.loads(content[16 : 16 + length])
    change(header)
    text = json.dumps(header).encode().ljust(length)
    assert len(text) == length
    path.write_bytes(content[:16] + text + content[16 + length :])


def test_another_version_is_refused(tmp_path):
    made = CorpusIndex.create(tmp_path / "i")
    made.append(["one two three"])
    rewritten(made.folder / "000000.segment", lambda header: header.update(format=3, mercer="9"))
    with pytest.raises(ModelFileError, match=r"written by mercer 9 in format 3; .* reads format 2"):
        made.query(["one two three"])
    path = made.folder / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 7}))
    with pytest.raises(ModelFileError, match="in format 7"):
        CorpusIndex.open(made.folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(documents=-1), "belongs to another index"),
        (lambda h: h.update(documents=10**12), "belongs to another index"),
        (lambda h: h["made"].reverse(), "belongs to another index"),
        (lambda h: h.update(arrays=3), "altered"),
        (lambda h: h["arrays"].pop(), "it has no starts"),
        (lambda h: h["arrays"][0].update(offset=64 * 10**6), "does not end in the file"),
        (lambda h: h["arrays"][0].update(offset=-64), "not described by whole numbers"),
        (lambda h: h["arrays"][0].update(dtype="|O"), "not described by whole numbers"),
        (lambda h: h["arrays"][0].update(shape=[3, 16]), "keys has shape"),
        (lambda h: h.update(format=0), "gives no format"),
    ],
)
def test_headers_that_are_altered_are_refused(change, message, tmp_path):
    made = CorpusIndex.create(tmp_path / "i")
    made.append(["one two three", "four five six", "seven eight nine"])
    rewritten(made.folder / "000000.segment", change)
    with pytest.raises(ModelFileError, match=message):
        made.query(["one two three"])


def test_checksums_are_compared(tmp_path):
    made = CorpusIndex.create(tmp_path / "i")
    made.append(["one two three"])
    path = made.folder / "000000.segment"
    content = bytearray(path.read_bytes())
    content[segments.Segment(path).begin] ^= 1  # the first key
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="checksum"):
        made.check()


@pytest.mark.spread(1)
@pytest.mark.parametrize("bits", [None, 2])
def test_damaged_bytes_are_refused_or_answered(bits, tmp_path):
    """Whatever is in the files, no number leads beyond an array."""
    made = CorpusIndex.create(tmp_path / "i", bits=bits)
    texts = corpus(40)
    made.append(texts)
    path, rng, refused = made.folder / "000000.segment", random.Random(0), 0
    whole = path.read_bytes()
    for k in range(300):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 5, 100])):
            at = rng.randrange(len(content)) if k % 2 else rng.randrange(1500)
            content[at] = rng.randrange(256)
        path.write_bytes(content[: rng.randrange(len(content))] if k % 5 == 0 else content)
        try:
            made.query(texts)
            made.check()
        except ModelFileError as said:
            refused += str(path) in str(said)
    assert refused > 200
    header, facts = made.folder / "index.json", (made.folder / "index.json").read_bytes()
    path.write_bytes(whole)
    for _ in range(200):
        content = bytearray(facts)
        content[rng.randrange(len(content))] = rng.randrange(256)
        header.write_bytes(content)
        with suppress(ModelFileError):
            CorpusIndex.open(made.folder).query(texts[:2])


@pytest.mark.parametrize("bits", [None, 1, 8])
def test_documents_that_are_like_none(bits, tmp_path):
    made = CorpusIndex.create(tmp_path / "i", bits=bits)
    assert len(made.query(["one two three four"])) == 0
    made.append(["one two three four"])
    assert len(made.query(["five six seven eight", ""])) == 0
    kept = deduplicate(["five six seven eight"], against=made).kept
    assert kept.tolist() == [0]


def asked(made, texts):
    """What becomes of every use of an index; any error but ModelFileError is raised."""
    found = []
    for use in (made.query, made.append, lambda texts: deduplicate(texts, against=made)):
        try:
            use(texts)
            found.append("answered")
        except ModelFileError:
            found.append("refused")
    for path in made.folder.glob("00000[1-9].segment"):
        path.unlink()
    return found


@pytest.mark.spread(5)
@pytest.mark.parametrize("bits", [None, 2])
@pytest.mark.parametrize("name", ["keys", "values", "starts", "signatures"])
def test_segments_that_are_forged_with_right_checksums(bits, name, tmp_path):
    """Every array in every way in which the fuzzer makes arrays wrong, and other counts."""
    made = CorpusIndex.create(tmp_path / "i", bits=bits)
    texts = corpus(20)
    made.append(texts)
    path = made.folder / "000000.segment"
    whole = segments.Segment(path)
    arrays = {each: np.array(whole.mapped(each, has[0])) for each, has in whole.arrays.items()}
    if name not in arrays:
        assert (name == "signatures") == (bits is None)
        return
    facts = {key: whole.facts[key] for key in ("job", "made")}
    ends = []
    forged = {way: change(arrays[name], 3) for way, change in FORGED.items()}
    for way, array in forged.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or way == "complex":
            continue
        with np.errstate(all="ignore"):
            array = np.ascontiguousarray(array.astype(segments.DTYPES[name]))
        path.unlink()
        segments.write_segment(path, facts | {"documents": 20}, arrays | {name: array})
        ends += asked(made, texts)
    assert ends.count("refused") > 10
    for count in (0, 1, 19, 21, 2**30, 2**31 - 1):
        path.unlink()
        segments.write_segment(path, facts | {"documents": count}, arrays)
        assert "refused" in asked(made, texts)


def test_a_segment_that_becomes_shorter_while_it_is_read(tmp_path):
    made = CorpusIndex.create(tmp_path / "i")
    made.append(["one two three"])
    path = made.folder / "000000.segment"
    opened = segments.Segment(path)
    os.truncate(path, opened.begin)
    with pytest.raises(ModelFileError, match="truncated or altered"):
        opened.check()


def test_arguments_are_checked(tmp_path):
    made = CorpusIndex.create(tmp_path / "i", shingles=Characters(4), threshold=0.7)
    with pytest.raises(FileExistsError, match="holds an index: open it by"):
        CorpusIndex.create(tmp_path / "i")
    with pytest.raises(FileNotFoundError, match=r"it has no index\.json"):
        CorpusIndex.open(tmp_path)
    for options, message in (
        ({"bits": 3}, "bits=3: give 1, 2, 4 or 8"), ({"n_hashes": 12}, "n_hashes=12: give a mult"),
        ({"threshold": 2}, "threshold=2"), ({"recall": 1}, "recall=1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            CorpusIndex.create(tmp_path / "other", **options)
    with pytest.raises(TypeError, match="shingles=3: give"):
        CorpusIndex.create(tmp_path / "other", shingles=3)
    with pytest.raises(ValueError, match=r"threshold=0\.5: the index was made for 0\.7 and more"):
        made.query(["a"], 0.5)
    with pytest.raises(ValueError, match="most=0"):
        made.query(["a"], most=0)
    with pytest.raises(TypeError, match=r"docs\[0\] is 3"):
        made.append([3])
    with pytest.raises(ValueError, match=r"the index was made with Characters\(size=4\)"):
        deduplicate(["a"], against=made, shingles=Words(3))
    with pytest.raises(ValueError, match="the index was made for"):
        deduplicate(["a"], against=made, threshold=0.6)
    with pytest.raises(TypeError, match="an index of texts"):
        deduplicate([[1.0]], against=made, similarity=RBF())


def test_many_steps_change_nothing(monkeypatch, tmp_path):
    array = np.arange(1000)
    wanted = segments.checksum(array)
    monkeypatch.setattr(segments, "STEP", 77)
    assert segments.checksum(array) == wanted
    made, texts = CorpusIndex.create(tmp_path / "i", bits=4), corpus(60)
    made.append(texts)
    wanted = made.query(texts)
    monkeypatch.setattr(segments, "PAIRS", 7)
    assert made.query(texts).tolist() == wanted.tolist()
