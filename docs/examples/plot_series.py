"""
Beats of a pump: neighbours, features, and the stretch that decides
===================================================================

A sensor records the pressure of each beat of a pump. In a healthy beat it rises, stays and falls;
with a leak it falls in two steps, and a valve that sticks adds a short bounce after the fall. Beats
differ in speed and length, and the bounce comes at no fixed place. Neighbours, a kernel machine and
two kinds of features are to tell them apart, and a model is asked what it looks at.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, ConvolutionFeatures, KNeighborsClassifier, WarpingFeatures
from mercer.distances import DTW
from mercer.kernels import GlobalAlignment
from mercer.plots import StretchDisplay

rng = np.random.default_rng(0)
NAMES = ["healthy", "leak", "valve sticks"]


def beat(name):
    """One beat, of 70 to 110 points, at a speed that changes."""
    length = rng.integers(70, 110)
    speed = np.exp(0.5 * np.sin(np.arange(length) / 15 + rng.uniform(0, 6)))
    t = np.cumsum(speed) / speed.sum()
    end = 0.5 if name == "leak" else 0.62
    x = np.tanh(25 * (t - 0.2)) - 0.5 * np.tanh(25 * (t - end)) - 0.5 * np.tanh(25 * (t - 0.7))
    if name == "valve sticks":
        place = rng.uniform(0.76, 0.94)
        x += 0.45 * np.exp(-(((t - place) / 0.012) ** 2))
    return x + 0.07 * rng.normal(size=length)


def beats(n):
    y = np.repeat(NAMES, n // 3)
    return [beat(name) for name in y], y


X, y = beats(240)
Z, t = beats(300)
_, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True, constrained_layout=True)
for ax, name in zip(axes, NAMES):
    for i in np.flatnonzero(y == name)[:4]:
        ax.plot(X[i], lw=1, alpha=0.8)
    ax.set(title=name, xlabel="point of time")
axes[0].set_ylabel("pressure")
plt.show()

# %%
# Neighbours
# ----------
# Under dynamic time warping a beat is near to those that have its steps, whatever their speed. Here
# is one of the test beats with its three nearest training beats. Those of other classes are near,
# too: the bounce is short, and noise elsewhere counts as much.
nearest = KNeighborsClassifier(3, metric=DTW(window=0.3)).fit(X, y)
asked = 210  # its valve sticks
distances, found = nearest.kneighbors([Z[asked]])
_, ax = plt.subplots(figsize=(8, 3.4), constrained_layout=True)
ax.plot(Z[asked], color="black", lw=1.8, label=f"asked: {t[asked]}")
for rank, (i, distance) in enumerate(zip(found[0], distances[0]), 1):
    ax.plot(X[i] - 2.6 * rank, lw=1.2, label=f"{y[i]}, distance {distance:.2f}")
ax.set(title="A beat and its nearest neighbours", xlabel="point of time", yticks=[])
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()


# %%
# Features and linear machines
# ----------------------------
# The nearest neighbour has to be searched for among all training beats. Features of each beat by
# itself, and a linear machine on them, take the same time for every beat, however many were learnt.
# MiniRocket, by ``ConvolutionFeatures``, counts how often short patterns occur; ``WarpingFeatures``
# are distances to random series.
def linear(features):
    return make_pipeline(features, StandardScaler(), RidgeClassifierCV(np.logspace(-2, 4, 7)))


learners = {
    "DTW, 1 neighbour": KNeighborsClassifier(1, metric=DTW(window=0.3)),
    "global alignment, SVC": SVC(kernel=GlobalAlignment(), C=100),
    "WarpingFeatures, ridge": linear(WarpingFeatures(random_state=0)),
    "MiniRocket, ridge": linear(ConvolutionFeatures(random_state=0)),
}
sizes = [15, 30, 60, 120, 240]
right = {name: [] for name in learners}
print(f"{'240 training beats':24}right   fit, s   300 answers, s")
for name, learner in learners.items():
    for n in sizes:
        some = np.arange(0, 240, 240 // n)
        began = time.perf_counter()
        learner.fit([X[i] for i in some], y[some])
        fitted = time.perf_counter()
        right[name].append(learner.score(Z, t))
    asked_for = time.perf_counter() - fitted
    print(f"{name:24}{right[name][-1]:.3f}{fitted - began:9.2f}{asked_for:12.2f}")

_, ax = plt.subplots(figsize=(6.4, 3.8), constrained_layout=True)
for name, shares in right.items():
    ax.plot(sizes, shares, marker="o", ms=4, label=name)
ax.set(xscale="log", xlabel="training beats", ylabel="share of test beats that are right")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.grid(alpha=0.3)
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Which stretch speaks for a class?
# ---------------------------------
# Stretch after stretch of a beat is made straight, and the model is asked again. Red points speak
# for its answer: without them its value falls.
model = learners["MiniRocket, ridge"]
_, axes = plt.subplots(2, 1, figsize=(8, 6), constrained_layout=True)
for ax, i in zip(axes, (asked, 110)):
    StretchDisplay.from_estimator(model, Z[i], width=0.08, ax=ax)
    ax.set_title(t[i])
plt.show()
