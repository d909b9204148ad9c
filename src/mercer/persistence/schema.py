"""Checks of ``schema.json``, the description of a model in the format of skops.

It is a tree of nodes. Each names a class and the loader of skops that makes the object; an array,
a sparse matrix or bytes are a member of the archive, which the node names. Objects that were the
same one have the same ``__id__`` and are described each time, and only the first is read. In a file
that somebody made up, one ``__id__`` could expand to much more than is written there, 60 levels
deep for 2**60 objects, or a thousand arrays for one member. So the checks here ensure that the
tree has the form of the text, and reads each member once.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.persistence.archives import check_array, check_sparse
from mercer.persistence.json_texts import read_json, reason
from mercer.persistence.own_objects import check_field, loader_of, own_class
from mercer.persistence.values import VALUE_NODE, VALUES

SCHEMA = "schema.json"
PROTOCOL = 2  # of skops; files of Mercer have no older one
DEPTH = 400  # levels of text; skops takes about 2 calls for each object, and Python allows 1000
MEMBERS = {
    "NdArrayNode": ".npy",
    "SparseMatrixNode": ".npz",
    "BytesNode": ".bin",
    "BytearrayNode": ".bin",
}  # by loader
# scalars that numpy would make of any number, as so many bytes; by their class
KINDS = {"void": "V", "bytes_": "S"}
POOL = 2**10  # numbers in the pool of a seed sequence, 4 as a rule: mixing takes its square

# What each loader of skops makes, of the packages whose types Mercer judges: these classes by
# calling them, and those of the loaders with None as the name says. Every other loader, which calls
# what a file names, makes objects of classes that the user trusts, or nothing.
SCALARS = "an array or a scalar of numpy"
#: packages whose types Mercer judges: what is safe among them is on a list; the rest
#: (subprocess.Popen, functools.partial, scikit-learn's trees) is not, and no user has to know why
JUDGED = {"mercer", "numpy", "scipy", "sklearn", "skops", *sys.stdlib_module_names}
MAKES: dict[str, set[str] | str | None] = {
    "DictNode": {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "SetNode": {"builtins.set", "builtins.frozenset"},
    "SliceNode": {"builtins.slice"},
    "BytesNode": {"builtins.bytes"},
    "BytearrayNode": {"builtins.bytearray"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
    "MaskedArrayNode": {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"},
    "DTypeNode": {"numpy.dtype"},
    "DefaultDictNode": {"collections.defaultdict"},
    "NdArrayNode": SCALARS,
    "JsonNode": None, "SparseMatrixNode": None, "ObjectNode": None, "FunctionNode": None,
    "TypeNode": None, "LossNode": None, VALUE_NODE: set(VALUES),
}  # fmt: skip
#: loaders that give what they hold to code of Python, numpy or scikit-learn, which may ask it for
#: its length or hash: there are no objects of Mercer's classes in it
CONSUME = {
    "SetNode", "RandomStateNode", "RandomGeneratorNode", "MaskedArrayNode", "DTypeNode", "LossNode",
}  # fmt: skip
#: what the keys of dicts may be, beside scalars of numpy
KEYS = {"builtins.str", "builtins.int", "builtins.float", "builtins.bool"}
#: and what makes the defaults of a dict
FACTORIES = KEYS | {"builtins.list", "builtins.dict", "builtins.set", "builtins.tuple"}


def check_schema(archive: zipfile.ZipFile, others: Iterable[str] = ()) -> set[str]:
    """Refuse a description that would be read without end, or that does not fit its members.

    ``others`` are members beside it and those that it names. What is returned are names of types
    of which Mercer makes no objects, at least not in the way that the description asks for.

    Raises
    ------
    ValueError
        It says what is wrong. Other errors, such as KeyError, if this is not a description at all.
    """
    walk = _Walk(archive)
    root = read_json(archive.read(SCHEMA), DEPTH)
    if not (type(root["protocol"]) is int and root["protocol"] >= PROTOCOL):
        raise ValueError(f"a description in the protocol {root['protocol']!r}")
    walk.form(root)
    if walk.makes_generators and walk.largest_pool > POOL:
        raise ValueError(f"a seed sequence with a pool of {walk.largest_pool:,} numbers")
    unknown = set(archive.namelist()) - {SCHEMA, *others, *walk.owners}
    if unknown:
        raise ValueError(f"{min(unknown)!r} is no part of it")
    return walk.refused


class _Walk:
    """The nodes seen so far in a description."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive = archive
        self.forms: dict[Any, int] = {}  # of each __id__
        self.dtypes: dict[str, np.dtype | None] = {}  # dtype of each member that was checked
        self.owners: dict[str, Any] = {}  # the __id__ that each member belongs to
        self.refused: set[str] = set()  # names of types
        self.makes_generators = False
        self.largest_pool = 0

    def form(self, value: Any, consumed: bool = False) -> int:
        """A hash of the classes in a value and of their order; the value is checked.

        What has the same ``__id__`` must have the same form. So whichever of them is read in place
        of the others, what is built has the form of the text. ``consumed`` says that an object
        around it is made by code that may ask its parts for more than their values.
        """
        forms: list[Any] = []
        is_node = isinstance(value, dict) and isinstance(value.get("__loader__"), str)
        inside = consumed or (is_node and value["__loader__"] in CONSUME)
        for part in value.values() if isinstance(value, dict) else value:
            if isinstance(part, (dict, list)):
                forms.append(self.form(part, inside))
        if isinstance(value, dict):
            forms += [value.get(name) for name in ("__module__", "__class__", "__loader__")]
        form = hash(tuple(map(_hashable, forms)))
        if isinstance(value, dict):
            number = _hashable(value.get("__id__"))
            if number and self.forms.setdefault(number, form) != form:
                raise ValueError(f"different objects have the same number {number!r}")
            pool = value.get("pool_size")  # in the state of a seed sequence, a dict of nodes
            if isinstance(pool, dict) and isinstance(pool.get("content"), str):
                size = read_json(pool["content"])
                if isinstance(size, (int, float)):
                    self.largest_pool = max(self.largest_pool, int(size))
        if is_node:
            self.check_node(value)
            self.check_class(value, consumed)
        return form

    def check_node(self, node: dict) -> None:
        number, loader = _hashable(node.get("__id__")), node["__loader__"]
        if loader in MEMBERS and isinstance(node.get("file"), str):
            self.check_member(node, node["file"], MEMBERS[loader], number or object())
        if loader == "NdArrayNode" and node.get("type") == "json":
            if _name(node["shape"]) != "builtins.tuple":
                raise ValueError("an array of Python objects whose shape is no tuple")
            if len(node["shape"]["content"]) != 1 and _holds_arrays(node["content"]):
                raise ValueError("an array of Python objects with several axes holds arrays")
        if loader == "JsonNode":
            read_json(node["content"], 0)  # one text or number
        if loader == "DictNode":
            _check_keys(node["key_types"])
        if loader == "DefaultDictNode":
            _check_factory(node["content"]["default_factory"])
        if loader == "RandomGeneratorNode":
            self.makes_generators = True

    def check_class(self, node: dict, consumed: bool) -> None:
        """Note the type of a node where nothing of that type is made in that way."""
        name, loader = _name(node), node["__loader__"]
        package = name.partition(".")[0]
        if package == "mercer":
            owner = own_class(name)
            if owner is None or loader != loader_of(owner) or consumed:
                self.refused.add(_said(node))
            elif loader == "ObjectNode":
                _check_fields(owner, node.get("content"))
            elif loader == "NdArrayNode" and node.get("type") != "numpy":
                raise ValueError(f"{name} holds no numbers")
        elif name in VALUES or package in JUDGED:
            makes = MAKES.get(loader, set())
            if makes is SCALARS:
                found = getattr(np, node["__class__"], None)
                fits = isinstance(found, type) and issubclass(found, (np.generic, np.ndarray))
            else:
                fits = makes is None or name in makes
            if not fits or (name in VALUES) != (loader == VALUE_NODE):
                self.refused.add(_said(node))
            elif loader == "ObjectNode":
                _check_state(node.get("content"))

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


