"""
What each column adds: an additive model of ten thousand rides
==============================================================

A sum of functions of single columns, and of the pairs that need one, is a model that can be read:
every function is a curve, a row of dots or a map. Here is a made table of bicycle rides, of which
we know how their number depends on the hour, the weather and the day.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import AdditiveRegressor
from mercer.plots import ShapeDisplay

rng = np.random.default_rng(0)
n = 10_000
table = pd.DataFrame(
    {
        "hour": rng.integers(0, 24, n),
        "temperature": rng.normal(14, 8, n),
        "wind": rng.gamma(2, 6, n),
        "day": rng.choice(["work", "weekend", "holiday"], n, p=[0.68, 0.27, 0.05]),
        "sky": rng.choice(["clear", "cloud", "rain"], n, p=[0.5, 0.35, 0.15]),
    }
)
rush = np.exp(-((table["hour"] - 8) ** 2) / 4) + np.exp(-((table["hour"] - 17.5) ** 2) / 6)
noon = np.exp(-((table["hour"] - 14) ** 2) / 20)
rides = pd.Series(np.where(table["day"] == "work", 260 * rush, 200 * noon))
rides += 120 / (1 + np.exp(-(table["temperature"] - 12) / 4)) - 2.5 * table["wind"]
rides -= table["sky"].map({"clear": 0, "cloud": 10, "rain": 90}) + rng.normal(0, 25, n)
rides = rides.to_numpy()
table.loc[rng.random(n) < 0.1, "temperature"] = np.nan  # the thermometer fails at times

# %%
# Numbers, categories and missing values go in as they are. The model finds the penalty of each
# function, and the one pair of columns that act together: on work days the hours are others.
train, test = slice(0, 7500), slice(7500, None)
model = AdditiveRegressor().fit(table[train], rides[train])
print(model.pairs_)
print(f"R² on new rows: {model.score(table[test], rides[test]):.3f}")

# %%
# Bands are 95% intervals. The dotted line is what a missing temperature adds.
ShapeDisplay.from_estimator(model)
plt.show()

# %%
# A prediction is a sum, so its reasons are its parts.
for reason in model.reasons(table[test].head(3)).texts().items():
    print(*reason)
