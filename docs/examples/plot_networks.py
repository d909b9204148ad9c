"""
What the layers of a hybrid network see
=======================================

A hybrid network has blocks of a fully connected layer and of features of a kernel. What a block
makes of two samples is alike where the network takes them for alike. Here these similarities are
drawn, block by block, for two spirals.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.deep import NeuralKernelClassifier

# %%
# Two spirals: near points are often of different classes, so that a kernel of the distance alone
# says little.
rng = np.random.default_rng(0)
turn = 3.2 * np.pi * np.sqrt(rng.uniform(0.02, 1, 500))
y = np.arange(500) % 2
way = turn + np.pi * y
X = np.column_stack([turn * np.cos(way), turn * np.sin(way)]) / 5
X += 0.04 * rng.normal(size=X.shape)
network = NeuralKernelClassifier(n_jobs=1, random_state=0).fit(X[:400], y[:400])
print("right on new points:", network.score(X[400:], y[400:]))

# %%
# The similarity of each point of the plane to the one that is marked, by the kernel of the features
# of each block: first the distance itself, at the median distance, then what is learnt.
side = np.linspace(-2.3, 2.3, 90)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
mark = X[np.argmin(np.abs(turn - 2 * np.pi) + 9 * y)][None]


def cosines(F, f):
    return F @ f[0] / np.linalg.norm(F, axis=1) / np.linalg.norm(f)


median = np.median(np.linalg.norm(X[:200, None] - X[None, :200], axis=2))
distance = np.exp(-((plane - mark) ** 2).sum(axis=1) / 2 / median**2)
blocks = zip(network.layer_outputs(plane), network.layer_outputs(mark))
maps = [distance, *(cosines(F, f) for F, f in blocks)]

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, values, name in zip(axes, maps, ("distance", "block 1", "block 2")):
    image = axis.imshow(
        values.reshape(90, 90), origin="lower", extent=(-2.3, 2.3, -2.3, 2.3), cmap="viridis"
    )
    axis.scatter(*mark.T, c="white", edgecolors="black", s=60, marker="o")
    axis.set(title=f"similarity: {name}")
    figure.colorbar(image, ax=axis, shrink=0.8)
share = network.predict_proba(plane)[:, 1].reshape(90, 90)
axes[3].contourf(side, side, share, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.7)
axes[3].scatter(*X[400:].T, c=y[400:], cmap="RdBu_r", edgecolors="black", s=18)
axes[3].set(title="answers, and new points", aspect="equal")
for axis in axes:
    axis.set(xticks=[], yticks=[])

# %%
# How training went: the objective of each epoch, and the loss of rows that were held back. The
# network of the best epoch is kept.
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.semilogy(network.objective_path_, label="objective")
axis.semilogy(network.validation_path_, label="loss of held rows")
axis.axvline(network.n_iter_ - 1, color="gray", linestyle=":", label="kept")
axis.set(xlabel="epoch")
axis.legend()
