"""Molecules as samples: what is read, salts, faults of all rows, files, and texts that look like
molecules."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import cases
import mercer
from mercer.distances import Tanimoto
from mercer.kernels import AtomAssignment, AtomPairs, Descriptors, Morgan, Torsions, molecules
from mercer.samples import (
    as_cells,
    as_samples,
    chemistry,
    descriptor_names,
    joined,
    kind_named,
    read,
    row_numbers,
)
from mercer.tables import infer_columns

Chem = pytest.importorskip("rdkit.Chem")

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
ALL = [
    Morgan(),
    AtomAssignment(),
    AtomPairs(),
    Torsions(),
    Descriptors(),
    Tanimoto(fingerprint="morgan"),
]


def test_smiles_inchi_and_objects_are_one_molecule():
    mol = Chem.MolFromSmiles(ASPIRIN)
    rows = [ASPIRIN, "O=C(C)Oc1ccccc1C(O)=O", Chem.MolToInchi(mol), mol, f" {ASPIRIN} "]
    for comparison in ALL:
        values = comparison(rows, [ASPIRIN])
        assert_array_equal(values, values[0, 0])
    X = as_samples(rows, "molecules")
    assert_array_equal(row_numbers(X), 0)
    assert read([mol, mol])[0].name == "molecules"
    assert read([ASPIRIN])[0].name == "strings"  # a list of texts is not judged


def test_objects_are_read_by_their_smiles_as_files_read_them(tmp_path):
    """Explicit hydrogen atoms, which no text keeps, are none of the molecule."""
    plain = ["CCO", "CCN", ASPIRIN, "C[C@H](N)C(=O)O"]
    full = [Chem.AddHs(Chem.MolFromSmiles(text)) for text in plain]
    for comparison in ALL:
        X = as_samples(full, "molecules")
        values = comparison(plain)
        assert_array_equal(comparison(full, plain), values)
        assert_array_equal(comparison(pickle.loads(pickle.dumps(X)), plain), values)
    model = mercer.KernelRidge(kernel=Descriptors()).fit(full, [1.0, 2, 3, 4])
    mercer.save(model, tmp_path / "model.mercer")
    assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(full), model.predict(full))


def test_objects_that_rdkit_has_not_checked():
    raw = [Chem.MolFromSmiles(text, sanitize=False) for text in ("CCO", "c1ccccc1")]
    assert_array_equal(Morgan()(raw), Morgan()(["CCO", "c1ccccc1"]))
    five = Chem.MolFromSmiles("CC(C)(C)(C)C", sanitize=False)
    with pytest.raises(ValueError, match="Explicit valence for atom # 1 C, 5, is greater"):
        Morgan()(["CCO", five])


@pytest.mark.parametrize("smarts", ["CCO", "[C,N]C", "[#6]~O", "[$(CC)]O"])
def test_objects_that_ask_are_no_molecules(smarts):
    query, kind = Chem.MolFromSmarts(smarts), kind_named("molecules")
    with pytest.raises(ValueError, match="which stands for many molecules: give molecules") as told:
        Morgan()(["CCO", query])
    assert " object at " not in str(told.value)
    assert "is a query of SMARTS" in (kind.fault(query) or "")
    assert "," not in smarts or f"X[1], '{kind.text(query)}'" in str(told.value)


def test_any_atom_is_no_query():
    """Files of molecules have one that is called R, which SMILES writes as a star."""
    block = Chem.MolToMolBlock(Chem.MolFromSmiles("CC*"))
    assert_array_equal(Morgan()([Chem.MolFromMolBlock(block)], ["*CC"]), 1)


def test_objects_are_named_by_their_smiles():
    five, kind = Chem.MolFromSmiles("CC(C)(C)(C)C", sanitize=False), kind_named("molecules")
    assert kind.text(five) == "CC(C)(C)(C)C"
    with pytest.raises(ValueError, match=r"X\[1\], 'CC\(C\)\(C\)\(C\)C': Explicit"):
        Morgan()(["CCO", five])
    column = infer_columns({"m": as_cells(["CCO", "CCN"])}, {"m": "molecule"})[0]
    with pytest.raises(ValueError, match="column 'm'") as told:
        column.of.cells(column, as_cells(["CCO", five, "C1CC"]))
    assert "row 2, 'CC(C)(C)(C)C': Explicit valence" in str(told.value)
    assert str(told.value).endswith("as missing: --missing C1CC")  # which objects have no text for
    model = mercer.KernelRidge(kernel=Morgan()).fit(["CCO", "CCN"], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"X\[0\] is a Mol: give sequences as texts"):
        mercer.explain.letters(model, [five])


def test_what_only_looks_like_an_object_of_rdkit():
    class Fake:
        def GetNumHeavyAtoms(self):
            return 1

        def ToBinary(self):
            return b""

    with pytest.raises(ValueError, match="RDKit cannot write its SMILES: Python argument types"):
        Morgan()([Fake()])


def test_cells_of_other_types_have_a_fault():
    kind = kind_named("molecules")
    assert kind.fault("CCO") is None
    for cell, said in [(2.5, "2.5"), ({"a"}, "a set"), ([1], "a list"), (b"CC", "bytes")]:
        assert f"{said} is neither a text nor" in kind.fault(cell).replace("a bytes", "bytes")


def test_a_salt_is_its_largest_part():
    X = as_samples(
        ["CC(=O)[O-].[Na+]", "[Na+].CC(=O)[O-]", "CC(=O)[O-]", "[Na+].[Cl-]"], "molecules"
    )
    assert row_numbers(X).tolist() == [0, 0, 0, 1]
    assert X.found[0].parts == 2
    (water,) = as_samples(["InChI=1S/2H2O/h2*1H2"], "molecules").found
    assert (water.smiles, water.parts) == ("O", 2)
    assert X.smiles()[3] == "[Na+]"
    assert_array_equal(Morgan()(["CC(=O)[O-].[Na+]"], ["CC(=O)[O-]"]), 1)


def test_molecules_are_forgotten_where_they_are_many(monkeypatch):
    monkeypatch.setattr(chemistry, "KEPT", 4)
    monkeypatch.setattr(chemistry, "_known", {})
    rows = ["C" * n for n in range(1, 12)]
    K = Morgan()(rows)
    assert len(chemistry._known) <= 4
    assert_array_equal(Morgan()(rows[::-1]), K[::-1, ::-1])


def test_ranks_between_many_different_values(monkeypatch):
    rows = [("C" * (1 + i % 9)) + ["O", "N", "S"][i % 3] + "C" * (i // 9) for i in range(80)]
    whole = Descriptors()(rows)
    monkeypatch.setattr(molecules, "KNOTS", 16)
    assert np.abs(Descriptors()(rows) - whole).max() < 0.1


def test_mirror_images_are_equal_unless_stereo_is_read():
    left, right = "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"
    X = as_samples([left, right, "N[C@@H](C)C(=O)O"], "molecules")
    assert row_numbers(X).tolist() == [0, 1, 0]
    assert len({*X.smiles()}) == 1
    for kernel in (Morgan, AtomPairs, Torsions):
        assert kernel()([left], [right]) == 1
        assert kernel(stereo=True)([left], [right]) < 1


def test_all_faults_are_in_one_message():
    rows = ["CCO", "CC(C)(C)(C)C", "C1CC", "c1ccccc1", "CC(=O"]
    with pytest.raises(ValueError, match="3 of 5 molecules cannot be read") as told:
        Morgan()(rows)
    said = str(told.value)
    assert "X[1], 'CC(C)(C)(C)C': Explicit valence for atom # 1 C, 5, is greater than perm" in said
    assert "X[2], 'C1CC': no SMILES" in said
    assert "X[4], 'CC(=O': no SMILES" in said


def test_nothing_is_written_to_the_terminal(capfd):
    with pytest.raises(ValueError, match="cannot be read"):
        Morgan()(["CC(C)(C)(C)C", "C1CC"])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (["CC", None], TypeError, r"X\[1\] is missing \(None\), but Morgan compares molecules"),
        (["CC", 3], TypeError, r"X\[1\] is 3, but Morgan"),
        ([b"CC"], TypeError, r"X\[0\] is .*bytes"),
        ([], ValueError, "X is empty"),
        ("CCO", TypeError, "a single string"),
        (["InChI=1S/nonsense"], ValueError, "no InChI that RDKit reads"),
    ],
)
def test_what_is_no_molecule(rows, error, message):
    with pytest.raises(error, match=message):
        Morgan()(rows)


@pytest.mark.parametrize("radius", [-1, 1.5, "2", 11])
def test_a_wrong_radius(radius):
    for kernel in (Morgan, AtomAssignment):
        with pytest.raises((TypeError, ValueError), match="radius="):
            kernel(radius)(["CC"])


def test_wrong_parameters():
    with pytest.raises(ValueError, match="formula='max'"):
        AtomPairs("max")(["CC"])
    with pytest.raises((TypeError, ValueError), match="stereo="):
        Torsions(stereo="yes")(["CC"])
    with pytest.raises(ValueError, match="fingerprint='ecfp': give one of morgan, morgan 3,"):
        Tanimoto(fingerprint="ecfp")(["CC"])
    with pytest.raises((TypeError, ValueError), match="gamma="):
        Descriptors(-1.0)(["CC"])
    for shape in [(2, 78, 4), (2, 79), (2, 79, 0), (3, 79, 4)]:
        with pytest.raises(ValueError, match=r"quantiles has shape .*give \(2, 79, m\)"):
            Descriptors(quantiles=np.zeros(shape))(["CC"])
    assert len(as_samples(["CC"], "molecules").descriptors()[0]) == len(descriptor_names()) == 79


def test_molecules_are_sliced_joined_and_pickled():
    X = as_samples(cases.molecules(), "molecules")
    K = Morgan().block(X, X)
    some = [3, 1, 8]
    assert_array_equal(Morgan().block(X[some], X[2:5]), K[some][:, 2:5])
    assert_array_equal(Morgan().block(joined(X[:4], X[4:]), X), K)
    again = pickle.loads(pickle.dumps(X))
    assert len(pickle.dumps(X)) < 2000  # texts alone
    assert_array_equal(Morgan().block(again, X), K)
    assert Morgan().block(X.astype(np.float32), X.astype(np.float32)).dtype == np.float32


def test_new_fragments_count_in_the_union():
    K = Morgan()(["CCCCBr"], ["CCCC"])
    assert 0 < K[0, 0] < 1
    assert_array_equal(K, Morgan()(["CCCC"], ["CCCCBr"]))


@pytest.mark.parametrize("kernel", [Morgan(), Descriptors(), AtomPairs("dot") + Descriptors()])
def test_learners_search_and_files(kernel, tmp_path):
    rows = [f"{'C' * n}{end}" for n in range(1, 16) for end in ("O", "N", "Br", "C(=O)O")]
    y = np.array([len(row) for row in rows], float)
    model = mercer.KernelRidge(kernel=kernel, alpha=1e-6).fit(rows, y)
    assert np.abs(model.predict(rows) - y).max() < 1
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(loaded.predict(rows), model.predict(rows))
    low = mercer.Nystroem(kernel=kernel, n_components=20, random_state=0).fit(rows)
    assert low.transform(rows).shape == (60, 20)


def test_neighbours_of_molecules():
    rows = cases.molecules()
    model = mercer.NearestNeighbors(n_neighbors=1, metric=Tanimoto(fingerprint="pairs")).fit(rows)
    assert model.kneighbors(rows)[1].ravel().tolist()[:2] == [0, 0]
    assert_array_equal(model.kneighbors(["CC(=O)[O-]"])[1], [[5]])


def test_drawings():
    kind = read(Chem.MolFromSmiles("CCO") and [Chem.MolFromSmiles("CCO")])[0]
    drawing = kind.drawing("CC(=O)[O-].[Na+]")
    assert drawing.labels == ["", "", "O", "O"]
    assert drawing.places.shape == (4, 2)
    assert drawing.edges.tolist() == [[0, 1], [1, 2], [1, 3]]
    picture = kind.picture("CCO", [1.0, 0.0, -1.0])
    assert picture.startswith("<svg")
    assert picture.rstrip().endswith("</svg>")
    assert kind.picture("").startswith("<svg")
