"""What scikit-learn documents of its support vector machines holds for ours.

Shapes and signs, attributes and their order, weights, sparse and precomputed input, probabilities.
"""

import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF, Polynomial

RNG = np.random.default_rng(0)
IRIS = load_iris(return_X_y=True)
FOUR = make_blobs(80, centers=4, cluster_std=3.0, random_state=0)  # they overlap
TWO = make_classification(120, 5, flip_y=0.1, random_state=1)
SPARSE = make_classification(90, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=0)
SPARSE = np.where(np.abs(SPARSE[0]) < 0.5, 0, SPARSE[0]), SPARSE[1]
CLASSIFIERS = [SVC, NuSVC]
REGRESSORS = [SVR, NuSVR]
MACHINES = [*CLASSIFIERS, *REGRESSORS, OneClassSVM]


def values(model, X):
    """What a machine computes for each row, before any vote."""
    if isinstance(model, tuple(CLASSIFIERS)):
        return model.set_params(decision_function_shape="ovo").decision_function(X)
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def spread(model, X, y=None):
    """A score of a one-class machine for searches."""
    return float(np.mean(model.predict(X) == 1))


# Decision functions, votes


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_shapes_of_decision_functions(Classifier):
    X, y = FOUR
    assert Classifier().fit(X, y == 2).decision_function(X).shape == (80,)
    model = Classifier().fit(X, y)
    assert model.decision_function(X).shape == (80, 4)
    assert model.set_params(decision_function_shape="ovo").decision_function(X).shape == (80, 6)


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_pairs_stand_in_lexical_order_and_speak_for_the_first_of_the_pair(Classifier):
    """The machine of the pair alone, two classes, has the other sign: it speaks for the second."""
    X, y = FOUR
    model = Classifier(gamma=0.1, decision_function_shape="ovo", tol=1e-6).fit(X, y)
    columns = model.decision_function(X).T
    for column, (first, second) in zip(columns, combinations(range(4), 2)):
        rows = np.isin(y, [first, second])
        alone = Classifier(gamma=0.1, tol=1e-6).fit(X[rows], y[rows])
        assert_allclose(column, -alone.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_ties_of_votes(Classifier):
    """They go to the first of the tied classes, or with break_ties to the largest value."""
    X, y = FOUR
    grid = np.stack(np.meshgrid(*np.linspace(X.min(axis=0), X.max(axis=0), 60).T), axis=-1)
    grid = grid.reshape(-1, 2)
    model = Classifier(gamma=0.5).fit(X, y)
    votes = np.zeros((len(grid), 4))
    for f, (first, second) in zip(values(model, grid).T, combinations(range(4), 2)):
        votes[:, first] += f >= 0
        votes[:, second] += f < 0
    assert_array_equal(model.predict(grid), votes.argmax(axis=1))

    model.set_params(break_ties=True, decision_function_shape="ovr")
    refined = model.decision_function(grid)
    assert_array_equal(model.predict(grid), refined.argmax(axis=1))
    assert (np.abs(refined - votes) < 0.5).all()  # the distances only break ties
    assert (refined.argmax(axis=1) != votes.argmax(axis=1)).any()  # and there were some


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_the_second_of_two_classes_is_the_positive_one(Classifier):
    X, y = TWO
    labels = np.array(["b", "a"])[y]
    model = Classifier().fit(X, labels)
    assert model.classes_.tolist() == ["a", "b"]
    assert_array_equal(model.predict(X) == "b", model.decision_function(X) > 0)
    for shape in ("ovo", "ovr"):
        assert model.set_params(decision_function_shape=shape).decision_function(X).shape == (120,)


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
@pytest.mark.parametrize(
    "labels",
    [["z", "a", "m"], [3, -1, 2], [3.0, -2.0, 1.0], [True, False]],
    ids=["words", "numbers", "floats", "booleans"],
)
def test_labels_of_any_type_are_sorted_and_come_back(Classifier, labels):
    X, y = IRIS
    labels = np.array(labels)
    y = labels[y % len(labels)]
    model = Classifier().fit(X, y)
    assert_array_equal(model.classes_, np.unique(y))
    assert model.predict(X).dtype == y.dtype
    plain = Classifier().fit(X, np.searchsorted(np.unique(y), y))
    assert_array_equal(model.predict(X), np.unique(y)[plain.predict(X)])


# Attributes


@pytest.mark.parametrize("Machine", MACHINES)
def test_coef_is_there_for_the_linear_kernel_alone_and_read_only(Machine):
    X, y = IRIS
    model = Machine(kernel="linear").fit(X, y)
    f = X @ model.coef_.T + model.intercept_
    assert_allclose(f.squeeze(), values(model, X), atol=1e-8)
    before = model.coef_.copy()
    with pytest.raises(AttributeError):
        model.coef_ = before
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
    assert_array_equal(model.coef_, before)
    assert not hasattr(Machine(kernel="rbf").fit(X, y), "coef_")
    assert not hasattr(Machine(kernel="linear"), "coef_")


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "linear"])
def test_values_are_the_sum_over_the_support_vectors(Machine, kernel):
    X, y = TWO
    model = Machine(kernel=kernel, gamma=0.1, coef0=0.5, degree=2).fit(X, y)
    K = model.kernel_(X, model.support_vectors_)
    f = (K @ model.dual_coef_.T + model.intercept_)[:, 0]
    assert_allclose(f, values(model, X), atol=1e-8)
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert model.intercept_.shape == (1,)
    assert model.shape_fit_ == X.shape
    assert model.fit_status_ == 0


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_support_vectors_are_counted_and_stand_by_class(Classifier):
    X, y = FOUR
    assert not hasattr(Classifier(), "n_support_")
    model = Classifier().fit(X, y)
    assert_array_equal(model.n_support_, np.bincount(y[model.support_]))
    assert_array_equal(y[model.support_], np.repeat(np.arange(4), model.n_support_))
    for c in range(4):
        assert (np.diff(model.support_[y[model.support_] == c]) > 0).all()
    assert model.support_.dtype == model.n_support_.dtype == np.int32
    assert model.dual_coef_.shape == (3, model.n_support_.sum())
    assert model.n_iter_.shape == (6,)


