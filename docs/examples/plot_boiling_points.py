"""
Boiling points from SMILES
==========================

A molecule that is written as SMILES is a sample. Two kernels compare molecules here: by the
fragments that they share, and by what they measure, such as weight and polar surface. Both need the
extra ``mercer[chem]``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold, cross_val_predict

from mercer import KernelRidge, NearestNeighbors
from mercer.distances import Tanimoto
from mercer.kernels import Descriptors, Morgan

known = """CCC -42 CCCC 0 CCCCC 36 CCCCCC 69 CCCCCCC 98 CCCCCCCC 126 CCCCCCCCC 151 CO 65 CCO 78
    CCCO 97 CCCCO 118 CCCCCO 138 CCCCCCO 157 CCCCCCCO 176 CC(C)=O 56 CCC(C)=O 80 c1ccccc1 80
    Cc1ccccc1 111
    CCc1ccccc1 136 C=Cc1ccccc1 145 Oc1ccccc1 182 Nc1ccccc1 184 Clc1ccccc1 132 Brc1ccccc1 156
    c1ccncc1 115 C1CCCCC1 81 C1CCCC1 49 CC(=O)O 118 CCC(=O)O 141 CCCC(=O)O 164 CCOC(C)=O 77
    COC(C)=O 57 CCOCC 35 C1CCOC1 66 C1COCCO1 101 ClCCl 40 ClC(Cl)Cl 61 CC#N 82 CCN 17 CCCN 48
    CCCCN 78 CCNCC 56 CCN(CC)CC 89 CC(C)O 82 CC(C)(C)O 82 CC(C)C -12 CCC(C)C 28 OC1CCCCC1 161
    O=C1CCCCC1 156 O=Cc1ccccc1 178 CC=O 20 CCC=O 48 CCCC=O 75 COc1ccccc1 154 c1ccoc1 31 c1ccsc1 84
    c1cc[nH]c1 130""".split()  # noqa: SIM905
X, y = np.array(known[::2], object), np.array(known[1::2], float)

# %%
# How alike molecules are
# -----------------------
# `Morgan` counts neighbourhoods of atoms: alcohols are alike, and rings are. The descriptors order
# molecules by their size, and by what is polar. Rows are in the order of their boiling points.

order = np.argsort(y)
fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for ax, kernel in zip(axes, (Morgan(), Descriptors())):
    ax.imshow(kernel(X[order]), vmin=0, vmax=1, cmap="viridis")
    ax.set_title(type(kernel).__name__)
    ax.set_xticks([])
    ax.set_yticks(range(0, len(X), 8), X[order][::8], fontsize=7)

# %%
# Predictions
# -----------
# The sum of both kernels predicts each fifth of the molecules from the others.

folds = KFold(5, shuffle=True, random_state=0)
fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for ax, kernel in zip(axes, (Morgan(), Morgan() + Descriptors())):
    model = KernelRidge(kernel=kernel, alpha="auto")
    predicted = cross_val_predict(model, X, y, cv=folds)
    error = np.sqrt(np.mean((predicted - y) ** 2))
    ax.plot(y, predicted, "o", ms=5)
    ax.plot([-50, 200], [-50, 200], color="0.6", lw=1)
    name = "Morgan" if isinstance(kernel, Morgan) else "Morgan and descriptors"
    ax.set(title=f"{name}: ±{error:.0f} °C", xlabel="boiling point, °C")
axes[0].set_ylabel("predicted")

# %%
# Nearest molecules
# -----------------
# An index finds the molecules that share most fragments with a new one. A salt is its largest part.

index = NearestNeighbors(n_neighbors=2, metric=Tanimoto(fingerprint="morgan")).fit(X)
for new in ("CCCCCCCCO", "CC(=O)[O-].[Na+]", "Cc1ccccc1C"):
    far, rows = index.kneighbors([new])
    print(new, [f"{X[i]} ({d:.2f})" for i, d in zip(rows[0], far[0])])
plt.show()
