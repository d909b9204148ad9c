"""Learners and searches on graphs: the suite on objects, columns of tables, files, and reports."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import (
    SVC,
    KernelClassifier,
    KernelRidge,
    KernelSearchCV,
    KNeighborsClassifier,
    NadarayaWatsonClassifier,
)
from mercer.distances import KernelDistance
from mercer.kernels import (
    RBF,
    Graphlets,
    RandomWalk,
    ShortestPath,
    TableKernel,
    WeisfeilerLehman,
    check_mercer,
)
from mercer.samples import kind_named
from mercer.search import BruteForce
from mercer.tables import infer_columns
from mercer.testing import KernelContract, parametrize_with_object_checks

rng = np.random.default_rng(0)
WL = WeisfeilerLehman(2).normalised()


def molecule(ring):
    """A chain of 4 to 9 atoms, some of them oxygen, or the same closed to a ring."""
    n = int(rng.integers(4, 10))
    edges = [(i, i + 1) for i in range(n - 1)] + ([(0, n - 1)] if ring else [])
    return n, edges, ["O" if i % 4 == 1 else "C" for i in range(n)]


y = np.arange(40) % 2
GRAPHS = [molecule(label) for label in y]
TABLE = pd.DataFrame({"molecule": GRAPHS, "age": rng.normal(size=40)})


def letters(text):
    """The letters of a text as a chain of nodes."""
    return len(text), tuple((i, i + 1) for i in range(len(text) - 1)), tuple(text)


def other_rules(estimator):
    """Checks that ask for what does not hold here."""
    if isinstance(estimator, KNeighborsClassifier):
        return {
            "check_what_is_no_list_of_samples": "predict(None) answers for the training rows",
            "check_order_of_training_samples": "several neighbours are at the same distance",
        }
    return {}


class TestKernelOfGraphs(KernelContract):
    @pytest.fixture
    def kernel(self):
        return WL

    @pytest.fixture
    def samples(self):
        return GRAPHS[:12]


@pytest.mark.parametrize(
    "learner",
    [
        SVC(kernel=WL),
        SVC(kernel=RandomWalk(labels=True)),
        KernelRidge(kernel=ShortestPath().normalised()),
        KernelRidge(kernel=Graphlets(3).normalised()),
        KNeighborsClassifier(1, metric=KernelDistance(WL)),
        NadarayaWatsonClassifier("learnt", window="exponential", metric=WL),
        KernelSearchCV(SVC(kernel=WL), {"kernel__kernel__rounds": [1, 3]}, cv=3),
    ],
    ids=lambda each: type(each).__name__,
)
def test_learners_take_lists_and_columns_and_come_back_from_files(learner, tmp_path):
    model = learner.fit(GRAPHS, y)
    said = model.predict(GRAPHS[:10])
    assert_allclose(learner.fit(TABLE["molecule"], y).predict(TABLE["molecule"][:10]), said)
    mercer.save(model, tmp_path / "molecules.mercer")
    assert_allclose(mercer.load(tmp_path / "molecules.mercer").predict(GRAPHS[:10]), said)


def test_graphs_of_a_table_stand_beside_numbers():
    kernel = TableKernel([(WL, ["molecule"]), (RBF(0.5), ["age"])])
    assert SVC(kernel=kernel, C=10).fit(TABLE, y).score(TABLE, y) == 1
    assert_allclose(kernel(TABLE), WL(GRAPHS) * RBF(0.5)(TABLE[["age"]]))
    assert_allclose(TableKernel().bind(TableKernel().encode(TABLE)).diag(
        TableKernel().encode(TABLE)), 1)  # fmt: skip


def test_an_index_of_graphs_is_written_and_read(tmp_path):
    index = BruteForce(KernelDistance(WL)).fit(GRAPHS)
    index.save(tmp_path / "molecules.index")
    again = BruteForce.load(tmp_path / "molecules.index")
    for a, b in zip(index.query(GRAPHS[:5], k=3), again.query(GRAPHS[:5], k=3)):
        assert_array_equal(a, b)


def test_columns_of_graphs_are_found():
    cells = TABLE["molecule"].to_numpy().copy()
    cells[3] = None
    (column,) = infer_columns({"molecule": cells})
    assert (column.kind, column.missing, column.low, column.high) == ("graph", 1, 4, 9)
    rows = np.empty(2, object)
    rows[:] = [(1, ("a", "b")), ("x", "y")]
    assert infer_columns({"rows": rows})[0].kind != "graph"


def test_the_automatic_classifier_reads_graphs(tmp_path):
    model = KernelClassifier(trials=3, random_state=0).fit(TABLE, y)
    assert model.score(TABLE, y) > 0.9
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_allclose(again.predict_proba(TABLE), model.predict_proba(TABLE))
    pytest.importorskip("jinja2")
    from mercer.plots import save_report

    save_report(tmp_path / "report.html", model, TABLE, y)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "4 to 9 nodes" in page


def test_check_mercer_and_defaults_read_graphs():
    assert check_mercer(WL, GRAPHS).positive_definite
    kind = kind_named("graphs")
    assert kind.make_kernels()[0](GRAPHS[:2]).shape == (2, 2)
    assert kind.make_distance()(GRAPHS[:2]).shape == (2, 2)
    with pytest.raises(TypeError, match="Give a kernel on graphs"):
        SVC().fit(GRAPHS, y)


@parametrize_with_object_checks(
    [
        (SVC(kernel=WeisfeilerLehman(1).normalised(), tol=1e-6), letters),
        (KNeighborsClassifier(3, weights="rank", metric=KernelDistance(WL)), letters),
        (NadarayaWatsonClassifier("learnt", window="exponential", metric=WL), letters),
    ],
    expected_failures=other_rules,
)
def test_suite_on_objects(check):
    check()
