"""Texts and sets in the automatic estimators, alone and beside numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelClassifier, KernelRegressor, load, save
from mercer.kernels import Spectrum
from mercer.machines.candidates.candidate import Candidate
from mercer.machines.candidates.order import candidates
from mercer.machines.candidates.readings import TEXTS
from mercer.samples import EncodedColumns, Sets, Strings, as_samples
from mercer.tables.cells import as_items, as_texts, separator_of, words_of
from mercer.tables.encoding import Feature, TableEncoder

RANDOM = np.random.default_rng(0)
N = 90
GOOD = ["lovely", "great", "charming", "superb"]
BAD = ["dreadful", "boring", "poor", "awful"]
FILLERS = ["the", "a", "film", "was", "and", "with", "actors", "who", "play", "it", "in", "this"]


def review(good, rng):
    middle = rng.choice(FILLERS, 8).tolist()
    middle[3] = str(rng.choice(GOOD if good else BAD))
    return " ".join(middle) + f" {rng.integers(1000)}"


LABELS = np.array(["good", "bad"])[RANDOM.integers(2, size=N)]
REVIEWS = [review(label == "good", RANDOM) for label in LABELS]
SIZE = RANDOM.normal(size=N)
ITEMS = np.array(["tea", "milk", "rum", "salt", "rice", "soap"], dtype=object)
BASKETS = [ITEMS[RANDOM.uniform(size=6) < 0.5].tolist() or ["tea"] for _ in range(N)]
RUM = np.array(["rum" in basket for basket in BASKETS])
TABLE = pd.DataFrame(
    {"review": REVIEWS, "size": SIZE, "bag": [";".join(basket) for basket in BASKETS]}
)


def test_words_are_lower_case_and_marks_stand_alone():
    assert words_of("It's £5, Ça va?") == ["it", "'", "s", "£", "5", ",", "ça", "va", "?"]
    assert words_of(" \n") == words_of("") == []


def test_cells_as_texts_and_items():
    values = np.array(["a b", None, 12.0, 0.5, True], dtype=object)
    assert as_texts(values, "x") == ["a b", "", "12", "0.5", "True"]
    assert as_texts(np.array([1.0, np.nan]), "x") == ["1", ""]
    values = np.array(["a; b;;a", None, "", {"c"}], dtype=object)
    assert as_items(values, ";", "x") == [["a", "b", "a"], [], [], ["c"]]
    assert separator_of(["a;b", "c;d", "a|b"]) == ";"
    assert separator_of(["a b", "c"]) is None
    with pytest.raises(TypeError, match=r"holds bytes in row 1: .* by .decode\(\)"):
        as_texts(np.array(["a", b"b"], dtype=object), "x")
    with pytest.raises(TypeError, match="read as texts in training, but row 0 holds a set"):
        as_texts(np.array([{"a"}], dtype=object), "x")


def test_the_encoder_keeps_objects_beside_numbers():
    encoder = TableEncoder().fit(TABLE)
    assert [(f.label, f.kind) for f in encoder.features_] == [
        ("review", "characters"), ("review: words", "words"), ("size", "rank"), ("size", "scaled"),
        ("size", "normal"), ("bag", "items"),
    ]  # fmt: skip
    M = encoder.transform(TABLE)
    assert isinstance(M, EncodedColumns)
    assert M.shape == (N, 6)
    assert isinstance(M.select([1]), Strings)
    assert isinstance(M.select([5]), Sets)
    assert M.select([2, 3]).dtype == np.float32
    part = M[np.array([4, 2])]
    assert len(part) == 2
    assert part.objects[0].texts() == [M.objects[0].texts()[i] for i in (4, 2)]
    new = encoder.transform(TABLE.assign(review="ζ unseen", bag="gin;tea")[:1])
    assert new.objects[0].alphabet[: new.objects[0].known] == M.objects[0].alphabet
    assert new.objects[5].universe[-1] == "gin"


def test_texts_are_read_in_several_ways_and_combined_with_the_other_columns():
    features = TableEncoder().fit(TABLE).features_
    tried = candidates(features)
    assert {c.text for c in tried} >= set(TEXTS)
    assert len({c.name for c in tried}) == len(tried)
    assert tried[0].family == "interactions"
    M = TableEncoder().fit(TABLE).transform(TABLE)
    for candidate in (c for c in tried if not c.kind.reads_columns):
        kernel, X = candidate.bound(features, M)
        K = kernel.block(X, X)
        assert_allclose(K, K.T, atol=1e-6)
        assert_allclose(K.diagonal(), 1, rtol=1e-5)
        assert np.linalg.eigvalsh(K)[0] > -1e-4
        assert "vocabulary" not in repr(kernel)
    only = TableEncoder().fit(TABLE[["review"]]).features_
    assert [c.name for c in candidates(only)] == list(TEXTS)
    only = TableEncoder().fit(TABLE[["bag"]]).features_
    assert [c.name for c in candidates(only)] == ["sets"]


def test_substrings_of_every_length_count_alike():
    features = [Feature(0, "0", "characters")]
    M = EncodedColumns(np.zeros((3, 1)), {0: as_samples(["abcab", "abd", ""], "strings")})
    for text, longest in (("short substrings", 3), ("characters", 5)):
        kernel, X = Candidate("objects", text=text).bound(features, M)
        each = [Spectrum(k).normalised()(["abcab", "abd", ""]) for k in range(1, longest + 1)]
        K = np.mean(each, axis=0)
        d = np.sqrt(K.diagonal())
        expected = K / np.where(d > 0, d, 1) / np.where(d > 0, d, 1)[:, None]
        assert_allclose(kernel.block(X, X), expected)


def test_a_text_decides():
    train, test = slice(0, 70), slice(70, N)
    model = KernelClassifier(trials=3).fit(TABLE[["review", "size"]][train], LABELS[train])
    assert model.score(TABLE[test], LABELS[test]) > 0.85
    assert {c.name: c.kind for c in model.columns_} == {"review": "text", "size": "number"}
    relevance = model.relevance()
    if relevance:
        assert next(iter(relevance)).startswith("review")


def test_a_set_decides_as_text_or_as_sets():
    for bag in (TABLE["bag"], pd.Series([set(b) for b in BASKETS])):
        frame = pd.DataFrame({"bag": bag, "size": SIZE})
        model = KernelClassifier(trials=2).fit(frame[:60], RUM[:60])
        assert model.score(frame[60:], RUM[60:]) > 0.9
        assert model.columns_[0].kind == "set"


@pytest.mark.parametrize(("memory", "enough"), [("1GB", True), ("20MB", False)])
def test_counts_of_texts_stand_beside_all_rows_only_with_enough_memory(memory, enough):
    model = KernelClassifier(trials=1, memory=memory).fit(TABLE[["review"]], LABELS)
    assert (model.schedule_[0]["machine"] in ("bayes", "svc")) == enough  # which read counts
    assert any(row["name"].startswith("linear") for row in model.leaderboard_) == enough


def test_lists_of_strings_and_sets_are_tables_of_one_column():
    model = KernelClassifier(trials=2).fit(REVIEWS, LABELS)
    assert (model.columns_[0].kind, model.n_features_in_) == ("text", 1)
    assert_array_equal(model.predict(REVIEWS), model.predict(np.array(REVIEWS, dtype=object)))
    assert KernelClassifier(trials=1).fit(BASKETS and [set(b) for b in BASKETS], RUM).score(
        [set(b) for b in BASKETS], RUM
    ) > 0.9  # fmt: skip
    assert KernelClassifier(trials=1, kind={0: "category"}).fit(
        ["a", "b"] * 20, [0, 1] * 20
    ).columns_[0].kind == "category"  # fmt: skip


def test_numbers_can_be_predicted_from_texts():
    y = np.array([len(text.split()[3]) for text in REVIEWS], dtype=float)
    model = KernelRegressor(trials=2).fit(TABLE[["review"]], y)
    assert model.score(TABLE, y) > 0.5


def test_missing_empty_and_unseen_cells(tmp_path):
    table = TABLE.copy()
    table.loc[::7, "review"] = None
    table.loc[::5, "bag"] = None
    model = KernelClassifier(trials=2).fit(table, LABELS)
    assert "A missing text counts as the empty one: review." in model.notices_
    assert "A missing set counts as the empty one: bag." in model.notices_
    new = pd.DataFrame(
        {
            "review": [None, "", "\0", "\N{GRINNING FACE}" * 3, "lovely " * 20_000],
            "size": [0.0] * 5, "bag": [None, "", ";;", "gin;gin", "rum"],
        }
    )  # fmt: skip
    P = model.predict_proba(new)
    assert np.isfinite(P).all()
    assert_array_equal(P[0], P[1])
    save(model, tmp_path / "m.mercer")
    assert_array_equal(load(tmp_path / "m.mercer").predict_proba(new), P)


def test_a_column_that_became_numbers_or_bytes():
    model = KernelClassifier(trials=1).fit(TABLE, LABELS)
    new = TABLE.assign(review=np.arange(N))
    assert np.isfinite(model.predict_proba(new)).all()
    given, read = (model.predict_proba(TABLE.assign(review=[v] * N)) for v in (b"fine", "fine"))
    assert_allclose(given, read)


@pytest.mark.full
def test_frames_of_every_library_give_the_same_model():
    one = KernelClassifier(trials=1).fit(TABLE, LABELS)
    two = KernelClassifier(trials=1).fit(pl.from_pandas(TABLE), LABELS)
    assert_allclose(two.predict_proba(pl.from_pandas(TABLE)), one.predict_proba(TABLE))


@pytest.mark.full
def test_a_schedule_with_texts_is_replayed():
    one = KernelClassifier(trials=4).fit(TABLE, LABELS)
    two = KernelClassifier(replay=one.schedule_).fit(TABLE, LABELS)
    assert two.winner_ == one.winner_
    assert_array_equal(two.predict_proba(TABLE), one.predict_proba(TABLE))


@pytest.mark.parametrize("n", [2, 4, 5, 6, 8])
def test_numbers_for_very_few_texts(n):
    """The baseline judges penalties by folds of one row, where R² is undefined; warnings fail."""
    model = KernelRegressor(trials=1).fit(REVIEWS[:n], SIZE[:n])
    assert np.isfinite(model.predict(REVIEWS[:n])).all()
