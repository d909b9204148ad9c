"""Sequences under a model: what each letter adds to a prediction, and what a variant changes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.explain.given_sequences import Change, GivenSequences, same_letters
from mercer.explain.shapley import separated_summands
from mercer.kernels import NotSeparable
from mercer.learners.base import KernelSum
from mercer.samples import SamplesLike, check_count, is_whole


@dataclass(frozen=True)
class LetterValues:
    r"""What each letter of some sequences adds to the output of a model.

    .. math:: v_l = f(x) - \frac{1}{|A| - 1} \sum_{a \ne x_l} f(x_{l \to a})

    This is a value by "substitutions": A is the alphabet, and a takes the place of letter l.
    `letters` has those by "windows".

    Attributes
    ----------
    sequences : list of str
    values : list of ndarray of shape (letters,) or (letters, outputs)
        For each sequence a number for each of its letters.
    base_values : ndarray of shape (n,) or (n, outputs)
        The output less the sum of the values: the constant, and what other columns add.
    output_names : list of str or None
    method : {"windows", "substitutions"}
        How they were found, see `letters`.

    References
    ----------
    Zhou & Troyanskaya, "Predicting effects of noncoding variants with deep learning-based sequence
    model", Nature Methods 12, 2015.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.explain import letters
    >>> from mercer.kernels import Spectrum
    >>> model = SVC(kernel=Spectrum(2)).fit(["GATTACA", "GATTA", "CCGCG", "GGCCG"], [1, 1, 0, 0])
    >>> found = letters(model, ["CCGATT"])
    >>> total = found.base_values + found.values[0].sum()
    >>> bool(np.allclose(total, model.decision_function(["CCGATT"])))
    True
    """

    sequences: list[str]
    values: list[np.ndarray]
    base_values: np.ndarray
    output_names: list[str] | None
    method: str

    def strongest(self, width: int, most: int = 10) -> list[tuple[str, float]]:
        """The pieces of ``width`` letters whose values have the largest sums, of all sequences.

        Of several outputs the sum is that of the first. Pieces of one sequence do not overlap.

        Examples
        --------
        >>> found = LetterValues(["GATTACA"], [np.arange(7.0)], np.zeros(1), None, "windows")
        >>> found.strongest(3)
        [('ACA', 15.0), ('ATT', 6.0)]
        """
        check_count("width", width, optional=False)
        check_count("most", most, optional=False)
        pieces = []
        for text, values in zip(self.sequences, self.values):
            first = values if values.ndim == 1 else values[:, 0]
            sums = np.convolve(first, np.ones(width), "valid") if len(text) >= width else []
            taken = np.zeros(len(text), bool)
            for i in np.argsort(-np.asarray(sums), kind="stable"):
                if not taken[i : i + width].any():
                    taken[i : i + width] = True
                    pieces.append((text[i : i + width], float(sums[i])))
        return sorted(pieces, key=lambda piece: -piece[1])[:most]


@dataclass(frozen=True)
class VariantScores:
    r"""The output of a model before and after each of some changes of sequences.

    .. math:: \Delta = f(x^\prime) - f(x)

    x′ is the sequence x after the change; all arrays have the shape (v,) or (v, outputs).

    Attributes
    ----------
    rows, places : ndarray of shape (v,)
        The row of the sequence, and where the change begins; both count from 0.
    references, alternatives : list of str
        The letters that are replaced, and those in place of them.
    before, after : ndarray of shape (v,) or (v, outputs)
    output_names : list of str or None

    References
    ----------
    Lee et al., "A method to predict the impact of regulatory variants from DNA sequence", Nature
    Genetics 47, 2015.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.explain import variants
    >>> from mercer.kernels import Spectrum
    >>> model = SVC(kernel=Spectrum(2)).fit(["GATTACA", "GATTA", "CCGCG", "GGCCG"], [1, 1, 0, 0])
    >>> scores = variants(model, ["CCGATT"], [(0, 4, "T", "C")])
    >>> bool(scores.changes[0] < 0), scores.references
    (True, ['T'])
    """

    rows: np.ndarray
    places: np.ndarray
    references: list[str]
    alternatives: list[str]
    before: np.ndarray
    after: np.ndarray
    output_names: list[str] | None

    @property
    def changes(self) -> np.ndarray:
        """after - before."""
        return self.after - self.before


def letters(
    model: Any,
    X: SamplesLike,
    *,
    column: Hashable = None,
    alphabet: str | None = None,
    of: object = None,
) -> LetterValues:
    r"""What each letter of each sequence adds to the output of a model.

    .. math:: f(x) = b + \sum_i c_i \sum_u \mathrm{count}_u(x)\, \mathrm{count}_u(x_i)
              = b + \sum_l v_l

    The value :math:`v_l` of letter l is that of the method "windows".

    A kernel machine whose kernels count substrings u is this sum over windows: each u of a window
    is divided equally among the letters that are compared. These values sum to f(x) - b. They are
    those of gkmexplain for gapped k-mers. Such kernels are `Spectrum`, `Mismatch`, `GappedKmer` and
    `WeightedDegree`, also normalised, and sums of them.

    Of all other models a value is the output less its mean over all other letters in this place
    (method "substitutions"). These values do not sum to the output.

    Parameters
    ----------
    model : fitted estimator
        Any that reads sequences: a list of them, or a table with a column of them.
    X : sequences or table, n rows
        Texts; or a data frame, of which the model may read other columns too.
    column : str, optional
        The column of sequences of a table. None finds it, if there is only one.
    alphabet : str, optional
        The letters that replace others. None: those of DNA, RNA or proteins, as the training
        sequences are. Of a model that does not tell them, as the sequences of X are.
    of : label, optional
        The class whose output is explained alone.

    Returns
    -------
    LetterValues
        Of classes the output is the decision value or the log-odds: of two classes that of the
        second one, of more one for each class. Of regressions it is the prediction.

    Raises
    ------
    ValueError
        A row is no sequence, or a table has no column of sequences or several.

    See Also
    --------
    variants : What changes if letters are replaced.
    mercer.plots.SequenceDisplay : A picture of both.

    Notes
    -----
    By windows, all symbols of the support sequences are read once for each pattern, and each new
    letter once. By substitutions the model predicts as many sequences as there are letters, times
    those of the alphabet.

    References
    ----------
    Shrikumar, Prakash & Kundaje, "GkmExplain: fast and accurate interpretation of nonlinear gapped
    k-mer SVMs", Bioinformatics 35, 2019.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Spectrum
    >>> X = ["GATTACA", "CGATTAG", "CCGCGCC", "GGCCAGG"]
    >>> model = SVC(kernel=Spectrum(3)).fit(X, [1, 1, 0, 0])
    >>> found = letters(model, ["CCGATTCC"])
    >>> found.method, found.values[0].round(2)
    ('windows', array([-0.04,  0.01,  0.1 ,  0.23,  0.18,  0.09,  0.  ,  0.  ]))
    """
    given = GivenSequences.read(model, X, column, of)
    outputs = given.outputs()
    try:
        values, method = _by_windows(given), "windows"
    except NotSeparable:
        values, method = _by_substitutions(given, outputs, alphabet), "substitutions"
    sums = np.array([each.sum(axis=0) for each in values]).reshape(outputs.shape)
    found, names = [given.named(each) for each in values], given.output_names
    return LetterValues(given.texts, found, given.named(outputs - sums), names, method)


def variants(
    model: Any,
    X: SamplesLike,
    changes: Iterable[tuple[int, int, str, str]] | None = None,
    *,
    column: Hashable = None,
    alphabet: str | None = None,
    of: object = None,
) -> VariantScores:
    r"""The output of a model before and after letters of sequences are replaced.

    .. math:: \Delta = f(x^\prime) - f(x)

    x′ is the sequence x after a change; of v changes the result has arrays of the shape (v,) or
    (v, outputs).

    Parameters
    ----------
    model, X, column, alphabet, of
        Those of `letters`.
    changes : list of (row, place, reference, alternative), optional
        The row of X and the place in its sequence count from 0. The reference is what stands there,
        "" where letters are inserted; the alternative comes in its place, "" where letters are
        deleted. None means all other letters of the alphabet for each letter.

    Returns
    -------
    VariantScores

    Raises
    ------
    ValueError
        A change has a row, a place or a reference that X does not have.

    Notes
    -----
    The model predicts each changed sequence: a normalised kernel divides by the norm of the changed
    one. (deltaSVM, Lee et al. 2015, sums the weights of its windows, without a norm.)

    References
    ----------
    Lee et al., "A method to predict the impact of regulatory variants from DNA sequence", Nature
    Genetics 47, 2015.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Spectrum
    >>> X = ["GATTACA", "CGATTAG", "CCGCGCC", "GGCCAGG"]
    >>> model = SVC(kernel=Spectrum(3)).fit(X, [1, 1, 0, 0])
    >>> variants(model, ["CCGATTCC"], [(0, 4, "T", "C"), (0, 7, "C", "")]).changes.round(2)
    array([-0.54,  0.  ])
    """
    given = GivenSequences.read(model, X, column, of)
    if changes is None:
        found = list(_all_changes(given.texts, given.alphabet(alphabet)))
    else:
        found = [_checked(given.texts, i, change) for i, change in enumerate(changes)]
    rows = np.array([row for row, *_ in found], int)
    before, after = given.outputs()[rows], given.of_made(found)
    places = np.array([place for _, place, _, _ in found], int)
    olds, news = [old for *_, old, _ in found], [new for *_, new in found]
    before, after = given.named(before), given.named(after)
    return VariantScores(rows, places, olds, news, before, after, given.output_names)


# --- values ---------------------------------------------------------------------------------------


def _by_windows(given: GivenSequences) -> list[np.ndarray]:
    """Values of a sum over windows; raises `NotSeparable` if the model is no such sum."""
    if given.model.link is not None:
        raise NotSeparable("the output is a function of a sum.")
    encoded, outputs = given.encoded(), len(given.output_names or [""])
    values = [np.zeros((len(text), outputs)) for text in given.texts]
    for f, kernel, weight in _window_kernels(given):
        coef = f.coef if given.weights is None else f.coef @ given.weights
        parts = kernel.symbol_parts(f.encode(encoded), f.stored, coef)
        for own, part in zip(values, parts):
            length = min(len(own), len(part))  # one that is compared may be cut or filled
            own[:length] += weight * part[:length]
    return values


def _window_kernels(given: GivenSequences) -> list[tuple[KernelSum, Any, float]]:
    """The kernels that read the sequences, with the sum and the weight of each."""
    summands, columns = given.model.summands, given.model.columns
    sums = [f for f in summands if isinstance(f, KernelSum)]
    if len(sums) < len(summands):
        raise NotSeparable("the model is no sum of kernels.")
    if given.column is None:
        return [(f, f.kernel, 1.0) for f in sums]
    flat = [c for own in columns.values() for c in own]
    separated, rest = separated_summands(summands, columns, [[c] for c in flat])
    own = {i for i, c in enumerate(flat) if c in columns[given.column]}
    found = []
    for f in separated:
        for weight, factors in f.terms:
            if own & factors.keys():
                kernels = [kernel for each in factors.values() for kernel in each]
                if len(kernels) > 1:
                    rest = [*rest, f.sum]
                found.append((f.sum, kernels[0], weight))
    if rest:
        raise NotSeparable("other columns act on what the sequences add.")
    return found


def _by_substitutions(
    given: GivenSequences, outputs: np.ndarray, alphabet: str | None
) -> list[np.ndarray]:
    """The output less its mean over all other letters, place by place."""
    found = list(_all_changes(given.texts, given.alphabet(alphabet), every=True))
    rows = np.array([row for row, *_ in found], int)
    after = given.of_made(found)
    lengths = np.array([len(text) for text in given.texts], int)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    letter = starts[rows] + np.array([place for _, place, _, _ in found], int)
    sums = np.zeros((starts[-1], outputs.shape[1]))
    np.add.at(sums, letter, after)
    counts = np.bincount(letter, minlength=starts[-1])[:, None]
    values = np.repeat(outputs, lengths, axis=0) - sums / np.maximum(counts, 1)
    return np.split(np.where(counts > 0, values, 0.0), starts[1:-1]) if len(lengths) else []


# --- changes --------------------------------------------------------------------------------------


def _all_changes(texts: Sequence[str], alphabet: str, every: bool = False) -> Iterable[Change]:
    """All other letters of the alphabet for each letter that is of it, or for ``every`` letter."""
    for row, text in enumerate(texts):
        for place, old in enumerate(text):
            known = alphabet.lower() if old.islower() and old not in alphabet else alphabet
            if old in known or every:
                yield from ((row, place, old, new) for new in known if new != old)


def _checked(texts: Sequence[str], i: int, change: tuple) -> Change:
    """A change that a user gave."""
    try:
        row, place, old, new = change
    except (TypeError, ValueError):
        raise ValueError(
            f"changes[{i}] is {str(change)[:60]}: give (row, place, reference, alternative)."
        ) from None
    if not (is_whole(row) and 0 <= row < len(texts)):
        raise ValueError(f"changes[{i}]: row {row!r}, but X has {len(texts)} rows, from 0.")
    text = texts[row]
    if not (isinstance(old, str) and isinstance(new, str)):
        raise ValueError(f"changes[{i}]: reference and alternative must be texts.")
    if not (is_whole(place) and 0 <= place <= len(text) - len(old)):
        raise ValueError(
            f"changes[{i}]: place {place!r}, but the sequence in row {row} has {len(text)} letters."
        )
    here = text[place : place + len(old)]
    if not same_letters(here, old):
        raise ValueError(
            f"changes[{i}]: the reference is {old!r}, but {here!r} stands at place {place} of row "
            f"{row} (places count from 0)."
        )
    return int(row), int(place), here, new
