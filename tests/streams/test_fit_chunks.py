"""Learners that fit in chunks: the answer of a fit, whatever the chunks, and after a kill too."""

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import mercer
from mercer import (
    AdditiveClassifier,
    AdditiveRegressor,
    Checkpoint,
    Chunks,
    KernelPCA,
    KernelRidge,
    KernelRidgeClassifier,
    Nystroem,
    RandomFeatures,
)
from mercer.gram import ApproximationWarning
from mercer.kernels import RBF, Spectrum

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (600, 4))
f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
y = f + rng.normal(scale=0.1, size=600)
LABELS = np.where(f > 0, "high", "low")
THREE = np.array(["a", "b", "c"])[np.digitize(f, [-0.3, 0.4])]
LOW = {"kernel": "rbf", "gamma": 1.0, "rank": 60, "random_state": 0}
#: learners that read streams, and their targets
CASES = {
    "KernelRidge": (KernelRidge(0.01, **LOW), y),
    "KernelRidge, auto": (KernelRidge("auto", **LOW), y),
    "KernelRidge, two": (KernelRidge(0.01, **LOW, uncertainty=True), np.c_[y, f]),
    "KernelRidgeClassifier": (KernelRidgeClassifier(0.01, **LOW), LABELS),
    "KernelRidgeClassifier, three": (
        KernelRidgeClassifier("auto", **LOW, class_weight="balanced"), THREE,
    ),
    "KernelPCA": (KernelPCA(8, eigen_solver="low_rank", **LOW), y),
    "AdditiveRegressor": (AdditiveRegressor(gamma=1.0), y),
    "AdditiveRegressor, two": (AdditiveRegressor(0, gamma=1.0), np.c_[y, f]),
    "AdditiveClassifier": (AdditiveClassifier(gamma=1.0), LABELS),
    "AdditiveClassifier, three": (AdditiveClassifier(0, class_weight="balanced"), THREE),
}  # fmt: skip
WAYS = [[600], [100] * 6, [1, 0, 298, 301], [249, 1, 1, 349]]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    import mercer.learners.additive.regressor as numbers
    from mercer.learners.additive.in_parts import AdditiveParts
    from mercer.streams import IncrementalFit, chunks

    monkeypatch.setattr(chunks, "BLOCK", 70)
    monkeypatch.setattr(numbers, "BIN_ROWS", 250)
    monkeypatch.setattr(AdditiveParts, "block", 250)
    monkeypatch.setattr(IncrementalFit, "block", 90)


def outputs(model, rows=X):
    named = ("predict_proba", "decision_function", "predict", "transform")
    return next(getattr(model, name) for name in named if hasattr(model, name))(rows)


def cut(sizes, targets, weights=None):
    ends = np.cumsum([0, *sizes])
    parts = (targets,) if weights is None else (targets, weights)
    return [(X[a:b], *(part[a:b] for part in parts)) for a, b in pairwise(ends)]


@pytest.mark.parametrize("name", CASES)
def test_any_chunks_have_the_same_answer(name):
    model, targets = CASES[name]
    answers = [outputs(clone(model).fit_chunks(Chunks(cut(sizes, targets)))) for sizes in WAYS]
    for other in answers[1:]:
        assert_array_equal(other, answers[0])


@pytest.mark.parametrize(
    "name",
    [name for name, (model, _) in CASES.items() if "Ridge" in name and model.alpha != "auto"],
)
def test_ridge_is_that_of_a_fit_of_low_rank(name):
    model, targets = CASES[name]
    whole = clone(model).set_params(solver="low_rank").fit(X, targets)
    streamed = clone(model).fit_chunks(Chunks(X, targets, rows=70))
    assert_array_equal(streamed.centres_, whole.centres_)
    assert_allclose(outputs(streamed), outputs(whole), rtol=1e-7, atol=1e-7)
    if model.uncertainty:
        std = streamed.predict(X, return_std=True)[1]
        assert_allclose(std, whole.predict(X, return_std=True)[1], rtol=1e-5, atol=1e-7)


