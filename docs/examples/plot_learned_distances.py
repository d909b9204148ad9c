"""
What a distance learns from the target
======================================

Two columns tell the class, and two are noise. The level sets of a distance show what it learnt:
an ellipse around a point has half-axes in proportion to the roots of the eigenvalues of the
covariance, or to 1 / √w for weights w.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDensity, NadarayaWatson, NeighbourhoodComponents
from mercer.distances import Mahalanobis, Minkowski
from mercer.learners.metrics import noise_features
from mercer.plots import NoiseFeatureDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
X[:, 1] = 0.8 * X[:, 0] + 0.5 * X[:, 1]
y = (X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=400) > 0).astype(int)

# %%
# Neighbourhood components find that the difference of the first two columns counts, so that the
# level sets are long along the border of the classes.
plane = X[:, :2]
found = NeighbourhoodComponents(max_iter=30, tol=1e-3).fit(plane, y).distance_
covariance = Mahalanobis().bind(plane)
line = np.linspace(-2.5, 2.5, 120)
grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
for ax, name, distance in zip(
    axes, ("Euclidean", "Mahalanobis", "learned"), (Minkowski(), covariance, found)
):
    ax.scatter(*plane.T, c=np.array(["#0072b2", "#e69f00"])[y], s=6)
    far = distance(grid, [[0.0, 0.0]])[:, 0].reshape(120, 120)
    ax.contour(line, line, far, levels=np.quantile(far, [0.02, 0.08, 0.2]), colors="black")
    ax.set(title=name, aspect="equal", xlim=(-2.5, 2.5), ylim=(-2.5, 2.5))

# %%
# Without one of the first two columns neighbours err more; without the others they do not.
report = noise_features(X, y)
print(report.table())
NoiseFeatureDisplay.from_result(report)

# %%
# A density and a regression by windows, with the widths that were chosen.
x = np.sort(np.r_[rng.normal(-1, 0.3, 120), rng.normal(1, 0.7, 180)])[:, None]
target = np.sin(3 * x[:, 0]) + 0.3 * rng.normal(size=300)
points = np.linspace(-2.5, 3.5, 300)[:, None]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for width in (0.1, "auto"):
    density = KernelDensity(bandwidth=width).fit(x)
    label = f"h = {density.bandwidth_:.2f}"
    axes[0].plot(points, np.exp(density.score_samples(points)), label=label)
axes[0].legend()
mean, std = NadarayaWatson(degree=1).fit(x, target).predict(points, return_std=True)
axes[1].scatter(x, target, s=6, color="grey")
axes[1].plot(points, mean)
axes[1].fill_between(points[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.3)
axes[1].set(title="a local line, and two standard errors", ylim=(-2.5, 2.5))
plt.show()
