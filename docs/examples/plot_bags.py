"""
Bags of points: what a mean hides
=================================

Each sample is a bag of points, such as where the darts of one evening hit, and not always as many
of them. On some evenings they lie around a ring, on others in one heap. The means of both are the
same, and so are the spreads. What tells the evenings apart is the distribution of the points, which
kernels on bags compare.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import SVC, KernelPCA
from mercer.distances import KernelDistance, SlicedWasserstein
from mercer.kernels import RBF, GaussianMeanMap, Linear, MeanMap

rng = np.random.default_rng(0)


def evening(ring: bool) -> np.ndarray:
    """Between 15 and 40 points around a place that changes a little from evening to evening."""
    n = rng.integers(15, 40)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(2) * (1 + 0.15 * rng.normal(size=n))
    points = (
        radius[:, None] * np.c_[np.cos(angle), np.sin(angle)] if ring else rng.normal(size=(n, 2))
    )
    return points + rng.normal(scale=0.3, size=2)


kinds = np.arange(120) % 2
evenings = [evening(ring) for ring in kinds]

# %%
# The data
# --------
colours = np.array(["C0", "C1"])
_, axes = plt.subplots(1, 4, figsize=(10, 2.8), sharex=True, sharey=True, constrained_layout=True)
for ax, points, kind in zip(axes, evenings, kinds):
    ax.scatter(*points.T, s=14, color=colours[kind])
    ax.set(title=f"{'ring' if kind else 'heap'}, {len(points)} points", aspect="equal")
plt.show()

# %%
# Which kernel sees it?
# ---------------------
# A mean map with a linear kernel compares the means of two bags and nothing else. Gaussians that
# are fitted to the bags add their covariances. A mean map with a Gaussian kernel between points
# compares the distributions as a whole, and so do the maximum mean discrepancy and transport.
points = RBF(1.0)
kernels = {
    "means alone": MeanMap(Linear()),
    "fitted Gaussians": GaussianMeanMap(1.0).normalised(),
    "mean map of RBF": MeanMap(points).normalised(),
    "maximum mean discrepancy": RBF("median", KernelDistance(MeanMap(points))),
    "sliced Wasserstein": RBF("median", SlicedWasserstein()),
}
folds = StratifiedKFold(10, shuffle=True, random_state=0)
for name, kernel in kernels.items():
    found = cross_val_score(SVC(kernel=kernel, C=10), evenings, kinds, cv=folds)
    print(f"{name:26} {found.mean():.2f} ± {found.std() / np.sqrt(10):.2f}")

# %%
# A map of the evenings
# ---------------------
# :class:`~mercer.KernelPCA` draws a map of bags from any of these kernels. By their means, evenings
# are near if they had their middle at the same place. By the maximum mean discrepancy, they are
# near if their points are distributed alike.
_, axes = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
for ax, name in zip(axes, ("means alone", "maximum mean discrepancy")):
    Z = KernelPCA(2, kernel=kernels[name]).fit_transform(evenings)
    for kind, label in enumerate(("heap", "ring")):
        ax.scatter(*Z[kinds == kind].T, s=18, color=colours[kind], label=label)
    ax.set(title=name, xticks=[], yticks=[], xlabel="first component", ylabel="second component")
axes[1].legend()
plt.show()
