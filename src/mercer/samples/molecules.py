"""Molecules as a kind of sample: SMILES, InChI or objects of RDKit, and how their texts look.

Whether a column of texts holds SMILES is told by their grammar, without RDKit; then RDKit reads
some of them. chemistry.py has all that RDKit computes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from mercer.persistence import fields, unread
from mercer.samples.chemistry import (
    FINGERPRINTS,
    Fingerprint,
    NoMoleculeError,
    bonds_of,
    drawn,
    hidden_atoms,
    is_rdkit,
    known,
    places_of,
    rdkit,
    shown,
)
from mercer.samples.counts import Counts
from mercer.samples.kind import Drawing, Kind
from mercer.samples.protocol import Encoded, SamplesLike
from mercer.samples.raw_data import as_cells, as_objects, describe_entry, is_missing_value

LISTED = 5  # molecules that cannot be read, which an error names
LOOKED_AT = 200  # different texts whose grammar is looked at
MOSTLY = 0.95  # of them are SMILES
STRUCTURED = 0.3  # of those have a bond, a branch or a ring: codes of letters alone have none
CARBON = 0.8  # of those have carbon
READY = 10_000  # molecules whose fragments and descriptors a search computes first
PARSED, READ = 50, 0.9  # texts that RDKit is given, and the share that it reads at least

TOKEN = re.compile(
    r"Cl|Br|[BCNOPSFI]|[bcnops]|\*"
    r"|\[\d*(?:[A-Z][a-z]?|[a-z][a-z]?|\*)[^\[\]\s]*\]"
    r"|[-=#$:/\\.~]|[()]|%\d\d|\d"
)
SIGNS = re.compile(r"[=#()\[\]]|[a-zA-Z]\d")


@fields(texts=unread)
class Molecules(Encoded):
    """Molecules that were read.

    Parameters
    ----------
    texts : ndarray of shape (n,), object
        SMILES or InChI, as they were given.
    found : ndarray of shape (n,), object, optional
        The `Molecule` of each text. A file does not hold it: texts are read again.
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> X = Molecules(np.array(["CCO", "C"], object))
    >>> X[1:].texts
    array(['C'], dtype=object)
    """

    by_row = ("texts",)
    _found: np.ndarray | None = None

    def __init__(
        self, texts: np.ndarray, found: np.ndarray | None = None, dtype: DTypeLike = np.float64
    ):
        super().__init__(dtype)
        self.texts = texts
        self._found = found

    def __getstate__(self) -> dict[str, Any]:
        return {"texts": self.texts, "precision": self.precision}

    def __getitem__(self, rows: Any) -> Molecules:
        found = None if self._found is None else self._found[rows]
        return self.replace(texts=self.texts[rows], _found=found)

    @property
    def found(self) -> np.ndarray:
        """The molecules, (n,)."""
        if self._found is None:
            self._found = as_cells([known(text) for text in self.texts.tolist()])
        return self._found

    def counts(self, fingerprint: Fingerprint) -> Counts:
        """The fragments of each molecule, and how often it has them."""
        parts = [molecule.fragments(fingerprint) for molecule in self.found]
        starts = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
        none = np.empty((0, 2), np.uint64)
        return Counts(np.concatenate([none, *parts]), starts, dtype=self.dtype)

    def descriptors(self) -> np.ndarray:
        """The descriptors of each molecule, NaN where there is none; (n, 79), float64."""
        return np.array([molecule.descriptors() for molecule in self.found])

    def smiles(self) -> list[str]:
        """The canonical SMILES of each molecule: equal molecules have equal ones."""
        return [molecule.smiles for molecule in self.found]

    def scaffolds(self) -> list[str]:
        """The Bemis-Murcko scaffold of each molecule; "" of all without rings."""
        return [molecule.scaffold for molecule in self.found]

    def graphs(self) -> list[tuple]:
        """Molecules as graphs (n, bonds, symbols), as a list of graphs is given."""
        parts = [bonds_of(molecule) for molecule in self.found]
        return [(len(symbols), bonds, symbols) for symbols, bonds in parts]

    def __repr__(self) -> str:
        return f"Molecules({len(self)} rows)"


class MoleculesKind(Kind):
    """Molecules."""

    name = "molecules"
    looks = "a list or column of SMILES, of InChI or of molecules of RDKit"
    encoded = (Molecules,)
    coded = True
    learns = False
    column = "molecule"
    judged = True
    empty = ""
    pictured = True
    size_of = "heavy atoms"
    distance = "mercer.distances:molecule_distance"
    kernels: ClassVar = ("mercer.kernels:Morgan", "mercer.kernels:AtomPairs")

    def holds(self, item: object) -> bool:
        return is_rdkit(item)

    def size(self, item: object) -> float:
        return float(known(item).size)

    def fault(self, item: object) -> str | None:
        if not (isinstance(item, str) or is_rdkit(item)):
            return f"{describe_entry(item)} is neither a text nor a molecule of RDKit"
        try:
            known(item)
        except NoMoleculeError as error:
            return str(error)
        return None

    def text(self, item: object) -> str:
        return shown(item)

    def rows(self, X: SamplesLike, reader: str) -> list:
        rows = as_objects(X, self.name, reader)
        for i, row in enumerate(rows):
            if not (isinstance(row, str) or is_rdkit(row)):
                hint = '. Fill it in with "", or leave it out' if is_missing_value(row) else ""
                raise TypeError(
                    f"X[{i}] is {describe_entry(row)}, but {reader} compares molecules{hint}: give "
                    f"{self.looks}."
                )
        return rows

    def encode(self, X: SamplesLike, like: Molecules | None, reader: str) -> Molecules:
        rdkit(reader)
        found: list[Any] = []
        faults: list[str] = []
        for i, row in enumerate(self.rows(X, reader)):
            try:
                found.append(known(row))
            except NoMoleculeError as error:
                faults.append(f"X[{i}], {shown(row)!r}: {error}")
        if faults:
            raise ValueError(said_of_faults(faults, len(found)))
        texts = as_cells([molecule.text for molecule in found])
        return Molecules(texts, as_cells(found), np.float64 if like is None else like.dtype)

    def joined(self, X: Molecules, more: Molecules) -> Molecules:
        both = ([a.texts, a.found] for a in (X, more))
        texts, found = (np.concatenate(parts) for parts in zip(*both))
        return Molecules(texts, found, X.dtype)

    def ready(self, samples: Molecules) -> None:
        """Fragments and descriptors, where they take some seconds."""
        for molecule in samples.found[:READY].tolist():
            molecule.descriptors()
            for fingerprint in FINGERPRINTS.values():
                if fingerprint.name != "paths":
                    molecule.fragments(fingerprint)

    def remedy(self) -> str:
        return (
            "Give a kernel on molecules, such as kernel=Morgan() or Descriptors(), or where there "
            'is metric= a distance, such as metric=Tanimoto(fingerprint="morgan").'
        )

    def drawing(self, item: object) -> Drawing:
        molecule = known(item)
        symbols, bonds = bonds_of(molecule)
        shown = ["" if symbol.upper() == "C" else symbol.title() for symbol in symbols]
        return Drawing(places_of(molecule), bonds, shown, molecule.text)

    def without_each_node(self, item: object) -> list:
        """A molecule with one atom after the other hidden: as an atom of any element."""
        return hidden_atoms(known(item))

    def picture(self, item: object, weights: Iterable[float] | None = None) -> str:
        return drawn(known(item), weights)


def said_of_faults(faults: list[str], good: int) -> str:
    """The message of an error for molecules that cannot be read."""
    some = "\n".join(f"  {fault}" for fault in faults[:LISTED])
    more = len(faults) - LISTED
    rest = f"\n  and {more} more" * (more > 0)
    return (
        f"{len(faults)} of {len(faults) + good} molecules cannot be read:\n{some}{rest}\n"
        "  Mend them, or leave them out."
    )


def has_grammar(text: str) -> bool:
    """Whether a text has the grammar of SMILES, whatever its chemistry.

    Examples
    --------
    >>> has_grammar("CC(=O)Oc1ccccc1C(=O)O"), has_grammar("CC(=O"), has_grammar("C6H12O6")
    (True, False, False)
    """
    end, depth, atoms, last = 0, 0, 0, ""
    rings: Counter = Counter()
    for match in TOKEN.finditer(text):
        if match.start() != end:
            return False
        end, token = match.end(), match.group()
        if token == "(":
            if not atoms:
                return False
            depth += 1
        elif token == ")":
            depth -= 1
            if depth < 0 or last == "(":
                return False
        elif token[0].isdigit() or token[0] == "%":
            if last in ("", ".", "("):
                return False
            rings[token.lstrip("%0") or "0"] += 1
        elif token[0] in "-=#$:/\\.~":
            if not atoms and token not in "/\\":
                return False
        else:
            atoms += 1
        last = token
    whole = end == len(text) and atoms > 0 and depth == 0
    return whole and all(count % 2 == 0 for count in rings.values())


def look_like_molecules(texts: Iterable[Any]) -> bool:
    """Whether different texts are SMILES, by their grammar, or InChI."""
    some = list(islice((t.strip() for t in texts if isinstance(t, str) and t.strip()), LOOKED_AT))
    if len(some) < 2:
        return False
    if all(text.startswith("InChI=") for text in some):
        return True
    good = [text for text in some if has_grammar(text)]
    signs = sum(bool(SIGNS.search(text)) for text in good)
    carbon = sum("C" in text or "c" in text for text in good)
    enough = len(good) >= MOSTLY * len(some) and signs >= STRUCTURED * len(good)
    return enough and carbon >= CARBON * len(good)


def are_molecules(texts: Iterable[Any]) -> bool | None:
    """Whether different texts are molecules: they look like ones, and RDKit reads most.

    None if they look like molecules and RDKit is not installed.
    """
    texts = list(islice(texts, 2 * LOOKED_AT))
    if not look_like_molecules(texts):
        return False
    some = [text for text in texts if isinstance(text, str) and text.strip()][:PARSED]
    read = 0
    for text in some:
        try:
            read += known(text).size > 0
        except NoMoleculeError:
            pass
        except ImportError:
            return None
    return read >= READ * len(some)
