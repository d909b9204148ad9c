"""What RDKit knows of molecules: how they are read, their fingerprints, descriptors and drawings.

This is the only file that imports RDKit. A `Molecule` holds what it has computed once, and `known`
finds the molecules of texts that were read before, so that the folds of a search, and the kernels
in it, do not compute a fingerprint twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from mercer.spoken import a_type

KEPT = 2**17  # texts whose molecules are remembered
DIGITS = 9  # of a descriptor
#: what is measured, by RDKit's names: its own list may grow, and files hold ranks of each
PROPERTIES = """exactmw amw lipinskiHBA lipinskiHBD NumRotatableBonds NumHBD NumHBA NumHeavyAtoms
    NumAtoms NumHeteroatoms NumAmideBonds FractionCSP3 NumRings NumAromaticRings NumAliphaticRings
    NumSaturatedRings NumHeterocycles NumAromaticHeterocycles NumSaturatedHeterocycles
    NumAliphaticHeterocycles NumSpiroAtoms NumBridgeheadAtoms NumAtomStereoCenters
    NumUnspecifiedAtomStereoCenters labuteASA tpsa CrippenClogP CrippenMR chi0v chi1v chi2v chi3v
    chi4v chi0n chi1n chi2n chi3n chi4n hallKierAlpha kappa1 kappa2 kappa3 Phi"""
SURFACES = (("SlogP", 12), ("SMR", 10), ("PEOE", 14))


class Fingerprint(NamedTuple):
    """Which fragments of a molecule are counted.

    Attributes
    ----------
    name : {"morgan", "functional", "colours", "pairs", "torsions", "paths"}
        Neighbourhoods of atoms (ECFP), the same by the roles of atoms (FCFP), those of each atom
        by elements alone (Weisfeiler-Lehman), pairs of atoms with their distance, four atoms in a
        row, or paths.
    radius : int
        Bonds from the centre of a neighbourhood to its ends; not read by others.
    stereo : bool
        Whether fragments tell mirror images apart; not read by paths.
    """

    name: str
    radius: int = 0
    stereo: bool = False


#: name -> the fingerprint
FINGERPRINTS = {
    "morgan": Fingerprint("morgan", 2),
    "morgan 3": Fingerprint("morgan", 3),
    "functional": Fingerprint("functional", 2),
    "pairs": Fingerprint("pairs"),
    "torsions": Fingerprint("torsions"),
    "paths": Fingerprint("paths"),
}


@cache
def rdkit(reader: str = "A column of molecules") -> Any:
    """The parts of RDKit that are used here; its warnings are not written to the terminal.

    Raises
    ------
    ImportError
        RDKit is not installed. ``reader`` is what needs it.
    """
    try:
        from rdkit import Chem, rdBase
        from rdkit.Chem import rdDepictor, rdFingerprintGenerator, rdMolDescriptors
        from rdkit.Chem.Draw import rdMolDraw2D
        from rdkit.Chem.Scaffolds import MurckoScaffold
    except ImportError as error:
        raise ImportError(
            f'{reader} needs rdkit, which is not installed: pip install "mercer[chem]".'
        ) from error
    return SimpleNamespace(
        Chem=Chem, quiet=rdBase.BlockLogs, depict=rdDepictor, draw=rdMolDraw2D,
        prints=rdFingerprintGenerator, descriptors=rdMolDescriptors, scaffolds=MurckoScaffold,
        properties=rdMolDescriptors.Properties(PROPERTIES.split()),
    )  # fmt: skip


class NoMoleculeError(ValueError):
    """A text is no molecule; the message is the reason."""


class Molecule:
    """A molecule that was read, and what was computed of it.

    Attributes
    ----------
    text : str
        As it was given; the canonical SMILES of an object of RDKit.
    parts : int
        Molecules in the text, of which the largest is read.
    """

    __slots__ = ("_found", "_packed", "parts", "text")

    def __init__(self, text: str, packed: bytes, parts: int):
        self.text = text
        self.parts = parts
        self._packed = packed  # an object of RDKit takes a hundred times the memory
        self._found: dict[Any, Any] = {}

    @property
    def mol(self) -> Any:
        """The object of RDKit, of the largest part."""
        return rdkit().Chem.Mol(self._packed)

    def _once(self, key: Any, compute: Callable[[Any], Any]) -> Any:
        if key not in self._found:
            self._found[key] = compute(self.mol)
        return self._found[key]

    def fragments(self, fingerprint: Fingerprint) -> np.ndarray:
        """The numbers of its fragments, ascending, and how often it has each: (m, 2), uint64."""
        return self._once(fingerprint, lambda mol: _fragments(mol, fingerprint))

    def descriptors(self) -> np.ndarray:
        """What RDKit measures in little time, (79,): weights, counts of atoms, bonds and rings,
        topology, and surface by charge, solubility and polarisability."""
        return self._once("descriptors", _descriptors)

    @property
    def smiles(self) -> str:
        """The canonical SMILES of the largest part without stereochemistry, the same for equal
        molecules."""
        return self._once("smiles", lambda mol: rdkit().Chem.MolToSmiles(mol, isomericSmiles=False))

    @property
    def isomer(self) -> str:
        """The same with stereochemistry and isotopes."""
        return self._once("isomer", lambda mol: rdkit().Chem.MolToSmiles(mol))

    @property
    def scaffold(self) -> str:
        """The Bemis-Murcko scaffold, as SMILES: rings and what links them; "" without rings."""
        return self._once("scaffold", lambda mol: rdkit().scaffolds.MurckoScaffoldSmiles(mol=mol))

    @property
    def size(self) -> int:
        """The number of atoms but hydrogen."""
        return self._once("size", lambda mol: mol.GetNumHeavyAtoms())


_known: dict[str, Molecule] = {}


def known(row: Any) -> Molecule:
    """The molecule of a text (SMILES or InChI) or of an object of RDKit.

    Raises
    ------
    NoMoleculeError
        It is none; the message says why.
    ImportError
        RDKit is not installed.
    """
    # an object is read by its SMILES: files and pickles keep this text alone
    text = row.strip() if isinstance(row, str) else _written(row)
    found = _known.get(text)
    if found is None:
        found = _read(text)
        if len(_known) >= KEPT:  # forget the older half
            for old in list(islice(_known, KEPT // 2)):
                _known.pop(old, None)
        _known[text] = found
    return found


def is_rdkit(row: Any) -> bool:
    """Whether something is a molecule of RDKit, which need not be imported."""
    return hasattr(row, "GetNumHeavyAtoms") and hasattr(row, "ToBinary")


def shown(row: Any) -> str:
    """What a message calls a text or an object of RDKit: its SMILES, or the SMARTS of a query."""
    if isinstance(row, str):
        return row
    lib = rdkit()
    with lib.quiet():
        try:
            return lib.Chem.MolToSmarts(row) if _asks(row) else lib.Chem.MolToSmiles(row)
        except Exception:  # of many types, from C++
            return a_type(row)


def _written(mol: Any) -> str:
    """The SMILES of an object of RDKit."""
    lib = rdkit()
    with lib.quiet():
        try:
            text, asks = lib.Chem.MolToSmiles(mol), _asks(mol)
        except Exception as error:  # of many types, from C++
            reason = (str(error).splitlines() or [""])[0]
            raise NoMoleculeError(f"RDKit cannot write its SMILES: {reason}") from error
    if asks:
        raise NoMoleculeError(
            "it is a query of SMARTS, which stands for many molecules: give molecules, such as "
            "Chem.MolFromSmiles makes"
        )
    return text


def _asks(mol: Any) -> bool:
    """Whether an object has atoms that stand for several ones, other than any atom (``*``)."""
    return any(a.HasQuery() and a.DescribeQuery().strip() != "AtomNull" for a in mol.GetAtoms())


def _read(text: str) -> Molecule:
    """The molecule of a SMILES or InChI: of several parts, the largest one."""
    lib = rdkit()
    with lib.quiet():
        if not text.isascii():
            mol = None
        elif text.startswith("InChI="):
            mol = lib.Chem.MolFromInchi(text)
        else:
            mol = lib.Chem.MolFromSmiles(text)
        if mol is None:
            raise NoMoleculeError(_reason(text))
        count = len(lib.Chem.GetMolFrags(mol))
        if count > 1:
            parts = lib.Chem.GetMolFrags(mol, asMols=True)
            mol = max(parts, key=lambda m: (m.GetNumHeavyAtoms(), lib.Chem.MolToSmiles(m)))
        return Molecule(text, mol.ToBinary(), max(count, 1))


def _reason(text: str) -> str:
    """Why RDKit cannot read a text as a molecule."""
    lib = rdkit()
    if text.startswith("InChI="):
        return "no InChI that RDKit reads"
    mol = lib.Chem.MolFromSmiles(text, sanitize=False) if text.isascii() else None
    if mol is None:
        return "no SMILES: its symbols, brackets or rings are wrong"
    problems = lib.Chem.DetectChemistryProblems(mol)
    return problems[0].Message() if problems else "RDKit cannot read it"


@cache
def _generator(fingerprint: Fingerprint) -> Any:
    """RDKit's generator of a fingerprint."""
    prints, (name, radius, stereo) = rdkit().prints, fingerprint
    if name == "pairs":
        return prints.GetAtomPairGenerator(includeChirality=stereo)
    if name == "torsions":
        return prints.GetTopologicalTorsionGenerator(includeChirality=stereo)
    if name == "paths":
        return prints.GetRDKitFPGenerator(maxPath=6)
    if name == "colours":
        return prints.GetMorganGenerator(radius=radius, includeRedundantEnvironments=True)
    roles = {"atomInvariantsGenerator": prints.GetMorganFeatureAtomInvGen()}
    return prints.GetMorganGenerator(
        radius=radius, includeChirality=stereo, **roles if name == "functional" else {}
    )


