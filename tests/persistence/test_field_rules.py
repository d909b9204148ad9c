"""Fields of objects from files: each rule, and that no class with such arrays goes without one."""

import inspect
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import mercer
import mercer.deep
from fuzz import fuzz_fields
from mercer import search
from mercer.distances import Edit, Jaccard, Minkowski
from mercer.persistence import (
    ModelFileError,
    check_fields,
    declared,
    each,
    equal,
    field_rules,
    fields,
    floats,
    halves,
    length_of,
    number,
    offsets,
    one_of,
    optional,
    permutation,
    unread,
    whole,
)
from mercer.search import BruteForce, Index, MetricTree, files

# fitted by torch, which is not there in every environment; what they keep are plain floats
OF_TORCH = [
    name for name in mercer.deep.__all__ if name.startswith(("Attention", "Conv", "NeuralKernel"))
] + [
    "DeepKernelClassifier",
    "DeepKernelRegressor",
]
X = np.random.default_rng(0).normal(size=(300, 3))
INTS, WIDE = np.array([0, 2, 1]), np.arange(6).reshape(3, 2)
TREE = np.array([[1, 2], [-1, -2], [3, -3], [-4, -5]])


@pytest.mark.parametrize(
    ("rule", "right"),
    [
        (whole(lambda _: 3), INTS), (whole(), INTS.astype(np.uint8)), (whole(), INTS[:0]),
        (whole(least=-1), INTS - 1), (whole(lambda _: 6, axes=2), WIDE),
        (whole(length=lambda _: 3), INTS), (whole(lambda _: None), INTS + 2**40),
        (offsets(lambda _: 5), np.array([0, 0, 2, 5])), (offsets(lambda _: 0), np.array([0])),
        (offsets(lambda _: 2, axes=2), np.array([[0, 2], [0, 2]], np.uint32)),
        (permutation(lambda _: 3), INTS), (permutation(lambda _: 0), INTS[:0]),
        (halves, TREE), (halves, TREE[:0]), (halves, np.array([[-2, -1]])),
        (floats(2, lambda _: 3, lambda _: 2), WIDE * 1.0), (floats(1), INTS.astype("f4") + np.nan),
        (number(lambda _: 3), 3), (number(lambda _: 3), np.int64(0)), (number(), 2.5),
        (equal(lambda _: 3), 3), (one_of("a", 1), "a"), (length_of(lambda _: 3), WIDE),
        (length_of(lambda _: 2), ["a", "b"]), (each(whole()), [INTS, INTS[:0]]),
        (optional(whole()), None), (optional(whole()), INTS), (unread, "anything"),
    ],
)  # fmt: skip
def test_what_obeys_a_rule(rule, right):
    rule(None, right)


