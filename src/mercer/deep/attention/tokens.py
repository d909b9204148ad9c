"""Texts and sequences as numbers of tokens: how they are split, and which tokens are known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from mercer.samples import SamplesLike, as_samples, read

WORDS = re.compile(r"\w+|[^\w\s]")  # words, and marks one by one
UNKNOWN = 0  # code of a token that is not known, and of what fills up a batch
READER = "AttentionClassifier"


def read_tokens(X: SamplesLike, split: str) -> tuple[list[list[Hashable]], str]:
    """The tokens of each sample, and what the samples are: "text", "bytes" or "tokens"."""
    form = as_samples(X, "strings", reader=READER).form
    _, rows = read(X, "strings", reader=READER)
    if form == "text" and split == "words":
        return [WORDS.findall(text.lower()) for text in rows], form
    return [list(row) for row in rows], form


def known_tokens(rows: Sequence[Sequence[Hashable]], min_count: int) -> list[Hashable]:
    """Tokens that stand in the samples at least so often, the most frequent first.

    Examples
    --------
    >>> known_tokens([["to", "be"], ["or", "not", "to", "be"]], 2)
    ['to', 'be']
    """
    counts = Counter(token for row in rows for token in row)
    return [token for token, count in counts.most_common() if count >= min_count]


def token_codes(rows: Sequence[Sequence[Hashable]], known: Sequence[Hashable]) -> list[np.ndarray]:
    """Codes of the tokens of each sample: 1, 2 ... for those that are known.

    Examples
    --------
    >>> [codes.tolist() for codes in token_codes([["be", "it"], []], ["to", "be"])]
    [[2, 0], []]
    """
    code = {token: i for i, token in enumerate(known, start=UNKNOWN + 1)}
    return [np.array([code.get(t, UNKNOWN) for t in row], np.int64) for row in rows]