def test_the_penalty_of_cross_validation_is_about_that_of_leaving_out():
    whole = KernelRidge("auto", solver="low_rank", **LOW).fit(X, y)
    streamed = KernelRidge("auto", **LOW).fit_chunks(Chunks(X, y))
    assert 0.1 < streamed.alpha_ / whole.alpha_ < 10
    assert np.mean((streamed.predict(X) - f) ** 2) < 1.2 * np.mean((whole.predict(X) - f) ** 2)
    shifted = KernelRidgeClassifier("auto", **LOW).fit_chunks(Chunks(X, LABELS))
    same = KernelRidgeClassifier("auto", solver="low_rank", **LOW).fit(X, LABELS)
    assert np.mean(shifted.predict(X) == same.predict(X)) > 0.98


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_components_are_those_of_a_fit_of_low_rank(dtype):
    model, rows = CASES["KernelPCA"][0], X.astype(dtype)
    whole, streamed = clone(model).fit(rows), clone(model).fit_chunks(Chunks(rows, rows=70))
    assert_array_equal(streamed.X_fit_, whole.X_fit_)
    assert_array_equal(streamed.X_fit_, rows[streamed.centres_])
    exact = dtype == np.float64
    for name in ("eigenvalues_", "explained_variance_ratio_"):
        assert_allclose(getattr(streamed, name), getattr(whole, name), rtol=1e-9 if exact else 1e-4)
    atol = 1e-7 if exact else 1e-2
    assert_allclose(streamed.transform(rows), whole.transform(rows), atol=atol)
    assert_allclose(
        streamed.reconstruction_error(rows), whole.reconstruction_error(rows), atol=atol
    )
    assert streamed.n_samples_ == 600


def test_components_of_a_stream_far_from_zero():
    """The mean is taken off before squares are added."""
    far = X + 1e3
    streamed = KernelPCA(3, rank=4, random_state=0).fit_chunks(Chunks(far, rows=50))
    assert_allclose(streamed.eigenvalues_, KernelPCA(3).fit(X).eigenvalues_, rtol=1e-4)


