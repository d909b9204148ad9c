"""
Names: neighbours, duplicates and a map
=======================================

Names have no columns, but we can say how similar two names are. This is enough to find the nearest
names, to group names that differ by a typing error, to guess a language, and to draw a map.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.distances import Edit, JaroWinkler
from mercer.kernels import EditRBF, FromDistance, Spectrum
from mercer.search import BruteForce

NAMES = {
    "Finnish": """Aino Eero Eeva Elina Esko Hannele Heikki Helmi Ilkka Jaakko Jarmo Jorma Jouni
        Juhani Jukka Kaarina Kaisa Kalevi Katri Kauko Kirsi Leena Liisa Maija Marjatta Markku Matti
        Mikko Minna Outi Paavo Pekka Pirkko Päivi Raimo Reijo Riikka Risto Ritva Seija Seppo Tapio
        Tarja Tellervo Timo Tuomas Tuula Veikko Väinö Ville""",
    "Italian": """Alessandro Alessia Antonella Beatrice Carlo Chiara Cristina Daniele Davide
        Domenico Donatella Elisabetta Enrico Fabrizio Federica Filippo Francesca Gabriele Giacomo
        Gianluca Giorgio Giovanna Giovanni Giuseppe Graziella Ilaria Leonardo Lorenzo Luciano
        Luigi Marcello Margherita Massimo Matteo Michele Nicoletta Ornella Paolo Pasquale Pietro
        Raffaella Riccardo Roberto Salvatore Silvia Stefano Tommaso Umberto Valentina Vincenzo""",
    "Japanese": """Akiko Akira Asuka Ayumi Chiyoko Daisuke Emiko Fumiko Haruka Haruki Hideki Hiroko
        Hiroshi Hitomi Ichiro Isamu Jiro Kaori Katsumi Kazuko Kazuo Keiko Kenichi Kenji Kiyoshi
        Makoto Mariko Masako Megumi Michiko Miyuki Naoki Natsuki Noboru Ryosuke Sachiko Sakura
        Satoshi Shigeru Shinichi Takashi Takumi Tatsuya Tomoko Toshiro Tsuyoshi Yasuko Yoko Yukio
        Yumiko""",
    "Polish": """Agnieszka Andrzej Barbara Bartosz Bogdan Bożena Cezary Czesław Danuta Dariusz
        Elżbieta Ewelina Franciszek Grażyna Grzegorz Halina Henryk Iwona Jacek Jadwiga Jarosław
        Joanna Kazimierz Krystyna Krzysztof Leszek Ludwika Maciej Magdalena Małgorzata Marcin
        Mariusz Mateusz Mieczysław Mirosław Paweł Piotr Przemysław Ryszard Stanisław Sławomir
        Tadeusz Teresa Tomasz Urszula Wacław Wiesława Włodzimierz Wojciech Zbigniew""",
}
NAMES = {language: names.split() for language, names in NAMES.items()}
X = np.concatenate(list(NAMES.values()))
y = np.repeat(list(NAMES), [len(names) for names in NAMES.values()])

# %%
# Nearest neighbours
# ------------------
# An index takes any distance. The edit distance counts the symbols to insert, delete or replace.
# For the distance of Jaro and Winkler, exchanged symbols count little, and names with the same
# beginning are closer.
asked = ["Johana", "Giovani", "Krystof", "Tomoku"]
for distance in (Edit(), JaroWinkler()):
    print(distance)
    distances, indices = BruteForce(distance).fit(X).query(asked, k=3)
    for name, away, near in zip(asked, distances, indices):
        print(f"    {name:8}", *(f"{X[i]} ({d:.3g})" for i, d in zip(near, away)))

# %%
# Duplicates
# ----------
# This list has 600 entries, one in four with a typing error. Rows that differ by at most one edit
# are linked, and linked rows are counted as one name. The index leaves out strings whose lengths
# differ too much, and never stores the matrix of all distances.
rng = np.random.default_rng(0)
truth = rng.integers(len(X), size=600)
typed = []
for name in X[truth]:
    place, slip = rng.integers(1, len(name)), rng.integers(12)
    if slip == 0:
        name = name[:place] + name[place + 1 :]
    elif slip == 1:
        name = name[:place] + name[place] + name[place:]
    elif slip == 2:
        name = name[:place] + rng.choice(list("aeioutnr")) + name[place + 1 :]
    typed.append(str(name))

index = BruteForce(Edit()).fit(typed)
_, linked, starts = index.query_radius(radius=1)
links = csr_array((np.ones(len(linked)), linked, starts), shape=(len(typed), len(typed)))
count, group = connected_components(links, directed=False)
print(f"{len(set(typed))} spellings of {len(set(truth))} names fall into {count} groups, such as")
largest = np.argsort(-np.bincount(group), kind="stable")[:6]
for g in largest:
    print("   ", *np.unique(np.array(typed)[group == g]))

# %%
# Different names are put together too if they are one edit apart, or if their typing errors are. So
# look at the groups before you merge names.
pairs = [np.unique(X[truth[group == g]]) for g in range(count)]
print("put together:", *(" & ".join(names) for names in pairs if len(names) > 1), sep="\n    ")

# %%
# Which language?
# ---------------
# With a kernel on names, a support vector machine can guess the language. Marks for the beginning
# and the end of a name help a kernel on substrings: many Polish names end in "sław", and many
# Japanese names in "ko". The sum of two kernels is a kernel, and here it is the best of the four.
# Random guesses would be right in 25%.
marked = np.array([f"^{name.lower()}$" for name in X])
edits, substrings = EditRBF(0.2), Spectrum(3, shortest=1, decay=0.5).normalised()
kernels = {
    "JaroWinkler": FromDistance(JaroWinkler(), gamma=3),
    "substrings": substrings,
    "edits": edits,
    "edits + substrings": edits + substrings,
}
for name, kernel in kernels.items():
    scores = cross_val_score(SVC(kernel=kernel), marked, y, cv=10)
    print(f"{name:18}  {scores.mean():.0%} right")

# %%
# A map
# -----
# The first two eigenvectors of the centred Gram matrix, scaled, are the map in two dimensions that
# keeps most of the kernel (kernel PCA). The colours are the languages, which were not used. A name
# is written if there is space for it; the others are only dots. Two of 200 dimensions are few, so
# the languages overlap.
K = (edits + substrings)(marked)
K -= K.mean(axis=0)
K -= K.mean(axis=1, keepdims=True)
values, vectors = np.linalg.eigh(K)
places = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])

fig, ax = plt.subplots(figsize=(9, 6.5), layout="constrained")
colours = dict(zip(NAMES, ["#e69f00", "#0072b2", "#009e73", "#cc79a7"]))
for (language, colour), mark in zip(colours.items(), "osD^"):
    ax.scatter(*places[y == language].T, s=14, color=colour, marker=mark, label=language)
ax.set(xticks=[], yticks=[], aspect="equal")
ax.spines[:].set_visible(False)
ax.margins(0.06)
fig.legend(loc="outside upper center", ncols=4, frameon=False, markerscale=2)
fig.draw_without_rendering()

points, taken = ax.transData.transform(places), []
for i in np.argsort(-np.linalg.norm(places, axis=1)):  # begin with those far from the centre
    text = ax.annotate(
        X[i], places[i], (4, 0), textcoords="offset points", va="center", fontsize=9,
        color=colours[y[i]],
    )  # fmt: skip
    box = text.get_window_extent()
    if any(box.overlaps(other) for other in taken) or box.count_contains(points):
        text.remove()
    else:
        taken.append(box)
