"""What deep kernel learning for numbers and for classes shares."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.deep.networks.latent_targets import LatentTargets
from mercer.deep.networks.neural_kernel import FEW, Distinct, Given, NeuralKernel, check_word
from mercer.estimator import estimator
from mercer.kernels import RBF, Kernel
from mercer.learners.base import check_count

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
        self, distinct: Distinct, Y: np.ndarray, targets: LatentTargets, codes: Any = None
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
