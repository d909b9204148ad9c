"""What draws or hears data, each way in as ``(name, kind, good samples, function of samples)``.

A display is drawn, and its figure closed. What draws a fit alone is given a fit to the samples.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any
from unittest import mock

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.utils.validation import _num_samples

import mercer
from fuzz import fuzz_fields
from hostile.inputs import flat
from mercer import deep, distances, kernels, plots, search, solvers, speech
from mercer.gram import DenseGram
from mercer.learners.metrics import noise_features

Way = tuple[str, str, Any, Callable[[Any], Any]]
RATE = 8_000


def targets(X: Any, classes: int = 2) -> np.ndarray:
    try:
        return np.arange(_num_samples(X)) % classes
    except TypeError:  # what has no length is refused by what reads it
        return np.arange(6) % classes


@cache
def fitted(make: Callable[[], Any], kind: str, columns: int | None = None) -> Any:
    X = fuzz_fields.samples()[kind][:24]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(X if columns is None else X[:, :columns], targets(X))


def one_of(X: Any) -> Any:
    """That one of a list which may be unlike the others, and what is no list as it is."""
    return X[min(3, len(X) - 1)] if isinstance(X, list) and X else X


def drawing(draw: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same without a window, and the figure is closed."""

    def drawn(X: Any) -> Any:
        before = mpl.get_backend()
        plt.switch_backend("agg")
        try:
            for display in np.ravel(np.array(draw(X), object)):
                figure = getattr(display, "figure_", None)
                if figure is not None:
                    figure.canvas.draw()
        finally:
            plt.close("all")
            plt.switch_backend(before)

    return drawn


def page_of(X: Any) -> Any:
    """A map with such a table, and its page."""
    n = len(targets(X))
    display = plots.MapDisplay(np.arange(2.0 * n).reshape(n, 2), X, labels=targets(X))
    with tempfile.TemporaryDirectory() as folder:
        display.write(f"{folder}/map.html")
    return display


