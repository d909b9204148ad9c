"""The kernels of simple models, which are linear in a few explicit features of each column.

A number becomes cubic splines, a category indicators of its levels, a text TF-IDF of its parts,
a set its items, and a vector its direction. Each kernel is the inner product of its ``features``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import BSpline

from mercer.distances import Meaning
from mercer.kernels import Kernel, Linear, Match, Spectrum
from mercer.samples import Categories, Kind, kind_named
from mercer.tables import Feature, read_as

SPARSE = 0.3  # part of the features that are not 0, up to which they are sparse
DEGREE, KNOTS = 3, 6  # of the splines; a number with no more values than knots stays as it is


class Splines(Kernel):
    """The inner product of cubic B-splines of one number, constant beyond the training rows.

    ``knots_`` are quantiles of the training rows; none of a number that stays as it is. They are no
    parameter, which reports would show: the outer ones are values of single rows. Rows have no
    weights here, as they have none where columns are scaled.
    """

    meaning = Meaning("Σₘ Bₘ(x) Bₘ(z)", "the inner product of cubic splines: a smooth curve")
    knots_: np.ndarray

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> Splines:
        if hasattr(self, "knots_"):
            return self
        values, bound = np.asarray(X, np.float64)[:, 0], self.copied()
        bound.knots_ = np.empty(0)
        if len(np.unique(values)) > KNOTS:
            bound.knots_ = np.unique(np.percentile(values, np.linspace(0, 100, KNOTS)))
        return bound

    def features(self, X: Any) -> np.ndarray:
        """All splines but the last one, which the others tell, (n, splines)."""
        values = np.asarray(X, np.float64)
        if not len(self.knots_):
            return values
        inner = self.knots_
        first, last = inner[1] - inner[0], inner[-1] - inner[-2]
        steps = np.arange(1, DEGREE + 1)
        t = np.concatenate([inner[0] - first * steps[::-1], inner, inner[-1] + last * steps])
        within = np.clip(values[:, 0], inner[0], inner[-1])
        return BSpline.design_matrix(within, t, DEGREE).toarray()[:, :-1]

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return (self.features(X) @ self.features(Z).T).astype(X.dtype, copy=False)


class Levels(Match):
    """`Match` of one column, with sparse features."""

    def features(self, X: Categories) -> sp.csr_array:  # type: ignore[override]
        """Indicators of the levels in the training rows, (n, levels)."""
        codes, known = X.codes[:, 0], X.known[0]
        rows = np.flatnonzero((codes >= 0) & (codes < known))
        ones = np.ones(len(rows), X.dtype)
        return sp.csr_array((ones, (rows, codes[rows])), shape=(len(codes), known))


class Counted(Kernel):
    """The cosine of the counts of parts of samples, such as the items of sets.

    ``kind`` is the name of the kind of the samples. How it counts stands in ``counter_``.
    """

    meaning = Meaning("#(x) · #(z) / |#(x)| |#(z)|", "the share of parts in common")
    counter_: Any

    def __init__(self, kind: str = "sets"):
        self.kind = kind

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> Counted:
        if hasattr(self, "counter_"):
            return self
        bound = self.copied()
        bound.counter_ = kind_named(self.kind).counter(X)
        return bound

    def features(self, X: Any) -> sp.csr_array:
        """Counts, each row of length 1; sparse, (n, parts)."""
        F = sp.csr_array(self.counter_.features(X)).astype(np.float64)
        norms = np.sqrt(F.multiply(F).sum(axis=1))
        scale = np.divide(1, norms, out=np.zeros(len(norms)), where=norms > 0)
        return sp.csr_array(F.multiply(scale[:, None]))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return (self.features(X) @ self.features(Z).T).toarray().astype(X.dtype, copy=False)


def spline_parts(features: list[Feature]) -> list[tuple[Kernel, list]]:
    """Kernels with explicit features on all columns that have such kernels."""
    parts: list[tuple[Kernel, list]] = [(Splines(), [j]) for j in read_as(features, "scaled")]
    parts += [(Levels(), [j]) for j in read_as(features, "code")]
    # of texts the words, and the characters of those without words
    spoken = {features[j].source for j in read_as(features, "words")}
    for j, feature in enumerate(features):
        if feature.kind == "words":
            parts.append((substrings(1), [j]))
        elif feature.kind in ("characters", "sequences"):
            parts += [] if feature.source in spoken else [(substrings(3), [j])]
        elif feature.holds_objects and feature.kind != "places" and _is_counted(feature.samples):
            parts.append((Counted(feature.samples.name), [j]))
    return parts + [(Linear(), [j]) for j in read_as(features, "directions")]


def column_parts(features: list[Feature]) -> list[tuple[Kernel, list]]:
    """The numbers as they are, and indicators of the levels of categories."""
    numbers = read_as(features, "scaled")
    parts: list[tuple[Kernel, list]] = [(Linear(), numbers)] if numbers else []
    return parts + [(Levels(), [j]) for j in read_as(features, "code")]


def substrings(length: int) -> Kernel:
    """The cosine of TF-IDF: of so many symbols, counts in logarithms, and rare ones weigh more."""
    return Spectrum(length, sublinear=True, idf=True).normalised()


def explicit_features(kernel: Any, X: Any) -> Any:
    """The features of a kernel, (n, p) in float64; sparse if most are 0."""
    F: Any = kernel.features(X)
    if not sp.issparse(F):
        return np.asarray(F, np.float64)
    F = sp.csr_array(F, dtype=np.float64)
    return F.toarray() if F.nnz > SPARSE * F.shape[0] * F.shape[1] else F


def _is_counted(kind: Kind) -> bool:
    """Whether samples of a kind have parts that can be counted."""
    return type(kind).counter is not Kind.counter