@pytest.mark.parametrize(
    ("rule", "wrong", "message"),
    [
        (whole(lambda _: 3), INTS + 1, "reaches from 1 to 3, beyond 0 to 2"),
        (whole(lambda _: 3), np.array([0, 2**40]), "beyond 0 to 2"),
        (whole(lambda _: 3), np.array([0, 2**64 - 1], np.uint64), "beyond 0 to 2"),
        (whole(), INTS - 1, "reaches from -1 to 1, beyond 0"),
        (whole(), INTS * 1.0, "an array of float64 of shape"),
        (whole(), INTS == 0, "an array of bool"),
        (whole(), WIDE, "not whole numbers with 1 axes"),
        (whole(), [0, 1], "of the type list"),
        (whole(), None, "of the type NoneType"),
        (whole(length=lambda _: 4), INTS, "has 3 entries, not 4"),
        (offsets(lambda _: 5), np.array([0, 3, 2, 5]), "descends"),
        (offsets(lambda _: 5), np.array([0, 3]), "ends at 3, not at 5"),
        (offsets(lambda _: 5), np.array([1, 5]), "does not begin with 0"),
        (offsets(lambda _: 5), np.array([], int), "|"),
        (offsets(lambda _: 5), np.array([0, 5.0]), "float64"),
        (offsets(lambda _: 5, length=lambda _: 3), np.array([0, 5]), "has 2 entries, not 3"),
        (offsets(lambda _: 2, axes=2), np.array([[0, 2], [0, 1]]), "ends at 1"),
        (permutation(lambda _: 3), INTS[:2], "has 2 entries, not 3"),
        (permutation(lambda _: 3), np.array([0, 2, 2]), "lacks 1"),
        (permutation(lambda _: 3), np.array([0, 2, 3]), "beyond 0 to 2"),
        (permutation(lambda _: 3), np.array([0, 2, -1]), "beyond 0 to 2"),
        (halves, TREE[:, ::-1][:, :1], "not two columns"),
        (halves, TREE[::-1], "leads back to an earlier node"),
        (halves, np.array([[1, 2], [-1, -2], [2, -3], [-4, -5]]), "every node and every leaf once"),
        (halves, np.array([[0, -1]]), "every node"),
        (halves, np.array([[1, -1], [1, -2]]), "every node"),
        (halves, np.array([[2, -1], [-2, -3], [1, -4]]), "leads back"),
        (halves, np.array([[-1, 2**40]]), "every node"),
        (halves, np.array([[-1, -2], [1, -3]]), "leads back to an earlier node"),  # to itself
        (floats(2), INTS * 1.0, "not floating numbers with 2 axes"),
        (floats(1), INTS, "int64"),
        (floats(1), INTS * 1j, "complex"),
        (floats(2, None, lambda _: 3), WIDE * 1.0, "has 2 columns, not 3"),
        (number(lambda _: 3), 4, "not a number from 0 to 3"),
        (number(lambda _: 3), 2.0, "not a number"),
        (number(lambda _: 3), True, "not a number"),
        (number(lambda _: 3), "2", "not a number"),
        (number(), np.nan, "is nan"),
        (number(), -1, "is -1"),
        (equal(lambda _: 3), 4, "is 4, not 3"),
        (equal(lambda _: 3), 3.0, "is 3.0, not 3"),
        (one_of("a", 1), True, "not one of"),
        (one_of("a", 1), INTS, "not one of"),
        (length_of(lambda _: 3), WIDE[:2], "has 2 rows, not 3"),
        (each(whole()), [INTS, INTS - 1], "beyond 0"),
        (each(whole()), INTS, "not a list"),
        (optional(whole()), INTS - 1, "beyond 0"),
    ],
)
def test_what_breaks_a_rule(rule, wrong, message):
    with pytest.raises((ValueError, IndexError), match=message):
        rule(None, wrong)


def test_long_offsets_are_compared_in_parts(monkeypatch):
    monkeypatch.setattr(field_rules, "STEP", 4)
    rising = np.arange(11)
    offsets(lambda _: 10)(None, rising)
    for at in range(1, 11):
        wrong = rising.copy()
        wrong[at] = wrong[at - 1] - 1 if at > 1 else -1
        with pytest.raises(ValueError, match="descends"):
            offsets(lambda _, end=wrong[-1]: end)(None, wrong)


# --- the door ------------------------------------------------------------------------------------


@fields(codes=whole(lambda it: len(it.names)))
class Chosen:
    def __init__(self, codes, names="ab"):
        self.codes, self.names = codes, names


@fields(more=whole())
class ChosenTwice(Chosen):
    pass


def test_objects_are_checked_wherever_they_are_held():
    wrong = Chosen(np.array([2]))
    odd = np.empty(1, object)
    odd[0] = [wrong]
    deep = SimpleNamespace(a=SimpleNamespace(b=wrong))
    for holder in (wrong, [wrong], (1, {"a": wrong}), odd, deep):
        with pytest.raises(ValueError, match=r"^Chosen\.codes reaches from 2 to 2, beyond 0 to 1$"):
            check_fields(holder)
    check_fields([Chosen(np.array([1])), None, 1, "a", {1: 2}, np.zeros(3), Chosen])


