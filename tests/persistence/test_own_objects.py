"""Loading runs no code of Mercer's classes, and sets only fields that they declare."""

import ast
import datetime
import inspect
import io
import json
import pkgutil
import sys
import textwrap
import zipfile
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import cases
import mercer
from fuzz import fuzz_fields
from invariances.table import public_estimators
from lanes import few
from mercer.kernels import RBF, QueryKey, TableKernel
from mercer.persistence import ModelFileError, load, model_bytes, own_objects, save
from mercer.search import BruteForce, Index

X = np.random.default_rng(0).normal(size=(20, 3))
JSON = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "1"}
TUPLE = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": []}
DICT = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode", "content": {},
        "key_types": TUPLE | {"__class__": "list", "__loader__": "ListNode"}}  # fmt: skip
ARRAY = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
         "type": "numpy", "file": "1.npy"}  # fmt: skip
#: by loader of skops, what a node has beside the name of a class
NODES = {
    "ObjectNode": {"content": DICT}, "ConstructorFromReduceNode": {"content": TUPLE},
    "DictNode": {"content": {}, "key_types": DICT["key_types"]}, "ListNode": {"content": [JSON]},
    "SetNode": {"content": [JSON]}, "TupleNode": {"content": [JSON]},
    "DefaultDictNode": {"content": {"main": DICT, "default_factory": JSON}},
    "TypeNode": {}, "FunctionNode": {}, "SliceNode": {"content": dict.fromkeys(
        ("start", "stop", "step"), 1)}, "JsonNode": {"content": "1"},
    "MethodNode": {"content": {"func": "__init__", "obj": None}},
    "PartialNode": {"content": {"func": JSON, "args": TUPLE, "kwds": DICT, "namespace": JSON}},
    "OperatorFuncNode": {"attrs": TUPLE}, "BytesNode": {"file": "1.bin"},
    "BytearrayNode": {"file": "1.bin"}, "NdArrayNode": {"type": "numpy", "file": "1.npy"},
    "MaskedArrayNode": {"content": {"data": ARRAY, "mask": ARRAY}},
    "DTypeNode": {"content": ARRAY}, "RandomStateNode": {"content": DICT},
    "RandomGeneratorNode": {"content": {"bit_generator": DICT, "seed_seq": DICT}},
    "SparseMatrixNode": {"type": "scipy", "file": "1.npz"},
    "TreeNode": {"content": DICT, "__reduce__": {"args": TUPLE}},
    "LossNode": {"content": DICT, "__reduce__": {"args": TUPLE}},
    "QuantileForestNode": {"content": DICT, "__reduce__": {"args": TUPLE}},
    "CachedNode": {}, "ValueNode": {"content": "1"}, "OwnNode": {"content": DICT}, "NoNode": {},
}  # fmt: skip

USUAL = ["ObjectNode", "ConstructorFromReduceNode", "ListNode", "TupleNode", "NdArrayNode"]


def all_classes():
    """Every class that a module of Mercer defines, as far as the module can be imported."""
    found = []
    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if module.name.endswith("__main__") or ".networks" in module.name:
            continue
        try:
            content = vars(import_module(module.name)).copy()
        except ImportError:  # of torch, say
            continue
        found += [
            c for c in content.values() if isinstance(c, type) and c.__module__ == module.name
        ]
    return found


def file_with(path, node):
    """A model file that holds a list with one node."""
    array, sparse = io.BytesIO(), io.BytesIO()
    np.save(array, np.ones(3))
    members = {"1.npy": array.getvalue(), "1.bin": b"x", "1.npz": sparse.getvalue()}
    root = TUPLE | {"__class__": "list", "__loader__": "ListNode", "content": [node], "protocol": 2}
    text = json.dumps(root)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name in text:
                archive.writestr(name, content)
        archive.writestr("schema.json", text)
        archive.writestr("mercer.json", json.dumps({"format": 1, "mercer": "0.1"}))


