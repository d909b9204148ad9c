"""MNIST digits on random backgrounds: a multilayer kernel machine beside machines of one layer.

Which step of the machine helps is seen by leaving out selection, width and layers in turn.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from harness import Section, data_folder, options
from mercer import SVC, KNeighborsClassifier, LargeMarginNeighbours
from mercer.deep import MultilayerKernelMachine
from mercer.kernels import RBF, ArcCosine

TRAIN, HELD, TEST = 10_000, 2000, 10_000
LAYERS = 4
KERNELS = {
    "arc-cosine, degree 0": ArcCosine(0),
    "arc-cosine, degree 1": ArcCosine(1),
    "RBF, median width": RBF("median"),
}
LEARNERS = {"k-NN": KNeighborsClassifier(5), "SVC(C=10)": SVC(C=10.0)}
MEMORY = "4GB"


def _bytes(path: Path, offset: int) -> np.ndarray:
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=offset)


def noisy_digits(folder: Path, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The first of all 70,000 digits in random order, with noise from 0 to 255 behind them."""
    parts = ("train", "test")
    images = [_bytes(folder / f"images/mnist_{p}_images.idx.gz", 16) for p in parts]
    labels = [_bytes(folder / f"images/mnist_{p}_labels.idx.gz", 8) for p in parts]
    X, y = np.concatenate(images).reshape(-1, 784), np.concatenate(labels)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(X))[:rows]
    X, y = X[chosen], y[chosen]
    noise = rng.integers(0, 256, X.shape, dtype=np.uint8)
    return np.maximum(X, noise).astype(np.float32) / 255, y


class Task:
    """Rows to learn from, of which the last are for choices, and rows to test on."""

    def __init__(self, X: np.ndarray, y: np.ndarray, train: int, held: int):
        learnt = train + held
        self.first, self.held, self.whole = slice(train), slice(train, learnt), slice(learnt)
        self.X, self.y = X[self.whole], y[self.whole]
        self.test, self.test_y = X[learnt:], y[learnt:]
        self.spread = 1 / (X.shape[1] * float(self.X.var()))

    def error(self, model: Any, X: np.ndarray | None = None) -> float:
        return float(np.mean(model.predict(self.test if X is None else X) != self.test_y))

    def best(self, models: Iterable[Any]) -> tuple[Any, float]:
        """The model with the fewest errors on the rows held back, fitted to them too."""
        judged = []
        for model in models:
            fitted = clone(model).fit(self.X[self.first], self.y[self.first])
            wrong = fitted.predict(self.X[self.held]) != self.y[self.held]
            judged.append((float(np.mean(wrong)), len(judged), model))
        error, _, model = min(judged)
        return clone(model).fit(self.X, self.y), error


def percent(error: float | None) -> str:
    return "" if error is None else f"{100 * error:.2f}"


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def peers(task: Task, section: Section, quick: bool) -> dict[str, float]:
    """Machines of one layer, each with the parameters that are best on the rows held back."""
    gammas = [0.5, 1.0] if quick else [0.25, 0.5, 1.0, 2.0]
    depths = (1, 3)
    widths = [10, 20, 30, 40, 60, 80, 120]
    groups = {
        "SVM, RBF": [SVC(C=c, gamma=g * task.spread) for g in gammas for c in (1.0, 10.0)],
        **{
            f"SVM, arc-cosine, degree {n}": [
                SVC(C=10.0, kernel=ArcCosine(n, depth).normalised()) for depth in depths
            ]
            for n in (0, 1, 2)
        },
        "PCA + k-NN": [
            make_pipeline(PCA(w, random_state=0), KNeighborsClassifier(5)) for w in widths
        ],
        "PCA + SVM, RBF": [
            make_pipeline(PCA(w, random_state=0), SVC(C=10.0)) for w in (20, 40, 80)
        ],
    }
    found = {}
    for name, models in groups.items():
        (model, held), seconds = timed(lambda models=models: task.best(models))
        found[name] = task.error(model)
        section.row(name, "", "", "", percent(held), "", percent(found[name]), f"{seconds:.0f}")
    return found


def layers(task: Task, section: Section, name: str, machine: Any, held: float) -> list[float]:
    """Errors after each layer of a machine, of k-NN and of support vectors on its features."""
    machine.set_params(validation=held, learner="neighbours", memory=MEMORY, random_state=0)
    _, seconds = timed(lambda: machine.fit(task.X, task.y))
    errors = []
    for number, layer in enumerate(machine.layers_, start=1):
        A, B = (machine.transform(X, layer=number) for X in (task.X, task.test))
        found = [task.error(clone(g).fit(A, task.y), B) for g in LEARNERS.values()]
        errors.append(found[1])
        section.row(
            name, number, layer.ranking, layer.width, percent(layer.validation_error),
            *(percent(e) for e in found), f"{seconds:.0f}" if number == 1 else "",
        )  # fmt: skip
    return errors


def main() -> None:
    args = options()
    folder = data_folder()
    if folder is None:
        print("multilayer: left out, as MERCER_DATA names no folder of data")
        return
    train, held, test = (2000, 500, 2000) if args.quick else (TRAIN, HELD, TEST)
    task = Task(*noisy_digits(folder, train + held + test), train, held)
    section = Section(
        "multilayer",
        f"MNIST digits over noise (the larger of both in each pixel): {train:,} rows to learn "
        f"from, {held:,} for choices, after which all are fitted to both, {test:,} others for the "
        "test. Errors in %. Layers are those of one machine, whose widths and rankings are chosen "
        "one after the other.",
        ["machine", "layer", "ranking", "width", "validation", "k-NN", "SVM", "seconds"],
    )
    flat = peers(task, section, args.quick)
    share = held / (train + held)
    deep = {}
    for name, kernel in KERNELS.items():
        machine = MultilayerKernelMachine(LAYERS, kernel=kernel)
        deep[name] = layers(task, section, f"multilayer, {name}", machine, share)
    best = min(deep, key=lambda name: min(deep[name]))
    depth = int(np.argmin(deep[best])) + 1
    for ranking in ("information", "variance", "nearest_information"):
        machine = MultilayerKernelMachine(3, kernel=KERNELS[best], ranking=ranking)
        layers(task, section, f"{best}, by {ranking}", machine, share)
    machine = MultilayerKernelMachine(3, kernel=KERNELS[best], width=None, ranking="variance")
    layers(task, section, f"{best}, all 200 components", machine, share)
    machine = MultilayerKernelMachine(depth, kernel=KERNELS[best], random_state=0, memory=MEMORY)
    machine.set_params(validation=share, learner="neighbours").fit(task.X, task.y)
    A, B = machine.transform(task.X), machine.transform(task.test)
    scale = float(np.sqrt(np.square(A).sum(axis=1).mean()))
    metric = make_pipeline(LargeMarginNeighbours(random_state=0), KNeighborsClassifier(5))
    metric, seconds = timed(lambda: metric.fit(A / scale, task.y))
    error = task.error(metric, B / scale)
    section.row(f"{best}, large margins", depth, "", "", "", percent(error), "", f"{seconds:.0f}")
    gap = flat["SVM, RBF"] - min(deep[best])
    section.note(
        f"best: {best}, {depth} layers, {percent(min(deep[best]))} %, {100 * gap:.1f} points below "
        f"the RBF SVM's {percent(flat['SVM, RBF'])} % (4 were wanted)"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