def test_components_of_a_stream_say_what_they_need():
    for changes, message in (
        ({"eigen_solver": "dense"}, "eigen_solver='dense': a fit in chunks is of low rank"),
        ({"fit_inverse_transform": True}, "fit_inverse_transform=True learns from all samples"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelPCA(2, **changes).fit_chunks(Chunks(X))
    with pytest.raises(ValueError, match="weights are given, and KernelPCA has none"):
        KernelPCA(2, **LOW).fit_chunks(Chunks(X, weights=np.ones(600)))


def test_a_linear_kernel_is_exact():
    exact = KernelRidge(0.1).fit(X, y).predict(X)
    assert_allclose(KernelRidge(0.1).fit_chunks(Chunks(X, y, rows=50)).predict(X), exact, atol=1e-9)


@pytest.mark.parametrize("learner", [AdditiveRegressor, AdditiveClassifier])
def test_few_rows_are_a_fit(learner):
    targets = y if learner is AdditiveRegressor else LABELS
    chunks = Chunks(X[:200], targets[:200], rows=33)
    streamed = learner().fit_chunks(chunks)
    whole = learner().fit(X[:200], targets[:200])
    assert streamed.pairs_ == whole.pairs_
    assert_array_equal(outputs(streamed), outputs(whole))


def test_additive_streams_have_pairs_if_memory_has_room():
    model = AdditiveRegressor().fit_chunks(Chunks(X, y, rows=50))
    assert model.pairs_ == [(1, 2)]
    with pytest.warns(ApproximationWarning, match="pairs=0"):
        small = AdditiveRegressor(memory=60_000).fit_chunks(Chunks(X, y, rows=50))
    assert small.pairs_ == []
    alone = AdditiveRegressor(0, memory=60_000).fit_chunks(Chunks(X, y, rows=50))
    assert_array_equal(alone.predict(X), small.predict(X))
    with pytest.raises(MemoryError, match="the codes of the rows"):
        AdditiveClassifier(memory=60_000).fit_chunks(Chunks(X, LABELS, rows=50))


@pytest.mark.parametrize("name", [name for name in CASES if name != "KernelPCA"])
def test_a_weight_is_a_repetition(name):
    model, targets = CASES[name]
    w = rng.integers(0, 3, 100)  # so few rows that bins are those of all of them
    again = np.repeat(np.arange(100), w)
    if name.startswith("Kernel"):  # the drawn rows are all rows, and their copies change nothing
        model = clone(model).set_params(kernel="linear", gamma=None)
    else:
        model = clone(model).set_params(pairs=0)
    weighted = clone(model).fit_chunks(Chunks(X[:100], targets[:100], weights=w, rows=70))
    repeated = clone(model).fit_chunks(Chunks(X[again], targets[again], rows=70))
    assert_allclose(outputs(weighted), outputs(repeated), rtol=1e-5, atol=1e-6)


def test_tables_with_categories_and_missing_values():
    kind = rng.choice(["a", "b"], 600)
    table = pd.DataFrame({"x": np.where(X[:, 0] > 0.8, np.nan, X[:, 0]), "kind": kind, "y": y})
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    a = AdditiveRegressor(0).fit_chunks(Chunks(arrow, "y", rows=80))
    b = AdditiveRegressor(0).fit_chunks(Chunks(table, "y", rows=110))
    assert_array_equal(a.predict(arrow.drop_columns(["y"])), b.predict(table.drop(columns="y")))
    assert a.shapes_[1].levels == ["a", "b"]


def test_samples_of_any_kind():
    words = ["".join(rng.choice(list("abc"), 8)) for _ in range(300)]
    target = np.array([word.count("a") for word in words], float)
    chunks = Chunks([(words[s : s + 50], target[s : s + 50]) for s in range(0, 300, 50)])
    kernel = Spectrum(1)
    streamed = KernelRidge(1e-6, kernel=kernel, rank=20, random_state=0).fit_chunks(chunks)
    assert_allclose(streamed.predict(words), target, atol=1e-3)


def test_features_of_a_stream():
    chunks = Chunks(X, y, rows=70)
    for features in (
        Nystroem(RBF(1.0), n_components=50),
        RandomFeatures(RBF(1.0), n_components=300),
    ):
        fitted = clone(features).set_params(random_state=0).fit_chunks(chunks)
        phi = list(chunks.through(fitted))
        assert_allclose(np.concatenate([c.X for c in phi]), fitted.transform(X), rtol=1e-10)
        model = KernelRidge(0.01).fit_chunks(chunks.through(fitted))
        assert np.mean((model.predict(fitted.transform(X)) - f) ** 2) < 0.1 * np.var(f)
    given = Nystroem(RBF(1.0), n_components=50, random_state=0).fit_chunks(chunks)
    assert_array_equal(given.X_fit_, X[given.component_indices_])
    with pytest.raises(ValueError, match="draws its centres"):
        Nystroem(centres=[1, 2]).fit_chunks(chunks)


# --- checkpoints -------------------------------------------------------------------------------


class Cut(Exception):
    """What ends a reading early."""


def failing(targets, after):
    """Chunks of which the second reading ends early."""
    readings = iter(range(9))

    def make():
        first = next(readings) == 0
        for number, chunk in enumerate(cut([50] * 12, targets)):
            if number == after and not first:
                raise Cut
            yield chunk

    return make


@pytest.mark.parametrize("name", CASES)
def test_a_fit_goes_on_after_it_was_cut(name, tmp_path):
    model, targets = CASES[name]
    path = tmp_path / "fit.mercer"
    whole = clone(model).fit_chunks(Chunks(X, targets, rows=50))
    make = failing(targets, 11)
    if "Additive" in name:  # they read once
        next(iter(make()))
    with pytest.raises(Cut):
        clone(model).fit_chunks(Chunks(make), Checkpoint(path, 0))
    assert path.exists()
    read = []

    def told():
        for number, chunk in enumerate(cut([50] * 12, targets)):
            read.append(number)
            yield chunk

    again = clone(model).fit_chunks(Chunks(told), Checkpoint(path, 0))
    assert not path.exists()
    assert read == list(range(12))  # and it was read once
    assert_array_equal(outputs(again), outputs(whole))


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = tmp_path / "fit.mercer"

    def begin(model=CASES["KernelRidge"][0], targets=y):
        with pytest.raises(Cut):
            clone(model).fit_chunks(Chunks(failing(targets, 11)), Checkpoint(path, 0))

    begin()
    with pytest.raises(ValueError, match=r"is of KernelRidge\(alpha=0.01.*and this is"):
        KernelRidge(0.5, **LOW).fit_chunks(Chunks(X, y), path)
    with pytest.raises(ValueError, match="no checkpoint of KernelRidgeClassifier"):
        KernelRidgeClassifier(**LOW).fit_chunks(Chunks(X, LABELS), path)
    with pytest.raises(ValueError, match="other targets than those of the checkpoint"):
        KernelRidge(0.01, **LOW).fit_chunks(Chunks(X, y + 1), path)
    mercer.save(KernelRidge(**LOW).fit(X, y), path)
    with pytest.raises(ValueError, match="is no checkpoint"):
        KernelRidge(0.01, **LOW).fit_chunks(Chunks(X, y), path)
    with pytest.raises(TypeError, match="checkpoint=3"):
        KernelRidge(**LOW).fit_chunks(Chunks(X, y), 3)
    with pytest.raises(ValueError, match="seconds=-1"):
        KernelRidge(**LOW).fit_chunks(Chunks(X, y), Checkpoint(path, -1))


def test_a_file_that_changed_since_the_checkpoint_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", X)
    model = AdditiveRegressor(0, gamma=1.0)
    bad = y.astype(object)
    bad[590] = "no number"
    with pytest.raises(ValueError, match="the block from row 500"):
        clone(model).fit_chunks(
            Chunks(tmp_path / "x.npy", bad), Checkpoint(tmp_path / "fit.mercer", 0)
        )
    os.utime(tmp_path / "x.npy", ns=(0, 1))
    with pytest.raises(ValueError, match="files that have changed since"):
        clone(model).fit_chunks(Chunks(tmp_path / "x.npy", y), tmp_path / "fit.mercer")


KILLED = """
import sys, time
import numpy as np
from mercer import Checkpoint, Chunks, KernelRidge
from mercer.streams import IncrementalFit
IncrementalFit.block = 90
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (600, 4))
y = np.sin(3 * X[:, 0])
slow = len(sys.argv) > 2
def make():
    for s in range(0, 600, 50):
        yield X[s : s + 50], y[s : s + 50]
        time.sleep(0.1 * slow)
model = KernelRidge(0.01, kernel="rbf", rank=50, random_state=0)
model.fit_chunks(Chunks(make), Checkpoint(sys.argv[1], 0))
np.save(sys.argv[1] + ".npy", model.predict(X))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
def test_a_killed_process_leaves_a_whole_file(tmp_path):
    path = tmp_path / "fit.mercer"
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(path), "slow"])
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.5)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert path.exists()
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True)
    assert not path.exists()
    resumed = np.load(f"{path}.npy")
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True)
    assert_array_equal(resumed, np.load(f"{path}.npy"))


# --- bad input ---------------------------------------------------------------------------------


def test_readers_say_what_they_need():
    once = Chunks(iter([(X, y)]))
    with pytest.raises(ValueError, match=r"KernelRidge.fit_chunks draws.*Chunks\(make\)"):
        KernelRidge(**LOW).fit_chunks(once)
    AdditiveRegressor(0).fit_chunks(Chunks(iter([(X, y)])))
    with pytest.raises(ValueError, match="solver='cholesky': a fit in chunks is of low rank"):
        KernelRidge(solver="cholesky").fit_chunks(Chunks(X, y))
    with pytest.raises(ValueError, match="solver='exact'"):
        AdditiveRegressor(solver="exact").fit_chunks(Chunks(X, y))
    for learner in (KernelRidge(**LOW), AdditiveRegressor(), AdditiveClassifier()):
        with pytest.raises(ValueError, match="requires y"):
            learner.fit_chunks(Chunks(X))
    with pytest.raises(ValueError, match="one class, 'high'"):
        KernelRidgeClassifier(**LOW).fit_chunks(Chunks(X, ["high"] * 600))
    with pytest.raises(ValueError, match="one class"):
        AdditiveClassifier().fit_chunks(Chunks(X, ["high"] * 600))
    with pytest.raises(ValueError, match="one class for each row"):
        KernelRidgeClassifier(**LOW).fit_chunks(Chunks(X, np.c_[f > 0, f > 1]))
    with pytest.raises(ValueError, match="alpha has shape"):
        KernelRidge([1.0, 2.0, 3.0], **LOW).fit_chunks(Chunks(X, np.c_[y, f]))


@pytest.mark.parametrize("name", CASES)
def test_a_nan_in_the_middle_is_told(name):
    model, targets = CASES[name]
    spoiled = X.copy()
    spoiled[417, 2] = np.inf
    with pytest.raises(ValueError, match=r"chunk 4 .*inf in row 17 \(row 417 .*column 2"):
        clone(model).fit_chunks(Chunks(spoiled, targets, rows=100))
    if name.startswith("Additive"):
        spoiled[417, 2] = np.nan  # a level of its own
        clone(model).fit_chunks(Chunks(spoiled, targets, rows=100))


def test_files_keep_streamed_models(tmp_path):
    for model, targets in CASES.values():
        streamed = clone(model).fit_chunks(Chunks(X, targets, rows=100))
        mercer.save(streamed, tmp_path / "model.mercer")
        assert_array_equal(outputs(mercer.load(tmp_path / "model.mercer")), outputs(streamed))


# --- memory ------------------------------------------------------------------------------------

MEASURED = """
import re, sys, warnings
import numpy as np
from mercer import *
from mercer.kernels import RBF

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024

def make(chunks):
    def draw():
        for seed in range(chunks):
            X = np.random.default_rng(seed).normal(size=(20_000, 20))
            yield X, LABELS[(X[:, 0] > 0).astype(int)] if "Classifier" in sys.argv[1] else X[:, 0]
    return draw

LABELS = np.array(["a", "b"])
model = eval(sys.argv[1])
model.fit_chunks(Chunks(make(4)))
before = peak()
model.fit_chunks(Chunks(make(14)))
print(peak() - before)
"""


@pytest.mark.full
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says the peak")
@pytest.mark.parametrize(
    ("model", "most"),
    [
        # 80,000 rows before; 200,000 rows more have 32 MB, of which a byte for each cell 4 MB
        ("AdditiveRegressor(0)", 30),
        ("AdditiveClassifier(0)", 60),
        ('KernelRidge(kernel="rbf", rank=30, random_state=0)', 15),
        ('KernelRidgeClassifier(kernel="rbf", rank=30, random_state=0)', 15),
        ("Nystroem(n_components=30)", 15),
        ('KernelPCA(3, kernel="rbf", rank=30, random_state=0)', 15),
        ('KernelLogisticRegression(kernel="rbf", rank=30, random_state=0)  # Classifier', 15),
        ("LinearSVC()  # Classifier", 15),
    ],
)
def test_memory_does_not_grow_with_the_rows(model, most):
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, model],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < most, f"{float(done.stdout):.0f} MB"
