"""The candidates of the automatic estimators: kernel families for a table's encoded columns."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.distances import Match as MatchDistance
from mercer.kernels import RBF, FromDistance, Laplacian, Match, TableKernel
from mercer.selection.encoding import Feature

__all__ = ["Candidate", "candidates"]

MOST_COLUMNS = 100  # beyond so many, a kernel for each column is left out


@dataclass(frozen=True)
class Candidate:
    """One entry of the search.

    Attributes
    ----------
    family : {"interactions", "gaussian", "laplacian", "additive"}
    scale : float
        Bandwidth relative to the family's default.
    learn : bool
        Learn the weights of the columns.
    """

    family: str
    scale: float = 1.0
    learn: bool = False

    @property
    def name(self) -> str:
        if self.family == "interactions":
            width = "" if self.scale == 1 else f", scale {self.scale:g}"
            return f"interactions, {'learnt' if self.learn else 'equal'} weights{width}"
        return self.family if self.family == "additive" else f"{self.family}, scale {self.scale:g}"

    def kernel(self, features: list[Feature]) -> TableKernel:
        """The kernel on the encoded matrix, before its weights are learnt."""
        ranks = [j for j, f in enumerate(features) if f.kind == "rank"]
        scaled = [j for j, f in enumerate(features) if f.kind == "scaled"]
        codes = [j for j, f in enumerate(features) if f.kind == "code"]
        if self.family in ("interactions", "additive"):
            parts: list = [(Laplacian(self.scale), [j]) for j in ranks]
            parts += [(Match(), [j]) for j in codes]
            combine = "interactions" if self.family == "interactions" else "sum"
            weight = 1.4 / len(parts) if combine == "interactions" else 1 / len(parts)
            return TableKernel(parts, combine, [weight] * len(parts))
        parts = []
        # Two standardised columns differ by 2 in squared distance and by about 1.1 in absolute
        # value on average; a mismatch of categories counts like one typical squared difference.
        width = len(scaled) + len(codes)
        if scaled:
            radial = RBF if self.family == "gaussian" else Laplacian
            parts.append((radial(self.scale / width), scaled))
        if codes:
            parts.append((FromDistance(MatchDistance(), self.scale / width), codes))
        return TableKernel(parts, "product")


def candidates(features: list[Feature]) -> list[Candidate]:
    """All candidates for a table, the most promising first.

    Of a single column, all families but the Gaussian and the Laplacian are the same as these; of
    more than 100, a kernel for each column costs too much.
    """
    columns = sum(f.kind != "scaled" for f in features)
    by_column = 1 < columns <= MOST_COLUMNS
    order = [
        (by_column, Candidate("interactions", learn=True)),
        (True, Candidate("gaussian", 1.0)),
        (by_column, Candidate("interactions", 3.0, learn=True)),
        (True, Candidate("laplacian", 1.0)),
        (by_column, Candidate("additive")),
        (True, Candidate("gaussian", 0.3)),
        (True, Candidate("laplacian", 0.3)),
        (True, Candidate("gaussian", 3.0)),
        (by_column, Candidate("interactions")),
        (True, Candidate("laplacian", 3.0)),
        (True, Candidate("gaussian", 10.0)),
        (True, Candidate("gaussian", 0.1)),
    ]
    return [candidate for suits, candidate in order if suits]
