"""
Clean a corpus
==============

News that was reprinted stands in a corpus several times, with other words here and there. We remove
near-duplicates, and look at what was removed and why.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import deduplicate
from mercer.dedup import Words

# %%
# A corpus with reprints
# ----------------------
# Of 3,000 texts of 60 words, 1,000 are copies of an earlier text, or of such a copy, in which up to
# 3 words are replaced.

rng = np.random.default_rng(0)
syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
words = ["".join(rng.choice(syllables, rng.integers(1, 4))) for _ in range(4000)]
texts = []
for i in range(3000):
    if i % 3 == 2:
        text = texts[int(rng.integers(max(0, i - 30), i))].split()
        for place in rng.integers(0, 60, rng.integers(0, 4)):
            text[place] = rng.choice(words)
    else:
        text = list(rng.choice(words, 60))
    texts.append(" ".join(text))

# %%
# What stays
# ----------
# A document is the set of its runs of three words. Each document that is removed was compared with
# one that stays, and shares 80% of these runs with it.

found = deduplicate(texts, threshold=0.8)
print(found)
print(found.pairs[:3])
removed, kept = found.pairs[0]["removed"], found.pairs[0]["kept"]
print(texts[kept], texts[removed], sep="\n\n")

# %%
# Chains
# ------
# A copy of a copy may be far from the first text. The walk keeps it, where connected components
# would remove it.

looser = deduplicate(texts, threshold=0.6)
far = looser.pairs["similarity"]
sizes = np.bincount(looser.clusters)
print(f"{(sizes > 1).sum()} clusters, the largest of {sizes.max()} texts")
print(f"the least similar pair: {far.min():.2f}")

# %%
# Which pairs are compared
# ------------------------
# Pairs that share one of the keys. The curve says how many of them that are, and the histogram how
# similar the pairs were that were found.

J = np.linspace(0, 1, 200)
figure, ax = plt.subplots(layout="constrained")
ax.hist(far, bins=30, weights=np.full(len(far), 4 / len(far)), color="0.8", label="removed")
for threshold, result in ((0.6, looser), (0.8, found)):
    r, b = result.bands
    ax.plot(J, result.bands.recall(J), label=f"threshold {threshold}: {b} keys of {r} hashes")
ax.set(xlabel="similarity", ylabel="share of pairs that are compared", ylim=(0, 1.02))
ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
plt.show()

# %%
# Shorter shingles find what has more changes, and long ones only what is nearly equal.

for size in (1, 2, 3, 5):
    print(size, deduplicate(texts, shingles=Words(size)))
