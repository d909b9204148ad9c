"""Processor time of fits and answers on equal rows, and on few different ones, beside others.

A ratio above 2 is marked. ``python benchmarks/equal_rows.py [rows] [name]``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer
from mercer import search
from mercer.distances import Minkowski
from mercer.kernels import RBF

LEAST = 0.01  # seconds, below which a time is noise


def predicted(model: Any, Z: Any) -> Any:
    return model.predict(Z)


def found(index: Any, Z: Any) -> Any:
    return index.query(Z, 5)


def transformed(model: Any, Z: Any) -> Any:
    return model.transform(Z)


def nothing(model: Any, Z: Any) -> None:
    pass


CASES: dict[str, tuple[Callable[[], Any], str, Callable[[Any, Any], Any]]] = {
    "BruteForce": (lambda: search.BruteForce(Minkowski()), "", found),
    "KDTree": (lambda: search.KDTree(Minkowski()), "", found),
    "MetricTree": (lambda: search.MetricTree(Minkowski()), "", found),
    "LSHIndex": (lambda: mercer.LSHIndex(Minkowski()), "", found),
    "KNeighborsClassifier": (lambda: mercer.KNeighborsClassifier(), "classes", predicted),
    "RadiusNeighborsClassifier": (
        lambda: mercer.RadiusNeighborsClassifier(0.3, outlier_label=0), "classes", predicted),
    "RadiusNeighborsRegressor": (
        lambda: mercer.RadiusNeighborsRegressor(0.3, weights="distance"), "numbers", predicted),
    "LocalOutlierFactor": (lambda: mercer.LocalOutlierFactor(), "", nothing),
    "NeighbourGaussianProcess": (
        lambda: mercer.NeighbourGaussianProcess(16), "numbers", predicted),
    "NadarayaWatson": (lambda: mercer.NadarayaWatson(), "numbers", predicted),
    "Stolp": (lambda: mercer.Stolp(3), "classes", nothing),
    "SVC": (lambda: mercer.SVC(), "classes", predicted),
    "NuSVC": (lambda: mercer.NuSVC(nu=0.3), "classes", predicted),
    "SVR": (lambda: mercer.SVR(), "numbers", predicted),
    "NuSVR": (lambda: mercer.NuSVR(), "numbers", predicted),
    "OneClassSVM": (lambda: mercer.OneClassSVM(), "", predicted),
    "KernelRidge": (lambda: mercer.KernelRidge(kernel=RBF("scale")), "numbers", predicted),
    "KernelLogisticRegression": (
        lambda: mercer.KernelLogisticRegression(gamma="scale"), "classes", predicted),
    "MultipleKernelRegressor": (
        lambda: mercer.MultipleKernelRegressor([RBF(0.1), RBF(1.0)]), "numbers", predicted),
    "KernelPCA": (lambda: mercer.KernelPCA(3, kernel=RBF(1.0)), "", transformed),
    "KernelKMeans": (lambda: mercer.KernelKMeans(3, random_state=0), "", predicted),
    "SpectralClustering": (lambda: mercer.SpectralClustering(3, random_state=0), "", nothing),
}  # fmt: skip


def seconds(name: str, X: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    make, target, ask = CASES[name]
    numbers = np.random.default_rng(1).normal(size=len(X))
    y = {"classes": classes, "numbers": numbers}.get(target)
    model, start = make(), time.process_time()
    model.fit(X) if y is None else model.fit(X, y)
    middle = time.process_time()
    ask(model, X)
    return middle - start, time.process_time() - middle


def main(n: int = 2000, only: str = "") -> None:
    X = np.random.default_rng(0).normal(size=(n, 3))
    kinds = {
        "equal": np.repeat(X[:1], n, axis=0),
        "five different": X[np.arange(n) % 5],
        "half equal": np.where(np.arange(n)[:, None] % 2, X, X[0]),
    }
    classes = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)  # of the different rows
    print(f"{n:,} rows; seconds of the processor for fit and answers")
    for name in (name for name in CASES if only in name):
        seconds(name, X, classes)  # what is loaded at first use
        usual = seconds(name, X, classes)
        for kind, rows in kinds.items():
            try:
                other = seconds(name, rows, classes)
            except ValueError as error:
                print(f"  {name:28} {kind:15} refused: {str(error)[:50]}")
                continue
            ratios = [b / max(a, LEAST) for a, b in zip(usual, other)]
            mark = "  <-- above 2" if max(ratios) > 2 else ""
            times = " ".join(f"{a:7.3f} -> {b:7.3f}" for a, b in zip(usual, other))
            print(f"  {name:28} {kind:15} {times}  ratio {max(ratios):.1f}{mark}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*(int(a) if a.isdigit() else a for a in sys.argv[1:]))
