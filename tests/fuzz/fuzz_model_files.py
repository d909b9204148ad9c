"""Bytes as model files and index files: whole ones, altered in ways that nobody thought of.

`one_input` takes one of the files in `whole_files` and alters it: nodes of its description are
exchanged, repeated, nested or given odd values, headers of arrays claim other shapes and types,
members are cut, doubled, compressed, renamed or left out, bytes are flipped. Reading it ends in an
object or in a `ModelFileError`, and takes no more memory than the file has reason to. ``make fuzz``
runs it as a script.
"""

from __future__ import annotations

import functools
import io
import json
import os
import struct
import tempfile
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
import mercer.kernels as k
from fuzz.driver import Source, fuzz
from mercer.distances import Edit, Minkowski
from mercer.persistence import ModelFileError
from mercer.search import BruteForce, Index

Members = list[tuple[str, bytes]]

LOADERS = [
    "ObjectNode", "DictNode", "ListNode", "TupleNode", "SetNode", "JsonNode", "NdArrayNode",
    "SparseMatrixNode", "BytesNode", "BytearrayNode", "FunctionNode", "TypeNode", "MethodNode",
    "PartialNode", "ConstructorFromReduceNode", "SliceNode", "CachedNode", "RandomStateNode",
    "RandomGeneratorNode", "DTypeNode", "MaskedArrayNode", "DefaultDictNode", "LossNode",
    "TreeNode", "OperatorFuncNode", "NoNode",
]  # fmt: skip
CLASSES = [
    ("builtins", "dict"), ("builtins", "list"), ("builtins", "str"), ("builtins", "bytearray"),
    ("builtins", "eval"), ("numpy", "ndarray"), ("numpy", "float64"), ("numpy", "void"),
    ("numpy", "bytes_"), ("numpy.random", "Generator"), ("os", "system"), ("", ""),
    ("scipy.sparse._csr", "csr_array"), ("sklearn.svm._classes", "SVC"), ("numpy", "exp"),
    ("mercer.samples.strings", "Strings"), ("mercer.kernels.radial", "RBF"),
    ("mercer.persistence.models", "save"), ("mercer.learners.svm", "SVC"), ("mercer", "\ud800"),
]  # fmt: skip
VALUES = [
    None, True, 0, -1, 1, 2**31, 2**63, 10**30, 1.5, float("nan"), float("inf"), "", "x", "null",
    "[" * 50_000, '"\\ud800"', "1e999", "9" * 5000, [], {}, [[]], {"": {}}, "numpy", "\0", "\ud800",
]  # fmt: skip
SHAPES = [(), (0,), (1,), (-1,), (2**20,), (2**40,), (2**62, 4), (3, 2**31), (2**70,), ("a",), None]
DTYPES = ["<f8", "|O", "|V0", "<U1", "|S0", "<M8[ns]", "<i8", ">f4", "|b1", "<c16", [("a", "<f8")]]
HEADS = [b"-" * 9000 + b"1", b"(" * 9000, b"{" * 300, b"1e999", b"{}", b"\0" * 50]
MOST = 2**27  # bytes that reading no such file takes: the whole ones have 20 KB


