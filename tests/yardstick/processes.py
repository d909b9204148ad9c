"""scikit-learn's Gaussian process as its tests use it, with Mercer's process and kernels inside.

The tests give scikit-learn's kernels. Each is made one of Mercer's, with its bounds; the
logarithms of the hyperparameters are linear functions of each other, by which θ and gradients go
there and back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import kernels as theirs

import mercer
from mercer import kernels
from mercer.distances import Minkowski


class Constant(kernels.Kernel):
    """k = value."""

    free = ("value",)

    def __init__(self, value: float = 1.0):
        self.value = value

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return np.full((X.shape[0], Z.shape[0]), self.value)


class Part(NamedTuple):
    """A kernel of Mercer's, and what becomes of scikit-learn's hyperparameters, in their order.

    ``names`` are those of Mercer's; ours = shift + slope · theirs; None means the noise.
    """

    kernel: Any
    names: list
    shifts: list
    slopes: list
    bounds: dict
    noise: float | None = None


def translated(kernel: Any) -> Part:
    if isinstance(kernel, theirs.Product) and isinstance(kernel.k1, theirs.ConstantKernel):
        own, inner = kernel.k1, translated(kernel.k2)
        factor = single(inner.kernel * own.constant_value, own, "constant_value", "factor", 0, 1)
        return joined(factor.kernel, (factor, ""), (inner, "kernel__"))
    if isinstance(kernel, (theirs.Sum, theirs.Product)):
        parts = [translated(part) for part in (kernel.k1, kernel.k2)]
        if parts[1].kernel is None or parts[0].kernel is None:  # the noise
            both = parts[0].kernel or parts[1].kernel
            return joined(both, (parts[0], ""), (parts[1], ""))
        left, right = (part.kernel for part in parts)
        both = left + right if isinstance(kernel, theirs.Sum) else left * right
        return joined(both, (parts[0], "left__"), (parts[1], "right__"))
    if isinstance(kernel, theirs.ConstantKernel):
        made = Constant(kernel.constant_value)
        return single(made, kernel, "constant_value", "value", 0, 1)
    if isinstance(kernel, theirs.WhiteKernel):
        part = single(None, kernel, "noise_level", "noise", 0, 1)
        return part._replace(noise=kernel.noise_level)
    if isinstance(kernel, theirs.DotProduct):
        made = kernels.Polynomial(1, 1.0, kernel.sigma_0**2)
        part = single(made, kernel, "sigma_0", "coef0", 0, 2)
        return part._replace(bounds=part.bounds | {"gamma": "fixed"})
    if isinstance(kernel, theirs.ExpSineSquared):
        turn = 2 * np.pi / kernel.periodicity

        def circle(X: np.ndarray) -> np.ndarray:
            return np.hstack([np.cos(turn * X), np.sin(turn * X)])

        made = kernels.Mapped(kernels.RBF(0.5 / kernel.length_scale**2), circle)
        return single(made, kernel, "length_scale", "kernel__gamma", -np.log(2), -2)
    if isinstance(kernel, theirs.RBF):
        if np.ndim(kernel.length_scale):
            made = kernels.RBF(0.5, Minkowski(2, weights=np.asarray(kernel.length_scale) ** -2.0))
            return single(made, kernel, "length_scale", "metric__weights", 0, -2)
        made = kernels.RBF(0.5 / kernel.length_scale**2)
        return single(made, kernel, "length_scale", "gamma", -np.log(2), -2)
    function = kernels.FromFunction(lambda x, z: kernel([x], [z])[0, 0], positive_definite=True)
    return Part(function, [], [], [], {})


def single(made: Any, kernel: Any, own: str, name: str, shift: float, slope: float) -> Part:
    (found,) = [each for each in kernel.hyperparameters if each.name == own]
    if found.fixed:
        return Part(made, [], [], [], {name: "fixed"})
    n = found.n_elements
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.exp(np.sort(shift + slope * np.log(found.bounds), axis=1))
    return Part(made, [name] * n, [shift] * n, [slope] * n, {name: ends if n > 1 else ends[0]})


def joined(kernel: Any, *parts: tuple[Part, str]) -> Part:
    def prefixed(part: Part, prefix: str, name: str) -> str:
        return name if name == "noise" else prefix + name

    names = [prefixed(part, prefix, name) for part, prefix in parts for name in part.names]
    bounds = {
        prefixed(part, prefix, name): ends
        for part, prefix in parts
        for name, ends in part.bounds.items()
    }
    noise = next((part.noise for part, _ in parts if part.noise is not None), None)
    shifts, slopes = ([each for part, _ in parts for each in part[i]] for i in (2, 3))
    return Part(kernel, names, shifts, slopes, bounds, noise)


class GaussianProcessRegressor(BaseEstimator):
    """With scikit-learn's kernels outside."""

    def __init__(
        self, kernel=None, *, alpha=1e-10, optimizer="fmin_l_bfgs_b", n_restarts_optimizer=0,
        normalize_y=False, copy_X_train=True, n_targets=None, random_state=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state

    def _made(self) -> mercer.GaussianProcessRegressor:
        given = self.get_params(deep=False)
        kernel = given.pop("kernel")
        if kernel is None:
            kernel = theirs.ConstantKernel() * theirs.RBF()
        self._part = part = translated(kernel)
        if part.noise is not None:
            given["alpha"] = given["alpha"] + part.noise
        made = Constant(1e-30) if part.kernel is None else part.kernel
        return mercer.GaussianProcessRegressor(made, bounds=part.bounds, **given)

    def fit(self, X, y):
        self._ours = self._made().fit(X, y)
        kernel = theirs.ConstantKernel() * theirs.RBF() if self.kernel is None else self.kernel
        self.kernel_ = clone(kernel)
        if len(kernel.theta):
            self.kernel_.theta = self._theirs(self._ours.theta_)
        self._y_train_std = self._ours.y_std_
        return self

    def _order(self) -> np.ndarray:
        """Where each of scikit-learn's hyperparameters stands in θ of Mercer's."""
        model, places = self._ours, {}
        values = model.kernel_.get_params() | {"noise": 0.0}
        names = [n for n in model.hyperparameters_ for _ in range(np.size(values[n]))]
        for place, name in enumerate(names):
            places.setdefault(name, []).append(place)
        return np.array([places[name].pop(0) for name in self._part.names], int)

    def _theirs(self, theta):
        return (theta[self._order()] - np.array(self._part.shifts)) / np.array(self._part.slopes)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False):
        if theta is None:
            return self._ours.log_marginal_likelihood(None, eval_gradient)
        order, slopes = self._order(), np.array(self._part.slopes)
        ours = np.empty(len(order))
        ours[order] = np.array(self._part.shifts) + slopes * np.asarray(theta)
        found = self._ours.log_marginal_likelihood(ours, eval_gradient)
        # the tests subtract numbers of float32, in whose precision a float of Python's would be
        return (found[0], found[1][order] * slopes) if eval_gradient else np.float64(found)

    def predict(self, X, return_std=False, return_cov=False):
        model = getattr(self, "_ours", None) or self._made()
        return model.predict(X, return_std, return_cov)

    def sample_y(self, X, n_samples=1, random_state=0):
        model = getattr(self, "_ours", None) or self._made()
        return model.sample_y(X, n_samples, random_state)
