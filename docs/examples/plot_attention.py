"""
What words attend to, by five kernels
=====================================

Attention compares each word with each other one, and any kernel can do so. Five of them learn the
same question here, and what each one has learnt to look at is drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.deep import AttentionClassifier
from mercer.plots import AttentionDisplay

# %%
# Each sentence speaks of three things, in any order, and the question is whether *the tea* is good.
# Words alone do not tell: the answer is in the word that stands behind "tea is".
rng = np.random.default_rng(0)
THINGS = ["tea", "soup", "music"]
WORDS = {True: ["good", "fine", "lovely"], False: ["bad", "dull", "cold"]}


def sentence():
    parts, answer = [], None
    for thing in rng.permutation(THINGS):
        good = bool(rng.random() < 0.5)
        parts.append(f"{thing} is {rng.choice(WORDS[good])}")
        if thing == "tea":
            answer = good
    return " , ".join(parts), answer


texts, answers = zip(*(sentence() for _ in range(1200)))
answers = np.array(answers)
new = "soup is bad, tea is lovely, music is dull"

# %%
# One layer with one head, so that there is one matrix to look at.
KERNELS = ["dot_product", "rbf", "distance", "quadratic", "intersection"]
machines = {
    kernel: AttentionClassifier(
        kernel, width=16, n_heads=1, dropout=0, epochs=20, learning_rate=0.01, n_jobs=1,
        random_state=0,
    ).fit(texts[:800], answers[:800])
    for kernel in KERNELS
}  # fmt: skip
for kernel, machine in machines.items():
    print(f"{kernel:13} {machine.score(texts[800:], answers[800:]):.1%} of new sentences right")

# %%
# Rows are words that ask, columns are words that are asked, and each row sums to 1. All five answer
# the question, and each in a way of its own. The dot product and RBF look at few words. A distance
# is small for few words: so all of them count, and what is left out is what matters.
figure, axes = plt.subplots(2, 3, figsize=(11, 7.4), layout="constrained")
for axis, machine in zip(axes.flat, machines.values()):
    AttentionDisplay.from_estimator(machine, new, ax=axis)
axes[1, 2].set_axis_off()

# %%
# How much of the attention of the word "tea" goes to each word of the sentence:
tokens = machines["rbf"].tokenise([new])[0]
asking = tokens.index("tea")
for kernel, machine in machines.items():
    weights = machine.attention([new])[0][0, asking]
    best = np.argsort(-weights)[:3]
    print(f"{kernel:13}", ", ".join(f"{tokens[i]!r} {weights[i]:.2f}" for i in best))
