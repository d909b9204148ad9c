"""`deduplicate`: documents, or rows of a table, without those that are nearly equal to another.

`Duplicates` is its result: the documents kept, and the one kept for each removed one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.dedup.corpus_index import CorpusIndex
from mercer.dedup.signing import (
    Bands,
    Shingles,
    Signer,
    Words,
    as_texts,
    check_threshold,
    choose_bands,
)
from mercer.dedup.walk import Rules, Verdicts, decide
from mercer.estimator import Seed
from mercer.gram import GramOperator, Place, gram
from mercer.kernels import Kernel
from mercer.samples import SamplesLike, check_count


@dataclass(frozen=True, eq=False)
class Duplicates:
    r"""Near-duplicates among n documents, and the documents that were kept.

    .. math:: J(d_i, d_{p(i)}) \ge t \text{ where } p(i) \ne i

    p(i) is the partner of document i, and t is the threshold.

    Attributes
    ----------
    partners : ndarray of shape (n,), int64
        For a document that is removed, the number of the one that stays instead: one of the same
        documents, or one of ``against`` where ``earlier`` is true. For a document that is kept, its
        own number.
    similarities : ndarray of shape (n,)
        How similar each document is to its partner: the threshold or more; 1 where it is kept.
    earlier : ndarray of shape (n,), bool
        Whether the partner is one of ``against``.
    empty : ndarray of shape (k,), int
        The documents without a single shingle, which are all kept.
    threshold : float
        The least similarity of a document that is removed.
    bands : Bands or None
        The hash functions that found candidates; None if all pairs were compared.
    compared : int
        Pairs whose similarity was computed.
    full_buckets : int
        Buckets in which more documents are kept than ``most_kept``. Pairs may have been missed
        there; with 0 none were missed for this reason.

    References
    ----------
    Broder, "On the resemblance and containment of documents", SEQUENCES 1997.

    Examples
    --------
    >>> found = deduplicate(["a cat sat on a mat", "a dog ran home", "a cat sat on a mat"])
    >>> found.partners, found.kept
    (array([0, 1, 0]), array([0, 1]))
    """

    partners: np.ndarray
    similarities: np.ndarray
    earlier: np.ndarray
    empty: np.ndarray
    threshold: float
    bands: Bands | None
    compared: int
    full_buckets: int

    @property
    def kept(self) -> np.ndarray:
        """The numbers of the documents that are kept, ascending."""
        return np.flatnonzero(self._stays)

    @property
    def removed(self) -> np.ndarray:
        """The numbers of the documents that are removed, ascending."""
        return np.flatnonzero(~self._stays)

    @property
    def clusters(self) -> np.ndarray:
        """The cluster of each document, (n,): a kept document and those removed for it.

        The clusters of documents that are kept are numbered from 0, in their order; after them come
        those of documents of ``against``.
        """
        n = len(self.partners)
        return np.unique(self.partners + n * self.earlier, return_inverse=True)[1]

    @property
    def pairs(self) -> np.ndarray:
        """One record for each removed document: removed, kept, earlier, similarity."""
        rows = self.removed
        columns = [rows, self.partners[rows], self.earlier[rows], self.similarities[rows]]
        kinds = [("removed", "i8"), ("kept", "i8"), ("earlier", "?"), ("similarity", "f8")]
        records = np.empty(len(rows), kinds)
        for (name, _), column in zip(kinds, columns):
            records[name] = column
        return records

    @property
    def _stays(self) -> np.ndarray:
        return (self.partners == np.arange(len(self.partners))) & ~self.earlier

    def __repr__(self) -> str:
        n, kept = len(self.partners), int(self._stays.sum())
        said = f"{kept:,} of {n:,} documents kept, threshold {self.threshold:g}"
        if len(self.empty):
            said += f", {len(self.empty):,} empty"
        if self.full_buckets:
            said += f", {self.full_buckets:,} full buckets"
        return f"<Duplicates: {said}>"


# The walk by a kernel: each row is compared with all that are kept, by blocks of K.


BLOCK, TILE = 256, 4096  # rows that ask at a time, and kept rows that they are compared with
ROUNDING = 1e-4  # how far k(x, x) may be from 1


def encoded(kernel: Kernel, X: SamplesLike, earlier: Any, place: Place) -> list[GramOperator]:
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


def deduplicate(
    docs: Any,
    *,
    threshold: float = 0.8,
    keep: Any = "first",
    shingles: Shingles | None = None,
    against: CorpusIndex | None = None,
    within: bool = True,
    similarity: Kernel | None = None,
    recall: float = 0.99,
    most_kept: int = 100,
    random_state: Seed = 0,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
) -> Duplicates:
    r"""Find near-duplicates, and say for each removed document which one is kept instead.

    Documents are walked through from the most preferred one. Each is compared with those that are
    kept so far and share a bucket with it; it is removed if its similarity to one of them is the
    threshold or more, and its partner is the most similar one. So **every removal was verified**
    against a document that stays, and clusters are stars: where A is like B and B like C, but A is
    not like C, then A and C are both kept, or B alone is, but C never goes for a B that is gone.

    Parameters
    ----------
    docs : list or column of str, or samples
        The documents; with ``similarity`` samples of any kind, such as a table.
    threshold : float, 0 < threshold <= 1, default=0.8
        The least similarity of a document that is removed: Jaccard's index of the sets of shingles.
    keep : {"first", "longest"} or array-like of shape (n,), default="first"
        Which of several near-duplicates is preferred: the first one, the one with the most
        characters, or the one with the largest number, such as a date or a score. Of those with
        equal numbers, a hash of the text decides, so that the answer does not depend on the order
        of the documents unless keep="first" says so.
    shingles : Words, Characters or Fragments, optional
        What documents are sets of. Default: runs of 3 words.
    against : list or column of str, samples, or CorpusIndex, optional
        An earlier corpus. Its documents are never removed, and new ones go for them. An index has
        shingles, recall and seed of its own, and what is like one of its documents goes for the
        most similar of them.
    within : bool, default=True
        Whether new documents are compared with each other, too. False needs ``against``.
    similarity : Kernel, optional
        A kernel with k(x, x) = 1, which is compared with the threshold in place of Jaccard's index
        of shingles. All pairs with a kept sample are computed.
    recall : float, 0 < recall < 1, default=0.99
        The probability that a pair just at the threshold is compared; for more similar pairs it is
        larger. It has no meaning with ``similarity``.
    most_kept : int >= 1, default=100
        The most documents that are kept and compared within one bucket. It bounds the time where
        very many documents share a form, but are not similar enough to be removed.
    random_state : int, RandomState or None, default=0
        Seed for the hash functions.
    memory : int, float or str, optional
        Memory limit of the Gram matrix, only with ``similarity``.
    n_jobs : int, optional
        Threads that read documents.

    Returns
    -------
    Duplicates
        ``kept`` and ``removed`` documents, their ``partners`` and ``similarities``, ``clusters``
        and ``pairs``.

    Raises
    ------
    TypeError
        If a document is not a text, and no ``similarity`` is given.

    See Also
    --------
    mercer.LSHIndex : Neighbours by the same kind of hash functions.
    mercer.dedup.CorpusIndex : An index of earlier documents on disk.

    Notes
    -----
    Each document has a key in b bands of r min-wise hashes each; b and r are the cheapest that
    reach the recall. Documents that share a key are candidates: pairs of similarity J are, with the
    probability :math:`1 - (1 - J^r)^b`. Equal documents are found by their digests of 128 bits. The
    time is linear in the number of documents, also where all are equal or share a form. Documents
    without any shingle are kept.

    References
    ----------
    Broder, "On the resemblance and containment of documents", SEQUENCES 1997.

    Examples
    --------
    >>> docs = ["the cat sat on the mat in the sun and slept",
    ...         "a recipe for bread: flour, water, salt and time",
    ...         "the cat sat on the mat in the sun and slept well"]
    >>> found = deduplicate(docs)
    >>> found.kept, found.removed, found.partners
    (array([0, 1]), array([2]), array([0, 1, 0]))
    >>> found.similarities.round(2)
    array([1. , 1. , 0.9])
    >>> deduplicate(docs, keep="longest").kept
    array([1, 2])

    Rows of a table by a kernel, here edit distances between names:

    >>> from mercer.distances import Edit
    >>> from mercer.kernels import FromDistance
    >>> names = ["Anna Schmidt", "Anna Schmitt", "Bert Brecht"]
    >>> likeness = FromDistance(Edit(), gamma=0.05)
    >>> deduplicate(names, similarity=likeness, threshold=0.8).kept
    array([0, 2])
    """
    _check(threshold, recall, most_kept, within, against)
    rules = Rules(float(threshold), int(most_kept), bool(within))
    if similarity is not None:
        if isinstance(against, CorpusIndex):
            raise TypeError(
                "against= is an index of texts, which similarity= cannot compare: give the "
                "earlier samples."
            )
        return _by_kernel(docs, against, keep, similarity, rules, Place(memory, n_jobs))
    texts = as_texts("docs", docs)
    if isinstance(against, CorpusIndex):
        return _by_index(texts, against, keep, shingles, rules, n_jobs)
    earlier = [] if against is None else as_texts("against", against)
    bands = choose_bands(threshold, recall)
    seed = int(check_random_state(random_state).randint(2**31))
    chosen, fixed = shingles or Words(), len(earlier)
    if not isinstance(chosen, Shingles):
        raise TypeError(f"shingles={chosen!r}: give Words(3) or Characters(5), of mercer.dedup.")
    both = earlier + texts
    signs = Signer(chosen, bands, seed).sign(both, n_jobs)
    values = _values(keep, len(texts), signs.lengths[fixed:])
    verdicts = decide(
        signs, fixed, values, rules, lambda rows: chosen.sets([both[i] for i in rows.tolist()])
    )
    partners, stays = verdicts.partners[fixed:], verdicts.partners[fixed:] < 0
    old = ~stays & (partners < fixed)
    return Duplicates(
        np.where(stays, np.arange(len(texts)), np.where(old, partners, partners - fixed)),
        np.where(stays, 1.0, verdicts.similarities[fixed:]), old,
        np.flatnonzero(signs.counts[fixed:] == 0), rules.threshold, bands, verdicts.compared,
        verdicts.full,
    )  # fmt: skip


def _by_index(
    texts: list[str], index: CorpusIndex, keep: Any, shingles: Shingles | None, rules: Rules,
    n_jobs: int | None,
) -> Duplicates:  # fmt: skip
    """Duplicates of the rows of an index, and then of each other."""
    if shingles is not None and shingles != index.shingles:
        raise ValueError(f"shingles={shingles!r}: the index was made with {index.shingles!r}.")
    threshold, n = index.check_threshold(rules.threshold), len(texts)
    signs = index.signer.sign(texts, n_jobs)
    values = _values(keep, n, signs.lengths)

    def sets(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return index.shingles.sets([texts[i] for i in rows.tolist()])

    found = index.found(signs, texts, threshold, rules.most_kept)
    partners, similarities = found.nearest(n)
    old = partners >= 0
    compared, full = found.compared, found.full
    if rules.within:
        rest = decide(signs, 0, values, rules, sets, ~old)
        partners = np.where(old, partners, rest.partners)
        similarities = np.where(old, similarities, rest.similarities)
        compared, full = compared + rest.compared, full + rest.full
    stays = partners < 0
    return Duplicates(
        np.where(stays, np.arange(n), partners), np.where(stays, 1.0, similarities), old,
        np.flatnonzero(signs.counts == 0), rules.threshold, index.bands, compared, full,
    )  # fmt: skip


def _by_kernel(
    X: SamplesLike, against: Any, keep: Any, kernel: Kernel, rules: Rules, place: Place
) -> Duplicates:
    """Duplicates by the values of a kernel of all pairs."""
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"similarity={kernel!r}: give a kernel, such as mercer.kernels.RBF().on('price') or "
            "FromDistance(Edit())."
        )
    grams = encoded(kernel, X, against, place)
    n = grams[0].shape[0]
    values = _values(keep, n, None)
    order = np.arange(n) if values is None else np.argsort(-values, kind="stable")
    verdicts, earlier = decide_by_kernel(grams, order, rules)
    stays = verdicts.partners < 0
    return Duplicates(
        np.where(stays, np.arange(n), verdicts.partners),
        np.where(stays, 1.0, verdicts.similarities), earlier, np.zeros(0, np.int64),
        rules.threshold, None, verdicts.compared, 0,
    )  # fmt: skip


def _check(
    threshold: float, recall: float, most_kept: int, within: Any, against: CorpusIndex | None
) -> None:
    """Refuse parameters out of their ranges."""
    check_threshold(threshold, recall)
    check_count("most_kept", most_kept, optional=False)
    if not within and against is None:
        raise ValueError("within=False compares nothing without against=: give earlier documents.")


def _values(keep: Any, n: int, lengths: np.ndarray | None) -> np.ndarray | None:
    """A number for each document, the largest of which is preferred; None prefers the first."""
    if isinstance(keep, str):
        if keep == "first":
            return None
        if keep == "longest" and lengths is not None:
            return lengths
        said = "'first', or" if lengths is None else "'first', 'longest', or"
        raise ValueError(f"keep={keep!r}: give {said} one number for each document.")
    values = np.asarray(keep)
    if values.shape != (n,) or values.dtype.kind not in "biufmM":
        raise ValueError(
            f"keep has shape {values.shape} and dtype {values.dtype}: give one number for each of "
            f"the {n} documents."
        )
    values = values.astype("i8" if values.dtype.kind in "mM" else values.dtype)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"keep[{int(np.argmin(np.isfinite(values)))}] is not finite.")
    # ranks, which can be negated whatever the numbers are
    return np.unique(values, return_inverse=True)[1]
