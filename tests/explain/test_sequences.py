"""Letters and variants of sequences, against the sums that they are and models that predict."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import cases
import mercer
from mercer import SVC, KernelClassifier, KernelRegressor, KernelRidge
from mercer.explain import letters, variants
from mercer.kernels import (
    RBF,
    Convex,
    EditRBF,
    GappedKmer,
    Layered,
    Match,
    Mismatch,
    NotSeparable,
    Spectrum,
    WeightedDegree,
)

MOTIF = "GATTACAGG"


def made(n, seed=0, length=60, strands=True):
    """DNA of which every second one has the motif, on either strand; and where."""
    rng = np.random.default_rng(seed)
    X, places = [], []
    for i in range(n):
        text = rng.choice(list("ACGT"), length)
        motif = MOTIF
        if strands and rng.random() < 0.5:
            motif = MOTIF[::-1].translate(str.maketrans("ACGT", "TGCA"))
        place = rng.integers(length - len(motif))
        if i % 2:
            text[place : place + len(motif)] = list(motif)
        X.append("".join(text))
        places.append(int(place) if i % 2 else -1)
    return X, np.arange(n) % 2, np.array(places)


KERNELS = [
    Spectrum(3), Spectrum(4, shortest=2, decay=0.5).normalised(), Mismatch(4, 1).normalised(),
    GappedKmer(6, 4), GappedKmer(6, 4, True).normalised(),
    GappedKmer(6, 4, True, mismatches=6, filter="full", weights="centre", half_life=5).normalised(),
    GappedKmer(7, 4, True, mismatches=2, filter="truncated").normalised(),
    WeightedDegree(5), WeightedDegree(4, 7).normalised(), Spectrum(40),
    2 * Spectrum(2).normalised() + WeightedDegree(3).normalised(),
    Convex([Spectrum(2).normalised(), GappedKmer(4, 3).normalised()], [0.25, 0.75]),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_parts_of_symbols_sum_to_the_kernel_sum(kernel):
    X, _, _ = made(9)
    X[3] = X[3][:10] + "N" + X[3][11:]
    E = kernel.encode(X[3:])
    kernel = kernel.bind(E)
    A = kernel.encode([*X[:4], X[4][:-3] + "xyz"], like=E) if "both" not in repr(kernel) else E
    coef = np.random.default_rng(1).normal(size=(len(X) - 3, 2))
    parts = kernel.symbol_parts(A, E, coef)
    assert [part.shape for part in parts] == [(60, 2)] * len(A)
    expected = kernel.block(A, E) @ coef
    assert_allclose([p.sum(axis=0) for p in parts], expected, atol=1e-10 * np.abs(expected).max())
    alone = kernel.symbol_parts(A[[1]], E, coef)
    assert_allclose(alone[0], parts[1], atol=1e-10 * np.abs(expected).max())
    assert kernel.symbol_parts(A[:0], E, coef) == []


def test_a_substring_is_divided_among_the_letters_that_are_compared():
    E = Spectrum(3).encode(["CAT", "ATA"])
    assert_allclose(Spectrum(3).symbol_parts(E, E[:1], np.ones((1, 1)))[0][:, 0], [1 / 3] * 3)
    assert_array_equal(Spectrum(3).symbol_parts(E, E[:1], np.ones((1, 1)))[1], np.zeros((3, 1)))
    gapped = GappedKmer(3, 2)  # two places of CAT and CGT are equal, the ends
    E = gapped.encode(["CAT", "CGT"])
    assert_allclose(gapped.symbol_parts(E[:1], E[1:], np.ones((1, 1)))[0][:, 0], [0.5, 0, 0.5])
    turned = GappedKmer(3, 3, True)
    E = turned.encode(["CATG", "CATG"])
    parts = turned.symbol_parts(E[:1], E[1:], np.ones((1, 1)))[0][:, 0]
    assert_allclose(parts, parts[::-1])  # CATG is its own reverse complement


def test_the_formula_of_gkmexplain():
    """A pair of windows that agree in n places gives g(h) / n to each of them."""
    kernel = GappedKmer(6, 4, True, mismatches=2, filter="truncated")
    x, z = (text[:14] for text in made(2)[0])
    z = x[:7] + z[7:]  # they share windows on one strand
    g = kernel.window_values()
    expected = np.zeros(14)
    for strand in (z, z[::-1].translate(str.maketrans("ACGT", "TGCA"))):
        for i in range(9):
            for j in range(9):
                same = [p for p in range(6) if x[i + p] == strand[j + p]]
                if len(same) >= 4:
                    expected[[i + p for p in same]] += 2 * g[6 - len(same)] / len(same)
    E = kernel.encode([x, z])
    found = kernel.symbol_parts(E[:1], E[1:], np.ones((1, 1)))[0][:, 0]
    assert_allclose(found, expected)


@pytest.mark.parametrize("kernel", [RBF(), EditRBF(), Spectrum(2, idf=True), Spectrum(2) ** 2])
def test_kernels_that_are_no_sum_say_so(kernel):
    E = kernel.encode([[1.0], [2.0]] if isinstance(kernel, RBF) else ["ab", "ba"])
    with pytest.raises(NotSeparable, match="no sum over substrings"):
        kernel.bind(E).symbol_parts(E, E, np.ones((2, 1)))


@pytest.mark.parametrize("kernel", KERNELS[1::2], ids=repr)
def test_letters_of_learners_sum_to_the_decision(kernel):
    X, y, _ = made(40)
    for model in (SVC(kernel=kernel), KernelRidge(kernel=kernel, alpha=0.1)):
        model.fit(X, y)
        found = letters(model, X[:5])
        assert found.method == "windows"
        answer = getattr(model, "decision_function", model.predict)(X[:5])
        sums = [v.sum() for v in found.values]
        assert_allclose(found.base_values + sums, answer, atol=1e-9)
        assert np.ptp(found.base_values) < 1e-9  # the constant alone


def test_several_classes_have_a_value_each():
    X, y, _ = made(60)
    y = np.where(np.arange(60) % 3 == 0, 2, y)
    model = SVC(kernel=Spectrum(3).normalised()).fit(X, y)
    found = letters(model, X[:4])
    assert found.output_names == ["0", "1", "2"]
    assert found.values[0].shape == (60, 3)
    scored = variants(model, X[:2], [(1, 3, X[1][3], "ACG")])
    assert scored.changes.shape == (1, 3)


@pytest.mark.parametrize(
    "kernel", [GappedKmer(8, 6, True).normalised(), Spectrum(5).normalised(), WeightedDegree(6, 20)]
)
def test_planted_motifs_are_found(kernel):
    """The letters of the motif stand out in new sequences, and their variants weaken it."""
    strands = not isinstance(kernel, WeightedDegree)
    X, y, _ = made(300, strands=strands)
    new, has, places = made(40, seed=7, strands=strands)
    model = SVC(kernel=kernel, C=10).fit(X, y)
    found = letters(model, new)
    hits = 0
    for values, place in zip(found.values, places):
        if place >= 0:
            sums = np.convolve(values, np.ones(len(MOTIF)), "valid")
            hits += abs(int(sums.argmax()) - place) <= 2
    assert hits >= 0.85 * has.sum()
    both = {MOTIF, MOTIF[::-1].translate(str.maketrans("ACGT", "TGCA"))}
    pieces = [piece for piece, _ in found.strongest(len(MOTIF), 10)]
    assert sum(any(sum(a == b for a, b in zip(p, m)) >= 7 for m in both) for p in pieces) >= 5
    row = int(np.flatnonzero(has)[0])
    scored = variants(model, [new[row]])
    middle = (scored.places >= places[row] + 2) & (scored.places < places[row] + 7)
    assert scored.changes[middle].mean() < scored.changes[~middle].mean()


def test_variants_are_what_the_model_predicts():
    X, y, _ = made(60)
    model = SVC(kernel=GappedKmer(6, 4, True).normalised()).fit(X, y)
    scored = variants(model, X[:2])
    assert len(scored.rows) == 2 * 60 * 3
    i = 200
    row, place, new = scored.rows[i], scored.places[i], scored.alternatives[i]
    assert scored.references[i] == X[row][place] != new
    text = X[row][:place] + new + X[row][place + 1 :]
    assert_allclose(scored.after[i], model.decision_function([text])[0])
    assert_allclose(scored.before[i], model.decision_function([X[row]])[0])
    given = [
        (0, 0, X[0][0], "TTT"),
        (1, 59, X[1][59], ""),
        (1, 5, "", "GG"),
        (0, 2, X[0][2:9], "A"),
    ]
    scored = variants(model, X[:2], given)
    texts = ["TTT" + X[0][1:], X[1][:59], X[1][:5] + "GG" + X[1][5:], X[0][:2] + "A" + X[0][9:]]
    assert_allclose(scored.after, model.decision_function(texts))
    assert len(variants(model, X[:2], []).changes) == 0


def test_letters_of_any_model():
    """By substitutions: each value is the output less the mean over the other letters."""
    X, y, _ = made(60)
    models = [
        SVC(kernel=Layered(RBF(1.0), base=GappedKmer(6, 4, True).normalised())).fit(X, y),
        make_pipeline(
            CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False),
            LogisticRegression(),
        ).fit(X, y),
    ]
    for model in models:
        found = letters(model, X[:2])
        assert found.method == "substitutions"
        scored = variants(model, X[:2])
        for row in (0, 1):
            own = scored.rows == row
            assert_allclose(
                found.values[row], -scored.changes[own].reshape(60, 3).mean(axis=1), atol=1e-12
            )


@pytest.fixture(scope="module")
def table():
    X, y, places = made(120)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"id": [f"s{i}" for i in range(120)], "sequence": X, "age": rng.normal(size=120)}
    )
    return frame, np.where(y, "bound", "free"), places


def test_tables_of_automatic_estimators(table):
    frame, y, _ = table
    model = KernelClassifier(trials=6, random_state=0).fit(frame, y)
    new = frame[:6]
    found = letters(model, new)
    scored = variants(model, new, [(1, 5, frame["sequence"][1][5], "N")])
    assert found.output_names is None
    log_odds = np.diff(np.log(model.predict_proba(new)), axis=1)[:, 0]
    sums = np.array([v.sum() for v in found.values])
    assert_allclose(found.base_values + sums, log_odds, atol=1e-6)
    assert_allclose(scored.before, log_odds[[1]], atol=1e-6)
    text = frame["sequence"][1]
    changed = new.with_columns(
        pl.when(pl.col("id") == "s1").then(pl.lit(text[:5] + "N" + text[6:]))
        .otherwise(pl.col("sequence")).alias("sequence")
    )  # fmt: skip
    after = np.diff(np.log(model.predict_proba(changed)), axis=1)[1]
    assert_allclose(scored.after, after, atol=1e-6)


def test_the_part_of_other_columns_is_in_the_base(table):
    frame, y, _ = table
    data = frame.to_pandas()
    kernel = Spectrum(3).normalised().on("sequence") + RBF(1.0).on("age")
    model = SVC(kernel=kernel).fit(data, y)
    found = letters(model, data[:5], column="sequence")
    assert found.method == "windows"
    sums = np.array([v.sum() for v in found.values])
    assert_allclose(found.base_values + sums, model.decision_function(data[:5]), atol=1e-9)
    assert np.ptp(found.base_values) > 1e-3
    product = Spectrum(3).normalised().on("sequence") * RBF(1.0).on("age")
    model = SVC(kernel=product).fit(data, y)
    found = letters(model, data[:2], column="sequence")
    assert found.method == "substitutions"
    several = data.assign(other=data["sequence"])
    with pytest.raises(ValueError, match=r"\['sequence', 'other'\] hold sequences: .*column="):
        letters(model, several)


def test_a_regression_of_proteins():
    rng = np.random.default_rng(0)
    first = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 40)
    rows, y = [], []
    for _ in range(90):
        text = first.copy()
        for place in rng.choice(40, 3, replace=False):
            text[place] = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"))
        rows.append("".join(text))
        y.append(float(text[10] == first[10]) - float(text[25] == first[25]))
    frame = pd.DataFrame({"protein": rows})
    model = KernelRegressor(trials=5, random_state=0).fit(frame, y)
    scored = variants(model, frame[:1])
    assert len(scored.changes) == 40 * 19
    assert set(scored.alternatives) == set("ACDEFGHIKLMNPQRSTVWY")
    found = letters(model, frame[:3])
    sums = np.array([v.sum() for v in found.values])
    assert_allclose(found.base_values + sums, model.predict(frame[:3]), atol=1e-8)


def test_letters_of_either_case_and_other_letters():
    X, y, _ = made(40)
    model = SVC(kernel=GappedKmer(6, 4, True).normalised()).fit(X, y)
    soft = X[0][:20].lower() + "N" + X[0][21:]
    found = letters(model, [soft])
    assert found.sequences == [soft]
    assert_allclose(
        found.values[0].sum() + found.base_values[0], model.decision_function([soft])[0]
    )
    scored = variants(model, [soft])
    assert len(scored.places) == 59 * 3  # none of N
    assert scored.alternatives[0] in "acgt"
    rna = X[0].replace("T", "U")
    assert "T" not in variants(model, [rna]).alternatives
    checked = variants(model, [soft], [(0, 0, X[0][0], "G")])
    assert checked.references == [soft[0]]
    empty = letters(model, ["", "ACG"])
    assert [len(v) for v in empty.values] == [0, 3]
    assert_array_equal(empty.values[1], 0)


class Lengths(RegressorMixin, BaseEstimator):
    """A model of which nothing is known but what it predicts: how often A stands in a text."""

    def predict(self, X):
        return np.array([text.upper().count("A") for text in X], float)


def test_capitals_that_are_not_of_the_alphabet_are_replaced_by_capitals():
    seen = []

    class Seen(Lengths):
        def predict(self, X):
            seen.extend(X)
            return super().predict(X)

    letters(Seen(), ["NAn"], alphabet="ACGT")
    assert {text[0] for text in seen[1:]} == set("NACGT")
    assert {text[2] for text in seen[1:]} == set("nacgt")


def test_the_alphabet_is_that_of_the_training_sequences():
    """Not of the rows of one call, which may have few letters."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 30)) for _ in range(40)]
    y, few = np.arange(40) % 2, "GATTACA"
    frame = pl.DataFrame({"s": X, "a": rng.normal(size=40)})
    own = Spectrum(2).normalised().on("s") + RBF(1.0).on("a")
    proteins = set("ACDEFGHIKLMNPQRSTVWY")
    for model in (SVC(kernel=Spectrum(2)), SVC(kernel=EditRBF())):
        assert set(variants(model.fit(X, y), [few]).alternatives) == proteins
    new = pl.DataFrame({"s": [few], "a": [0.0]})
    for model in (SVC(kernel=own), KernelClassifier(trials=2, kind={"s": "sequence"})):
        found = variants(model.fit(frame, y), new, column="s")
        assert set(found.alternatives) == proteins
    X, y, _ = made(40)
    model = SVC(kernel=Spectrum(2)).fit(X, y)
    assert set(variants(model, ["SYVKRMDHG"]).alternatives) <= set("ACGT")
    rna = SVC(kernel=Spectrum(2)).fit([text.replace("T", "U") for text in X], y)
    assert set(variants(rna, ["ACGA"]).alternatives) == set("ACGU")