def test_rules_are_inherited_and_names_that_are_absent_are_not_asked_for():
    assert {*declared(ChosenTwice)} == {"codes", "more"}
    twice = ChosenTwice(np.array([1]))
    check_fields(twice)
    twice.more = np.array([-1])
    with pytest.raises(ValueError, match=r"ChosenTwice\.more reaches"):
        check_fields(twice)
    del twice.names
    with pytest.raises(ValueError, match=r"ChosenTwice\.codes does not fit: AttributeError"):
        check_fields(twice)


def test_an_object_that_holds_itself_is_checked_once():
    loop = Chosen(np.array([1]))
    loop.loop = [loop]
    check_fields(loop)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.bsr_array, sp.coo_array])
def test_sparse_arrays_are_checked_wherever_they_are(kind):
    rows = kind(np.eye(3))
    check_fields({"rows": rows})
    name = "coords" if kind is sp.coo_array else "indices"
    wrong = np.array([0, 2**30, 2], np.int32)
    setattr(rows, name, (wrong, wrong) if name == "coords" else wrong)
    with pytest.raises(ValueError, match=r"must be <|beyond 0 to 2"):
        check_fields({"rows": rows})


# --- through files -------------------------------------------------------------------------------


def put(path, index, way, value):
    """A file of the object in which one part is another."""
    fuzz_fields.write(fuzz_fields.put(index, way, value), path)
    return path


@pytest.mark.parametrize("apart", [False, True])
def test_columns_of_sparse_rows_in_index_files(apart, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGE", 0 if apart else 2**16)
    rows = sp.csr_array(X * (X > 0))
    index = BruteForce(Minkowski(1)).fit(rows)
    columns, starts = rows.indices.copy(), rows.indptr.copy()
    columns[5] = 2**30
    path = put(tmp_path / "a.index", index, ("_training", "X", "indices"), columns)
    for check in (True, False):
        with pytest.raises(ModelFileError, match="indices must be <"):
            Index.load(path, check=check)
    starts[5] = 2**30
    path = put(tmp_path / "a.index", index, ("_training", "X", "indptr"), starts)
    with pytest.raises(ModelFileError, match="descends, so that parts overlap"):
        Index.load(path)


def test_codes_of_sets_in_index_files(tmp_path):
    index = BruteForce(Jaccard()).fit([{1, 2}, {2, 3}])
    codes = np.array([0, 1, 2**30, 2], np.int32)
    path = put(tmp_path / "a.index", index, ("_training", "X", "values"), codes)
    with pytest.raises(ModelFileError, match=r"Sets\.values reaches from 0 to 1073741824"):
        Index.load(path)
    for codes in ([0, 0, 1, 2], [0, 1, 2, 1]):
        codes = np.array(codes, np.int32)
        path = put(tmp_path / "a.index", index, ("_training", "X", "values"), codes)
        with pytest.raises(ModelFileError, match=r"Sets\.values does not ascend within a set"):
            Index.load(path)


def test_the_order_of_a_tree_in_a_model_file(tmp_path):
    model = mercer.KNeighborsClassifier(algorithm="kd_tree").fit(X, X[:, 0] > 0)
    order = model.index_.tree_.order.copy()
    order[7] = 2**40
    path = put(tmp_path / "a.mercer", model, ("index_", "tree_", "order"), order)
    with pytest.raises(ModelFileError, match=r"BoxTree\.order reaches from .* to 1099511627776"):
        mercer.load(path)


def test_a_tree_whose_ways_down_do_not_end(tmp_path):
    index = MetricTree(Edit(), leaf_size=2).fit(["ab", "abc", "b", "ba", "c", "cd", "dd"])
    path = put(tmp_path / "a.index", index, ("_halves",), np.zeros_like(index._halves))
    with pytest.raises(ModelFileError, match=r"MetricTree\._halves does not name every node"):
        Index.load(path)


def test_refusals_come_before_anything_is_made_of_a_size_in_a_file(tmp_path):
    """Sparse rows of 2**60 rows, as the skeleton of an index file says."""
    BruteForce(Minkowski(1)).fit(sp.csr_array(X * (X > 0))).save(tmp_path / "a.index")
    with zipfile.ZipFile(tmp_path / "a.index") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "in", "w") as inner:
        (tmp_path / "skeleton").write_bytes(members["skeleton.mercer"])
        with zipfile.ZipFile(tmp_path / "skeleton") as old:
            for name in old.namelist():
                content = old.read(name)
                if name == "schema.json":
                    content = re.sub(rb'"content":"300"', b'"content":"%d"' % 2**60, content)
                    assert str(2**60) in json.dumps(json.loads(content))
                inner.writestr(name, content)
    members["skeleton.mercer"] = (tmp_path / "in").read_bytes()
    with zipfile.ZipFile(tmp_path / "b.index", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="of another number than they say"):
        Index.load(tmp_path / "b.index")


