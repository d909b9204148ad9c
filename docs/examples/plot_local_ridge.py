"""
Many rows: exact where it matters
=================================

Ridge regression is exact for some ten thousand rows: its time grows with their cube. The usual way
out restricts the function to a few *centres* (``solver="low_rank"``), which is fast and loses what
is finer than the distance of the centres. ``solver="local"`` cuts the rows into leaves of similar
rows and is exact inside each of them; rows of different leaves meet through the centres.

Here the function has long waves everywhere and short ones in a corner. We look at what 40 centres
see of it, what the leaves add, and how error and time go together.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.kernels import Laplacian


def hills(X):
    """Long waves everywhere, short ones in a corner."""
    short = np.exp(-((X - 1.2) ** 2).sum(axis=1)) * np.sin(6 * X[:, 0]) * np.sin(6 * X[:, 1])
    return np.sin(1.5 * X[:, 0]) + np.cos(1.2 * X[:, 1]) + 1.5 * short


random = np.random.default_rng(0)
X = random.uniform(-3, 3, (3000, 2))
y = hills(X) + 0.2 * random.normal(size=len(X))

# %%
# The same kernel and the same penalty for three machines, on a grid. The lines are the borders
# of the leaves, which follow from the data: each halves the rows of its part along the direction in
# which the features of the kernel vary most.

kernel, grid = Laplacian(0.5), np.linspace(-3, 3, 121)
Z = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
machines = {
    "low rank, 40 centres": KernelRidge(0.1, kernel=kernel, solver="low_rank", rank=40),
    "local, 40 centres and 16 leaves": KernelRidge(
        0.1, kernel=kernel, solver="local", rank=40, leaf_rows=200
    ),
    "exact": KernelRidge(0.1, kernel=kernel, solver="cholesky"),
}
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.8), sharey=True, layout="constrained")
for ax, (name, machine) in zip(axes, machines.items()):
    machine.set_params(random_state=0).fit(X, y)
    f = machine.predict(Z).reshape(121, 121)
    image = ax.imshow(f, extent=(-3, 3, -3, 3), origin="lower", vmin=-2.5, vmax=2.5, cmap="RdBu_r")
    error = np.sqrt(np.mean((f.ravel() - hills(Z)) ** 2))
    ax.set(title=f"{name}\nerror {error:.3f}", xlabel="first column")
    if machine.solver_ == "local":
        centres = X[machine.centres_]
        leaves = machine.leaves_.find(kernel(Z, centres) @ machine.leaves_.routes)
        for leaf in range(machine.leaves_.count):
            inside = (leaves == leaf).reshape(121, 121)
            ax.contour(grid, grid, inside, levels=[0.5], colors="black", linewidths=0.7)
axes[0].set_ylabel("second column")
fig.colorbar(image, ax=axes, label="f", shrink=0.8)

# %%
# Error and time for more and more centres, and for larger and larger leaves. The low-rank machine
# needs hundreds of centres until it sees the short waves; leaves of a hundred rows already do.

ways = {
    "low rank, 20 to 1,500 centres": [
        {"solver": "low_rank", "rank": rank} for rank in (20, 40, 80, 160, 400, 800, 1500)
    ],
    "local, leaves of 50 to 1,500 rows": [
        {"solver": "local", "rank": 40, "leaf_rows": rows}
        for rows in (50, 100, 200, 400, 800, 1500)
    ],
    "exact": [{"solver": "cholesky"}],
}
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for (name, settings), marker in zip(ways.items(), "o^s"):
    seconds, errors = [], []
    for given in settings:
        machine = KernelRidge(0.1, kernel=kernel, random_state=0, **given)
        began = perf_counter()
        machine.fit(X, y)
        seconds.append(perf_counter() - began)
        errors.append(np.sqrt(np.mean((machine.predict(Z) - hills(Z)) ** 2)))
    ax.plot(seconds, errors, marker=marker, label=name)
ax.set(xscale="log", xlabel="seconds of the fit", ylabel="root mean squared error")
ax.set_ylim(0, None)
ax.legend()
plt.show()