@pytest.mark.parametrize("part", few(1, range(10)))
def test_no_node_runs_code_of_any_class(part, tmp_path):
    """Every class of the package, in nodes of skops: what runs is seen by a profiler."""
    path, ran = tmp_path / "file", []

    def watch(frame, event, argument):
        name, code = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        own = name.startswith("mercer.") and not name.startswith("mercer.persistence")
        if event == "call" and own and code != "<module>":
            ran.append((name, code))

    classes = all_classes()
    assert len(classes) > 800
    loaded = set()
    for number, owner in enumerate(classes[part::10]):
        for loader in NODES if number % 8 == 0 else USUAL:
            node = {"__class__": owner.__name__, "__module__": owner.__module__,
                    "__loader__": loader, **NODES[loader]}  # fmt: skip
            if loader == "MethodNode":
                inner = node | {"__loader__": "ObjectNode", "content": DICT}
                node["content"] = {"func": "__init__", "obj": inner}
            file_with(path, node)
            sys.setprofile(watch)
            try:
                load(path)
                loaded.add(loader)
            except ModelFileError:
                pass
            finally:
                sys.setprofile(None)
            assert not ran, (owner, loader, ran)
    assert "ObjectNode" in loaded
    assert loaded <= {"ObjectNode", "NdArrayNode", "TupleNode"}


def test_the_classes_of_which_files_hold_objects():
    for name in (
        "learners.margin.svc.SVC",
        "kernels.radial.RBF",
        "samples.vectors.Vectors",
        "search.kd_tree.KDTree",
        "distances.strings.Edit",
        "streams.checkpoint.Saved",
    ):
        assert own_objects.own_class(f"mercer.{name}") is not None, name  # fmt: skip
    for owner in all_classes():
        name = f"{owner.__module__}.{owner.__name__}"
        room = owner.__module__.split(".")[1]
        if room in {"cli", "persistence", "threads", "plots", "datasets", "testing"} or (
            room == "streams" and owner.__name__ != "Saved" and "checkpoint" not in name
        ):
            assert own_objects.own_class(name) is None, name
        if issubclass(owner, BaseException):
            assert own_objects.own_class(name) is None, name


def rewritten(content, old, new):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old in members["schema.json"]
    members["schema.json"] = members["schema.json"].replace(old, new)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return file.getvalue()


@pytest.mark.parametrize("name", ["predict", "other", "__class__", "__dict__", "block", "shape "])
def test_a_field_that_no_class_declares_is_refused(name, tmp_path):
    path = tmp_path / "file"
    content = model_bytes(RBF(0.25))
    path.write_bytes(rewritten(content, b'"gamma"', json.dumps(name).encode()))
    with pytest.raises(ModelFileError, match=r"RBF has no field"):
        load(path)


def test_fields_may_be_underscored_in_estimators_alone():
    own_objects.check_field(mercer.SVC, "_center_coef")
    own_objects.check_field(mercer.SVC, "dual_coef_")
    for name in ("_anything", "anything_"):
        with pytest.raises(ValueError, match="no field"):
            own_objects.check_field(mercer.samples.Strings, name)


@pytest.mark.parametrize(
    "place", ["SetNode", "key_types", "default_factory", "RandomStateNode", "DTypeNode"]
)
def test_an_object_is_no_part_of_what_code_reads(place, tmp_path):
    own = {"__class__": "RBF", "__module__": "mercer.kernels.radial", "__loader__": "ObjectNode",
           "content": DICT}  # fmt: skip
    kind = own | {"__loader__": "TypeNode"}
    key_types = DICT["key_types"] | {"content": [kind]}
    main = {"content": {"main": DICT, "default_factory": kind}}
    nodes = {
        "SetNode": TUPLE | {"__class__": "set", "__loader__": "SetNode", "content": [own]},
        "key_types": DICT | {"content": {"a": JSON}, "key_types": key_types},
        "default_factory": {"__class__": "defaultdict", "__module__": "collections",
                            "__loader__": "DefaultDictNode", **main},
        "RandomStateNode": {"__class__": "RandomState", "__module__": "numpy.random.mtrand",
                            "__loader__": "RandomStateNode", "content": own},
        "DTypeNode": {"__class__": "dtype", "__module__": "numpy", "__loader__": "DTypeNode",
                      "content": own},
    }  # fmt: skip
    file_with(tmp_path / "file", nodes[place])
    with pytest.raises(ModelFileError, match="RBF"):
        load(tmp_path / "file")


#: what methods set and no file has: it is deleted, made again from other fields, or lost
NEVER_KEPT = {"View.samples", "CountTables.pairs", "Vectors.checked", "SparseRows.checked"}