def test_dual_coefficients_obey_their_constraints():
    X, y = TWO
    w = RNG.uniform(0.5, 2, len(y))
    model = SVC(C=2.0, class_weight={1: 3.0}).fit(X, y, w)
    alpha, support = model.dual_coef_[0], model.support_
    bound = 2 * w[support] * np.where(y[support] == 1, 3.0, 1.0)
    assert_array_equal(alpha > 0, y[support] == 1)
    assert (np.abs(alpha) <= bound * (1 + 1e-12)).all()
    assert_allclose(alpha.sum(), 0, atol=1e-9)
    margin = (2 * y[support] - 1) * model.decision_function(X)[support]
    free = np.abs(alpha) < bound * (1 - 1e-9)
    assert_allclose(margin[free], 1, atol=2e-3)
    assert (margin[~free] < 1 + 2e-3).all()


@pytest.mark.parametrize("Regressor", REGRESSORS)
def test_regressors_attributes(Regressor):
    X = RNG.normal(size=(80, 3))
    y = X[:, 0] + 0.3 * RNG.normal(size=80)
    assert not hasattr(Regressor(), "n_support_")
    model = Regressor().fit(X, y)
    assert_array_equal(model.n_support_, [len(model.support_)])
    assert (np.diff(model.support_) > 0).all()
    assert (np.abs(model.dual_coef_) <= 1 + 1e-12).all()
    assert_allclose(model.dual_coef_.sum(), 0, atol=1e-9)
    assert type(model.n_iter_) is int
    error = y[model.support_] - model.predict(X)[model.support_]
    assert_array_equal(np.sign(error), np.sign(model.dual_coef_[0]))
    assert not hasattr(model, "decision_function")


@pytest.mark.parametrize("Regressor", REGRESSORS)
def test_a_constant_target_is_predicted(Regressor):
    X = RNG.normal(size=(20, 2))
    model = Regressor().fit(X, np.full(20, 3.0))
    assert_allclose(model.predict(X), 3.0, atol=0.1)
    sparse = Regressor(kernel="linear").fit(sp.csr_array(X), np.full(20, 3.0))
    assert sparse.support_vectors_.shape == (len(sparse.support_), 2)
    assert sparse.coef_.shape == (1, 2)


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_types_after_a_sparse_fit(Machine, kernel, container):
    """Vectors stay sparse; what scikit-learn makes sparse of coefficients is dense here."""
    X, y = SPARSE
    targets = [y] if Machine not in REGRESSORS else [y, np.ones(len(y))]  # which supports nothing
    for target in targets:
        model = Machine(kernel=kernel).fit(container(X), target)
        size = len(model.support_)
        assert (size == 0) == (target is not y)
        machines = 2 if Machine in CLASSIFIERS else 1  # rows of dual_coef_: classes - 1
        assert isinstance(model.support_vectors_, sp.csr_array)
        assert model.support_vectors_.shape == (size, 8)
        assert type(model.dual_coef_) is np.ndarray
        assert model.dual_coef_.shape == (machines, size)
        assert type(model.intercept_) is np.ndarray
        assert model.support_.dtype == np.int32
        if kernel == "linear":
            assert type(model.coef_) is np.ndarray
            assert model.coef_.shape == (len(model.intercept_), 8)
        for A in (X[:7], container(X[:7])):
            assert type(model.predict(A)) is np.ndarray
            if size == 0:
                assert_allclose(model.predict(A), 1.0, atol=0.1)


