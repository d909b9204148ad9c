"""Regression and classification by deep kernel learning, and what both share."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer.deep.networks.inputs import (
    DirichletTargets,
    LatentNumbers,
    LatentTargets,
    Standardised,
    log_shares,
)
from mercer.deep.networks.neural_kernel import FEW, Distinct, Given, NeuralKernel, check_word
from mercer.deep.targets import GaussianNumbers
from mercer.estimator import estimator
from mercer.kernels import RBF, Kernel
from mercer.learners.base import (
    OutputClassifier,
    Regressor,
    check_count,
    encode_classes,
    finite_fit,
    finite_values,
)
from mercer.samples import Samples, SamplesLike

CANDIDATES = ("process", "network", "both")
UNSEEN = 0.2  # part of the rows that the network does not see
EXACT = 3000  # most rows of an exact process, of which it keeps a matrix
POINTS = 512  # inducing points for more rows
NUMBER_ROWS = 1500  # whose likelihood the numbers of a kernel have
LEAST = 1e-12  # spread of a code that is constant


class Parts(NamedTuple):
    """Row numbers: what the network sees, and two halves of what it does not."""

    learnt: np.ndarray
    first: np.ndarray
    second: np.ndarray


@estimator
class DeepKernel(NeuralKernel):
    """Abstract: a Gaussian process on the codes of a network, or one of the two alone.

    `DeepKernelRegressor` and `DeepKernelClassifier` are the estimators; the first one's
    documentation has the formulas.

    Parameters
    ----------
    covariance : Kernel, optional
        The kernel of the process: a radial one, such as `RBF`, `Matern` with ν = 0.5, 1.5, 2.5 ...,
        `Laplacian` or `RationalQuadratic`. Length scales of all columns and an amplitude are learnt
        beside its own numbers, which stay. None means ``RBF(0.5)``.
    bottleneck : int >= 1
        The numbers of a code.
    training : {"frozen", "joint"}
        "frozen": the network is trained by its own loss. "joint": then also by the likelihood of a
        process on its codes, for random batches of 256 rows.
    candidates : sequence of "process", "network" and "both"
        Among what is chosen by the likelihood of rows that were held back; one alone is taken.
    n_inducing : int, optional
        Inducing points of the process; as many as rows or more are the exact process. None is exact
        up to 3,000 rows, and else 512.
    """

    _: KW_ONLY
    covariance: Any = None
    bottleneck: int = 8
    training: str = "frozen"
    candidates: Any = CANDIDATES
    n_inducing: int | None = None

    chosen_: str = field(init=False)

    def _fit_deep(
        self,
        distinct: Distinct,
        Y: np.ndarray,
        targets: LatentTargets,
        codes: np.ndarray | None = None,
    ) -> None:
        """Choose by rows that were held back, and fit what was chosen to all rows."""
        F, _, w, seed = distinct
        self.covariance_ = RBF(0.5) if self.covariance is None else self.covariance
        rng = np.random.RandomState(seed)
        parts = self._parts(np.zeros(len(F), int) if codes is None else codes)
        self.input_scale_ = self._scale().of(F[parts.learnt], w[parts.learnt])
        given = Given(self.input_scale_(F), Y, w)
        names = list(self.candidates)
        if len(parts.second) < FEW:  # of fewer rows the likelihood is chance
            names = [next(name for name in CANDIDATES if name in names)]
        shape = {**self._shape(F.shape[1], Y.shape[1]), "bottleneck": int(self.bottleneck)}
        with self._torch_side().torch_threads(self.n_jobs):
            network = {}
            if names != ["process"]:
                network = self._code_network(given, parts, shape, targets, rng)
            self.held_likelihood_ = {}
            if len(names) > 1:
                self.held_likelihood_ = {
                    name: self._held_likelihood(name, given, parts, shape, network, targets, rng)
                    for name in names
                }
            chosen = max(names, key=lambda name: self.held_likelihood_.get(name, 0.0))
            if self.verbose:
                print(f"chosen: {chosen}; likelihoods {self.held_likelihood_}", flush=True)
            self._fit_chosen(chosen, given, parts, shape, network, targets, rng)

    def _parts(self, codes: np.ndarray) -> Parts:
        """The same part of each class is unseen; rows are in a random order already."""
        unseen, first = np.zeros(len(codes), bool), np.zeros(len(codes), bool)
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            count = int(UNSEEN * len(rows))
            unseen[rows[:count]] = True
            first[rows[: count // 2]] = True
        return Parts(*map(np.flatnonzero, (~unseen, first, unseen & ~first)))

    def _code_network(
        self, given: Given, parts: Parts, shape: dict, targets: LatentTargets,
        rng: np.random.RandomState,
    ) -> dict[str, Any]:  # fmt: skip
        """The network of the rows that it sees: its numbers, and mean and spread of its codes."""
        torch_side = self._torch_side()
        seen = Given(*(part[parts.learnt] for part in given))
        held = np.zeros(len(seen.x), bool)
        held[self._held(np.zeros(len(held), int))] = True
        weights = self._train(seen, held, shape, targets.loss, rng)
        network = {"weights": weights, **self._code_scale(shape, weights, seen.x)}
        if self.training == "joint":
            module = torch_side.made(shape, self.dtype, self.device, 0, weights)
            latent, noises = targets.latent(seen.Y)
            rows = torch_side.seen(seen.x, latent, noises, seen.weights, self.device)
            scale = [rows.x.new_tensor(network[name]) for name in ("centre", "spread")]
            codes = rows.x.new_tensor(self._codes(shape, network, seen.x))
            process = torch_side.RadialProcess.begin(self.covariance_, codes)
            torch_side.learn_jointly(module, process, rows, *scale, rng)
            weights = torch_side.arrays(module)
            network = {"weights": weights, **self._code_scale(shape, weights, seen.x)}
        return network

    def _code_scale(self, shape: dict, weights: dict, x: np.ndarray) -> dict[str, np.ndarray]:
        plain = {"weights": weights, "centre": np.zeros(1), "spread": np.ones(1)}
        codes = self._codes(shape, plain, x)
        spread = codes.std(axis=0)
        return {"centre": codes.mean(axis=0), "spread": np.where(spread > LEAST, spread, 1.0)}

    def _codes(self, shape: dict, network: dict, x: np.ndarray) -> np.ndarray:
        torch_side = self._torch_side()
        module = torch_side.made(shape, self.dtype, self.device, 0, network["weights"])
        codes = torch_side.codes(module, x, self.dtype, self.device)
        return (codes - network["centre"]) / network["spread"]

    def _network_answers(self, shape: dict, weights: dict, x: np.ndarray) -> np.ndarray:
        torch_side = self._torch_side()
        module = torch_side.made(shape, self.dtype, self.device, 0, weights)
        return torch_side.answers(module, x, self.dtype, self.device)

    def _held_likelihood(
        self, name: str, given: Given, parts: Parts, shape: dict, network: dict,
        targets: LatentTargets, rng: np.random.RandomState,
    ) -> float:  # fmt: skip
        """The mean log-likelihood of the second half of the unseen rows, after all others."""
        asked = Given(*(part[parts.second] for part in given))
        if name == "network":
            first = Given(*(part[parts.first] for part in given))
            mean = self._network_answers(shape, network["weights"], asked.x)
            noise = self._noise_of_network(first, shape, network["weights"], targets)
            variance = np.zeros_like(mean) + noise
        else:
            known = np.concatenate([parts.learnt, parts.first])
            # a process on the columns has seen none of them; codes are too good where they were
            # learnt, so that the numbers are learnt on rows that the network has not seen
            numbers = known if name == "process" else parts.first
            x = given.x if name == "process" else self._codes(shape, network, given.x)
            posterior = self._process(x, given, known, numbers, targets, rng)
            mean, variance, noise = self._process_answers(posterior, x[parts.second])
            variance = variance + (0.0 if targets.latent(asked.Y)[1] is not None else noise)
        return float(np.average(
            targets.log_density(mean, variance, asked.Y), weights=asked.weights
        ))  # fmt: skip

    def _noise_of_network(
        self, given: Given, shape: dict, weights: dict, targets: LatentTargets
    ) -> float:
        """The mean squared error of unseen rows; 0 for classes."""
        if targets.latent(given.Y)[1] is not None:
            return 0.0
        errors = (given.Y - self._network_answers(shape, weights, given.x)) ** 2
        return max(float(np.average(errors.mean(axis=1), weights=given.weights)), LEAST)

    def _process(
        self, x: np.ndarray, given: Given, known: np.ndarray, numbers: np.ndarray,
        targets: LatentTargets, rng: np.random.RandomState,
    ) -> Any:  # fmt: skip
        """A process that has seen some rows; its numbers are of the likelihood of others."""
        torch_side = self._torch_side()
        latent, noises = targets.latent(given.Y)
        self.latent_mean_ = np.zeros(latent.shape[1]) if noises is None else latent.mean(axis=0)
        rows = torch_side.seen(x, latent - self.latent_mean_, noises, given.weights, self.device)
        process = torch_side.RadialProcess.begin(self.covariance_, rows.x)
        process = process.learnt(rows.part(rng.permutation(numbers)[:NUMBER_ROWS]))
        seen, count = rows.part(known), self.n_inducing
        exact = len(known) <= (EXACT if count is None else count)
        points = seen.x if exact else process.chosen_points(seen.x, count or POINTS)
        try:
            return process.conditioned(seen, points)
        except torch_side.LinAlgError as error:
            raise ValueError(
                f"covariance={self.covariance!r}: the matrix of the process has no Cholesky factor "
                f"({error}). Give a rougher kernel, such as Matern(1.5)."
            ) from error

    def _process_answers(
        self, posterior: Any, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Means and variances at rows x, and the variance of the noise."""
        mean, variance = self._torch_side().moments(posterior, x, self.device)
        return mean + self.latent_mean_, variance, float(posterior.process.numbers.noise.exp())

    def _fit_chosen(
        self, name: str, given: Given, parts: Parts, shape: dict, network: dict,
        targets: LatentTargets, rng: np.random.RandomState,
    ) -> None:  # fmt: skip
        """Fit the candidate that was chosen to all rows, and keep its arrays."""
        every = np.arange(len(given.x))
        unseen = np.concatenate([parts.first, parts.second])
        self.network_, self.weights_, self.process_, self.noise_ = shape, {}, {}, 0.0
        if name == "network":
            rest = Given(*(part[unseen] for part in given))
            if len(unseen):
                self.noise_ = self._noise_of_network(rest, shape, network["weights"], targets)
            held = np.zeros(len(every), bool)
            held[self._held(np.zeros(len(every), int))] = True
            self.weights_ = self._train(given, held, shape, targets.loss, rng)
        else:
            x, numbers = given.x, every
            if name == "both":
                self.weights_ = network["weights"]
                self.code_mean_, self.code_scale_ = network["centre"], network["spread"]
                x, numbers = self._codes(shape, network, given.x), unseen if len(unseen) else every
            posterior = self._process(x, given, every, numbers, targets, rng)
            self.process_ = posterior.arrays()
            self.noise_ = float(posterior.process.numbers.noise.exp())
        self.chosen_ = name

    def _moments(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances of the outputs for new samples, (n, q), without noise; by batches."""
        check_is_fitted(self)
        torch_side = self._torch_side()
        X = self.encode_new(X)
        posterior = None
        with torch_side.torch_threads(self.n_jobs):
            if self.process_:
                posterior = torch_side.Posterior.restored(
                    self.covariance_, self.process_, self.device
                )
            parts = []
            for start in range(0, X.shape[0], torch_side.ROWS):
                x = self.input_scale_(self._features(X[start : start + torch_side.ROWS]))
                parts.append(self._moments_of(posterior, x))
        means, variances = zip(*parts)
        return np.concatenate(means), np.concatenate(variances)

    def _moments_of(self, posterior: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The means and the variances of the outputs for rows x."""
        if self.chosen_ == "network":
            mean = self._network_answers(self.network_, self.weights_, x)
            return mean, np.zeros_like(mean)
        if self.chosen_ == "both":
            network = {
                "weights": self.weights_, "centre": self.code_mean_, "spread": self.code_scale_,
            }  # fmt: skip
            x = self._codes(self.network_, network, x)
        mean, variance, _ = self._process_answers(posterior, x)
        return mean, variance

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        super()._check_parameters()
        check_count("bottleneck", self.bottleneck, optional=False)
        check_count("n_inducing", self.n_inducing)
        check_word("training", self.training, ("frozen", "joint"))
        names = [self.candidates] if isinstance(self.candidates, str) else list(self.candidates)
        if not names or isinstance(self.candidates, str):
            raise ValueError(
                f'candidates={self.candidates!r}: give a list, such as ["process", "both"].'
            )
        for name in names:
            check_word("candidates", name, CANDIDATES)
        if self.covariance is not None and not isinstance(self.covariance, Kernel):
            raise TypeError(
                f"covariance={self.covariance!r}: give a radial kernel such as Matern(2.5)."
            )
        if self.covariance is not None:
            self._torch_side().check_process_kernel(self.covariance)


@estimator
class DeepKernelClassifier(OutputClassifier, DeepKernel):
    r"""Classification by a Gaussian process on what a network makes of the samples, by a process on
    the columns, or by the network: as `DeepKernelRegressor`, for classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    chosen_, held_likelihood_, process_, code_mean_, code_scale_, latent_mean_, noise_
        The same as for `DeepKernelRegressor`; the likelihood is the log-probability of the class.

    Notes
    -----
    The process has an output for each class. Its targets are logarithms of Gamma variables whose
    shares have a Dirichlet distribution, with Gaussian noise of known size, so that it is
    conditioned as for numbers. Probabilities are the mean of the softmax over 128 draws of the
    outputs, the same draws for each row.

    References
    ----------
    Milios, Camoriano, Michiardi, Rosasco & Filippone, "Dirichlet-based Gaussian processes for
    large-scale calibrated classification", NeurIPS 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.deep import DeepKernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DeepKernelClassifier(n_jobs=1, epochs=40, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9), model.predict_proba(X[:4]).shape
    (True, (4, 3))
    """

    _: KW_ONLY

    fitted_by = "chosen_"

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike) -> Self:
        """Fit to samples X (n) and classes y (n)."""
        self._check_parameters()
        training = self.make_training(X, y, numeric=False)
        classes, codes = encode_classes(column_or_1d(training.y, warn=True))
        self.classes_ = classes
        distinct = self._distinct(training, codes)
        codes = codes[distinct.rows]
        columns = [1] if len(classes) == 2 else range(len(classes))
        Y = np.where(codes[:, None] == np.array(columns), 1.0, -1.0)
        self._fit_deep(distinct, Y, DirichletTargets(), codes)
        return self

    @finite_values
    def _log_shares(self, X: Samples) -> np.ndarray:
        return log_shares(*self._moments(X))

    def _outputs(self, X: Samples) -> np.ndarray:
        logs = self._log_shares(X)
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (n, n_classes)."""
        shares = np.exp(self._log_shares(X))
        return shares / shares.sum(axis=1, keepdims=True)


@estimator
class DeepKernelRegressor(MultiOutputMixin, Regressor, DeepKernel, GaussianNumbers):
    r"""Regression by a Gaussian process on what a network makes of the samples, with the covariance

    .. math:: a\, k(z(x) / \ell, z(x') / \ell)

    for codes z of a hybrid network, length scales ℓ of their numbers and an amplitude a; or by a
    process on the columns, or by the network, whichever makes rows that were held back the
    likeliest.

    Runs on torch, which ``pip install "mercer[torch]"`` installs. It is another machine than
    `DeepKernelMachineRegressor`, whose layers are Gram matrices.

    Attributes
    ----------
    chosen_ : {"process", "network", "both"}
        What was chosen.
    held_likelihood_ : dict
        The mean log-likelihood of held rows by each candidate, for y as it was given; empty where
        there were too few rows, or one candidate, to choose.
    noise_ : float
        The variance of the noise, in units of the variance of y.
    process_ : dict of ndarray
        The numbers of the process, by name: logarithms of the ``scales``, the ``amplitude`` and the
        ``noise``, the ``points``, the ``weights`` of the mean and the ``roots`` of the variance.
    code_mean_, code_scale_ : ndarray of shape (bottleneck,)
        From where and in which unit codes are measured, with "both".
    latent_mean_ : ndarray of shape (outputs,)
        The mean of the process.
    y_mean_, y_scale_ : ndarray of shape (outputs,)
        Mean and standard deviation of the targets.

    Notes
    -----
    To learn the network and the process together by the likelihood of all rows overfits: the
    network makes the codes of the training rows so good that the process takes the noise for too
    small. Here the network sees four fifths of the rows. What it makes of the others is as good as
    what it makes of new rows, so that their likelihood gives the numbers of the process, which is
    then conditioned on all rows. To choose, half of the unseen rows give the numbers and the other
    half is predicted.

    A fit takes O(n³) operations up to 3,000 rows, and with m inducing points O(n m²) for more; a
    prediction reads rows by batches, so that its memory does not grow with them.

    References
    ----------
    Wilson, Hu, Salakhutdinov & Xing, "Deep kernel learning", AISTATS 2016.
    Ober, Rasmussen & van der Wilk, "The promises and pitfalls of deep kernel learning", UAI 2021.
    Titsias, "Variational learning of inducing variables in sparse Gaussian processes", AISTATS
    2009.

    Examples
    --------
    >>> from mercer.deep import DeepKernelRegressor
    >>> X = np.linspace(-3, 3, 120)[:, None]
    >>> y = np.abs(X[:, 0])
    >>> model = DeepKernelRegressor(n_jobs=1, epochs=40, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[-1.0], [20.0]], return_std=True)
    >>> bool(abs(mean[0] - 1) < 0.1), mean.shape == std.shape, sorted(model.held_likelihood_)
    (True, True, ['both', 'network', 'process'])
    """

    _: KW_ONLY

    fitted_by = "chosen_"

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets)."""
        self._check_parameters()
        training = self.make_training(X, y)
        distinct = self._distinct(training, training.y)
        Y = training.y[distinct.rows].reshape(len(distinct.rows), -1).astype(np.float64)
        scale = Standardised.of(Y, distinct.weights)
        self.y_mean_, self.y_scale_ = scale.mean * scale.unit, scale.spread * scale.unit
        self.one_target_ = training.y.ndim == 1
        self._fit_deep(distinct, scale(Y), LatentNumbers())
        unit = float(np.log(self.y_scale_).sum())
        self.held_likelihood_ = {k: v - unit for k, v in self.held_likelihood_.items()}
        return self