def _hashable(value: object) -> Any:
    """The value, or None for the lists and dicts of JSON."""
    return None if isinstance(value, (dict, list)) else value


def _name(node: dict) -> str:
    """The dotted name of the class of a node."""
    return f"{node['__module__']}.{node['__class__']}"


def _said(node: dict) -> str:
    """The name of the type of a node in messages; for a method, that of the method."""
    if node["__loader__"] == "MethodNode":
        return f"{_name(node)}.{node['content']['func']}"
    return _name(node)


def _holds_arrays(nodes: list) -> bool:
    """Whether numpy would ask one of these for its items."""
    for node in nodes:
        own = str(node["__module__"]).startswith("mercer.")
        if own or node["__class__"] == "ndarray" or node["__loader__"] == "MaskedArrayNode":
            return True
        if node["__loader__"] in ("ListNode", "TupleNode") and _holds_arrays(node["content"]):
            return True
    return False


def _check_keys(types: dict) -> None:
    """The types of the keys of a dict, which are called with the keys."""
    for node in types["content"]:
        name = _name(node)
        scalar = getattr(np, node["__class__"], None) if node["__module__"] == "numpy" else None
        if node["__loader__"] != "TypeNode" or not (
            name in KEYS or (isinstance(scalar, type) and issubclass(scalar, np.generic))
        ):
            raise ValueError(f"a dict with keys of the type {name}")


def _check_factory(node: dict) -> None:
    """The function that a dict with defaults calls for a missing key."""
    if node["__loader__"] != "JsonNode" and _name(node) not in FACTORIES:
        raise ValueError(f"a dict whose defaults are made by {_name(node)}")


def _check_fields(owner: type, content: dict | None) -> None:
    """The fields of an object of a class of Mercer."""
    if content is None or (content["__loader__"] == "JsonNode" and content["content"] == "null"):
        return
    if content["__loader__"] != "DictNode" or _name(content) != "builtins.dict":
        raise ValueError(f"the fields of {owner.__name__} are no dict")
    for field in content["content"]:
        check_field(owner, field)


def _check_state(content: dict | None) -> None:
    """Check the state of an object of scikit-learn: its names and its version."""
    if content is None:
        return
    if content["__loader__"] not in ("DictNode", "JsonNode", "TupleNode", "ListNode"):
        raise ValueError(f"an object whose state is of the type {_name(content)}")
    if content["__loader__"] == "DictNode":
        version = content["content"].get("_sklearn_version")
        if version is not None and version["__loader__"] != "JsonNode":
            raise ValueError("an object whose version is no text")