def _fragments(mol: Any, fingerprint: Fingerprint) -> np.ndarray:
    """The fragments of a molecule and how often each occurs, (fragments, 2), uint64."""
    if fingerprint.stereo:  # which the packed form does not tell
        rdkit().Chem.AssignStereochemistry(mol)
    own = {}
    if fingerprint.name == "colours":
        own = [2 * atom.GetAtomicNum() + atom.GetIsAromatic() for atom in mol.GetAtoms()]
        own = {"customAtomInvariants": own}
    found = _generator(fingerprint).GetSparseCountFingerprint(mol, **own).GetNonzeroElements()
    pairs = np.empty((len(found), 2), np.uint64)
    pairs[:, 0], pairs[:, 1] = list(found.keys()), list(found.values())
    return pairs


def _descriptors(mol: Any) -> np.ndarray:
    """The descriptors of a molecule, NaN where one is not defined."""
    lib, surfaces = rdkit(), rdkit().descriptors
    found = np.array([
        *lib.properties.ComputeProperties(mol),
        *surfaces.SlogP_VSA_(mol), *surfaces.SMR_VSA_(mol), *surfaces.PEOE_VSA_(mol),
    ])  # fmt: skip
    found[~np.isfinite(found)] = np.nan
    # sums over atoms round otherwise in another order of the atoms
    with np.errstate(divide="ignore"):
        digits = DIGITS - np.ceil(np.log10(np.abs(found)))
    scales = 10.0 ** np.where(np.isfinite(digits), digits, 0)
    return np.round(found * scales) / scales