def test_every_class_declares_the_fields_that_its_methods_set():
    """The text of each class that may be in a file is read, so that no object is needed."""
    for owner in all_classes():
        if own_objects.own_class(f"{owner.__module__}.{owner.__name__}") is None:
            continue
        if inspect.isabstract(owner):
            continue
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(owner)))):
            stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            of_self = stored and isinstance(node.value, ast.Name) and node.value.id == "self"
            if of_self and f"{owner.__name__}.{node.attr}" not in NEVER_KEPT:
                own_objects.check_field(owner, node.attr)


def test_every_public_estimator_can_be_in_a_file():
    for owner in public_estimators():
        assert own_objects.own_class(f"{owner.__module__}.{owner.__qualname__}") is owner


def measured(pairs):
    """Kernels or distances with samples; the quick lane tries one of each class."""
    seen, found = set(), []
    for case in pairs:
        marks = pytest.mark.full if type(case[0]) in seen else ()
        seen.add(type(case[0]))
        found.append(pytest.param(*case, marks=marks, id=cases.name(case)))
    return found


@pytest.mark.parametrize(("compared", "samples"), measured([*cases.KERNELS, *cases.DISTANCES]))
def test_every_kernel_and_distance_comes_back(compared, samples, tmp_path):
    path = tmp_path / "file"
    if "function=" in repr(compared):  # a function cannot be saved, and the message says so
        with pytest.raises(ModelFileError, match=r"\(a function\)|numpy\.dot"):
            save(compared, path)
        return
    save(compared, path)
    np.testing.assert_allclose(load(path)(samples), compared(samples), rtol=1e-9, atol=1e-9)


def fitted(kernel, samples):
    y = np.arange(samples.shape[0] if hasattr(samples, "shape") else len(samples)) % 3
    return mercer.KernelRidge(kernel=kernel, alpha=1e3).fit(samples, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kernel", "samples"),
    measured(c for c in cases.KERNELS if type(c[0]) is not QueryKey),  # it is not symmetric
)
def test_models_of_every_kernel_come_back(kernel, samples, tmp_path):
    model, path = fitted(kernel, samples), tmp_path / "file"
    if "function=" in repr(kernel):
        with pytest.raises(ModelFileError, match=r"\(a function\)|numpy\.dot"):
            save(model, path)
        return
    save(model, path)
    found = load(path).predict(samples)
    np.testing.assert_allclose(found, model.predict(samples), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [mercer.AdditiveRegressor, mercer.Perceptron])
def test_a_model_that_has_read_a_part_goes_on_from_its_file(make, tmp_path):
    y = (X[:, 0] > 0).astype(int)
    known = {} if make is mercer.AdditiveRegressor else {"classes": [0, 1]}
    model = make().partial_fit(X, y, **known)
    save(model, tmp_path / "file")
    found = load(tmp_path / "file")
    for each in (model, found):
        each.partial_fit(X, y)
    np.testing.assert_allclose(found.predict(X), model.predict(X), rtol=1e-9)


class Common:
    """Objects of a class in place of a function, which can be saved."""

    def __call__(self, a, b):
        return float(len(set(a) & set(b)))


def test_models_of_objects_come_back(tmp_path):
    samples = [("tea", "milk"), ("milk", "tea"), ("rum", "tea"), ("a", "b")]
    model = fitted(mercer.kernels.FromFunction(Common(), positive_definite=True), samples)
    save(model, tmp_path / "file")
    found = load(tmp_path / "file", trusted=[Common])
    np.testing.assert_allclose(found.predict(samples), model.predict(samples))


def numbers(answer):
    """All numbers of an answer, one after the other; of texts, such as filled cells, the codes."""
    if sp.issparse(answer):
        answer = answer.toarray()
    if isinstance(answer, (tuple, list)) or np.asarray(answer).dtype.kind == "O":
        return np.concatenate([numbers(part) for part in answer])
    found = np.asarray(answer)
    return np.frombuffer(found.tobytes(), np.uint32) if found.dtype.kind == "U" else found.ravel()


@pytest.mark.full
def test_every_estimator_and_index_comes_back(tmp_path):
    """All families of models, and an index under each distance; they answer as before."""
    holders = fuzz_fields.holders()
    of_torch = ("Attention", "Conv", "NeuralKernel", "DeepKernelC", "DeepKernelR")
    public = {owner for owner in public_estimators() if not owner.__name__.startswith(of_torch)}
    assert public - {Index} <= {type(made) for made, _ in holders.values()}
    for name, (made, asked) in holders.items():
        fuzz_fields.write(made, tmp_path / "file")
        found = fuzz_fields.read(made, tmp_path / "file")
        for method in fuzz_fields.METHODS:
            if hasattr(made, method):
                answers = [numbers(getattr(m, method)(asked)) for m in (made, found)]
                np.testing.assert_allclose(*answers, rtol=1e-6, atol=1e-9, err_msg=name)


