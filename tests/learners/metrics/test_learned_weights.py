"""Learned weights and maps: gradients, brute force, scikit-learn's, hostile samples."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import LargeMarginNeighbours, NadarayaWatson, NeighbourhoodComponents
from mercer.distances import (
    Edit,
    Mahalanobis,
    Match,
    Minkowski,
    Mixed,
    correlation_weights,
    weights,
)
from mercer.distances.weights import NeighbourAnswers, nearest_left_out
from mercer.learners.metrics import CoordinateDescentWeights, linear_metric, noise_features
from mercer.plots import NoiseFeatureDisplay

X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
rng = np.random.default_rng(0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [NeighbourhoodComponents(), LargeMarginNeighbours(), CoordinateDescentWeights()]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# --- maps ----------------------------------------------------------------------------------------


def losses(A, X, y, targets, push):
    """Both losses by their definitions, pair by pair."""
    n = len(X)
    D = np.array([[((A @ (X[i] - X[j])) ** 2).sum() for j in range(n)] for i in range(n)])
    components = 0.0
    for i in range(n):
        p = np.exp(-np.delete(D[i], i))
        components -= p[np.delete(y, i) == y[i]].sum() / p.sum()
    margin = 0.0
    for i in range(n):
        for j in targets[i]:
            if j != i:
                hinges = np.maximum(0, 1 + D[i, j] - D[i][y != y[i]])
                margin += ((1 - push) * D[i, j] + push * hinges.sum()) / n
    return components, margin


def problem_of(model, X, y, A, monkeypatch):
    """The function that a learner minimises, and its gradient."""
    kept = []

    def minimize(objective, start, **options):
        kept.append(objective)
        raise InterruptedError

    monkeypatch.setattr("mercer.learners.metrics.linear_metric.minimize", minimize)
    with pytest.raises(InterruptedError):
        model.set_params(init=A).fit(X, y)
    return kept[0]


@pytest.mark.parametrize("r", [1, 2, 4])
@pytest.mark.parametrize("Learner", [NeighbourhoodComponents, LargeMarginNeighbours])
def test_losses_and_gradients(Learner, r, monkeypatch):
    S, classes = rng.normal(size=(23, 4)), np.arange(23) % 3
    A = 0.5 * rng.normal(size=(r, 4))
    model = Learner(n_components=r, memory=200_000)
    objective = problem_of(model, S, classes, A, monkeypatch)
    targets = getattr(model, "_targets", np.zeros((23, 0), int))
    expected = losses(A, S, classes, targets, 0.5)[Learner is LargeMarginNeighbours]
    assert_allclose(objective(A.ravel())[0], expected, rtol=1e-9)
    error = check_grad(lambda a: objective(a)[0], lambda a: objective(a)[1], A.ravel())
    assert error < 1e-5 * max(1, np.linalg.norm(objective(A.ravel())[1]))


def test_the_targets_are_the_nearest_of_the_class():
    model = LargeMarginNeighbours(4, init="identity", max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    D[y[:, None] != y] = np.inf
    assert_array_equal(np.sort(model._targets), np.sort(np.argsort(D, axis=1)[:, :4]))


def test_scikit_learn_finds_no_better_components():
    for r in (2, 13):
        ours = NeighbourhoodComponents(r, max_iter=300).fit(X, y)
        theirs = NeighborhoodComponentsAnalysis(r, max_iter=300).fit(X, y)
        E = theirs.transform(X)
        P = np.exp(-((E[:, None] - E) ** 2).sum(axis=2))
        np.fill_diagonal(P, 0)
        share = (P * (y[:, None] == y)).sum(axis=1) / P.sum(axis=1)
        assert -ours.loss_ > share.sum() - 0.5


@pytest.mark.parametrize("Learner", [NeighbourhoodComponents, LargeMarginNeighbours])
def test_maps_serve_other_learners(Learner):
    S, classes = make_classification(
        400, 12, n_informative=3, n_redundant=0, n_classes=2, class_sep=1.5, random_state=1
    )
    S[:, -4:] *= 4  # noise that is loud
    train, test = slice(0, 200), slice(200, None)
    model = Learner(max_iter=200, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(S[train], classes[train])
    plain = KNeighborsClassifier().fit(S[train], classes[train]).score(S[test], classes[test])
    mapped = KNeighborsClassifier().fit(model.transform(S[train]), classes[train])
    assert mapped.score(model.transform(S[test]), classes[test]) > plain + 0.05
    assert_allclose(
        model.distance_(S[:3], S[:5]),
        np.sqrt(((model.transform(S[:3])[:, None] - model.transform(S[:5])) ** 2).sum(axis=2)),
        atol=1e-6,
    )
    NadarayaWatson(metric=model.distance_).fit(S[train], classes[train])
    assert model.get_feature_names_out()[0].endswith("0")


def test_memory_and_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(linear_metric, "STRIP", 50)
    for Learner in (NeighbourhoodComponents, LargeMarginNeighbours):
        one, two = (
            Learner(2, n_components=2, max_iter=5, tol=10.0, **options)
            if Learner is LargeMarginNeighbours
            else Learner(2, max_iter=5, tol=10.0, **options)
            for options in ({"n_jobs": 1}, {"n_jobs": 2, "memory": "300KB"})
        )
        assert_allclose(one.fit(X, y).components_, two.fit(X, y).components_, rtol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 14}, "n_components=14 is more than the 13 columns"),
        ({"n_components": 0}, "n_components=0: give a whole number >= 1"),
        ({"init": "best"}, "init='best': give one of"),
        ({"init": np.eye(3)}, r"finite matrix of shape \(13, 13\)"),
        ({"tol": 0}, "tol=0: give a finite number > 0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"push": 1}, "push=1: give a number in"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
    ],
)
def test_wrong_parameters_of_maps(parameters, message):
    Learner = NeighbourhoodComponents if parameters.keys() <= {"n_components"} else None
    for L in [Learner] if Learner else [LargeMarginNeighbours]:
        with pytest.raises(ValueError, match=message):
            L(**parameters).fit(X, y)


def test_a_limit_is_said():
    with pytest.warns(ConvergenceWarning, match="took all 2 steps, with a loss of .* max_iter"):
        NeighbourhoodComponents(max_iter=2).fit(X, y)


# --- weights -------------------------------------------------------------------------------------


def error_by_definition(D, y, k):
    """Row by row; ties between classes count in part."""
    errors = []
    for i, row in enumerate(D):
        row = row.astype(float)
        row[i] = np.inf
        near = y[np.argsort(row, kind="stable")[:k]]
        if y.dtype.kind == "f":
            errors.append((near.mean() - y[i]) ** 2)
        else:
            counts = {c: (near == c).sum() for c in set(y)}
            winners = [c for c in counts if counts[c] == max(counts.values())]
            errors.append(1 - (y[i] in winners) / len(winners))
    return np.mean(errors)


@pytest.mark.parametrize("target", ["classes", "texts", "numbers"])
def test_the_leave_one_out_error(target, monkeypatch):
    monkeypatch.setattr(weights, "STRIP", 7)
    goal = {"classes": y, "texts": np.array(list("abc"))[y], "numbers": X[:, 0] + 0.5}[target]
    D = Minkowski(1)(X).astype(np.float32)
    (nearest,) = nearest_left_out(lambda rows: [D[rows]], len(X), 5)
    found = NeighbourAnswers(goal).errors(nearest).mean()
    assert_allclose(found, error_by_definition(D, goal, 5), rtol=1e-9)


@pytest.mark.parametrize("p", [1, 2])
def test_coordinate_descent(p):
    model = CoordinateDescentWeights(Minkowski(p), 3).fit(X, y)
    assert all(b <= a for a, b in zip(model.errors_, model.errors_[1:]))
    assert model.errors_[-1] < model.errors_[0]
    # what was found by changes equals what the distance gives
    D = model.distance_(X)
    assert_allclose(model.error_, error_by_definition(D, y, 3), atol=0.012)
    assert_allclose(model.weights_.mean(), 1)
    again = CoordinateDescentWeights(Minkowski(p), 3, n_jobs=2).fit(X, y)
    assert_array_equal(again.weights_, model.weights_)


def test_coordinate_descent_finds_noise():
    S = np.random.default_rng(1).uniform(size=(600, 6))
    classes = (S[:, 0] + S[:, 2] > 1).astype(int)
    model = CoordinateDescentWeights().fit(S[:300], classes[:300])
    assert model.weights_[[0, 2]].min() > model.weights_[[1, 3, 4, 5]].max()
    assert (model.weights_ == 0).any()
    numbers = CoordinateDescentWeights().fit(S[:300], S[:300, 1])
    assert numbers.weights_.argmax() == 1
    fewer = CoordinateDescentWeights(max_samples=100, random_state=0).fit(S, classes)
    assert set(np.argsort(fewer.weights_)[-2:]) == {0, 2}


def mixed_table(n=240):
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": draw.uniform(size=n), "z": draw.uniform(size=n), "c": draw.choice(list("ab"), n)}
    )
    return table, np.where((table["c"] == "a") ^ (table["x"] > 0.5), "yes", "no")


MIXED = Mixed([(Minkowski(1), ["x"]), (Minkowski(1), ["z"]), (Match(), ["c"])])


def test_weights_of_a_table():
    table, target = mixed_table()
    model = CoordinateDescentWeights(MIXED).fit(table, target)
    assert model.error_ < min(0.1, model.errors_[0])
    report = noise_features(table, target, MIXED)
    assert report.names == ["x", "z", "c"]
    assert report.noise == ["z"]


def test_noise_features_by_definition():
    S = X[:, :4]
    report = noise_features(S, y, Minkowski(1), 3)
    w = 1 / np.abs(S[:, None] - S).mean(axis=(0, 1))
    assert_allclose(report.error, error_by_definition(Minkowski(1, w)(S), y, 3), atol=0.006)
    for j in range(4):
        without = w * (np.arange(4) != j)
        expected = error_by_definition(Minkowski(1, without)(S), y, 3)
        assert_allclose(report.errors[j], expected, atol=0.006)
    lines = report.table().splitlines()
    assert lines[0].split() == ["without", "error", "change", "±"]
    assert len(lines) == 6
    frame = pd.DataFrame(S, columns=list("abcd"))
    assert noise_features(frame, y, Minkowski(1), 3).names == list("abcd")


def test_the_noise_display():
    pytest.importorskip("matplotlib")
    report = noise_features(np.column_stack([X[:, 0], rng.normal(size=len(X))]), y)
    drawn = NoiseFeatureDisplay.from_result(report)
    assert [t.get_text() for t in drawn.ax_.get_yticklabels()] == ["0", "1"]
    widths = [bar.get_width() for bar in drawn.bars_]
    assert_allclose(widths, np.sort(report.errors - report.error)[::-1])
    with pytest.raises(
        ValueError, match=r"changes has the shape \(2,\): give one for each of the 1 names"
    ):
        NoiseFeatureDisplay(["a"], [0.1, 0.2])


def test_wrong_arguments_of_weights():
    with pytest.raises(TypeError, match="not a weighted sum over features"):
        CoordinateDescentWeights(Mahalanobis()).fit(X, y)
    with pytest.raises(TypeError, match="not a weighted sum over features"):
        noise_features(["a", "b", "c"], [0, 1, 0], Edit(), 1)
    with pytest.raises(TypeError, match="give a distance, such as Minkowski"):
        CoordinateDescentWeights("euclidean").fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors=200 needs 201 samples"):
        CoordinateDescentWeights(n_neighbors=200).fit(X, y)
    with pytest.raises(MemoryError, match='give memory="1MB" or more, or a smaller max_samples'):
        CoordinateDescentWeights(memory="100KB").fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        noise_features([[np.nan], [1.0]], [0, 1], None, 1)


def test_correlations_with_classes_and_of_categories():
    w = correlation_weights(X, y, classes=True)
    for j in range(X.shape[1]):
        single = [abs(np.corrcoef(X[:, j], y == c)[0, 1]) for c in range(3)]
        assert_allclose(w[j], max(single))
    texts = correlation_weights(X, np.array(list("abc"))[y])
    assert_allclose(texts, w)
    table, target = mixed_table()
    number = (target == "yes") + table["x"].to_numpy()
    table.loc[3, "x"] = np.nan
    ratio = correlation_weights(table, number)
    groups = [number[table["c"] == c] for c in "ab"]
    between = sum(len(g) * (g.mean() - number.mean()) ** 2 for g in groups)
    assert_allclose(ratio[2], np.sqrt(between / ((number - number.mean()) ** 2).sum()))
    known = table["x"].notna()
    assert_allclose(ratio[0], abs(np.corrcoef(table["x"][known], number[known])[0, 1]))
    assert correlation_weights(np.ones((4, 1)), [1, 2, 3, 4])[0] == 0
    with pytest.raises(ValueError, match="one target for each row"):
        correlation_weights(X, y[:5])
    with pytest.raises(ValueError, match="y contains NaN"):
        correlation_weights(X[:2], [np.nan, 1.0])


# --- the covariance of Mahalanobis ---------------------------------------------------------------


@pytest.mark.parametrize("target", ["identity", "diagonal"])
def test_shrinkage_by_leave_one_out(target):
    S = rng.normal(size=(120, 30))
    classes = (S[:, 0] > 0).astype(int)
    bound = Mahalanobis(shrinkage="leave_one_out", target=target).bind(S, classes)
    C, errors = np.cov(S.T), {}
    T = np.diag(C.diagonal()) if target == "diagonal" else np.trace(C) / 30 * np.eye(30)
    for s in (1e-6, 0.1, 1.0, bound.shrinkage):
        M = (1 - s) * C + s * T
        errors[s] = error_by_definition(Mahalanobis(M)(S), classes, 5)
    assert errors[bound.shrinkage] <= min(errors.values()) + 1e-12
    expected = (1 - bound.shrinkage) * C + bound.shrinkage * T
    assert_allclose(bound.covariance, expected, rtol=1e-9, atol=1e-12)
    singular = Mahalanobis(shrinkage="leave_one_out").bind(load_iris().data[:3], [0, 1, 1])
    assert singular.shrinkage > 0
    model = NadarayaWatson(metric=Mahalanobis(shrinkage="leave_one_out")).fit(S, S[:, 0])
    assert 0 < model.distance_.shrinkage <= 1
    with pytest.raises(ValueError, match="needs the targets y"):
        Mahalanobis(shrinkage="leave_one_out")(S)


def test_files(tmp_path):
    for model in (NeighbourhoodComponents(2, tol=1.0), CoordinateDescentWeights()):
        model.fit(X, y)
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert_allclose(loaded.distance_(X[:5]), model.distance_(X[:5]))


def test_classes_decides_what_whole_numbers_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.array([0, 2, 1])[np.digitize(X[:, 0], [-0.5, 0.5])]  # in no order
    indicators = correlation_weights(X, y, classes=True)
    assert_allclose(correlation_weights(X, y), indicators)
    assert_allclose(correlation_weights(X, np.array(list("abc"))[y]), indicators)
    numbers = correlation_weights(X, y, classes=False)
    assert_allclose(numbers[0], abs(np.corrcoef(X[:, 0], y)[0, 1]))
    assert numbers[0] < indicators[0] - 0.2
    counts = rng.integers(0, 40, 120)  # too many different values
    assert_allclose(correlation_weights(X, counts), correlation_weights(X, counts, classes=False))
    assert noise_features(X, y).error == noise_features(X, y, classes=True).error
    assert noise_features(X, y, classes=False).error != noise_features(X, y).error
    errors = [CoordinateDescentWeights(classes=c).fit(X, y).errors_[0] for c in (None, True, False)]
    assert errors[0] == errors[1] != errors[2]
    with pytest.raises(ValueError, match="classes='yes'"):
        CoordinateDescentWeights(classes="yes").fit(X, y)
