"""A convolutional deep kernel machine on MNIST digits, beside machines without patches. Needs torch
(``make test-torch`` installs it) and MERCER_DATA; not part of ``make bench``, for it takes long.
"""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import Any

import numpy as np

from harness import Section, data_folder, options
from mercer import SVC
from mercer.deep import ConvolutionalDeepKernelMachine


def digits(folder: Path, part: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The first images of a part as (rows, 28, 28), from 0 to 1, and their classes."""
    X, y = (
        np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=offset)
        for path, offset in (
            (folder / f"images/mnist_{part}_images.idx.gz", 16),
            (folder / f"images/mnist_{part}_labels.idx.gz", 8),
        )
    )
    return X.reshape(-1, 28, 28)[:rows].astype(np.float32) / 255, y[:rows]


def mnist(quick: bool, epochs: int) -> Section:
    rows = 2000 if quick else 10_000
    section = Section(
        "convolution",
        f"The first {rows:,} training images of MNIST, all 10,000 test images: share of right "
        "answers. Convolutional: 32, 64 and 128 inducing patches of sides 5, 3 and 3, strides 2, "
        f"2 and 1, learning_rate 0.02, {epochs} epochs, two threads, no augmentation. RBF machine: "
        'C = 10, gamma = "scale".',
        ["machine", "right", "mean log-probability", "CPU seconds of the fit"],
    )
    folder = data_folder()
    if folder is None:
        section.note("left out: set MERCER_DATA to the folder of the data")
        return section
    (X, y), (Z, z) = digits(folder, "train", rows), digits(folder, "test", 10_000)
    convolutional = ConvolutionalDeepKernelMachine(
        learning_rate=0.02, epochs=epochs, n_jobs=2, random_state=0, verbose=True
    )
    machines: dict[str, tuple[Any, Any, Any]] = {
        "ConvolutionalDeepKernelMachine": (convolutional, X, Z),
        "SVC, RBF": (SVC(C=10.0, n_jobs=1), X.reshape(rows, -1), Z.reshape(len(Z), -1)),
    }
    for name, (machine, learnt, asked) in machines.items():
        began = time.process_time()
        machine.fit(learnt, y)
        seconds = time.process_time() - began
        logs = ""
        if name != "SVC, RBF":
            proba = machine.predict_proba(asked)
            logs = f"{np.log(proba[np.arange(len(z)), z]).mean():.3f}"
        section.row(name, f"{100 * machine.score(asked, z):.2f}%", logs, f"{seconds:.1f}")
    return section


if __name__ == "__main__":
    arguments = options(("--epochs", {"type": int, "default": 30}))
    mnist(arguments.quick, arguments.epochs).finish(arguments.write)
