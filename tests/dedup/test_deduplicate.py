"""Near-duplicates: every decision beside exhaustive pairs, and what the walk promises."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer import deduplicate
from mercer.dedup import Characters, CorpusIndex, Fragments, Words, signing, walk
from mercer.distances import Edit
from mercer.kernels import RBF, FromDistance, Jaccard, Linear, Morgan


def shingles_of(text, size=3):
    words = [word for word in text.split() if word]
    return {
        tuple(words[i : i + size]) for i in range(max(len(words) - size + 1, min(len(words), 1)))
    }


def index_of(a, b, size=3):
    a, b = shingles_of(a, size), shingles_of(b, size)
    return len(a & b) / len(a | b) if a | b else 0.0


def corpus(n=300, seed=0, copies=0.5, words=40, vocabulary=3000):
    """Texts of which many are changed copies of others, or of changed copies."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(n):
        if texts and rng.random() < copies:
            text = texts[rng.integers(len(texts))].split()
            for place in rng.integers(0, len(text), rng.integers(0, 4)):
                text[place] = f"w{rng.integers(vocabulary)}"
        else:
            text = [f"w{k}" for k in rng.integers(0, vocabulary, words)]
        texts.append(" ".join(text))
    return texts


def star(texts, order, threshold, fixed=0, within=True):
    """The walk by all pairs: the partner of each text, or -1."""
    kept, partners = [], np.full(len(texts), -1)
    for i in order:
        if i >= fixed:
            similar = [(index_of(texts[i], texts[j]), -k) for k, j in enumerate(kept)]
            best = max(similar, default=(0.0, 0))
            if best[0] >= threshold and shingles_of(texts[i]):
                partners[i] = kept[-best[1]]
                continue
        if within or i < fixed:
            kept.append(i)
    return partners


def check(found, texts, threshold):
    """Every removal has a partner that stays, as similar as is said."""
    stays = set(found.kept.tolist())
    for removed, kept, earlier, similarity in found.pairs.tolist():
        assert earlier or kept in stays
        assert similarity >= threshold
        if not earlier:
            assert similarity == index_of(texts[removed], texts[kept])
    assert sorted([*found.kept, *found.removed]) == list(range(len(texts)))


@pytest.mark.spread(1)
@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_decisions_are_those_of_all_pairs(threshold):
    texts = corpus()
    found = deduplicate(texts, threshold=threshold, recall=0.9999)
    partners = star(texts, range(len(texts)), threshold)
    assert_array_equal(found.partners, np.where(partners < 0, np.arange(len(texts)), partners))
    assert len(found.removed) > 20
    check(found, texts, threshold)


def test_a_chain_is_no_cluster():
    """A is like B and B like C, but A is not like C."""
    words = [f"w{k}" for k in range(60)]
    a, b, c = (" ".join(words[s : s + 50]) for s in (0, 5, 10))
    assert index_of(a, b) == index_of(b, c) > 0.8 > index_of(a, c)
    found = deduplicate([a, b, c], recall=0.9999)
    assert_array_equal(found.partners, [0, 0, 2])
    assert_array_equal(found.clusters, [0, 0, 1])
    first = deduplicate([a, b, c], keep=[0, 1, 0], recall=0.9999)
    assert_array_equal(first.partners, [1, 1, 1])


@pytest.mark.parametrize("keep", ["longest", "column"])
def test_the_order_of_documents_changes_nothing(keep):
    texts = corpus(seed=1)
    texts += [texts[0], texts[1] + " ", texts[2]]
    scores = np.array([len(text) % 3 for text in texts])
    rng = np.random.default_rng(0)
    answers = []
    for order in (np.arange(len(texts)), rng.permutation(len(texts)), rng.permutation(len(texts))):
        shuffled = [texts[i] for i in order]
        found = deduplicate(shuffled, keep="longest" if keep == "longest" else scores[order])
        pairs = [(shuffled[r], shuffled[k], s) for r, k, _, s in found.pairs.tolist()]
        answers.append((sorted(shuffled[i] for i in found.kept), sorted(pairs)))
    assert answers[0] == answers[1] == answers[2]


