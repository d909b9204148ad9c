"""One rule for all learners with checkpoints: a fit goes on with the same rows, weights, parameters
and version alone, and says what is another one."""

import inspect
import io
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone

import mercer
from mercer import (
    AdditiveClassifier,
    AdditiveRegressor,
    Checkpoint,
    Chunks,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    LinearSVC,
    LinearSVR,
)
from mercer.kernels import RBF
from mercer.streams import chunks as stream_module
from mercer.streams.kept_rows import difference, same_value, with_rows

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (120, 3))
y = np.sin(3 * X[:, 0]) + X[:, 1]
LABELS = np.where(y > 0, "high", "low")
W = rng.uniform(1, 2, 120)
LOW = {"kernel": "rbf", "gamma": 1.0, "rank": 10, "random_state": 0}
#: every learner with checkpoints, its targets, and the changes of one parameter
CASES = {
    "AdditiveRegressor": (AdditiveRegressor(0, gamma=1.0), y, {"gamma": 1.0 + 1e-15}),
    "AdditiveClassifier": (AdditiveClassifier(0), LABELS, {"alpha": 2.0}),
    "KernelRidge": (KernelRidge(**LOW), y, {"gamma": 2.0}),
    "KernelRidgeClassifier": (KernelRidgeClassifier(**LOW), LABELS, {"alpha": 2.0}),
    "KernelLogisticRegression": (KernelLogisticRegression(**LOW), LABELS, {"C": 2.0}),
    "KernelPCA": (KernelPCA(2, eigen_solver="low_rank", **LOW), None, {"n_components": 3}),
    "LinearSVC": (LinearSVC(), LABELS, {"C": 2.0}),
    "LinearSVR": (LinearSVR(loss="squared_epsilon_insensitive"), y, {"epsilon": 0.1}),
}
AT = {"rows": 20, "pass": 2}  # rows of a block; the reading in which a fit in passes is cut
TAKES_WEIGHTS = [name for name in CASES if name != "KernelPCA"]


def test_every_learner_with_checkpoints_is_in_the_table():
    public = [getattr(mercer, name) for name in mercer.__all__ if name != "testing"]
    classes = [value for value in public if inspect.isclass(value) and hasattr(value, "fit_chunks")]
    takes = [c for c in classes if "checkpoint" in inspect.signature(c.fit_chunks).parameters]
    assert sorted(c.__name__ for c in takes) == sorted(CASES)


