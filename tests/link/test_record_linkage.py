"""Record linkage: which records are found, what a model says of them, and what is refused."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import mercer
from mercer import RecordLinkage, kernels
from mercer.datasets import registers
from mercer.distances import Edit, Minkowski
from mercer.link import (
    Pairs,
    forget_stages,
    joined_columns,
    learning,
    link_columns,
    records,
    stages,
)
from mercer.tables import ReadTable

TABLES = {}


def tables(n=800, seed=0):
    if (n, seed) not in TABLES:
        A, B, pairs = registers(n, seed=seed)
        TABLES[n, seed] = pd.DataFrame(A), pd.DataFrame(B), set(map(tuple, pairs.tolist()))
    return TABLES[n, seed]


MODELS = {}


def fitted(**options):
    key = tuple(sorted(options.items()))
    if key not in MODELS:
        A, B, _ = tables()
        MODELS[key] = RecordLinkage(**options).fit(A, B)
    return MODELS[key]


def found(pairs):
    return set(zip(pairs.left.tolist(), pairs.right.tolist()))


def f1(pairs, truth):
    own = found(pairs)
    return 2 * len(own & truth) / (len(own) + len(truth))


def one_table(n=600, seed=1):
    A, B, truth = tables(n, seed)
    both = pd.concat([A, B], ignore_index=True)
    return both, {(i, j + len(A)) for i, j in truth}


def same(one, other, tolerance=1e-9):
    assert found(one) == found(other)
    np.testing.assert_allclose(one.weight, other.weight, atol=tolerance)
    np.testing.assert_allclose(one.weights, other.weights, atol=tolerance)


# --- what is found --------------------------------------------------------------------------------


def test_people_of_two_registers_are_found():
    _, _, truth = tables()
    model = fitted()
    assert f1(model.pairs_, truth) > 0.95
    assert f1(fitted(one_to_one=True).pairs_, truth) > f1(model.pairs_, truth)
    assert abs(model.expected_matches_ - len(truth)) < 0.1 * len(truth)
    assert (model.pairs_.probability >= 0.5).all()
    assert (model.near_.probability >= 0.01).all()
    p = model.near_.probability
    right = np.array([pair in truth for pair in zip(model.near_.left, model.near_.right)])
    assert abs(p.mean() - right.mean()) < 0.06  # probabilities mean what they say


def test_one_table_and_its_clusters():
    both, truth = one_table()
    model = RecordLinkage().fit(both)
    assert f1(model.pairs_, truth) > 0.9
    assert (model.pairs_.left < model.pairs_.right).all()
    label = model.labels_
    assert len(label) == len(both)
    first = np.unique(label, return_index=True)[1]
    assert (np.diff(first) > 0).all()  # in the order of their first records
    right = [label[i] == label[j] for i, j in truth]
    assert np.mean(right) > 0.9
    sizes = np.bincount(label)
    assert (sizes > 2).sum() < 0.05 * (sizes == 2).sum()


def test_relatives_are_set_apart():
    model = fitted()
    matches = [one for one in model.classes_ if one.matches]
    others = [one for one in model.classes_ if not one.matches]
    assert sum(one.pairs for one in matches) == pytest.approx(model.expected_matches_)
    family = max(others, key=lambda one: one.agreement["last_name"])
    assert family.agreement["street"] > 0.8
    assert family.agreement["born"] < 0.2
    assert fitted(relatives=0).classes_[0].matches
    assert f1(fitted(relatives=0).pairs_, tables()[2]) < f1(model.pairs_, tables()[2])


def test_swapped_names_and_moved_people_are_found():
    A, B, truth = tables()
    model = fitted()
    swapped = [
        (i, j) for i, j in truth
        if A["first_name"][i] == B["last_name"][j] and A["last_name"][i] == B["first_name"][j]
    ]  # fmt: skip
    assert len(swapped) >= 3
    assert len(set(swapped) & found(model.pairs_)) >= 0.8 * len(swapped)
    place = [column.name for column in model.columns_].index("first_name")
    rows = zip(model.near_.left.tolist(), model.near_.right.tolist())
    level = dict(zip(rows, model.near_.levels[:, place].tolist()))
    assert {level[pair] for pair in swapped if pair in level} == {6}


@pytest.mark.spread(1)
@pytest.mark.parametrize("seed", range(4))
def test_the_few_who_moved_are_found_whatever_columns_are_called(seed):
    """Those who moved are a class of their own, of ten pairs, which matches show to be one of
    matches; the start of EM depended on the order of the names of columns, and took it for one of
    relatives or not."""
    A, B, truth = tables(200, seed)
    for order in (0, 1):
        names = np.random.default_rng(order).permutation(A.shape[1])
        other = {name: f"{number} {name}" for name, number in zip(A.columns, names)}
        model = RecordLinkage().fit(A.rename(columns=other), B.rename(columns=other))
        assert f1(model.pairs_, truth) > 0.94


def households(n, copies, seed=0):
    """Rows of n households of two with ``copies`` of each person, of whom some last ones moved."""
    rng = np.random.default_rng(seed)

    def word():
        return "".join(rng.choice(list("abcdefghiklmnoprstuvw"), 7))

    rows, person = [], []
    homes = [[word(), word(), str(rng.integers(1000, 9999))] for _ in range(2 * n)]
    for number in range(2 * n):
        house, day = number // 2, np.datetime64("1930-01-01") + rng.integers(0, 25_000)
        own = [word(), homes[house][0][::-1], str(day)]
        rows += [
            own + homes[house + n * (copy == copies - 1 and house % 3 == 0)]
            for copy in range(copies)
        ]
        person += [number] * copies
    order = rng.permutation(len(rows))
    X = pd.DataFrame(rows, columns=["first", "last", "born", "street", "town", "code"])
    return X.iloc[order].reset_index(drop=True), np.array(person)[order]


@pytest.mark.parametrize("copies", [2, 3])
def test_a_class_whose_records_have_no_other_match_is_one_of_matches(copies):
    X, person = households(150, copies)
    model = RecordLinkage().fit(X)
    truth = {(i, j) for i in range(len(X)) for j in range(i + 1, len(X)) if person[i] == person[j]}
    assert f1(model.pairs_, truth) > 0.97


def test_values_that_never_agree_whole_are_found_by_their_parts():
    """No title agrees whole: that pass finds no pairs, and others are made in its place."""
    rng = np.random.default_rng(3)
    makers, kinds = ["sony", "canon", "bosch", "acer"], ["camera", "printer", "drill", "laptop"]
    parts = [(makers[rng.integers(4)], kinds[rng.integers(4)], f"{'xyz'[k % 3]}{k + 1000}")
             for k in range(400)]  # fmt: skip
    A = pd.DataFrame({"title": [f"{m} {k} {c} black" for m, k, c in parts]})
    B = pd.DataFrame({"title": [f"{k} {m} {c[0]}-{c[1:]}" for m, k, c in parts]})
    A["price"] = rng.uniform(10, 99, 400).round(2)
    B["price"] = (A["price"] * np.exp(rng.normal(0, 0.05, 400))).round(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RecordLinkage().fit(A, B)
    assert len(found(model.near_) & {(i, i) for i in range(400)}) > 380
    assert all(pairs > 0 for _, pairs, _ in model.passes_)


def test_weights_add_up_and_are_explained():
    model = fitted()
    rest = model.near_.weight - model.near_.weights.sum(axis=1)
    np.testing.assert_allclose(rest, rest[0])  # the prior
    p = 1 / (1 + 2.0**-model.near_.weight)
    np.testing.assert_allclose(model.near_.probability, p)
    total = {}
    for one in model.weights_:
        assert one.weight == pytest.approx(np.log2(one.m / one.u), abs=1e-6)
        total[one.column] = np.add(total.get(one.column, 0), (one.m, one.u))
    for sums in total.values():
        np.testing.assert_allclose(sums, 1)
    assert len(model.passes_) > 1
    assert model.passes_[-1][2] == model.missed_


# --- invariances ----------------------------------------------------------------------------------


def test_the_order_of_rows_changes_nothing():
    A, B, _ = tables()
    rng = np.random.default_rng(0)
    a, b = rng.permutation(len(A)), rng.permutation(len(B))
    model = RecordLinkage().fit(A.iloc[a], B.iloc[b])
    pairs = model.near_
    back = Pairs(a[pairs.left], b[pairs.right], *list(vars(pairs).values())[2:])
    same(back[np.lexsort((back.right, back.left))], fitted().near_)


def test_the_order_of_rows_of_one_table_changes_nothing():
    both, _ = one_table()
    order = np.random.default_rng(1).permutation(len(both))
    one, two = (RecordLinkage().fit(table) for table in (both, both.iloc[order]))
    left, right = order[two.near_.left], order[two.near_.right]
    moved = Pairs(np.minimum(left, right), np.maximum(left, right),
                  *list(vars(two.near_).values())[2:])  # fmt: skip
    same(moved[np.lexsort((moved.right, moved.left))], one.near_)
    # clusters have other numbers
    back = np.empty(len(both), int)
    back[order] = two.labels_
    assert len(np.unique(back)) == len(np.unique(one.labels_))
    assert len(np.unique(back * 10_000 + one.labels_)) == len(np.unique(back))


@pytest.mark.full
def test_the_order_of_columns_and_the_form_of_tables_change_nothing():
    A, B, _ = tables()
    names = list(A.columns)
    for a, b in (
        (A[names[::-1]], B[names[::-1]]), (pl.DataFrame(A), pl.DataFrame(B)),
    ):  # fmt: skip
        same(RecordLinkage().fit(a, b).near_, fitted().near_)


@pytest.mark.spread(1)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_nothing(n_jobs):
    A, B, _ = tables()
    same(RecordLinkage(n_jobs=n_jobs).fit(A, B).near_, fitted().near_, 0)


@pytest.mark.full
def test_strips_of_pairs_change_nothing(monkeypatch):
    A, B, _ = tables()
    monkeypatch.setattr(records, "STRIP", 101)
    small = RecordLinkage().fit(A, B)
    monkeypatch.undo()
    same(small.near_, fitted().near_, 0)


def test_a_pair_weighs_the_same_alone_as_among_others():
    A, B, _ = tables()
    model = fitted()
    near = model.near_[:40]
    pairs = np.column_stack([near.left, near.right])
    whole = model.score_pairs(pairs, A, B)
    np.testing.assert_array_equal(whole.weight, near.weight)
    for k in range(0, 40, 7):
        i, j = pairs[k]
        alone = model.score_pairs([[0, 0]], A.iloc[[i]], B.iloc[[j]])
        assert alone.weight[0] == near.weight[k]
        assert (alone.levels[0] == near.levels[k]).all()
    turned = model.score_pairs(pairs[:, ::-1], B, A)
    assert (turned.levels >= 0).all()


# --- a fit that was killed ------------------------------------------------------------------------


@pytest.mark.full
def test_a_fit_that_was_killed_goes_on(tmp_path, monkeypatch):
    A, B, _ = tables()
    asked = []

    def stopped(self, left, right):
        raise KeyboardInterrupt

    def counted(*arguments):
        asked.append(arguments)
        return choose(*arguments)

    choose = stages.choose_passes
    monkeypatch.setattr(stages, "choose_passes", counted)
    whole = records.Comparer.levels
    monkeypatch.setattr(records.Comparer, "levels", stopped)
    with pytest.raises(KeyboardInterrupt):
        RecordLinkage().fit(A, B, work=tmp_path / "w")
    monkeypatch.setattr(records.Comparer, "levels", whole)
    names = {path.name for path in (tmp_path / "w").iterdir()}
    stage = {name.partition("-")[0] for name in names}
    assert stage == {"plan.json", "views", "doubles", "passes.npz", "found", "crowded.npz"}
    model = RecordLinkage().fit(A, B, work=tmp_path / "w")
    assert len(asked) == 1
    same(model.near_, fitted().near_, 0)
    assert model.passes_ == fitted().passes_
    again = RecordLinkage().fit(A, B, work=tmp_path / "w")
    same(again.near_, fitted().near_, 0)
    # what is damaged is made again
    for names in (["levels-00000"], ["crowded", "found-00001", "passes", "doubles-00002"]):
        for name in names:
            (tmp_path / "w" / f"{name}.npz").write_bytes(b"x")
        same(RecordLinkage().fit(A, B, work=tmp_path / "w").near_, fitted().near_, 0)
    pair, levels = np.array([1], np.uint64), np.zeros((1, 6), np.uint8)
    for wrong in ((pair + np.uint64(2**63), levels), (pair, levels + np.uint8(9))):
        file = tmp_path / "w" / "levels-00000.npz"
        np.savez(file, pairs=wrong[0], levels=wrong[1])
        same(RecordLinkage().fit(A, B, work=tmp_path / "w").near_, fitted().near_, 0)
    count = len(asked)
    other = RecordLinkage(max_block=20).fit(A, B, work=tmp_path / "w")  # another job
    assert len(asked) == count + 1
    same(other.near_, RecordLinkage(max_block=20).fit(A, B).near_, 0)


@pytest.mark.parametrize("name", ["letter.txt", "mine.npz", ".secret", "passes.npz"])
def test_a_folder_of_other_files_is_left_as_it_is(tmp_path, name):
    A, B, _ = tables()
    (tmp_path / name).write_text("dear")
    with pytest.raises(ValueError, match=rf"holds '{name}', which is no file of a linkage"):
        RecordLinkage().fit(A, B, work=tmp_path)
    forget_stages(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["dear"]


def test_a_folder_that_is_forgotten_keeps_what_others_put_there(tmp_path):
    A, B, _ = tables(40)
    RecordLinkage().fit(A, B, work=tmp_path)
    (tmp_path / ".mercer-1.tmp").write_text("half of a file")
    (tmp_path / "mine.npz").write_text("dear")
    forget_stages(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]


def test_one_table_has_no_pairs_one_to_one():
    both, _ = one_table(40)
    with pytest.raises(ValueError, match="one_to_one=True is for two tables: give B"):
        RecordLinkage(one_to_one=True).fit(both)
    A, B, _ = tables(40)
    with pytest.raises(ValueError, match="one_to_one=True is for two tables: give B"):
        RecordLinkage(one_to_one=True).fit(A, B).predict(both)


@pytest.mark.full
def test_one_table_has_no_second_name():
    both, _ = one_table()
    with pytest.raises(ValueError, match=r"columns=\{'born': 'day'\}: .* give B, or a list"):
        RecordLinkage({"born": "day"}).fit(both)
    same_names = dict(zip(both.columns, both.columns))
    same(RecordLinkage(same_names).fit(both).near_, RecordLinkage().fit(both).near_)


def test_records_whose_blocks_are_all_too_large_are_told():
    both, _ = one_table()
    half = both.assign(**{name: both[name].where(both.index % 2 == 0, "same") for name in both})
    assert fitted().crowded_ == 0
    with pytest.warns(
        UserWarning, match=r"50.0% of the records .* 50 records share each .*\(max_block\)"
    ):
        model = RecordLinkage().fit(half)
    assert model.crowded_ == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert RecordLinkage(max_block=2000).fit(half).crowded_ == 0


def test_a_column_is_compared_once():
    A, B, _ = tables(40)
    A = A.assign(Last_Name=A["last_name"])
    model = RecordLinkage().fit(A, B)
    assert [column.name for column in model.columns_ if column.other == "last_name"] == [
        "last_name"
    ]


def test_a_column_with_the_name_of_numbers_in_another():
    A, B, _ = tables(200)
    street = [f"{'ash' if i % 2 else 'oak'} road {i}" for i in range(len(A))]
    A = A.assign(street=street, **{"numbers in street": A["last_name"]})
    B = B.assign(street=street[: len(B)], **{"numbers in street": B["last_name"]})
    model = RecordLinkage(kind={"street": "text"}).fit(A, B)
    names = [column.name for column in model.columns_]
    assert len(set(names)) == len(names)
    same(model.score_pairs([[0, 0]], A, B), model.score_pairs([[0, 0]], A, B))


def test_digits_of_any_length_and_blocks_of_any_size(monkeypatch):
    monkeypatch.setattr(learning, "RANDOM_PAIRS", 1000)  # of 4,400 digits each
    A, B, _ = tables(40)
    long = ["7" * 4400 + str(i) for i in range(len(A))]
    A, B = A.assign(code=long), B.assign(code=long[: len(B)])
    assert RecordLinkage(max_block=2**70).fit(A, B).n_candidates_


def test_a_column_of_samples_without_values():
    A, B, _ = tables(40)
    empty = [None] * len(A)
    A, B = A.assign(tags=empty), B.assign(tags=empty[: len(B)])
    model = RecordLinkage(distances={"tags": Edit()}).fit(A, B)
    assert "no value" in next(c.reason for c in model.left_out_ if c.name == "tags")
    full = A.assign(tags=A["last_name"]), B.assign(tags=B["last_name"])
    model = RecordLinkage(distances={"tags": Edit()}).fit(*full)
    assert len(model.predict(A, B).left)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": ["x"]}, r"kind=\['x'\]: give a dict"),
        ({"columns": 5}, "columns=5: give a list"),
    ],
)
def test_options_of_other_types_are_refused(options, said):
    A, B, _ = tables(40)
    with pytest.raises(TypeError, match=said):
        RecordLinkage(**options).fit(A, B)


# --- new tables, files ----------------------------------------------------------------------------


def test_predict_by_the_same_model():
    A, B, _ = tables()
    model = fitted()
    assert found(model.predict(A, B)) == found(model.pairs_)
    C, D, truth = tables(800, 5)
    assert f1(model.predict(C, D), truth) > 0.95
    few = model.predict(C[:5], D)
    assert found(few) <= {(i, j) for i, j in found(model.predict(C, D)) if i < 5} | found(few)
    assert len(model.predict(C[:1], D[:1])) <= 1


def test_a_saved_model_is_the_same(tmp_path):
    A, B, _ = tables()
    model = fitted()
    mercer.save(model, tmp_path / "link.mercer")
    loaded = mercer.load(tmp_path / "link.mercer")
    same(loaded.predict(A, B), model.pairs_, 0)
    assert loaded.columns_ == model.columns_
    assert loaded.weights_ == model.weights_
    assert loaded.passes_ == model.passes_
    content = (tmp_path / "link.mercer").read_bytes()
    assert B["last_name"].dropna().iloc[0].encode() not in content


def test_a_clone_is_not_fitted():
    model = clone(fitted())
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(tables()[0])


# --- columns --------------------------------------------------------------------------------------


@pytest.mark.full
def test_columns_of_other_names():
    A, B, truth = tables()
    renamed = B.rename(columns={"first_name": "vorname", "born": "geburt"})
    names = {name: name for name in A} | {"first_name": "vorname", "born": "geburt"}
    same(RecordLinkage(names).fit(A, renamed).near_, fitted().near_)
    loose = B.rename(columns={"first_name": "First Name", "last_name": "LAST-NAME"})
    same(RecordLinkage().fit(A, loose).near_, fitted().near_)
    some = RecordLinkage(["first_name", "last_name", "born"]).fit(A, B)
    assert [column.name for column in some.columns_] == ["born", "first_name", "last_name"]
    assert f1(some.pairs_, truth) > 0.8


def test_columns_that_tell_nothing_are_left_out():
    A, B, _ = tables()
    A, B = A.copy(), B.copy()
    for table, step in ((A, 0), (B, 7)):
        table["id"] = np.arange(len(table)) + step
        table["country"] = "DE"
        table["note"] = None
        table["marks"] = ["--", "!!"] * (len(table) // 2)
    A["code"] = [f"x{i:05d}q" for i in range(len(A))]
    B["code"] = [f"{i:05d}" for i in range(90_000, 90_000 + len(B))]
    model = RecordLinkage().fit(A, B)
    why = {column.name: column.reason for column in model.left_out_}
    assert set(why) == {"id", "country", "note", "marks", "code"}
    assert "numbers the records" in why["id"]
    assert "equal" in why["country"]
    assert "no value" in why["note"]
    same(model.near_, fitted().near_)
    dropped = RecordLinkage(kind={"place": "drop"}).fit(*tables()[:2])
    assert [column.said() for column in dropped.left_out_] == ["place: left out, as you asked"]


def test_kinds_are_given():
    A, B, _ = tables()
    model = RecordLinkage(kind={"place": "category", "street": "text"}).fit(A, B)
    kinds = {column.name: column.kind for column in model.columns_}
    assert (kinds["place"], kinds["street"], kinds["born"]) == ("category", "text", "date")
    assert all(column.said() for column in model.columns_)


def test_numbers_in_texts_tell_variants_apart():
    rng = np.random.default_rng(0)
    sizes = (16, 32, 64, 128)
    makers, kinds = ["sony", "canon", "bosch", "acer"], ["camera", "printer", "drill", "laptop"]
    rows = [
        (f"{makers[rng.integers(4)]} {kinds[rng.integers(4)]} {rng.integers(100, 999)}", size)
        for _ in range(150) for size in rng.choice(sizes, 2, replace=False)
    ]  # fmt: skip
    models = [rows[i - i % 2][0] for i in range(300)]
    A = pd.DataFrame({"title": [f"{m} {s} gb" for m, (_, s) in zip(models, rows)]})
    B = pd.DataFrame({"title": [f"{s}gb {m.replace(' ', '-')}" for m, (_, s) in zip(models, rows)]})
    A["price"] = B["price"] = rng.uniform(10, 99, 300).round(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RecordLinkage().fit(A, B)
    assert "numbers in title" in [column.name for column in model.columns_]
    assert f1(model.pairs_, {(i, i) for i in range(300)}) > 0.9


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.full
def test_labels_help_and_few_never_hurt_much():
    A, B, truth = tables(800, 3)
    plain = RecordLinkage().fit(A, B)
    before = f1(plain.pairs_, truth)
    rng = np.random.default_rng(0)
    for count in (6, 40, 150):
        rows = rng.choice(len(plain.near_), count, replace=False)
        pairs = np.column_stack([plain.near_.left[rows], plain.near_.right[rows]])
        labels = [tuple(pair) in truth for pair in pairs.tolist()]
        model = RecordLinkage().fit(A, B, pairs=pairs, labels=labels)
        assert f1(model.pairs_, truth) > before - 0.002
        said = found(model.pairs_)
        assert all((tuple(p) in said) == label for p, label in zip(pairs.tolist(), labels))
    assert f1(model.pairs_, truth) > before


@pytest.mark.spread(1)
@pytest.mark.parametrize("truth", [True, False])
def test_labels_move_the_weights_of_other_pairs(truth):
    """Doubtful pairs that match say that others do, and so with those that do not."""
    A, B, _ = tables()
    near = fitted().near_
    doubtful = np.flatnonzero((near.probability > 0.05) & (near.probability < 0.95))
    asked, others = doubtful[::2], doubtful[1::2]
    rows = np.column_stack([near.left, near.right])
    model = RecordLinkage().fit(A, B, pairs=rows[asked], labels=np.full(len(asked), truth))
    moved = model.score_pairs(rows[others], A, B).weight - near.weight[others]
    assert (moved.mean() > 1) if truth else (moved.mean() < -1)
    same_for_all = [
        np.median(m.near_.weight - m.near_.weights.sum(axis=1)) for m in (model, fitted())
    ]
    assert (same_for_all[0] > same_for_all[1]) == truth


def test_a_labelled_pair_need_not_be_a_candidate():
    A, B, _ = tables()
    far = next(
        (i, j) for i in range(50) for j in range(50) if A["street"][i] != B["street"][j]
        and A["first_name"][i] != B["first_name"][j] and A["born"][i][:4] != str(B["born"][j])[-4:]
    )  # fmt: skip
    model = RecordLinkage().fit(A, B, pairs=[far], labels=[1])
    assert far in found(model.pairs_)
    assert model.labels_[far[0]] == model.labels_[len(A) + far[1]]
    assert far not in found(RecordLinkage().fit(A, B, pairs=[far], labels=[0]).near_)


def test_labels_that_cannot_be_are_refused():
    A, B, _ = tables()
    for pairs, labels, said in (
        ([[0, 0]], None, "give both"), ([[0, 0]], [1, 0], "2 for 1 pairs"),
        ([[0, 0]], [2], "True or False"),
        ([[0, 9999]], [1], r"\[0, 9999\] names row 9999 of table B"),
        ([[-1, 0]], [1], "row -1 of table A"), ([[0.5, 0]], [1], "whole numbers"),
        ([[0, 0], [0, 0]], [1, 0], r"\(0, 0\) is no match, but others"), ([0, 0], [1], "shape"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            RecordLinkage().fit(A, B, pairs=pairs, labels=labels)
    with pytest.raises(ValueError, match=r"\(0, 2\) is no match, but others"):
        RecordLinkage().fit(A, pairs=[[0, 1], [1, 2], [0, 2]], labels=[1, 1, 0])
    with pytest.raises(ValueError, match="row 3 stands beside itself"):
        RecordLinkage().fit(A, pairs=[[3, 3]], labels=[1])


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.full
def test_columns_of_other_names_and_the_same_values():
    A, B, _ = tables()
    renamed = B.rename(columns={"first_name": "vorname", "born": "geburt", "place": "ort"})
    model = RecordLinkage().fit(A, renamed)
    other = {column.name: column.other for column in model.columns_}
    assert (other["first_name"], other["born"], other["place"]) == ("vorname", "geburt", "ort")
    same(model.near_, fitted().near_)
    assert model.left_out_ == []
    kinds = RecordLinkage(kind={"ort": "drop"}).fit(A, renamed)
    assert [column.name for column in kinds.left_out_] == ["place"]
    # two that share as much with one, few values, and numbers are not joined
    flags = {name: np.where(np.arange(len(A)) % 3, "yes", "no") for name in ("red", "blue")}
    more = A.assign(old=A["first_name"], rank=np.arange(len(A)) % 50, red=flags["red"])
    twice = renamed.assign(level=np.arange(len(B)) % 50, blue=flags["blue"][: len(B)])
    model = RecordLinkage().fit(more, twice)
    reasons = {column.name: column.reason for column in model.left_out_}
    for name in ("first_name", "old", "rank", "red"):
        assert reasons[name] == "the second table has no such column"
    for name in ("vorname", "level", "blue"):
        assert reasons[name] == "the first table has no such column"


def test_columns_are_joined_where_three_tenths_of_the_values_are_the_same():
    words = np.array([f"{a}{b}on" for a in "abcdefghij" for b in "klmnopqrst"])
    for shared, joined in ((35, {"x": "y"}), (25, {})):
        other = [*words[:shared], *(f"zz{k}" for k in range(100 - shared))]
        sides = pd.DataFrame({"x": words}), pd.DataFrame({"y": other})
        assert joined_columns(*map(ReadTable.of, sides)) == joined


@pytest.mark.spread(1)
@pytest.mark.parametrize("other", [True, False])
def test_columns_of_the_same_values_and_another_meaning_are_left_out(other):
    """Places of birth and of residence have the same values, and agree by chance."""
    A, B, truth = tables()
    moved = B["place"].sample(frac=1, random_state=0).to_numpy()
    A, B = A.rename(columns={"place": "birthplace"}), B.drop(columns="place").assign(home=moved)
    if other:  # and no column has a common name
        B = B.rename(columns=lambda name: f"{name} of b")
    model = RecordLinkage().fit(A, B)
    assert f1(model.pairs_, truth) > 0.95
    reasons = {column.name: column.reason for column in model.left_out_}
    assert "agrees by chance alone" in reasons["birthplace"]
    with pytest.raises(ValueError, match="kind: note is a column of one table alone"):
        RecordLinkage(kind={"note": "text"}).fit(A.assign(note="x"), B)


def test_tables_without_a_common_column():
    A, B, _ = tables()
    other = B.rename(columns=lambda name: f"{name}s of b").map(lambda cell: f"no {cell}")
    with pytest.raises(
        ValueError, match=r"no column in common: first_name.*Perhaps .*street=streets of b"
    ):
        RecordLinkage().fit(A, other)
    with pytest.raises(
        ValueError, match=r"second table has no column 'places'.*Did you mean 'place'"
    ):
        RecordLinkage({"place": "places"}).fit(A, B)
    with pytest.raises(ValueError, match="first table has no column 'plac'"):
        RecordLinkage(["plac"]).fit(A, B)
    with pytest.raises(TypeError, match="give a list of names"):
        RecordLinkage("place").fit(A, B)
    with pytest.raises(ValueError, match="columns: none is given"):
        RecordLinkage([]).fit(A, B)
    with pytest.raises(ValueError, match=r"kind: no column 'plac'.*Did you mean 'place'"):
        RecordLinkage(kind={"plac": "text"}).fit(A, B)
    with pytest.raises(ValueError, match="kind: place='place'; give category, name"):
        RecordLinkage(kind={"place": "place"}).fit(A, B)
    with pytest.raises(ValueError, match="B has no column 'street', by which the model"):
        fitted().predict(A, B.drop(columns="street"))


def test_few_records_one_column_and_no_match():
    A, B, _ = tables()
    with pytest.raises(ValueError, match="19 records are given, while a minimum of 20"):
        RecordLinkage().fit(A[:10], B[:9])
    few = RecordLinkage().fit(A[:20].assign(id=np.arange(20)))
    assert "id: left out, it numbers the records" in [column.said() for column in few.left_out_]
    with pytest.warns(UserWarning, match="Only 'last_name' is compared"):
        RecordLinkage(["last_name"]).fit(A, B)
    with pytest.raises(ValueError, match="no column tells which records are alike"):
        RecordLinkage().fit(pd.DataFrame({"a": ["x"] * 30, "b": [None] * 30}))
    strangers = pd.DataFrame({
        "first_name": [f"q{i}w" for i in range(40)], "last_name": [f"{i}zz{i}" for i in range(40)],
    })  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        none = RecordLinkage(["first_name", "last_name"]).fit(A, strangers)
    assert len(none.pairs_) == 0
    assert len(np.unique(none.labels_)) == len(A) + 40


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 1.5}, "threshold=1.5"), ({"threshold": "x"}, "threshold='x'"),
        ({"max_block": 1}, "max_block=1"), ({"max_block": 2.5}, "max_block=2.5"),
        ({"relatives": -1}, "relatives=-1"), ({"relatives": True}, "relatives=True"),
        ({"pairs_per_record": 0}, "pairs_per_record=0"), ({"one_to_one": "yes"}, "one_to_one"),
    ],
)  # fmt: skip
def test_wrong_parameters(options, said):
    A, B, _ = tables()
    with pytest.raises((ValueError, TypeError), match=said):
        RecordLinkage(**options).fit(A, B)


def test_hostile_cells():
    rng = np.random.default_rng(0)
    odd = ["", " ", "\x00", "\ud800", "🙂" * 30, "a" * 5000, "NaN", "½", "\u202etxt", "\n", "1e999",
           "-", "王", "İ", "ﷺ"]  # fmt: skip
    words = ["anna", "bert", "carl", "dora", "emil", "fritz", "gerd", "hans"]
    rows = {
        name: [odd[i % 15] if rng.random() < 0.3 else words[rng.integers(8)] + str(i % 7)
               for i in rng.integers(0, 60, 120)]
        for name in ("x", "y", "z")
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RecordLinkage().fit(np.array([*rows.values()], object).T)
        assert np.isfinite(model.near_.weight).all()
        model.predict(np.array([odd] * 3, object).T)


def test_all_records_equal_twice():
    A, _, _ = tables()
    both = pd.concat([A, A], ignore_index=True)
    model = RecordLinkage().fit(both)
    assert {(i, i + len(A)) for i in range(len(A))} <= found(model.pairs_)


@pytest.mark.parametrize("one_to_one", [False, True])
def test_one_to_one(one_to_one):
    pairs = fitted(one_to_one=one_to_one).pairs_
    unique = len(np.unique(pairs.left)) == len(pairs) == len(np.unique(pairs.right))
    assert unique or not one_to_one


# --- samples of any kind --------------------------------------------------------------------------


@pytest.mark.full
def test_columns_of_any_kind_take_part_by_a_distance(tmp_path):
    A, B, truth = tables(400, 2)
    rng = np.random.default_rng(0)
    A, B = A[["first_name", "last_name"]].copy(), B[["first_name", "last_name"]].copy()
    places = rng.normal(size=(800, 2)) * 50
    words = [frozenset(rng.choice([*"abcdefghijklmnop"], 6, replace=False)) for _ in range(800)]
    own = {j: i for i, j in truth}
    mine = [own.get(j, 400 + j) for j in range(len(B))]
    A["at"] = [places[i].tolist() for i in range(len(A))]
    B["at"] = [(places[i] + rng.normal(0, 0.5, 2)).tolist() for i in mine]
    A["has"] = [set(words[i]) for i in range(len(A))]
    B["has"] = [set(list(words[i])[: 5 + j % 2]) for j, i in enumerate(mine)]
    plain = RecordLinkage(["first_name", "last_name"]).fit(A, B)
    distances = {"at": Minkowski(), "has": kernels.Jaccard()}
    model = RecordLinkage(distances=distances).fit(A, B)
    assert f1(model.pairs_, truth) > max(0.95, f1(plain.pairs_, truth))
    said = {column.name: column.said() for column in model.columns_}
    assert said["at"] == "at: samples, by a distance"
    some = np.column_stack([rng.integers(0, len(A), 900), rng.integers(0, len(B), 900)])
    level = model.score_pairs(some, A, B).levels[:, list(said).index("at")]
    far = np.array([np.linalg.norm(np.subtract(A["at"][i], B["at"][j])) for i, j in some])
    each = [far[level == k] for k in range(4)]
    assert 0.75 < len(each[0]) / 900 < 0.85
    assert 0.1 < len(each[1]) / 900 < 0.2
    assert all(near.max() < wide.min() for wide, near in itertools.pairwise(each))
    order = np.random.default_rng(1).permutation(len(B))
    moved = RecordLinkage(distances=distances).fit(A, B.iloc[order]).pairs_
    assert {(i, order[j]) for i, j in found(moved)} == found(model.pairs_)
    near = model.pairs_[:9]
    for k, (i, j) in enumerate(zip(near.left, near.right)):
        assert model.score_pairs([[0, 0]], A.iloc[[i]], B.iloc[[j]]).weight[0] == near.weight[k]
    mercer.save(model, tmp_path / "m")
    same(mercer.load(tmp_path / "m").predict(A, B), model.pairs_, 0)


@pytest.mark.full
def test_wrong_distances():
    A, B, _ = tables()
    with pytest.raises(ValueError, match="distances: no column 'plac' is compared"):
        RecordLinkage(distances={"plac": Minkowski()}).fit(A, B)
    with pytest.raises(TypeError, match="distances: place='edit'; give a distance"):
        RecordLinkage(distances={"place": "edit"}).fit(A, B)
    model = RecordLinkage(distances={"place": Edit(), "number": Edit()}).fit(A, B)
    assert f1(model.pairs_, tables()[2]) > 0.95


def test_paired_distances_are_those_of_the_matrix():
    X = np.random.default_rng(0).normal(size=(9, 3))
    D, distance = Minkowski()(X), Minkowski()
    a, b = np.random.default_rng(1).integers(0, 9, (2, 60))
    np.testing.assert_allclose(link_columns.paired(distance, X, a, b), D[a, b], atol=1e-7)
    assert link_columns.paired(distance, X, a[:0], b[:0]).shape == (0,)
