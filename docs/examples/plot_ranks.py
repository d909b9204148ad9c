"""
How many centres, and how many steps
====================================

A Gram matrix of many rows is replaced by one of low rank, and linear systems with it are solved by
iterations. Three pictures say beforehand whether that will do.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.gram import DenseGram
from mercer.kernels import RBF, Laplacian
from mercer.plots import ConvergenceDisplay, RankErrorDisplay, SpectrumDisplay
from mercer.solvers import ConjugateGradientSolver, NystroemPreconditioner

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 4))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]

# %%
# Eigenvalues and centres
# -----------------------
# The eigenvalues of a Gaussian kernel fall fast, and those of a Laplacian one slowly. So a few
# hundred centres hold nearly all of the trace of the first, and not of the second. The dashed line
# is the least that any matrix of this rank can lack: pivoted centres are near it.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for kernel, name in ((RBF(0.2), "Gaussian"), (Laplacian(0.2), "Laplacian")):
    K = np.asarray(kernel(X))
    SpectrumDisplay.from_gram(K).plot(axes[0], label=name)
axes[0].legend()
axes[0].set_title("Eigenvalues")
for ax, kernel, name in (
    (axes[1], RBF(0.2), "Gaussian"),
    (axes[2], Laplacian(0.2), "Laplacian"),
):
    display = RankErrorDisplay.from_gram(np.asarray(kernel(X)), rank=400).plot(ax)
    ax.set_title(f"{name}: {display.rank(0.01) or 'over 400'} centres for 1%")

# %%
# The trace error is known before the fit. What it means for predictions depends on the target.
train, test = np.arange(600), np.arange(600, 800)
for rank in (20, 100, 400):
    model = KernelRidge(1e-3, kernel=RBF(0.2), solver="low_rank", rank=rank, random_state=0)
    print(rank, "centres: R² is", round(model.fit(X[train], y[train]).score(X[test], y[test]), 3))

# %%
# Steps of a solver
# -----------------
# Conjugate gradients need as many steps as the eigenvalues are spread; a preconditioner made of a
# low rank takes the large ones away. Each point is a solution that the solver has certified itself.
K = DenseGram(np.asarray(RBF(0.2)(X)), symmetric=True)
display = ConvergenceDisplay.from_solvers(
    {
        "no preconditioner": ConjugateGradientSolver(1e-2, preconditioner=None),
        "30 centres": ConjugateGradientSolver(1e-2, preconditioner=NystroemPreconditioner(30, 0)),
        "200 centres": ConjugateGradientSolver(1e-2, preconditioner=NystroemPreconditioner(200, 0)),
    },
    K,
    y,
    limits=np.unique(np.geomspace(1, 400, 25).round().astype(int)).tolist(),
).plot()
display.ax_.axhline(1e-6, color="0.6", linewidth=1)
display.ax_.set_title("Relative residual of one system, tolerance 1e-6")
plt.show()
