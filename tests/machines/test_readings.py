"""How candidates read sequences, vectors and names, and what the search makes of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.machines.candidates import candidates
from mercer.machines.candidates.readings import (
    SEQUENCES,
    VECTORS,
    kernels_of_objects,
    readings,
)
from mercer.tables import TableEncoder

RNG = np.random.default_rng(0)


def dna(n, length=40, places=(8, 25)):
    """Strands, half of which have two motifs at their places."""
    rows = RNG.choice(list("ACGT"), size=(n, length))
    y = np.arange(n) % 2
    for row in np.flatnonzero(y):
        for motif, at in zip(("TATAAT", "TTGACA"), places):
            rows[row, at : at + 6] = list(motif)
    return ["".join(row) for row in rows], y


def ring(n, d=8):
    X = RNG.normal(size=(n, d))
    return X, (np.linalg.norm(X[:, :2], axis=1) > 1.2).astype(int)


STRANDS, Y = dna(60)
TABLE = pd.DataFrame({
    "dna": STRANDS,
    "protein": ["".join(RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), 40 + i)) for i in range(60)],
    "vector": list(ring(60)[0]),
    "note": [f"some words {'of' if i % 3 else 'without'} sense in line {i}" for i in range(60)],
    "bag": [[f"i{i % 3}", f"j{i % 5}"] for i in range(60)],
})  # fmt: skip


@pytest.mark.parametrize("columns", [["dna"], ["protein"], ["vector"], ["note"], ["bag"]])
def test_every_reading_reads_its_column(columns):
    encoder = TableEncoder().fit(TABLE[columns])
    M, features = encoder.transform(TABLE[columns]), encoder.features_
    for reading in readings(features):
        parts = kernels_of_objects(features, reading)
        assert parts
        for kernel, read in parts:
            K = kernel(M.select(read))
            assert_allclose(np.diag(K), 1, atol=1e-5)
            assert K.shape == (60, 60)


def test_places_are_read_only_where_sequences_have_one_length():
    aligned = readings(TableEncoder().fit(TABLE[["dna"]]).features_)
    ragged = readings(TableEncoder().fit(TABLE[["protein"]]).features_)
    assert aligned == list(SEQUENCES)
    assert ragged == [name for name, way in SEQUENCES.items() if "sequences" in way]


def test_of_several_kinds_one_is_read_in_another_way_at_a_time():
    features = TableEncoder().fit(TABLE).features_
    found = readings(features)
    assert len(set(found)) == len(found)
    first = found[0].split("; ")
    assert len(first) == 3  # sequences, vectors and texts; sets are read in one way
    for reading in found:
        parts = reading.split("; ")
        assert sum(a != b for a, b in zip(first, parts)) <= 1
        sources = {features[j].source for _, (j,) in kernels_of_objects(features, reading)}
        assert sources == set(TABLE.columns)
    assert {p for reading in found for p in reading.split("; ")} >= {*SEQUENCES, *VECTORS}


def test_a_metric_of_vectors_is_a_candidate():
    features = TableEncoder().fit(TABLE[["vector"]]).features_
    names = [candidate.name for candidate in candidates(features)]
    assert "learnt metric of vectors, full" in names
    assert len(set(names)) == len(names)


def test_motifs_at_their_places_are_found():
    strands, y = dna(240)
    table = pd.DataFrame({"dna": strands})
    model = KernelClassifier(trials=3).fit(table[:120], y[:120])
    assert model.columns_[0].kind == "sequence"
    assert model.score(table[120:], y[120:]) > 0.95  # substrings alone find about .8


@pytest.mark.full
def test_a_ring_of_vectors_is_found_and_a_file_keeps_it(tmp_path):
    X, y = ring(300)
    table = pd.DataFrame({"v": list(X)})
    model = KernelClassifier(trials=5).fit(table[:200], y[:200])
    assert model.score(table[200:], y[200:]) > 0.8  # a linear one: .5
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_allclose(again.predict_proba(table), model.predict_proba(table), rtol=1e-12)
    assert_allclose(model.predict_proba(table[7:8]), model.predict_proba(table)[7:8], rtol=1e-5)


def test_a_regression_on_vectors_beside_numbers():
    X, _ = ring(250)
    size = RNG.normal(size=250)
    y = X @ np.arange(8) + 3 * size
    table = pd.DataFrame({"v": list(X), "size": size})
    model = KernelRegressor(trials=4).fit(table[:180], y[:180])
    assert model.score(table[180:], y[180:]) > 0.8


def test_names_that_tell_are_used():
    stems = RNG.choice(["ber", "lund", "gren", "iv", "petr", "smirn", "dal", "bor"], size=(200, 2))
    y = np.arange(200) % 2
    ends = np.where(y == 1, "ova", "sen")
    names = [f"{a}{b}{end}{i}" for (a, b), end, i in zip(stems, ends, RNG.permutation(200))]
    table = pd.DataFrame({"name": names, "noise": RNG.normal(size=200)})
    model = KernelClassifier(trials=3).fit(table[:140], y[:140])
    assert {c.name: c.kind for c in model.columns_} == {"name": "text", "noise": "number"}
    assert model.score(table[140:], y[140:]) > 0.9
