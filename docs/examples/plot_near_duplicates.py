"""
Near-duplicates by hashing
==========================

Of 4,000 short texts some were copied with small changes. Their sets of shingles (substrings of five
characters) overlap. We estimate the overlap from signatures, find all similar pairs by hashing, and
look at the curve that says how many of them are found.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSHIndex, MinHash
from mercer.distances import Jaccard
from mercer.plots import HashingDisplay
from mercer.search import BruteForce

# %%
# Texts, and copies of some of them
# ---------------------------------
# Every tenth text is a copy of the one before it, in which two words are replaced.

rng = np.random.default_rng(0)
syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
words = ["".join(rng.choice(syllables, rng.integers(1, 4))) for _ in range(2000)]
texts = [list(rng.choice(words, 20)) for _ in range(4000)]
for i in range(10, len(texts), 10):
    texts[i] = list(texts[i - 1])
    for place in rng.integers(0, 20, 2):
        texts[i][place] = rng.choice(words)
texts = [" ".join(text) for text in texts]
shingles = [{text[i : i + 5] for i in range(len(text) - 4)} for text in texts]
print(texts[9], texts[10], sep="\n")

# %%
# Signatures
# ----------
# The share of equal entries of two signatures estimates Jaccard's index of the two sets.

minhash = MinHash(256)
S = minhash.fit_transform(shingles[:200])
estimate, exact = minhash.similarity(S), 1 - Jaccard()(shingles[:200])
print(f"largest error {np.abs(estimate - exact).max():.3f}")

# %%
# All similar pairs
# -----------------
# We want 95% of the pairs at the distance 0.4, so nearly all that are closer. Only the pairs that
# share a key are compared, and their distances are exact.

index = LSHIndex(Jaccard(), near=0.4, recall=0.95).fit(shingles)
distances, rows, starts = index.query_radius(radius=0.4)
pairs = {(i, int(j)) for i, (s, e) in enumerate(pairwise(starts)) for j in rows[s:e] if i < j}
_, rows, starts = BruteForce(Jaccard()).fit(shingles).query_radius(radius=0.4)
right = {(i, int(j)) for i, (s, e) in enumerate(pairwise(starts)) for j in rows[s:e] if i < j}
print(f"{len(pairs & right)} of {len(right)} pairs, {index.share_:.2%} of all rows per query")

# %%
# The curve
# ---------
# One hash function falls in a straight line with the distance. Several of them in a key, and
# several tables, make a curve that is near 1 for copies and near 0 for all other pairs.

HashingDisplay.from_index(index, [shingles[i] for i in range(0, 4000, 9)], most=1.0).plot()
plt.show()