@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_nu_bounds_the_support_vectors_and_the_errors(nu):
    X, y = TWO
    model = NuSVC(nu=nu, gamma=0.1, tol=1e-6).fit(X, y)
    margin = (2 * y - 1) * model.decision_function(X)
    assert np.mean(margin < 1 - 1e-4) <= nu + 1e-9
    assert len(model.support_) / len(y) >= nu - 1e-9

    model = NuSVR(nu=nu, gamma=0.1, tol=1e-6).fit(X, X[:, 0])
    outside = np.abs(X[:, 0] - model.predict(X)) > model.epsilon_ + 1e-4
    assert np.mean(outside) <= nu + 1e-9
    assert len(model.support_) / len(y) >= nu - 1e-9

    model = OneClassSVM(nu=nu, gamma=0.1, tol=1e-6).fit(X)
    assert np.mean(model.decision_function(X) < -1e-6) <= nu + 1e-9
    assert len(model.support_) / len(y) >= nu - 1e-9


def test_an_infeasible_nu_is_refused():
    X, y = make_classification(100, 5, weights=[0.9], flip_y=0, random_state=0)
    with pytest.raises(ValueError, match="nu is infeasible"):
        NuSVC(nu=0.5).fit(X, y)


def test_classes_between_which_there_is_no_margin_are_refused():
    with pytest.raises(ValueError, match="nu"):
        NuSVC().fit(np.ones((10, 2)), [0, 1] * 5)
    X, y = TWO
    with pytest.raises(ValueError, match="nu"):  # the hulls overlap for even functions of x
        NuSVC(kernel="poly", degree=2).fit(X, y)


def test_one_class_attributes():
    X = RNG.normal(size=(150, 2))
    model = OneClassSVM(nu=0.1, gamma=0.1)
    assert not hasattr(model, "n_support_")
    model.fit(X)
    f = model.decision_function(X)
    assert f.shape == (150,)
    assert_allclose(model.score_samples(X), f + model.offset_)
    assert model.offset_ == -model.intercept_[0]
    assert set(model.predict(X).tolist()) == {-1, 1}
    assert_array_equal(model.predict([[0.0, 0.0], [9.0, 9.0]]), [1, -1])
    assert_array_equal(model.predict(X) == 1, f >= 0)
    assert_array_equal(model.fit_predict(X), model.predict(X))
    assert model.predict(X).dtype == np.intp
    assert_allclose(model.dual_coef_.sum(), 0.1 * 150)
    assert ((model.dual_coef_ > 0) & (model.dual_coef_ <= 1)).all()
    assert_array_equal(model.n_support_, [len(model.support_)])
    assert type(model.n_iter_) is int


def test_one_class_agrees_with_scikit_learn():
    X = RNG.normal(size=(100, 3))
    w = RNG.integers(1, 4, 100)
    for weights in (None, w):
        ours = OneClassSVM(nu=0.3, tol=1e-6).fit(X, sample_weight=weights)
        gamma = ours.kernel_.gamma  # scikit-learn's "scale" takes no account of weights
        theirs = sklearn.svm.OneClassSVM(nu=0.3, gamma=gamma, tol=1e-6)
        if weights is None:
            theirs.fit(X)
        else:
            theirs.fit(np.repeat(X, w, axis=0))
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
        assert_allclose(ours.offset_, theirs.offset_, atol=1e-4)


def test_regression_signs_follow_the_target():
    X = RNG.normal(size=(30, 3))
    slope = np.array([1.0, -2.0, 0.0])
    model = SVR(kernel="linear", C=100.0, epsilon=0.01).fit(X, X @ slope)
    assert_allclose(model.coef_[0], slope, atol=0.02)


