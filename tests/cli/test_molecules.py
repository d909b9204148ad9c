"""The command on tables with molecules: faults, --missing, scaffolds."""

from pathlib import Path

import pytest
from tests.cli.runner import printed

from mercer.cli.fit_options import FitOptions
from mercer.cli.problem import read_problem, split_rows
from mercer.cli.terminal import Terminal

pytest.importorskip("rdkit")

ENDS = ["=O", "O", "c1ccncc1", "C1CCCC1", "c1ccccc1", "C1CC1"]


@pytest.fixture
def table(folder, no_report):
    rows = [f"{'C' * n}{end},{n + len(end)}" for n in range(1, 9) for end in ENDS]
    Path("table.csv").write_text("\n".join(["smiles,y", *rows, "OCC,4", "OCCC,4"]))
    return "table.csv"


def test_a_model_of_molecules(capsys, table):
    code, said = printed(capsys, "fit", table, "--target", "y", "--trials", "2")
    assert code == 0, said
    assert "smiles molecule" in said
    assert "The 50 rows are of 48 different molecules; each is on one side of a split." in said
    Path("new.csv").write_text("smiles\nCCCO\nCC(C)(C)(C)C\n")
    code, said = printed(capsys, "predict", "model.mercer", "new.csv", "-o", "out.csv")
    assert code == 3, said
    assert "row 2, 'CC(C)(C)(C)C': Explicit valence for atom # 1 C, 5" in said
    code, said = printed(
        capsys,
        "predict",
        "model.mercer",
        "new.csv",
        "-o",
        "out.csv",
        "--missing",
        "CC(C)(C)(C)C",
    )
    assert code == 0, said


def test_whole_scaffolds_are_held_out(capsys, table):
    code, said = printed(
        capsys, "fit", table, "--target", "y", "--trials", "1", "--group", "scaffold"
    )
    assert code == 0, said
    assert "The 50 rows are of 5 scaffolds; each is on one side of a split." in said


def test_scaffolds_that_all_differ_are_rows_at_random(capsys, folder, no_report):
    rows = [f"C1{'C' * n}C1,{n}" for n in range(1, 31)]
    Path("table.csv").write_text("\n".join(["smiles,y", *rows]))
    code, said = printed(
        capsys, "fit", "table.csv", "--target", "y", "--trials", "1", "--group", "scaffold"
    )
    assert code == 0, said
    assert "Each row has a scaffold of its own, so rows are held out at random." in said


def test_equal_molecules_are_on_one_side_and_classes_on_both(folder):
    rows = [f"{'C' * n}{end},{'rare' if n % 8 == 0 else 'usual'}"
            for n in range(1, 41) for end in ("=O", "C1CC1")]  # fmt: skip
    Path("table.csv").write_text("\n".join(["smiles,y", *rows, f"O={'C' * 8},rare"]))
    silent = Terminal(quiet=True)
    for seed in range(8):
        options = FitOptions(train=Path("table.csv"), target="y", seed=seed)
        split = split_rows(read_problem(options, silent), options, silent)
        train, held = split.numbers
        assert {14, 80} <= {*train.tolist()} or {14, 80} <= {*held.tolist()}
        assert (split.y_held == "rare").sum() in (2, 3)


def test_classes_of_one_molecule_each_are_refused(capsys, folder):
    names = {"a": ["CCO", "OCC", "C(O)C"], "b": ["CCN", "NCC", "C(N)C"], "c": ["CCS", "SCC"]}
    rows = [f"{text},{name}" for name, texts in names.items() for text in texts * 4]
    Path("table.csv").write_text("\n".join(["smiles,y", *rows]))
    code, said = printed(capsys, "fit", "table.csv", "--target", "y", "--kind", "smiles=molecule")
    assert code
    assert "equal molecules are on one side of the split: the rows to learn from have no" in said
    assert "--time-column" not in said


def test_a_table_without_molecules_has_no_scaffolds(capsys, folder):
    Path("table.csv").write_text("\n".join(["x,y", *(f"{1.5 * v},{v}" for v in range(30))]))
    code, said = printed(capsys, "fit", "table.csv", "--target", "y", "--group", "scaffold")
    assert code
    assert "--group scaffold: there is no column of that name" in said


def test_all_faults_of_a_table(capsys, folder):
    rows = [f"{'C' * n}{end},{n}" for n in range(1, 9) for end in ENDS]
    Path("table.csv").write_text("\n".join(["smiles,y", "C1CC,1", *rows, "CC(C)(C)(C)C,4"]))
    code, said = printed(capsys, "fit", "table.csv", "--target", "y")
    assert code
    assert "mercer: column 'smiles': 2 of 50 molecules cannot be read: row 1, 'C1CC': no" in said
    assert "To read them as missing: --missing C1CC --missing 'CC(C)(C)(C)C'" in said
