"""
What the kernel, C and gamma do to a support vector machine
===========================================================

A support vector machine draws the line between two classes that is as far as possible from both.
The kernel decides which lines it can draw, C how much a row on the wrong side costs, and gamma how
far the influence of a row goes. Each step below changes one of them and looks at the result.

The data are two half moons with noise, so that they overlap: no line can, or should, separate all
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
# A linear kernel draws straight lines, a polynomial kernel draws curves of its degree, and an RBF
# kernel draws curves of any form. On the solid line f(x) = 0 the machine is undecided; the dashed
# lines are the margins f(x) = -1 and f(x) = 1. Every row that is not beyond its margin is a support
# vector (with a ring). Only the support vectors decide the line: without all other rows it would be
# the same.
kernels = {
    "linear": SVC(kernel="linear"),
    "polynomial, degree 3": SVC(kernel="poly", degree=3, gamma=1, coef0=1),
    "RBF, gamma = 1": SVC(kernel="rbf", gamma=1),
}
displays = DecisionSurfaceDisplay.compare({k: m.fit(X, y) for k, m in kernels.items()}, X, y)

# %%
# C: the price of an error
# ------------------------
# A small C gives a wide margin, with most rows inside it, and a smooth line. With a large C errors
# are expensive, so the margin becomes narrow and the line follows single rows. Cross-validation, on
# rows that the machine has not seen, tells how much of this was noise.
machines = {f"C = {C:g}": SVC(C=C, gamma=1) for C in (0.1, 1, 1000)}
for name, machine in machines.items():
    unseen = cross_val_score(machine, X, y, cv=10).mean()
    print(f"{name:9}  training rows {machine.fit(X, y).score(X, y):.1%}, unseen rows {unseen:.1%}")

displays = DecisionSurfaceDisplay.compare(machines, X, y)

# %%
# gamma: how far the influence of a row goes
# ------------------------------------------
# For the RBF kernel exp(-gamma ‖x - z‖²), rows are similar up to a distance of about 1/√gamma. With
# a small gamma all rows are similar, and the line is almost straight. With a large gamma each row
# is similar only to itself, almost all rows are support vectors, and the machine has learnt the
# sample by heart.
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
# ... but if each row is classified by a machine that was fitted without it, few rows are beyond
# their margin, and more than one in ten is an error. So look at margins on unseen rows.
values = cross_val_predict(learnt_by_heart, X, y, cv=10, method="decision_function")
display = MarginDisplay.from_values(values, y).plot()

# %%
# The certificate
# ---------------
# How do we know that these lines are the best ones? The fit minimises the primal, ½‖w‖² + C Σ
# max(0, 1 - y f(x)), and maximises a second function, the dual. The dual is never above the primal,
# and at the solution both are equal. So the gap between them proves how close the fit is to the
# best one, whatever the solver did.
for name, machine in kernels.items():
    dual, gap = machine.objective_, machine.dual_gap_
    print(f"{name:20}  dual {dual:.4f}, primal at most {gap:.1e} above it")
