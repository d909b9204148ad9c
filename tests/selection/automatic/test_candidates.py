"""Candidates: those that suit the columns, in their order, and the kernels that they are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelClassifier
from mercer.machines.candidates import machine_kind, machine_kinds, register_machine
from mercer.machines.candidates.candidate import Candidate
from mercer.machines.candidates.order import candidates
from mercer.tables.column_rules import infer_columns
from mercer.tables.encoding import TableEncoder
from mercer.tables.values import read_columns
from selection.automatic.small_searches import TABLE, X

RNG = np.random.default_rng(1)
COUNTED = TABLE.assign(count=RNG.integers(5, size=240))


def test_ridge_is_tried_early_where_it_is_local_and_classes_are_few():
    features = TableEncoder().fit(RNG.normal(size=(30, 4))).features_

    def early(classes, local):
        order = candidates(features, "classification", classes, local)
        others = candidates(features, "classification", classes)
        assert sorted(map(str, order)) == sorted(map(str, others))
        return sum(candidate.machine == "ridge" for candidate in order[:6])

    assert early(2, True) == 5
    assert early(2, False) == early(26, True) == 2


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_candidates_suit_the_columns(task):
    one = candidates(TableEncoder().fit(X[:, :1]).features_, task)
    assert {c.family for c in one} == {"gaussian", "laplacian"}
    wide = candidates(TableEncoder().fit(RNG.normal(size=(30, 101))).features_, task)
    assert {c.family for c in wide} == {"gaussian", "laplacian", "screened", "dot"}
    linear = ["ridge", "centroids", "svc"][: 3 if task == "classification" else 1]
    assert [c.machine for c in wide if c.family == "dot"] == linear
    assert [c.family for c in wide[: len(linear) + 6]] == ["dot"] * len(linear) + ["screened"] * 6
    less_wide = candidates(TableEncoder().fit(RNG.normal(size=(30, 40))).features_, task)
    families = [c.family for c in less_wide]
    assert {"interactions", "metric"} < set(families[:6])
    assert families[6:12] == ["screened"] * 6
    of_table = candidates(TableEncoder().fit(TABLE).features_, task)
    assert len({c.name for c in of_table}) == len(of_table)
    machines = {c.machine for c in of_table}
    assert machines - {"svc"} == {"ridge", "window", "neighbourhood", "shapes"}
    assert ("svc" in machines) == (task == "classification")


def test_many_classes_have_no_support_vector_machines():
    """A thousand classes have half a million pairs."""
    features = TableEncoder().fit(TABLE).features_
    assert any(c.machine == "svc" for c in candidates(features, "classification", 100))
    many = candidates(features, "classification", 101)
    assert many
    assert {c.machine for c in many} == {"ridge", "window", "neighbourhood"}
    wide = TableEncoder().fit(RNG.normal(size=(30, 101))).features_
    machines = {c.machine for c in candidates(wide, "classification", 101) if c.family == "dot"}
    assert machines == {"ridge", "centroids"}


def test_integers_of_few_values_are_read_as_categories_too():
    table = TABLE.assign(count=RNG.integers(5, size=240))
    features = TableEncoder().fit(table).features_
    read = {c.columns for c in candidates(features, "classification")}
    assert read == {"scaled", "normal", "levels", "codes"}
    assert "levels" not in {
        c.columns for c in candidates(TableEncoder().fit(TABLE).features_, "classification")
    }


def test_other_widths_and_columns_are_kin_and_weights_from_more_rows_are_not():
    learnt = Candidate("interactions", learn=True)
    assert learnt.kin == Candidate("interactions", 3.0).kin
    assert Candidate("gaussian").kin == Candidate("gaussian", 0.3, columns="normal").kin
    assert learnt.kin != replace(learnt, more=True).kin
    reading = Candidate("objects", text="spectrum 4")
    assert reading.kin != replace(reading, text="weighted degree 3").kin


@pytest.mark.parametrize(
    "candidate",
    [
        c for c in candidates(TableEncoder().fit(COUNTED).features_, "classification")
        if not c.kind.reads_columns
    ],
    ids=lambda c: c.name,
)  # fmt: skip
def test_every_candidate_is_a_kernel(candidate):
    encoder = TableEncoder().fit(COUNTED)
    kernel = candidate.kernel(encoder.features_)
    Z = kernel.encode(encoder.transform(COUNTED[:40]))
    K = kernel.bind(Z).block(Z, Z).astype(float)
    assert_allclose(K.diagonal(), 1, rtol=1e-5)
    assert np.linalg.eigvalsh(K)[0] > -1e-4
    if candidate.scale <= 1:
        assert np.median(K) > 0.01  # no identity matrix in disguise


def test_the_candidates_of_a_table_in_their_order():
    """What is tried first matters when time is short; scales are parts of the names."""
    assert [c.name for c in candidates(TableEncoder().fit(TABLE).features_)] == [
        "interactions, learnt weights", "learnt metric, full", "learnt metric, absolute",
        "learnt metric, diagonal", "interactions, learnt weights from more rows",
        "learnt neighbourhood of normal scores", "sum over columns and pairs",
        "gaussian, scale 1",
        "window: interactions, learnt weights", "window: learnt metric, full",
        "sum of many kernels, learnt weights", "interactions, learnt weights, scale 3",
        "learnt neighbourhood", "laplacian, scale 1", "additive",
        "gaussian, scale 0.3", "laplacian, scale 0.3", "gaussian, scale 3",
        "interactions, equal weights", "laplacian, scale 3", "gaussian, scale 10",
        "gaussian, scale 0.1",
    ]  # fmt: skip


def test_texts_of_single_words_are_read_by_substrings_of_up_to_5_characters():
    names = np.array(["".join(RNG.choice(list("abcdef"), 9)) for _ in range(40)])[:, None]
    encoder = TableEncoder(infer_columns(read_columns(names), {0: "text"}, None)).fit(names)
    for text, longest in (("characters", 5), ("short substrings", 3)):
        ((kernel, columns),) = Candidate("objects", text=text).kernel(encoder.features_).parts
        lengths = [part.kernel.k for part in kernel.kernel.kernels]
        assert (lengths, list(columns)) == ([*range(1, longest + 1)], [0])


def test_pieces_on_a_board_are_told_apart_by_their_distance():
    rng = np.random.default_rng(0)
    board = pd.DataFrame(rng.integers(0, 8, (300, 4)), columns=["a", "b", "c", "d"])
    near = (np.abs(board["a"] - board["b"]) < np.abs(board["c"] - board["d"])).to_numpy()
    schedule = [
        {"family": "laplacian", "columns": columns, "machine": "svc", "rows": 300, "rank": 300,
         "steps": []}
        for columns in ("scaled", "differences", "pairs")
    ]  # fmt: skip
    model = KernelClassifier(replay=schedule).fit(board, near)
    assert model.winner_name_ == "SVC: laplacian of differences, scale 1"
    scores = {row["name"]: row["score"] for row in model.leaderboard_}
    plain = scores["SVC: laplacian, scale 1"]
    assert scores[model.winner_name_] > plain + 0.03
    assert scores["SVC: laplacian of levels and differences, scale 1"] > plain
    features = model.encoder_.features_
    kernel = Candidate("laplacian", columns="pairs").kernel(features)
    read = {features[j].kind for _, columns in kernel.parts for j in columns}
    assert read == {"scaled", "level"}
    assert "pairs" in [c.columns for c in candidates(features, "classification")]
    with_text = board.assign(e=RNG.normal(size=300))
    assert "differences" in repr(
        [c.columns for c in candidates(model.encoder_.features_, "regression")]
    )
    plain = TableEncoder().fit(with_text[["a", "e"]]).features_
    assert all(c.columns != "differences" for c in candidates(plain, "classification"))


def test_each_machine_of_a_candidate_is_known():
    known = [kind.name for kind in machine_kinds()]
    features = TableEncoder().fit(RNG.normal(size=(30, 4))).features_
    for task in ("classification", "regression"):
        assert {c.machine for c in candidates(features, task)} < set(known)
    with pytest.raises(ValueError, match="machine='forest': give one of"):
        machine_kind("forest")
    with pytest.raises(ValueError, match="there is a machine 'ridge' already"):
        register_machine(machine_kind("ridge"))
