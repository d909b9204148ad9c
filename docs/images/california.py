"""Draw california.png, of the page on additive models: houses on a map, and what a model says.

Needs MERCER_DATA, for the table is not part of the package: python docs/images/california.py
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import AdditiveRegressor

path = Path(os.environ["MERCER_DATA"]) / "numeric_reg/california_housing.csv.gz"
table = pd.read_csv(path)
price = table.pop("median_house_value") / 1000
test = np.random.default_rng(0).random(len(table)) < 0.25
model = AdditiveRegressor().fit(table[~test], price[~test])
print(f"R² on new rows: {model.score(table[test], price[test]):.3f}; pairs {model.pairs_}")

place = ["longitude", "latitude"]
names = [part.name for part in model.shapes_] + [part.name for part in model.surfaces_]
at_place = [i for i, name in enumerate(names) if set(name.split(" × ")) <= set(place)]
of_place = model.contributions(table)[:, at_place].sum(axis=1)

fig, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
for ax, values, title, colours in (
    (axes[0], price, "Median price of a house", "viridis"),
    (axes[1], of_place, "What the place adds to it", "RdBu_r"),
):
    reach = np.quantile(np.abs(of_place), 0.995)
    limits = {"vmin": -reach, "vmax": reach} if ax is axes[1] else {}
    drawn = ax.scatter(
        table["longitude"], table["latitude"], c=values, s=3, cmap=colours, linewidths=0, **limits
    )
    ax.set_title(title)
    ax.set_xlabel("longitude")
    ax.set_ylabel("latitude")
    fig.colorbar(drawn, ax=ax, label="thousand dollars")
shape = next(part for part in model.shapes_ if part.name == "median_income")
levels, values = np.array(shape.levels, float), shape.values[:-1, 0]
band = 1.96 * shape.errors[:-1, 0]
axes[2].fill_between(levels, values - band, values + band, alpha=0.3, step="mid", linewidth=0)
axes[2].step(levels, values, where="mid")
axes[2].set_title("What the income of the district adds")
axes[2].set_xlabel("median income in ten thousand dollars")
axes[2].set_ylabel("thousand dollars")
axes[2].set_xlim(0, 11)
axes[2].grid(alpha=0.3)
fig.savefig(Path(__file__).with_suffix(".png"), dpi=110)
