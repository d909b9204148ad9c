"""
A space in which neighbours predict, and a prediction with its rows
===================================================================

Two pieces stand on a board. Whether one attacks the other along a file or a rank is a rule that no
column tells by itself, and the nearest positions are no help. In the learnt space they are.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import KernelPCA, KNeighborsClassifier, NeighbourhoodMachineClassifier

rng = np.random.default_rng(0)
X = pd.DataFrame(
    rng.integers(0, 8, (2000, 4)), columns=["file", "rank", "other_file", "other_rank"]
)
file, rank = X["file"] == X["other_file"], X["rank"] == X["other_rank"]
y = np.select([file & rank, file, rank], ["same square", "one file", "one rank"], "safe")
train, test = slice(1500), slice(1500, None)

# %%
# How many of the left-out positions are right.
model = NeighbourhoodMachineClassifier(random_state=0).fit(X[train], y[train])
nearest = KNeighborsClassifier(5).fit(X[train], y[train])
print(f"neighbours of the columns: {nearest.score(X[test], y[test]):.3f}")
print(f"of the learnt space:       {model.score(X[test], y[test]):.3f}")

# %%
# Left-out positions by the first two principal components: of the columns, and of the learnt space.
colors = {"safe": "#999999", "one file": "#0072b2", "one rank": "#e69f00", "same square": "#d55e00"}
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, name, points in (
    (axes[0], "columns", X[test].to_numpy(float)),
    (axes[1], "learnt space", model.transform(X[test])),
):
    plane = KernelPCA(2).fit_transform(points)
    for label, color in colors.items():
        chosen = y[test] == label
        ax.scatter(*plane[chosen].T, s=10, color=color, label=label)
    ax.set(title=name, xticks=[], yticks=[])
axes[1].legend()

# %%
# One prediction is the mean of training rows, which say why.
known = set(map(tuple, X[train].to_numpy()))
new = np.array([tuple(row) not in known for row in X[test].to_numpy()])
position = X[test][new & (y[test] == "one rank")].iloc[:1]
print(position.to_string(index=False), "->", model.predict(position)[0])
reasons = model.reasons(position)
shown = (
    X[train]
    .iloc[reasons.rows[0]]
    .assign(target=y[train][reasons.rows[0]], share=reasons.shares[0].round(3))
)
print(shown.to_string())

# %%
# The loss of the held-out rows while the space was learnt.
curve = model.validation_curve_[0]
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.plot(curve[:, 0], curve[:, 1], marker="o")
ax.set(xlabel="steps", ylabel="held-out loss")
ax.set_ylim(bottom=0)
plt.show()
