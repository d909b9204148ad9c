"""
Molecules: graphs by their neighbourhoods
=========================================

A molecule is a graph: atoms with labels, and bonds between them. Which molecules are alike is a
question of their parts. Here are chains and rings of carbon with other atoms on them, and two
classes: only those in which a nitrogen is bound to an oxygen are active.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelPCA
from mercer.kernels import ShortestPath, VertexHistogram, WeisfeilerLehman
from mercer.kernels.graph_counts import colours
from mercer.plots import GraphDisplay, NeighbourhoodDisplay

rng = np.random.default_rng(0)


def molecule(active):
    """A chain or a ring of 5 to 8 carbons, and a nitrogen and an oxygen, bound or far apart."""
    n = int(rng.integers(5, 9))
    edges = [(i, i + 1) for i in range(n - 1)] + ([(0, n - 1)] if rng.random() < 0.5 else [])
    first, second = rng.choice(n, 2, replace=False).tolist()
    edges += [(first, n), (n if active else second, n + 1)]
    return n + 2, edges, ["C"] * n + ["N", "O"]


y = np.arange(160) % 2
X = [molecule(active) for active in y]

# %%
# What a colour is
# ----------------
# At first the colour of an atom is its label. In each round, it is joined by the colours of the
# neighbours. After two rounds atoms of one colour have neighbourhoods of two bonds that look alike.


def layout(graph):
    """Places of the atoms: springs along bonds, and atoms push each other away."""
    n, edges, _ = graph
    P = np.random.default_rng(3).normal(size=(n, 2))
    for step in np.linspace(0.2, 0.01, 400):
        gap = P[:, None] - P
        far = np.maximum(np.square(gap).sum(axis=2, keepdims=True), 1e-2)
        force = (gap / far**1.5).sum(axis=1)
        for u, v in edges:
            pull = (P[v] - P[u]) * (np.linalg.norm(P[v] - P[u]) - 1) * 2
            force[u] += pull
            force[v] -= pull
        P += step * np.clip(force, -1, 1)
    P -= P.mean(axis=0)
    return P @ np.linalg.svd(P)[2].T  # lying


graph = (9, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 6), (6, 7), (3, 8)],
         list("CCCCCC") + ["N", "O", "C"])  # fmt: skip
P = layout(graph)
of_rounds = colours(WeisfeilerLehman().encode([graph]), 2)
palette = plt.get_cmap("tab10")
_, axes = plt.subplots(1, 3, figsize=(10, 2.6), constrained_layout=True)
for t, (ax, row) in enumerate(zip(axes, of_rounds)):
    for u, v in graph[1]:
        ax.plot(*P[[u, v]].T, color="0.6", lw=1.5, zorder=0)
    ax.scatter(*P.T, s=330, c=[palette(i % 10) for i in np.unique(row, return_inverse=True)[1]])
    for place, label in zip(P, graph[2]):
        ax.text(*place, label, ha="center", va="center", color="white", weight="bold")
    ax.set(title=f"round {t}: {len(set(row.tolist()))} colours", aspect="equal")
    (left, low), (right, high) = P.min(axis=0) - 0.6, P.max(axis=0) + 0.6
    ax.set(xlim=(left, right), ylim=(low, high))
    ax.axis("off")
plt.show()

# %%
# Which molecules are active?
# ---------------------------
# Labels alone cannot tell, since both classes have the same atoms. One round sees the bond.
# Shortest paths see it too, and much else.
train, test = np.arange(0, 160, 2) + (np.arange(80) % 2), np.arange(160)
test = np.setdiff1d(test, train)
for name, kernel in {
    "labels": VertexHistogram(),
    "one round": WeisfeilerLehman(1),
    "five rounds": WeisfeilerLehman(5),
    "shortest paths": ShortestPath(),
}.items():
    model = SVC(kernel=kernel.normalised(), C=10).fit([X[i] for i in train], y[train])
    print(f"{name:15} {model.score([X[i] for i in test], y[test]):.3f}")

# %%
# What speaks for activity?
# -------------------------
# Each atom of some molecules is left out once, with its bonds, and the machine answers again. Atoms
# with neighbourhoods that look alike are taken together. In each picture one of them has a ring,
# and its neighbourhood is coloured; above are the labels of the atom, of those at one bond, and of
# those at two. The bond between nitrogen and oxygen is found, from both of its ends.
model = SVC(kernel=WeisfeilerLehman(3).normalised(), C=10).fit([X[i] for i in train], y[train])
some = [X[i] for i in test[:40]]
NeighbourhoodDisplay.from_estimator(model, some, of=1)
plt.show()

# %%
# In one active molecule and one that is not, what each atom adds to the answer:
_, axes = plt.subplots(1, 2, figsize=(9, 3), constrained_layout=True)
for ax, answer in zip(axes, (1, 0)):
    GraphDisplay.from_estimator(model, X[test[y[test] == answer][0]], of=1, ax=ax)
plt.show()

# %%
# The map of all molecules, by the neighbourhoods of one bond:
K = KernelPCA(2, kernel=WeisfeilerLehman(1).normalised()).fit_transform(X)
_, ax = plt.subplots(figsize=(5.2, 4), constrained_layout=True)
for active, name in ((0, "inactive"), (1, "active")):
    ax.scatter(*K[y == active].T, s=22, alpha=0.7, label=name)
ax.set(xlabel="first component", ylabel="second component", title="Kernel PCA of molecules")
ax.legend(frameon=False)
plt.show()
