"""
Circles and moons as clusters
=============================

Ordinary k-means divides the plane by straight lines. With another kernel the same method finds
clusters of other shapes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons

from mercer import KernelKMeans
from mercer.kernels import RBF
from mercer.plots import ClusterDisplay


def diffusion(X, gamma=30.0, steps=64):
    """How likely a random walk of so many steps leads from one sample to another.

    A step goes from x to z with a probability in proportion to a Gaussian kernel, so that a walk
    stays within a ring or a moon. The matrix is made symmetric, and is positive semidefinite.
    """
    K = RBF(gamma)(X)
    root = np.sqrt(K.sum(axis=1))
    return np.linalg.matrix_power(K / np.outer(root, root), steps)


circles = make_circles(400, factor=0.3, noise=0.05, random_state=0)[0]
moons = make_moons(400, noise=0.05, random_state=0)[0]
fig, axes = plt.subplots(2, 2, figsize=(8, 6.5), layout="constrained")
for row, (name, X) in zip(axes, {"circles": circles, "moons": moons}.items()):
    plain = KernelKMeans(2, kernel="linear", random_state=0).fit(X)
    walks = KernelKMeans(2, kernel="precomputed", n_init=10, random_state=0).fit(diffusion(X))
    for ax, kernel, model in zip(row, ("linear kernel", "random walks"), (plain, walks)):
        ax.scatter(*X.T, c=np.array(["#0072b2", "#e69f00"])[model.labels_], s=9)
        ax.scatter(*X[model.medoids_].T, c="black", marker="x", s=60, label="medoids")
        ax.set(title=f"{name}, {kernel}", aspect="equal", xticks=[], yticks=[])
fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center")

# %%
# The similarities between samples, with those of a cluster side by side: a good clustering has
# bright blocks along the diagonal. (Here of the moons, by random walks.)
ClusterDisplay(diffusion(moons), walks.labels_).plot()
plt.show()
