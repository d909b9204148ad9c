"""
Promoters in DNA: a kernel says what may differ
===============================================

A promoter is the place where the reading of a gene begins. Promoters of *E. coli* have two signals
of six symbols, similar to TTGACA and TATAAT, about 17 symbols apart. No two promoters are the same:
symbols are replaced, the gap is longer or shorter, or both signals are at another place. String
kernels differ in which of these changes they allow.

The sequences below are made up, so that we know the truth: half of them are random symbols with
both signals, and the other half are the same sequences with their symbols in random order. So
counts of single symbols tell nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC, KernelSearchCV
from mercer.kernels import GappedKmer, GapWeighted, Spectrum, WeightedDegree


def sequences(n, wander, seed=0):
    """n promoters that start up to ``wander`` places late, and n shuffled ones; 57 symbols each."""
    rng = np.random.default_rng(seed)
    promoters = rng.choice(list("ACGT"), size=(n, 57))
    for row in promoters:
        start = 5 + rng.integers(wander + 1)
        gap = rng.choice([16, 17, 18], p=[0.2, 0.6, 0.2])
        for signal, place in (("TTGACA", start), ("TATAAT", start + 6 + gap)):
            kept = rng.random(6) < 0.8  # the other symbols are random
            row[place : place + 6][kept] = np.array(list(signal))[kept]
    shuffled = rng.permuted(promoters, axis=1)
    X = ["".join(row) for row in np.vstack([promoters, shuffled])]
    return np.array(X), np.repeat(["promoter", "chance"], n)


X, y = sequences(100, wander=2)
print(X[0], y[0])
print(X[100], y[100])

# %%
# Where may a substring be?
# -------------------------
# The weighted degree kernel compares substrings at the same place; with a shift, also at places
# near it. The spectrum kernel counts substrings at any place, the gapped k-mer kernel allows
# different symbols in a window, and the gap-weighted kernel allows other symbols in between. With
# each of them the support vector machine works on strings. These promoters start at most two places
# late, so that kernels which compare the same places are best.
kernels = {
    "WeightedDegree(4)": WeightedDegree(4).normalised(),
    "WeightedDegree(4, shift=3)": WeightedDegree(4, shift=3).normalised(),
    "Spectrum(5)": Spectrum(5).normalised(),
    "GappedKmer(6, 4)": GappedKmer(6, 4).normalised(),
    "GapWeighted(5, 0.3)": GapWeighted(5, 0.3).normalised(),
}
for name, kernel in kernels.items():
    print(f"{name:27} {cross_val_score(SVC(kernel=kernel), X, y, cv=10).mean():.0%} right")

# %%
# Signals at other places
# -----------------------
# Now the promoters start up to 0, 2, ... 20 places late. A search tries all kernels, and computes
# the Gram matrix of each kernel once for all folds. If the place of the signals is not known,
# kernels that look at all places become better: the lines cross.
wanders = [0, 2, 4, 8, 14, 20]
right = np.zeros((len(wanders), len(kernels)))
for i, wander in enumerate(wanders):
    for seed in (0, 1, 2):
        search = KernelSearchCV(SVC(), {"kernel": list(kernels.values())}, cv=5)
        search.fit(*sequences(100, wander, seed))
        right[i] += search.cv_results_["mean_test_score"] / 3

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
colours = ["#e69f00", "#d55e00", "#0072b2", "#009e73", "#cc79a7"]
for name, line, colour, mark in zip(kernels, right.T, colours, "osD^v"):
    ax.plot(wanders, line, color=colour, marker=mark, markeredgecolor="white", label=name)
ax.axhline(0.5, color="#8a8f98", ls=":")
ax.text(20, 0.505, "guessing", ha="right", va="bottom", color="#8a8f98")
ax.set(xticks=wanders, xlabel="places that a promoter may start late")
ax.set_ylabel("right, of unseen sequences")
ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
legend = fig.legend(loc="outside right center", frameon=False)

# %%
# The search can tune the parameters of a kernel in the same way as C. ``sharing_`` says which of
# the twelve candidates shared a Gram matrix.
grid = {"kernel__kernel__shift": [0, 1, 3, 6], "C": [0.3, 1, 3]}
search = KernelSearchCV(SVC(kernel=kernels["WeightedDegree(4)"]), grid, cv=10).fit(X, y)
print(search.best_params_, f"{search.best_score_:.0%}")
print(*search.sharing_, sep="\n")

# %%
# What did it find?
# -----------------
# Replace each symbol of new promoters by each of the three others. If the score of the machine
# falls, this place was important. The shaded areas are the places of the signals, which the machine
# was not told.
unseen, kind = sequences(100, wander=2, seed=9)
promoters = unseen[kind == "promoter"]
others = {c: "ACGT".replace(c, "") for c in "ACGT"}
changed = [s[:i] + c + s[i + 1 :] for s in promoters for i in range(57) for c in others[s[i]]]
before = search.decision_function(promoters)  # positive if it predicts a promoter
after = search.decision_function(changed).reshape(len(promoters), 57, 3)
fall = (before[:, None, None] - after).mean(axis=(0, 2))

fig, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
for first, last, signal in ((5, 12, "TTGACA"), (27, 36, "TATAAT")):
    ax.axvspan(first - 0.5, last + 0.5, color="#56b4e9", alpha=0.25, lw=0)
    ax.text((first + last) / 2, 1.02, signal, ha="center", transform=ax.get_xaxis_transform())
ax.bar(range(57), fall, color="#0072b2")
ax.axhline(0, color="#8a8f98", lw=0.8)
text = ax.set(xlabel="place in the sequence", ylabel="fall of the score", xlim=(-1, 57))