# Weights


@pytest.mark.parametrize("weight", [1e-2, 50.0])
@pytest.mark.parametrize("Machine", [SVC, SVR])
def test_a_weight_for_all_rows_is_a_factor_of_the_penalty(Machine, weight):
    X, y = TWO
    plain = Machine(tol=1e-6).fit(X, y)
    scaled = Machine(C=1 / weight, tol=1e-6).fit(X, y, np.full(len(y), weight))
    assert_array_equal(scaled.support_, plain.support_)
    assert_allclose(scaled.dual_coef_, plain.dual_coef_, atol=1e-4)


def test_class_weights_are_factors_of_the_weights_of_rows():
    X, y = FOUR
    w = RNG.uniform(0.5, 2, len(y))
    factors = {0: 0.2, 2: 5.0}
    by_class = SVC(gamma=0.1, class_weight=factors, tol=1e-6).fit(X, y, w)
    by_row = SVC(gamma=0.1, tol=1e-6).fit(X, y, w * [factors.get(c, 1.0) for c in y])
    assert_allclose(by_class.dual_coef_, by_row.dual_coef_, atol=1e-4)
    assert_allclose(by_class.class_weight_, [0.2, 1.0, 5.0, 1.0])


def test_balanced_classes_find_more_of_the_rare_one():
    X, y = make_classification(400, 6, weights=[0.9], flip_y=0.1, random_state=0)
    plain, balanced = SVC().fit(X, y), SVC(class_weight="balanced").fit(X, y)
    assert_allclose(balanced.class_weight_, 400 / (2 * np.bincount(y)))
    assert np.sum(balanced.predict(X)[y == 1]) > np.sum(plain.predict(X)[y == 1])


@pytest.mark.parametrize(
    "model", [SVC(C=1e-2), NuSVC(), SVR(C=1e-2), NuSVR(C=1e-2)], ids=lambda m: type(m).__name__
)
def test_heavy_rows_draw_the_border(model):
    """Two mirrored groups: the middle between them is undecided until one side weighs more."""
    X = np.array([[-2.0, 0.0], [-1.0, -1.0], [0.0, -2.0], [0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])
    y, middle = [0, 0, 0, 1, 1, 1], [[-1.0, 1.0]]
    model = clone(model).set_params(kernel="linear")
    undecided = values(model.fit(X, y), middle)
    low = values(clone(model).fit(X, y, [10, 0.1, 0.1, 0.1, 0.1, 10]), middle)
    high = values(clone(model).fit(X, y, [1, 0.1, 10, 10, 0.1, 0.1]), middle)
    assert low < undecided < high
    if type(model) in CLASSIFIERS:
        assert_allclose(undecided, 0, atol=1e-6)


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_a_class_of_no_weight_is_absent(Classifier):
    X, y = IRIS
    with pytest.raises(ValueError, match="only one class, 'b'"):
        Classifier().fit(X[:100], np.repeat(["a", "b"], 50), np.repeat([0.0, 1.0], 50))
    model = Classifier().fit(X, y, np.repeat([0.0, 1.0, 1.0], 50))
    assert model.classes_.tolist() == [1, 2]
    assert model.decision_function(X).shape == (150,)


# Kernels and samples


@pytest.mark.parametrize("Machine", MACHINES)
def test_gamma_in_words(Machine):
    X, y = TWO
    X = np.where(np.abs(X) < 0.5, 0, X)
    for A in (X, sp.csr_array(X), sp.csc_matrix(X)):
        assert_allclose(Machine(gamma="auto").fit(A, y).kernel_.gamma, 1 / 5)
        assert_allclose(Machine(gamma="scale").fit(A, y).kernel_.gamma, 1 / (5 * X.var()))
    if Machine is not NuSVC:  # which needs a margin
        assert Machine(gamma="scale").fit(np.ones((10, 2)), [0, 1] * 5).kernel_.gamma == 1.0


@pytest.mark.parametrize("name", ["SVC", "SVR"])
@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_degree_and_coef0_of_the_polynomial(name, degree, coef0):
    X, y = TWO
    arguments = {"kernel": "poly", "degree": degree, "coef0": coef0, "gamma": 0.2, "tol": 1e-5}
    ours = {"SVC": SVC, "SVR": SVR}[name](**arguments).fit(X, y)
    theirs = getattr(sklearn.svm, name)(**arguments).fit(X, y)
    assert_allclose(values(ours, X), values(theirs, X), atol=2e-3)


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize(
    "container", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix]
)
def test_sparse_equals_dense(Machine, kernel, container):
    X, y = SPARSE
    model = Machine(kernel=kernel, gamma=0.02, tol=1e-6)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(container(X), y)
    assert sp.issparse(sparse.support_vectors_)
    assert_allclose(sparse.support_vectors_.toarray(), X[sparse.support_])
    for A in (X, container(X)):  # either may be given where the other was fitted
        assert_allclose(values(sparse, A), values(dense, A), atol=1e-4)
        assert_allclose(values(dense, A), values(dense, X), atol=1e-8)
    if kernel == "rbf":  # for the others β is not unique
        assert_array_equal(sparse.support_, dense.support_)
        assert_allclose(sparse.dual_coef_, dense.dual_coef_, atol=1e-4)
    if kernel == "linear":
        assert_allclose(sparse.coef_, dense.coef_, atol=1e-4)


