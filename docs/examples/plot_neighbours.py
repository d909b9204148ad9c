"""
Neighbours: how many, how far, and which rows are needed
========================================================

The nearest rows vote. What is near depends on the distance, and how many should vote depends on the
noise. Both can be chosen by leaving each row out, and most rows are not needed at all.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import KNeighborsClassifier, Stolp
from mercer.distances import Mahalanobis, Minkowski
from mercer.plots import DecisionSurfaceDisplay, LeaveOneOutDisplay, LevelSetDisplay

X, y = make_moons(300, noise=0.3, random_state=0)

# %%
# One neighbour follows each row of noise; too many follow none of the form. The number that is best
# for rows that are left out lies between, and is found from a single search.
auto = KNeighborsClassifier("auto").fit(X, y)
models = {"1 neighbour": 1, f"{auto.n_neighbors_} neighbours, chosen": auto.n_neighbors_,
          "150 neighbours": 150}  # fmt: skip
models = {name: KNeighborsClassifier(k).fit(X, y) for name, k in models.items()}
DecisionSurfaceDisplay.compare(models, X, y, resolution=120)
LeaveOneOutDisplay.from_estimator(auto)

# %%
# Here one column has another unit, and the two are correlated. The curves show what is equally far
# from a point: a circle, an ellipse along the axes with half-axes 1 / √w, and an ellipse along the
# eigenvectors of the covariance with half-axes √λ.
rng = np.random.default_rng(0)
A = rng.normal(size=(300, 2)) @ np.array([[2.0, 1.4], [0.0, 0.7]])
side = np.where(A[:, 1] - 0.7 * A[:, 0] + 0.2 * rng.normal(size=300) > 0, "above", "below")
metrics = {
    "Euclid": Minkowski(),
    "weights 1 and 4": Minkowski(2, weights=[1.0, 4.0]),
    "Mahalanobis": Mahalanobis(),
}
fitted = {name: KNeighborsClassifier("auto", metric=m).fit(A, side) for name, m in metrics.items()}
panels = DecisionSurfaceDisplay.compare(fitted, A, side, resolution=120)
for panel, model in zip(panels, fitted.values()):
    LevelSetDisplay.from_estimator(model, A, ax=panel.ax_, extent=4.0)
    panel.ax_.set_aspect("equal")
    panel.ax_.set_title(
        f"{panel.ax_.get_title()}\nleft out: {max(model.loo_scores_.values()):.1%}",
        fontsize="medium",
    )

# %%
# `Stolp` leaves out the outliers, and keeps the rows that the nearest neighbour needs to classify
# the others. The rings are the prototypes.
stolp = Stolp().fit(X, y)
few = KNeighborsClassifier(1).fit(X[stolp.indices_], y[stolp.indices_])
display = DecisionSurfaceDisplay.from_estimator(few, X, y, resolution=200)
display.ax_.scatter(*X[stolp.indices_].T, s=110, facecolors="none", edgecolors="black", lw=1.6)
display.ax_.set_title(
    f"{len(stolp.indices_)} of {len(X)} rows; errors {stolp.error_before_:.1%} before, "
    f"{stolp.error_after_:.1%} after",
    fontsize="medium",
)
plt.show()