def test_what_is_preferred_is_kept():
    texts = ["a b c d e f g h i j k l m n o p", "a b c d e f g h i j k l m n o p q"]
    for keep, kept in (("first", 0), ("longest", 1), ([2, 1], 0), ([1.5, 2.5], 1),
                       (np.array(["2024-01-02", "2024-01-01"], "M8[D]"), 0)):  # fmt: skip
        found = deduplicate(texts, keep=keep)
        assert_array_equal(found.kept, [kept])
        assert found.similarities[1 - kept] == 14 / 15
        assert found.similarities[kept] == 1


@pytest.mark.parametrize("within", [True, False])
def test_an_earlier_corpus(within):
    texts = corpus(200, seed=2)
    earlier, new = texts[:80], [*texts[80:], texts[3], texts[150]]
    found = deduplicate(new, against=earlier, within=within, recall=0.9999)
    both = earlier + new
    signs = signing.Signer(Words(), signing.Bands(1, 1)).sign(earlier)
    order = [*np.argsort(signs.contents, kind="stable").tolist(), *range(80, len(both))]
    partners = star(both, order, 0.8, fixed=80, within=within)[80:]
    stays = partners < 0
    assert_array_equal(found.kept, np.flatnonzero(stays))
    assert_array_equal(found.earlier, ~stays & (partners < 80))
    similar = [index_of(new[i], both[j]) for i, j in enumerate(partners) if j >= 0]
    assert_array_equal(found.similarities[~stays], similar)
    assert found.earlier.any()
    if not within:
        assert found.earlier[~stays].all()


def test_empty_documents_are_kept():
    found = deduplicate(["", " \n", "", "a", "a"])
    assert_array_equal(found.kept, [0, 1, 2, 3])
    assert_array_equal(found.empty, [0, 1, 2])
    assert "3 empty" in repr(found)
    assert len(deduplicate([]).kept) == 0


def test_characters_are_code_points():
    texts = ["東京都千代田区丸の内一丁目", "東京都千代田区丸の内一丁目。", "大阪市"]
    found = deduplicate(texts, shingles=Characters(2), threshold=0.8)
    assert_array_equal(found.partners, [0, 0, 2])
    assert found.similarities[1] == 12 / 13
    values, starts = Characters(3).sets(["aéb\ud800", "é"])
    assert_array_equal(np.diff(starts), [2, 1])
    assert values[2] == Characters(1).sets(["é"])[0][0]


def test_equal_documents_and_forms_take_linear_time():
    """Each is compared with few others: no pair of two that are not kept, and full buckets end."""
    equal = deduplicate(["one two three four five"] * 3000)
    assert_array_equal(equal.kept, [0])
    assert (equal.similarities == 1).all()
    assert equal.compared == 0
    words = [f"w{k}" for k in range(60)]
    forms = [" ".join([*words, *(f"{name}{i}" for name in "abcdefgh")]) for i in range(1500)]
    found = deduplicate(forms, threshold=0.95, most_kept=10)
    assert len(found.kept) == 1500
    assert found.full_buckets > 0
    assert found.compared <= 1500 * 10 * found.bands.n_bands
    assert deduplicate(forms[:10], threshold=0.95, most_kept=10).full_buckets == 0


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab \t\né\ud800\u3000\0"), max_size=90), max_size=12),
    st.sampled_from([Words(1), Words(2), Characters(1), Characters(4)]),
)
def test_any_texts(texts, shingles):
    found = deduplicate(texts, shingles=shingles, threshold=0.6, recall=0.9999)
    values, starts = shingles.sets(texts)
    for i, text in enumerate(texts):
        one = values[starts[i] : starts[i + 1]]
        assert (np.diff(one.astype(object)) > 0).all()
        if shingles.kind == "characters":
            assert len(one) == len(
                {
                    text[k : k + shingles.size]
                    for k in range(max(len(text) - shingles.size + 1, min(len(text), 1)))
                }
            )
    for removed, kept, _, similarity in found.pairs.tolist():
        a, b = (set(values[starts[i] : starts[i + 1]].tolist()) for i in (removed, kept))
        assert similarity == len(a & b) / len(a | b) >= 0.6