def test_sparse_rows_in_any_order_with_long_indices():
    X, y = SPARSE
    rows = sp.csr_array(X)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(rows.indptr, rows.indptr[1:])])
    unsorted = sp.csr_array((rows.data[order], rows.indices[order], rows.indptr), rows.shape)
    long = sp.csr_array(
        (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), rows.shape
    )
    wanted = SVC().fit(rows, y).decision_function(rows)
    for A in (unsorted, long):
        assert_allclose(SVC().fit(A, y).decision_function(A), wanted, atol=1e-10)


@pytest.mark.parametrize("Machine", MACHINES)
def test_precomputed_matrices_are_sliced_by_rows_and_columns(Machine):
    X, y = TWO
    K = RBF(0.3)(X)
    method = "decision_function" if Machine in CLASSIFIERS else "predict"
    assert_allclose(
        cross_val_predict(Machine(kernel="precomputed"), K, y, cv=3, method=method),
        cross_val_predict(Machine(kernel=RBF(0.3)), X, y, cv=3, method=method),
        atol=1e-6,
    )
    assert Machine(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert not Machine().__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("Machine", MACHINES)
def test_precomputed_predictions_read_the_columns_of_support_vectors_alone(Machine):
    X, y = IRIS
    K = X @ X.T
    model = Machine(kernel="precomputed").fit(K, y)
    wanted = values(model, K)
    others = np.setdiff1d(np.arange(150), model.support_)
    K[:, others] = 1e9
    assert_array_equal(values(model, K), wanted)
    with pytest.raises(ValueError, match="150"):
        model.predict(K[:, :-1])
    for container in (sp.csr_array, sp.csr_matrix, sp.coo_array):
        for fitted in (Machine(kernel="precomputed"), model):
            method = fitted.predict if fitted is model else lambda G, m=fitted: m.fit(G, y)
            with pytest.raises(TypeError, match=r"^Sparse precomputed kernels are not supported"):
                method(container(X @ X.T))


@pytest.mark.parametrize("Machine", MACHINES)
def test_a_callable_kernel_is_asked_for_blocks(Machine):
    X, y = TWO
    shapes = []

    def kernel(A, B):
        shapes.append((len(A), len(B)))
        return (1 + A @ B.T) ** 2

    named = Machine(kernel=Polynomial(2, coef0=1.0, gamma=1.0), tol=1e-6).fit(X, y)
    model = Machine(kernel=kernel, tol=1e-6).fit(X, y)
    assert_allclose(values(model, X), values(named, X), atol=1e-3)
    assert len(shapes) < 100
    message = r"returned shape \(120, 5\) .* must return \(120, 120\)"
    with pytest.raises(ValueError, match=message + ".*FromFunction.*KernelRidge"):
        Machine(kernel=lambda A, B: A).fit(X, y)


@pytest.mark.parametrize("Machine", MACHINES)
def test_memory_order_does_not_matter(Machine):
    X, y = TWO
    wanted = values(Machine().fit(X, y), X)
    frozen = X.copy()
    frozen.flags.writeable = False
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    for A in (np.asfortranarray(X), frozen, wide, X.tolist()):
        assert_allclose(values(Machine().fit(A, y), A), wanted, atol=1e-9)
    column = np.repeat(y[:, None], 2, axis=1)[:, 1]
    assert_allclose(values(Machine().fit(X, column), X), wanted, atol=1e-9)
    if Machine is not OneClassSVM:  # which has no target
        with pytest.warns(DataConversionWarning, match="column-vector"):
            Machine().fit(X, y[:, None])


@pytest.mark.parametrize("Machine", MACHINES)
def test_fitting_again_forgets(Machine):
    X, y = TWO
    model = Machine().fit(*IRIS).fit(X, y)
    assert_array_equal(values(model, X), values(Machine().fit(X, y), X))
    assert model.n_features_in_ == 5
    with pytest.raises(ValueError, match="4 features"):
        model.predict(IRIS[0])


@pytest.mark.parametrize("Machine", MACHINES)
def test_numbers_too_large_for_the_kernel_are_refused(Machine):
    X = 1e308 * RNG.uniform(-1, 1, size=(10, 2))
    with pytest.raises(ValueError, match=r"not finite. column \d of X reaches .*MaxAbsScaler"):
        Machine(kernel="linear").fit(X, [0, 1] * 5)


@pytest.mark.parametrize("Machine", MACHINES)
def test_methods_before_fit_name_the_machine(Machine):
    with pytest.raises(NotFittedError, match=f"{Machine.__name__}.*not fitted"):
        Machine().predict([[1.0]])


@pytest.mark.parametrize("Machine", MACHINES)
def test_pickles_clones_and_searches(Machine):
    X, y = TWO
    model = Machine(kernel="poly", degree=2, gamma=0.2, coef0=1.0).fit(X, y)
    assert_array_equal(values(pickle.loads(pickle.dumps(model)), X), values(model, X))
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), Machine())
    step = pipeline.steps[-1][0]
    search = GridSearchCV(
        pipeline,
        {f"{step}__gamma": [0.01, 0.1]},
        scoring=None if hasattr(model, "score") else spread,
    )
    assert search.fit(X, y).best_params_.keys() == {f"{step}__gamma"}
    assert search.predict(X).shape == (120,)


