"""
Gestures: series that run faster or slower
==========================================

Two people make the same gesture at different speeds. Point by point their series are far apart;
after an alignment they are not. Here are three gestures, each drawn many times at a speed that
changes on the way.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelPCA, KNeighborsClassifier
from mercer.distances import DTW
from mercer.kernels import GlobalAlignment

rng = np.random.default_rng(0)
NAMES = ["lift", "shake", "push"]


def gesture(name):
    """Points of a gesture, 25 to 60 of them, at a speed that changes."""
    length = rng.integers(25, 60)
    steps = np.exp(
        rng.normal(size=length) * 0.4 + np.sin(np.arange(length) / 5 + rng.uniform(0, 6))
    )
    t = np.cumsum(steps) / steps.sum()
    form = {
        "lift": np.tanh(6 * (t - 0.5)),
        "shake": np.sin(6 * np.pi * t) * np.exp(-4 * (t - 0.5) ** 2),
        "push": np.exp(-60 * (t - 0.35) ** 2) - np.exp(-60 * (t - 0.65) ** 2),
    }[name]
    return form + rng.normal(size=length) * 0.08


y = np.repeat(NAMES, 40)
X = [gesture(name) for name in y]

# %%
# What an alignment is
# --------------------
# An alignment joins points of two series, in order. It is found here from the matrix of costs, as
# the distance does it in its native loop.
x, z = X[42], X[45]


def alignment(x, z):
    """Pairs of points along the alignment of the least sum."""
    C = (x[:, None] - z) ** 2
    R = np.full((len(x) + 1, len(z) + 1), np.inf)
    R[0, 0] = 0
    for i in range(len(x)):
        for j in range(len(z)):
            R[i + 1, j + 1] = C[i, j] + min(R[i, j], R[i, j + 1], R[i + 1, j])
    i, j = len(x), len(z)
    way = []
    while i and j:
        way.append((i - 1, j - 1))
        i, j = min([(i - 1, j - 1), (i - 1, j), (i, j - 1)], key=lambda cell: R[cell])
    return way, R[-1, -1] ** 0.5


way, distance = alignment(x, z)
print(f"the least sum: {distance:.4f}, and by the library: {DTW()([x], [z])[0, 0]:.4f}")
_, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), constrained_layout=True)
left.plot(x + 2.5, color="tab:blue")
left.plot(z, color="tab:orange")
for i, j in way:
    left.plot([i, j], [x[i] + 2.5, z[j]], color="0.8", lw=0.8, zorder=0)
left.set(title="Two shakes and their alignment", xlabel="point of time", yticks=[])
K = KernelPCA(2, kernel=GlobalAlignment(3.0)).fit_transform(X)
for name in NAMES:
    right.scatter(*K[y == name].T, s=18, label=name)
right.set(title="All gestures: kernel PCA", xlabel="first component", ylabel="second component")
right.legend(frameon=False)
plt.show()

# %%
# Which gesture is it?
# --------------------
# The machine learns from half of the gestures. If they are cut to one length and compared point by
# point, it makes more mistakes.
train, test = np.arange(0, 120, 2), np.arange(1, 120, 2)
cut = np.array([v[:25] for v in X])
learners = {
    "point by point": (KNeighborsClassifier(1), cut),
    "DTW": (KNeighborsClassifier(1, metric=DTW(window=0.5)), X),
    "global alignment": (SVC(kernel=GlobalAlignment(), C=100), X),
}
for name, (learner, samples) in learners.items():
    learner.fit([samples[i] for i in train], y[train])
    print(f"{name:17} {learner.score([samples[i] for i in test], y[test]):.3f}")
