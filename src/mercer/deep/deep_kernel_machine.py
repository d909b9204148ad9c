"""What deep kernel machines for regression and for classification share."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils import check_random_state

from mercer.deep.ascent import DeepAscent, DeepState
from mercer.deep.objective import DeepObjective, ExactObjective, InducingObjective
from mercer.deep.propagation import CANDIDATES, LayerPropagation, pivots
from mercer.deep.targets import Targets
from mercer.estimator import estimator
from mercer.kernels import RBF, Layer
from mercer.learners import KernelLearner, Training
from mercer.learners.base import LIMITS, check_count, check_not_negative, check_positive, is_auto
from mercer.persistence import fields, whole
from mercer.solvers import Result
from mercer.threads import blas_limit, raise_if_stopped

# The unit in which a deep kernel machine measures its samples: the length scale of its first
# layer, chosen before any Gram matrix is learnt.


STARTS = (-6.0, -4.0, -2.0, 0.0, 2.0, 4.0)  # logarithms: the likelihood may have several maxima
WITHIN = 0.05  # error of the logarithm
GAIN = 2.0  # gain of log-likelihood: one more parameter brings less by chance (χ², 95 %)


def likeliest_scale(objective: DeepObjective, noise: float) -> float:
    """A factor of G_0 with the largest likelihood of the infinitely wide network.

    Its Gram matrices follow from G_0, so that only the scale, the noise and the amplitude are left:
    it is the marginal likelihood of a Gaussian process (Rasmussen & Williams, "Gaussian processes
    for machine learning", 2006, chapter 5). Some 15 of its values are computed. Where little is
    gained the factor is 1, as for layers whose outputs are as many times larger as the inputs.
    """

    def cost(log_scale: float) -> float:
        raise_if_stopped()
        at = objective.scaled(float(np.exp(log_scale)))
        try:
            value = at.best_likelihood(at.start(), noise)
        except np.linalg.LinAlgError:
            return np.inf
        return -value if np.isfinite(value) else np.inf

    costs = {start: cost(start) for start in STARTS}
    best = min(STARTS, key=lambda start: costs[start])
    found = minimize_scalar(
        cost, bounds=(best - 2, best + 2), method="bounded", options={"xatol": WITHIN}
    )
    least, log_scale = min((costs[best], best), (found.fun, found.x))
    return 1.0 if costs[0.0] - least <= GAIN else float(np.exp(log_scale))


ROWS = 2048  # samples that go through the layers at a time
INDEFINITE = 1e-6  # part of the largest eigenvalue, below which a negative one is rounding


class FitProducts(NamedTuple):
    """The inner products that a fit reads, in units of ``scale_``.

    Attributes
    ----------
    G0 : ndarray of shape (m, m)
        Gram matrix of the inducing points.
    C0, g0 : ndarray of shape (n, m), (n,), or None
        Kernel of all samples with the inducing points and with themselves; None if both are one.
    """

    G0: np.ndarray
    C0: np.ndarray | None = None
    g0: np.ndarray | None = None


@fields(inducing_=whole())
@estimator
class DeepKernelMachine(KernelLearner):
    r"""Abstract: Gram matrices as parameters, layer by layer.

    `DeepKernelMachineRegressor` and `DeepKernelMachineClassifier` are the machines; the first one's
    documentation has the formulas.

    Parameters
    ----------
    depth : int >= 1
        L, the Gram matrices that are learnt.
    layer : Layer or list of depth + 1 of these, optional
        f, a kernel of `mercer.kernels` that is a function of inner products and has derivatives:
        `RBF`, `ArcCosine` of degree 1 or 2, `NormalisedGaussian`, `RationalQuadratic`,
        `Polynomial`, `Linear`; None means RBF(0.5).
    dof : float > 0 or list of depth of these, optional
        ν, how strongly a layer is held to its kernel. Compare it with the number of rows: None
        means n, which stays near the infinitely wide network. Fractions of n learn more, and
        may learn noise: choose it by `KernelSearchCV`.
    kernel : kernel object, name, "precomputed" or callable
        Kernel of any kind of samples. :math:`G_0` is divided by the mean of k(x, x); with "linear"
        and standardised columns it is X Xᵀ / d.
    input_scale : float > 0 or "auto"
        What :math:`G_0` is multiplied by. For the first layer RBF(γ) it is an inverse squared
        length scale. "auto" is that of the infinitely wide network with the largest likelihood.
    n_inducing : int, optional
        Inducing points m; as many as rows or more mean the exact machine. None is exact up to
        1,000 rows where the matrices fit ``memory``, and else 200, or fewer where it holds fewer.
    jitter : float >= 0
        Added to the diagonal of each kernel matrix, whose entries are near 1.
    tol : float
        Stop when the relative gradient is not larger.
    max_iter : int
        Most steps.
    random_state : int, RandomState or None
        Seed of the rows among which the inducing points are chosen.

    Attributes
    ----------
    grams_ : ndarray of shape (depth + 1, m, m)
        :math:`G_0, \ldots, G_L` of the inducing points, or of all training rows.
    inducing_ : ndarray of shape (m,)
        Their row numbers.
    input_scale_ : float
    dof_ : ndarray of shape (depth,)
        ν.
    objective_ : float
    objective_path_ : ndarray of shape (steps + 1,)
        After each step; it never falls.
    gradient_norm_ : float
        The certificate: the largest
        :math:`2 \|H^\top (\partial / \partial G_l) H\|_F / (ν_l \sqrt m)`, with
        :math:`G_l = H H^\top`. It is 0 at a stationary point.
    n_iter_ : int
    coef_, covariance_ : ndarray of shape (m, outputs), (m, m)
        Mean and covariance (in units of a) of the outputs' weights on the whitened last layer.
    scale_ : float
        The mean of k(x, x).
    X_fit_ : encoded samples
        The samples that new ones are compared with.
    solver_, gram_ : str
        "exact" or "inducing", and a description of the Gram matrix.
    """

    depth: int = 2
    _: KW_ONLY
    kernel: Any = "linear"
    layer: Any = None
    dof: Any = None
    input_scale: Any = "auto"
    n_inducing: int | None = None
    jitter: float = 1e-4
    tol: float = 1e-3
    max_iter: int = 500

    _pairwise_callable = True

    def _fit_layers(self, training: Training, targets: Targets, noise: float) -> Result:
        """All that predictions need, except the units of y."""
        layers, n = self._layers(), training.X.shape[0]
        self.dof_ = self._degrees(n)
        with blas_limit(n):
            samples = self._samples(training, layers[0])
        problem = (samples.G0, layers, self.dof_, targets, float(self.jitter))
        if samples.C0 is None or samples.g0 is None:
            objective: DeepObjective = ExactObjective(*problem)
        else:
            objective = InducingObjective(*problem, samples.C0, samples.g0, ROWS, self.n_jobs)
        with blas_limit(len(samples.G0)):  # our threads share the other samples
            try:
                learnt = isinstance(self.input_scale, str)
                scale = likeliest_scale(objective, noise) if learnt else float(self.input_scale)
                objective = objective.scaled(scale)
                state = DeepAscent(self.tol, self.max_iter).solve(objective, noise)
                self._keep(objective, state, scale)
            except np.linalg.LinAlgError as error:
                raise ValueError(
                    f"jitter={self.jitter!r}: a kernel matrix of the layers is singular ({error}). "
                    "Give a larger jitter, such as 1e-4, or remove duplicate samples."
                ) from error
        self.keep_support(training.X[self.inducing_])
        return Result(
            self.coef_, objective=state.value, gap=state.gradient, iterations=self.n_iter_,
            converged=state.gradient <= self.tol, reason=state.reason,
            solver="DeepAscent", certificate="relative gradient",
        )  # fmt: skip

    def _keep(self, objective: DeepObjective, state: DeepState, scale: float) -> None:
        """The Gram matrices, and the outputs' distribution at the inducing points."""
        # outputs are T b, where `LayerPropagation` gives T of new samples
        outputs = objective.outputs(state.grams, state.noise)
        self.coef_, self.covariance_ = outputs.mean, outputs.covariance
        self.amplitude_ = float(outputs.amplitude)
        self.noise_ = self.amplitude_ * float(state.noise)
        self.input_scale_ = float(scale)
        self.objective_, self.gradient_norm_ = float(state.value), float(state.gradient)
        self.objective_path_ = np.array(state.path)
        self.n_iter_ = len(state.path) - 1
        self.grams_ = np.array([objective.G0, *state.grams])

    def _samples(self, training: Training, first: Layer) -> FitProducts:
        """G_0, scaled so that k(x, x) is 1 on average, and the rest where points are induced."""
        X, limits = training.X, LIMITS["deep kernel machine"]
        n = X.shape[0]
        wanted = n if self.n_inducing is None else min(self.n_inducing, n)
        matrices = (
            self._matrices() * 8 // X.dtype.itemsize if X.dtype.kind == "f" else limits.matrices
        )
        exact = wanted == n and (self.n_inducing is not None or n <= limits.exact_rows)
        if exact:
            K = self.make_gram(X, matrices=matrices)
            if K.fits(matrices):
                self.solver_, self.inducing_ = "exact", np.arange(n)
                return FitProducts(self._checked(self._scaled(K.dense(), K.diag())))
            if self.n_inducing is not None:
                K.refuse(matrices, "an exact deep kernel machine", ", or n_inducing")
            K.concede(matrices, "an exact deep kernel machine", f"n_inducing={limits.rank}")
        return self._induced(X, first, self._affordable(n))

    def _induced(self, X: np.ndarray, first: Layer, count: int) -> FitProducts:
        """The inner products of all rows with inducing ones, which pivots choose."""
        n = X.shape[0]
        K = self.gram_between(X)
        self.gram_, self.solver_ = K.describe(), "inducing"
        rng = check_random_state(self.random_state)
        drawn = np.sort(rng.choice(n, min(n, CANDIDATES * count), replace=False))
        g0 = self._scaled(K.diag(), K.diag())
        self.inducing_ = drawn[pivots(self._dense(X[drawn], X[drawn]) / self.scale_, first, count)]
        Z = X[self.inducing_]
        G0 = self._checked(self._dense(Z, Z) / self.scale_)
        return FitProducts(G0, self._dense(X, Z) / self.scale_, g0)

    def _dense(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.asarray(self.gram_between(X, Z).dense(), dtype=np.float64)

    def _scaled(self, values: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """Values of the kernel in units of ``scale_``, the mean of k(x, x)."""
        mean = float(np.mean(diagonal, dtype=np.float64))
        self.scale_ = mean if mean > 0 else 1.0
        return np.asarray(values, dtype=np.float64) / self.scale_

    def _checked(self, G0: np.ndarray) -> np.ndarray:
        """A Gram matrix, symmetric to the last bit, after a check that it is semidefinite."""
        G0 = (G0 + G0.T) / 2
        if self.kernel_.positive_definite is True:
            return G0
        values = np.linalg.eigvalsh(G0)
        if values[0] < -INDEFINITE * max(float(values[-1]), 0.0):
            raise ValueError(
                f"kernel={self.kernel!r} has the negative eigenvalue {values[0]:.3g} on these "
                f"samples (the largest is {values[-1]:.3g}): a deep kernel machine needs a "
                "positive semidefinite kernel. mercer.kernels.check_mercer shows more."
            )
        return G0

    def _matrices(self) -> int:
        """Matrices of float64 that an exact fit holds; L-BFGS holds ten of each layer."""
        return 16 + 20 * self.depth

    def _affordable(self, n: int) -> int:
        """Inducing points: the given number, or by default as many as fit ``memory``."""
        count = min(n, self.n_inducing or LIMITS["deep kernel machine"].rank)

        def needed(m: int) -> int:
            beside = 8 * m * (ROWS * 8 * (self.depth + 1) + m * (self._matrices() + CANDIDATES**2))
            return 4 * 8 * n * m + beside

        most, budget = count, self.place.budget(needed(count))
        while self.n_inducing is None and count > 1 and needed(count) > budget:
            count = count * 9 // 10
        if count < most and needed(count) <= budget:
            self.place.concede(needed(most), f"{most} inducing points", f"n_inducing={count}")
        if needed(count) > budget:
            smaller = "" if self.n_inducing is None else ", or a smaller n_inducing"
            what = f"{count} inducing points and {n:,} rows"
            self.place.refuse(needed(count), what, smaller)
        return count

    def _outputs(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Means (q, outputs) and variances (q,) of the outputs of new samples."""
        X = self.encode_new(X)
        K = self.gram_with_support(X)
        G0, *grams = self.grams_
        unit = self.scale_ / self.input_scale_
        flow = LayerPropagation(G0, grams, self._layers(), float(self.jitter))
        means = np.empty((X.shape[0], self.coef_.shape[1]))
        variances = np.empty(X.shape[0])
        for start in range(0, X.shape[0], ROWS):
            part = slice(start, start + ROWS)
            C = np.asarray(K.block(part, slice(None)), dtype=np.float64) / unit
            T, k = flow.outputs(C, self._norms(X[part], C, unit))
            means[part] = T @ self.coef_
            beyond = np.maximum(k - np.einsum("ij,ij->i", T, T), 0)
            variances[part] = beyond + np.einsum("ij,ij->i", T @ self.covariance_, T)
        return means, self.amplitude_ * np.maximum(variances, 0)

    def _norms(self, X: Any, C: np.ndarray, unit: float) -> np.ndarray:
        """k(x, x) of new samples; with a given matrix from their k(x, z) (q, m), all that there is.

        Then it is that of the training samples if they all have the same; else the squared norm of
        the part of x that lies in their span, as if x had no other.
        """
        if not self.kernel_.reads.pairwise or X.columns is not None:  # rows of a whole matrix
            return np.asarray(self.kernel_.diag(X), dtype=np.float64) / unit
        G0 = self.grams_[0]
        g = G0.diagonal()
        if np.ptp(g) <= 1e-6 * g.max():
            return np.full(len(C), g.mean())
        return np.einsum("ij,ij->i", C @ np.linalg.pinv(G0, hermitian=True, rcond=1e-10), C)

    def _layers(self) -> list[Layer]:
        """The layers, one more than Gram matrices that are learnt."""
        given: Any = RBF(0.5) if self.layer is None else self.layer
        several = isinstance(given, (list, tuple))
        layers: list = list(given) if several else [given] * (self.depth + 1)
        if len(layers) != self.depth + 1:
            raise ValueError(
                f"layer has {len(layers)} layers, but depth={self.depth}: give one layer for all, "
                f"or a list of depth + 1 = {self.depth + 1}, of which the last makes the outputs."
            )
        for layer in layers:
            if not isinstance(layer, Layer):
                raise TypeError(
                    f"layer={layer!r}: give a kernel that is a function of inner products, such as "
                    "RBF(0.5), or a list of these."
                )
            layer.check_layer()
            if not layer.differentiable:
                raise TypeError(
                    f"layer={layer!r} has no derivatives, which a deep kernel machine needs: give "
                    "RBF(0.5), ArcCosine(1), NormalisedGaussian(), Polynomial() or Linear()."
                )
        return layers

    def _degrees(self, n: int) -> np.ndarray:
        """The degrees of freedom of each layer."""
        given = n if self.dof is None else self.dof
        several = isinstance(given, (list, tuple, np.ndarray))
        values = list(given) if several else [given] * self.depth
        if len(values) != self.depth:
            raise ValueError(
                f"dof has {len(values)} numbers, but depth={self.depth}: give one number, or one "
                "for each layer."
            )
        for value in values:
            check_positive("dof", value)
        return np.array(values, dtype=np.float64)

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        check_count("depth", self.depth, optional=False)
        check_count("n_inducing", self.n_inducing)
        check_count("max_iter", self.max_iter, optional=False)
        check_positive("tol", self.tol)
        check_not_negative("jitter", self.jitter)
        if not is_auto(self.input_scale):
            check_positive("input_scale", self.input_scale, ' or "auto"')
        self._layers()
        self._degrees(1)
