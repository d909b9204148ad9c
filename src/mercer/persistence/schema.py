"""What is checked of ``schema.json``, the description of a model in the format of skops.

It is a tree of nodes. Each names a class and the loader of skops that makes the object; an array,
a sparse matrix or bytes are a member of the archive, which the node names. Objects that were the
same one have the same ``__id__`` and are described each time, and only the first is read. In a file
that somebody made up, one ``__id__`` could stand for much more than is written there, 60 levels
deep for 2**60 objects, or a thousand arrays for one member. So what is checked here is that the
tree which is built has the form of the text, and reads each member once.
"""

from __future__ import annotations

import json
import zipfile
from typing import Any

import numpy as np

from mercer.persistence.archives import check_array, check_sparse
from mercer.persistence.errors import reason

SCHEMA = "schema.json"
DEPTH = 400  # levels; skops takes about 2 calls for each, and Python allows 1000 at once
MEMBERS = {
    "NdArrayNode": ".npy",
    "SparseMatrixNode": ".npz",
    "BytesNode": ".bin",
    "BytearrayNode": ".bin",
}  # by loader
# scalars that numpy would make of any number, as so many bytes; by their class
KINDS = {"void": "V", "bytes_": "S"}
POOL = 2**10  # numbers in the pool of a seed sequence, 4 as a rule: mixing takes its square


def check_schema(archive: zipfile.ZipFile) -> None:
    """Refuse a description that would be read without end, or that does not fit its members.

    Raises
    ------
    ValueError
        It says what is wrong. Other errors, such as KeyError, if this is not a description at all.
    """
    walk = _Walk(archive)
    walk.form(json.loads(archive.read(SCHEMA)), 0)
    if walk.makes_generators and walk.largest_pool > POOL:
        raise ValueError(f"a seed sequence with a pool of {walk.largest_pool:,} numbers")


class _Walk:
    """What was met on the way through a description."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive = archive
        self.forms: dict[Any, int] = {}  # of each __id__
        self.dtypes: dict[str, np.dtype | None] = {}  # dtype of each member that was checked
        self.owners: dict[str, Any] = {}  # the __id__ that each member belongs to
        self.makes_generators = False
        self.largest_pool = 0

    def form(self, value: Any, depth: int) -> int:
        """A hash of the classes in a value and of their order; the value is checked.

        What has the same ``__id__`` must have the same form. So whichever of them is read in place
        of the others, what is built has the form of the text.
        """
        if depth > DEPTH:
            raise ValueError(f"its objects hold each other more than {DEPTH} levels deep")
        forms: list[Any] = []
        for part in value.values() if isinstance(value, dict) else value:
            if isinstance(part, (dict, list)):
                forms.append(self.form(part, depth + 1))
        if isinstance(value, dict):
            forms += [value.get(name) for name in ("__module__", "__class__", "__loader__")]
        form = hash(tuple(map(_hashable, forms)))
        if isinstance(value, dict):
            self.check_node(value, form)
        return form

    def check_node(self, node: dict, form: int) -> None:
        number, loader = _hashable(node.get("__id__")), _hashable(node.get("__loader__"))
        if number and self.forms.setdefault(number, form) != form:
            raise ValueError(f"different objects have the same number {number!r}")
        if loader in MEMBERS and isinstance(node.get("file"), str):
            self.check_member(node, node["file"], MEMBERS[loader], number or object())
        if loader == "NdArrayNode" and node.get("type") == "json" and _is_unpacked(node):
            raise ValueError("an array of Python objects with several axes holds arrays")
        if loader == "RandomGeneratorNode":
            self.makes_generators = True
        pool = node.get("pool_size")
        if isinstance(pool, dict) and isinstance(pool.get("content"), str):
            size = json.loads(pool["content"])
            if isinstance(size, (int, float)):
                self.largest_pool = max(self.largest_pool, int(size))

    def check_member(self, node: dict, name: str, suffix: str, owner: Any) -> None:
        if not name.endswith(suffix):
            raise ValueError(f"{name!r} is no {suffix} file")
        if self.owners.setdefault(name, owner) != owner:
            raise ValueError(f"{name!r} belongs to several objects")
        if name not in self.dtypes:
            self.dtypes[name] = self.dtype_of(name, suffix)
        dtype, kind = self.dtypes[name], KINDS.get(node["__class__"])
        if dtype is not None and kind is not None and dtype.kind != kind:
            raise ValueError(f"{name!r} holds {dtype}, not {node['__class__']}")

    def dtype_of(self, name: str, suffix: str) -> np.dtype | None:
        """Check a member; the dtype, where it is an array."""
        try:
            if suffix == ".npy":
                with self.archive.open(name) as file:
                    return check_array(file, self.archive.getinfo(name).file_size)[2]
            if suffix == ".npz":
                check_sparse(self.archive.read(name))
        except Exception as error:  # numpy and scipy raise various types
            raise ValueError(f"{name!r} holds {reason(error)}") from error
        return None


def _hashable(value: Any) -> Any:
    """The value, or None for the lists and dicts of JSON."""
    return None if isinstance(value, (dict, list)) else value


def _is_unpacked(node: dict) -> bool:
    """Whether numpy makes this array of objects, and so puts the items of arrays into it."""
    return len(node["shape"]["content"]) != 1 and _holds_arrays(node["content"])


def _holds_arrays(nodes: list) -> bool:
    for node in nodes:
        if node["__class__"] == "ndarray" or node["__loader__"] == "MaskedArrayNode":
            return True
        if node["__loader__"] in ("ListNode", "TupleNode") and _holds_arrays(node["content"]):
            return True
    return False