@pytest.mark.spread(2)
@pytest.mark.parametrize("Machine", MACHINES)
def test_too_few_rounds_warn_and_leave_a_status(Machine):
    X = RNG.normal(size=(1500, 2))
    y = RNG.integers(0, 2, 1500)
    model = Machine(gamma=10.0, max_iter=1, tol=1e-9)
    if "C" in model.get_params():
        model.set_params(C=1e4)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
    assert model.fit_status_ == 1
    assert not model.converged_
    assert np.isfinite(values(model, X)).all()


# Probabilities


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_probabilities_repeat_with_the_seed_and_stand_by_class(Classifier):
    X, y = FOUR
    labels = np.array(["d", "b", "a", "c"])[y]
    model = Classifier(probability=True, random_state=3).fit(X, labels)
    P = model.predict_proba(X)
    assert P.shape == (80, 4)
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(
        P, Classifier(probability=True, random_state=3).fit(X, labels).predict_proba(X)
    )
    other = Classifier(probability=True, random_state=4).fit(X, labels)
    assert np.any(other.predict_proba(X) != P)
    assert np.mean(model.classes_[P.argmax(axis=1)] == model.predict(X)) > 0.9
    assert_allclose(np.exp(model.predict_log_proba(X)), P)


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_probabilities_do_not_change_the_machine(Classifier):
    X, y = TWO
    plain = Classifier().fit(X, y)
    model = Classifier(probability=True, random_state=0).fit(X, y)
    assert_array_equal(model.decision_function(X), plain.decision_function(X))
    second = model.predict_proba(X)[:, 1]
    assert_array_equal(second > 0.5, model.decision_function(X) > 0)
    order = np.argsort(model.decision_function(X))
    assert (np.diff(second[order]) >= 0).all()


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_probabilities_are_asked_for_before_fit(Classifier):
    X, y = TWO
    assert hasattr(Classifier(probability=True), "predict_proba")
    with pytest.raises(NotFittedError, match=f"{Classifier.__name__}.*not fitted"):
        Classifier(probability=True).predict_proba(X)
    model = Classifier().fit(X, y)
    for unable in (Classifier(), model):
        for method in ("predict_proba", "predict_log_proba"):
            assert not hasattr(unable, method)
            with pytest.raises(AttributeError) as info:
                getattr(unable, method)
            assert "set probability=True and fit" in str(info.value.__cause__)
    model.probability = True
    with pytest.raises(NotFittedError, match="probability=True"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match=r"two rows of each class.* class 1 has one"):
        Classifier(probability=True, kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 0, 1])
