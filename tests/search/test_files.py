"""Index files: the same answers, arrays that stay in the file, and no file that is half written."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import cases
import mercer
from mercer.distances import Edit, Jaccard, Mahalanobis, Minkowski
from mercer.persistence import ModelFileError
from mercer.search import BruteForce, Index, files

SPARSE = sp.random_array((60, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
STORED = [c for c in cases.DISTANCES if c[0].kind != "objects"]


@pytest.fixture(params=[0, 100], ids=["all apart", "some apart"])
def large(request, monkeypatch):
    """Which arrays and lists are kept apart from the skeleton; the contract saves them as it is."""
    monkeypatch.setattr(files, "LARGE", request.param)
    monkeypatch.setattr(files, "LONG", request.param // 50)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "saved.index"


@pytest.fixture
def saved(path):
    X = np.random.default_rng(0).normal(size=(500, 40))
    BruteForce(Mahalanobis()).fit(X).save(path)  # it holds X and the whitened rows
    return path


def answers(index, Z):
    return [*index.query(Z, 2), *index.query(k=2), *index.query_radius(Z, 0.7)]


def same(index, other, Z):
    for a, b in zip(answers(index, Z), answers(other, Z)):
        assert_array_equal(a, b)


def mapped(array):
    """Whether the numbers of an array are those of a file."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


@pytest.mark.parametrize(
    "case", [*cases.of_each_class(STORED), (Minkowski(), SPARSE)], ids=cases.name
)
def test_the_same_answers_for_every_kind_of_samples(case, path, large):
    distance, samples = case
    index = BruteForce(distance).fit(samples)
    index.save(path)
    loaded = BruteForce.load(path)
    same(index, loaded, samples)
    loaded.save(path)  # onto the file that it is read from
    same(loaded, Index.load(path), samples)


def test_large_arrays_stay_in_the_file(path, monkeypatch):
    monkeypatch.setattr(files, "LARGE", 2**12)
    X = np.random.default_rng(0).normal(size=(2000, 30))
    for distance, samples in (
        (Mahalanobis(), X),
        (Minkowski(1), np.asfortranarray(X, np.float32)),
        (Minkowski(), sp.csr_array(X * (X > 0))),
        (Edit(), [str(row) for row in X[:, :2]]),
        (Jaccard(), [{*row} for row in (X[:, :20] * 9).round().astype(int).tolist()]),
    ):
        index = BruteForce(distance).fit(samples)
        index.save(path)
        loaded = BruteForce.load(path)
        rows = loaded._training.X
        for array in [rows] if isinstance(rows, np.ndarray) else vars(rows).values():
            if isinstance(array, np.ndarray) and array.nbytes > files.LARGE:
                assert mapped(array)
                assert not array.flags.writeable
                assert array.flags.aligned
        if isinstance(distance, Minkowski) and isinstance(rows, np.ndarray):
            assert loaded._rows.normed.rows is rows  # which is in the file once
        elif isinstance(distance, Mahalanobis):
            assert mapped(loaded._rows.normed.rows)
        elif not isinstance(distance, Edit):
            assert loaded._training.prepared is not None
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            arrays = [name for name in archive.namelist() if name.startswith("arrays/")]
            for name in arrays:
                np.lib.format.read_array(archive.open(name))  # others can read it too
            assert arrays
        same(index, loaded, samples[:5])


def test_an_alphabet_of_many_words(path):
    words = [f"w{i}é\ud800" for i in range(3000)]
    index = BruteForce(Jaccard()).fit([words[i : i + 9] for i in range(2000)])
    index.save(path)
    loaded = BruteForce.load(path)
    assert loaded._training.X.universe == index._training.X.universe
    assert len(zipfile.ZipFile(path).read(files.SKELETON)) < 100_000  # they would take 600,000
    same(index, loaded, [words[:4], ["new"]])


@pytest.mark.full
def test_a_large_index_is_opened_at_once(path):
    """75 MB are opened by a process that takes 40 MB at most for it."""
    code = f"""
import re, time, sys
import numpy as np
from mercer.search import BruteForce
import mercer; mercer.load  # imports that take memory of their own
import skops.io
def resident():
    return int(re.search(r"RssAnon:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
before = resident()
started = time.perf_counter()
index = BruteForce.load({str(path)!r}, check=False)
print(resident() - before, time.perf_counter() - started, index.n_samples_fit_)
"""
    X = np.zeros((2**18, 36))
    X[:, 0] = np.arange(len(X))
    BruteForce(Minkowski(1)).fit(X).save(path)
    assert path.stat().st_size > 7e7
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    taken, seconds, rows = map(float, done.stdout.split())
    assert taken < 40
    assert seconds < 10
    assert rows == len(X)