def test_the_alphabet_of_a_model_that_does_not_tell_its_training_sequences():
    found = {text: set(variants(Lengths(), [text]).alternatives)
             for text in ("SYVKRMDHG", "GATTRCA", "NNNA", "GAUU", "ACGEFL")}  # fmt: skip
    assert len(found.pop("SYVKRMDHG")) == len(found.pop("ACGEFL")) == 20
    assert variants(Lengths(), ["", ""], [(1, 0, "", "AA")]).changes == [2]
    assert found == {"GATTRCA": set("ACGT"), "NNNA": set("CGT"), "GAUU": set("ACGU")}


def test_changed_sequences_are_made_a_part_at_a_time(monkeypatch):
    monkeypatch.setattr("mercer.explain.given_sequences.MADE_LETTERS", 100_000)
    text = "ACGT" * 500
    expected = variants(Lengths(), [text[:40]]).changes
    tracemalloc.start()
    found = variants(Lengths(), [text])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 5e6  # all of them have 12e6 letters
    assert_array_equal(found.changes[:120], expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((0, 3, "G"), r"changes\[0\] is .*give \(row, place, reference, alternative\)"),
        ((5, 3, "G", "A"), r"changes\[0\]: row 5, but X has 2 rows, from 0"),
        ((0, 60, "G", "A"), r"place 60, but the sequence in row 0 has 60 letters"),
        ((0, -1, "G", "A"), r"place -1, but"), ((0, 1.5, "G", "A"), r"place 1.5, but"),
        ((0, 3, 1, "A"), "reference and alternative must be texts"),
        ((0, 3, "X", "A"), r"the reference is 'X', but '.' stands at place 3 of row 0"),
    ],
)  # fmt: skip
def test_changes_that_are_none(change, message):
    X, y, _ = made(20)
    model = SVC(kernel=Spectrum(2)).fit(X, y)
    with pytest.raises(ValueError, match=message):
        variants(model, X[:2], [change])


