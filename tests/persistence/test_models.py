"""Model files: round trips, whole writes, and refusals that run no code."""

import functools
import io
import json
import os
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from threading import Lock

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.kernels import RBF, Kernel
from mercer.persistence import ModelFileError, load, save, trust

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


def test_no_list_of_members_is_made_for_each_array(monkeypatch, path):
    model = mercer.KernelRidge().fit(X, Y)
    model.extra_ = [np.full(2, float(i)) for i in range(40)]
    asked, namelist = [], zipfile.ZipFile.namelist
    monkeypatch.setattr(zipfile.ZipFile, "namelist", lambda self: asked.append(1) or namelist(self))
    save(model, path)
    assert len(asked) < 10  # each takes time for all arrays before


def test_callables_are_refused_by_name_and_leave_the_old_file(path):
    path.write_bytes(b"old")
    with pytest.raises(ModelFileError, match=r"linear_product.*kernel object"):
        save(mercer.KernelRidge(kernel=linear_product), path)
    assert path.read_bytes() == b"old"


def linear_product(a, b):
    return a @ b.T


# --- classes of other packages: those of this module stand for a user's own --------------------


class Own(Kernel):
    """A kernel of a user's own, with something of a class of its own to keep."""

    def __init__(self, scale=1.0, extra=None):
        self.scale = scale
        self.extra = extra

    def block(self, X, Z):
        return self.scale * (X @ Z.T)

    def method(self):
        return self


class Outer:
    class Inner:
        pass


class Mode(Enum):
    """Cannot be made anew from attributes."""

    FAST = 1


@dataclass(frozen=True)
class Settings:
    tol: float = 0.5


def own_model(extra=None):
    return mercer.KernelRidge(kernel=Own(2.0, extra)).fit(X, Y)


OWN, SETTINGS = f"{__name__}.Own", f"{__name__}.Settings"


@pytest.mark.parametrize("trusted", [[OWN], (Own,), {OWN: 1}, [RBF, OWN, "mercer.kernels.RBF"]])
def test_a_class_of_another_package_is_loaded_where_it_is_trusted(trusted, path):
    model = own_model()
    save(model, path)
    loaded = load(path, trusted=trusted)
    assert type(loaded.kernel) is Own
    assert_allclose(loaded.predict(X), model.predict(X))


def test_what_it_holds_is_trusted_by_name_too(path):
    save(make_pipeline(StandardScaler(), own_model(Settings(0.25))), path)
    with pytest.raises(ModelFileError) as refusal:
        load(path, trusted=[OWN])
    assert f"trusted=[{OWN!r}, {SETTINGS!r}])" in str(refusal.value)
    assert load(path, trusted=[OWN, Settings])[-1].kernel.extra == Settings(0.25)


def test_the_refusal_says_what_to_write(path):
    save(own_model(), path)
    with pytest.raises(ModelFileError) as refusal:
        load(path)
    message = str(refusal.value)
    assert f"mercer.load({str(path)!r}, trusted=[{OWN!r}])" in message
    assert "Nothing was loaded" in message
    assert "Only if you trust the source of this file" in message
    call = message[message.index("mercer.load(") : message.rindex(".")]
    assert type(eval(call).kernel) is Own  # as a user would paste it


def local_object():
    class Local:
        pass

    return Local()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (lambda x: x, r"<lambda> \(a function\).*kernel object"),
        (local_object, r"local_object \(a function\)"),
        (len, r"len \(a function\)"),
        (save, r"mercer.persistence.models.save \(a function\)"),
        (functools.partial(Settings), r"functools.partial \(not one of the types that are known"),
        (Own().method, r"Own.method \(not defined at the top level of a module"),
        (local_object(), r"Local \(not defined at the top level of a module.*top level"),
        (Outer.Inner(), r"Inner \(not defined at the top level of a module"),
        (Outer.Inner, r"Inner \(not defined at the top level of a module"),
        (Mode.FAST, r"could not be read back.*Mode, .*plain values"),
        (Lock(), r"lock \(not one of the types that are known"),
        ((i for i in range(3)), r"KernelRidge cannot be saved"),
    ],
)
def test_what_can_never_be_loaded_is_refused_when_it_is_saved(extra, message, path):
    with pytest.raises(ModelFileError, match=message):
        save(own_model(extra), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("trusted", "error", "message"),
    [
        (OWN, TypeError, rf"trusted='{OWN}': give a list.*trusted=\['{OWN}'\]"),
        (Own, TypeError, r"give a list of classes or of their names"),
        (True, TypeError, r"trusted=True: give a list"),
        (["Own"], ValueError, r"trusted has 'Own': give the whole dotted name"),
        (["a..b"], ValueError, r"trusted has 'a..b': give the whole dotted name"),
        (["no_such.module.Kernel"], ValueError, r"cannot be imported: No module.*sys.path"),
        ([f"{__name__}.Absent"], ValueError, r"cannot be imported.*Absent.*__main__"),
        ([f"{__name__}.local_object"], TypeError, r"is of type function, not a class"),
        ([local_object], TypeError, r"is of type function, not a class.*cannot be loaded"),
        ([3], TypeError, r"trusted has 3, which is of type int, not a class"),
        ([f"{OWN}.method"], ValueError, r"cannot be imported"),
        ([Outer.Inner], ValueError, r"not defined at the top level of a module"),
        ([type(local_object())], ValueError, r"not defined at the top level of a module"),
        (["subprocess.Popen"], ValueError, r"belongs to 'subprocess'.*never loaded"),
        ([f"{__name__}.subprocess.Popen"], ValueError, r"cannot be imported"),
        (["sklearn.tree._tree.Tree"], ValueError, r"belongs to 'sklearn'.*never loaded"),
        (["mercer.persistence.models.save"], TypeError, r"is of type function, not a class"),
    ],
)
def test_what_cannot_be_trusted(trusted, error, message, path):
    save(mercer.KernelRidge().fit(X, Y), path)
    with pytest.raises(error, match=message):
        load(path, trusted=trusted)


