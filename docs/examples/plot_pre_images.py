"""
Back from feature space: clean digits and possible shapes
=========================================================

Principal components in feature space keep what many samples have in common. Going to a few of them
and back again removes what they do not have in common: noise, or shapes that cannot be.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from mercer import KernelPCA
from mercer.kernels import RBF

# %%
# Clean digits
# ------------
# The training digits are clean. The new ones have noise, and are replaced by the images whose
# features are nearest to their components. Linear principal components keep the noise that lies in
# their directions; the kernel's components keep less of it.
X, y = load_digits(return_X_y=True)
X, rng = X / 16, np.random.default_rng(0)
training, clean = X[:1500], X[1500:]
noisy = clean + rng.normal(scale=0.3, size=clean.shape)

linear = PCA(20).fit(training)
kernel = KernelPCA(60, kernel=RBF(0.04)).fit(training)
results = {
    "clean": clean,
    "noisy": noisy,
    "linear": linear.inverse_transform(linear.transform(noisy)),
    "kernel": kernel.inverse_transform(kernel.transform(noisy)),
}
for name, images in results.items():
    print(f"{name:7} mean squared error {np.square(images - clean).mean():.4f}")

first = [np.flatnonzero(y[1500:] == digit)[0] for digit in range(10)]
figure, axes = plt.subplots(4, 10, figsize=(10, 4.4), layout="constrained")
for row, (name, images) in zip(axes, results.items()):
    row[0].set_ylabel(name)
    for ax, i in zip(row, first):
        ax.imshow(images[i].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])

# %%
# What is no digit
# ----------------
# The distance in feature space to the components tells images that are no digits: here the pixels
# of digits in random order.
shuffled = rng.permuted(clean, axis=1)
errors = [kernel.reconstruction_error(A) for A in (clean, shuffled)]
figure, ax = plt.subplots(layout="constrained")
edges = np.linspace(0, np.max(errors), 41)
for values, label, colour in zip(errors, ("digits", "shuffled pixels"), ("#0072b2", "#e69f00")):
    ax.hist(values, bins=edges, label=label, color=colour)
ax.set(xlabel="Reconstruction error in feature space", ylabel="Images")
ax.legend(frameon=False)

# %%
# A model of shapes
# -----------------
# An active shape model describes an outline by the places of points on it, and learns from examples
# how these vary together. The shapes here are bent rods: each has a length and a bend, so that 40
# numbers have two degrees of freedom, and not on a straight line.
along = np.linspace(-1, 1, 10)


def rod(bend, length):
    """Outline of a bent rod, (20, 2)."""
    angle = bend * along
    middle = length * np.column_stack([np.sin(angle), np.cos(angle) - 1]) / bend
    side = 0.15 * np.column_stack([np.sin(angle), np.cos(angle)])
    return np.vstack([middle + side, (middle - side)[::-1]])


def drawn(ax, shape, **style):
    points = shape.reshape(-1, 2)
    ax.plot(*np.vstack([points, points[:1]]).T, **style)
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))


shapes = np.array(
    [rod(*pair).ravel() for pair in zip(rng.uniform(-2, 2, 300), rng.uniform(0.8, 1.2, 300))]
)
model = KernelPCA(4, kernel=RBF(0.1)).fit(shapes)

# %%
# Along the first component the rods bend. An outline with errors is replaced by the nearest shape
# of the model. With ``limit=2`` its scores are held within two standard deviations of those of the
# training shapes, so that even a wild outline becomes a possible shape.
figure, axes = plt.subplots(2, 5, figsize=(11, 5.4), layout="constrained")
deviations = np.sqrt(model.eigenvalues_ / model.n_samples_)
for ax, step in zip(axes[0], np.linspace(-1.6, 1.6, 5)):
    scores = np.zeros((1, 4))
    scores[0, 0] = step * deviations[0]
    drawn(ax, model.inverse_transform(scores)[0], color="#0072b2")
    ax.set_title(f"{step:+.1f} deviations".replace("-", "−") if step else "mean scores")
for ax, error in zip(axes[1], [0.0, 0.05, 0.1, 0.2, 0.4]):
    seen = rod(1.5, 1.0).ravel() + rng.normal(scale=error, size=40)
    fitted = model.inverse_transform(model.transform(seen[None]), limit=2)[0]
    drawn(ax, seen, color="#8a8f98", lw=1)
    drawn(ax, fitted, color="#d55e00", lw=2)
    ax.set_title(f"errors of {error:g}")
plt.show()
