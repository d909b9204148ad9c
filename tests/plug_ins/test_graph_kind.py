"""A kind of sample of a user's own works wherever strings and sets do."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score
from their_package.graph_kind import GraphKind, Graphs, PartsApart, SharedParts

import mercer
from mercer.deep import MultilayerKernelMachine
from mercer.kernels import RBF, FromDistance, TableKernel
from mercer.samples import (
    all_kinds,
    as_samples,
    columns_by_kind,
    kind_named,
    kind_of,
    kind_that_holds,
    register_kind,
)
from mercer.search import BruteForce
from mercer.tables import Column, column_kinds, infer_columns
from mercer.testing import DistanceContract, KernelContract, parametrize_with_object_checks

rng = np.random.default_rng(0)


def graph(text):
    """The letters of a text one after the other, and a bond from each to the next."""
    return tuple(text), tuple((i, i + 1) for i in range(len(text) - 1))


def structure(letters):
    return graph(rng.choice(list(letters), rng.integers(1, 7)))


GRAPHS = [structure("aab" if i % 2 else "bcc") for i in range(60)]
ACID = np.array(["acid" if i % 2 else "base" for i in range(60)])
AGE = rng.normal(size=60) + 0.5 * (ACID == "acid")
TABLE = pd.DataFrame({"structure": GRAPHS, "age": AGE})
CLASSES = [SharedParts, Graphs]
kernel = SharedParts().normalised()


def parts_of(g):
    return [*g[0], *(tuple(sorted((g[0][i], g[0][j]))) for i, j in g[1])]


class TestKernel(KernelContract):
    @pytest.fixture
    def kernel(self):
        return SharedParts()

    @pytest.fixture
    def samples(self):
        return [*GRAPHS[:12], ((), ())]

    def twin(self, kernel, samples):
        return np.array(
            [
                [sum(a == b for a in parts_of(g) for b in parts_of(h)) for h in samples]
                for g in samples
            ],
            float,
        )


class TestDistance(DistanceContract):
    @pytest.fixture
    def distance(self):
        return PartsApart()

    @pytest.fixture
    def samples(self):
        return [*GRAPHS[:12], ((), ())]


LEARNERS = [
    mercer.SVC(kernel=kernel, tol=1e-6),
    mercer.SVR(kernel=kernel, tol=1e-6),
    mercer.OneClassSVM(nu=0.3, kernel=kernel, tol=1e-6),
    mercer.KernelRidge(kernel=kernel),
    mercer.KernelLogisticRegression(kernel=kernel),
    mercer.KernelPerceptron(kernel=kernel),
    mercer.KernelKMeans(2, kernel=kernel, n_init=10, random_state=0),
    mercer.MultipleKernelClassifier(
        [kernel, FromDistance(PartsApart(), 0.1)], estimator=mercer.SVC(tol=1e-6)
    ),
    MultilayerKernelMachine(
        kernel=[kernel, "rbf"], solver="exact", learner=mercer.SVC(tol=1e-6), random_state=0
    ),
    mercer.KNeighborsClassifier(3, weights="rank", metric=PartsApart()),
    mercer.RadiusNeighborsClassifier(4.0, metric=PartsApart(), outlier_label="most_frequent"),
    mercer.LocalOutlierFactor(5, novelty=True, metric=PartsApart()),
    mercer.NadarayaWatson(metric=PartsApart()),
    mercer.NadarayaWatsonClassifier("learnt", metric=PartsApart()),
    mercer.KernelDensity(bandwidth=2.0, metric=PartsApart()),
    mercer.KernelClassifier(trials=1),
]
ORDER, WEIGHTS, LIST, LENGTHS = (
    "check_order_of_training_samples",
    "check_weights",
    "check_what_is_no_list_of_samples",
    "check_lengths_of_x_and_y",
)
#: learner -> checks that it fails on strings too, with the reasons in tests/testing
KNOWN = {
    mercer.KernelClassifier: [ORDER, WEIGHTS, "check_mixed_and_other_kinds"],
    mercer.KernelPerceptron: [ORDER, WEIGHTS],
    mercer.RadiusNeighborsClassifier: [LIST],
    mercer.KNeighborsClassifier: [ORDER, LIST],
    mercer.LocalOutlierFactor: [ORDER],
    mercer.KernelDensity: [LENGTHS],
    mercer.KernelKMeans: [LENGTHS, "check_searches"],
}


def known_failures(learner):
    return dict.fromkeys(KNOWN.get(type(learner), []), "as strings")


@parametrize_with_object_checks(
    [(learner, graph) for learner in LEARNERS[::6]], expected_failures=known_failures
)
def test_learners(check):
    check()


@pytest.mark.full
@parametrize_with_object_checks(
    [(learner, graph) for i, learner in enumerate(LEARNERS) if i % 6 in (2, 4)],
    expected_failures=known_failures,
)
def test_other_learners(check):
    check()


# --- what a kind answers ----------------------------------------------------------------------


def test_it_is_known_by_its_name_its_samples_and_their_code():
    assert isinstance(kind_named("structures"), GraphKind)
    assert kind_that_holds(GRAPHS[0]).name == "structures"
    assert kind_of(as_samples(GRAPHS, "structures")).name == "structures"
    assert kind_of(GRAPHS) is None


def test_what_is_no_graph_is_named():
    with pytest.raises(TypeError, match=r"X\[1\] is a str, but SharedParts compares structures"):
        SharedParts()([GRAPHS[0], "ab"])
    with pytest.raises(TypeError, match=r"X is a tuple; SharedParts compares structures\. Give a"):
        SharedParts()(GRAPHS[0])
    with pytest.raises(TypeError, match="encoded as strings, but SharedParts compares structures"):
        SharedParts().encode(as_samples(["a"], "strings"))


def test_graphs_in_place_of_vectors_are_told_what_suits_them():
    suiting = r"kernel=Normalised\(kernel=SharedParts\(\)\) or metric=PartsApart\(\)"
    for model in (mercer.SVC(), mercer.KNeighborsClassifier()):
        with pytest.raises(
            TypeError, match=f"compares vectors. Give a .* structures, .* {suiting}"
        ):
            model.fit(GRAPHS, ACID)


def test_names_and_types_of_samples_are_taken_once():
    with pytest.raises(ValueError, match="the kind 'structures' has the same name"):
        register_kind(GraphKind())
    with pytest.raises(TypeError, match="give an object of a class that is derived from Kind"):
        register_kind(GraphKind)

    class Others(GraphKind):
        name = "maps"
        column = "map"

    with pytest.raises(ValueError, match=r"'structures' has the same name, .* or the same type"):
        register_kind(Others())
    before = all_kinds()
    Others.encoded = ()
    remove = register_kind(Others())
    assert kind_named("maps") is all_kinds()[0]
    assert kind_that_holds(GRAPHS[0]).name == "maps"
    remove()
    assert all_kinds() == before
    with pytest.raises(TypeError, match=r"there is no kind of sample 'maps'.*register"):
        kind_named("maps")


def test_rows_are_appended_to_an_index():
    index = BruteForce(PartsApart()).fit(GRAPHS[:40]).add(GRAPHS[40:])
    whole = BruteForce(PartsApart()).fit(GRAPHS)
    assert_array_equal(index.query(GRAPHS, k=3)[1], whole.query(GRAPHS, k=3)[1])


def test_an_index_in_a_file(tmp_path):
    index = BruteForce(PartsApart()).fit(GRAPHS)
    index.save(tmp_path / "graphs.index")
    loaded = BruteForce.load(tmp_path / "graphs.index", trusted=[Graphs, PartsApart])
    assert_array_equal(loaded.query(GRAPHS[:5], k=3)[1], index.query(GRAPHS[:5], k=3)[1])


# --- tables -------------------------------------------------------------------------------------


def test_a_table_kernel_finds_its_kernel():
    model = mercer.KernelRidge(kernel=TableKernel()).fit(TABLE, AGE)
    numbers = RBF("scale").bind(AGE[:, None])
    assert_allclose(model.kernel_(TABLE), numbers(AGE[:, None]) * kernel(GRAPHS))


def test_columns_of_a_table_by_kind():
    table = TABLE.assign(size=1.0, sex="f")
    found = [("vectors", ("age", "size")), ("structures", ("structure",)), ("categories", ("sex",))]
    assert columns_by_kind(table) == found
    names = [kind.name for kind in column_kinds()]
    assert len(set(names)) == len(names)
    assert "structure" in names


def test_a_column_in_a_kernel_on_a_table():
    mixed = RBF(0.5).on("age") + kernel.on("structure")
    assert_allclose(mixed(TABLE), RBF(0.5)(AGE[:, None]) + kernel(GRAPHS))


def test_columns_are_found():
    cells = TABLE["structure"].to_numpy().copy()
    cells[3] = None
    (column,) = infer_columns({"structure": cells})
    different = len(set(GRAPHS[:3] + GRAPHS[4:]))
    assert column == Column(
        "structure",
        "structure",
        f"{different} different structures",
        1,
        different,
        1.0,
        6.0,
        rows=60,
    )
    (given,) = infer_columns({"structure": cells}, {"structure": "structure"})
    assert given.kind == "structure"
    with pytest.raises(ValueError, match=r"kind: a='structure', but .* other values: .* 1.*ive a"):
        infer_columns({"a": np.array([1.0, 2.0])}, {"a": "structure"})


def test_a_column_of_graphs_and_others_is_no_column_of_graphs():
    cells = np.array([None, "C"] * 3, object)
    cells[0] = GRAPHS[0]
    (column,) = infer_columns({"structure": cells})
    assert column.kind != "structure"


def test_missing_graphs_of_a_kind_without_an_empty_one(monkeypatch):
    gaps = TABLE.astype({"structure": object})
    gaps.at[4, "structure"] = None
    notice = "A missing structure counts as the empty one: structure."
    model = mercer.KernelRegressor(trials=1).fit(gaps, AGE)
    assert notice in model.notices_
    monkeypatch.setattr(GraphKind, "empty", None)
    with pytest.raises(ValueError, match="column 'structure': the structure in row 4 is missing"):
        mercer.KernelRegressor(trials=1).fit(gaps, AGE)


@pytest.fixture(scope="module")
def automatic():
    return mercer.KernelClassifier(trials=3).fit(TABLE, ACID)


def test_the_automatic_estimator_on_a_table(automatic):
    assert [column.kind for column in automatic.columns_] == ["structure", "number"]
    assert accuracy_score(ACID, automatic.predict(TABLE)) > 0.9
    names = {row["name"] for row in automatic.leaderboard_}
    assert "linear (spline)" in names
    assert not any("missing" in notice.lower() for notice in automatic.notices_)
    gaps = TABLE.copy()
    gaps.loc[2, "structure"] = None
    filled = TABLE.copy()
    filled.at[2, "structure"] = ((), ())
    assert_allclose(automatic.predict_proba(gaps), automatic.predict_proba(filled))


def test_the_automatic_estimator_in_a_file(automatic, tmp_path):
    mercer.save(automatic, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer", trusted=CLASSES)
    assert_allclose(loaded.predict_proba(TABLE), automatic.predict_proba(TABLE))


def test_the_report(automatic, tmp_path):
    pytest.importorskip("jinja2")
    from mercer.plots import save_report

    save_report(tmp_path / "report.html", automatic, TABLE, ACID)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 to 6 vertices" in page
    assert "different structures" in page
    save_report(tmp_path / "report.html", automatic, TABLE, ACID, values=False)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "vertices" not in page