def test_objects_are_refused_by_name(path):
    distance, samples = next(c for c in cases.DISTANCES if c[0].kind == "objects")
    index = BruteForce(distance).fit(samples)
    with pytest.raises(ModelFileError, match="BruteForce cannot be saved: its 7 samples are Pyth"):
        index.save(path)
    assert not os.listdir(path.parent)


def test_a_file_is_written_whole_or_not_at_all(saved, monkeypatch):
    before = saved.read_bytes()
    index = BruteForce.load(saved)

    def fails(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write_array", fails)
    with pytest.raises(OSError, match=r"No space left.*saved\.index"):
        index.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]
    with pytest.raises(FileNotFoundError):
        index.save(saved.parent / "missing" / "saved.index")


@pytest.mark.parametrize("part", [0, 10, 0.3, 0.9, 0.999])
def test_truncated_files_are_refused(saved, part):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(part * len(content)) if part < 1 else part])
    with pytest.raises(ModelFileError, match=r"truncated or altered.*Copy it again"):
        BruteForce.load(saved)


def test_altered_numbers_are_refused_where_they_are_checked(saved):
    content = bytearray(saved.read_bytes())
    with zipfile.ZipFile(saved) as archive:
        start = archive.getinfo("arrays/0.npy").header_offset + 1000
    content[start] ^= 1
    saved.write_bytes(content)
    for given in ({}, {"check": True}):
        with pytest.raises(ModelFileError, match=r"CRC.*fit the index and save it again"):
            BruteForce.load(saved, **given)
    assert BruteForce.load(saved, check=False).n_samples_fit_ == 500


@pytest.mark.full
def test_altered_numbers_of_a_large_index_are_refused(path):
    """Of 270 MB, of which the last number differs."""
    index = BruteForce(Minkowski()).fit(np.ones((2**19, 129), np.float32))
    index.save(path)
    assert path.stat().st_size > 2**28
    with zipfile.ZipFile(path) as archive:
        last = archive.start_dir - 1
    with open(path, "r+b") as file:
        file.seek(last)
        byte = file.read(1)
        file.seek(last)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ModelFileError, match=r"CRC.*fit the index and save it again"):
        BruteForce.load(path)


WRITTEN = {
    "shorter": lambda path: os.truncate(path, 2000),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "empty": lambda path: path.write_bytes(b""),
    "a bit": lambda path: path.write_bytes(flipped(path.read_bytes())),
}


def flipped(content):
    return content[:-3000] + bytes([content[-3000] ^ 1]) + content[-2999:]


@pytest.mark.parametrize("how", WRITTEN)
def test_a_file_that_is_written_to_while_it_is_mapped(how, path):
    """A page beyond the end of a file would end the process."""
    X = np.random.default_rng(0).normal(size=(40_000, 8))
    BruteForce(Minkowski()).fit(X).save(path)
    index = BruteForce.load(path)
    before = path.stat().st_mtime_ns
    assert index.query(X[:1], k=1)[1][0, 0] == 0
    WRITTEN[how](path)
    os.utime(path, ns=(before + 10**9, before + 10**9))  # clocks may be coarse
    for use in (
        lambda: index.query(X[:1], k=1),
        lambda: index.query_radius(X[:1], 1.0),
        lambda: index.add(X[:1]),
        lambda: index.save(path),
    ):
        with pytest.raises(ModelFileError, match="was written to since the index was loaded"):
            use()


@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_a_file_that_another_one_replaces_while_it_is_mapped(how, path):
    X = np.random.default_rng(0).normal(size=(40_000, 8))
    BruteForce(Minkowski()).fit(X).save(path)
    index = BruteForce.load(path)
    if how == "removed":
        path.unlink()
    else:
        BruteForce(Minkowski()).fit(-X).save(path)
    distances, numbers = index.query(X[30_000:30_005], k=1)
    assert_array_equal(numbers[:, 0], np.arange(30_000, 30_005))
    assert not distances.any()
    index.save(path)
    assert_array_equal(BruteForce.load(path).query(X[:3], k=1)[1][:, 0], [0, 1, 2])