# --- all classes ---------------------------------------------------------------------------------

#: arrays of whole numbers or of objects that need no rule: numpy alone indexes with them, which
#: checks, or nothing does
HARMLESS = {
    "classes_": "looked up by numpy",
    "n_iter_": "shown",
    "mistakes_": "shown",
    "feature_names_in_": "compared with the names of columns",
    "validation_rows_": "shown",
    "cv_results_": "shown",
    "counts": "looked up by numpy",
    "parts": "held by Prepared beside others of as many rows",
    "component_indices_": "shown",
}


def arrays_of(value, seen, owner="?", field="?"):
    """The class and field of each array of whole numbers, truth values or objects."""
    if id(value) in seen or isinstance(value, (str, bytes, int, float, type, type(None))):
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "iubO":
            yield owner, field
        return
    if sp.issparse(value):  # checked wherever it is
        return
    if isinstance(value, dict):
        parts = [(owner, field, part) for part in value.values()]
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        parts = [(owner, field, part) for part in value]
    else:
        names = value._fields if hasattr(value, "_fields") else getattr(value, "__dict__", ())
        parts = [(type(value), name, getattr(value, name)) for name in names]
    for owner, field, part in parts:
        yield from arrays_of(part, seen, owner, field)


@pytest.mark.full
def test_every_class_that_holds_such_arrays_declares_a_rule_for_each(tmp_path):
    public = [*(getattr(mercer, n) for n in mercer.__all__), search.KDTree, search.MetricTree]
    public += [getattr(mercer.deep, name) for name in mercer.deep.__all__ if name not in OF_TORCH]
    fitted = {type(holder.made) for holder in fuzz_fields.holders().values()}
    made = {c for c in public if inspect.isclass(c) and issubclass(c, BaseEstimator)}
    assert {c for c in made if hasattr(c, "fit") and not inspect.isabstract(c)} <= fitted
    seen, lacking = {}, set()
    for holder in fuzz_fields.holders().values():
        fuzz_fields.write(holder.made, tmp_path / "file")
        loaded = fuzz_fields.read(holder.made, tmp_path / "file")
        for owner, field in arrays_of(loaded, seen):
            own = owner != "?" and owner.__module__.startswith("mercer")
            if own and field not in declared(owner) and field not in HARMLESS:
                lacking.add(f"{owner.__module__}.{owner.__qualname__}.{field}")
    assert not lacking


@pytest.mark.full
def test_forged_fields_of_every_class():
    """A part of all of them, in a process that may crash or never end."""
    program = "from fuzz.fuzz_fields import forge_all; forge_all(0, 199)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[1], capture_output=True,
        text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-2000:])
    ends = [line.rpartition("| ")[2] for line in done.stdout.splitlines()]
    assert len(ends) > 200
    assert ends.count("refused") > len(ends) / 5
    assert "unreadable" not in ends
