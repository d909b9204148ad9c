"""What is imported while files are written and read: nothing of the current folder."""

import json
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import all_estimators

import mercer
from mercer.persistence import installed_only, own_objects, trust

PROGRAM = """
import sys
sys.path = [entry for entry in sys.path if entry]  # numpy and others are imported as they should
import json, os, types, warnings
import numpy as np
import mercer
from importlib import import_module
from scipy import special
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from mercer.distances import Edit, Jaccard, Minkowski
from mercer.search import BruteForce, LSHIndex

X = np.random.default_rng(0).normal(size=(30, 3))
y = X[:, 0] > 0
models = [
    make_pipeline(StandardScaler(), mercer.SVC()).fit(X, y),
    make_pipeline(FunctionTransformer(special.expit), mercer.SVC()).fit(X, y),
    mercer.SVC(kernel="jaccard").fit([{i, i % 3} for i in range(30)], y),
    [np.random.default_rng(0), X.astype("M8[s]"), {1: slice(2)}, np.float32(1), np.exp],
]
indexes = [BruteForce(Minkowski()).fit(X), LSHIndex(Jaccard()).fit([{i, i % 3} for i in range(30)])]

# a module that imports what it is asked for, as Cython.Shadow does; it was loaded first of all
lazy = types.ModuleType("lazy")
lazy.__getattr__ = lambda name: import_module(name)
others = dict(sys.modules)
sys.modules.clear()
sys.modules.update({"lazy": lazy, **others})

asked = set()
class Spy:
    def find_spec(self, name, path=None, target=None):
        asked.add(name)
def use(models, indexes):
    sys.meta_path.insert(0, Spy())
    for i, model in enumerate(models):
        mercer.save(model, f"{i}.mercer")
        mercer.load(f"{i}.mercer")
    for i, index in enumerate(indexes):
        index.save(f"{i}.index")
        mercer.search.Index.load(f"{i}.index")
    for name in ("0.mercer", "0.index"):  # damaged ones, too
        content = bytearray(open(name, "rb").read())
        content[len(content) // 3] ^= 1
        open(name, "wb").write(content)
        for read in (mercer.load, mercer.search.Index.load):
            try:
                read(name)
            except mercer.persistence.ModelFileError:
                pass

sys.path[:0] = ["", ".", os.getcwd()]
use(models, indexes)
print(json.dumps(sorted(asked)))
"""


def run(folder):
    """The modules that are asked for while files are written and read in a folder."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM], cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.full
def test_files_of_the_current_folder_are_not_run(tmp_path):
    clean, hostile = tmp_path / "clean", tmp_path / "hostile"
    clean.mkdir(), hostile.mkdir()
    asked = run(clean)
    assert "skops" in asked  # it is seen
    names = {part for name in asked for part in name.split(".")} | sys.stdlib_module_names
    names |= {"numpydoc", "pytest", "quantile_forest", "torch", "pandas", "beta", "gamma", "i1"}
    names |= {name for name in dir(import_module("scipy.special")) if name.isidentifier()}
    mark = "open('{0}.ran', 'w').close()\nraise SystemExit('{0} was run')\n"
    for name in names:
        (hostile / f"{name}.py").write_text(mark.format(name))
    assert {*run(hostile)} == {*asked}
    assert not list(hostile.glob("*.ran"))
    assert len(names) > 500
    # they would be run by an import as usual
    usual = [sys.executable, "-c", "import numpydoc"]
    assert "was run" in subprocess.run(usual, cwd=hostile, capture_output=True, text=True).stderr


@pytest.mark.full
def test_no_name_outside_of_the_packages_that_are_trusted_is_asked_for(tmp_path):
    asked = {name.partition(".")[0] for name in run(tmp_path)}
    assert asked - trust.JUDGED <= {"quantile_forest"}  # which is refused without a search


def test_other_threads_import_what_they_like(tmp_path, monkeypatch):
    (tmp_path / "a_neighbour.py").write_text("")
    (tmp_path / "a_local_file.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    with installed_only():
        with pytest.raises(ModuleNotFoundError, match="a_local_file"):
            import_module("a_local_file")
        other = threading.Thread(target=import_module, args=["a_neighbour"])
        other.start()
        other.join()
        with installed_only():
            pass
        with pytest.raises(ModuleNotFoundError, match="a_local_file"):
            import_module("a_local_file")
    assert "a_neighbour" in sys.modules
    import_module("a_local_file")


def test_what_is_installed_is_found_beside_a_local_file_of_its_name(tmp_path, monkeypatch):
    (tmp_path / "colorsys.py").write_text("raise SystemExit('colorsys was run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with installed_only():
        assert import_module("colorsys").rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_the_folder_of_installed_packages_stays_searched(monkeypatch):
    """On some servers it is the current folder."""
    folder = str(Path(np.__file__).parents[1])
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    assert folder in mercer.persistence.trust.installed_folders()


def test_all_estimators_of_scikit_learn_are_known_without_asking_for_them():
    names = [f"{found.__module__}.{found.__name__}" for _, found in all_estimators()]
    assert len(names) > 150
    assert [name for name in names if not trust.is_known(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "sklearn.base.BaseEstimator", "sklearn.svm._base.BaseSVC", "sklearn.svm.SVC",
        "sklearn.svm._classes.BaseEstimator", "sklearn.svm._classes.svc", "sklearn.svm",
        "sklearn.linear_model._base.SVC", "sklearn.conftest.SVC", "sklearn.utils._testing.SVC",
        "sklearn.externals._x.SVC", "elsewhere._classes.SVC", "sklearn.svm._classes._SVC",
        "sklearn.svm._classes.SVC.fit", "sklearn.metrics._ranking.accuracy_score",
        "sklearn.metrics._scorer.accuracy_score", "sklearn.model_selection._search.KFold",
        "sklearn.ensemble._gb.GradientBoostingClassifier.fit", "", ".", "sklearn",
        "sklearn.feature_selection._base.chi2", "numpy.dtype.x", "numpy.core.dtype",
    ],
)  # fmt: skip
def test_what_is_not_known(name):
    assert not trust.is_known(name)
    assert trust.is_known("sklearn.svm._classes.SVC")


def test_what_this_scikit_learn_does_not_show_is_not_known(monkeypatch):
    """A module that only a newer one has, or an estimator that is said to be experimental."""

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(trust, "import_module", missing)
    monkeypatch.setattr(own_objects, "import_module", missing)
    assert not trust.is_known("sklearn.svm._classes.SVC")
    assert not trust.own_class("mercer.learners.margin.svc.SVC")
