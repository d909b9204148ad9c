"""
Many kernels: which of them see the signal
==========================================

String kernels differ in which changes of a signal they allow, and which of them is right is often
not known. Multiple-kernel learning takes all of them and learns their weights. Here three kinds of
string kernels look at the same made-up promoters, sequences with two signals of six symbols; and
each kernel also looks at another column, which is noise.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

from mercer import SVC, MultipleKernelClassifier
from mercer.kernels import GappedKmer, Spectrum, WeightedDegree
from mercer.plots import KernelWeightsDisplay

rng = np.random.default_rng(0)
n = 100
promoters = rng.choice(list("ACGT"), size=(n, 57))
for row in promoters:
    start = 5 + rng.integers(4)
    gap = rng.choice([16, 17, 18], p=[0.2, 0.6, 0.2])
    for signal, place in (("TTGACA", start), ("TATAAT", start + 6 + gap)):
        kept = rng.random(6) < 0.8
        row[place : place + 6][kept] = np.array(list(signal))[kept]
shuffled = rng.permuted(promoters, axis=1)
noise = rng.choice(list("ACGT"), size=(2 * n, 57))
table = pd.DataFrame(
    {
        "sequence": ["".join(row) for row in np.vstack([promoters, shuffled])],
        "noise": ["".join(row) for row in noise],
    }
)
y = np.repeat(["promoter", "chance"], n)

# %%
# Each kernel alone
# -----------------
strings = {
    "WeightedDegree(4, shift=3)": WeightedDegree(4, shift=3),
    "Spectrum(5)": Spectrum(5),
    "GappedKmer(6, 4)": GappedKmer(6, 4),
}
for name, kernel in strings.items():
    model = SVC(kernel=kernel.normalised())
    print(f"{name:27} {cross_val_score(model, table['sequence'], y, cv=10).mean():.0%} right")

# %%
# All of them together
# --------------------
# The list has the form of scikit-learn's ColumnTransformer. "average" gives the kernels on noise as
# much weight as the others. The other methods learn from the classes which kernels see something.
kernels = [
    (f"{name} of {column}", kernel, [column])
    for column in table.columns
    for name, kernel in strings.items()
]
for method in ("average", "align", "alignf", "easy", "simple"):
    model = MultipleKernelClassifier(kernels, method=method)
    print(f"{method:10} {cross_val_score(model, table, y, cv=10).mean():.0%} right")

# %%
# What the weights say
# --------------------
# "alignf" looks for the sum that is aligned best with the classes, and gives weight to few kernels.
# The violation of the conditions of optimality is its certificate: no other weights have a larger
# alignment.
model = MultipleKernelClassifier(kernels, method="alignf").fit(table, y)
print(f"alignment {-model.objective_:.3f}, violation of optimality {model.gap_:.0e}")
KernelWeightsDisplay.from_estimator(model)
plt.show()
