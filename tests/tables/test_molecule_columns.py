"""Columns of molecules: which texts are taken for SMILES, and which are not; faults, copies and
scaffolds."""

# ruff: noqa: SIM905 - long lists of words are read more easily without quotes
import random
import string

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor
from mercer.samples.molecules import has_grammar, look_like_molecules
from mercer.selection.automatic.trials.rungs import Rungs
from mercer.tables import Related, TableEncoder, infer_columns, read_columns

MOLECULES = r"""CCO CC(=O)O c1ccccc1 CC(C)O CCN CC(=O)N CCOC(=O)C Cc1ccccc1 CC#N C1CCCCC1 CCCl CCBr
    OCC(O)CO CC(C)(C)O c1ccncc1 CC(=O)Oc1ccccc1C(=O)O CN1C=NC2=C1C(=O)N(C(=O)N2C)C O=C(O)c1ccccc1
    CC(N)C(=O)O C[C@H](N)C(=O)O C[C@@H](O)C(=O)O CC(=O)[O-].[Na+] N#Cc1ccccc1 FC(F)(F)c1ccccc1
    Clc1ccc(Cl)cc1 OC1CCCCC1 CSC CS(=O)C C/C=C/C C/C=C\C [O-][N+](=O)c1ccccc1 CCCCCCCC""".split()


def letters(r, n, some=string.ascii_uppercase):
    return "".join(r.choice(some) for _ in range(n))


def digits(r, n):
    return letters(r, n, string.digits)


ELEMENTS = "C N O S P F I B Cl Br H Na K Li Fe Cu Zn".split()
NUCLEOTIDES, AMINO = "ACGT", "ACDEFGHIKLMNPQRSTVWY"
SYLLABLES = "co no bo so in on os ic op cus nic bis con fic pon son cop sin".split()
WORDS = """coin bison bonbon cocoon onion icon scion union person poison prison season lesson
    crosscut nick sick pick cocos pop boss cross osso sins bins pins coins icons cop
    scoff boson""".split()

#: what a column may hold that looks a little like SMILES
MAKERS = {
    "words": lambda r: r.choice(WORDS),
    "upper case words": lambda r: r.choice(WORDS).upper(),
    "syllables": lambda r: "".join(r.choices(SYLLABLES, k=r.randint(1, 4))),
    "capital syllables": lambda r: "".join(r.choices(SYLLABLES, k=r.randint(1, 4))).upper(),
    "airports": lambda r: letters(r, 3),
    "airports of SMILES letters": lambda r: letters(r, 3, "BCNOPSFI"),
    "countries": lambda r: letters(r, 2, "BCNOPSFI"),
    "tickers": lambda r: letters(r, r.randint(1, 4), "BCNOPSFI"),
    "diagnoses": lambda r: f"{r.choice('CNFISPB')}{digits(r, 2)}.{digits(r, 1)}",
    "cells of a sheet": lambda r: f"{r.choice('BCNOPSFI')}{r.randint(1, 99)}",
    "equal digits": lambda r: f"{r.choice('BCNOPSFI')}{r.choice(['11', '22', '33', '44'])}",
    "parts": lambda r: f"{letters(r, 2)}-{digits(r, 4)}",
    "parts of SMILES letters": lambda r: f"{letters(r, 2, 'CNO')}-{letters(r, 2, 'CNO')}",
    "products": lambda r: f"{letters(r, 3, 'CNOSP')}{digits(r, 3)}{letters(r, 1, 'CNOSP')}",
    "products in brackets": lambda r: f"{letters(r, 3, 'CNOSP')}({digits(r, 2)})",
    "numbers": lambda r: digits(r, 6),
    "formulas": lambda r: f"C{r.randint(2, 20)}H{r.randint(2, 40)}O{r.randint(2, 9)}",
    "CAS": lambda r: f"{digits(r, 5)}-{digits(r, 2)}-{digits(r, 1)}",
    "elements": lambda r: r.choice(ELEMENTS),
    "pairs of elements": lambda r: r.choice(ELEMENTS) + r.choice(ELEMENTS),
    "DNA": lambda r: letters(r, r.randint(8, 40), NUCLEOTIDES),
    "proteins": lambda r: letters(r, r.randint(8, 60), AMINO),
    "British postcodes": lambda r: f"{letters(r, 2)}{digits(r, 1)} {digits(r, 1)}{letters(r, 2)}",
    "Canadian postcodes": lambda r: f"N{digits(r, 1)}C {digits(r, 1)}B{digits(r, 1)}",
    "plates": lambda r: f"{letters(r, 1, 'BCFNO')}-{letters(r, 2, 'BCFNO')} {digits(r, 3)}",
    "blood groups": lambda r: r.choice("A B AB O".split()) + r.choice("+-"),
    "grades": lambda r: r.choice("B C F".split()) + r.choice(["", "+", "-"]),
    "chords": lambda r: r.choice("C F B".split()) + r.choice(["", "7", "maj7", "m", "sus4"]),
    "chess": lambda r: r.choice("NBK") + r.choice("abcdefgh") + digits(r, 1),
    "hexadecimal": lambda r: letters(r, 12, "0123456789abcdef"),
    "colours": lambda r: "#" + letters(r, 6, "0123456789ABCDEF"),
    "identifiers": lambda r: f"{letters(r, 8, string.ascii_letters + string.digits)}",
    "UUID": lambda r: "-".join(letters(r, n, "0123456789abcdef") for n in (8, 4, 4, 4, 12)),
    "paths": lambda r: "/" + "/".join(r.choices(WORDS, k=3)),
    "relative paths": lambda r: "/".join(r.choices("C N O".split(), k=3)) + ".c",
    "versions": lambda r: f"{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}",
    "mails": lambda r: f"{r.choice(WORDS)}@{r.choice(WORDS)}.no",
    "names": lambda r: f"{r.choice(WORDS).title()}, {r.choice(WORDS).title()}",
    "sentences": lambda r: " ".join(r.choices(WORDS, k=r.randint(4, 12))),
    "items": lambda r: ",".join(r.choices(WORDS, k=r.randint(1, 4))),
    "JSON": lambda r: f'["{r.choice(WORDS)}", {r.randint(0, 9)}]',
    "sums": lambda r: f"{r.randint(1, 9)}+{r.randint(1, 9)}={r.randint(1, 9)}",
    "trees": lambda r: f"({r.choice(WORDS)} ({r.choice(WORDS)}))",
    "roman": lambda r: r.choice("I II III IV V VI VII VIII IX X XI C CI CC CCI".split()),
    "InChIKeys": lambda r: f"{letters(r, 14)}-{letters(r, 10)}-N",
    "names of substances": lambda r: r.choice("""2-propanol 1,2-dichlorobenzene ethanol
        (R)-limonene benzene 4-nitrophenol N-ethylaniline caffeine""".split()),
    "gaps": lambda r: r.choice(["", "C", "NO", "no", "n", "c", "-", "."]),
}  # fmt: skip
COLUMNS = [(name, seed) for name in MAKERS for seed in range(8)]


