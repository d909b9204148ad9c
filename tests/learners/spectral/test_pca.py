"""Kernel PCA beside scikit-learn's, PCA on explicit features, and the definition by brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelPCA
from mercer.gram import CentredGram, DenseGram
from mercer.kernels import RBF, Jaccard, Matern, RationalQuadratic, Sigmoid, Spectrum, TableKernel
from mercer.learners.spectral import components
from mercer.learners.spectral.components import components_by_products
from mercer.learners.spectral.pca_solvers import fixed_points
from mercer.solvers import TopEigenSolver, dense_eigenpairs
from mercer.testing import parametrize_with_object_checks
from objects import SharedItems, SharedSymbols

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [3.0, 1.5, 1.0]
NEW = RNG.normal(size=(15, 3))
SOLVERS = ["auto", "dense", "krylov", "randomized", "low_rank"]


@parametrize_with_checks(
    [KernelPCA(), KernelPCA(2, kernel="rbf", eigen_solver="krylov"),
     KernelPCA(2, kernel="rbf", eigen_solver="low_rank"), KernelPCA(fit_inverse_transform=True)]
)  # fmt: skip
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@parametrize_with_object_checks(
    [
        (KernelPCA(3, kernel=SharedSymbols()), "strings"),
        (KernelPCA(3, kernel=SharedItems()), "sets"),
        (KernelPCA(3, kernel=Spectrum(2).normalised(), eigen_solver="krylov"), "strings"),
    ],
)
def test_object_conventions(check):
    check()


def same_up_to_signs(found, wanted, **close):
    assert found.shape == wanted.shape
    signs = np.sign((found * wanted).sum(axis=0))
    assert_allclose(found * np.where(signs == 0, 1, signs), wanted, **close)


@pytest.mark.spread(14)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "parameters",
    [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.05}, {"kernel": "poly", "degree": 2},
     {"kernel": "cosine"}, {"kernel": lambda x, z: float(np.exp(-np.abs(x - z).sum() / 5))}],
    ids=lambda p: str(p["kernel"])[:9],
)  # fmt: skip
def test_as_scikit_learn(parameters, solver, dtype):
    A, Z = X.astype(dtype), NEW.astype(dtype)
    ours = KernelPCA(3, **parameters, eigen_solver=solver, rank=60, random_state=0).fit(A)
    theirs = sklearn.decomposition.KernelPCA(3, **parameters, eigen_solver="dense").fit(X)
    tol = 1e-6 if dtype == np.float64 else 2e-3
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=tol)
    same_up_to_signs(ours.transform(Z), theirs.transform(NEW), atol=tol * 10)
    assert_allclose(ours.fit_transform(A), ours.transform(A), atol=tol * 10)
    assert ours.transform(Z).dtype == dtype
    if solver != "low_rank":  # whose signs are those at the centres
        assert_allclose(ours.transform(Z), theirs.transform(NEW), atol=tol * 10)
        assert_allclose(ours.eigenvectors_, theirs.eigenvectors_, atol=tol * 10)
    assert getattr(ours, "gamma_", None) == getattr(
        theirs, "gamma_", None
    ) or not isinstance(parameters["kernel"], str)  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
def test_polynomial_components_are_those_of_the_monomials(solver):
    """(<x, z> + 1)² = <φ, φ> with φ = (1, √2 x_i, x_i², √2 x_i x_j)."""
    ours = KernelPCA(4, kernel="poly", degree=2, gamma=1.0, coef0=1.0, eigen_solver=solver,
                     rank=60, random_state=0).fit(X)  # fmt: skip
    expand = PolynomialFeatures(2, include_bias=False)
    P = expand.fit_transform(X)
    P *= np.where(expand.powers_.max(axis=1) == 2, 1, np.sqrt(2))
    pca = PCA(4, svd_solver="full").fit(P)
    assert_allclose(ours.eigenvalues_ / (len(X) - 1), pca.explained_variance_, rtol=1e-9)
    assert_allclose(ours.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-6)
    Q = expand.transform(NEW) * np.where(expand.powers_.max(axis=1) == 2, 1, np.sqrt(2))
    same_up_to_signs(ours.transform(NEW), pca.transform(Q), atol=1e-6)
    error = np.square(Q - pca.inverse_transform(pca.transform(Q))).sum(axis=1)
    assert_allclose(ours.reconstruction_error(NEW), error, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("solver", ["dense", "krylov", "low_rank"])
def test_the_definition_by_brute_force(solver):
    kernel, n = RBF(0.1), len(X)
    H = np.eye(n) - 1 / n
    pca = KernelPCA(5, kernel=kernel, eigen_solver=solver, rank=n, random_state=0).fit(X)
    K, k = kernel(X), kernel(NEW, X)
    values, V = np.linalg.eigh(H @ K @ H)
    A = (V / np.sqrt(np.maximum(values, 1e-300)))[:, ::-1][:, :5]
    centred = (k - K.mean(axis=0)) @ H
    assert_allclose(pca.eigenvalues_, values[::-1][:5], rtol=1e-9)
    same_up_to_signs(pca.transform(NEW), centred @ A, atol=1e-6)
    squares = 1 - 2 * k.mean(axis=1) + K.mean()
    wanted = squares - np.square(centred @ A).sum(axis=1)
    assert_allclose(pca.reconstruction_error(NEW), wanted, atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "krylov", "low_rank"])
def test_components_of_a_linear_kernel_far_from_the_origin(solver):
    """The factor is centred before it is multiplied: nothing cancels."""
    A = X + 1e6
    ours = KernelPCA(3, eigen_solver=solver, rank=4, random_state=0).fit(A).transform(NEW + 1e6)
    tol = 1e-7 if solver == "auto" else 1.0  # K itself has lost these digits
    same_up_to_signs(ours, PCA(3, svd_solver="full").fit(A).transform(NEW + 1e6), atol=tol)


def test_krylov_within_a_small_memory_and_with_a_certificate():
    A = RNG.normal(size=(1500, 4))
    whole = KernelPCA(8, kernel="rbf", gamma=0.2, eigen_solver="dense").fit(A)
    small = KernelPCA(8, kernel="rbf", gamma=0.2, memory="2MB").fit(A)
    assert small.solver_ == "krylov"
    assert small.residual_ <= 1e-6
    assert_allclose(small.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    same_up_to_signs(small.transform(A[:9]), whole.transform(A[:9]), atol=1e-4)
    fine = KernelPCA(8, kernel="rbf", gamma=0.2, tol=1e-11).fit(A)
    assert fine.residual_ <= 1e-11
    same_up_to_signs(fine.transform(A[:9]), whole.transform(A[:9]), atol=1e-9)
    with pytest.warns(ConvergenceWarning, match="relative residual"):
        KernelPCA(8, kernel="rbf", gamma=0.2, max_iter=1).fit(A)
    with pytest.raises(MemoryError, match="give memory="):
        KernelPCA(1000, kernel="rbf", eigen_solver="krylov", memory="2MB").fit(A)
    with pytest.raises(MemoryError, match=r"give memory=.*fewer n_components"):
        KernelPCA(1000, kernel="rbf", eigen_solver="dense", memory="2MB").fit(A)


def test_low_rank_comes_near_with_few_centres():
    A = RNG.normal(size=(800, 2))
    exact = KernelPCA(5, kernel="rbf", gamma=0.2).fit(A)
    low = KernelPCA(5, kernel="rbf", gamma=0.2, eigen_solver="low_rank", rank=60, random_state=0)
    low.fit(A)
    assert len(low.X_fit_) <= 60
    assert_allclose(low.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
    same_up_to_signs(low.transform(A), exact.transform(A), atol=1e-3)
    assert_allclose(low.reconstruction_error(NEW[:, :2]), exact.reconstruction_error(NEW[:, :2]),
                    atol=1e-4)  # fmt: skip


def test_strings_sets_and_tables():
    words = ["".join(RNG.choice(list("abc"), 6)) for _ in range(30)]
    sets = [set(word) for word in words]
    table = np.column_stack([X[:30], np.arange(30) % 2])
    tables = TableKernel([(RBF(0.1), [0, 1]), (Matern(), [2, 3])])
    for samples, kernel in ((words, Spectrum(2)), (sets, Jaccard()), (table, tables)):
        pca = KernelPCA(3, kernel=kernel).fit(samples)
        given = KernelPCA(3, kernel="precomputed").fit(kernel(samples))
        assert_allclose(pca.transform(samples), given.transform(kernel(samples)), atol=1e-9)
    with pytest.raises(ValueError, match="does not say k"):
        given.reconstruction_error(kernel(samples))
    with pytest.raises(NotFittedError, match="has no inverse"):
        pca.inverse_transform(pca.transform(table))


def test_sparse_rows():
    A = sp.random_array((80, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
    for kernel in ("linear", "rbf"):
        for solver in SOLVERS:
            ours = KernelPCA(3, kernel=kernel, eigen_solver=solver, rank=80, random_state=0).fit(A)
            wanted = KernelPCA(3, kernel=kernel, eigen_solver="dense").fit(A.toarray())
            same_up_to_signs(ours.transform(A), wanted.transform(A.toarray()), atol=1e-5)
    with pytest.raises(ValueError, match="dense vectors"):
        KernelPCA(fit_inverse_transform=True).fit(A)


# --- the inverse -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(0.05), Matern(1.5), RationalQuadratic()], ids=str)
@pytest.mark.parametrize("solver", ["dense", "low_rank"])
def test_all_components_give_the_samples_back(kernel, solver):
    """With the whole feature space of the training samples the pre-image is the sample."""
    pca = KernelPCA(kernel=kernel, eigen_solver=solver, rank=60, random_state=0).fit(X)
    assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-3)


def test_the_fixed_point_is_where_the_distance_in_feature_space_is_least():
    pca = KernelPCA(4, kernel=RBF(0.1)).fit(X)
    scores = pca.transform(NEW)
    Z = pca.inverse_transform(scores)

    def distance(Z):
        """‖φ(z) - P‖² up to a constant."""
        return -2 * RBF(0.1)(Z, X) @ (pca.projection_ @ scores.T + pca.mean_coef_[:, None])

    here = distance(Z).diagonal()
    for step in RNG.normal(size=(20, 3)):
        assert (distance(Z + 1e-2 * step).diagonal() >= here - 1e-9).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_eigenvectors_are_the_scores_of_the_samples_that_are_kept(kernel, solver):
    """Of all training samples, or of the centres of a factor; far from the origin, too."""
    pca = KernelPCA(2, kernel=kernel, eigen_solver=solver, tol=1e-9, random_state=0).fit(X + 9)
    scores = pca.eigenvectors_ * np.sqrt(pca.eigenvalues_)
    assert_allclose(pca.transform(pca.X_fit_), scores, atol=1e-6)


def test_the_best_of_several_starts_is_taken():
    rng = np.random.default_rng(0)
    X, G = rng.normal(size=(30, 2)), rng.normal(size=(50, 30))
    starts = rng.integers(0, 30, (50, 4))

    def value(starts):
        return np.einsum("qm,qm->q", G, RBF(1.0)(fixed_points(RBF(1.0).bind(X), X, G, starts), X))

    alone = [value(column[:, None]) for column in starts.T]
    assert_allclose(value(starts), np.max(alone, axis=0), atol=1e-6)
    assert (np.ptp(alone, axis=0) > 0.1).any()


def test_denoising_a_circle():
    t = RNG.uniform(0, 2 * np.pi, 200)
    circle = np.column_stack([np.cos(t), np.sin(t)])
    noisy = circle + 0.15 * RNG.normal(size=circle.shape)
    pca = KernelPCA(4, kernel="rbf", gamma=1.0).fit(noisy)
    clean = pca.inverse_transform(pca.transform(noisy))
    off = [np.abs(np.linalg.norm(A, axis=1) - 1).mean() for A in (noisy, clean)]
    assert off[1] < 0.6 * off[0]


@pytest.mark.spread(1)
@pytest.mark.parametrize("gamma", [0.3, 2.0, 20.0])
def test_no_training_row_is_a_better_pre_image(gamma):
    """<φ(z), P> is largest at the best z: 4 of 160 were worse than a training row."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, 2)) + 3 * rng.integers(0, 3, (25, 1))
        pca = KernelPCA(4, kernel=RBF(gamma)).fit(X)
        scores = rng.normal(size=(16, len(pca.eigenvalues_))) * np.sqrt(pca.eigenvalues_ / 25)
        G = scores @ pca.projection_.T + pca.mean_coef_
        Z = pca.inverse_transform(scores)
        found = np.einsum("qm,qm->q", G, RBF(gamma)(Z, X))
        assert (found >= (G @ RBF(gamma)(X, X)).max(axis=1) - 1e-12).all()


