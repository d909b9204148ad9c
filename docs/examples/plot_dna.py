"""
Promoters in DNA: a kernel says what may vary
=============================================

A promoter is where the reading of a gene begins. Those of *E. coli* carry two signals of six
symbols, near TTGACA and near TATAAT, some 17 symbols apart. No two promoters are quite alike:
symbols are replaced, the gap is longer or shorter, the whole may stand elsewhere. String kernels
differ in which of these they forgive.

The sequences below are made up, so that the truth is known: half of them are random symbols with
both signals planted, the other half are the same sequences with their symbols shuffled. Counts of
single symbols tell nothing.
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
            kept = rng.random(6) < 0.8  # the other symbols are left to chance
            row[place : place + 6][kept] = np.array(list(signal))[kept]
    shuffled = rng.permuted(promoters, axis=1)
    X = ["".join(row) for row in np.vstack([promoters, shuffled])]
    return np.array(X), np.repeat(["promoter", "chance"], n)


X, y = sequences(100, wander=2)
print(X[0], y[0])
print(X[100], y[100])

# %%
# Where may a substring stand?
# ----------------------------
# The weighted degree kernel compares substrings at the same place; with a shift, some places apart
# too. The spectrum kernel counts them wherever they stand, the gapped k-mer kernel lets symbols of
# a window differ, and the gap-weighted kernel lets others come between. Each makes the support
# vector machine one of strings. These promoters start within three places of each other, so that
# kernels which know places are ahead.
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
# Let the signals wander
# ----------------------
# Now the promoters start up to 0, 2, ... 20 places late. A search tries all kernels, and computes
# the Gram matrix of each once for all folds. What stands at no certain place must be looked for
# everywhere: the lines cross.
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
# The search tunes a kernel by its parameters as it would C. ``sharing_`` says how often a Gram
# matrix had to be computed for the twelve candidates.
grid = {"kernel__kernel__shift": [0, 1, 3, 6], "C": [0.3, 1, 3]}
search = KernelSearchCV(SVC(kernel=kernels["WeightedDegree(4)"]), grid, cv=10).fit(X, y)
print(search.best_params_, f"{search.best_score_:.0%}")
print(*search.sharing_, sep="\n")

# %%
# What did it find?
# -----------------
# Replace each symbol of new promoters by each of the three others: where the machine's score falls,
# it had read something. Shaded is where the signals were planted. The machine was not told of them.
unseen, kind = sequences(100, wander=2, seed=9)
promoters = unseen[kind == "promoter"]
others = {c: "ACGT".replace(c, "") for c in "ACGT"}
changed = [s[:i] + c + s[i + 1 :] for s in promoters for i in range(57) for c in others[s[i]]]
before = search.decision_function(promoters)  # positive where it takes them for promoters
after = search.decision_function(changed).reshape(len(promoters), 57, 3)
fall = (before[:, None, None] - after).mean(axis=(0, 2))

fig, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
for first, last, signal in ((5, 12, "TTGACA"), (27, 36, "TATAAT")):
    ax.axvspan(first - 0.5, last + 0.5, color="#56b4e9", alpha=0.25, lw=0)
    ax.text((first + last) / 2, 1.02, signal, ha="center", transform=ax.get_xaxis_transform())
ax.bar(range(57), fall, color="#0072b2")
ax.axhline(0, color="#8a8f98", lw=0.8)
text = ax.set(xlabel="place in the sequence", ylabel="fall of the score", xlim=(-1, 57))
