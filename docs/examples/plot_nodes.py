"""
A social network: who is like whom by their friends
===================================================

Here the samples are the nodes of one graph: the 34 members of a karate club, with an edge between
those who met outside of it (Zachary 1977). The club fell apart, and each member went with the
instructor or with the president. Who goes where, if we know it of two people alone?
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from mercer import KernelRidgeClassifier
from mercer.gram import gram
from mercer.kernels import Diffusion, PStepWalk, RegularisedLaplacian
from mercer.samples import NodeGraph

friends = {
    0: [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31], 1: [2, 3, 7, 13, 17, 19, 21, 30],
    2: [3, 7, 8, 9, 13, 27, 28, 32], 3: [7, 12, 13], 4: [6, 10], 5: [6, 10, 16], 6: [16],
    8: [30, 32, 33], 9: [33], 13: [33], 14: [32, 33], 15: [32, 33], 18: [32, 33], 19: [33],
    20: [32, 33], 22: [32, 33], 23: [25, 27, 29, 32, 33], 24: [25, 27, 31], 25: [31], 26: [29, 33],
    27: [33], 28: [31, 33], 29: [32, 33], 30: [32, 33], 31: [32, 33], 32: [33],
}  # fmt: skip
edges = [(u, v) for u, others in friends.items() for v in others]
with_president = np.isin(
    np.arange(34), [8, 9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33]
)
graph = NodeGraph.of((34, edges))
members = np.arange(34)[:, None]

# %%
# Heat on a network
# -----------------
# The kernel between two members is the heat at one after some time, if all of it was at the other.
# Member 0 is the instructor, 33 the president. With the time, heat goes from friend to friend.
_, vectors = graph.eigenpairs("normalised")
P = vectors[:, 1:3] / np.sqrt(graph.degrees)[:, None]  # where the slowest waves put them
P = np.argsort(np.argsort(P, axis=0), axis=0) / 34 + 0.4 * P / np.abs(P).max(axis=0)


def draw(ax, values, title, **colours):
    for u, v in edges:
        ax.plot(*P[[u, v]].T, color="0.85", lw=0.8, zorder=0)
    shown = ax.scatter(*P.T, c=values, s=90, edgecolors="0.3", linewidths=0.6, **colours)
    for name, place, offset in (("instructor", 0, (0, 9)), ("president", 33, (-28, -22))):
        ax.annotate(name, P[place], xytext=offset, textcoords="offset points", ha="center", size=8,
                    bbox={"fc": "white", "ec": "none", "alpha": 0.6, "pad": 1},
                    arrowprops={"arrowstyle": "-", "color": "0.3", "lw": 0.6})  # fmt: skip
    ax.set(title=title, xticks=[], yticks=[])
    return shown


_, axes = plt.subplots(1, 3, figsize=(10, 3.4), constrained_layout=True)
for ax, beta in zip(axes, (0.05, 0.3, 2.0)):
    heat = Diffusion(graph, beta)(members, [[0]])[:, 0]
    draw(ax, heat / heat.max(), f"time β = {beta}", cmap="inferno", vmin=0, vmax=1)
plt.show()

# %%
# Two labels are enough
# ---------------------
# All of them know of two members alone. Colours are what the machine says, between the two sides; a
# red ring is a member that it sends to the wrong side.
known = [0, 33]
others = np.setdiff1d(np.arange(34), known)
_, axes = plt.subplots(1, 3, figsize=(10, 3.4), constrained_layout=True)
for ax, kernel in zip(
    axes, (Diffusion(graph, 0.3), RegularisedLaplacian(graph), PStepWalk(graph, 8))
):
    model = KernelRidgeClassifier(0.1, kernel=kernel).fit(members[known], with_president[known])
    side = model.decision_function(members)
    wrong = (side > 0) != with_president
    share = 1 - wrong[others].mean()
    draw(ax, side / np.abs(side).max(), f"{type(kernel).__name__}: {share:.2f} right",
         cmap="coolwarm", vmin=-1, vmax=1)  # fmt: skip
    ax.scatter(*P[wrong].T, s=200, facecolors="none", edgecolors="crimson", linewidths=2)
    print(f"{type(kernel).__name__:20} {share:.3f}")
plt.show()

# %%
# A hundred thousand nodes
# ------------------------
# K would have 10¹⁰ entries. It is never made: a product with it is a polynomial of the Laplacian,
# which takes some tens of steps along the edges. Here are five communities, of which the classes of
# 1,000 nodes are known.
rng = np.random.default_rng(0)
n = 100_000
community = rng.integers(0, 5, n)
order = np.argsort(community, kind="stable")
starts = np.searchsorted(community[order], np.arange(6))
u = np.repeat(np.arange(n), 5)
inside = order[
    (starts[community[u]] + rng.random(len(u)) * np.diff(starts)[community[u]]).astype(int)
]
v = np.where(rng.random(len(u)) < 0.7, inside, rng.integers(0, n, len(u)))
A = sp.csr_array((np.ones(len(u)), (u, v)), (n, n))
A = ((A + A.T) > 0).astype(float)
nodes = np.arange(n)[:, None]
some = rng.permutation(n)[:1000]

kernel = Diffusion(A, 0.8).bind(nodes[some].astype(float))
K = gram(kernel, kernel.encode(nodes))
began = time.perf_counter()
K @ np.ones(n)
print(f"{A.nnz // 2:,} edges; a product with K takes {time.perf_counter() - began:.2f} s")
began = time.perf_counter()
model = KernelRidgeClassifier(1e-3, kernel=kernel, solver="conjugate_gradient")
model.fit(nodes[some], community[some])
right = (model.predict(nodes) == community).mean()
print(f"{right:.3f} of all nodes right, {time.perf_counter() - began:.1f} s for fit and predict")