# --- the archive ---------------------------------------------------------------------------------


def small_files(tmp_path):
    path = tmp_path / "file"
    BruteForce(mercer.distances.Minkowski()).fit(np.ones((3000, 3))).save(path)
    return [
        (model_bytes({"kernel": RBF(0.5), "x": np.arange(3.0)}), load),
        (path.read_bytes(), Index.load),
    ]


def flips(content, every):
    """The bits that are turned: all of those outside of large arrays, or some of them."""
    size = len(content)
    near = [*range(min(size, 3000)), *range(max(0, size - 1500), size)]
    return [(at, bit) for at in {*near} for bit in range(8)][::every]


@pytest.mark.parametrize("every", few(1, [151, 3]))
def test_a_bit_that_is_turned_anywhere_is_refused(every, tmp_path):
    path = tmp_path / "turned"
    for content, read in small_files(tmp_path):
        path.write_bytes(content)
        read(path)
        for at, bit in flips(content, every):
            altered = bytearray(content)
            altered[at] ^= 1 << bit
            path.write_bytes(altered)
            with pytest.raises(ModelFileError):
                read(path)


@pytest.mark.parametrize("where", ["before", "after", "between", "unknown", "comment"])
def test_bytes_that_belong_to_nothing_are_refused(where, tmp_path):
    path = tmp_path / "file"
    for content, read in small_files(tmp_path):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            start = archive.infolist()[1].header_offset
        if where == "before":
            altered = b"MZ" + content
        elif where == "after":
            altered = content + b"\0"
        elif where == "between":
            altered = content[:start] + b"hidden" + content[start:]
        else:
            file = io.BytesIO(content)
            with zipfile.ZipFile(file, "a") as archive:
                if where == "unknown":
                    archive.writestr("more.txt", b"x")
                else:
                    archive.comment = b"x"
            altered = file.getvalue()
        path.write_bytes(altered)
        with pytest.raises(ModelFileError):
            read(path)


@pytest.mark.parametrize(("depth", "deep"), [(198, False), (199, True), (900, True)])
def test_the_depth_that_the_page_states(depth, deep, tmp_path):
    """400 levels of text: k lists in each other take 2 k of them, and all others three."""
    path, node = tmp_path / "file", JSON
    for number in range(depth):
        node = TUPLE | {"content": [node], "__id__": number + 1}
    if depth == 900:  # in the text of one value
        node = JSON | {"content": "[" * 900 + "]" * 900}
    file_with(path, node)
    if deep:
        with pytest.raises(ModelFileError, match="levels deep"):
            load(path)
    else:
        found = load(path)[0]
        for _ in range(depth - 1):
            (found,) = found
        assert found == (1,)


# --- values of tables ----------------------------------------------------------------------------

