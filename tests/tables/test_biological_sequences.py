"""DNA and proteins are told from everything else: none of some hundred other columns is one."""

import base64
import html.entities
import string
import sys
import unicodedata
import uuid
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from mercer import KernelRegressor
from mercer.tables import infer_columns, read_columns
from mercer.tables.column_kinds.objects import AMINO_ACIDS, _are_proteins

AMINO = "".join(AMINO_ACIDS)
SHARES = np.array(list(AMINO_ACIDS.values())) / sum(AMINO_ACIDS.values())
ROWS = 60


def drawn(rng, letters, low, high, p=None):
    lengths = rng.integers(low, high + 1, ROWS)
    return ["".join(rng.choice(list(letters), n, p=p)) for n in lengths]


def words():
    """Words that come with Python, in small letters."""
    names = [unicodedata.name(chr(c), "") for c in range(0x20, 0x2C00)]
    return sorted({word.lower() for name in names for word in name.split() if word.isalpha()})


WORDS = words()


def others(seed):
    """Columns that are no biological sequences."""
    rng = np.random.default_rng(seed)

    def of_words(n, joint, case=str):
        return [case(joint.join(rng.choice(WORDS, n))) for _ in range(ROWS)]

    upper, lower, digits = string.ascii_uppercase, string.ascii_lowercase, string.digits
    hexes = "0123456789abcdef"
    return {
        "names": of_words(2, " ", str.title), "sentences": of_words(8, " "),
        "sentences in capitals": of_words(8, " ", str.upper), "slugs": of_words(4, "-"),
        "words": of_words(1, ""), "WORDS": of_words(1, "", str.upper),
        "joined words": of_words(3, "", str.upper), "camel": of_words(3, "", str.title),
        "paths": ["/" + path for path in of_words(4, "/")],
        "mail": [f"{a}@{b}.org" for a, b in zip(of_words(1, ""), of_words(1, ""))],
        "urls": [f"https://{a}.com/{b}" for a, b in zip(of_words(1, ""), of_words(2, "_"))],
        "hex": drawn(rng, hexes, 16, 32), "HEX": drawn(rng, hexes.upper(), 16, 40),
        "uuid": [str(uuid.UUID(bytes=rng.bytes(16))) for _ in range(ROWS)],
        "base64": [base64.b64encode(rng.bytes(24)).decode() for _ in range(ROWS)],
        "base32": [base64.b32encode(rng.bytes(9)).decode().strip("=") for _ in range(ROWS)],
        "plates": [f"{a}{b}{a}" for a, b in zip(drawn(rng, upper, 2, 2), drawn(rng, digits, 3, 4))],
        "IATA": drawn(rng, upper, 3, 3), "ISO": drawn(rng, upper, 2, 2),
        "tickers": drawn(rng, upper, 3, 5), "letters": drawn(rng, upper, 20, 24),
        "codes": [f"{a}-{b}" for a, b in zip(drawn(rng, upper, 3, 3), drawn(rng, digits, 5, 5))],
        "digits": drawn(rng, digits, 8, 40),
        "phones": ["+" + d for d in drawn(rng, digits, 11, 12)],
        "passwords": drawn(rng, upper + lower + digits + "!?", 12, 20),
        "formulas": [f"C{a}H{b}O{c}N" for a, b, c in rng.integers(1, 40, (ROWS, 3))],
        "SMILES": ["C" * a + "(=O)N" + "c1ccccc1" * b for a, b in rng.integers(1, 6, (ROWS, 2))],
        "dates": [f"2024-{a:02d}-{b:02d}" for a, b in rng.integers(1, 12, (ROWS, 2))],
        "JSON": [f'{{"a": {a}}}' for a in rng.integers(0, 999, ROWS)],
        "small proteins": [s.lower() for s in drawn(rng, AMINO, 20, 24, SHARES)],
    }  # fmt: skip


REAL = {
    "modules": sorted(sys.stdlib_module_names), "entities": sorted(html.entities.entitydefs),
    "characters": [unicodedata.name(chr(c)) for c in range(0x41, 0x7A) if chr(c).isalpha()],
    "CHARACTERS": [unicodedata.name(chr(c)).replace(" ", "") for c in range(0x391, 0x3A2)],
    "errors": [n for n in dir(__builtins__) if n.endswith("Error")] or ["OSError", "ValueError"],
    "words": WORDS, "WORDS": [word.upper() for word in WORDS],
    "long words": [word.upper() for word in WORDS if len(word) > 12],
}  # fmt: skip


def kind_of(texts):
    (column,) = infer_columns(read_columns(pd.DataFrame({"x": texts})))
    return column.kind


def test_no_other_column_is_taken_for_one():
    columns = [
        (f"{name} {seed}", texts) for seed in range(11) for name, texts in others(seed).items()
    ]
    columns += REAL.items()
    assert len(columns) >= 300
    wrong = [name for name, texts in columns if kind_of(texts) == "sequence"]
    assert wrong == []
    read = [(name, [*map(str, texts)]) for name, texts in columns]
    assert not [name for name, t in read if _are_proteins(t, Counter("".join(t)))]


@pytest.mark.parametrize("seed", range(12))
def test_true_ones_are_recognised(seed):
    rng = np.random.default_rng(seed)
    proteins = drawn(rng, AMINO, 20, 26, SHARES)
    assert kind_of(proteins) == "sequence"
    assert not len("".join(proteins)) / ROWS >= 1.5 * 17.5 + 2, "the rule of lengths would do"
    marked = [text[:-1] + rng.choice(list("XBZ*U-")) if i % 7 == 0 else text
              for i, text in enumerate(drawn(rng, AMINO, 30, 60, SHARES))]  # fmt: skip
    assert kind_of(marked) == "sequence"
    for letters in ("ACGT", "ACGU", "acgt"):
        assert kind_of(drawn(rng, letters, 9, 20)) == "sequence"
    masked = [s[:9].lower() + "N" * 2 + s[9:] for s in drawn(rng, "ACGT", 20, 40)]
    assert kind_of(masked) == "sequence"
    first = np.array(list(proteins[0] * 4))
    mutants = [np.where(rng.random(len(first)) < 0.05, rng.permutation(first), first)
               for _ in range(ROWS)]  # fmt: skip
    mutants = ["".join(row) for row in mutants]
    assert kind_of(mutants) == "sequence"


def test_a_column_of_short_proteins_is_learnt_from():
    rng = np.random.default_rng(0)
    texts = drawn(rng, AMINO, 21, 21, SHARES)
    y = [text.count("K") + text.count("R") for text in texts]
    model = KernelRegressor(trials=4, random_state=0).fit(pd.DataFrame({"peptide": texts}), y)
    assert model.columns_[0].kind == "sequence"
