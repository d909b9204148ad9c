"""One row for each public estimator: which invariances hold, and why one does not.

The invariances, by their names in the table:

- ``rows``: another order of the training rows changes nothing.
- ``alone``: a new row has the same answer alone as among others.
- ``parts``: so have rows that are asked for in parts.
- ``threads``: two threads answer as one does.
- ``memory``: a budget that the exact method just fits into changes nothing.
- ``float32``: rows in single precision have nearly the same answers.
- ``scale``: X times a number changes nothing.
- ``targets``: the answers are in proportion to y, or there is an error that asks for other units.
- ``weights``: weights times a number change nothing, if penalties are multiplied accordingly.
- ``translation``: X plus a vector changes nothing.
- ``repetition``: a weight of 2 is a row given twice, and a weight of 0 its absence.
- ``file``: a model that was saved and loaded answers the same.
- ``sparse``: sparse rows have the answers of the same dense rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import mercer
import mercer.deep
import mercer.search
from mercer.distances import Minkowski
from mercer.kernels import RBF
from mercer.learners.additive import TwoStageRegressor
from mercer.learners.metrics import CoordinateDescentWeights

INVARIANCES = (
    "rows", "alone", "parts", "threads", "memory", "float32", "scale", "targets", "weights",
    "translation", "repetition", "file", "sparse",
)  # fmt: skip


class Fit(NamedTuple):
    """A fitted model with the rows that it was fitted to."""

    model: Any
    X: Any
    y: Any


Answers = Callable[[Fit, Any], np.ndarray]


@dataclass(frozen=True)
class Row:
    """An estimator with its task.

    Attributes
    ----------
    model : object
        Parameters that make the answers unique, such as a small tolerance.
    task : str
        "classes", "numbers", "none", "views" or "sets": what X is fitted with, or is.
    answers : callable
        The answers of a fitted model for new rows, one row of an array for each.
    meant : callable
        What two fits have to agree in, where the signs of directions or the names of clusters mean
        nothing.
    without : dict
        Invariances that do not hold, each with the reason.
    faults : dict
        Those that should hold and do not, each with what is wrong.
    close, single : float
        The tolerances of two exact fits, and of one in single precision, in parts of the largest
        answer.
    matrices : int
        So many numbers for each pair of rows fit into the memory that the exact method needs.
    rounded : callable
        What the rounding of rows to single precision is multiplied by in the answers of a model.
    refuses : str
        A part of the refusal of some rows, which is right.
    library : str
        What it needs beside the core, which may be absent.
    """

    model: Any
    task: str
    answers: Answers
    meant: Callable[[np.ndarray], np.ndarray] = np.asarray
    without: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    close: float = 1e-6
    single: float = 2e-3
    matrices: int = 6
    rounded: Callable[[Any], float] = lambda model: 0.0
    refuses: str = ""
    library: str = ""

    @property
    def id(self) -> str:
        return " ".join(repr(self.model).split())

    @property
    def invariances(self) -> list[str]:
        """Those that its task can have."""
        numbers = self.task in ("numbers", "views")
        return [name for name in INVARIANCES if numbers or name != "targets"]


def public_estimators() -> set[type]:
    """All public classes with ``fit``, but those that others subclass."""
    rooms = (mercer, mercer.deep, mercer.search)
    # torch is not there in every environment
    names = [
        (room, name)
        for room in rooms
        for name in room.__all__
        if not name.startswith(("Convolutional", "Attention"))
    ]
    classes = [value for room, name in names if inspect.isclass(value := getattr(room, name))]
    classes += [CoordinateDescentWeights, TwoStageRegressor]  # public in rooms of the learners
    return {cls for cls in classes if hasattr(cls, "fit") and not inspect.isabstract(cls)}


# --- answers, and what is meant by them -------------------------------------------------------


def asked(*methods: str) -> Answers:
    def answers(fit: Fit, Z: Any) -> np.ndarray:
        found = [np.asarray(getattr(fit.model, name)(Z), float) for name in methods]
        return np.column_stack([values.reshape(len(values), -1) for values in found])

    return answers


def near(fit: Fit, Z: Any) -> np.ndarray:
    """Distances to the nearest rows."""
    return fit.model.kneighbors(Z, 4)[0]


def told(fit: Fit, Z: Any) -> np.ndarray:
    """Clusters of new rows."""
    return fit.model.approximate_predict(Z)[0][:, None].astype(float)


def found(fit: Fit, Z: Any) -> np.ndarray:
    return fit.model.query(Z, 4)[0]


def nearest_prototype(fit: Fit, Z: Any) -> np.ndarray:
    """The class of the nearest chosen row."""
    rows = fit.model.indices_
    chosen = mercer.KNeighborsClassifier(1).fit(fit.X[rows], fit.y[rows])
    return chosen.predict(Z)[:, None].astype(float)


def filled(fit: Fit, Z: Any) -> np.ndarray:
    """The first column, as if it were missing."""
    lacking = np.array(Z, float)
    lacking[:, 0] = np.nan
    return fit.model.transform(lacking)[:, :1]


def weights(fit: Fit, Z: Any) -> np.ndarray:
    """Of the columns: there is no answer for new rows."""
    return np.tile(fit.model.weights_, (Z.shape[0], 1))


def without_signs(answers: np.ndarray) -> np.ndarray:
    return np.abs(answers)


def gaps(answers: np.ndarray) -> np.ndarray:
    """Distances between the answers: all that a learnt map is used for."""
    return np.linalg.norm(answers[:, None] - answers[None], axis=2)


def products(answers: np.ndarray) -> np.ndarray:
    """Inner products of the answers: all that features are used for."""
    return answers @ answers.T


def together(answers: np.ndarray) -> np.ndarray:
    """Which rows are in one cluster."""
    return (answers[:, None] == answers[None]).all(axis=2).astype(float)


def sorted_distances(answers: np.ndarray) -> np.ndarray:
    """To the centres of clusters, whose order means nothing."""
    return np.sort(answers, axis=1)


# --- reasons ----------------------------------------------------------------------------------

COUNTED = {"weights": "a weight is a number of rows, and more of them are fitted more closely"}
CAUTIOUS = {"weights": "few rows have cautious probabilities, and a weight is a number of rows"}
STEPS = {"weights": "a weight is a factor of the step, as in scikit-learn"}
COPIES = {"weights": "a row of weight 2 is its own neighbour at distance 0"}
NO_WEIGHTS = dict.fromkeys(("repetition", "weights"), "fit takes no weights")
UNIT = {"scale": "answers are in the unit of X"}
PENALTY = {"scale": "the penalty weighs |w|², which has a unit"}
ORIGIN = {"translation": "the plane is measured from the origin"}
VISITS = {"rows": "it visits rows in their order"}
HASHED = {"translation": "rows are drawn by hashes of their numbers, for which order means nothing"}
DRAWN = {"rows": "the rows for validation are drawn by their numbers"}
CELLS = {"translation": 'gamma="scale" is of the variance of all cells, where means count'}
BATCHES = dict.fromkeys(
    ("float32", "translation"),
    "rows stand in the order of the hashes of their numbers, in which batches are drawn",
)
MAPS = {
    "rows": "the rows that a map begins with are drawn",
    "float32": "a descent makes much of the last digits",
}
TABLES = {"sparse": "tables are not sparse"}
DENSE = {"sparse": "it reads dense rows, as scikit-learn's does"}

LINEAR = {"translation": "one of the kernels is linear, and measured from the origin"}
LOCAL = dict.fromkeys(
    ("float32", "scale"),
    "the descent ends where its start and its rounding lead it, and may go to infinity",
)
ROUNDED = {"float32": "the best penalty may be below the rounding of K in float32"}

SERIES = NO_WEIGHTS | {
    "sparse": "series are not sparse", "translation": "zeros stand before and after a series",
    "float32": "numbers of places jump where two responses are equal up to rounding",
}  # fmt: skip
UNLIKE_ROWS = NO_WEIGHTS | {
    "sparse": "series are not sparse", "translation": "each point of a series is moved elsewhere",
}  # fmt: skip
EXAMPLES = {"rows": "biases are of rows that are drawn by their numbers"}

SOME = dict.fromkeys(
    ("rows", "float32", "translation"),
    "it finds most neighbours, which ones depends on what is drawn, on order and on rounding",
)

# --- faults
CHOSEN = {"repetition": "columns are scaled without weights, and copies are left out one by one"}

#: the same search, kernel and penalty for the automatic estimators
REPLAY = [{"family": "gaussian", "scale": 1.0, "learn": False, "rows": 45, "rank": 45, "steps": []}]

values = asked("decision_function")
predictions = asked("predict")

#: the powers of a factor of y, and of the weights, that parameters are multiplied by
IN_TARGETS = {
    mercer.SVR: {"C": 1, "epsilon": 1}, mercer.LinearSVR: {"C": 1, "epsilon": 1},
    mercer.NuSVR: {"C": 1}, mercer.KernelQuantileRegression: {"C": 1},
}  # fmt: skip
IN_WEIGHTS = {
    **{machine: {"C": -1} for machine in (
        mercer.SVC, mercer.SVR, mercer.NuSVR, mercer.KernelQuantileRegression, mercer.LinearSVC,
        mercer.LinearSVR, mercer.KernelLogisticRegression, mercer.MultipleKernelClassifier)},
    **{machine: {"alpha": 1} for machine in (
        mercer.KernelRidge, mercer.KernelRidgeClassifier, mercer.MultipleKernelRegressor)},
}  # fmt: skip

TABLE = [
    # --- machines
    Row(mercer.SVC(tol=1e-9), "classes", values, without=CELLS, close=1e-5),
    Row(mercer.SVC(gamma="median", tol=1e-9), "classes", values, without=COPIES, close=1e-5),
    Row(mercer.SVC(kernel="linear", tol=1e-9), "classes", values, without=PENALTY, close=1e-5),
    Row(mercer.NuSVC(nu=0.43, tol=1e-9), "classes", values, without=CELLS, close=1e-5,
        # a small margin divides all
        rounded=lambda model: float(np.abs(model.dual_coef_).sum()), refuses="there is no margin"),
    Row(mercer.LinearSVC(tol=1e-10), "classes", values, without=PENALTY | ORIGIN, close=1e-5),
    Row(mercer.SVR(tol=1e-9), "numbers", predictions, without=CELLS, close=1e-5),
    Row(mercer.NuSVR(tol=1e-9), "numbers", predictions, without=CELLS, close=1e-5),
    Row(mercer.KernelQuantileRegression(quantile=[0.2, 0.7], tol=1e-9), "numbers", predictions,
        without=CELLS, close=1e-5),
    Row(mercer.LinearSVR(tol=1e-10, epsilon=0.1), "numbers", predictions,
        without=PENALTY | ORIGIN, close=1e-4),
    Row(mercer.OneClassSVM(tol=1e-9, nu=0.3), "none", values, without=CELLS | {
        "weights": "values are sums of weights"}, close=1e-5),
    Row(mercer.Perceptron(), "classes", values, without=VISITS | ORIGIN | STEPS | {
        "scale": "the intercept is learnt at the rate of rows of length 1",
        "repetition": "a weight is a factor of the step, as in scikit-learn",
        "float32": "a rounded value may be a mistake, and no later one is the same"}),
    Row(mercer.KernelPerceptron(max_iter=3, tol=None), "classes", values,
        without=VISITS | CELLS | STEPS | {
        "repetition": "a weight is a factor of the step, as in scikit-learn",
        "float32": "a rounded value may be a mistake, and no later one is the same"}),
    # --- ridge
    Row(mercer.KernelRidge(0.1, kernel="rbf", gamma="scale"), "numbers", predictions,
        without=CELLS),
    Row(mercer.KernelRidge(0.1, kernel="rbf", gamma="median"), "numbers", predictions,
        without=COPIES),
    Row(mercer.KernelRidge(0.1), "numbers", predictions, without=PENALTY | ORIGIN),
    Row(mercer.KernelRidge("auto", kernel="rbf", gamma="scale"), "numbers", predictions,
        without=CELLS | ROUNDED),
    Row(mercer.KernelRidgeClassifier(0.1, kernel="rbf", gamma="scale"), "classes", values,
        without=CELLS),
    Row(mercer.KernelLogisticRegression(kernel="rbf", gamma="scale"), "classes", values,
        without=CELLS),
    Row(mercer.GaussianProcessRegressor(1.0 * RBF("median"), alpha=0.1, optimizer=None), "numbers",
        predictions, without=NO_WEIGHTS),
    Row(mercer.GaussianProcessRegressor(1.0 * RBF("median"), alpha="auto", normalize_y=True),
        "numbers", predictions, without=NO_WEIGHTS, close=1e-4),
    Row(mercer.FeatureMachineClassifier(random_state=0), "classes", values,
        without=ROUNDED | HASHED | CAUTIOUS, close=1e-4, matrices=100),
    Row(mercer.FeatureMachineRegressor(random_state=0), "numbers", predictions,
        without=ROUNDED | HASHED, close=1e-4, matrices=100),
    Row(mercer.NeighbourhoodMachineClassifier(steps=40, hidden=32, random_state=0), "classes",
        asked("predict_proba"), without=TABLES | ROUNDED, close=1e-3),
    Row(mercer.NeighbourhoodMachineRegressor(steps=40, hidden=32, random_state=0), "numbers",
        predictions, without=TABLES | ROUNDED, close=1e-3),
    Row(mercer.MultipleKernelClassifier(), "classes", values, without=LINEAR, close=1e-3),
    Row(mercer.MultipleKernelRegressor(alpha=0.1), "numbers", predictions, without=LINEAR),
    Row(mercer.KernelClassifier(replay=REPLAY), "classes", asked("predict_proba"),
        without=TABLES | ROUNDED | CAUTIOUS, faults=CHOSEN, close=1e-3),
    Row(mercer.KernelRegressor(replay=REPLAY), "numbers", predictions, without=TABLES | ROUNDED,
        faults=CHOSEN, close=1e-3),
    Row(mercer.KernelSearchCV(mercer.KernelRidge(kernel="rbf", gamma="scale"), {"alpha": [0.1, 1]}),
        "numbers", predictions, without=NO_WEIGHTS | CELLS | {
            "rows": "folds are cut in the order of the rows"}),
    Row(mercer.RecursiveElimination(mercer.KernelRidge(kernel="rbf", gamma="scale"), rows=60),
        "numbers", predictions, without=NO_WEIGHTS | CELLS | TABLES | {
            "rows": "rows are held out by their places"}),
    # --- sums of functions of columns
    Row(mercer.AdditiveRegressor(), "numbers", predictions, without=TABLES | COUNTED,
        matrices=10_000),
    Row(mercer.AdditiveClassifier(), "classes", values, without=TABLES | COUNTED, close=1e-4,
        matrices=10_000),
    Row(TwoStageRegressor(second=mercer.KernelRidge(0.1, kernel="rbf", gamma="median")),
        "numbers", predictions, without=TABLES | ROUNDED | COUNTED, matrices=10_000),
    # --- spectral
    Row(mercer.KernelPCA(3, kernel="rbf", gamma=0.1), "none", asked("transform"), without_signs,
        without=NO_WEIGHTS | {"scale": "gamma is a number here"}),
    Row(mercer.KernelPCA(2), "none", asked("transform"), without_signs, without=NO_WEIGHTS | UNIT),
    Row(mercer.Nystroem(RBF("median")), "none", asked("transform"), products, without=NO_WEIGHTS),
    Row(mercer.RandomFeatures(RBF("median"), n_components=8, random_state=0), "none",
        asked("transform"), products, without=NO_WEIGHTS),
    Row(mercer.ConvolutionFeatures(size=84, random_state=0), "none", asked("transform"),
        without=SERIES | EXAMPLES),
    Row(mercer.ConvolutionFeatures("multirocket", 672, random_state=0), "none", asked("transform"),
        without=SERIES | EXAMPLES | UNIT),
    Row(mercer.ConvolutionFeatures("hydra", size=2, random_state=0), "none", asked("transform"),
        without=SERIES | {"scale": "shares of zeros, which have no unit, are added to spreads"}),
    Row(mercer.SignatureFeatures(2, n_components=40, random_state=0), "none", asked("transform"),
        products, without=UNLIKE_ROWS),
    Row(mercer.WarpingFeatures(n_components=20, random_state=0), "none", asked("transform"),
        without=UNLIKE_ROWS),
    Row(mercer.KernelDiscriminant(0.1, gamma="median"), "classes", values, without=NO_WEIGHTS),
    Row(mercer.KernelDiscriminant(0.1, gamma="median"), "classes", asked("transform"),
        without_signs, without=NO_WEIGHTS),
    Row(mercer.KernelCCA(2, alpha=0.1, gamma="median"), "views", asked("transform"), without_signs,
        without=NO_WEIGHTS, matrices=20),
    Row(mercer.KernelKMeans(3, n_init=40, random_state=0), "none", asked("transform"),
        sorted_distances, without=CELLS),
    Row(mercer.KernelKMeans(3, n_init=40, random_state=0), "none", predictions, together,
        without=CELLS),
    Row(mercer.SpectralClustering(3, gamma="median", random_state=0), "none", predictions, together,
        without=NO_WEIGHTS),
    # --- neighbours
    Row(mercer.KNeighborsClassifier(4), "classes", asked("predict_proba"), without=COPIES),
    Row(mercer.KNeighborsClassifier(None, weights="gaussian", width=1.5), "classes",
        asked("predict_proba"), without=UNIT),
    Row(mercer.KNeighborsRegressor(4, weights="rank"), "numbers", predictions, without=COPIES),
    Row(mercer.RadiusNeighborsClassifier(8.0, outlier_label=0), "classes", asked("predict_proba"),
        without={"scale": "the radius has a unit"}),
    Row(mercer.RadiusNeighborsRegressor(8.0), "numbers", predictions,
        without={"scale": "the radius has a unit"}),
    Row(mercer.NeighbourGaussianProcess(5), "numbers", predictions, without=NO_WEIGHTS | {
        "float32": "two settings may be as likely, up to the rounding of single precision"},
        close=1e-3),
    Row(mercer.NearestNeighbors(), "none", near, without=NO_WEIGHTS | UNIT),
    Row(mercer.NeighbourEmbedding(5, steps=30, random_state=0), "none", asked("transform"),
        without=NO_WEIGHTS | MAPS),
    Row(mercer.Isomap(18), "none", asked("transform"), without_signs, without=NO_WEIGHTS | UNIT),
    Row(mercer.LabelSpreading(4, tol=1e-9), "classes", asked("predict_proba"),
        without=NO_WEIGHTS),
    Row(mercer.KNNImputer(4), "none", filled, without=NO_WEIGHTS | UNIT | TABLES | {
        "translation": "cells that are filled move with the others"}),
    Row(mercer.LocalOutlierFactor(5, novelty=True), "none", asked("score_samples"),
        without=NO_WEIGHTS),
    Row(mercer.KMedoids(3), "none", predictions, together, without=NO_WEIGHTS),
    Row(mercer.HDBSCAN(allow_single_cluster=True), "none", told, together, without=NO_WEIGHTS),
    Row(mercer.NadarayaWatson(), "numbers", predictions, without=COPIES),
    Row(mercer.NadarayaWatsonClassifier(), "classes", asked("predict_proba"), without=COPIES),
    Row(mercer.KernelDensity(bandwidth=0.8), "none", asked("score_samples"), without=UNIT),
    Row(mercer.Stolp(3), "classes", nearest_prototype, without=NO_WEIGHTS),
    # --- learnt distances
    Row(mercer.NeighbourhoodComponents(2, max_iter=10), "classes", asked("transform"), gaps,
        without=NO_WEIGHTS | DENSE | LOCAL, close=1e-4),
    Row(mercer.LargeMarginNeighbours(3, 2, max_iter=10), "classes", asked("transform"), gaps,
        without=NO_WEIGHTS | DENSE | LOCAL, close=1e-4),
    Row(CoordinateDescentWeights(), "classes", weights, without=NO_WEIGHTS),
    # --- many layers
    Row(mercer.deep.DeepKernelMachineClassifier(random_state=0), "classes", values,
        without=NO_WEIGHTS | ORIGIN, close=1e-3, matrices=100),
    Row(mercer.deep.DeepKernelMachineRegressor(random_state=0), "numbers", predictions,
        without=NO_WEIGHTS | ORIGIN, close=1e-3, matrices=100),
    Row(mercer.deep.NeuralKernelClassifier(width=16, n_features=16, epochs=8, dtype="float64",
        random_state=0), "classes", values, without=BATCHES, library="torch"),
    Row(mercer.deep.NeuralKernelRegressor(width=16, n_features=16, epochs=8, dtype="float64",
        inputs="ranks", random_state=0), "numbers", predictions, without=BATCHES, library="torch"),
    Row(mercer.deep.DeepKernelClassifier(width=16, n_features=16, epochs=8, dtype="float64",
        candidates=["both"], random_state=0), "classes", values, without=NO_WEIGHTS | BATCHES,
        close=1e-4, library="torch"),
    Row(mercer.deep.DeepKernelRegressor(width=16, n_features=16, epochs=8, dtype="float64",
        candidates=["process"], random_state=0), "numbers", predictions,
        without=NO_WEIGHTS | BATCHES, close=1e-4, library="torch"),
    Row(mercer.deep.MultilayerKernelMachine(1, n_components=5, random_state=0), "classes", values,
        without=NO_WEIGHTS | DRAWN | {"scale": "gamma is 1 / d"}, close=1e-2),
    # --- indexes
    Row(mercer.search.BruteForce(Minkowski()), "none", found, without=NO_WEIGHTS | UNIT),
    Row(mercer.search.KDTree(Minkowski()), "none", found, without=NO_WEIGHTS | UNIT),
    Row(mercer.search.MetricTree(Minkowski()), "none", found, without=NO_WEIGHTS | UNIT),
    Row(mercer.search.DescentIndex(Minkowski()), "none", found, without=NO_WEIGHTS | UNIT),
    Row(mercer.search.SampleDescentIndex(Minkowski()), "none", found, without=NO_WEIGHTS | UNIT),
    Row(mercer.LSHIndex(Minkowski(), recall=0.99), "none", found, without=NO_WEIGHTS | UNIT | SOME),
    Row(mercer.MinHash(16), "sets", asked("transform"), without=NO_WEIGHTS | dict.fromkeys(
        ("float32", "scale", "translation", "sparse"), "sets have no numbers")),
]  # fmt: skip

#: public estimators without a row
LEFT_OUT = {
    mercer.search.Index: "the interface of the others",
    mercer.search.NeighbourGraph: "it answers no new rows: its index does",
    mercer.search.KnownNeighbours: "it reads a matrix of distances, which has no rows of numbers",
    mercer.RecordLinkage: "it answers pairs: tests/link/test_record_linkage.py",
}