BERLIN = ZoneInfo("Europe/Berlin")
DAYS = pd.date_range("2024-03-29", periods=4, freq="12h")
VALUES = [
    datetime.date(2024, 2, 29), datetime.time(1, 2, 3, 4), datetime.timedelta(-1, 5, 7),
    datetime.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
    datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=-3))),
    datetime.UTC, BERLIN, Decimal("1.50"), Fraction(1, 3), UUID(int=7), 1 + 2j,
    frozenset({1, "a"}), pd.Timestamp("2024-01-01 00:00:00.000000001"),
    pd.Timestamp("2024-10-27 00:30Z").tz_convert("Europe/Berlin"), pd.Timedelta("1D 3ns"),
    pd.Period("2024-02", "M"), pd.Interval(0.5, 1.5), pd.Interval(*DAYS[:2], closed="both"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_values_come_back(value, tmp_path):
    save([value], tmp_path / "file")
    found = load(tmp_path / "file")[0]
    assert type(found) is type(value)
    assert found == value
    assert repr(found) == repr(value)


@pytest.mark.parametrize("text", ['"x"', "[]", '["2024-01-01", 0, "../../etc/passwd"]', "1e999"])
def test_values_that_are_none(text, tmp_path):
    node = {"__class__": "datetime", "__module__": "datetime", "__loader__": "ValueNode"}
    file_with(tmp_path / "file", node | {"content": text})
    with pytest.raises(ModelFileError):
        load(tmp_path / "file")


def cells(values):
    return [values[i % len(values)] for i in range(24)]


COLUMNS = {
    "dates": pd.Series(cells([d.date() for d in DAYS])), "datetimes": pd.Series(cells(DAYS)),
    "zones": pd.Series(cells(DAYS.tz_localize("Europe/Berlin"))),
    "stamps": pd.Series(cells(list(DAYS)), dtype=object),
    "times": pd.Series(cells([datetime.time(1), datetime.time(2)])),
    "durations": pd.Series(cells(pd.to_timedelta([1, 2], "h"))),
    "decimals": pd.Series(cells([Decimal(1), Decimal("2.5")])),
    "categories": pd.Series(cells([*"abc"]), dtype="category"),
    "dates as categories": pd.Series(cells(DAYS), dtype="category"),
    "intervals": pd.Series(pd.cut(np.arange(24.0), 3)),
    "periods": pd.Series(pd.period_range("2024-01", periods=24, freq="M")),
    "ints": pd.Series(cells([1, 2, 3]), dtype="Int64"),
    "strings": pd.Series(cells([*"abc"]), dtype="string"),
    "arrow times": pd.Series(cells(DAYS)).astype(pd.ArrowDtype(pa.timestamp("us", "UTC"))),
    "arrow decimals": pd.Series(
        cells([Decimal(1), Decimal(2)]), dtype=pd.ArrowDtype(pa.decimal128(9, 2))
    ),
    "polars dates": pl.Series(cells([d.date() for d in DAYS])),
    "polars zones": pl.Series(cells(DAYS.to_pydatetime())).dt.replace_time_zone("Europe/Berlin"),
    "polars durations": pl.Series(cells([datetime.timedelta(1), datetime.timedelta(2)])),
    "polars times": pl.Series(cells([datetime.time(1), datetime.time(2)])),
    "polars decimals": pl.Series(cells([Decimal(1), Decimal(2)])),
    "polars enums": pl.Series(cells([*"abc"]), dtype=pl.Enum([*"abc"])),
}  # fmt: skip
LEARNERS = [
    lambda: mercer.KernelRidge(kernel=TableKernel()),
    mercer.AdditiveRegressor,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", LEARNERS, ids=["kernel", "additive"])
@pytest.mark.parametrize("name", COLUMNS)
def test_models_of_all_types_of_columns(name, make, tmp_path):
    column, y = COLUMNS[name], np.sin(np.arange(24.0))
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    table = frame({"a": y, "d": column})
    model = make().fit(table, y)
    save(model, tmp_path / "file")
    found = load(tmp_path / "file").predict(table)
    np.testing.assert_allclose(found, model.predict(table), rtol=1e-9)


@pytest.mark.parametrize(
    "name",
    ["__array_interface__", "__array__", "__len__", "__private_", "__dict__", "__class__", "a b_",
     "fit", "1_"],
)  # fmt: skip
def test_fields_that_python_reads_by_their_names_are_refused(name):
    """numpy asks an object itself, not only its class, for ``__array_interface__``: an address."""
    with pytest.raises(ValueError, match="has no field"):
        own_objects.check_field(mercer.KernelRidge, name)


def test_named_tuples_have_all_of_their_fields():
    Bands = mercer.dedup.signing.Bands
    assert own_objects.made_tuple(Bands, [6, 16]) == Bands(6, 16)
    for values in ([], [6], [6, 16, 2]):
        with pytest.raises(ValueError, match=f"a Bands of {len(values)} fields, not 2"):
            own_objects.made_tuple(Bands, values)


@pytest.mark.parametrize("kind", ["ndarray", "memmap", "float64x", "test", "vectorize"])
def test_keys_of_dicts_are_scalars(kind):
    """numpy has types that take a key for a size, or call it."""
    from mercer.persistence.schema import _check_keys

    node = {"__module__": "numpy", "__class__": kind, "__loader__": "TypeNode"}
    with pytest.raises(ValueError, match=f"a dict with keys of the type numpy.{kind}"):
        _check_keys({"content": [node]})
    _check_keys({"content": [node | {"__class__": "int64"}]})