Popen = subprocess.Popen  # reachable here, but not of this package


def test_a_class_is_known_by_where_it_is_defined(path, monkeypatch):
    with pytest.raises(ValueError, match="belongs to 'subprocess'"):
        load(path, trusted=[f"{__name__}.Popen"])
    elsewhere = type(sys)("elsewhere")  # a package that exports the class under another name
    elsewhere.Alias = Own
    monkeypatch.setitem(sys.modules, "elsewhere", elsewhere)
    save(own_model(), path)
    assert type(load(path, trusted=["elsewhere.Alias"]).kernel) is Own


@pytest.mark.full
def test_a_class_of_the_program_that_runs(path):
    """Saved by one program, and loaded by another that defines the class too, or does not."""
    program = (
        "import sys, mercer\nfrom mercer.kernels import Kernel\n"
        "{definition}"
        "def model():\n    return mercer.KernelRidge(kernel=Mine()).fit([[0.0], [1.0]], [0, 1])\n"
        "{then}"
    )
    definition = "class Mine(Kernel):\n    def block(self, X, Z):\n        return X @ Z.T\n"
    loading = "print(mercer.load(sys.argv[1], trusted=['__main__.Mine']).kernel)\n"

    def run(definition, then):
        code = program.format(definition=definition, then=then)
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    assert run(definition, "mercer.save(model(), sys.argv[1])\n") == ""
    assert run(definition, loading) == "Mine()\n"
    assert "a class of a program that was run (__main__) has to be defined" in run("", loading)


# --- forged files -------------------------------------------------------------------------------


