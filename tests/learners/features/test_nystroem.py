"""The Nyström map beside scikit-learn's and the definition, and eigenfunctions that are known."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.kernel_approximation
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelRidge, Nystroem
from mercer.kernels import RBF, FromFunction, Jaccard, Linear, Polynomial, Sigmoid, Spectrum
from mercer.testing import parametrize_with_object_checks
from objects import SharedItems, SharedSymbols

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
NEW = RNG.normal(size=(20, 3))
CENTRES = ["pivoted", "uniform", "k-means++", "leverage"]
WORDS = ["".join(RNG.choice(list("abc"), 6)) for _ in range(40)]
SETS = [set(RNG.choice(20, 5).tolist()) for _ in range(40)]


@parametrize_with_checks(
    [Nystroem(n_components=5), Nystroem(n_components=5, centres="leverage"),
     Nystroem("linear", n_components=3, centres="k-means++")]
)  # fmt: skip
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@parametrize_with_object_checks(
    [(Nystroem(SharedSymbols()), "strings"), (Nystroem(SharedItems()), "sets")]
)
def test_object_conventions(check):
    check()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("centres", CENTRES)
def test_features_are_the_definition(centres, dtype):
    rows, new = X.astype(dtype), NEW.astype(dtype)
    model = Nystroem(RBF(0.2), n_components=20, centres=centres, random_state=0).fit(rows)
    k, S = RBF(0.2), X[model.component_indices_]
    phi, psi = model.transform(rows), model.transform(new)
    assert phi.dtype == dtype
    assert len(set(model.component_indices_)) == len(S) <= 20
    wanted = k(X, S) @ np.linalg.pinv(k(S, S), hermitian=True) @ k(S, NEW)
    close = {"atol": 1e-7 if dtype == np.float64 else 5e-3}
    assert_allclose(phi @ psi.T, wanted, **close)
    error = 1 - np.square(phi.astype(float)).sum() / len(X)
    assert_allclose(model.trace_error(rows), error, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("centres", CENTRES)
def test_with_all_rows_as_centres_nothing_is_lost(centres, dtype):
    for count in (40, 41, 1000):
        model = Nystroem(n_components=count, centres=centres).fit(X[:40].astype(dtype))
        phi = model.transform(X[:40].astype(dtype))
        assert_allclose(phi @ phi.T, RBF(1 / 3)(X[:40]), atol=1e-9 if dtype == np.float64 else 1e-4)


def test_the_answers_are_those_of_scikit_learn_with_the_same_centres():
    theirs = sklearn.kernel_approximation.Nystroem(gamma=0.3, n_components=15, random_state=0)
    psi = theirs.fit(X).transform(NEW)
    ours = Nystroem(gamma=0.3, centres=theirs.component_indices_).fit(X)
    phi = ours.transform(NEW)
    assert_allclose(phi @ phi.T, psi @ psi.T, atol=1e-9)
    assert_array_equal(np.sort(ours.component_indices_), np.sort(theirs.component_indices_))


@pytest.mark.parametrize(
    ("kernel", "samples"),
    [(Spectrum(2), WORDS), (Jaccard(), SETS), (Linear(), sp.csr_array(X)),
     (FromFunction(lambda a, b: float(len(set(a) & set(b)))), WORDS)],
    ids=["strings", "sets", "sparse", "function"],
)  # fmt: skip
def test_samples_of_any_kind(kernel, samples):
    model = Nystroem(kernel, random_state=0).fit(samples)
    phi = model.transform(samples)
    assert_allclose(phi @ phi.T, kernel(samples), atol=1e-6)
    assert model.trace_error(samples) < 1e-9
    assert list(model.get_feature_names_out())[:1] == ["nystroem0"]


def test_precomputed_and_callable_kernels():
    K = RBF(0.2)(X)
    given = {"n_components": 30, "random_state": 0}
    wanted = Nystroem(RBF(0.2), **given).fit(X).transform(NEW)
    known = Nystroem("precomputed", **given).fit(K)
    assert_allclose(known.transform(RBF(0.2)(NEW, X)), wanted, atol=1e-6)
    called = Nystroem(lambda x, z: np.exp(-0.2 * ((x - z) ** 2).sum()), **given).fit(X)
    assert_allclose(called.transform(NEW), wanted, atol=1e-6)
    with pytest.raises(ValueError, match=r"precomputed.*k\(x, x\)"):
        known.trace_error(RBF(0.2)(NEW, X))


def test_ridge_on_the_features_is_low_rank_kernel_ridge():
    y = np.sin(X[:, 0]) + X[:, 1]
    machine = KernelRidge(0.1, kernel=RBF(0.2), solver="low_rank", rank=40, random_state=0).fit(
        X, y
    )
    features = Nystroem(RBF(0.2), centres=machine.centres_)
    pipe = make_pipeline(features, Ridge(0.1, fit_intercept=False)).fit(X, y)
    assert_allclose(pipe.predict(NEW), machine.predict(NEW), atol=1e-6)


def test_pivots_find_outliers():
    far = np.vstack([X, 50 + 20 * RNG.normal(size=(8, 3))])
    errors = {c: Nystroem(RBF(0.2), n_components=40, centres=c, random_state=0).fit(far)
              .trace_error(far) for c in CENTRES}  # fmt: skip
    assert errors["pivoted"] < 0.75 * errors["uniform"]
    assert errors["leverage"] < errors["uniform"]


def test_centres_that_are_not_among_the_samples():
    Z = np.vstack([NEW, NEW[:3], 1e3 * NEW[:2]])  # with copies, and far away
    model = Nystroem(RBF(0.2), n_components=len(Z)).fit(Z)
    assert model.axes_.shape == (22, 22)
    psi = model.transform(NEW)
    assert_allclose(model.transform(X) @ psi.T, RBF(0.2)(X, NEW), atol=1e-7)
    assert 0 < model.trace_error(X) < 1


def test_degenerate_samples():
    assert Nystroem(n_components=3).fit_transform(np.zeros((5, 2))).shape == (5, 1)
    zero = Nystroem("linear", n_components=3).fit(np.zeros((5, 2)))
    assert not zero.transform(np.zeros((2, 2))).any()
    assert zero.trace_error(np.zeros((2, 2))) == 0
    for centres in CENTRES:
        model = Nystroem("linear", n_components=3, centres=centres, random_state=0)
        assert not model.fit_transform(np.zeros((9, 2))).any()
        assert model.fit_transform(np.ones((9, 2))).shape == (9, 1)


def test_the_same_seed_gives_the_same_features_on_any_threads():
    first, second = (
        Nystroem(RBF(0.2), n_components=25, random_state=3, n_jobs=jobs).fit(X) for jobs in (1, 2)
    )
    assert_array_equal(first.transform(NEW), second.transform(NEW))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"n_components": 0}, "n_components=0"), ({"centres": "best"}, "centres='best'.*pivoted"),
     ({"centres": [0, 300]}, "from 0 to 300: X has rows 0 to 299.*fit to the centres"),
     ({"centres": [-1]}, "from -1 to -1"), ({"centres": []}, "numbers of rows"),
     ({"centres": [[1]]}, "numbers of rows"), ({"centres": [True]}, "numbers of rows"),
     ({"kernel": Sigmoid()}, "not positive semidefinite")],
)  # fmt: skip
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        Nystroem(**parameters).fit(X)


def test_memory_that_is_too_small_is_refused():
    with pytest.raises(MemoryError, match=r"200 centres.*n_components"):
        Nystroem(n_components=200, memory=10_000).fit(X)


def test_files(tmp_path):
    model = Nystroem(Spectrum(2), random_state=0).fit(WORDS)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert_allclose(loaded.transform(WORDS), model.transform(WORDS))


# --- eigenfunctions ---------------------------------------------------------------------------


def test_eigenfunctions_are_those_of_the_whole_matrix():
    k = Polynomial(2, 0.5)
    model = Nystroem(k, n_components=50, random_state=0).fit(X)
    found = model.eigenfunctions(X)
    values, V = np.linalg.eigh(k(X) / len(X))
    count = len(found.values)
    assert count == 10  # monomials of three columns, up to degree 2
    assert_allclose(found.values, values[::-1][:count])
    e = found(X)
    assert_allclose(np.abs(e.T @ V[:, ::-1][:, :count]) / np.sqrt(len(X)), np.eye(count), atol=1e-8)
    # E[k(z, x) e(x)] = λ e(z) at new points
    assert_allclose(k(NEW, X) @ e / len(X), found.values * found(NEW), atol=1e-8)
    assert_allclose((found(NEW) * found.values) @ e.T, k(NEW, X), atol=1e-8)
    penalty = 3.0
    wanted = np.trace(np.linalg.solve(k(X) + penalty * np.eye(len(X)), k(X)))
    assert_allclose(found.effective_dimension(penalty), wanted)
    assert_allclose(mercer.effective_dimension(k, X, penalty, rank=50), wanted)
    assert found.effective_dimension(0) == 10


def test_eigenvalues_of_the_gaussian_kernel_of_a_normal_distribution():
    # Rasmussen & Williams 2006, eq. 4.41: λ_k = sqrt(2a / A) B^k for x ~ N(0, 1 / 4a)
    rows, gamma = RNG.normal(size=(4000, 1)), 0.5
    a, b = 0.25, gamma
    A = a + b + np.sqrt(a * a + 2 * a * b)
    wanted = np.sqrt(2 * a / A) * (b / A) ** np.arange(4)
    model = Nystroem(RBF(gamma), n_components=60, random_state=0).fit(rows)
    found = model.eigenfunctions(rows)
    assert_allclose(found.values[:4], wanted, rtol=0.08)
    # Hermite: the second function is x exp(...), which is odd
    second = found(np.array([[-0.7], [0.7]]))[:, 1]
    assert_allclose(second[0], -second[1], rtol=0.15)


def test_eigenfunctions_in_single_precision_and_of_strings():
    model = Nystroem(RBF(0.2), random_state=0).fit(X.astype(np.float32))
    e = model.eigenfunctions(X.astype(np.float32))(X.astype(np.float32))[:, :5]
    assert e.dtype == np.float32
    assert_allclose(e.T @ e / len(X), np.eye(5), atol=1e-3)
    found = Nystroem(Spectrum(2), random_state=0).fit(WORDS).eigenfunctions(WORDS)
    assert_allclose(found.values.sum(), np.trace(Spectrum(2)(WORDS)) / len(WORDS))
    with pytest.raises(ValueError, match="penalty=-1"):
        found.effective_dimension(-1)


def test_an_unfitted_map_says_so():
    for call in (Nystroem().transform, Nystroem().trace_error, Nystroem().eigenfunctions):
        with pytest.raises(NotFittedError):
            call(X)