@functools.cache
def whole_files() -> list[bytes]:
    """Files that Mercer has written: models of each kind of samples, other objects, indexes."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    y = np.arange(12) % 2
    words = [f"{'ab' * (i % 3)}c{i}" for i in range(12)]
    sets = [{i % 3, i % 5} for i in range(12)]
    sparse = sp.csr_array(X * (X > 0))
    table = np.array([["a", np.float64(1.0)], [None, 3]], dtype=object)
    lengths = np.empty(2, object)
    lengths[:] = [X, X[:2]]
    models = [
        mercer.KernelRidge(kernel=k.RBF(0.5) + 2 * k.Linear()).fit(X, y),
        mercer.SVC(kernel=k.Spectrum(2)).fit(words, y),
        mercer.SVC(kernel=k.Jaccard()).fit(sets, y),
        mercer.KernelRidge(kernel="rbf").fit(sparse, y),
        make_pipeline(StandardScaler(), mercer.KernelRidge(kernel="rbf")).fit(X, y),
        [np.random.default_rng(0), np.random.RandomState(0)],
        [sparse, sparse, b"bytes", bytearray(b"bytes"), slice(1, 2), {1: (2, {3})}],
        [table, lengths, lengths, np.float32(1), np.zeros(1, "i4,f8")[0]],
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        files = []
        for model in models:
            mercer.save(model, path)
            files.append(path.read_bytes())
        for index in (BruteForce(Minkowski()).fit(X), BruteForce(Edit()).fit(words)):
            index.save(path)
            files.append(path.read_bytes())
    return files


def members_of(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def packed(members: Members, compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive, in which a name may stand twice."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as archive:
        warnings.simplefilter("ignore", UserWarning)  # of names that stand twice
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def altered(s: Source, content: bytes) -> bytes:
    """A file in which something is wrong, at one of its levels."""
    try:
        members = members_of(content)
    except Exception:  # it was altered before, and is no archive any more
        return flipped(s, content)
    compression = zipfile.ZIP_STORED
    for _ in range(1 + s.below(3)):
        if not members:
            break
        at, way = s.below(len(members)), s.below(12)
        if way < 5:
            at = s.one_of([i for i, (n, _) in enumerate(members) if n.endswith(".json")] or [at])
        elif way < 8:
            arrays = [i for i, (n, _) in enumerate(members) if n.endswith((".npy", ".npz"))]
            at = s.one_of(arrays or [at])
        name, member = members[at]
        if name == "skeleton.mercer" and s.below(4):
            members[at] = (name, altered(s, member))
        elif way < 5:
            members[at] = (name, altered_json(s, member))
        elif way < 8:
            members[at] = (name, altered_array(s, member))
        elif way == 8:
            members[at] = (name, flipped(s, member))
        elif way == 9:
            other = s.one_of(members)
            members[at] = s.one_of([(other[0], member), (name, other[1]), (name[:-1], member)])
        elif way == 10:
            members = s.one_of([members[:at] + members[at + 1 :], [*members, members[at]]])
        else:
            compression = s.one_of([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    content = packed(members, compression)
    return flipped(s, content) if s.below(8) == 7 else content


def flipped(s: Source, content: bytes) -> bytes:
    """With other bytes, or cut off."""
    whole = bytearray(content)
    for _ in range(1 + s.below(4)):
        if whole:
            whole[(s.below(2**15) * 4099 + s.below(256)) % len(whole)] ^= 1 << s.below(8)
    return bytes(whole[: s.below(2**15) * len(whole) >> 15] if s.below(3) == 2 else whole)


def altered_json(s: Source, content: bytes) -> bytes:
    try:
        root = json.loads(content)
    except (ValueError, RecursionError):
        return flipped(s, content)
    places = _places(root)
    if not places:
        return json.dumps(s.one_of(VALUES)).encode()
    holder, key = s.one_of(places)
    other, its = s.one_of(places)
    nodes = [node for node, name in places if name == "__loader__"] or [{}]
    node = s.one_of(nodes)
    way = s.below(10)
    if way == 0:
        holder[key] = s.one_of(VALUES)
    elif way == 1:
        holder[key] = json.loads(json.dumps(other[its]))
    elif way == 2:
        del holder[key]
    elif way == 3:
        node["__loader__"] = s.one_of(LOADERS)
    elif way == 4:
        node["__module__"], node["__class__"] = s.one_of(CLASSES)
    elif way == 5:  # one number for two
        node["__id__"] = s.one_of(nodes).get("__id__")
    elif way == 6 and isinstance(holder, list):
        holder.extend([holder[key]] * s.one_of([1, 3, 1000]))
    elif way == 7:
        for _ in range(s.one_of([1, 10, 150, 250])):
            holder[key] = {
                "__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
                "content": [holder[key]],
            }  # fmt: skip
    elif way == 8:
        holder[key] = str(holder[key])
    else:
        files = [node for node in nodes if "file" in node] or nodes
        names = [node.get("file") for node in files]
        s.one_of(files)["file"] = s.one_of([*names, "schema.json", 1, ".."])
    try:
        return json.dumps(root).encode()
    except RecursionError:
        return b"[" * 2**16


def _places(value) -> list:
    """Where the values of a description stand: list or dict, and position or name."""
    found, left = [], [value]
    while left:
        holder = left.pop()
        for key, part in holder.items() if isinstance(holder, dict) else enumerate(holder):
            found.append((holder, key))
            if isinstance(part, (dict, list)):
                left.append(part)
    return found


def altered_array(s: Source, content: bytes) -> bytes:
    """Another header or other numbers; in sparse matrices, of one of the arrays."""
    if content[:2] == b"PK":
        try:
            inner = members_of(content)
        except Exception:
            return flipped(s, content)
        at = s.below(len(inner))
        inner[at] = (inner[at][0], altered_array(s, inner[at][1]))
        return packed(inner, s.one_of([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    if content[:8] != b"\x93NUMPY\1\0":
        return flipped(s, content)
    length = struct.unpack("<H", content[8:10])[0]
    head, numbers = content[10 : 10 + length], content[10 + length :]
    version = b"\1\0"
    way = s.below(5)
    if way == 0:
        numbers = numbers[: s.below(len(numbers) + 1)]
    elif way == 1 and numbers:
        item, start = s.one_of([b"\xff", b"\x7f", b"\0"]), s.below(len(numbers)) & ~7
        numbers = numbers[:start] + item * min(8, len(numbers) - start) + numbers[start + 8 :]
    elif way == 2:
        head = s.one_of(HEADS)
    elif way == 3:
        version = s.one_of([b"\2\0", b"\3\0", b"\4\0"])
    else:
        order = s.below(2) == 1
        head = {"descr": s.one_of(DTYPES), "fortran_order": order, "shape": s.one_of(SHAPES)}
        head = repr(head).encode()
    size = struct.pack("<H" if version == b"\1\0" else "<I", len(head))
    return b"\x93NUMPY" + version + size + head + numbers


def one_input(data: bytes) -> str:
    """Read one altered file as a model and as an index; what became of it."""
    s = Source(data)
    content = altered(s, s.one_of(whole_files()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(content)
        outcomes = [outcome(read, path) for read in (mercer.load, Index.load)]
        assert os.listdir(folder) == ["file"]
    return " ".join(outcomes)


def outcome(read, path: Path) -> str:
    """Whether a file is read or refused; nothing else may happen."""
    tracemalloc.start(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another version of scikit-learn, say
            found = type(read(path)).__name__
    except ModelFileError as error:
        found = "refused" if str(error).isprintable() else "unreadable"
    finally:
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert taken < MOST, f"{taken:,} bytes of memory"
    assert found != "unreadable", "a message that cannot be shown"
    return found


if __name__ == "__main__":
    fuzz(one_input)
