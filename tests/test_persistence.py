"""Model files: round trips, whole writes, and refusals that run no code."""

import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import persistence
from mercer.kernels import RBF
from mercer.persistence import ModelFileError, load, save, write_whole

X = np.random.default_rng(0).normal(size=(20, 3))
Y = X[:, 0] - X[:, 1]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (mercer.KernelRidge(kernel=RBF(0.5)), X),
        (mercer.KernelRidge(kernel="rbf"), X.astype(np.float32)),
        (mercer.KernelRidge(kernel="rbf"), sp.csr_array(X)),
        (make_pipeline(StandardScaler(), mercer.KernelRidge(kernel="rbf")), X),
    ],
    ids=["kernel object", "float32", "sparse", "pipeline"],
)
def test_a_loaded_model_predicts_the_same(model, data, path):
    model.fit(data, Y)
    save(model, path)
    loaded = load(path)
    if hasattr(model, "dual_coef_"):
        assert_array_equal(loaded.dual_coef_, model.dual_coef_)
    # sums may be taken in another order, since arrays lie elsewhere in memory
    rtol = 1e-4 if data.dtype == np.float32 else 1e-10
    assert_allclose(loaded.predict(data), model.predict(data), rtol=rtol, atol=rtol)


def test_the_file_carries_format_and_version(path):
    save(mercer.KernelRidge().fit(X, Y), path)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("mercer.json"))
    assert header == {"format": 1, "mercer": mercer.__version__}


def test_callables_are_refused_by_name_and_leave_the_old_file(path):
    path.write_bytes(b"old")
    with pytest.raises(ModelFileError, match=r"linear_product.*kernel object"):
        save(mercer.KernelRidge(kernel=linear_product), path)
    assert path.read_bytes() == b"old"


def linear_product(a, b):
    return a @ b.T


def test_a_missing_file(path):
    with pytest.raises(FileNotFoundError, match="no file"):
        load(path)


def test_a_truncated_file_at_any_length(path):
    save(mercer.KernelRidge().fit(X, Y), path)
    whole = path.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"not a Mercer model|truncated|damaged"):
            load(path)


def test_a_damaged_member(path):
    save(mercer.KernelRidge().fit(X, Y), path)
    whole = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = archive.infolist()[0]
    whole[info.header_offset + 30 + len(info.filename) + 8] ^= 0xFF
    path.write_bytes(bytes(whole))
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize("content", [b"hello", b"PK\x03\x04 nonsense", b"\x80\x04."])
def test_a_foreign_file(content, path):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="not a Mercer model"):
        load(path)


def test_a_foreign_archive(path):
    skops.io.dump(LinearRegression().fit(X, Y), path)
    with pytest.raises(ModelFileError, match=r"lacks mercer\.json"):
        load(path)


def with_header(content, header):
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("mercer.json", json.dumps(header))
    return buffer.getvalue()


def test_a_newer_format_is_refused_with_the_remedy(path):
    content = skops.io.dumps(LinearRegression().fit(X, Y))
    path.write_bytes(with_header(content, {"format": 99, "mercer": "9.0"}))
    with pytest.raises(ModelFileError, match=r"mercer 9\.0.*Upgrade"):
        load(path)


class Trap:
    """Its construction from a file would be noticed."""

    sprung = False

    def __setstate__(self, state):
        type(self).sprung = True


def test_foreign_types_are_named_and_never_built(path):
    path.write_bytes(with_header(skops.io.dumps([Trap()]), {"format": 1, "mercer": "0.1.0"}))
    with pytest.raises(ModelFileError, match="Trap"):
        load(path)
    assert not Trap.sprung


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("mercer.learners.ridge.KernelRidge", True),
        ("mercer.persistence.save", False),  # a function
        ("mercer.persistence.Path", False),  # reachable, but not ours
        ("mercer.nowhere.Thing", False),
        ("os.system", False),
    ],
)
def test_only_classes_defined_here_are_trusted(name, own):
    assert persistence._is_own_class(name) is own


def test_a_full_disk_keeps_the_old_file(path, monkeypatch):
    write_whole(path, b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(persistence.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]  # no temporary file is left


def test_a_search_is_saved(path):
    from mercer import SVC, KernelSearchCV

    X = np.random.default_rng(0).normal(size=(40, 2))
    search = KernelSearchCV(SVC(), {"C": [0.1, 1.0]}).fit(X, X[:, 0] > 0)
    save(search, path)
    loaded = load(path)
    assert_array_equal(loaded.predict(X), search.predict(X))
    assert str(loaded.sharing_[0]) == str(search.sharing_[0])
