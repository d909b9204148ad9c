"""`TableKernel()` finds its parts by the kinds of the columns, also in sums and products."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import (
    RBF,
    Centred,
    Convex,
    Exponential,
    Jaccard,
    Match,
    Spectrum,
    TableKernel,
)

N = 14
RNG = np.random.default_rng(0)
Y = np.arange(N) % 2
FIRST = datetime.date(2024, 1, 30)
#: name -> the cells of a column, and the kernel that reads them
COLUMNS = {
    "age": (RNG.normal(size=N) + Y, RBF("scale")),
    "pay": ([decimal.Decimal(i) / 4 for i in range(N)], RBF("scale")),
    "when": (pd.date_range("2024-01-30", periods=N, freq="h"), RBF("scale")),
    "day": ([FIRST + datetime.timedelta(3 * i) for i in range(N)], RBF("scale")),
    "iso": ([f"2024-03-{1 + i:02d}" for i in range(N)], RBF("scale")),
    "wait": (pd.to_timedelta(RNG.integers(1, 99, N), unit="h"), RBF("scale")),
    "sex": (np.where(Y, "f", "m"), Match()),
    "said": ([f"these words are said by number {i}" for i in range(N)], Spectrum(3).normalised()),
    "items": ([{"tea", "milk"} if c else {"rum", f"x{i}"} for i, c in enumerate(Y)], Jaccard()),
    "place": (list(np.round(RNG.normal(size=(N, 3)), 3)), RBF("scale")),
}  # fmt: skip
TABLE = pd.DataFrame({name: pd.Series(cells) for name, (cells, _) in COLUMNS.items()})
SMALL = ["age", "when", "sex", "said"]
ALL = TableKernel()


def alone(combine, columns=tuple(COLUMNS)):
    """The kernel on the parts that are named by hand, and computed one by one."""
    shared = [c for c in columns if c in ("age", "pay", "wait")]
    days = TABLE["wait"].dt.total_seconds() / 86400
    numbers = TABLE.assign(pay=TABLE["pay"].astype(float), wait=days)
    grams = [RBF("scale")(numbers[shared])] if shared else []
    for name in columns:
        if name not in shared:
            grams.append(COLUMNS[name][1].on(name)(TABLE))
    return np.prod(grams, axis=0) if combine == "product" else np.sum(grams, axis=0)


def test_each_column_is_read_by_its_kind():
    bound = ALL.bind(ALL.encode(TABLE))
    found = {tuple(columns): kernel for kernel, columns in bound.parts}
    assert list(found) == [
        ("age", "pay", "wait"), *[(c,) for c in COLUMNS if c not in ("age", "pay", "wait", "sex")],
        ("sex",),
    ]  # fmt: skip
    for (name, *_), kernel in found.items():
        assert type(kernel) is type(COLUMNS[name][1])
    for combine in ("product", "sum"):
        assert_allclose(TableKernel(combine=combine)(TABLE), alone(combine), rtol=1e-10)


K, SUM, AGE, SEX = alone("product"), alone("sum"), RBF(0.5).on("age"), Match().on("sex")
A, S = AGE(TABLE), SEX(TABLE)
ROOT = np.sqrt(SUM.diagonal())
ALGEBRA = {
    "sum": (ALL + AGE, K + A), "sum on the right": (AGE + ALL, K + A),
    "product": (ALL * SEX, K * S), "scaled": (3 * ALL, 3 * K), "power": (ALL**2, K**2),
    "normalised": (TableKernel(combine="sum").normalised(), SUM / np.outer(ROOT, ROOT)),
    "exponential": (Exponential(ALL), np.exp(K)),
    "convex": (Convex([ALL, AGE], [0.25, 0.75]), 0.25 * K + 0.75 * A),
    "twice": (ALL + TableKernel(combine="sum"), K + SUM),
    "nested": (2 * (ALL * (AGE + SEX)) + ALL.normalised(), 2 * K * (A + S) + K),
    "on columns": (ALL.on(*SMALL) + AGE, alone("product", SMALL) + A),
    "all and some": (ALL.on(*SMALL) + ALL, alone("product", SMALL) + K),
    "a part of a table": (
        TableKernel([(ALL, SMALL), (Match(), ["sex"])], "sum"), alone("product", SMALL) + S,
    ),
    "centred": (Centred(ALL), K - K.mean(0) - K.mean(1)[:, None] + K.mean()),
}  # fmt: skip


@pytest.mark.spread(5)
@pytest.mark.parametrize("name", ALGEBRA)
def test_the_algebra_of_table_kernels(name):
    kernel, expected = ALGEBRA[name]
    found = kernel(TABLE)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert_allclose(found, found.T)
    assert np.linalg.eigvalsh(found)[0] >= -1e-9 * found.trace()
    X = kernel.encode(TABLE)
    bound = kernel.bind(X)
    assert_allclose(bound.diag(X), expected.diagonal(), rtol=1e-10, atol=1e-12)
    shuffled = TABLE.iloc[3:7][TABLE.columns[::-1]].assign(more=1.0)
    new = bound.encode(shuffled, like=X)
    assert_allclose(bound.block(new, X), expected[3:7], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_of_kernels_are_positive_and_symmetric(seed):
    rng = np.random.default_rng(seed)

    def tree(depth):
        if depth == 0 or rng.random() < 0.2:
            leaves = (ALL, TableKernel(combine="sum"), AGE, SEX, ALL.on("sex", "age"))
            return leaves[rng.integers(len(leaves))]
        left = tree(depth - 1)
        how = rng.integers(5)
        if how < 2:
            return left + tree(depth - 1) if how else left * tree(depth - 1)
        return (left.normalised(), 2 * left, Convex([left, tree(depth - 1)]))[how - 2]

    kernel = tree(3) + ALL
    found = kernel(TABLE)
    assert_allclose(found, found.T)
    assert np.linalg.eigvalsh(found)[0] >= -1e-9 * found.trace()
    rows = RNG.permutation(N)
    assert_allclose(kernel(TABLE.iloc[rows]), found[np.ix_(rows, rows)], rtol=1e-9)


BOUND = ALL.bind(ALL.encode(TABLE))


@pytest.mark.parametrize("beside", [[], [AGE], [AGE, SEX * AGE], [("some", ALL, ["age", "sex"])]])
def test_weights_of_table_kernels_are_learnt(beside):
    model = mercer.MultipleKernelClassifier([ALL, *beside]).fit(TABLE, Y)
    named = mercer.MultipleKernelClassifier([BOUND, *beside]).fit(TABLE, Y)
    assert_allclose(model.weights_, named.weights_)
    assert_allclose(model.decision_function(TABLE), named.decision_function(TABLE))


def test_a_sum_is_kept_in_a_file(tmp_path):
    model = mercer.SVC(kernel=ALL + 2 * AGE).fit(TABLE, Y)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert_allclose(loaded.decision_function(TABLE), model.decision_function(TABLE))


def test_missing_texts_and_sets_are_empty_ones():
    holes = TABLE[["age", "said", "items"]].copy()
    holes.loc[2, "said"], holes.loc[3, "items"] = None, None
    filled = TABLE[["age", "said", "items"]].copy()
    filled.loc[2, "said"], filled.at[3, "items"] = "", set()
    assert_allclose(ALL(holes), ALL(filled))


def test_dates_and_durations_are_read_as_days():
    days = np.arange(N)[:, None] / 24
    assert_allclose(RBF(0.5).on("when")(TABLE), RBF(0.5)(days), rtol=1e-9)
    zoned = TABLE[["when"]].assign(when=TABLE["when"].dt.tz_localize("Europe/Berlin"))
    for frame in (zoned, pl.from_pandas(zoned), pl.from_pandas(TABLE[["when"]])):
        assert_allclose(RBF(0.5).on("when")(frame), RBF(0.5)(days), rtol=1e-9)
    hours = (TABLE["wait"].dt.total_seconds() / 86400).to_numpy()[:, None]
    assert_allclose(RBF(0.5).on("wait")(pl.from_pandas(TABLE[["wait"]])), RBF(0.5)(hours))


def test_levels_of_a_typed_column_are_levels():
    typed = pd.DataFrame({"size": pd.Categorical([3, 4, 3, 5]), "n": [1.0, 2.0, 3.0, 4.0]})
    assert_allclose(ALL(typed), (RBF("scale").on("n") * Match().on("size"))(typed))


def test_what_can_be_read_in_two_ways_is_refused():
    spelled = pd.DataFrame({"price": ["1,200", "900", "2,300.50", "4,100"] * 3, "n": range(12)})
    wanted = r"column 'price' holds numbers as texts, such as '1,200'.*Match\(\) for 'price'"
    with pytest.raises(ValueError, match=wanted):
        ALL(spelled)
    with pytest.raises(ValueError, match=r"missing values.*'when' \(1 rows\)"):
        ALL(TABLE[["age", "when"]].assign(when=TABLE["when"].mask(TABLE.index == 2)))
