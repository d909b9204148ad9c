"""
Circles and moons as clusters
=============================

Ordinary k-means divides the plane by straight lines. In the feature space of a Gaussian kernel it
can separate clusters of other shapes, if the kernel's radius suits them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons

from mercer import KernelKMeans
from mercer.plots import ClusterDisplay

circles = make_circles(400, factor=0.3, noise=0.05, random_state=0)[0]
moons = make_moons(400, noise=0.05, random_state=0)[0]
machines = {
    "linear": {"kernel": "linear"},
    "Gaussian": {"gamma": 15.0, "n_init": 30},
}
fig, axes = plt.subplots(2, 2, figsize=(8, 7), layout="constrained")
fitted = {}
for row, (name, X) in zip(axes, {"circles": circles, "moons": moons}.items()):
    for ax, (kernel, params) in zip(row, machines.items()):
        model = fitted[name, kernel] = KernelKMeans(2, random_state=0, **params).fit(X)
        colours = np.array(["#0072b2", "#e69f00"])[model.labels_]
        ax.scatter(*X.T, c=colours, s=9)
        ax.scatter(*X[model.medoids_].T, c="black", marker="x", s=60, label="medoids")
        ax.set(title=f"{name}, {kernel}", aspect="equal", xticks=[], yticks=[])
axes[0, 0].legend(loc="upper right")

# %%
# The similarities between samples, with those of a cluster side by side: a good clustering has
# bright blocks along the diagonal.
ClusterDisplay.from_estimator(fitted["circles", "Gaussian"], circles)
plt.show()
