"""
Gram matrices that learn
========================

A deep kernel machine has a Gram matrix for each layer, and these are its parameters. Here they are
drawn, for a machine that must stay near its kernels and for one that may learn.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.deep import DeepKernelMachineRegressor

# %%
# The targets are two groups by the sign of one column of five. The kernel of the samples compares
# all columns alike, so that the groups are hardly to be seen in its Gram matrix. The rows are in
# the order of the column that matters.
rng = np.random.default_rng(0)
X = rng.normal(size=(160, 5))
X = X[np.argsort(X[:, 0])]
y = np.tanh(4 * X[:, 0]) + 0.1 * rng.normal(size=160)

stiff = DeepKernelMachineRegressor(2, dof=1e5).fit(X, y)
free = DeepKernelMachineRegressor(2, dof=30).fit(X, y)


# %%
# Cosines of the rows in each layer. Above, ν = 100,000: each layer is the kernel of the one below,
# and the groups are no clearer than before. Below, ν = 30: the layers have learnt which rows belong
# together.
def cosines(G):
    """The Gram matrix with a diagonal of ones, of centred features."""
    H = np.eye(len(G)) - 1 / len(G)
    G = H @ G @ H
    norms = np.sqrt(G.diagonal())
    return G / np.outer(norms, norms)


figure, rows = plt.subplots(2, 3, figsize=(9, 6.2), layout="constrained")
for axes, machine, name in zip(rows, (stiff, free), ("ν = 100,000", "ν = 30")):
    for level, (axis, G) in enumerate(zip(axes, machine.grams_)):
        image = axis.imshow(cosines(G), cmap="RdBu_r", vmin=-1, vmax=1)
        axis.set(xticks=[], yticks=[], title=f"$G_{level}$, {name}")
figure.colorbar(image, ax=rows, label="cosine", shrink=0.7)

# %%
# How much a Gram matrix says about the targets is their alignment: 1 if it is y yᵀ.
target = y - y.mean()
for name, machine in (("stiff", stiff), ("free", free)):
    found = [target @ cosines(G) @ target for G in machine.grams_]
    sizes = [np.linalg.norm(cosines(G)) * (target @ target) for G in machine.grams_]
    print(name, [round(float(a / b), 2) for a, b in zip(found, sizes)])

# %%
# New rows tell whether what was learnt is true.
Z = rng.normal(size=(1000, 5))
z = np.tanh(4 * Z[:, 0])
for name, machine in (("stiff", stiff), ("free", free)):
    print(name, "explains", round(machine.score(Z, z), 3), "of the variance of new rows")