def forged(path, extra):
    """A model file whose kernel has ``extra``, a node of the archive, in place of a number."""
    save(own_model(12345), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def replaced(node):
        if isinstance(node, dict):
            if node.get("__loader__") == "JsonNode" and node.get("content") == "12345":
                return extra
            return {key: replaced(value) for key, value in node.items()}
        return [replaced(item) for item in node] if isinstance(node, list) else node

    members["schema.json"] = json.dumps(replaced(json.loads(members["schema.json"]))).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def node(name, loader, **more):
    module, _, attribute = name.rpartition(".")
    return {"__class__": attribute, "__module__": module, "__loader__": loader, **more}


def arguments(*values):
    items = [node("builtins.str", "JsonNode", content=json.dumps(v), is_json=True) for v in values]
    return node("builtins.tuple", "TupleNode", content=items)


def called(name, *values):
    return node(name, "ConstructorFromReduceNode", content=arguments(*values))


calls = []


def spy(*args):
    """A function in the module of a trusted class, which a forged file may name."""
    calls.append(args)


@pytest.mark.parametrize(
    "extra",
    [
        called(f"{__name__}.spy", "x"),
        node(f"{__name__}.spy", "FunctionNode"),
        node(f"{__name__}.spy", "TypeNode"),
        node(f"{__name__}.spy", "ListNode", content=[]),
        node(f"{__name__}.Own.method", "FunctionNode"),
        node(
            OWN, "MethodNode",
            content={"func": "method", "obj": called(OWN)},
        ),
    ],
    ids=["called", "named", "as a type", "as a list", "of the class", "bound"],
)  # fmt: skip
def test_trust_in_a_class_is_not_trust_in_its_module(extra, path):
    forged(path, extra)
    with pytest.raises(ModelFileError, match=r"(spy|Own.method).*Nothing was loaded"):
        load(path, trusted=[Own])
    with pytest.raises((TypeError, ValueError), match=r"not a class|cannot be imported"):
        load(path, trusted=[Own, f"{__name__}.spy", f"{OWN}.method"])
    assert not calls


@pytest.mark.parametrize(
    ("name", "loader"),
    [
        ("mercer.persistence.whole_files.write_whole", "ConstructorFromReduceNode"),
        ("mercer.persistence.whole_files.write_whole", "FunctionNode"),
        ("mercer.persistence.whole_files.write_whole", "ListNode"),
        ("mercer.persistence.models.Path", "ConstructorFromReduceNode"),
        ("os.system", "ConstructorFromReduceNode"),
        ("builtins.eval", "ConstructorFromReduceNode"),
        ("subprocess.Popen", "ConstructorFromReduceNode"),
        ("functools.partial", "ConstructorFromReduceNode"),
        ("no name.Kernel'], __import__('os').x('", "ConstructorFromReduceNode"),
    ],
)
def test_functions_of_ours_and_types_of_python_are_refused_beside_trusted_ones(name, loader, path):
    target = path.with_name("written")
    content = arguments(str(target), "text")
    forged(path, node(name, loader, content=content["content"] if "List" in loader else content))
    with pytest.raises(ModelFileError, match=r"types that Mercer does not load.*nothing was"):
        load(path, trusted=[Own])
    assert not target.exists()


def test_a_module_that_a_file_names_is_not_imported(path, monkeypatch):
    folder = path.parent / "site"
    (folder / "a_stranger").mkdir(parents=True)
    (folder / "a_stranger" / "__init__.py").write_text("")
    (folder / "a_stranger" / "module.py").write_text("class Kernel:\n    pass\n")
    monkeypatch.syspath_prepend(str(folder))
    forged(path, called("a_stranger.module.Kernel"))
    with pytest.raises(ModelFileError, match=r"trusted=\['a_stranger.module.Kernel', "):
        load(path, trusted=[Own])
    assert not [name for name in sys.modules if name.startswith("a_stranger")]
    loaded = load(path, trusted=[Own, "a_stranger.module.Kernel"])
    assert type(loaded.kernel.extra).__module__ == "a_stranger.module"


@pytest.mark.parametrize("header", [{"format": "1"}, {"format": None}, [1], {}])
def test_a_header_that_is_none(header, path):
    path.write_bytes(with_header(skops.io.dumps(LinearRegression().fit(X, Y)), header))
    with pytest.raises(ModelFileError, match="not a Mercer model"):
        load(path)


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
        ("mercer.learners.ridge.kernel_ridge.KernelRidge", True),
        ("mercer.persistence.models.save", False),  # a function
        ("mercer.persistence.models.Path", False),  # reachable, but not ours
        ("mercer.nowhere.Thing", False),
        ("os.system", False),
    ],
)
def test_only_classes_defined_here_are_trusted(name, own):
    assert (trust.own_class(name) is not None) is own


def test_a_search_is_saved(path):
    from mercer import SVC, KernelSearchCV

    X = np.random.default_rng(0).normal(size=(40, 2))
    search = KernelSearchCV(SVC(), {"C": [0.1, 1.0]}).fit(X, X[:, 0] > 0)
    save(search, path)
    loaded = load(path)
    assert_array_equal(loaded.predict(X), search.predict(X))
    assert str(loaded.sharing_[0]) == str(search.sharing_[0])


def test_arrays_are_read_by_one_thread_at_a_time(tmp_path, monkeypatch):
    """Else Python's parser, which numpy uses, fails now and then."""
    mercer.save(mercer.SVC().fit([[0.0], [1.0]], [0, 1]), tmp_path / "a.mercer")
    reading, most = [], []
    original = np.lib.format.read_array_header_1_0

    def read(*args, **kwargs):
        reading.append(1)
        most.append(len(reading))
        time.sleep(0.002)
        found = original(*args, **kwargs)
        reading.pop()
        return found

    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", read)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(mercer.load, [tmp_path / "a.mercer"] * 8))
    assert len(most) > 16
    assert max(most) == 1


@pytest.mark.full
def test_torch_is_not_imported_with_skops(tmp_path):
    """It costs 190 MB and a second of each prediction; afterwards it can be imported."""
    (tmp_path / "torch.py").write_text("raise RuntimeError('torch was imported')\n")
    program = (
        "import sys, mercer\n"
        "model = mercer.SVC().fit([[0.0], [1.0]], [0, 1])\n"
        "mercer.save(model, 'm.mercer'); mercer.load('m.mercer')\n"
        "assert 'torch' not in sys.modules\n"
        "try:\n    import sklearn.externals.array_api_compat.torch\n"
        "except RuntimeError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout == "torch was imported\n", done.stderr
