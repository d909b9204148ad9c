"""
How heavy is a penguin? A regression from start to end
======================================================

A table has measurements, a species, an island and a sex, and some of it is missing. How well can
the mass be told from the rest, and can the model say why? This page goes from the table to
predictions with intervals, and compares with a linear model on the way.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mercer import KernelRegressor
from mercer.plots import InfluenceDisplay, PartialDependenceDisplay, RelevanceDisplay

penguins = pd.read_csv(files("mercer").joinpath("data/penguins.csv")).dropna(subset="body_mass_g")
penguins = penguins.sample(frac=1, random_state=0, ignore_index=True)
X, y = penguins.drop(columns="body_mass_g"), penguins["body_mass_g"].to_numpy(float)
train, test = slice(0, 230), slice(230, None)
print(f"{len(X)} penguins, of which {int(X.isna().any(axis=1).sum())} lack a value")

# %%
# The linear model needs its columns prepared: means for what is missing, a column for each level.
numbers = make_column_selector(dtype_include="number")
prepared = make_column_transformer(
    (
        make_pipeline(SimpleImputer(), StandardScaler()),
        make_column_selector(dtype_include="number"),
    ),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
)
linear = make_pipeline(prepared, RidgeCV()).fit(X[train], y[train])

# %%
# The automatic estimator takes the table as it is. ``trials`` makes the page the same everywhere;
# with ``time="30s"`` it would try what fits into that time.
model = KernelRegressor(trials=8, random_state=0).fit(X[train], y[train])
for column in model.columns_:
    print(f"{column.name:>18}: {column.kind:<9} {column.reason}")

# %%
# What was tried, judged on rows that the candidate was not fitted to:
for row in model.leaderboard_[:6]:
    print(f"{row['score']:.3f} ± {row['spread']:.3f}  {row['name']}")
print("winner:", model.winner_name_)

# %%
# Both are about as good: mass is nearly a sum of what the columns add. That is worth knowing
# before anything else. The points are penguins that no fit has seen.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True)
for ax, (name, fitted) in zip(axes, {"linear": linear, "kernel machine": model}.items()):
    found = fitted.predict(X[test])
    ax.scatter(found, y[test], s=18, alpha=0.7)
    ax.plot([2700, 6300], [2700, 6300], color="0.5", linewidth=1)
    ax.set(title=f"{name}: R² {fitted.score(X[test], y[test]):.3f}", xlabel="predicted, g")
axes[0].set_ylabel("true, g")
figure.tight_layout()

# %%
# **Why?** Each column is held constant in turn and the machine is fitted again. The flippers tell
# most. But no column is needed much: species, sex and flippers know about each other, so that the
# others make up for one that is gone. The lines are 95% intervals.
relevance = RelevanceDisplay.from_estimator(model, X[train], y[train], X[test], y[test])
relevance.figure_.tight_layout()

# %%
# How the prediction changes with the two most relevant measurements, averaged over all penguins.
# The band is the range of the middle 80% of them: long flippers mean a heavy penguin, but among
# penguins with equal flippers the other columns still matter.
measured = [c for c in relevance.columns if str(c).endswith("_mm")][:2]
dependence = PartialDependenceDisplay.from_estimator(model, X[train], measured)

# %%
# **How sure is it?** Of the residuals of penguins that no fit has seen, we take the 90% quantile
# (split conformal prediction): a new penguin is within it with a probability of 90%. Half of the
# test rows set the width, the other half tries it.
residual = np.abs(model.predict(X[test]) - y[test])
half = len(residual) // 2
width = np.sort(residual[:half])[int(np.ceil((half + 1) * 0.9)) - 1]
print(f"mass = prediction ± {width:.0f} g; it holds for {np.mean(residual[half:] <= width):.0%}")

# %%
# **Which rows should be looked at?** Each is predicted by a fit without it. To the right are
# penguins whose mass is hard to believe; higher up, those that the model depends on most. Here
# nothing is suspect, so we spoil one entry (two kilograms too much) and find it.
spoilt = y[train].copy()
spoilt[17] += 2000
bad = KernelRegressor(trials=2, random_state=0).fit(X[train], spoilt)
influence = InfluenceDisplay.from_estimator(bad, X[train], spoilt)
print("most surprising row:", int(influence.rows[0]))

# %%
# **Would more penguins help?** The score of fits to 30, 60, 115 and 230 of them does not rise at
# the end: other columns would help more than other rows.
sizes = [30, 60, 115, 230]
scores = [model.refit(X[:n], y[:n]).score(X[test], y[test]) for n in sizes]
figure, ax = plt.subplots(figsize=(5, 3.4))
ax.plot(sizes, scores, "o-")
ax.set(xlabel="training rows", ylabel="R² on test rows", ylim=(0.5, 1))
figure.tight_layout()