def rewritten(path, change, compression=zipfile.ZIP_STORED):
    """The archive with its members changed, by name."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def header(**changes):
    def change(members):
        known = json.loads(members[files.HEADER])
        members[files.HEADER] = json.dumps(known | changes).encode()

    return change


def other_array(members):
    members["arrays/0.npy"] = members["arrays/0.npy"][:-8]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop(files.HEADER), "not an index of Mercer: it lacks index.json"),
        (header(format=99, mercer="9.9"), "mercer 9.9 in format 99; .*pip install --upgrade"),
        (header(format="1"), "this gives no format.*Models are loaded by"),
        (header(**{"class": None}), "truncated or altered: .*names no class"),
        (header(**{"class": "os.system"}), r"class os\.system, but .*BruteForce was asked"),
        (lambda m: m.update({files.HEADER: b"{"}), "truncated or altered"),
        (lambda m: m.pop(files.SKELETON), "truncated or altered: .*skeleton"),
        (lambda m: m.update({files.SKELETON: b"PK"}), r"saved\.index.* is not a Mercer model"),
        (lambda m: m.pop("arrays/0.npy"), "other members than arrays, numbered"),
        (lambda m: m.pop("arrays/1.npy"), "truncated or altered"),
        (other_array, "does not agree with its size"),
    ],
)
def test_altered_files_are_refused(saved, change, message):
    rewritten(saved, change)
    with pytest.raises(ModelFileError, match=message):
        BruteForce.load(saved)


def test_foreign_files_are_refused(saved, tmp_path):
    rewritten(saved, lambda members: None, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match=r"index\.json. is compressed, which"):
        BruteForce.load(saved)
    saved.write_text("no archive")
    with pytest.raises(ModelFileError, match="not an index of Mercer"):
        BruteForce.load(saved)
    model = mercer.KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0])
    mercer.save(model, saved)
    with pytest.raises(ModelFileError, match=r"Models are loaded by mercer\.load"):
        BruteForce.load(saved)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        BruteForce.load(tmp_path / "missing.index")
    with pytest.raises(TypeError, match=r"trusted='my\.Distance\': give a list"):
        BruteForce.load(saved, trusted="my.Distance")
    with pytest.raises(TypeError, match=r"trusted has .*, not a class"):  # not: the file is altered
        BruteForce.load(saved, trusted=["json.dumps"])
    with pytest.raises(ValueError, match=r"trusted has .* never loaded"):
        BruteForce.load(saved, trusted=["subprocess.Popen"])


def test_a_skeleton_that_is_no_index_is_refused(saved, tmp_path):
    mercer.save(mercer.KernelRidge(), tmp_path / "model")
    rewritten(saved, lambda m: m.update({files.SKELETON: (tmp_path / "model").read_bytes()}))
    with pytest.raises(ModelFileError, match="does not hold the parts of an index"):
        BruteForce.load(saved)


def test_the_class_is_the_one_that_was_saved(saved):
    assert type(Index.load(saved)) is BruteForce

    class Other(BruteForce):
        pass

    with pytest.raises(ModelFileError, match=r"mercer\.search\.brute\.BruteForce, but .*Other was"):
        Other.load(saved)


@pytest.mark.parametrize("name", ["\ud800", "\x1b[31m", "a\nb", None, 3])
def test_a_class_that_cannot_be_shown_is_no_class(saved, tmp_path, name):
    altered = tmp_path / "altered.index"
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(altered, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            if member == files.HEADER:
                content = json.dumps(json.loads(content) | {"class": name}).encode()
            new.writestr(member, content)
    with pytest.raises(ModelFileError, match="names no class"):
        Index.load(altered)


def test_classes_of_other_packages_are_loaded_where_they_are_trusted(path, tmp_path, monkeypatch):
    (tmp_path / "their_city.py").write_text(
        "import numpy as np\n"
        "from mercer.distances import Distance\n"
        "from mercer.search import BruteForce\n"
        "class City(Distance):\n"
        "    def block(self, X, Z):\n"
        "        return np.abs(X[:, None] - Z).sum(axis=-1)\n"
        "class Own(BruteForce):\n"
        "    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    their_city = pytest.importorskip("their_city")
    X = np.random.default_rng(0).normal(size=(20, 2))
    index = their_city.Own(their_city.City()).fit(X)
    index.save(path)
    with pytest.raises(ModelFileError, match=r"Own\.load\(.*trusted=\['their_city\.City'\]"):
        their_city.Own.load(path)
    same(index, their_city.Own.load(path, trusted=[their_city.City]), X)
    same(index, Index.load(path, trusted=["their_city.City"]), X)
