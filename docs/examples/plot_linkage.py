"""
Who is in both registers?
=========================

Two registers hold people of the same town. There is no common key: names are misspelt, people
have moved, first and last names are exchanged. We link them without rules and without labels, and
look at how the model came to its weights.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import RecordLinkage
from mercer.datasets import registers

# %%
# Two tables
# ----------
# The second one writes dates in another way, and has errors in one cell of ten.

A, B, truth = registers(2000, seed=1)
A, B = pd.DataFrame(A), pd.DataFrame(B)
pairs = set(map(tuple, truth.tolist()))
i, j = truth[3]
print(A.iloc[[i]].to_string(index=False))
print(B.iloc[[j]].to_string(index=False))

# %%
# Linked
# ------
# What each column is, is judged from its cells.

model = RecordLinkage(one_to_one=True).fit(A, B)
for column in model.columns_:
    print(column.said())
found = set(zip(model.pairs_.left.tolist(), model.pairs_.right.tolist()))
print(
    f"{len(found & pairs) / len(found):.1%} of the pairs are right, "
    f"{len(found & pairs) / len(pairs):.1%} of the people in both are found"
)

# %%
# Match weights
# -------------
# Pairs that are the same person, and others that only have something in common: members of one
# household. The match weight is the odds in bits; at 0 the probability is one half.

near = model.near_
same = np.array([pair in pairs for pair in zip(near.left.tolist(), near.right.tolist())])
bins = np.arange(-7, 32)
fig, ax = plt.subplots(figsize=(7, 3))
ax.hist([near.weight[same], near.weight[~same]], bins, stacked=True, label=["same", "not the same"])
ax.axvline(0, color="grey", linestyle="--")
ax.set(xlabel="match weight (bits)", ylabel="pairs")
ax.legend()
fig.tight_layout()

# %%
# Classes of pairs
# ----------------
# Relatives agree in street and number, and not in the day of birth. A model without a class of
# their own would take them for matches.

for one in model.classes_:
    if one.pairs > 1:
        agree = [name for name, share in one.agreement.items() if share > 0.5]
        what = "matches" if one.matches else "no matches"
        print(f"{one.pairs:>12,.0f} pairs agree in {', '.join(agree) or 'nothing'}: {what}")

# %%
# Why a pair is a match
# ---------------------
# What each column adds, from the odds of any two records on.

k = int(np.argmin(abs(near.weight - 8)))
steps = near.weights[k]
start = near.weight[k] - steps.sum()
names = ["any two records", *(column.name for column in model.columns_), "relatives"]
bits = np.array([start, *steps])
ends = np.cumsum(bits)
fig, ax = plt.subplots(figsize=(7, 3))
colours = ["#0072b2" if b > 0 else "#d55e00" for b in bits]
ax.barh(names, bits, left=ends - bits, color=colours)
ax.axvline(0, color="grey", linewidth=1)
ax.invert_yaxis()
ax.set(xlabel=f"bits; together {near.weight[k]:.1f}, a probability of {near.probability[k]:.3f}")
fig.tight_layout()

# %%
# Labels
# ------
# If you know of some pairs whether they match, say so: the weights of columns are moved a little.

rng = np.random.default_rng(0)
rows = rng.choice(len(near), 60, replace=False)
known = np.column_stack([near.left[rows], near.right[rows]])
taught = RecordLinkage(one_to_one=True).fit(A, B, pairs=known, labels=same[rows])
found = set(zip(taught.pairs_.left.tolist(), taught.pairs_.right.tolist()))
print(f"{len(found & pairs) / len(found):.1%} right, {len(found & pairs) / len(pairs):.1%} found")