def test_long_documents_have_all_their_shingles():
    """Beyond the sizes at which they are sorted otherwise, and where one shingle comes often."""
    for n in (31, 32, 33, 1000, 70_000):
        for text in (" ".join(map(str, range(n))), "same " * n + " ".join(map(str, range(n // 9)))):
            values, starts = Words(2).sets([text])
            assert starts[1] == len(values) == len(shingles_of(text, 2))
            assert (values[1:] > values[:-1]).all()


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("recall", [0.8, 0.99])
def test_bands_reach_the_recall(threshold, recall):
    bands = signing.choose_bands(threshold, recall)
    assert bands.recall(threshold) >= recall
    assert bands.recall(np.array([0.0, 1.0])).tolist() == [0, 1]


def test_recall_on_pairs_at_the_threshold():
    """Pairs of similarity 0.8 are found as often as the bands say."""
    rng = np.random.default_rng(0)
    texts = []
    for i in range(1000):
        words = [f"{i}.{k}" for k in range(90)]
        texts += [" ".join(words), " ".join([*words[10:], *(f"x{i}.{k}" for k in range(10))])]
    order = rng.permutation(len(texts))
    similarity = index_of(*texts[:2], 1)
    assert similarity == 0.8
    found = deduplicate([texts[i] for i in order], shingles=Words(1), recall=0.9)
    assert_allclose(len(found.removed) / 1000, found.bands.recall(0.8), atol=0.03)


def test_buckets_are_the_documents_that_share_a_key():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 50, (3, 80)).astype(np.uint64) << np.uint64(50)
    rows = np.flatnonzero(rng.random(80) < 0.8)
    members = walk.meeting(keys, rows, 80)
    wanted = {(tuple(same.tolist())) for key in keys for value in np.unique(key[rows])
              if len(same := rows[key[rows] == value]) > 1}  # fmt: skip
    found = {tuple(members.rows[members.buckets == b].tolist()) for b in range(members.count)}
    assert found == wanted
    order = rng.permutation(np.unique(members.rows))
    starts, of = walk.by_row(members, order, 80)
    for k, row in enumerate(order):
        held = members.buckets[members.rows == row]
        assert sorted(of[starts[k] : starts[k + 1]]) == sorted(held)


@pytest.mark.parametrize("make", [list, tuple, pd.Series, pl.Series, lambda x: np.array(x, object)])
def test_forms_of_documents(make):
    texts = ["a b c d", "a b c d", "e f g"]
    assert_array_equal(deduplicate(make(texts)).partners, [0, 0, 2])


# --- rows by a kernel ----------------------------------------------------------------------------


def test_rows_of_tables_by_a_kernel(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(1)
    monkeypatch.setattr("mercer.dedup.documents.BLOCK", 7)
    monkeypatch.setattr("mercer.dedup.documents.TILE", 5)
    K = RBF(gamma=1.0)(X)
    scores = rng.permutation(60)
    for keep, order in (("first", np.arange(60)), (scores, np.argsort(-scores))):
        found = deduplicate(X, similarity=RBF(gamma=1.0), threshold=0.9, keep=keep)
        kept = []
        for i in order:
            best = max(((K[i, j], -k) for k, j in enumerate(kept)), default=(0, 0))
            if best[0] >= 0.9:
                assert found.partners[i] == kept[-best[1]]
                assert_allclose(found.similarities[i], best[0])
            else:
                kept.append(i)
        assert_array_equal(found.kept, np.sort(kept))
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "name": "a"})
    same = deduplicate(frame, similarity=RBF(gamma=1.0).on("x", "y"), threshold=0.9)
    assert_array_equal(
        same.partners, deduplicate(X, similarity=RBF(gamma=1.0), threshold=0.9).partners
    )


def test_rows_against_earlier_ones():
    names, old = ["Ann Lee", "Bob Ray", "Bob Rai", "Cy Do"], ["An Lee", "Cy Do"]
    likeness = FromDistance(Edit(), gamma=0.05)
    found = deduplicate(names, similarity=likeness, threshold=0.8, against=old)
    assert_array_equal(found.partners, [0, 1, 1, 1])
    assert_array_equal(found.earlier, [True, False, False, True])
    assert_array_equal(found.clusters, [1, 0, 0, 2])
    alone = deduplicate(names, similarity=likeness, threshold=0.8, against=old, within=False)
    assert_array_equal(alone.kept, [1, 2])
    sets = deduplicate([{1, 2, 3}, {1, 2, 3, 4}, {5}], similarity=Jaccard(), threshold=0.7)
    assert_array_equal(sets.partners, [0, 0, 2])


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("docs", "options", "error", "message"),
    [
        ("text", {}, TypeError, "docs is a single string: give a list"),
        (["a", None], {}, TypeError, r"docs\[1\] is missing .*give '' for a missing one"),
        (["a", {1}], {}, TypeError, r"docs\[1\] is a set, .* similarity=kernel"),
        (["a"], {"against": ["b", 3]}, TypeError, r"against\[1\] is 3"),
        (["a"], {"threshold": 0}, ValueError, "threshold=0: give a number above 0"),
        (["a"], {"threshold": 1.5}, ValueError, r"threshold=1\.5"),
        (["a"], {"recall": 1}, ValueError, "recall=1: give a number between"),
        (["a"], {"threshold": 0.01, "recall": 0.99}, ValueError, "bands cannot find .*larger thr"),
        (["a"], {"most_kept": 0}, ValueError, "most_kept=0"),
        (["a"], {"within": False}, ValueError, "compares nothing without against="),
        (["a"], {"keep": "last"}, ValueError, "keep='last': give 'first', 'longest', or one"),
        (["a"], {"keep": [1, 2]}, ValueError, r"keep has shape \(2,\).* each of the 1 documents"),
        (["a", "b"], {"keep": [1, np.nan]}, ValueError, r"keep\[1\] is not finite"),
        (["a"], {"shingles": 3}, TypeError, r"shingles=3: give Words\(3\)"),
        (["a"], {"similarity": "rbf"}, TypeError, "similarity='rbf': give a kernel"),
        (np.ones((2, 1)) * 3, {"similarity": Linear()}, ValueError, r"kernel\.normalised\(\)"),
        (np.ones((2, 1)), {"similarity": RBF(), "keep": "longest"}, ValueError, "give 'first', or"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(docs, options, error, message):
    with pytest.raises(error, match=message):
        deduplicate(docs, **options)


def test_sizes_of_shingles_are_checked():
    for make in (Words, Characters, Fragments):
        with pytest.raises(ValueError, match="size=0: give a whole number >= 1"):
            make(0)


MOLECULES = ["CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "CCCCCCCC", "CCCCCCCCC", "CCO", ""]
ALIKE = ["O=C(C)Oc1ccccc1C(O)=O", "C[C@@H](N)C(=O)O", "CCCCCCCCCC", "[Na+].OCC.[Cl-]"]


def test_molecules_by_their_fragments():
    """As by all pairs of the kernel, whatever their order; equal ones are one at 1."""
    pytest.importorskip("rdkit")
    docs = [*MOLECULES, *ALIKE]
    for threshold in (0.5, 0.7, 1.0):
        found = deduplicate(docs, shingles=Fragments(), threshold=threshold)
        wanted = deduplicate(docs[:5] + ALIKE, similarity=Morgan(), threshold=threshold)
        others = [i for i in range(len(docs)) if i != 5]
        assert [others.index(i) for i in found.kept if i != 5] == wanted.kept.tolist()
        assert_allclose(found.similarities[others], wanted.similarities)
    assert found.kept.tolist() == [0, 1, 2, 3, 4, 5, 8]
    assert found.empty.tolist() == [5]
    order = np.random.default_rng(0).permutation(len(docs))
    again = deduplicate([docs[i] for i in order], shingles=Fragments(), keep="longest")
    longest = deduplicate(docs, shingles=Fragments(), keep="longest")
    assert sorted(order[again.kept]) == longest.kept.tolist()


def test_an_index_of_molecules(tmp_path):
    pytest.importorskip("rdkit")
    index = CorpusIndex.create(tmp_path / "i", shingles=Fragments(3))
    index.append(MOLECULES)
    again = CorpusIndex.open(tmp_path / "i")
    assert again.shingles == Fragments(3)
    assert deduplicate(ALIKE[:2], against=again).kept.tolist() == []
    with pytest.raises(ValueError, match=r"X\[1\], 'C1CC': no SMILES"):
        deduplicate(["CC", "C1CC"], shingles=Fragments())
