"""
From a thousand rows to ten million
===================================

An exact kernel machine holds a matrix of all pairs of rows, so that ten times as many rows cost a
hundred times the memory and up to a thousand times the time. What is there instead? The same made
table, waves in twenty columns with noise, in five sizes: R² cannot be above 0.90.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from mercer import AdditiveRegressor, KernelRidge
from mercer.kernels import RBF


def waves(n, seed):
    """Smooth in eight of the columns, two of which act only together; a tenth of y is noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 20)).astype(np.float32)
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 8 * (X[:, 2] - 0.5) ** 2 + 5 * X[:, 3] - 4.7
    y += 6 * np.abs(X[:, 4] + X[:, 5]) - 4 + 4 * np.cos(3 * X[:, 6]) * X[:, 7]
    return X, y + rng.normal(size=n).astype(np.float32) * np.std(y) / 3


test, known = waves(5000, 1)

# %%
# Three machines. The exact one keeps all pairs of rows, the one of low rank compares rows with 500
# centres, and the additive one puts columns into bins and counts.
machines = {
    "exact ridge, RBF": (KernelRidge(alpha=0.1, kernel=RBF(0.04), solver="cholesky"), 10_000),
    "500 centres, RBF": (
        KernelRidge(alpha=0.1, kernel=RBF(0.04), solver="low_rank", rank=500, random_state=0),
        100_000,
    ),
    "columns and pairs": (AdditiveRegressor(), 1_000_000),
    "columns alone": (AdditiveRegressor(pairs=0), 10_000_000),
}
found = {name: [] for name in machines}
for n in (1000, 10_000, 100_000, 1_000_000, 10_000_000):
    X, y = waves(n, 0)
    for name, (machine, most) in machines.items():
        if n <= most:
            began = time.perf_counter()
            machine.fit(X, y)
            seconds = time.perf_counter() - began
            found[name].append((n, seconds, machine.score(test, known)))
            print(f"{name:18} {n:10,} rows {seconds:6.2f} s  R² {found[name][-1][2]:.3f}")
    del X, y

# %%
# The exact machine is the slowest one, and stops where its matrix no longer fits. The dashed line
# is ten times the time for ten times the rows. A kernel of all columns at once learns slowly here,
# because the columns that tell nothing make all rows almost equally far apart. Sums of functions
# are what this table is made of; without the pairs a part of it stays unknown, whatever the number
# of rows.
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for name, rows in found.items():
    n, seconds, scores = np.transpose(rows)
    axes[0].loglog(n, seconds, "o-", label=name)
    axes[1].semilogx(n, scores, "o-", label=name)
axes[0].loglog([1e3, 1e7], [2e-3, 20], "k--", linewidth=0.8, zorder=0)
axes[0].set_ylabel("seconds of the fit")
axes[1].set_ylabel("R² on new rows")
axes[1].axhline(0.9, color="k", linewidth=0.8, linestyle=":")
axes[1].legend(loc="center right", fontsize="small")
for ax in axes:
    ax.set_xlabel("rows")
    ax.grid(alpha=0.3)
plt.show()

# %%
# Rows that do not fit into memory at all are read in chunks, by ``fit_chunks``, and those of a
# cluster where they lie, by :class:`mercer.distributed.Distributed`. Both give the same model.
