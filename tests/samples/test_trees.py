"""Trees: what they are read from, which are refused, and how deep they may be."""

import pickle
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import cases
import mercer
from mercer.kernels import SubsetTree
from mercer.persistence import check_fields
from mercer.samples import (
    Trees,
    as_samples,
    joined,
    kind_named,
    kind_of,
    kind_that_holds,
    row_numbers,
)

KIND = kind_named("trees")


def encoded(X, like=None):
    return as_samples(X, "trees", like=like, reader="SubsetTree")


class Nltk(list):
    """What is read of a tree of nltk."""

    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


SENTENCE = "(S (NP she) (VP (V runs) fast))"
NESTED = ("S", ("NP", "she"), ("VP", ("V", "runs"), "fast"))
FORMS = [
    SENTENCE, " ( S(NP she)\n(VP (V runs)fast) ) ", NESTED,
    ["S", ["NP", "she"], ["VP", ["V", "runs"], "fast"]],
    Nltk("S", [Nltk("NP", ["she"]), Nltk("VP", [Nltk("V", ["runs"]), "fast"])]),
    ET.fromstring("<S><NP> she </NP><VP><V>runs</V>fast</VP></S>"),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_forms_are_one_tree(form):
    X = encoded([form])
    wanted = encoded([SENTENCE])
    assert_array_equal(X.values, wanted.values)
    assert_array_equal(X.values[:, 1], [2, 1, 0, 2, 1, 0, 0])
    assert KIND.text(form) == SENTENCE
    assert KIND.size(form) == 7


def test_labels_have_types_and_are_the_same_in_every_process():
    X = encoded([("1", 2), ("1", "2"), ("1", b"2")])
    assert len(set(X.values[:, 0].tolist())) == 4
    assert X.values[0, 0] == 6064584127301525897  # saved models hold such numbers


def test_what_is_a_tree_among_other_objects():
    for form in (NESTED, FORMS[4], FORMS[5]):
        assert kind_that_holds(form) is KIND
    for other in (SENTENCE, ("a", "b"), (3, [(0, 1)]), (), [NESTED], {"a"}, 2.0):
        assert kind_that_holds(other) is not KIND


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        ("S NP", ValueError, r"X\[1\] begins with 'S': give nested tuples"),
        ("", ValueError, r"X\[1\] is a text without brackets"),
        ("(S (NP she)", ValueError, r"X\[1\] has 1 brackets that are not closed"),
        ("(S she))", ValueError, r"X\[1\] has a '\)' at character 7 that closes nothing"),
        ("(S she) (S he)", ValueError, r"X\[1\] continues at character 8 after its tree is closed"),
        (("S", None), TypeError, r"X\[1\] has a node that is missing \(None\)"),
        (("S", 2.5), TypeError, r"X\[1\] has a node that is 2.5"),
        (("S", ()), TypeError, r"X\[1\] has a node that is a tuple"),
        ((("NP", "she"), "S"), TypeError, r"X\[1\] has a node with the label a tuple: give labels"),
        (None, TypeError, r"X\[1\] has a node that is missing"),
        ({"S": 1}, TypeError, r"X\[1\] has a node that is a dict"),
    ],
)
def test_what_is_no_tree_is_named(tree, error, message):
    with pytest.raises(error, match=message):
        encoded([SENTENCE, tree])


def test_one_tree_is_no_list():
    for one in (SENTENCE, NESTED):
        with pytest.raises((TypeError, ValueError)):
            encoded(one)


def test_slices_joins_and_copies():
    X = encoded(cases.trees())
    assert len(X) == len(cases.trees())
    for rows in (slice(2, 6), [5, 0, 5], np.arange(len(X)) % 2 == 0):
        some = X[rows]
        wanted = encoded([cases.trees()[i] for i in np.arange(len(X))[rows]])
        assert_array_equal(some.values, wanted.values)
        assert_array_equal(some.starts, wanted.starts)
    both = joined(X[:4], encoded(cases.trees()[4:], X))
    assert_array_equal(both.values, X.values)
    keys = row_numbers(X).tolist()
    assert keys[2] == keys[4]
    assert len(set(keys)) == len(keys) - 1
    assert kind_of(pickle.loads(pickle.dumps(X))) is KIND


@pytest.mark.full
def test_a_deep_tree():
    """Nothing calls itself; kernels compare it as well."""
    depth = 100_000
    deep = "(" + " (".join(str(i) for i in range(depth)) + ")" * depth
    nested = ("0",)
    for i in range(1, depth):
        nested = (str(i), nested)
    X = encoded([deep, nested])
    assert_array_equal(X.lengths, [depth, depth])
    kernel = SubsetTree()
    assert kernel.diag(X)[0] == pytest.approx(0.4 / 0.6 * depth, rel=1e-3)
    assert KIND.text(deep).endswith("...")


def test_hostile_fields_of_files_are_refused():
    X = encoded([SENTENCE, ("A", "B")])
    check_fields(X)
    for values in (
        X.values[:, :1], X.values[::-1], X.values[:, ::-1], X.values[:-1],
        X.values + np.array([0, 1], np.uint64), X.values + np.array([0, 2**63], np.uint64),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="values"):
            check_fields(Trees(values, X.starts))


def test_columns_of_trees():
    frame = pd.DataFrame({"parse": [NESTED, ("S", ("NP", "he"))] * 15, "n": range(30)})
    y = np.arange(30) % 2
    model = mercer.KernelClassifier(trials=2).fit(frame, y)
    assert model.score(frame, y) == 1.0
    svc = mercer.SVC(kernel=SubsetTree().on("parse")).fit(frame, y)
    assert svc.score(frame, y) == 1.0
