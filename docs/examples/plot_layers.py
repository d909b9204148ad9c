"""
Layers of kernels on images of shapes
=====================================

Is a white shape convex? The kernels of wide layers of random units were first compared on such
images. Each further layer is applied to the Gram matrix of the layer before.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.datasets import convex, rectangles
from mercer.kernels import ArcCosine, Cosine, Layered

fig, axes = plt.subplots(4, 8, figsize=(8, 4.4), layout="constrained")
for rows, (draw, names) in zip(
    (axes[:2], axes[2:]),
    ((convex, ("not convex", "convex")), (rectangles, ("wide", "tall"))),
):
    X, y = draw(60, seed=1)
    for row, label in zip(rows, (1, 0)):
        for ax, image in zip(row, X[y == label]):
            ax.imshow(image.reshape(28, 28), cmap="gray")
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(names[label])

# %%
# What a layer does to the cosine of an angle: with more layers of degree 0 all rows become alike,
# except for the nearest ones; degree 1 changes slowly.
theta = np.linspace(0, np.pi, 200)
circle = np.column_stack([np.cos(theta), np.sin(theta)])
fig, axes = plt.subplots(1, 3, figsize=(8, 2.8), sharey=True, layout="constrained")
for degree, ax in enumerate(axes):
    for layers in (1, 2, 4):
        kernel = ArcCosine(degree, layers).normalised()
        ax.plot(np.degrees(theta), kernel(circle[:1], circle)[0], label=f"layers: {layers}")
    ax.set(title=f"degree {degree}", xlabel="angle in degrees", xticks=[0, 90, 180])
axes[0].set_ylabel("similarity")
axes[0].legend()

# %%
# Errors of support vector machines by depth, on 1,000 images. As a base, ``Cosine`` gives all rows
# the length 1, of which many layers of degree 2 stay within the range of floats.
X, y = convex(2500, seed=0)
depths = range(1, 7)
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for degree in (0, 1, 2):
    errors = []
    for depth in depths:
        kernel = Layered(ArcCosine(degree), depth, base=Cosine()).normalised()
        model = SVC(kernel=kernel, C=30).fit(X[:1000], y[:1000])
        errors.append(100 * (1 - model.score(X[1000:], y[1000:])))
    ax.plot(depths, errors, marker="o", label=f"degree {degree}")
ax.set(xlabel="layers", ylabel="test error in %")
ax.legend()
plt.show()
