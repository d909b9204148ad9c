"""
Which letters bind? Variants of DNA
===================================

A protein binds to DNA where a certain motif stands, on either strand. A machine that has seen bound
and free sequences can say which letters of a new sequence it looks at, and which changes of single
letters would end the binding. Here the motif is made up, so that we know the truth.
"""

import numpy as np

from mercer import SVC
from mercer.explain import letters, variants
from mercer.kernels import GappedKmer
from mercer.plots import SequenceDisplay

MOTIF = "TGACTCAGCA"  # similar to that of AP-1 and NFE2


def sequences(n, seed):
    """n pieces of DNA; every second one is bound, and holds the motif with up to two changes."""
    rng = np.random.default_rng(seed)
    X = []
    for i in range(n):
        text = rng.choice(list("ACGT"), 80)
        motif = np.where(rng.random(10) < 0.1, rng.choice(list("ACGT"), 10), list(MOTIF))
        if rng.random() < 0.5:  # the other strand
            motif = np.array(list("".join(motif)[::-1].translate(str.maketrans("ACGT", "TGCA"))))
        place = rng.integers(70)
        text[place : place + 10] = motif if i % 2 else text[place : place + 10]
        X.append("".join(text))
    return X, np.where(np.arange(n) % 2, "bound", "free")


X, y = sequences(400, seed=0)
new, truth = sequences(100, seed=1)
kernel = GappedKmer(10, 6, both_strands=True, mismatches=4, filter="truncated")
model = SVC(kernel=kernel.normalised(), C=1).fit(X, y)
print(f"{model.score(new, truth):.0%} right, of unseen sequences")

# %%
# What does it look at?
# ---------------------
# The decision is a sum over pairs of windows. Each pair is divided among the places in which the
# two windows agree, so that the letters of a sequence add up to the decision, up to a constant. The
# strongest pieces of all new sequences are the motif and its reverse complement, TGCTGAGTCA.
found = letters(model, new, of="bound")
for piece, value in found.strongest(10, most=8):
    print(piece, f"{value:.2f}")

# %%
# What would a change do?
# -----------------------
# The model predicts each sequence again with each other letter in each place. Orange changes lower
# the decision: no letter of the motif may be replaced. Blue ones raise it: they repair a motif
# with a wrong letter.
bound = [x for x, label in zip(new, truth) if label == "bound"][:3]
display = SequenceDisplay.from_estimator(model, bound, of="bound")

# %%
# A few variants alone
# --------------------
# Letters that are inserted or deleted are variants too: a row, a place, what stands there, and what
# comes in its place.
first = bound[0]
values = letters(model, [first], of="bound")
best = int(np.convolve(values.values[0], np.ones(10), "valid").argmax())
changes = [(0, best + 4, first[best + 4], "A"), (0, best + 3, first[best + 3 : best + 6], "")]
changes.append((0, 0, "", "GGG"))
scores = variants(model, [first], changes, of="bound")
for old, new_letters, change in zip(scores.references, scores.alternatives, scores.changes):
    print(f"{old or '-':>4} -> {new_letters or '-':4} {change:+.2f}")
display = SequenceDisplay.of(values, scores, names=["the first one"]).plot()
