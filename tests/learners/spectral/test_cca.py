"""Kernel CCA beside linear CCA by QR, explicit features, and the definition by brute force."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelCCA
from mercer.kernels import RBF, Match, Sigmoid, Spectrum, TableKernel
from mercer.testing import parametrize_with_object_checks
from objects import SharedSymbols

RNG = np.random.default_rng(0)
N = 120
SHARED = RNG.normal(size=(N, 2))
X = SHARED @ RNG.normal(size=(2, 4)) + 0.4 * RNG.normal(size=(N, 4))
Y = SHARED @ RNG.normal(size=(2, 3)) + 0.4 * RNG.normal(size=(N, 3))


@parametrize_with_checks([KernelCCA(), KernelCCA(1, alpha=0.1, solver="low_rank")])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@parametrize_with_object_checks(
    [(KernelCCA(1, alpha=0.1, kernel=SharedSymbols(), kernel_y="rbf"), "strings")]
)
def test_object_conventions(check):
    check()


def linear(X, Y):
    """Canonical correlations by QR (Björck & Golub 1973)."""
    Q, R = (np.linalg.qr(A - A.mean(axis=0))[0] for A in (X, Y))
    return np.linalg.svd(Q.T @ R)[1]


@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_without_a_penalty_linear_kernels_are_linear_cca(solver):
    cca = KernelCCA(3, alpha=0.0, kernel="linear", solver=solver, random_state=0).fit(X, Y)
    assert_allclose(cca.correlations_, linear(X, Y), atol=1e-8)
    x, y = cca.transform(X, Y)
    for scores in (x, y):
        assert_allclose(scores.T @ scores / N, np.eye(3), atol=1e-8)
    assert_allclose(x.T @ y / N, np.diag(linear(X, Y)), atol=1e-8)
    assert_allclose(cca.score(X, Y), linear(X, Y).mean(), atol=1e-8)
    assert_allclose(cca.fit_transform(X, Y), x, atol=1e-8)


def test_polynomial_kernels_are_linear_cca_of_the_monomials():
    A, B = X[:, :2], Y[:, :1]
    cca = KernelCCA(1, alpha=0.0, kernel="poly", degree=2, gamma=1.0, coef0=0.0).fit(A, B)
    monomials = np.column_stack([A[:, 0] ** 2, A[:, 1] ** 2, A[:, 0] * A[:, 1]])
    assert_allclose(cca.correlations_, linear(monomials, B**2)[:1], atol=1e-8)


@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_the_definition_by_brute_force(solver):
    """max aᵀK₁K₂b for aᵀ(K₁² + κ₁K₁)a = bᵀ(K₂² + κ₂K₂)b = 1, of centred matrices."""
    alpha, kernels = 0.01, (RBF(0.1), RBF(0.3))
    cca = KernelCCA(2, alpha=alpha, kernel=kernels[0], kernel_y=kernels[1], solver=solver, rank=N,
                    random_state=0).fit(X, Y)  # fmt: skip
    H = np.eye(N) - 1 / N
    roots, features = [], []
    for kernel, A in zip(kernels, (X, Y)):
        values, U = np.linalg.eigh(H @ kernel(A) @ H)
        values, U = values[values > 1e-10], U[:, values > 1e-10]
        T = U * np.sqrt(values)
        features.append(T)
        root = scipy.linalg.sqrtm(T.T @ T + alpha * values.sum() * np.eye(len(values)))
        roots.append(np.linalg.inv(np.real(root)))
    left, _, right = np.linalg.svd(roots[0] @ features[0].T @ features[1] @ roots[1])
    scores = features[0] @ roots[0] @ left[:, :2], features[1] @ roots[1] @ right[:2].T
    wanted = [np.corrcoef(a, b)[0, 1] for a, b in zip(*(s.T for s in scores))]
    assert_allclose(cca.correlations_, wanted, atol=1e-6)
    for found, score in zip(cca.transform(X, Y), scores):
        assert_allclose(np.abs(found), np.abs(score / score.std(axis=0)), atol=1e-5)


def test_the_penalty_is_chosen_by_what_is_held_out():
    t = RNG.uniform(-2, 2, 200)
    A, B = np.column_stack([t, RNG.normal(size=200)]), (t**2 + 0.1 * RNG.normal(size=200))[:, None]
    chosen = KernelCCA(1, random_state=0).fit(A[::2], B[::2])
    greedy = KernelCCA(1, alpha=1e-9, random_state=0).fit(A[::2], B[::2])
    assert greedy.correlations_[0] > chosen.correlations_[0] > 0.9
    assert greedy.held_out_correlations_[0] < chosen.held_out_correlations_[0]
    assert chosen.score(A[1::2], B[1::2]) > max(0.9, greedy.score(A[1::2], B[1::2]))
    assert abs(chosen.score(A[1::2], B[1::2]) - chosen.held_out_correlations_[0]) < 0.05
    nothing = KernelCCA(1, random_state=0).fit(A, RNG.normal(size=200))
    assert nothing.held_out_correlations_[0] < 0.4 < greedy.correlations_[0]


def test_more_rows_than_are_decomposed():
    t = RNG.uniform(-2, 2, 1200)
    A, B = np.column_stack([t, np.cos(t)]), (t**2)[:, None]
    cca = KernelCCA(1, random_state=0, rank=50).fit(A, B)
    assert (cca.view_x_.solver_, len(cca.view_x_.X_fit_) <= 50) == ("low_rank", True)
    assert cca.held_out_correlations_[0] > 0.99


def test_texts_and_a_table():
    letters = [list("aab"), list("abb"), list("bbb")]
    group = np.arange(90) % 3
    words = ["".join(RNG.choice(letters[g], 10)) for g in group]
    table = np.column_stack([group + 0.2 * RNG.normal(size=90), RNG.integers(0, 2, 90)])
    kernel = TableKernel([(RBF(1.0), [0]), (Match(), [1])])
    cca = KernelCCA(1, kernel=Spectrum(2), kernel_y=kernel, random_state=0).fit(words, table)
    assert cca.held_out_correlations_[0] > 0.8
    given = KernelCCA(1, kernel="precomputed", kernel_y=kernel, random_state=0)
    given.fit(Spectrum(2)(words), table)
    assert_allclose(given.transform(Spectrum(2)(words)), cca.transform(words), atol=1e-6)
    assert cca.transform_y(table).shape == (90, 1)


@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_precision_and_order(solver):
    order = RNG.permutation(N)
    parameters = {"alpha": 0.01, "solver": solver, "rank": N, "random_state": 0}
    cca = KernelCCA(2, **parameters).fit(X, Y)
    again = KernelCCA(2, **parameters).fit(X[order], Y[order])
    assert_allclose(again.correlations_, cca.correlations_, atol=1e-8)
    assert_allclose(np.abs(again.transform(X)), np.abs(cca.transform(X)), atol=1e-5)
    single = KernelCCA(2, **parameters).fit(X.astype(np.float32), Y.astype(np.float32))
    assert_allclose(single.correlations_, cca.correlations_, atol=1e-3)
    assert single.transform(X.astype(np.float32)).dtype == np.float32


# --- what is hostile -----------------------------------------------------------------------------


def test_what_is_refused():
    with pytest.raises(ValueError, match="X has 120 rows, but y has 119"):
        KernelCCA().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="give the second view"):
        KernelCCA().fit(X)
    with pytest.raises(ValueError, match="at least 2 rows"):
        KernelCCA().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="same features"):
        KernelCCA().fit(X, np.ones(N))
    with pytest.raises(ValueError, match="NaN"):
        KernelCCA().fit(X, np.where(Y > 2, np.nan, Y) * [[1, 1, np.nan]])
    with pytest.raises(ValueError, match="y, the second view: Input X contains NaN"):
        KernelCCA().fit(X, np.where(Y > 2, np.nan, Y) * [[1, 1, np.nan]])
    with pytest.raises(ValueError, match="y, the second view: X has 2 features"):
        KernelCCA().fit(X, Y).transform(X, Y[:, :2])
    with pytest.raises(TypeError, match="y, the second view: X is a single string"):
        KernelCCA().fit(X, "abc")
    for wrong in ({"alpha": -1}, {"alpha": "x"}, {"n_components": 0}, {"solver": "x"}, {"rank": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            KernelCCA(**wrong).fit(X, Y)
    with pytest.raises(MemoryError, match="give memory="):
        KernelCCA(solver="exact", memory=10**5).fit(X, Y)


def test_few_rows_and_low_rank_views():
    for n in (2, 3, 9):
        cca = KernelCCA(5, random_state=0).fit(X[:n], Y[:n])
        assert np.isnan(cca.held_out_correlations_).all()
        assert np.isfinite(cca.transform(X)).all()
    one = KernelCCA(3, kernel="linear", alpha=0.1).fit(X, SHARED[:, 0])
    assert one.correlations_.shape == (1,)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        KernelCCA(1, kernel=Sigmoid(gamma=1.0, coef0=-1.0)).fit(X, Y)


def test_files(tmp_path):
    cca = KernelCCA(2, alpha=0.1).fit(X, Y)
    mercer.save(cca, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    for found, wanted in zip(again.transform(X, Y), cca.transform(X, Y)):
        assert_allclose(found, wanted)
    assert list(again.get_feature_names_out()) == ["kernelcca0", "kernelcca1"]
