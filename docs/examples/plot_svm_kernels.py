"""
What the kernel, C and gamma do to a support vector machine
===========================================================

A support vector machine draws the line between two classes that stays furthest from both. The
kernel decides which lines it can draw, C how much a row on the wrong side costs, and gamma how far
the influence of a row reaches. Each step below changes one of them and looks at the result.

The data are two half moons whose noise makes them overlap: no line can, or should, separate all
rows.
"""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import cross_val_predict, cross_val_score

from mercer import SVC
from mercer.plots import DecisionSurfaceDisplay, MarginDisplay

X, y = make_moons(200, noise=0.3, random_state=0)
y = np.where(y == 0, "upper moon", "lower moon")

# %%
# The kernel: which lines can be drawn
# ------------------------------------
# A linear kernel draws straight lines, a polynomial one curves of its degree, and an RBF kernel
# bends wherever rows ask for it. On the solid line f(x) = 0 the machine is undecided; dashed are
# the margins f(x) = -1 and f(x) = 1. Every row that is not beyond its margin is a support vector
# (ringed), and those alone make the line: without all other rows it would be the same.
kernels = {
    "linear": SVC(kernel="linear"),
    "polynomial, degree 3": SVC(kernel="poly", degree=3, gamma=1, coef0=1),
    "RBF, gamma = 1": SVC(kernel="rbf", gamma=1),
}
displays = DecisionSurfaceDisplay.compare({k: m.fit(X, y) for k, m in kernels.items()}, X, y)

# %%
# C: the price of an error
# ------------------------
# A small C buys a wide margin, with most rows inside it, and a smooth line. A large C makes errors
# dear, so the margin narrows and the line turns after single rows. Cross-validation, on rows that
# the machine has not seen, tells how much of that was noise.
machines = {f"C = {C:g}": SVC(C=C, gamma=1) for C in (0.1, 1, 1000)}
for name, machine in machines.items():
    unseen = cross_val_score(machine, X, y, cv=10).mean()
    print(f"{name:9}  training rows {machine.fit(X, y).score(X, y):.1%}, unseen rows {unseen:.1%}")

displays = DecisionSurfaceDisplay.compare(machines, X, y)

# %%
# gamma: how far a row reaches
# ----------------------------
# The RBF kernel exp(-gamma ‖x - z‖²) calls rows alike up to a distance of about 1/√gamma. With a
# small gamma all rows are much alike, and the line bends little; with a large one each row is an
# island, nearly all are support vectors, and the machine has learnt the sample by heart.
machines = {f"gamma = {gamma:g}": SVC(gamma=gamma) for gamma in (0.1, 1, 100)}
for name, machine in machines.items():
    unseen = cross_val_score(machine, X, y, cv=10).mean()
    print(f"{name:11}  training rows {machine.fit(X, y).score(X, y):.1%}, unseen rows {unseen:.1%}")

displays = DecisionSurfaceDisplay.compare(machines, X, y)

# %%
# Margins: on which side, and how far
# -----------------------------------
# The margin y f(x) of a row, with y = ±1 for the two classes, is negative for an error and above 1
# beyond the dashed line; 1/‖w‖ is the distance from the solid line to the dashed one, in the space
# where the kernel is an inner product. For gamma = 100 the training rows look excellent ...
learnt_by_heart = machines["gamma = 100"]
display = MarginDisplay.from_estimator(learnt_by_heart, X, y)

# %%
# ... but when each row is judged by a machine that was fitted without it, few keep their margin,
# and more than one in ten is an error. Look at margins on unseen rows.
values = cross_val_predict(learnt_by_heart, X, y, cv=10, method="decision_function")
display = MarginDisplay.from_values(values, y).plot()

# %%
# The certificate
# ---------------
# How do we know that these are the lines that the theory promises? Fitting minimises
# ½‖w‖² + C Σ max(0, 1 - y f(x)), the primal, and maximises a second function, the dual. The dual
# is never above the primal, and at the solution both are equal: the gap between them proves how
# close the fit is to the best one, whatever the solver did.
for name, machine in kernels.items():
    dual, gap = machine.objective_, machine.dual_gap_
    print(f"{name:20}  dual {dual:.4f}, primal at most {gap:.1e} above it")
