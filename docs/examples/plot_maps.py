"""
What is in my data? Maps of ten kinds of samples
================================================

The first question about data is what is in them. A map answers it for samples of any kind: it needs
only a distance or a kernel, and puts samples that are alike near each other. Here are ten kinds,
each with groups that we know, so that we see whether the map finds them. It is told of no group.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from sklearn.datasets import load_digits

from mercer import HDBSCAN, NeighbourEmbedding
from mercer.distances import DTW, Edit, Jaccard, Match, Mixed, SlicedWasserstein
from mercer.kernels import Spectrum, SubsetTree, WeisfeilerLehman
from mercer.plots import MapDisplay

rng = np.random.default_rng(0)

# %%
# Numbers, tables and texts
# -------------------------
# Pictures of digits are vectors of 64 numbers. Penguins have columns of numbers and of categories,
# and some cells are missing. Words of four made-up languages are compared by edits. Promoters are
# sequences of DNA with a signal in them, compared by the parts of four symbols that they share.

digits, digit = load_digits(return_X_y=True)
penguins = pl.read_csv(files("mercer").joinpath("data/penguins.csv"), null_values="NA")

SYLLABLES = ["ka ri to na mi", "stra czek wi olsz", "elo ina acci etti", "hei lla kko nen ää"]


def word(language):
    return "".join(rng.choice(SYLLABLES[language].split(), size=rng.integers(2, 5)))


def promoter(signal):
    symbols = rng.choice(list("ACGT"), size=60)
    place = rng.integers(40)
    symbols[place : place + 12] = list(signal)
    return "".join(symbols)


language = np.arange(400) % 4
words = [word(each) for each in language]
signal = np.arange(200) % 2
dna = [promoter(["TTGACATATAAT", "GGCCAATCTGCG"][each]) for each in signal]

# %%
# Sets, answers, series and bags
# ------------------------------
# Baskets are sets of goods. Answers are categories of a questionnaire with two opinions. Gestures
# are series that run at different speeds, and evenings of darts are bags of points, of which there
# are not always as many.

GOODS = ["bread milk eggs butter jam", "nails glue saw paint brush", "pen ink paper ruler rubber"]
buyer = np.arange(240) % 3
baskets = [
    {*rng.choice(GOODS[each].split(), size=3), *rng.choice(" ".join(GOODS).split(), size=1)}
    for each in buyer
]
opinion = np.arange(200) % 2
answers = np.where(rng.random((200, 12)) < 0.75, opinion[:, None], rng.integers(0, 5, (200, 12)))


def gesture(form):
    t = np.sort(rng.random(rng.integers(25, 50)))
    curve = [np.tanh(6 * (t - 0.5)), np.sin(6 * np.pi * t), np.exp(-40 * (t - 0.4) ** 2)][form]
    return curve + 0.1 * rng.normal(size=len(t))


def evening(ring):
    angle = rng.uniform(0, 2 * np.pi, size=rng.integers(15, 40))
    circle = 1.5 * np.c_[np.cos(angle), np.sin(angle)]
    return ring * circle + (1.3 - ring) * rng.normal(size=circle.shape)


form, ring = np.arange(120) % 3, np.arange(120) % 2
gestures, evenings = [gesture(each) for each in form], [evening(each) for each in ring]

# %%
# Graphs and trees
# ----------------
# Molecules are chains or rings of carbon with other atoms on them. Sentences are trees of two
# constructions.


def molecule(closed):
    n = int(rng.integers(5, 9))
    edges = [(i, i + 1) for i in range(n - 1)] + [(0, n - 1)] * int(closed)
    return n + 1, [*edges, (int(rng.integers(n)), n)], ["C"] * n + [str(rng.choice(["N", "O"]))]


def sentence(passive):
    noun, verb = rng.choice(["cat", "dog", "bird", "fish"]), rng.choice(["sees", "hears", "likes"])
    subject = f"(NP (D the) (N {noun}))"
    if passive:
        return f"(S {subject} (VP (V is) (PP (P by) (NP (N {verb})))))"
    return f"(S {subject} (VP (V {verb}) {subject}))"


closed, passive = np.arange(160) % 2, np.arange(160) % 2
molecules, sentences = [molecule(each) for each in closed], [sentence(each) for each in passive]

# %%
# Ten maps
# --------
# The same estimator draws all of them. ``quality`` says what a map keeps: the share of the
# neighbours of each sample that are its neighbours in the map.

SAMPLES = {
    "digits (vectors)": (digits[:900], "euclidean", digit[:900]),
    "penguins (table)": (penguins.drop("species"), Mixed.gower(penguins.drop("species")),
                         penguins["species"].to_numpy()),
    "words (strings)": (words, Edit(normalised=True), language),
    "promoters (DNA)": (dna, Spectrum(4), signal),
    "baskets (sets)": (baskets, Jaccard(), buyer),
    "answers (categories)": (answers, Match(), opinion),
    "gestures (series)": (gestures, DTW(window=0.2), form),
    "darts (bags)": (evenings, SlicedWasserstein(), ring),
    "molecules (graphs)": (molecules, WeisfeilerLehman(3), closed),
    "sentences (trees)": (sentences, SubsetTree(), passive),
}  # fmt: skip

_, axes = plt.subplots(4, 3, figsize=(10, 12), layout="constrained")
for ax, (name, (samples, metric, groups)) in zip(axes.flat, SAMPLES.items()):
    model = NeighbourEmbedding(metric=metric, random_state=0).fit(samples)
    group = np.unique(groups, return_inverse=True)[1]
    title = f"{name}: {100 * model.quality().kept:.0f}% kept"
    MapDisplay(model.embedding_, labels=group, title=title).plot(ax)
for ax in axes.flat[len(SAMPLES) :]:
    ax.set_axis_off()
plt.show()

# %%
# Most groups stand apart, though the map was not told of them. Samples that are equal for the
# distance, as some sentences are, lie on one another. How far apart two groups are, and how large
# they are, says little: see :doc:`/maps`.
#
# Clusters, and a page
# --------------------
# `HDBSCAN` finds groups by the same distance, and leaves out what belongs to none. With the table,
# the display says what is typical of each.

X = penguins.drop("species")
model = NeighbourEmbedding(metric=Mixed.gower(X), random_state=0).fit(X)
clusters = HDBSCAN(15, metric=Mixed.gower(X)).fit(X)
display = MapDisplay.from_estimator(model, penguins, clusters=clusters, title="Penguins")
for number, said in enumerate(display.words, start=1):
    print(number, "; ".join(said))
plt.show()

# %%
# ``display.write("penguins.html")`` makes a page of it, to colour by any column, to search and to
# walk through. On the command line ``mercer map penguins.csv`` does all of this at once.
