"""The walk by a kernel: each row is compared with all that are kept, by blocks of K."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.dedup.walk import Rules, Verdicts
from mercer.gram import GramOperator, Place, gram
from mercer.kernels import Kernel

BLOCK, TILE = 256, 4096  # rows that ask at a time, and kept rows that they are compared with
ROUNDING = 1e-4  # how far k(x, x) may be from 1


def encoded(kernel: Kernel, X: Any, earlier: Any, place: Place) -> list[GramOperator]:
    """The Gram matrix of X, and that with earlier samples where there are any."""
    kernel.validate()
    first = kernel.encode(X if earlier is None else earlier)
    bound = kernel.bind(first)
    samples = first if earlier is None else bound.encode(X, like=first)
    K = gram(bound, samples, place=place)
    apart = float(np.abs(K.diag() - 1).max())
    if apart > ROUNDING:
        raise ValueError(
            f"similarity={kernel!r} has k(x, x) up to {apart:.3g} from 1, so that threshold= means "
            "nothing: give similarity=kernel.normalised()."
        )
    return [K] if earlier is None else [K, gram(bound, samples, first, place=place)]


def decide_by_kernel(
    grams: list[GramOperator], order: np.ndarray, rules: Rules
) -> tuple[Verdicts, np.ndarray]:
    """Decide on the rows, the most preferred first; and whether each partner is an earlier one."""
    K, n = grams[0], len(order)
    partners, similarities = np.full(n, -1), np.zeros(n)
    earlier, kept, compared = np.zeros(n, bool), np.zeros(0, np.int64), 0
    for s in range(0, n, BLOCK):
        rows = order[s : s + BLOCK]
        partner, best = np.full(len(rows), -1), np.full(len(rows), -np.inf)
        sides = [(C, np.arange(C.shape[1])) for C in grams[1:]]
        sides += [(K, kept)] if rules.within else []
        for C, others in sides:
            for t in range(0, len(others), TILE):
                tile = np.asarray(C.block(rows, others[t : t + TILE]), np.float64)
                top = tile.argmax(axis=1)  # the first of equal ones, which is preferred
                value = tile[np.arange(len(rows)), top]
                better = value > best
                best[better], partner[better] = value[better], others[t + top[better]]
                earlier[rows[better]] = C is not K
                compared += tile.size
        new: list[int] = []  # places in the block
        inside = np.asarray(K.block(rows, rows), np.float64) if rules.within else None
        for k, row in enumerate(rows):
            if inside is not None and new:
                top = int(np.argmax(inside[k, new]))
                compared += len(new)
                if inside[k, new[top]] > best[k]:
                    best[k], partner[k] = inside[k, new[top]], rows[new[top]]
                    earlier[row] = False
            if best[k] >= rules.threshold:
                partners[row], similarities[row] = partner[k], best[k]
            else:
                new.append(k)
                earlier[row] = False
        kept = np.concatenate([kept, rows[new]])
    return Verdicts(partners, similarities, compared, 0), earlier