def test_columns_of_codes_and_words_are_no_molecules():
    """376 columns of 120 cells, with no false alarm, by their grammar alone and as columns."""
    assert len(COLUMNS) >= 300
    taken = []
    for name, seed in COLUMNS:
        r = random.Random(seed)
        cells = [MAKERS[name](r) for _ in range(120)]
        if name != "equal digits" and look_like_molecules(dict.fromkeys(cells)):
            taken.append((name, seed))
        (column,) = infer_columns({"x": np.array(cells, object)})
        if column.kind == "molecule":
            taken.append((name, seed, "read"))
    assert taken == []


def test_molecules_look_like_molecules():
    for text in MOLECULES:
        assert has_grammar(text), text
    for size in (5, 12, 30):
        for seed in range(8):
            some = random.Random(seed).sample(MOLECULES, size)
            assert look_like_molecules(some), some
    assert look_like_molecules(["InChI=1S/CH4/h1H4", "InChI=1S/C2H6/c1-2/h1-2H3"])


def columns_of(cells, **given):
    values = read_columns(pd.DataFrame({"what": cells, "age": np.arange(len(cells)) * 1.5}))
    return infer_columns(values, **given), values


def test_a_column_of_smiles():
    pytest.importorskip("rdkit")
    (column, _), _ = columns_of([*MOLECULES, None])
    assert column.kind == "molecule"
    assert column.reason == (
        "molecules, 30 different without stereo; the largest part counts of 1 with several"
    )
    assert (column.low, column.high, column.missing) == (3, 14, 1)
    (column, _), _ = columns_of([*MOLECULES[:10]] * 20)  # few different ones are no levels
    assert column.kind == "molecule"
    (column, _), _ = columns_of(MOLECULES, kind={"what": "text"})
    assert column.kind == "text"


def test_objects_and_inchi_in_a_column():
    Chem = pytest.importorskip("rdkit.Chem")
    mols = list(map(Chem.MolFromSmiles, MOLECULES))
    for cells in (mols, list(map(Chem.MolToInchi, mols))):
        (column, _), _ = columns_of(cells)
        assert column.kind == "molecule"


