"""
A kernel for a mixed table, read from its Gram matrix
=====================================================

A kernel for a table compares numbers with one kernel and categories with another. If the rows are
ordered by class, its Gram matrix shows what the learner sees: blocks of similar rows.
"""

from importlib.resources import files

import pandas as pd

from mercer import SVC
from mercer.kernels import RBF, Match
from mercer.plots import GramDisplay, SpectrumDisplay

penguins = pd.read_csv(files("mercer").joinpath("data/penguins.csv")).dropna()
X, y = penguins.drop(columns="species"), penguins["species"].to_numpy()
X.iloc[:, 1:5] = (X.iloc[:, 1:5] - X.iloc[:, 1:5].mean()) / X.iloc[:, 1:5].std()

kernel = RBF(0.25).on(*X.columns[1:5]) * (
    0.5 * Match().on("island", "sex") + 0.5 * Match().on("sex")
)
model = SVC(kernel=kernel, C=10).fit(X, y)
print(f"{len(model.support_)} support vectors, duality gap {model.dual_gap_:.1e}")

# %%
# The Gram matrix of a sample, ordered by species.
display = GramDisplay.from_estimator(model, X, y)

# %%
# Its eigenvalues fall fast: a few directions are enough to describe the matrix.
display = SpectrumDisplay.from_estimator(model, X)