def descriptor_names() -> list[str]:
    """The names of `Molecule.descriptors`, as RDKit has them."""
    return [*PROPERTIES.split(), *(f"{name}_VSA{i + 1}" for name, n in SURFACES for i in range(n))]


def bonds_of(molecule: Molecule) -> tuple[list[str], np.ndarray]:
    """The symbols of the atoms, in lower case where they are aromatic, and the bonds, (m, 2)."""
    mol = molecule.mol
    atoms = [a.GetSymbol().lower() if a.GetIsAromatic() else a.GetSymbol() for a in mol.GetAtoms()]
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()]
    return atoms, np.array(bonds, np.int64).reshape(-1, 2)


def places_of(molecule: Molecule) -> np.ndarray:
    """Where a drawing has the atoms, in lengths of a bond, (n, 2)."""
    mol = molecule.mol
    rdkit().depict.Compute2DCoords(mol)
    places = mol.GetConformer().GetPositions()[:, :2] if mol.GetNumAtoms() else np.empty((0, 2))
    return places / 1.5


def hidden_atoms(molecule: Molecule) -> list[str]:
    """The SMILES of a molecule with one atom after the other replaced by any atom, "*"."""
    lib, found = rdkit(), []
    with lib.quiet():
        for i in range(molecule.mol.GetNumAtoms()):
            mol = lib.Chem.RWMol(molecule.mol)
            atom = lib.Chem.Atom(0)
            atom.SetIsAromatic(mol.GetAtomWithIdx(i).GetIsAromatic())
            mol.ReplaceAtom(i, atom)
            text = lib.Chem.MolToSmiles(mol)
            found.append(text if lib.Chem.MolFromSmiles(text) is not None else molecule.text)
    return found


def drawn(molecule: Molecule, weights: Iterable[float] | None = None, width: int = 240) -> str:
    """A drawing of a molecule as SVG.

    With ``weights``, atoms have a colour: red below 0, blue above, the stronger the larger.
    """
    lib, mol = rdkit(), molecule.mol
    picture = lib.draw.MolDraw2DSVG(width, int(width * 0.75))
    options = picture.drawOptions()
    options.clearBackground = False
    options.padding = 0.06
    marks: dict[int, tuple] = {}
    if weights is not None:
        found = np.asarray(list(weights), np.float64)
        largest = np.abs(found).max(initial=0.0) or 1.0
        for i, share in enumerate((found / largest).tolist()):
            faded = 1 - abs(share) * 0.6
            marks[i] = (faded, faded, 1.0) if share > 0 else (1.0, faded, faded)
    lib.draw.PrepareAndDrawMolecule(
        picture, mol, highlightAtoms=list(marks), highlightBonds=[], highlightAtomColors=marks
    )
    picture.FinishDrawing()
    text = picture.GetDrawingText()
    return text[text.index("<svg") :]
