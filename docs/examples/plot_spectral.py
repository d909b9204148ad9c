"""
Feature spaces made visible
===========================

A kernel compares samples in a feature space that is never computed. Kernel principal components and
discriminants are coordinates in that space: with two of them we can look at it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons, make_swiss_roll
from sklearn.decomposition import PCA

from mercer import KernelCCA, KernelDiscriminant, KernelPCA
from mercer.kernels import Spectrum
from mercer.plots import CanonicalCorrelationDisplay, EmbeddingDisplay

# %%
# The kernel trick, by hand
# -------------------------
# No line separates a disc from the ring around it. With the new coordinate x₃ = x₁² + x₂² a plane
# does: x₃ = constant.
X, inside = make_circles(300, factor=0.35, noise=0.06, random_state=0)
names = np.array(["ring", "disc"])[inside]
height = (X**2).sum(axis=1)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
EmbeddingDisplay(X, names, ("x₁", "x₂")).plot(left)
EmbeddingDisplay(np.column_stack([X[:, 0], height]), names, ("x₁", "x₃ = x₁² + x₂²")).plot(right)

# %%
# The kernel k(x, z) = (xz + c)² does this without the coordinate. For numbers x and z it is the
# inner product of the features φ(x) = [x², √(2c) x, c], and so the components of the kernel are the
# principal components of these features.
c, x = 2.0, np.random.default_rng(0).normal(size=50)
features = np.column_stack([x**2, np.sqrt(2 * c) * x, np.full(50, c)])
trick = KernelPCA(2, kernel="poly", degree=2, gamma=1.0, coef0=c).fit_transform(x[:, None])
by_hand = PCA(2).fit_transform(features)
print("largest difference:", np.abs(np.abs(trick) - np.abs(by_hand)).max())

# %%
# Components of three shapes
# --------------------------
# In the first two components of an RBF kernel the circles are apart, and the ends of the moons no
# longer reach into each other. The Swiss roll, a rolled-up sheet, stays rolled up: points that are
# near to each other stay near, but its ends are not pulled apart. Principal components know no
# classes, and what they show depends on gamma.
moons, half = make_moons(200, noise=0.06, random_state=0)
roll, along = make_swiss_roll(600, noise=0.1, random_state=0)
shapes = [
    ("circles", X, names, 8.0),
    ("moons", moons, np.array(["upper", "lower"])[half], 4.0),
    ("Swiss roll", roll[:, [0, 2]], along, 0.02),
]
figure, axes = plt.subplots(2, 3, figsize=(11, 7.4), layout="constrained")
for (title, A, labels, gamma), (above, below) in zip(shapes, axes.T):
    EmbeddingDisplay(A, labels, ("", "")).plot(above)
    above.set_title(title)
    pca = KernelPCA(2, kernel="rbf", gamma=gamma).fit(A)
    EmbeddingDisplay.from_estimator(pca, A, labels, ax=below)

# %%
# A discriminant knows the classes
# --------------------------------
# For two classes it has one direction, here drawn for new rows beside x₂.
new, new_half = make_moons(300, noise=0.2, random_state=1)
model = KernelDiscriminant(gamma=2.0).fit(*make_moons(200, noise=0.2, random_state=0))
print(f"right: {model.score(new, new_half):.1%}, shrinkage {model.alpha_:.2g}")
scores = np.column_stack([model.transform(new)[:, 0], new[:, 1]])
display = EmbeddingDisplay(
    scores, np.array(["upper", "lower"])[new_half], ("Discriminant", "x₂")
).plot()

# %%
# Sentences by topic
# ------------------
# Nothing but the kernel changes when the samples are texts. This one counts all substrings of three
# letters, so that words with the same stem are similar.
topics = {
    "weather": ["rain falls on the hills", "a cold wind brings rain", "the rain and wind are cold",
                "snow falls and the wind is cold", "warm wind after the rain",
                "rain clouds over the hills", "the wind blows snow and rain"],
    "music": ["she plays the violin", "a song for violin and piano", "he plays the piano at night",
              "they sing an old song", "the piano plays a song", "singing songs with a violin",
              "the old violin plays"],
    "food": ["bread and butter with cheese", "bake the bread slowly", "cheese on warm bread",
             "butter the baked bread", "fresh cheese and baked bread", "bakers bake bread",
             "melt the butter and cheese"],
}  # fmt: skip
sentences = [text for texts in topics.values() for text in texts]
topic = np.repeat(list(topics), [len(texts) for texts in topics.values()])
pca = KernelPCA(2, kernel=Spectrum(3).normalised()).fit(sentences)
display = EmbeddingDisplay.from_estimator(pca, sentences, topic)

# %%
# DNA
# ---
# Three families of sequences, each with its own frequencies of neighbouring symbols.
rng = np.random.default_rng(0)
steps = rng.dirichlet(np.full(4, 1.5), size=(3, 4))  # probabilities of the next symbol


def sequence(family, length=150):
    codes = [0]
    for _ in range(length - 1):
        codes.append(rng.choice(4, p=steps[family, codes[-1]]))
    return "".join("ACGT"[code] for code in codes)


family = np.repeat([0, 1, 2], 40)
dna = [sequence(f) for f in family]
pca = KernelPCA(2, kernel=Spectrum(3).normalised()).fit(dna)
labels = np.array([f"family {f + 1}" for f in family])
display = EmbeddingDisplay.from_estimator(pca, dna, labels)

# %%
# Two views of the same things
# ----------------------------
# Of each DNA sequence we now also know some numbers, of which one depends on the family. KernelCCA
# finds what text and numbers have in common. There are two such functions, since three families
# are apart in two directions; a third pair is noise, as its correlation on rows held out says.
numbers = np.column_stack([family + 0.2 * rng.normal(size=120), rng.normal(size=120)])
cca = KernelCCA(3, kernel=Spectrum(3).normalised(), kernel_y="rbf", alpha=1e-3, random_state=0).fit(
    dna, numbers
)
display = CanonicalCorrelationDisplay.from_estimator(cca)
plt.show()
