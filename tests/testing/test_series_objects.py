"""Learners and searches on series: the suite on objects, columns of tables, files, and reports."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import SVC, KernelClassifier, KernelRidge, KernelSearchCV, KNeighborsClassifier
from mercer.distances import DTW
from mercer.kernels import RBF, Convolutions, GlobalAlignment, TableKernel, check_mercer
from mercer.samples import Series
from mercer.search import BruteForce
from mercer.tables import infer_columns
from mercer.testing import DistanceContract, KernelContract, parametrize_with_object_checks

rng = np.random.default_rng(0)


def signal(label, length):
    """A slow or a fast wave, with noise."""
    t = np.arange(length) * (1.5 if label else 0.5)
    return np.sin(t + rng.uniform(0, 6)) + rng.normal(size=length) / 10


y = np.arange(40) % 2
SIGNALS = [signal(label, rng.integers(20, 40)) for label in y]
TABLE = pd.DataFrame({"signal": [s.tolist() for s in SIGNALS], "age": rng.normal(size=40)})


def letters(text):
    """The letters of a text as numbers, and a point 0 before them."""
    return (0.0, *(ord(c) / 100 for c in text))


def other_rules(estimator):
    """Checks that ask for what does not hold here."""
    found = {"check_mixed_and_other_kinds": "the rows of a matrix are series"}
    if isinstance(estimator, KNeighborsClassifier):
        found["check_what_is_no_list_of_samples"] = "predict(None) answers for the training rows"
    return found


class TestKernelOfSeries(KernelContract):
    @pytest.fixture
    def kernel(self):
        return GlobalAlignment(2.0, triangle=9)

    @pytest.fixture
    def samples(self):
        return SIGNALS[:12]


class TestDistanceOfSeries(DistanceContract):
    @pytest.fixture
    def distance(self):
        return DTW()

    @pytest.fixture
    def samples(self):
        return SIGNALS[:12]


@pytest.mark.parametrize(
    "learner",
    [
        SVC(kernel=GlobalAlignment(1.0)),
        SVC(kernel=Convolutions()),
        KernelRidge(kernel=GlobalAlignment()),
        KNeighborsClassifier(1, metric=DTW(window=0.5)),
        KernelSearchCV(
            SVC(kernel=GlobalAlignment(1.0)), {"kernel__length_scale": [0.5, 2.0]}, cv=3
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_learners_take_lists_and_columns_and_come_back_from_files(learner, tmp_path):
    model = learner.fit(SIGNALS, y)
    said = model.predict(SIGNALS[:10])
    for column in (TABLE["signal"], pl.Series(TABLE["signal"].tolist())):
        assert_allclose(learner.fit(column, y).predict(column[:10]), said)
    mercer.save(model, tmp_path / "signals.mercer")
    assert_allclose(mercer.load(tmp_path / "signals.mercer").predict(SIGNALS[:10]), said)
    with pytest.raises(ValueError, match=r"X\[0\] has 2 channels"):
        model.predict([np.zeros((3, 2))])


def test_series_of_a_table_stand_beside_numbers():
    kernel = TableKernel([(GlobalAlignment(1.0), ["signal"]), (RBF(0.5), ["age"])])
    model = SVC(kernel=kernel, C=10).fit(TABLE, y)
    assert model.score(TABLE, y) > 0.9
    K = GlobalAlignment(1.0)(SIGNALS) * RBF(0.5)(TABLE[["age"]])
    assert_allclose(kernel(TABLE), K)


def test_an_index_of_series_is_written_and_read(tmp_path):
    index = BruteForce(DTW(0.2)).fit(SIGNALS)
    index.save(tmp_path / "signals.index")
    again = BruteForce.load(tmp_path / "signals.index")
    for a, b in zip(index.query(SIGNALS[:5], k=3), again.query(SIGNALS[:5], k=3)):
        assert_array_equal(a, b)
    assert_array_equal(index.add(SIGNALS[:1]).query(SIGNALS[:1], k=2)[1], [[0, 40]])


def test_a_column_of_fractions_of_different_lengths_is_one_of_series():
    columns = {"signal": TABLE["signal"].to_numpy(), "age": TABLE["age"].to_numpy()}
    found = infer_columns(columns)
    assert [c.kind for c in found] == ["series", "number"]
    sets = np.empty(3, object)
    sets[:] = [[1, 2], [3], [2, 5, 7]]
    assert infer_columns({"items": sets})[0].kind == "set"
    assert infer_columns({"items": sets}, kind={"items": "series"})[0].kind == "series"
    words = np.array(["a", "b", "c"], object)
    with pytest.raises(ValueError, match="kind: words='series', but the column holds other values"):
        infer_columns({"words": words}, kind={"words": "series"})


def test_the_automatic_classifier_reads_series():
    model = KernelClassifier(trials=3, random_state=0).fit(TABLE, y)
    assert model.score(TABLE, y) > 0.9
    assert "Convolutions()" in repr(model.kernel_)  # the first kernel of the kind


def test_check_mercer_reads_series():
    assert check_mercer(GlobalAlignment(), SIGNALS).positive_definite
    assert isinstance(DTW().encode(SIGNALS), Series)


@parametrize_with_object_checks(
    [
        (SVC(kernel=GlobalAlignment(0.5), tol=1e-6), letters),
        (KNeighborsClassifier(3, weights="rank", metric=DTW()), letters),
    ],
    expected_failures=other_rules,
)
def test_suite_on_objects(check):
    check()