def test_what_is_no_sequence():
    X, y, _ = made(20)
    model = SVC(kernel=Spectrum(2)).fit(X, y)
    with pytest.raises(ValueError, match=r"X\[1\] is 5: give sequences as texts"):
        letters(model, ["ACG", 5])
    for wrong in (None, 3.5, "ACGT", {"a": "ACGT"}, np.array("ACGT")):
        with pytest.raises(TypeError, match="give a list of sequences, or a data frame"):
            letters(model, wrong)
    with pytest.raises(ValueError, match=r"alphabet='A': give a text of at least 2 letters"):
        variants(model, ["ACG"], alphabet="A")
    for given in ({"width": 0}, {"width": -1}, {"width": 1.5}, {"width": 3, "most": -1}):
        name = [*given][-1]
        with pytest.raises(ValueError, match=rf"{name}={given[name]}: give a whole number >= 1"):
            letters(model, ["ACG"]).strongest(**given)
    model = KernelClassifier(trials=2).fit(pd.DataFrame({"s": X}), y)
    with pytest.raises(ValueError, match="give a data frame with the column of sequences"):
        letters(model, X)
    with pytest.raises(ValueError, match=r"column='t': X has the columns \['s'\]"):
        letters(model, pd.DataFrame({"s": X}), column="t")


def test_a_saved_model_says_the_same(tmp_path):
    X, y, _ = made(40)
    model = SVC(kernel=GappedKmer(6, 4, True).normalised()).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert_array_equal(letters(again, X[:2]).values, letters(model, X[:2]).values)


def test_match_is_no_sum_over_substrings():
    E = Match().encode(cases.categories())
    with pytest.raises(NotSeparable):
        Match().bind(E).symbol_parts(E, E, np.ones((len(cases.categories()), 1)))
