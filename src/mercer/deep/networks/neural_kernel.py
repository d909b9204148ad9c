"""What hybrid neural-kernel networks for classes and for numbers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer.deep.networks.inputs import SCALES, CommonScale
from mercer.estimator import estimator
from mercer.gram import Place
from mercer.kernels import Kernel
from mercer.learners import KernelLearner, Training
from mercer.learners.base import (
    check_count,
    check_flag,
    check_not_negative,
    check_positive,
    different_rows,
    drawn_seed,
)
from mercer.learners.features import DIGITS, different_centres, principal_axes
from mercer.needs_torch import need_torch
from mercer.samples import Samples, plain_rows

RANK = 200  # centres of a kernel on samples that are no vectors, or are compared by it
FEW = 10  # rows that are held back, or none: of fewer the loss is chance
MOST_RATE = 0.003  # highest rate of training
RATE = 0.035  # of which it is this by the root of the number of features, where these are many
SHORT, EPOCHS = 1000, (120, 60)  # passes over fewer rows, and over more
STEPS, FEWEST = 12_000, 10  # steps after which more rows have fewer passes, down to these
BATCH = (16, 128)  # fewest and most rows of a step


class Distinct(NamedTuple):
    """The different rows of a training sample.

    Attributes
    ----------
    F : ndarray of shape (n, d)
        What the first block reads of them, before its scale.
    rows : ndarray of shape (n,)
        Their numbers in the training sample.
    weights : ndarray of shape (n,)
        The weights of all copies of each.
    seed : int
        Seed of what is drawn after them.
    """

    F: np.ndarray
    rows: np.ndarray
    weights: np.ndarray
    seed: int


class Given(NamedTuple):
    """What a network is trained on: inputs (n, d), targets (n, q) and weights (n,)."""

    x: np.ndarray
    Y: np.ndarray
    weights: np.ndarray


#: stores a network: its shape and numbers, and the objectives and held losses of all epochs
Keep = Callable[[dict, dict, list, list], None]


@estimator
class NeuralKernel(KernelLearner):
    """Abstract: blocks of a fully connected layer and explicit kernel features.

    `NeuralKernelClassifier` and `NeuralKernelRegressor` are the estimators; the first one's
    documentation has the formulas.

    Parameters
    ----------
    depth : int >= 1
        How many blocks there are.
    width : int >= 1
        The numbers h of a fully connected layer.
    n_features : int >= 1
        D, frequencies of a feature layer, of which each makes two features, or its arc-cosine
        features.
    layer : Kernel, optional
        The kernel of the feature layers: a radial kernel of a Minkowski distance, such as `RBF`,
        `Laplacian` or `Matern`, or `ArcCosine`. None means ``RBF(0.5)``. Its length scale is
        multiplied by σ, which begins as the median distance of h and is learnt.
    skip : bool
        Whether h goes on beside the features.
    pooling : {"average", "maxout", "convolution"}, optional
        How features at several length scales are made one; None means one scale.
    scales : sequence of float > 0, optional
        Factors of σ for ``pooling``; None means (1, 2, 4).
    kernel : kernel object, name, "precomputed" or callable
        What the first block reads: the columns of vectors with "linear", and else Nyström features
        of this kernel, which may compare samples of any kind.
    rank : int, optional
        The most centres of the Nyström features; None means 200. They are drawn from the rows.
    inputs : {"standard", "ranks"} or None
        Vectors are read as columns of mean 0 and variance 1, as ranks in their columns, which helps
        where some numbers are far out, or as they are.
    alpha : float >= 0
        Penalty: half of ``alpha`` times all squared weights is added to the mean loss.
    epochs : int, optional
        Passes over the rows that are trained on; None means 120 for fewer than 1,000 rows, else 60,
        and beyond 25,000 rows fewer, down to 10, so that training has some 12,000 steps.
    batch_size : int >= 1, optional
        Rows of a step. None means a tenth of the rows, between 16 and 128.
    learning_rate : float > 0, optional
        The highest: it rises for a tenth of the steps and then falls to 0 along a cosine. None
        means 0.035 / √n_features, and at most 0.003.
    validation_fraction : float in [0, 1)
        Part of the rows that is held back. The epoch with the least loss on them is kept. It is 0
        where that would be fewer than 10 rows.
    patience : int >= 1
        Epochs without a better loss of the held rows, after which training ends.
    dtype : {"float32", "float64"}
        Precision of the computations.
    device : str
        "auto" is a GPU with CUDA where torch has one, and else "cpu".
    random_state : int, RandomState or None
        Seed for the weights, the frequencies, the held rows, the batches and the centres.
    verbose : bool
        Whether a line is printed for each epoch.

    Attributes
    ----------
    weights_ : dict of ndarray
        All numbers of the trained network, by name: those of the best epoch.
    network_ : dict
        The shape of the network, arguments of `NeuralKernelNetwork`.
    objective_path_ : ndarray of shape (epochs,)
        The mean of the objective over each epoch.
    validation_path_ : ndarray of shape (epochs,) or (0,)
        The mean loss of the held rows after each epoch.
    input_scale_ : object
        What was learnt to scale the inputs.
    axes_ : ndarray of shape (centres, r)
        The Nyström features of samples are k(x, ``X_fit_``) ``axes_``; not there for vectors alone.
    X_fit_ : encoded samples
        The samples that new ones are compared with.
    """

    depth: int = 2
    _: KW_ONLY
    width: int = 128
    n_features: int = 128
    layer: Any = None
    skip: bool = True
    pooling: str | None = None
    scales: Any = None
    kernel: Any = "linear"
    rank: int | None = None
    inputs: str | None = "standard"
    alpha: float = 1e-5
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    validation_fraction: float = 0.1
    patience: int = 15
    dtype: str = "float32"
    device: str | None = "auto"
    verbose: Any = False

    #: "all" layers, or the "last" one
    trained: ClassVar[str] = "all"
    network_: dict[str, Any] = field(init=False)
    weights_: dict[str, np.ndarray] = field(init=False)

    _pairwise_callable = True
    fitted_by = "weights_"

    @property
    def place(self) -> Place:
        """Where the features of ``kernel`` are computed; ``device`` is that of the network."""
        return Place(self.memory, self.n_jobs)

    def layer_outputs(self, X: Samples) -> list[np.ndarray]:
        """What each block makes of the rows of X, from the lowest block to the highest."""
        check_is_fitted(self)
        torch_side = self._torch_side()
        with torch_side.torch_threads(self.n_jobs):
            network = self._network(torch_side)
            return torch_side.hidden(network, self.network_inputs(X), self.dtype, self.device)

    def _fit_network(self, training: Distinct, Y: np.ndarray, loss: str, codes: Any = None) -> None:
        """Train on targets Y (n, q); rows are held back from each class of ``codes`` (n,)."""
        F, _, w, seed = training
        held = np.zeros(len(F), bool)
        if self.trained == "all":
            held[self._held(np.zeros(len(F), int) if codes is None else codes)] = True
        self.input_scale_ = self._scale().of(F[~held], w[~held])
        shape = self._shape(F.shape[1], Y.shape[1])
        rows = Given(self.input_scale_(F), Y, w)
        self._train(rows, held, shape, loss, np.random.RandomState(seed), self._keep)

    def _shape(self, columns: int, outputs: int) -> dict[str, Any]:
        """The arguments of `NeuralKernelNetwork`."""
        return {
            "in_features": columns, "outputs": outputs, "depth": int(self.depth),
            "width": int(self.width), "layer": self.layer, "n_features": int(self.n_features),
            "scales": None if self.scales is None else tuple(map(float, self.scales)),
            "pooling": self.pooling, "skip": bool(self.skip),
        }  # fmt: skip

    def _train(
        self, given: Given, is_held: np.ndarray, shape: dict[str, Any], loss: str,
        rng: np.random.RandomState, keep: Keep | None = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """The numbers of the network of the best epoch; ``keep`` gets those of each better one."""
        torch_side = self._torch_side()
        with torch_side.torch_threads(self.n_jobs):
            network = torch_side.made(shape, self.dtype, self.device, rng)
            rows, held = (
                torch_side.rows(*(part[chosen] for part in given), self.dtype, self.device)
                for chosen in (~is_held, is_held)
            )
            network.begin(rows.x[: torch_side.ROWS])
            path: list[float] = []
            held_path: list[float] = []
            best: dict[str, np.ndarray] = {}
            if self.trained == "last" and loss == "squared":
                torch_side.ridge_head(network, rows, float(self.alpha))
                best = torch_side.arrays(network)
                if keep is not None:
                    keep(shape, best, path, held_path)
                return best
            epochs = self._epochs(len(rows.x))
            training = torch_side.NetworkTraining(
                epochs, self._batch(len(rows.x)), self._rate(), float(self.alpha),
                torch_side.LOSSES[loss], self.patience, self.trained == "last",
            )  # fmt: skip
            for epoch in training.run(network, rows, held if is_held.any() else None, rng):
                path.append(epoch.objective)
                held_path += [] if epoch.held is None else [epoch.held]
                if self.verbose:
                    said = "" if epoch.held is None else f", loss of held rows {epoch.held:.4f}"
                    start = f"epoch {len(path)} of {epochs}: objective {epoch.objective:.4f}"
                    print(start + said, flush=True)
                if epoch.best:
                    best = torch_side.arrays(network)
                    if keep is not None:
                        keep(shape, best, path, held_path)
                self.objective_path_, self.validation_path_ = np.array(path), np.array(held_path)
        if not best:
            raise ValueError(
                f"learning_rate={self._rate():.3g}: the objective became {path[-1]} in training. "
                "Give a lower learning_rate."
            )
        return best

    def _keep(self, shape: dict, weights: dict, path: list, held_path: list) -> None:
        """All at once: a fit that is cut leaves the network of its best epoch."""
        vars(self).update(
            network_=shape, n_iter_=len(path), objective_path_=np.array(path),
            validation_path_=np.array(held_path), weights_=weights,
        )  # fmt: skip

    # --- what the network reads ------------------------------------------------------------------

    def _distinct(self, training: Training, y: np.ndarray) -> Distinct:
        """The different rows, for targets y (n,) or (n, q) as they were given.

        Their order is that of their hashes: neither the order of the rows nor copies matter.
        """
        X, seed = training.X, drawn_seed(self.random_state)
        rng = np.random.RandomState(seed)
        if self.kernel_.reads.coordinates:
            rows, w = different_rows(X, y, training.weights, seed)
            return Distinct(self._begin_features(X[rows], rng), rows, w, seed)
        F = self._begin_features(X, rng)
        unit = np.abs(F).max(initial=0) or 1.0
        rows, w = different_rows(np.round(F / unit, DIGITS), y, training.weights, seed)
        return Distinct(F[rows], rows, w, seed)

    def _begin_features(self, X: Samples, rng: np.random.RandomState) -> np.ndarray:
        """The features of the training rows, by a kernel between them and some of them."""
        if self.kernel_.linear:
            self.keep_support(X[:1])  # a row, whose precision is that of the answers
            return self._dense(X)
        n = X.shape[0]
        drawn = np.sort(rng.permutation(n)[: self.rank or RANK])
        if self.kernel_.reads.coordinates:
            drawn = np.arange(len(drawn))  # their order is random already
        K = np.asarray(self.gram_between(X[drawn]).dense(), np.float64)
        kept = different_centres(K)
        self.keep_support(X[drawn[kept]])
        self.axes_ = principal_axes(K[np.ix_(kept, kept)])
        return self._features(X)

    def _features(self, X: Any) -> np.ndarray:
        """What the first block reads of encoded samples, before its scale, in float64."""
        if self.kernel_.linear:
            return self._dense(X)
        return np.asarray(self.gram_with_support(X) @ self.axes_, np.float64)

    def _dense(self, X: Any) -> np.ndarray:
        needed = 3 * 8 * X.shape[0] * X.shape[1]
        if not self.place.holds(needed):
            self.place.refuse(needed, f"{X.shape[0]:,} dense rows of {X.shape[1]:,} columns")
        rows = X.toarray() if sp.issparse(X) else plain_rows(X)
        return np.asarray(rows, np.float64)

    def _scale(self) -> Any:
        return SCALES[self.inputs] if self.kernel_.linear else CommonScale

    def _held(self, codes: np.ndarray) -> np.ndarray:
        """Row numbers that are held back: the same part of each class."""
        fraction = float(self.validation_fraction)
        parts = [np.flatnonzero(codes == code) for code in np.unique(codes)]
        held = np.concatenate([part[: int(fraction * len(part))] for part in parts])
        return held[:0] if len(held) < FEW else held

    # --- answers ---------------------------------------------------------------------------------

    def _network_outputs(self, X: Any) -> np.ndarray:
        """Outputs of the network for new samples, (n, q), in float64."""
        check_is_fitted(self)
        torch_side = self._torch_side()
        with torch_side.torch_threads(self.n_jobs):
            network = self._network(torch_side)
            X = self.encode_new(X)
            parts = []
            for start in range(0, X.shape[0], torch_side.ROWS):
                x = self.input_scale_(self._features(X[start : start + torch_side.ROWS]))
                parts.append(torch_side.answers(network, x, self.dtype, self.device))
            return np.concatenate(parts)

    def _network(self, torch_side: Any) -> Any:
        return torch_side.made(self.network_, self.dtype, self.device, 0, self.weights_)

    def to_torch(self) -> Any:
        """The trained network, a `NeuralKernelNetwork`; it reads rows of `network_inputs`."""
        check_is_fitted(self)
        return self._network(self._torch_side())

    def network_inputs(self, X: Samples) -> np.ndarray:
        """What the network reads of the rows of X: scaled columns, or features of k, (q, p)."""
        check_is_fitted(self)
        return self.input_scale_(self._features(self.encode_new(X))).astype(self.dtype)

    def _torch_side(self) -> Any:
        need_torch(type(self).__name__)
        from mercer.deep.networks import training as torch_side

        return torch_side

    def _batch(self, n: int) -> int:
        return self.batch_size or int(np.clip(n // 10, *BATCH))

    def _epochs(self, n: int) -> int:
        if self.epochs is not None or n < SHORT:
            return self.epochs or EPOCHS[0]
        steps = -(-n // self._batch(n))
        return int(np.clip(STEPS // steps, FEWEST, EPOCHS[1]))

    def _rate(self) -> float:
        if self.learning_rate is not None:
            return float(self.learning_rate)
        return min(MOST_RATE, RATE / np.sqrt(self.n_features))

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        for name in ("depth", "width", "n_features", "patience"):
            check_count(name, getattr(self, name), optional=False)
        for name in ("rank", "epochs", "batch_size"):
            check_count(name, getattr(self, name))
        check_not_negative("alpha", self.alpha)
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate)
        check_not_negative("validation_fraction", self.validation_fraction)
        if not self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r}: give a part below 1."
            )
        if self.layer is not None and not isinstance(self.layer, Kernel):
            raise TypeError(
                f"layer={self.layer!r}: give a radial kernel such as RBF(0.5) or Laplacian(), or "
                "ArcCosine(1)."
            )
        self._check_scales()
        check_word("inputs", self.inputs, tuple(SCALES))
        check_word("trained", self.trained, ("all", "last"))
        check_word("dtype", self.dtype, ("float32", "float64"))
        check_flag("skip", self.skip)
        check_flag("verbose", self.verbose)

    def _check_scales(self) -> None:
        """Refuse scales without pooling, and those that are not positive."""
        check_word("pooling", self.pooling, (None, "average", "maxout", "convolution"))
        if self.scales is None:
            return
        if self.pooling is None:
            raise ValueError(
                f'scales={self.scales!r} without pooling: give pooling="average", "maxout" or '
                '"convolution", which make features of several scales one.'
            )
        for scale in self.scales:
            check_positive("scales", scale)


def check_word(name: str, value: object, known: tuple[str | None, ...]) -> None:
    """Raise ValueError if a parameter is none of some words."""
    if not any(value is word or (isinstance(value, str) and value == word) for word in known):
        words = " or ".join("None" if word is None else f'"{word}"' for word in known)
        raise ValueError(f"{name}={value!r}: give {words}.")
