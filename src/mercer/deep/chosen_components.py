"""One layer of a multilayer kernel machine: components of kernel PCA, ranked, and the first kept.

Components are ranked by what each says about the classes, or by their variance. How many are kept
is decided by a k-NN classifier on rows that neither the components nor their ranks have seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.feature_selection import mutual_info_classif

from mercer.kernels import Kernel
from mercer.learners.neighbours import KNeighborsClassifier
from mercer.learners.spectral import KernelPCA
from mercer.persistence import fields, whole
from mercer.samples import Samples, SamplesLike
from mercer.threads import raise_if_stopped

RANKINGS = ("information", "variance", "nearest_information")
POWER = 3  # products with K after the first: more take time, and no classifier gains
BINS = 10  # most bins for the values of a component
DIGITS = 20  # of scores, by which components and widths are judged
STOPS = 20  # components between two looks whether to stop
COLUMNS = 8  # columns whose information is estimated at a time from nearest neighbours
RANKED_ROWS = 10_000  # most rows of this estimate, which takes 50 ms for each component
FEWEST_ROWS = 4  # fewest rows that it can be computed from


@dataclass
class Settings:
    """What all layers of a machine share.

    Attributes
    ----------
    n_components : int or None
        Components of each layer, at most.
    solver : {"exact", "randomized", "low_rank"} or solver value
    rank : int or None
    n_neighbors : int
        Number of neighbours of the classifier that chooses widths.
    nearest : bool
        Whether mutual information is estimated from nearest neighbours, and not by bins.
    memory, n_jobs
    seed : int
    """

    n_components: int | None
    solver: Any
    rank: int | None
    n_neighbors: int
    nearest: bool
    memory: Any
    n_jobs: int | None
    seed: int


@fields(kept=whole(lambda layer: len(layer.eigenvalues)))
@dataclass
class ComponentLayer:
    """A fitted layer: kernel PCA and the components that it hands on.

    Attributes
    ----------
    pca : KernelPCA
    eigenvalues : ndarray of shape (components,)
        Eigenvalues of all components, in decreasing order; variances times the number of rows.
    mutual_information : ndarray of shape (components,)
        Estimated mutual information of each component with the classes, in nats.
    ranking : {"information", "variance", "nearest_information"}
        The order in which components were taken.
    kept : ndarray of shape (width,)
        The numbers of the components that are handed on, in this order.
    validation_errors : dict of str -> dict of int -> float
        Share of errors on the validation rows by width, for each ranking that was tried; empty
        if the width was given.
    """

    pca: KernelPCA
    eigenvalues: np.ndarray
    mutual_information: np.ndarray
    ranking: str
    kept: np.ndarray
    validation_errors: dict[str, dict[int, float]]

    @property
    def width(self) -> int:
        """The number of components that are handed on."""
        return len(self.kept)

    @property
    def validation_error(self) -> float | None:
        """The error of the width and the ranking that were chosen; None if they were given."""
        errors = self.validation_errors.get(self.ranking, {})
        return errors.get(self.width)

    def order(self, ranking: str) -> np.ndarray:
        """The numbers of the components, the first one first; of equal ones the larger first."""
        scores = self.eigenvalues if ranking == "variance" else self.mutual_information
        return np.argsort(-scores, kind="stable")

    def narrowed(self, ranking: str, width: int | None) -> ComponentLayer:
        """The same components; the first ``width`` by a ranking are kept."""
        kept = self.order(ranking)[:width]
        return replace(self, ranking=ranking, kept=kept, validation_errors={})

    def transform(self, X: SamplesLike) -> np.ndarray:
        """The kept components of samples, (n, width)."""
        return self.pca.transform(X)[:, self.kept]


def fit_components(
    kernel: Kernel, X: Samples, codes: np.ndarray, settings: Settings
) -> tuple[ComponentLayer, np.ndarray]:
    """A layer with all components of the encoded samples X, and their scores, (n, components)."""
    n, exact = X.shape[0], settings.solver == "exact"
    pca = KernelPCA(
        None if settings.n_components is None else min(settings.n_components, n),
        kernel=kernel, eigen_solver="auto" if exact else settings.solver, rank=settings.rank,
        iterated_power=POWER, remove_zero_eig=True, memory=settings.memory, n_jobs=settings.n_jobs,
        random_state=settings.seed,
    )  # fmt: skip
    scores = pca.fit_transform(X)
    if not scores.shape[1]:
        raise ValueError(
            f"All rows are the same to {kernel!r}, so that a layer has no components: look at the "
            "samples, and at the scale of the kernel."
        )
    if settings.nearest:
        information = nearest_information(scores, codes, settings.seed)
    else:
        information = binned_information(scores, codes)
    values = pca.eigenvalues_
    layer = ComponentLayer(pca, values, information, "variance", np.arange(len(values)), {})
    return layer, scores


def binned_information(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    r"""The mutual information of each column and the classes, in nats, (components,).

    The values of a column are put into b bins with equal numbers of rows; then

    .. math:: I = \sum_{b, c} p(b, c) \ln \frac{p(b, c)}{p(b) p(c)}
        - \frac{(b - 1)(c - 1)}{2 n},

    where the second term is what n rows would show of a column that says nothing (Miller, "Note on
    the bias of information estimates", 1955). It is the same for all columns. Fewer bins for few
    rows: five in each cell, on average.
    """
    n, classes = len(codes), int(codes.max()) + 1
    bins = int(np.clip(n // (5 * classes), 2, BINS))
    shares = np.bincount(codes, minlength=classes) / n
    found = np.empty(scores.shape[1])
    for j, column in enumerate(steady(scores, scores).T):
        if j % STOPS == 0:
            raise_if_stopped()
        ends = np.sort(column)[np.arange(1, bins) * n // bins]
        cells = np.searchsorted(ends, column, side="right") * classes + codes
        joint = np.bincount(cells, minlength=bins * classes).reshape(bins, classes) / n
        single = joint.sum(axis=1, keepdims=True) * shares
        known = joint > 0
        found[j] = (joint[known] * np.log(joint[known] / single[known])).sum()
    return np.maximum(found - (bins - 1) * (classes - 1) / (2 * n), 0)


def steady(scores: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Scores without their last digits, in units of the largest one of ``like`` in each column.

    Rows that are equal, or equally far, are so after the rounding of a sum, too: what is counted
    does not depend on the order in which sums were taken.
    """
    largest = np.abs(like).max(axis=0, initial=0).astype(np.float64)
    unit = np.ldexp(1.0, np.frexp(largest)[1] - DIGITS)
    return np.rint(scores / unit) * unit


def nearest_information(scores: np.ndarray, codes: np.ndarray, seed: int) -> np.ndarray:
    """The same from distances to nearest neighbours, by scikit-learn's estimator.

    (Ross, "Mutual information between discrete and continuous data sets", PLoS ONE 9, 2014.) A row
    that is alone in its class is left out.
    """
    rows = np.arange(len(codes))
    if len(rows) > RANKED_ROWS:
        rows = np.sort(np.random.RandomState(seed).permutation(len(rows))[:RANKED_ROWS])
    rows = rows[np.bincount(codes[rows])[codes[rows]] > 1]
    if len(rows) < FEWEST_ROWS:
        return np.zeros(scores.shape[1])

    found = []
    for first in range(0, scores.shape[1], COLUMNS):
        raise_if_stopped()
        part = scores[rows, first : first + COLUMNS]
        found.append(mutual_info_classif(part, codes[rows], random_state=seed, n_jobs=1))
    return np.concatenate(found)


def tried_widths(components: int) -> list[int]:
    """Widths up to the number of components, each about √2 times the one before.

    Examples
    --------
    >>> tried_widths(20)
    [1, 2, 3, 4, 6, 8, 11, 16, 20]
    """
    steps = 2 ** (np.arange(2 * components.bit_length()) / 2)
    return np.unique(np.minimum(np.rint(steps).astype(int), components)).tolist()


def choose_width(
    layer: ComponentLayer,
    scores: np.ndarray,
    codes: np.ndarray,
    held: np.ndarray,
    held_codes: np.ndarray,
    rankings: tuple[str, ...],
    settings: Settings,
) -> ComponentLayer:
    """The layer with the ranking and the width of the least error on rows held back.

    Parameters
    ----------
    scores, codes : ndarray of shape (n, components), (n,)
        Scores and classes of the rows that the layer was fitted to.
    held, held_codes : ndarray of shape (m, components), (m,)
    """
    neighbours = min(settings.n_neighbors, len(codes))
    scores, held = steady(scores, scores), steady(held, scores)
    errors: dict[str, dict[int, float]] = {}
    for ranking in rankings:
        order = layer.order(ranking)
        errors[ranking] = {}
        for width in tried_widths(len(order)):
            raise_if_stopped()
            kept = order[:width]
            model = KNeighborsClassifier(
                neighbours, memory=settings.memory, n_jobs=settings.n_jobs
            ).fit(scores[:, kept], codes)
            wrong = model.predict(held[:, kept]) != held_codes
            errors[ranking][width] = float(np.mean(wrong))
    # if errors are equal, the smallest width and the ranking that was named first
    least = min((e, w, r) for r, by in enumerate(rankings) for w, e in errors[by].items())
    chosen = layer.narrowed(rankings[least[2]], least[1])
    chosen.validation_errors = errors
    return chosen
