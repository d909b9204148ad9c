"""Data sets as their own libraries load them are learnt without a conversion by hand."""

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.preprocessing import KBinsDiscretizer

import mercer

DIGITS, IRIS = datasets.load_digits(n_class=2), datasets.load_iris(as_frame=True)
ROWS = slice(0, 60)
Y = DIGITS.target[ROWS]
IMAGES = DIGITS.images[ROWS]
FRAME, KINDS = IRIS.frame.iloc[30:70, :4], IRIS.target.iloc[30:70]
BINS = KBinsDiscretizer(3, encode="ordinal").fit_transform(FRAME).astype(int).astype(str)
LEVELS = FRAME.assign(**{c: BINS[:, j] for j, c in enumerate(FRAME)}).astype("category")
WAVES = np.random.default_rng(0).normal(size=(60, 2, 25)).cumsum(axis=2) + 9 * Y[:, None, None]
GRAPHS = [nx.cycle_graph(5 + i % 3) if c else nx.star_graph(4 + i % 3) for i, c in enumerate(Y)]
TEXTS = [f"the {'cat' if c else 'dog'} sat on mat {i}" for i, c in enumerate(Y)]
#: name -> X, y, and what SVC without a kernel names; None where it reads X as vectors
SETS = {
    "images": (IMAGES, Y, None),
    "frame": (FRAME, KINDS, None),
    "sparse rows": (sp.csr_matrix(DIGITS.data[ROWS]), Y, None),
    "polars lists": (pl.Series("pixels", DIGITS.data[ROWS].tolist()), Y, None),
    "panel": (WAVES, Y, None),
    "categories": (LEVELS, KINDS, "TableKernel"),
    "texts": (TEXTS, Y, "Spectrum"),
    "graphs": (GRAPHS, Y, "WeisfeilerLehman"),
    "sets": ([set(text.split()) for text in TEXTS], Y, "Jaccard"),
    "series": ([w[0, : 20 + i % 5] for i, w in enumerate(WAVES)], Y, "GlobalAlignment"),
}


@pytest.mark.parametrize("name", SETS)
def test_support_vectors_are_found_or_the_kernel_is_named(name):
    X, y, named = SETS[name]
    if named is None:
        assert mercer.SVC(C=10).fit(X, y).score(X, y) > 0.9
        return
    with pytest.raises(TypeError, match=named):
        mercer.SVC().fit(X, y)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*no more points than channels")  # a panel of aeon is told of
@pytest.mark.parametrize("name", SETS)
def test_an_automatic_model_reads_them(name):
    X, y, _ = SETS[name]
    model = mercer.KernelClassifier(time="10s", trials=2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