def test_the_ridge_inverse_is_that_of_scikit_learn():
    same = {"kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True, "alpha": 1e-2}
    ours = KernelPCA(5, **same).fit(X)
    theirs = sklearn.decomposition.KernelPCA(5, **same).fit(X)
    Z = theirs.transform(NEW)
    assert_allclose(ours.inverse_transform(Z), theirs.inverse_transform(Z), atol=1e-6)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
    assert_allclose(ours.X_transformed_fit_, theirs.X_transformed_fit_, atol=1e-8)


@pytest.mark.parametrize("learnt", [False, True])
def test_a_limit_clamps_scores_to_standard_deviations(learnt):
    pca = KernelPCA(3, kernel=RBF(0.05), fit_inverse_transform=learnt).fit(X)
    bound = 2 * np.sqrt(pca.eigenvalues_ / len(X))
    assert_allclose(np.sqrt(pca.eigenvalues_ / len(X)), pca.transform(X).std(axis=0), rtol=1e-6)
    far = 100 * np.sign(RNG.normal(size=(6, 3)))
    limited = pca.inverse_transform(far, limit=2)
    assert_allclose(limited, pca.inverse_transform(np.clip(far, -bound, bound)), atol=1e-9)
    for limit in (0, -1, "a", np.nan):
        with pytest.raises(ValueError, match="limit="):
            pca.inverse_transform(far, limit=limit)
    with pytest.raises(ValueError, match="all 3 components"):
        pca.inverse_transform(far[:, :2])


# --- what is hostile ---------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_fewer_rows_and_lower_rank_than_components(solver):
    pca = KernelPCA(10, eigen_solver=solver, random_state=0).fit(X[:4])
    assert pca.transform(NEW).shape[1] <= 4
    assert_allclose(pca.transform(X[:4])[:, :3], pca.fit_transform(X[:4])[:, :3], atol=1e-8)
    assert np.isfinite(pca.transform(NEW)).all()
    assert (pca.eigenvalues_[3:] == 0).all()
    removed = KernelPCA(10, eigen_solver=solver, remove_zero_eig=True, random_state=0).fit(X[:4])
    assert len(removed.eigenvalues_) == 3
    twice = np.repeat(X, 3, axis=0)
    assert len(KernelPCA(eigen_solver=solver, random_state=0, rank=9).fit(twice).eigenvalues_) == 3


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_constant_samples_are_said(solver, kernel):
    with pytest.warns(UserWarning, match="same features"):
        pca = KernelPCA(2, kernel=kernel, eigen_solver=solver).fit(np.full((9, 2), 3.7))
    assert_array_equal(pca.transform([[3.7, 3.7], [1.0, 2.0]]), 0)


def test_indefinite_kernels():
    K = Sigmoid(gamma=1.0, coef0=-1.0)(X)
    values = np.linalg.eigvalsh(K - K.mean(axis=0) - K.mean(axis=0)[:, None] + K.mean())
    assert values[0] < -1
    pca = KernelPCA(3, kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X)
    assert_allclose(pca.eigenvalues_, values[::-1][:3])
    assert np.isfinite(pca.reconstruction_error(NEW)).all()
    for kernel, samples in ((Sigmoid(1.0, -1.0), X), ("precomputed", K)):
        with pytest.raises(ValueError, match=r"significant negative.*n_components=\d+ or less"):
            KernelPCA(kernel=kernel).fit(samples)
    with pytest.raises(ValueError, match=r"low_rank.*semidefinite"):
        KernelPCA(2, kernel=Sigmoid(), eigen_solver="low_rank").fit(X)
    with pytest.raises(ValueError, match="significant negative"):
        KernelPCA(2, kernel="precomputed").fit(-np.eye(6))


def test_the_order_of_the_rows_changes_nothing():
    order = RNG.permutation(len(X))
    for solver in ("dense", "krylov"):
        one = KernelPCA(3, kernel="rbf", gamma=0.1, eigen_solver=solver, tol=1e-12).fit(X)
        two = KernelPCA(3, kernel="rbf", gamma=0.1, eigen_solver=solver, tol=1e-12).fit(X[order])
        assert_allclose(two.transform(NEW), one.transform(NEW), atol=1e-9)


def test_a_copy_is_kept():
    A = X.copy()
    pca = KernelPCA(2, kernel="rbf").fit(A)
    before = pca.transform(NEW)
    A[:] = 7
    assert_array_equal(pca.transform(NEW), before)


def test_names_frames_files_pipelines_and_searches(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pca = KernelPCA(2, kernel="rbf").set_output(transform="pandas").fit(frame)
    assert list(pca.get_feature_names_out()) == ["kernelpca0", "kernelpca1"]
    assert list(pca.fit_transform(frame).columns) == ["kernelpca0", "kernelpca1"]
    pca = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)
    mercer.save(pca, tmp_path / "pca.mercer")
    again = mercer.load(tmp_path / "pca.mercer")
    assert_array_equal(again.transform(NEW), pca.transform(NEW))
    scores = pca.transform(NEW)
    assert_array_equal(again.inverse_transform(scores), pca.inverse_transform(scores))
    y = np.linalg.norm(X, axis=1) > 2.5
    pipe = make_pipeline(KernelPCA(3, kernel=RBF()), mercer.SVC())
    search = GridSearchCV(pipe, {"kernelpca__kernel__gamma": [0.01, 0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    ("parameters", "says"),
    [({"eigen_solver": "x"}, "eigen_solver='x'"), ({"n_components": 0}, "n_components=0"),
     ({"tol": -1}, "tol=-1"), ({"alpha": np.nan}, "alpha=nan"), ({"rank": 0}, "rank=0"),
     ({"iterated_power": -1}, "iterated_power=-1"), ({"copy_X": "no"}, "copy_X='no'"),
     ({"kernel": "precomputed", "fit_inverse_transform": True}, "Cannot fit_inverse_transform"),
     ({"max_iter": 0}, "max_iter=0"), ({"gamma": "x", "kernel": "rbf"}, "gamma='x'")],
)  # fmt: skip
def test_wrong_parameters(parameters, says):
    with pytest.raises(ValueError, match=says):
        KernelPCA(**parameters).fit(X)


@pytest.mark.spread(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [0.3, 1e-2])
def test_the_start_by_some_rows_saves_products_and_changes_nothing(monkeypatch, dtype, gamma):
    """2,000 rows, of which 500 make the start; the eigenvalues are LAPACK's."""
    A = RNG.normal(size=(2000, 4)).astype(dtype)
    K = DenseGram(RBF(gamma)(A), symmetric=True)
    solver = TopEigenSolver(6, 1e-6 if dtype == np.float64 else 1e-5, 60, random_state=0)
    monkeypatch.setattr(components, "DRAWN", 500)
    monkeypatch.setattr(components, "STRIP", 70 * len(A))
    found = components_by_products(K, solver)
    wanted = dense_eigenpairs(CentredGram(K), 6)
    room = wanted.values[0] * (1e-9 if dtype == np.float64 else 1e-4)
    assert_allclose(found.values, wanted.values, atol=room)
    monkeypatch.setattr(components, "_start", lambda K, solver: None)
    assert found.found.iterations < components_by_products(K, solver).found.iterations