class Cut(Exception):
    """What ends a fit early."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    from mercer.learners.additive.in_parts import AdditiveParts
    from mercer.streams import IncrementalFit

    for kind in (IncrementalFit, AdditiveParts):
        monkeypatch.setattr(kind, "block", AT["rows"])


def cut_fit(name, path, monkeypatch, rows=X, targets=None, weights=None):
    """Leave the checkpoint of a fit that ended when it had written it for the second time."""
    from mercer.streams import checkpoint

    model, own, _ = CASES[name]
    written, save = [], checkpoint.save

    def saving(*arguments):
        save(*arguments)
        written.append(arguments)
        if len(written) == AT["pass"]:
            raise Cut

    targets = own if targets is None else targets
    stream = Chunks(rows, targets, weights=weights)
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save", saving)
        with pytest.raises(Cut):
            clone(model).fit_chunks(stream, Checkpoint(path, 0))


def outputs(model):
    named = ("predict_proba", "decision_function", "predict", "transform")
    return next(getattr(model, name) for name in named if hasattr(model, name))(X)


def with_one(values, row, value):
    values = values.copy()
    values[row] = value
    return values


@pytest.mark.parametrize("name", CASES)
def test_the_same_fit_goes_on(name, tmp_path, monkeypatch):
    model, targets, _ = CASES[name]
    weights = W if name in TAKES_WEIGHTS else None
    whole = clone(model).fit_chunks(Chunks(X, targets, weights=weights))
    cut_fit(name, tmp_path / "c", monkeypatch, weights=weights)
    stream = Chunks(X, targets, weights=weights, rows=7)  # chunks do not matter
    went_on = clone(model).set_params(**{"n_jobs": 1} if hasattr(model, "n_jobs") else {})
    went_on.fit_chunks(stream, tmp_path / "c")
    assert_array_equal(outputs(went_on), outputs(whole))
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("row", [0, 119])
@pytest.mark.parametrize("name", CASES)
def test_another_row_is_refused(name, row, tmp_path, monkeypatch):
    """Also one that the fit had not read yet, if it reads all rows twice."""
    if name.startswith("Additive") and row == 119:
        return  # they read once, and that row was not read
    model, targets, _ = CASES[name]
    cut_fit(name, tmp_path / "c", monkeypatch)
    changed = with_one(X, (row, 2), np.nextafter(X[row, 2], 9))
    with pytest.raises(ValueError, match=r"other rows of X than (those|that) of the checkpoint"):
        clone(model).fit_chunks(Chunks(changed, targets), tmp_path / "c")
    if targets is not None:
        other = with_one(targets, row, targets[np.flatnonzero(targets != targets[row])[0]])
        with pytest.raises(ValueError, match=r"other targets than (those|that) of the checkpoint"):
            clone(model).fit_chunks(Chunks(X, other), tmp_path / "c")
    n = 20 if name.startswith("Additive") else 100
    fewer = Chunks(X[:n], None if targets is None else targets[:n])
    with pytest.raises(ValueError, match=r"the stream has \d+ rows, and t.* checkpoint"):
        clone(model).fit_chunks(fewer, tmp_path / "c")
    assert (tmp_path / "c").exists()  # so that the right stream goes on


@pytest.mark.parametrize("name", TAKES_WEIGHTS)
def test_another_weight_is_refused(name, tmp_path, monkeypatch):
    model, targets, _ = CASES[name]
    cut_fit(name, tmp_path / "c", monkeypatch, weights=W)
    for weights in (with_one(W, 3, 1.5), None, W * 2):
        with pytest.raises(ValueError, match=r"other weights than (those|that) of the checkpoint"):
            clone(model).fit_chunks(Chunks(X, targets, weights=weights), tmp_path / "c")
    without = with_one(W, 3, 0.0)
    with pytest.raises(ValueError, match="of the checkpoint"):
        clone(model).fit_chunks(Chunks(X, targets, weights=without), tmp_path / "c")


@pytest.mark.parametrize("name", CASES)
def test_another_parameter_or_version_is_refused(name, tmp_path, monkeypatch):
    model, targets, change = CASES[name]
    cut_fit(name, tmp_path / "c", monkeypatch)
    [(param, value)] = change.items()
    with pytest.raises(ValueError, match=rf"is of {name}\({param}=.*, and this is .*{value!r}"):
        clone(model).set_params(**change).fit_chunks(Chunks(X, targets), tmp_path / "c")
    monkeypatch.setattr(mercer, "__version__", "9.9")
    with pytest.raises(ValueError, match=r"was written by Mercer 0.*, and this is 9\.9"):
        clone(model).fit_chunks(Chunks(X, targets), tmp_path / "c")


@pytest.mark.parametrize("name", CASES)
def test_sums_of_another_version_are_refused(name, tmp_path, monkeypatch):
    """Of a class that is known, but stands for something else, and of one that is no more."""
    model, targets, _ = CASES[name]
    path = tmp_path / "c"
    cut_fit(name, path, monkeypatch)
    saved = mercer.load(path)
    content, kind = path.read_bytes(), type(saved.sums).__name__.encode()
    said = rf"checkpoint='{re.escape(str(path))}' .* version of Mercer.*emove .* to begin anew\."
    saved.sums = saved.sums.learner
    mercer.save(saved, path)
    with pytest.raises(ValueError, match=said):
        clone(model).fit_chunks(Chunks(X, targets), path)
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            new.writestr(member, old.read(member).replace(kind, b"OldSums"))
    with pytest.raises(ValueError, match=said):
        clone(model).fit_chunks(Chunks(X, targets), path)


def test_large_parameters_are_compared_to_the_last_bit(tmp_path, monkeypatch):
    big = np.arange(3000.0)
    assert same_value({"w": [big]}, {"w": [big.copy()]})
    assert not same_value(big, with_one(big, 1500, 0.0))
    assert same_value(RBF(gamma=0.1), RBF(gamma=np.float64(0.1)))
    assert not same_value(RBF(gamma=0.1), RBF(gamma=np.nextafter(0.1, 1)))
    assert not same_value(1, True)
    assert same_value(np.mean, np.mean)
    assert not same_value(np.mean, np.median)


SETS = [frozenset({f"w{k}", "b", f"c{k % 3}"}) for k in range(40)]
FRAME = pd.DataFrame({"a": X[:, 0], "word": [f"w{k % 7}" for k in range(120)], "n": range(120)})


def changed_frame(column, value):
    frame = FRAME.copy()
    frame.loc[5, column] = value
    return frame


SAMPLES = {
    "array": (X, with_one(X, (5, 1), 0.0), "rows of X"),
    "float32": (X.astype("f4"), with_one(X.astype("f4"), (5, 1), 0), "rows of X"),
    "whole numbers": (
        np.arange(60).reshape(20, 3),
        np.arange(60)[::-1].reshape(20, 3),
        "rows of X",
    ),
    "sparse": (sp.csr_array(X * (X > 0)), sp.csr_array(X * (X > 0.1)), "X"),
    "sparse, elsewhere": (sp.csr_array(np.eye(9)), sp.csr_array(np.eye(9)[::-1]), "places of"),
    "frame": (FRAME, changed_frame("word", "other"), "values in column 'word'"),
    "numbers of a frame": (FRAME, changed_frame("n", 99), "values in column 'n'"),
    "polars": (pl.DataFrame(FRAME), pl.DataFrame(changed_frame("a", 0.0)), "values in column 'a'"),
    "texts": (["a", "b", "c"] * 9, ["a", "b", "d"] + ["a", "b", "c"] * 8, "rows of X"),
    "texts in one": (["ab", "c"], ["a", "bc"], "rows of X"),
    "sets": (SETS, [*SETS[:9], frozenset("z"), *SETS[10:]], "rows of X"),
    "series": ([X[:5], X[5:7]], [X[:4], X[4:7]], "rows of X"),
    "array of texts": (np.array(["a", "b"]), np.array(["a", "c"]), "rows of X"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_digest_knows_rows_of_every_kind(name):
    rows, others, part = SAMPLES[name]

    def digest(rows, sizes=(1000,)):
        found, start = {}, 0
        for size in (*sizes, 1000):
            piece = stream_module.row_range(rows, start, start + size)
            found, start = with_rows(found, piece, None, None), start + size
            if start >= stream_module.count_rows(rows):
                return found

    assert digest(rows) == digest(rows, (1, 3, 2))
    assert part in difference(digest(rows), digest(others))


def test_graphs_are_known_by_what_they_are():
    networkx = pytest.importorskip("networkx")
    graphs = [networkx.path_graph(k) for k in (3, 4)]
    before = with_rows({}, graphs, None, None)
    assert [(list(g.nodes), list(g.edges)) for g in graphs]  # which it remembers
    assert with_rows({}, graphs, None, None) == before
    graphs[1].add_edge(0, 3)
    assert with_rows({}, graphs, None, None) != before


def test_the_digest_is_that_of_another_process():
    code = (
        "import json; from mercer.streams.kept_rows import with_rows;"
        "S = [frozenset({f'w{k}', 'b', f'c{k % 3}'}) for k in range(40)];"
        "print(json.dumps(with_rows({}, S, None, None)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert json.loads(said) == dict(with_rows({}, SETS, None, None))
