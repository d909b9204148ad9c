"""Molecules in a report: drawings of the worst ones, their neighbours, and activity cliffs."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor
from mercer.plots import save_report
from mercer.plots.report import structures
from mercer.plots.report.structures import MoleculeSection
from mercer.plots.report.subject import Subject

pytest.importorskip("rdkit")

ROWS = [f"{'C' * n}{end}" for n in range(1, 14) for end in ("=O", "N", "c1ccccc1", "C(=O)O")]
LARGE = np.array([row.count("C") + 3.0 * ("N" in row) for row in ROWS])


def subject(y, estimator):
    X = pd.DataFrame({"smiles": ROWS, "age": np.arange(len(ROWS)) % 7 * 1.5})
    test = np.arange(len(ROWS)) % 5 == 0
    model = estimator(trials=2, random_state=0).fit(X[~test], y[~test])
    return Subject(model, X[~test], y[~test], holdout=(X[test], y[test]))


def test_worst_molecules_their_neighbours_and_cliffs():
    about = subject(LARGE, KernelRegressor)
    found = MoleculeSection.measured(about)
    assert found.column == "smiles"
    assert len(found.cases) == 4
    error = np.abs(about.y_test - about.predicted)
    assert [own.row for own, _ in found.cases] == np.argsort(-error, kind="stable")[:4].tolist()
    for own, near in found.cases:
        assert len(near) == 3
        assert "ellipse" in own.picture  # its atoms are coloured
        assert not any("ellipse" in each.picture for each in near)
        assert [each.said for each in near] == sorted(each.said for each in near)
    assert found.cliffs
    assert {one.row for one, _ in found.cliffs}.isdisjoint(other.row for _, other in found.cliffs)
    page = found.html(type("Report", (), {"facts": about.facts}))
    assert page.count('<figure class="molecule"><svg') == 16 + 2 * len(found.cliffs)
    assert "<svg" not in str(found.numbers())


def test_atoms_that_carry_a_prediction():
    """A model of the number of nitrogens: the nitrogen is the bluest atom."""
    about = subject(np.array([10.0 * ("N" in row) + 0.01 * i for i, row in enumerate(ROWS)]),
                    KernelRegressor)  # fmt: skip
    from mercer.plots.report.structures import _atoms, _molecule_column

    column = _molecule_column(about)
    cells = column.of.cells(column, about.X_test.columns["smiles"])
    i = next(i for i, cell in enumerate(cells) if cell.endswith("N") and len(cell) > 5)
    assert _atoms(about, column, cells, i).argmax() == cells[i].index("N")


@pytest.mark.full
def test_classes_and_tables_without_molecules():
    found = MoleculeSection.measured(
        subject(np.where(LARGE > 9, "large", "small"), KernelClassifier)
    )
    assert {own.said for own, _ in found.cases} <= {"predicted large", "predicted small"}
    assert found.atoms
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelRegressor(trials=1).fit(X[:40], X[:40, 0])
    about = Subject(model, X[:40], X[:40, 0], holdout=(X[40:], X[40:, 0]))
    assert not MoleculeSection.applies(about)


def test_atoms_are_coloured_or_not_mentioned(monkeypatch):
    about = subject(LARGE, KernelRegressor)
    monkeypatch.setattr(structures, "_atoms", lambda *_: None)
    found = MoleculeSection.measured(about)
    assert not found.atoms
    page = found.html(type("Report", (), {"facts": about.facts}))
    assert "Blue atoms" not in page
    assert "ellipse" not in page


@pytest.mark.full
def test_a_report_without_rows_shows_no_molecules(tmp_path):
    X = pd.DataFrame({"smiles": ROWS})
    model = KernelRegressor(trials=1, random_state=0).fit(X[:40], LARGE[:40])
    for values in (True, False):
        path = tmp_path / f"{values}.html"
        train = X[:40], LARGE[:40]
        save_report(path, model, X[40:], LARGE[40:], train=train, values=values, time=5)
        assert ('class="molecule"' in path.read_text(encoding="utf-8")) == values
