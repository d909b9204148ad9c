"""Draw convolution.png: what a convolutional deep kernel machine has learnt of small digits.

Needs torch; the page shows the picture as it is, so that it can be built without.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer.deep import ConvolutionalDeepKernelMachine

digits = load_digits()
images, y = digits.images, digits.target
model = ConvolutionalDeepKernelMachine(
    n_inducing=(16, 48), patch_size=3, stride=(1, 2), epochs=15, learning_rate=0.03,
    n_jobs=1, random_state=0,
).fit(images[:1200], y[:1200])  # fmt: skip

new, known = images[1200:], y[1200:]
shares = model.predict_proba(new)
right = shares.argmax(axis=1) == known
print(f"{right.mean():.1%} right")

figure = plt.figure(figsize=(9, 5.2), layout="constrained")
left, other = figure.subfigures(1, 2, width_ratios=(1, 1.25))
left.suptitle("Inducing patches of the first layer")
patches = np.asarray(model.patches_[0]).reshape(16, 3, 3)
limit = np.abs(patches).max()
for axis, patch in zip(left.subplots(4, 4).ravel(), patches):
    axis.imshow(patch, cmap="RdBu_r", vmin=-limit, vmax=limit)
    axis.set(xticks=[], yticks=[])
other.suptitle("New digits: the surest, then the least sure")
surest = np.argsort(-shares.max(axis=1))[:4]
doubtful = np.argsort(shares.max(axis=1))[:8]
for axis, i in zip(other.subplots(3, 4).ravel(), [*surest, *doubtful]):
    axis.imshow(new[i], cmap="gray_r")
    guess = shares[i].argmax()
    color = "black" if right[i] else "firebrick"
    axis.set_title(f"{known[i]}: said {guess}, {shares[i, guess]:.0%}", fontsize=8, color=color)
    axis.set(xticks=[], yticks=[])
figure.savefig(Path(__file__).with_suffix(".png"), dpi=90)