def of_models() -> Iterator[Way]:
    """A model that is known, and samples that it is asked about."""
    data = fuzz_fields.samples()
    X, svm, plane = data["vectors"][:12], mercer.SVC, mercer.SVC(gamma=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plane.fit(X[:, :2], targets(X))

    def model(make: Callable[[], Any] = svm, kind: str = "vectors") -> Any:
        return fitted(make, kind)

    pca, ridge, clusters = mercer.KernelPCA, mercer.KernelRidge, mercer.KernelKMeans
    on_vectors: dict[str, Callable[[Any], Any]] = {
        "ClusterDisplay": lambda X: plots.ClusterDisplay.from_estimator(model(clusters), X),
        "EmbeddingDisplay": lambda X: plots.EmbeddingDisplay.from_estimator(
            model(pca), X, targets(X)),
        "GramDisplay": lambda X: plots.GramDisplay.from_estimator(model(), X, targets(X)),
        "InfluenceDisplay": lambda X: plots.InfluenceDisplay.from_estimator(
            model(ridge), X, targets(X), folds=2),
        "MapDisplay": page_of,
        "MarginDisplay": lambda X: plots.MarginDisplay.from_estimator(model(), X, targets(X)),
        "MistakeDisplay": lambda X: plots.MistakeDisplay.from_estimator(
            model(mercer.KernelPerceptron), X, targets(X)),
        "PartialDependenceDisplay": lambda X: plots.PartialDependenceDisplay.from_estimator(
            model(), X, grid=3),
        "RankErrorDisplay": lambda X: plots.RankErrorDisplay.from_estimator(model(pca), X, rank=3),
        "RelevanceDisplay": lambda X: plots.RelevanceDisplay.from_estimator(
            model(), X, targets(X), X, targets(X)),
        "RelianceDisplay": lambda X: plots.RelianceDisplay.from_estimator(
            model(), X, targets(X), repeats=2),
        "SpectrumDisplay": lambda X: plots.SpectrumDisplay.from_estimator(model(pca), X),
    }  # fmt: skip
    for name, draw in on_vectors.items():
        yield f"plots.{name} of a model", "vectors", X, drawing(draw)
    yield (
        "plots.DecisionSurfaceDisplay of a model",
        "vectors",
        X[:, :2],
        drawing(
            lambda X: plots.DecisionSurfaceDisplay.from_estimator(
                plane, X, targets(X), resolution=9
            )
        ),
    )
    by_graph = lambda: mercer.SVC(kernel=kernels.WeisfeilerLehman(1))  # noqa: E731
    yield ("plots.LevelSetDisplay of a distance", "vectors", X[:, :2],
           drawing(lambda X: plots.LevelSetDisplay.measured(
               distances.Minkowski(), X, resolution=9).plot()))  # fmt: skip
    graphs = model(by_graph, "graphs")
    yield (
        "plots.NeighbourhoodDisplay of a model",
        "graphs",
        data["graphs"][:6],
        drawing(lambda X: plots.NeighbourhoodDisplay.from_estimator(graphs, X)),
    )
    yield (
        "plots.GraphDisplay of a model",
        "graphs",
        data["graphs"][:6],
        drawing(lambda X: plots.GraphDisplay.from_estimator(graphs, one_of(X))),
    )
    yield (
        "plots.GraphDisplay, drawn alone",
        "graphs",
        data["graphs"][:6],
        drawing(lambda X: plots.GraphDisplay.of(one_of(X))),
    )
    series = model(lambda: mercer.SVC(kernel=kernels.GlobalAlignment(1.0)), "series")
    yield (
        "plots.StretchDisplay of a model",
        "series",
        data["series"][:6],
        drawing(lambda X: plots.StretchDisplay.from_estimator(series, one_of(X))),
    )
    reader = model(lambda: mercer.SVC(kernel=kernels.Spectrum(2)), "strings")
    yield ("plots.SequenceDisplay of a model", "strings", data["strings"][:2],
           drawing(lambda X: plots.SequenceDisplay.from_estimator(reader, X)))  # fmt: skip
    known = mercer.LSHIndex(distances.Minkowski()).fit(data["vectors"][:24])
    yield (
        "plots.HashingDisplay of queries",
        "vectors",
        X,
        drawing(lambda X: plots.HashingDisplay.from_index(known, X).plot()),
    )
    exact = search.BruteForce(distances.Minkowski()).fit(data["vectors"][:24])
    yield ("plots.RecallTimeDisplay of queries", "vectors", X,
           drawing(lambda X: plots.RecallTimeDisplay.measured(
               {"hashing": known}, X, 2, exact, repeats=1).plot()))  # fmt: skip

    def report(X: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.html")
            plots.save_report(path, model(), X, targets(X), time=0.0)

    yield "plots.save_report of a model", "vectors", X, drawing(report)


def of_fits() -> Iterator[Way]:
    """What is drawn is the fit itself: here of hostile samples."""
    X = fuzz_fields.samples()["vectors"][:12]
    of_fit: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
        "CanonicalCorrelationDisplay": (
            mercer.KernelCCA, plots.CanonicalCorrelationDisplay.from_estimator),
        "KernelWeightsDisplay": (
            mercer.MultipleKernelClassifier, plots.KernelWeightsDisplay.from_estimator),
        "LayerDisplay": (deep.MultilayerKernelMachine, plots.LayerDisplay.from_estimator),
        "LeaveOneOutDisplay": (
            lambda: mercer.KNeighborsClassifier("auto"), plots.LeaveOneOutDisplay.from_estimator),
        "ShapeDisplay": (mercer.AdditiveRegressor, plots.ShapeDisplay.from_estimator),
        "LevelSetDisplay": (
            lambda: mercer.KNeighborsClassifier(2, metric=distances.Mahalanobis()),
            lambda model: plots.LevelSetDisplay.from_estimator(model, None, resolution=9)),
        "half_axes": (
            lambda: mercer.KNeighborsClassifier(2, metric=distances.Mahalanobis()),
            lambda model: plots.half_axes(model.distance_)),
    }  # fmt: skip
    for name, (make, draw) in of_fit.items():
        good = X[:, :2] if name == "LevelSetDisplay" else X
        yield (f"plots.{name} of a fit", "vectors", good, drawing(
            lambda X, make=make, draw=draw: draw(make().fit(X, targets(X)))))  # fmt: skip
    yield ("plots.NoiseFeatureDisplay of a fit", "vectors", X, drawing(
        lambda X: plots.NoiseFeatureDisplay.from_result(
            noise_features(X, targets(X), n_neighbors=2))))  # fmt: skip


def of_numbers() -> Iterator[Way]:
    """Displays of numbers that a user computed."""
    data = fuzz_fields.samples()
    X, K = data["vectors"][:12], data["matrix"][:12, :12]
    of_rows: dict[str, Callable[[Any], Any]] = {
        "CanonicalCorrelationDisplay": lambda X: plots.CanonicalCorrelationDisplay(X).plot(),
        "KernelWeightsDisplay": lambda X: plots.KernelWeightsDisplay(X).plot(),
        "MarginDisplay": lambda X: plots.MarginDisplay.from_values(X, targets(X)).plot(),
        "SpectrumDisplay": lambda X: plots.SpectrumDisplay(X).plot(),
        "NoiseFeatureDisplay": lambda X: plots.NoiseFeatureDisplay([*"abcdefghijkl"], X).plot(),
        "ShapleyDisplay": lambda X: plots.ShapleyDisplay([X, X], [*"abcdefghijkl"], row=0).plot(),
        "StretchDisplay": lambda X: plots.StretchDisplay(X, X, "f", 1.0).plot(),
        "RankErrorDisplay": lambda X: plots.RankErrorDisplay(X, X).plot(),
        "ConvergenceDisplay": lambda X: plots.ConvergenceDisplay.from_solvers(
            {"plain": solvers.ConjugateGradientSolver(0.1, preconditioner=None)},
            DenseGram(K, symmetric=True), X, limits=(1, 2)).plot(),
    }  # fmt: skip
    for name, draw in of_rows.items():
        yield (
            f"plots.{name} of numbers",
            "vectors",
            X[:, :1],
            drawing(lambda X, draw=draw: draw(flat(X))),
        )
    yield (
        "plots.EmbeddingDisplay of numbers",
        "vectors",
        X[:, :2],
        drawing(lambda X: plots.EmbeddingDisplay(X, targets(X)).plot()),
    )
    yield (
        "plots.MapDisplay of points",
        "vectors",
        X[:, :2],
        drawing(lambda X: plots.MapDisplay(X, labels=targets(X)).plot()),
    )
    yield ("plots.DecisionSurfaceDisplay of numbers", "vectors", X[:, :2], drawing(
        lambda X: plots.DecisionSurfaceDisplay(
            np.arange(2), np.arange(2), np.eye(2), points=X).plot()))  # fmt: skip
    of_matrices: dict[str, Callable[[Any], Any]] = {
        "AttentionDisplay": lambda K: plots.AttentionDisplay(K).plot(),
        "ClusterDisplay": lambda K: plots.ClusterDisplay(K, targets(K)).plot(),
        "GramDisplay": lambda K: plots.GramDisplay.from_gram(K, targets(K)).plot(),
        "RankErrorDisplay": lambda K: plots.RankErrorDisplay.from_gram(K).plot(),
        "SpectrumDisplay": lambda K: plots.SpectrumDisplay.from_gram(K).plot(),
        "SpectrogramDisplay": lambda K: plots.SpectrogramDisplay(K, K, K).plot(),
        "LevelSetDisplay": lambda K: plots.LevelSetDisplay(
            np.arange(12), np.arange(12), K, (0.0, 0.0)).plot(),
    }  # fmt: skip
    for name, draw in of_matrices.items():
        yield f"plots.{name} of a matrix", "matrix", K, drawing(draw)


def of_sound() -> Iterator[Way]:
    """Recordings."""
    sound = np.sin(np.arange(4000.0) ** 1.2)
    enhancer = speech.SpeechEnhancer.pretrained()

    def write(x: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            speech.write_audio(os.path.join(folder, "sound.wav"), x)

    def pesq(x: Any) -> float:
        """What Mercer does before it asks the package, which few have."""
        package: Any = ModuleType("pesq")
        package.pesq = lambda rate, clean, estimate, band: float(np.mean(clean + estimate))
        with mock.patch.dict(sys.modules, {"pesq": package}):
            return speech.pesq(x, x, RATE)

    def stream(x: Any) -> Any:
        opened = speech.EnhancerStream(enhancer, RATE)
        return [opened.push(x), opened.close()]

    def scenes(x: Any) -> Any:
        made = speech.make_scenes([x], [x], sample_rate=RATE, scenes=3, seconds=0.5)
        return [*made.noisy, *made.clean]

    for name, call in {
        "si_sdr": lambda x: speech.si_sdr(sound, x), "stoi": lambda x: speech.stoi(x, x, RATE),
        "pesq": pesq, "mix": lambda x: speech.mix(x, sound, 5, 0),
        "write_audio": write, "EnhancerStream": stream, "make_scenes": scenes,
        "SpeechEnhancer, asked": lambda x: enhancer.enhance(x, RATE).samples,
        "SpeechEnhancer, fitted": lambda x: speech.SpeechEnhancer(rank=5, random_state=0).fit(
            [x, sound], [x, sound], sample_rate=RATE).enhance(sound, RATE).samples,
        "SpeechEnhancer, transform": lambda x: enhancer.transform(x, RATE),
    }.items():  # fmt: skip
        yield f"speech.{name}", "sound", sound[:, None], call
    yield ("plots.SpectrogramDisplay of a recording", "sound", sound[:, None], drawing(
        lambda x: plots.SpectrogramDisplay.from_estimator(enhancer, x, RATE)))  # fmt: skip


WAYS = [*of_models(), *of_fits(), *of_numbers(), *of_sound()]
