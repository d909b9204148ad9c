"""Where RDKit is not installed, what needs it says which extra to install."""

import sys

import pytest

from mercer.distances import Tanimoto
from mercer.kernels import Descriptors, Morgan
from mercer.samples import are_molecules, chemistry


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    chemistry.rdkit.cache_clear()
    monkeypatch.setattr(chemistry, "_known", {})
    yield
    chemistry.rdkit.cache_clear()


@pytest.mark.parametrize("reader", [Morgan(), Descriptors(), Tanimoto(fingerprint="morgan")])
def test_the_extra_is_named(without, reader):
    name = type(reader).__name__
    with pytest.raises(ImportError, match=rf'{name} needs rdkit.*pip install "mercer\[chem\]"'):
        reader(["CCO", "CCC"])


def test_texts_may_be_molecules(without):
    assert are_molecules(["CC(=O)O", "c1ccccc1"]) is None
    assert are_molecules(["tea", "milk"]) is False