def test_all_faults_of_a_column_are_said_together():
    pytest.importorskip("rdkit")
    cells = [*MOLECULES, "C1CC", *MOLECULES, "CC(C)(C)(C)C"]
    with pytest.raises(ValueError, match="column 'what': 2 of 66 molecules cannot be") as told:
        columns_of(cells, kind={"what": "molecule"})
    said = str(told.value)
    assert "row 33, 'C1CC': no SMILES" in said
    assert "row 66, 'CC(C)(C)(C)C': Explicit valence for atom # 1 C, 5, is greater than" in said
    assert "--missing C1CC --missing 'CC(C)(C)(C)C'" in said


def test_equal_molecules_and_scaffolds_are_groups():
    pytest.importorskip("rdkit")
    cells = ["CCO", "OCC", "Cc1ccccc1", "Oc1ccccc1", "CCN", "CC(=O)[O-].[Na+]", "CC(=O)[O-]"] * 2
    columns, values = columns_of(cells, kind={"what": "molecule"})
    copies = Related.of_columns(columns, values)
    assert (copies.groups.tolist(), copies.copies) == ([0, 0, 1, 2, 3, 4, 4] * 2, True)
    scaffolds = Related.of_columns(columns, values, "scaffold")
    assert (scaffolds.groups.tolist(), scaffolds.copies) == ([0, 0, 1, 1, 0, 0, 0] * 2, False)
    assert Related.of_columns(columns[1:], values) is None
    for some in (columns[1:], columns):
        with pytest.raises(ValueError, match="groups='scaffold': give one value for each row, or"):
            Related.of_columns(some, {name: v[:1] for name, v in values.items()}, "scaffold")


def test_rows_without_a_molecule_are_no_copies():
    pytest.importorskip("rdkit")
    columns, values = columns_of(["CCO", None, None, None, "OCC"], kind={"what": "molecule"})
    for by in ("", "scaffold"):
        assert Related.of_columns(columns, values, by).groups.tolist() == [0, 1, 2, 3, 0]


def test_groups_that_are_asked_for_may_be_single_rows():
    pytest.importorskip("rdkit")
    rings = [f"C1{'C' * n}C1" for n in range(1, 20)]
    columns, values = columns_of(rings, kind={"what": "molecule"})
    assert Related.of_columns(columns, values) is None
    assert Related.of_columns(columns, values, "scaffold") is None
    X, y = pd.DataFrame({"what": rings}), np.arange(19.0)
    model = KernelRegressor(trials=1, random_state=0).fit(X, y, groups="scaffold")
    same = KernelRegressor(trials=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_folds_keep_copies_together_and_have_like_classes(monkeypatch):
    pytest.importorskip("rdkit")
    rows = [f"{'C' * n}{end}" for n in range(1, 31) for end in ("=O", "C1CC1")]
    y = np.arange(60) % 12 == 0
    X = pd.DataFrame({"what": [*rows, "O=C"]})  # methanal, of the rare class, twice
    found = []
    folds = Rungs.folds
    monkeypatch.setattr(Rungs, "folds", lambda *a: found.append(folds(*a)) or found[-1])
    KernelClassifier(trials=1, random_state=0).fit(X, [*y, True])
    _, numbers = found[-1]
    assert numbers[0] == numbers[60]
    assert np.bincount(numbers[:60][y]).tolist() == [1] * 5


def test_new_rows_are_read_as_the_training_rows():
    pytest.importorskip("rdkit")
    encoder = TableEncoder().fit(pd.DataFrame({"what": MOLECULES}))
    matrix = encoder.transform(pd.DataFrame({"what": ["CCO", None]}))
    assert matrix.objects[0].texts.tolist() == ["CCO", ""]
    with pytest.raises(ValueError, match="row 2, 'nonsense'"):
        encoder.transform(pd.DataFrame({"what": ["CCO", "nonsense"]}))


def test_a_search_reads_molecules_and_keeps_copies_together(tmp_path):
    pytest.importorskip("rdkit")
    rows = [f"{'C' * n}{end}" for n in range(1, 14) for end in ("=O", "N", "Br", "C(=O)O")]
    X = pd.DataFrame({"what": rows + rows})
    y = np.array([len(row) for row in rows] * 2) + 0.1
    model = KernelRegressor(trials=2, random_state=0).fit(X, y)
    assert [c.kind for c in model.columns_] == ["molecule"]
    assert model.score(X, y) > 0.8
    assert KernelRegressor(trials=2).fit(X[:52], y[:52]).score(X, y) > 0.8
    rings = pd.DataFrame(
        {"what": ["c1ccccc1" + "C" * n for n in range(9)] + ["C1CC1" + "C" * n for n in range(9)]}
    )
    KernelRegressor(trials=1).fit(rings, np.arange(18.0), groups="scaffold")
    with pytest.raises(ValueError, match="groups='scaffold': give one value for each row"):
        KernelRegressor(trials=1).fit(rings[:9], np.arange(9.0), groups="scaffold")
