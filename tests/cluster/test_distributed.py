"""Learners over partitions are those of all rows, on threads, on processes and on Dask."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from lanes import few
from mercer import (
    SVC,
    AdditiveClassifier,
    AdditiveRegressor,
    Chunks,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSearchCV,
    Nystroem,
)
from mercer.distributed import Distributed, ThreadEngine
from mercer.gram import ApproximationWarning, register
from mercer.kernels import Spectrum

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (700, 4))
y = np.sin(3 * X[:, 0]) + X[:, 1] + rng.normal(scale=0.1, size=700)
LABELS = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
WEIGHTS = rng.integers(0, 3, 700).astype(float)
WEIGHTS[200:420] = 0  # a partition without rows
ADDITIVE = AdditiveRegressor(pairs=0, gamma=1.0)
RIDGE = KernelRidge(
    0.1, kernel="rbf", gamma="scale", solver="low_rank", rank=60, random_state=0, uncertainty=True
)
CLASSES = KernelRidgeClassifier(0.1, kernel="rbf", solver="low_rank", rank=60, random_state=0)
EXACT = KernelRidge(0.1, kernel="rbf", solver="conjugate_gradient", tol=1e-11, random_state=0)

ENGINES = few(1, ["threads", "dask", "processes"])


@pytest.fixture
def place(engine, request):
    """What ``client=`` is given."""
    name = {"threads": None, "dask": "client", "processes": "processes"}[engine]
    return ThreadEngine(2) if name is None else request.getfixturevalue(name)


def chunked(values, size=200):
    return da.from_array(values, chunks=(size, *np.shape(values)[1:]))


def rows_and(targets, weights):
    return chunked(X), chunked(targets, 130), None if weights is None else chunked(weights)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_counts_are_those_of_all_rows(place, weights):
    found = Distributed(ADDITIVE, place).fit(*rows_and(y, weights)).to_local()
    whole = clone(ADDITIVE).fit(X, y, weights)
    assert type(found) is AdditiveRegressor
    for one, other in zip(found.shapes_, whole.shapes_, strict=True):
        assert_array_equal(one.counts, other.counts)
        assert_array_equal(one.edges, other.edges)
    assert_allclose(found.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("learner", "targets"),
    [
        (AdditiveRegressor([(0, 1)], gamma=1.0), y),
        (AdditiveRegressor(2, gamma=1.0), np.column_stack([y, X[:, 0] * X[:, 3]])),
        (AdditiveClassifier([(0, 1)], gamma=1.0), LABELS == "a"),
        (AdditiveClassifier(0, gamma=1.0, class_weight="balanced"), LABELS),
    ],
    ids=["given pairs", "chosen pairs", "two classes and pairs", "classes"],
)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_pairs_and_classes_are_those_of_all_rows(place, learner, targets, weights):
    model = Distributed(learner, place).fit(*rows_and(targets, weights))
    found, whole = model.to_local(), clone(learner).fit(X, targets, weights)
    assert found.pairs_ == whole.pairs_
    method = "predict_proba" if hasattr(whole, "classes_") else "predict"
    wanted = getattr(whole, method)(X)
    assert_allclose(getattr(found, method)(X), wanted, rtol=1e-6, atol=1e-6)
    for one, other in zip(found.surfaces_, whole.surfaces_, strict=True):
        assert_array_equal(one.counts, other.counts)


def test_codes_that_have_no_room_are_refused_or_left_out():
    with pytest.raises(MemoryError, match="the codes of the rows"):
        Distributed(AdditiveClassifier(gamma=1.0, memory=50_000)).fit(chunked(X), chunked(LABELS))
    with pytest.warns(ApproximationWarning, match="pairs=0"):
        small = Distributed(AdditiveRegressor(gamma=1.0, memory=50_000)).fit(X, y).to_local()
    assert small.pairs_ == []
    alone = AdditiveRegressor(0, gamma=1.0, memory=50_000).fit(X, y)
    assert_allclose(small.predict(X), alone.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("learner", "targets"),
    [(RIDGE, y), (RIDGE, np.column_stack([y, -2 * y])), (CLASSES, LABELS), (CLASSES, LABELS == "a"),
     (clone(CLASSES).set_params(class_weight="balanced", fit_intercept=False), LABELS),
     (EXACT, y), (clone(CLASSES).set_params(solver="conjugate_gradient", tol=1e-11), LABELS)],
    ids=["one target", "two targets", "classes", "two classes", "balanced", "exact",
         "exact classes"],
)  # fmt: skip
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_ridge_is_that_of_all_rows(place, learner, targets, weights):
    model = Distributed(learner, place).fit(*rows_and(targets, weights))
    whole = clone(learner).fit(X, targets, weights)
    found = model.to_local()
    method = "decision_function" if hasattr(whole, "classes_") else "predict"
    wanted = getattr(whole, method)(X)
    assert_allclose(getattr(found, method)(X), wanted, rtol=1e-8, atol=1e-8)
    assert found.get_params() == whole.get_params()
    if learner is RIDGE:
        assert_array_equal(found.centres_, whole.centres_)
        std = whole.predict(X[:20], return_std=True)[1]
        assert_allclose(found.predict(X[:20], return_std=True)[1], std, atol=1e-8)


@pytest.mark.parametrize(("learner", "targets"), [(RIDGE, y), (CLASSES, LABELS)])
def test_the_penalty_of_a_stream_is_found(learner, targets):
    """By generalised cross-validation, which needs the sums alone."""
    learner = clone(learner).set_params(alpha="auto")
    weights = WEIGHTS + 1  # rows of weight 0 have no number in parts
    found = Distributed(learner, ThreadEngine(2)).fit(*rows_and(targets, weights)).to_local()
    streamed = clone(learner).fit_chunks(Chunks(X, targets, weights=weights))
    method = "decision_function" if hasattr(streamed, "classes_") else "predict"
    assert_array_equal(found.centres_, streamed.centres_)
    assert_allclose(found.alpha_, streamed.alpha_, rtol=1e-12)
    assert_allclose(getattr(found, method)(X), getattr(streamed, method)(X), atol=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_predictions_are_collections(place):
    model = Distributed(CLASSES, place).fit(*rows_and(LABELS, None))
    local = model.to_local()
    for method in ("predict", "decision_function"):
        found = getattr(model, method)(chunked(X))
        assert isinstance(found, da.Array)
        assert_array_equal(found.compute(), getattr(local, method)(X))
    assert model.score(chunked(X), chunked(LABELS)) == local.score(X, LABELS)
    assert_array_equal(model.predict(X), local.predict(X))  # rows of this process
    assert_array_equal(model.classes_, local.classes_)
    unknown = chunked(X)[chunked(X)[:, 0] > 0]  # sizes of chunks that nobody knows
    assert_array_equal(model.predict(unknown).compute(), local.predict(X[X[:, 0] > 0]))


@pytest.mark.parametrize("engine", ENGINES)
def test_any_fitted_learner_predicts(place):
    features = Nystroem(n_components=9, random_state=0).fit(X)
    found = Distributed(features, place).transform(chunked(X))
    assert_allclose(found.compute(), features.transform(X), atol=1e-12)
    machine = SVC(kernel=Spectrum(2)).fit(["abba", "baab", "cddc"] * 9, [0, 1, 2] * 9)
    words = ["abab", "ddcc", "bbaa"] * 20
    assert_array_equal(Distributed(machine, place).predict(words), machine.predict(words))


@pytest.mark.parametrize("engine", ENGINES)
def test_data_frames(place):
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(700) * 2)
    frame["kind"] = np.where(X[:, 2] > 0.5, "high", np.where(X[:, 3] > 0, "mid", None))
    frame["y"] = y + (frame["kind"] == "mid")
    table = dd.from_pandas(frame, npartitions=4, sort=False)
    names = [*"abcd", "kind"]
    model = Distributed(ADDITIVE, place).fit(table[names], table["y"])
    whole = clone(ADDITIVE).fit(frame[names], frame["y"])
    assert model.to_local().shapes_[4].levels == whole.shapes_[4].levels == ["high", "mid"]
    found = model.predict(table[names]).compute()
    assert isinstance(found, pd.Series)
    assert_array_equal(found.index, frame.index)
    assert_allclose(found, whole.predict(frame[names]), rtol=1e-9, atol=1e-9)
    both = Distributed(clone(ADDITIVE).fit(frame[names], np.column_stack([y, -y])), place)
    assert both.predict(table[names]).compute().shape == (700, 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_search_is_that_of_one_process(place):
    grid = {"gamma": [0.1, 1.0], "alpha": [0.01, 1.0]}
    search = KernelSearchCV(
        KernelRidge(kernel="rbf"), grid, cv=KFold(3), return_train_score=True,
        scoring={"r2": "r2", "error": "neg_mean_squared_error"}, refit="r2",
    )  # fmt: skip
    found = Distributed(search, place).fit(chunked(X), chunked(y)).to_local()
    whole = clone(search).fit(X, y)
    assert type(found) is KernelSearchCV
    assert found.best_params_ == whole.best_params_
    assert set(found.cv_results_) == set(whole.cv_results_)
    for name, values in whole.cv_results_.items():
        if "time" not in name and name != "params":
            same = name.startswith("param_")
            (assert_array_equal if same else assert_allclose)(found.cv_results_[name], values)
    assert_allclose(found.predict(X), whole.predict(X))
    assert sorted(i for shared in found.sharing_ for i in shared.candidates) == [0, 1, 2, 3]


def test_a_search_of_any_estimator_and_fits_that_fail():
    search = KernelSearchCV(ADDITIVE, {"gamma": [1.0, -1.0]}, cv=3)
    with pytest.warns(Warning, match="fits failed|non-finite"):
        found = Distributed(search, ThreadEngine(2)).fit(X, y)
    assert found.to_local().best_params_ == {"gamma": 1.0}
    with pytest.raises(ValueError, match="gamma"):
        Distributed(clone(search).set_params(param_grid={"gamma": [-1.0]}), ThreadEngine(2)).fit(
            X, y
        )


def test_the_centres_do_not_depend_on_the_partitions(monkeypatch):
    from mercer.learners.base import centres

    monkeypatch.setattr(centres, "FEWEST", 100)
    learner = clone(RIDGE).set_params(rank=8)
    cuts = [(700,), (100,) * 7, (1, 299, 400)]
    models = [
        Distributed(learner, ThreadEngine(2)).fit(
            da.from_array(X, chunks=(rows, 4)), da.from_array(y, chunks=(rows,))
        )
        for rows in cuts
    ]
    first = models[0].to_local()
    assert first.centres_.max() > 100
    for other in models[1:]:
        assert_array_equal(other.to_local().centres_, first.centres_)
        assert_allclose(other.to_local().predict(X), first.predict(X), atol=1e-9)
    assert_allclose(first.X_fit_, X[first.centres_])
    streamed = clone(learner).fit_chunks(mercer.Chunks(X, y, rows=90))  # which draws the same rows
    assert_array_equal(streamed.centres_, first.centres_)


@pytest.mark.parametrize("learner", [ADDITIVE, RIDGE], ids=["additive", "ridge"])
def test_few_partitions_are_in_memory_at_a_time(learner):
    """Of a table that is larger than memory: on one thread at most the next one beside each."""
    import weakref

    import dask

    there, most = set(), 0

    def block(i):
        nonlocal most
        rows = np.random.default_rng(i).uniform(-1, 1, (100, 4))
        there.add(i)
        weakref.finalize(rows, there.discard, i)
        most = max(most, len(there))
        return rows

    made = [da.from_delayed(dask.delayed(block)(i), (100, 4), float) for i in range(16)]
    Distributed(learner, ThreadEngine(1)).fit(da.concatenate(made), np.tile(y[:400], 4))
    assert 1 <= most <= 3


def test_bins_are_those_of_equal_steps(monkeypatch):
    from mercer.learners.additive import additive_learner, in_parts

    for home in (additive_learner, in_parts):
        monkeypatch.setattr(home, "BIN_ROWS", 150)
    found = Distributed(ADDITIVE, ThreadEngine(2)).fit(chunked(X), chunked(y)).to_local()
    whole = clone(ADDITIVE).fit(X, y)
    for one, other in zip(found.shapes_, whole.shapes_, strict=True):
        assert_array_equal(one.edges, other.edges)
        assert_array_equal(one.counts, other.counts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("memory", [None, "0.5MB"], ids=["kept", "tiles"])
def test_strips_of_products(monkeypatch, memory, dtype):
    from mercer.distributed import fits
    from mercer.gram import Place, gram
    from mercer.kernels import RBF

    monkeypatch.setattr(fits, "STRIP_ROWS", 64)
    monkeypatch.setattr(fits, "TILE", 3000)  # of 7 or 8 rows
    values, made = fits._values, []
    monkeypatch.setattr(fits, "_values", lambda *given: made.append(1) or values(*given))
    Z = X.astype(dtype)
    with register(fits.engine_gram):
        K = gram(RBF(0.5), Z, place=Place(memory, device=fits.OnEngine(ThreadEngine(2))))
        other = gram(RBF(0.5), Z, Z[:9].copy(), place=K.place)
    here = gram(RBF(0.5), Z)
    assert len(K._strips) == 8
    for V in (y, np.column_stack([y, -y])):
        exact = here.dense().astype(float) @ V
        assert_allclose(K @ V, exact, rtol=1e-12 if dtype == np.float64 else 1e-4)
    assert len(made) == (8 if memory is None else 0)
    assert_array_equal(K.diag(), here.diag())
    assert_array_equal(K.block(slice(3), np.array([5, 1])), here.block(slice(3), np.array([5, 1])))
    assert_array_equal(K.rows(np.array([3])), here.rows(np.array([3])))
    assert_allclose(K.part(np.arange(5)).dense(), here.part(np.arange(5)).dense())
    assert not isinstance(other, fits.EngineGram)


def test_a_kernel_that_is_not_symmetric_stays_here(monkeypatch):
    from mercer.distributed import fits
    from mercer.gram import Place, gram
    from mercer.kernels import QueryKey

    monkeypatch.setattr(fits, "STRIP_ROWS", 64)
    kernel = QueryKey(np.diag([1.0, 2, 3, 4]), np.triu(np.ones((4, 4))))
    with register(fits.engine_gram):
        K = gram(kernel, X, place=Place(device=fits.OnEngine(ThreadEngine(2))))
    assert not K.symmetric
    assert_allclose(K @ y, gram(kernel, X).dense() @ y, rtol=1e-12)


@pytest.mark.parametrize("count", range(1, 9))
def test_each_pair_of_rows_is_in_one_strip(count):
    from mercer.distributed.fits import _ring

    n, times = 40, np.zeros((40, 40), int)
    for strip in _ring(n, count):
        rows = np.arange(n)[strip.rows]
        times[np.ix_(rows, strip.columns)] += 1
        beyond = strip.columns[len(rows) :]
        times[np.ix_(beyond, rows)] += 1
    assert_array_equal(times, np.ones((n, n)))


def test_strips_of_the_factor(monkeypatch):
    from mercer.learners.base import centres

    monkeypatch.setattr(centres, "STRIP", 700)
    found = Distributed(RIDGE, ThreadEngine(1)).fit(chunked(X), chunked(y)).to_local()
    assert_allclose(found.predict(X), clone(RIDGE).fit(X, y).predict(X), atol=1e-8)


def test_the_local_form_is_saved(tmp_path):
    model = Distributed(RIDGE).fit(chunked(X), chunked(y))
    mercer.save(model.to_local(), tmp_path / "model.mercer")
    found = mercer.load(tmp_path / "model.mercer").predict(X)
    assert_array_equal(found, model.to_local().predict(X))


# --- bad input -----------------------------------------------------------------------------------


def test_a_missing_target_is_said_with_its_partition():
    bad = y.copy()
    bad[450] = np.nan
    with pytest.raises(ValueError, match=r"partition 2, from 0: y contains NaN.* row 50"):
        Distributed(ADDITIVE).fit(chunked(X), chunked(bad))


def test_a_missing_number_is_said_with_its_partition():
    bad = X.copy()
    bad[450, 1] = np.nan
    learner = clone(RIDGE).set_params(gamma=1.0)
    with pytest.raises(ValueError, match="NaN"):
        Distributed(learner).fit(chunked(bad), chunked(y))
    model = Distributed(learner).fit(chunked(X), chunked(y))
    with pytest.raises(ValueError, match=r"NaN"):
        model.predict(chunked(bad)).compute()
    with pytest.raises(ValueError, match=r"partition 0, from 0.*NaN"):
        model.predict(bad)


def blocks_of(*parts):
    """A collection whose partitions do not have the columns that it claims."""
    import dask

    made = [
        da.from_delayed(dask.delayed(lambda part=part: part)(), (len(part), 4), float)
        for part in parts
    ]
    return da.concatenate(made)


@pytest.mark.parametrize("learner", [ADDITIVE, RIDGE], ids=["additive", "ridge"])
def test_partitions_of_other_columns(learner):
    odd = blocks_of(X[:200], X[200:400], X[400:, :3])
    words = r"partitions 0 and 2 of X have different columns, .*: give the same ones in all"
    with pytest.raises(ValueError, match=words):
        Distributed(learner).fit(odd, chunked(y))


def test_data_frames_of_other_columns():
    import dask

    parts = [pd.DataFrame({"a": X[:9, 0], "b": 1.0}), pd.DataFrame({"a": X[:9, 0], "c": 1.0})]
    table = dd.from_delayed(
        [dask.delayed(part) for part in parts], meta=parts[0], verify_meta=False
    )
    target = dd.from_delayed(
        [dask.delayed(part["a"]) for part in parts], meta=parts[0]["a"], verify_meta=False
    )
    with pytest.raises(ValueError, match=r"columns \['a', 'b'\], and others \['a', 'c'\]"):
        Distributed(ADDITIVE).fit(table, target)


def test_unknown_sizes_of_chunks():
    some = chunked(X)[chunked(X)[:, 0] > 0]
    wanted = y[X[:, 0] > 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        Distributed(ADDITIVE).fit(some, wanted)
    model = Distributed(ADDITIVE).fit(some, chunked(y)[chunked(X)[:, 0] > 0])
    whole = clone(ADDITIVE).fit(X[X[:, 0] > 0], wanted)
    assert_allclose(model.to_local().predict(X), whole.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match=r"partition 0, from 0: y has 200 rows, but X has"):
        Distributed(ADDITIVE).fit(some, chunked(y))


@pytest.mark.parametrize(
    ("given", "words"),
    [((chunked(X), y[:5]), "y has 5 rows, and X has 700"),
     ((chunked(X), chunked(y[:600])), "y has 600 rows, and X has 700"),
     ((X, y[:5]), "y has 5 rows, and X has 700"),
     ((chunked(X), chunked(y), 0 * WEIGHTS), "no rows of positive weight"),
     ((chunked(X), chunked(y), -WEIGHTS), "negative"),
     ((dd.from_pandas(pd.DataFrame(X), 3), dd.from_pandas(pd.Series(y), 2)), "2 partitions"),
     ((da.zeros((4, 2, 2)), chunked(y)), "3 axes")],
    ids=lambda value: None,
)  # fmt: skip
def test_rows_that_do_not_fit_together(given, words):
    with pytest.raises(ValueError, match=words):
        Distributed(ADDITIVE).fit(*given)


@pytest.mark.parametrize(
    ("learner", "error", "words"),
    [(SVC(), TypeError, "SVC cannot be fitted to rows in partitions"),
     (KernelRidge(kernel="rbf", solver="cholesky"), ValueError, 'solver="low_rank"'),
     (KernelRidge(kernel="sigmoid", gamma=1.0), ValueError, "positive semidefinite"),
     (AdditiveRegressor(pairs=[(0, 9)]), ValueError, "pairs has"),
     (AdditiveRegressor(solver="exact"), ValueError, 'solver="bins"'),
     (CLASSES, ValueError, "one class"),
     (clone(EXACT).set_params(memory=20_000), MemoryError, 'solver="low_rank"')],
    ids=lambda value: None,
)  # fmt: skip
def test_what_cannot_be_fitted(learner, error, words):
    target = np.ones(700) if hasattr(learner, "class_weight") and learner is CLASSES else y
    with pytest.raises(error, match=words):
        Distributed(learner).fit(chunked(X), chunked(target))


def test_a_client_of_another_kind():
    with pytest.raises(TypeError, match=r"client='tcp://here': give a distributed\.Client"):
        Distributed(ADDITIVE, "tcp://here").fit(X, y)


def test_numbers_that_lie_askew():
    """Messages of Dask put arrays anywhere in memory."""
    raw = np.frombuffer(b"0" + X.tobytes(), np.float64, X.size, offset=1).reshape(X.shape)
    assert not raw.flags.aligned
    assert_array_equal(
        clone(ADDITIVE).fit(raw, y).predict(raw), clone(ADDITIVE).fit(X, y).predict(X)
    )


# --- conventions ---------------------------------------------------------------------------------


@pytest.mark.full
@parametrize_with_checks(
    [Distributed(AdditiveRegressor(pairs=0), ThreadEngine(1)),
     Distributed(KernelRidge(kernel="rbf", solver="low_rank"), ThreadEngine(1)),
     Distributed(KernelRidgeClassifier(kernel="rbf", solver="low_rank"), ThreadEngine(1))]
)  # fmt: skip
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.full
def test_dask_is_imported_when_it_is_used():
    code = (
        "import sys, mercer.distributed as d; import numpy as np; from mercer import KernelRidge\n"
        "ridge = d.Distributed(KernelRidge(solver='low_rank'))\n"
        "ridge.fit(np.eye(3), np.ones(3)).predict(np.eye(3))\n"
        "print({'dask', 'distributed'} & set(sys.modules))\n"
        "sys.modules['distributed'] = None\n"
        "try: d.DaskEngine(None)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "set()",
        'DaskEngine needs Dask, which is not installed: pip install "mercer[dask]".',
    ]
