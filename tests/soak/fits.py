"""Random fits of every learner, to data that nobody would give on purpose.

A fit ends in finite predictions or in an error in words, and its certificate is true when it is
computed again in long double from the coefficients alone. Where the problem is well posed, the
solution is as good as scikit-learn's. A new learner is one more line of `LEARNERS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.utils.validation import has_fit_parameter

import mercer
from mercer import deep, kernels as k
from mercer.deep import MultilayerKernelMachine

__all__ = ["LEARNERS", "TRIALS"]

Random = np.random.Generator
Long = np.longdouble
WORDS = (ValueError, TypeError, MemoryError)  # and no class below them: those are not in words
NAMES = ["rbf", "linear", "poly", "cosine", "laplacian", "sigmoid", "chi2"]


def scale(rng: Random, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def kernel(rng: Random) -> dict:
    return {"kernel": str(rng.choice(NAMES))}


def svm(rng: Random) -> dict:
    return {"C": scale(rng, -6, 11), "tol": scale(rng, -8, -1), **kernel(rng)}


def nu(rng: Random) -> dict:
    return {"nu": float(rng.uniform(0.01, 1)), "tol": scale(rng, -8, -1), **kernel(rng)}


def linear(rng: Random) -> dict:
    return {"C": scale(rng, -6, 9), "loss": str(rng.choice(["hinge", "squared_hinge"]))}


def linear_svr(rng: Random) -> dict:
    return {"C": scale(rng, -6, 9), "epsilon": float(rng.choice([0, 0.1, 10.0]))}


def ridge(rng: Random) -> dict:
    alphas = [0.0, 1e-300, 1e-12, 1e-3, 1.0, 1e6, 1e300, "auto"]
    solvers = ["auto", "auto", "cholesky", "conjugate_gradient", "low_rank"]
    return {
        "alpha": alphas[rng.integers(len(alphas))],
        "solver": str(rng.choice(solvers)),
        **kernel(rng),
    }


def features(rng: Random) -> dict:
    return {
        "norm": ["auto", 1, 2][rng.integers(3)],
        "metric": str(rng.choice(["auto", "diagonal"])),
        "solver": str(rng.choice(["auto", "low_rank"])),
        "learning_rows": int(rng.choice([5, 30, 1200])),
    }


def neighbourhoods(rng: Random) -> dict:
    return {
        "hidden": int(rng.choice([0, 5, 64])),
        "width": int(rng.choice([1, 20, 32])),
        "steps": int(rng.choice([1, 25, 60])),
        "n_members": int(rng.integers(1, 3)),
        "scaling": str(rng.choice(["auto", "normal", "standard"])),
        "prune": bool(rng.integers(2)),
        "learning_rate": scale(rng, -4, 1),
        "n_neighbors": [None, 1, 9][rng.integers(3)],
    }


def logistic(rng: Random) -> dict:
    return {"C": scale(rng, -8, 8), "solver": str(rng.choice(["auto", "low_rank"])), **kernel(rng)}


def combined(rng: Random) -> str:
    return str(rng.choice(["last", "average", "vote"]))


def components(rng: Random) -> dict:
    solvers = ["auto", "dense", "krylov", "randomized", "low_rank"]
    return {
        "n_components": int(rng.integers(1, 9)),
        "eigen_solver": str(rng.choice(solvers)),
        **kernel(rng),
    }


def deep_machine(rng: Random) -> dict:
    layers = [
        k.Linear(), k.RBF(scale(rng, -4, 4)), k.ArcCosine(1), k.ArcCosine(2),
        k.NormalisedGaussian(),
    ]  # fmt: skip
    return {
        "depth": int(rng.integers(1, 3)),
        "layer": layers[rng.integers(len(layers))],
        "dof": scale(rng, -2, 6),
        "n_inducing": [None, 5][rng.integers(2)],
        "jitter": scale(rng, -10, 0),
        "max_iter": 10,
        **kernel(rng),
    }


def convolutional(rng: Random) -> dict:
    return {
        "n_inducing": [int(count) for count in rng.integers(1, 9, 2)],
        "patch_size": int(rng.choice([1, 3, 5])),
        "stride": int(rng.integers(1, 4)),
        "layer": [k.NormalisedGaussian(), k.ArcCosine(1), k.Linear(), k.RBF(scale(rng, -4, 4))][
            rng.integers(4)
        ],
        "dof": scale(rng, -4, 6),
        "divergence": str(rng.choice(["taylor", "exact"])),
        "wishart_dof": [None, 0.3, 2.0][rng.integers(3)],
        "epochs": int(rng.integers(1, 4)),
        "batch_size": int(rng.choice([3, 128])),
        "learning_rate": scale(rng, -4, 0),
        "jitter": scale(rng, -4, 0),
        "dtype": str(rng.choice(["float32", "float64"])),
        "n_jobs": 1,
    }


def discriminant(rng: Random) -> dict:
    alphas = ["auto", 0.0, 1e-12, 1.0, 1e300]
    return {
        "alpha": alphas[rng.integers(len(alphas))],
        "solver": str(rng.choice(["auto", "low_rank"])),
        **kernel(rng),
    }


def layers(rng: Random) -> dict:
    return {
        "n_layers": int(rng.integers(1, 4)),
        "n_components": int(rng.choice([2, 30, 300])),
        "width": ["auto", None, 3][rng.integers(3)],
        "ranking": str(rng.choice(["auto", "information", "variance", "nearest_information"])),
        "solver": str(rng.choice(["auto", "randomized", "low_rank"])),
        "learner": str(rng.choice(["svc", "neighbours"])),
        **kernel(rng),
    }


def neighbours(rng: Random) -> dict:
    weights = ["uniform", "distance", "rank", "gaussian", "triangular"]
    drawn = {"n_neighbors": ["auto", 1, 4][rng.integers(3)], "weights": choice(rng, weights)}
    if drawn["weights"] in ("gaussian", "triangular"):
        drawn |= {"width": ["auto", None, scale(rng, -8, 8)][rng.integers(3)]}
    return drawn | {"p": [0, 0.5, 1, 2, 3, np.inf][rng.integers(6)]}


def many_kernels(rng: Random) -> dict:
    methods = ["average", "align", "alignf", "simple", "one_norm", "unsupervised"]
    given = rng.random() < 0.5
    made = [k.RBF(float(10 ** rng.uniform(-3, 3))), k.Linear(), k.Laplacian(), k.Polynomial(2)]
    return {
        "method": choice(rng, methods),
        "kernels": [choice(rng, made) for _ in range(3)] if given else None,
        "normalise": ["auto", "trace", None][rng.integers(3)],
        "max_iter": 20,
    }


#: each learner with the parameters that it draws
LEARNERS: dict[type, Callable[[Random], dict]] = {
    mercer.SVC: lambda rng: svm(rng) | {"probability": bool(rng.random() < 0.1)},
    mercer.SVR: lambda rng: svm(rng) | {"epsilon": float(rng.choice([0, 0.1, 10.0]))},
    mercer.NuSVC: nu,
    mercer.NuSVR: lambda rng: nu(rng) | {"C": scale(rng, -6, 9)},
    mercer.OneClassSVM: nu,
    mercer.LinearSVC: linear,
    mercer.LinearSVR: linear_svr,
    mercer.KernelRidge: ridge,
    mercer.KernelRidgeClassifier: ridge,
    mercer.KernelLogisticRegression: logistic,
    mercer.GaussianProcessRegressor: lambda rng: {
        "alpha": choice(rng, [0.0, 1e-12, 1e-3, 1.0, "auto"]),
        "optimizer": choice(rng, [None, "fmin_l_bfgs_b"]),
        "normalize_y": bool(rng.integers(2)),
    },
    mercer.Perceptron: lambda rng: {"max_iter": 20, "combine": combined(rng)},
    mercer.KernelPerceptron: lambda rng: {
        "max_iter": 20,
        "combine": combined(rng),
        "eta0": scale(rng, -3, 3),
        **kernel(rng),
    },
    mercer.KernelKMeans: lambda rng: {
        "n_clusters": int(rng.integers(1, 5)),
        "solver": str(rng.choice(["auto", "low_rank", "mini_batch"])),
        **kernel(rng),
    },
    mercer.SpectralClustering: lambda rng: {
        "n_clusters": int(rng.integers(1, 5)),
        "solver": str(rng.choice(["auto", "low_rank"])),
        "gamma": float(10 ** rng.uniform(-3, 2)),
    },
    mercer.FeatureMachineRegressor: features,
    mercer.FeatureMachineClassifier: features,
    mercer.NeighbourhoodMachineRegressor: neighbourhoods,
    mercer.NeighbourhoodMachineClassifier: neighbourhoods,
    mercer.KernelClassifier: lambda rng: {"trials": int(rng.integers(1, 4))},
    mercer.KernelRegressor: lambda rng: {"trials": int(rng.integers(1, 4))},
    mercer.KNeighborsClassifier: neighbours,
    mercer.KNeighborsRegressor: neighbours,
    mercer.RadiusNeighborsClassifier: lambda rng: {
        "radius": scale(rng, -6, 6),
        "weights": choice(rng, ["uniform", "distance", "gaussian"]),
        "outlier_label": "most_frequent",
    },
    mercer.RadiusNeighborsRegressor: lambda rng: {
        "radius": scale(rng, -6, 6),
        "weights": choice(rng, ["uniform", "distance", "quartic"]),
    },
    mercer.LocalOutlierFactor: lambda rng: {
        "n_neighbors": int(rng.integers(1, 9)),
        "novelty": True,
    },
    mercer.LabelSpreading: lambda rng: {
        "n_neighbors": int(rng.integers(1, 9)),
        "alpha": float(rng.uniform(0.01, 0.999)),
    },
    mercer.Isomap: lambda rng: {"n_neighbors": int(rng.integers(1, 9))},
    mercer.KMedoids: lambda rng: {"n_clusters": int(rng.integers(1, 5))},
    mercer.HDBSCAN: lambda rng: {
        "min_cluster_size": int(rng.integers(2, 9)),
        "cluster_selection_method": str(rng.choice(["eom", "leaf"])),
        "allow_single_cluster": bool(rng.integers(2)),
    },
    mercer.NeighbourGaussianProcess: lambda rng: {"n_neighbors": int(rng.integers(1, 50))},
    mercer.KernelPCA: components,
    mercer.Nystroem: lambda rng: {
        "n_components": int(rng.integers(1, 50)),
        "centres": choice(rng, ["pivoted", "uniform", "k-means++", "leverage"]),
    },
    mercer.RandomFeatures: lambda rng: {"n_components": int(rng.integers(1, 50))},
    mercer.ConvolutionFeatures: lambda rng: choice(
        rng,
        [
            {"method": "minirocket", "size": int(rng.integers(1, 500))},
            {"method": "multirocket", "size": int(rng.integers(1, 1500))},
            {"method": "hydra", "size": int(rng.integers(1, 9))},
        ],
    ),
    mercer.SignatureFeatures: lambda rng: {
        "levels": int(rng.integers(1, 6)),
        "time": bool(rng.integers(2)),
        "n_components": int(rng.integers(1, 300)),
    },
    mercer.WarpingFeatures: lambda rng: {
        "max_length": int(rng.integers(1, 40)),
        "n_components": int(rng.integers(1, 300)),
    },
    mercer.KernelDiscriminant: discriminant,
    deep.DeepKernelMachineRegressor: deep_machine,
    deep.DeepKernelMachineClassifier: deep_machine,
    mercer.NadarayaWatson: lambda rng: {
        "width": [scale(rng, -6, 6), "auto", "learnt", None][rng.integers(4)],
        "n_neighbors": 3,
        "degree": int(rng.integers(2)),
    },
    mercer.NadarayaWatsonClassifier: lambda rng: {
        "width": [scale(rng, -6, 6), "auto", "learnt", None][rng.integers(4)],
        "window": choice(rng, ["gaussian", "exponential"]),
        "n_neighbors": 3,
    },
    mercer.KernelDensity: lambda rng: {
        "bandwidth": [scale(rng, -6, 6), "scott", "auto"][rng.integers(3)]
    },
    mercer.MultipleKernelClassifier: lambda rng: many_kernels(rng) | {"lam": float(rng.random())},
    mercer.MultipleKernelRegressor: lambda rng: many_kernels(rng) | {"alpha": scale(rng, -6, 6)},
    mercer.KernelCCA: lambda rng: discriminant(rng) | {"kernel_y": "rbf"},
    MultilayerKernelMachine: layers,
}
if find_spec("torch"):
    LEARNERS[deep.ConvolutionalDeepKernelMachine] = convolutional

SEARCHES = (mercer.KernelClassifier, mercer.KernelRegressor)

# --- data ----------------------------------------------------------------------------------------


def columns(rng: Random, n: int, d: int) -> np.ndarray:
    """Numbers of many scales, constant columns, duplicates, and now and then what is no number."""
    X = rng.normal(size=(n, d))
    spread = rng.choice([0, 0, 1, 6, 20, 300])
    X *= 10.0 ** rng.uniform(-spread, spread, d)
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0, 1e300, 5e-324, -1e10])
    if rng.random() < 0.2:
        X = X[rng.integers(0, n, n)]  # duplicates
    if rng.random() < 0.1:
        X = np.round(X)
    if rng.random() < 0.1:
        X = X + 10.0 ** rng.integers(0, 17)  # far from 0
    if rng.random() < 0.02:
        X[rng.integers(n), rng.integers(d)] = rng.choice([np.nan, np.inf])
    return np.abs(X) if rng.random() < 0.2 else X


def samples(rng: Random, n: int) -> tuple[Any, dict]:
    """Samples, and the kernel they need, if vectors are not what they are."""
    kind = rng.random()
    if kind < 0.08:
        letters = rng.choice(list("abcdé\0"), (n, int(rng.integers(1, 12))))
        made = [k.Spectrum(2), k.GapWeighted(2, 0.5), k.EditRBF(), k.AllSubsequences()]
        return ["".join(row)[: rng.integers(0, 12)] for row in letters], {
            "kernel": choice(rng, made)
        }
    if kind < 0.14:
        made = [k.Jaccard(), k.DerivedSubsets(), k.Intersection()]
        sets = [set(rng.integers(0, 9, rng.integers(0, 6)).tolist()) for _ in range(n)]
        return sets, {"kernel": choice(rng, made)}
    X = columns(rng, n, int(rng.integers(1, 30)))
    if kind < 0.22:
        return sp.csr_array(np.where(rng.random(X.shape) < 0.7, 0, X)), {}
    if kind < 0.32:
        with np.errstate(over="ignore"):
            return X.astype(np.float32), {}
    if kind < 0.4:
        made = [
            k.Matern(1.5),
            k.RationalQuadratic(),
            k.ANOVA(),
            k.Polynomial(3).normalised(),
            k.ExponentialPower(),
            k.ArcCosine(0, 2),
            k.Layered(k.NeuralTangent(2), base=k.Cosine()),
        ]
        return X, {"kernel": choice(rng, made)}
    return X, {}


def choice(rng: Random, made: list) -> Any:
    return made[rng.integers(len(made))]


def targets(rng: Random, n: int, X: Any, classes: bool) -> np.ndarray:
    if classes:
        most = int(rng.choice([2, 2, 2, 3, 7, n]))
        if rng.random() < 0.5 and isinstance(X, np.ndarray) and most == 2:
            return (np.nan_to_num(X[:, 0]) > np.nanmedian(X[:, 0])).astype(int)
        return rng.integers(0, most, n)
    y = rng.normal(size=n) * 10.0 ** rng.choice([0, 0, 0, -300, -30, 30, 38, 300])
    return np.full(n, y[0]) if rng.random() < 0.05 else y


# --- trials --------------------------------------------------------------------------------------


def fit(learner: type, rng: Random, folder: Path) -> None:
    """One random fit, its predictions and its certificate."""
    n = int(rng.choice([1, 2, 3, int(rng.integers(4, 60)), int(rng.integers(4, 300))]))
    n = min(n, 60) if learner in SEARCHES else n  # each fits dozens of machines
    X, needed = samples(rng, n)
    drawn = LEARNERS[learner](rng) | needed
    if not needed:
        drawn |= (
            {"gamma": choice(rng, ["scale", "median", scale(rng, -8, 8)])}
            if "gamma" in (learner().get_params()) and rng.random() < 0.3
            else {}
        )
    if "kernel" not in learner().get_params():
        drawn.pop("kernel", None)
    model = learner(**drawn)
    y = targets(rng, n, X, is_classifier(model))
    weights = rng.choice([0.0, 1.0, 1.0, 1e-9, 1e9], n) if rng.random() < 0.2 else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # in words too
        try:
            if has_fit_parameter(model, "sample_weight"):
                model.fit(X, y, sample_weight=weights)
            else:
                model.fit(X, y)
            methods = ("predict", "decision_function", "predict_proba", "transform")
            found = {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}
        except WORDS as error:
            if type(error) not in WORDS or len(str(error)) < 20:
                raise
            return
    for values in found.values():
        assert np.isfinite(np.asarray(values, float)).all(), f"{model} gave what is no number"
    if "predict_proba" in found:
        np.testing.assert_allclose(found["predict_proba"].sum(axis=1), 1, atol=1e-5)
    if learner in CERTIFICATES and isinstance(X, np.ndarray) and X.dtype == np.float64:
        CERTIFICATES[learner](model, X, y, weights)


def slack_of(*terms: Any) -> float:
    """What long doubles themselves may be wrong by."""
    return 1e-16 * float(sum(np.abs(term).sum() for term in terms))


def gram_of(model: Any, X: np.ndarray, weights: Any = None) -> np.ndarray:
    """K, with zeros for the rows of weight 0, whose values nothing looks at."""
    kept = np.arange(len(X)) if weights is None else np.flatnonzero(weights)
    K = np.zeros((len(X), len(X)), Long)
    K[np.ix_(kept, kept)] = model.kernel_(X[kept])
    return K


def svc_gap(model: Any, X: np.ndarray, y: np.ndarray, weights: Any) -> None:
    if len(model.classes_) != 2 or model.kernel_.positive_definite is not True:
        return
    w = np.ones(len(y)) if weights is None else weights
    K, beta = gram_of(model, X, weights), np.zeros(len(y), Long)
    beta[model.support_] = model.dual_coef_[0]
    sign = np.where(y == model.classes_[1], 1, -1).astype(Long)
    if not np.isfinite(K).all():
        return  # a linear machine never computes K, whose values may overflow
    f = K @ beta
    errors = (
        np.asarray(w, Long)
        * Long(model.C)
        * np.maximum(0, 1 - sign * (f + Long(model.intercept_[0])))
    )
    gap = float(beta @ f + errors.sum() - sign @ beta)
    assert gap <= model.dual_gap_ + slack_of(beta * f, errors, beta), (gap, model.dual_gap_)


def svr_gap(model: Any, X: np.ndarray, y: np.ndarray, weights: Any) -> None:
    if model.kernel_.positive_definite is not True:
        return
    w = np.ones(len(y)) if weights is None else weights
    K, beta = gram_of(model, X, weights), np.zeros(len(y), Long)
    t = np.asarray(y, Long)
    if not np.isfinite(K).all():
        return
    beta[model.support_] = model.dual_coef_[0]
    f, eps = K @ beta, Long(model.epsilon)
    errors = np.abs(t - f - Long(model.intercept_[0])) - eps
    errors = np.asarray(w, Long) * Long(model.C) * np.maximum(0, errors)
    gap = float(beta @ f + errors.sum() - t @ beta + eps * np.abs(beta).sum())
    assert gap <= model.dual_gap_ + slack_of(beta * f, errors, t * beta), (gap, model.dual_gap_)


def ridge_residual(model: Any, X: np.ndarray, y: np.ndarray, weights: Any) -> None:
    """The system of `cholesky` is solved to rounding, as a backward error."""
    if model.solver_ != "cholesky" or model.alpha == "auto" or weights is not None:
        return
    K, a, t = gram_of(model, X), np.asarray(model.dual_coef_, Long), np.asarray(y, Long)
    residual = np.abs(K @ a + Long(model.alpha) * a - t).max()
    size = np.abs(K).sum(axis=1).max() * np.abs(a).max() + Long(model.alpha) * np.abs(a).max()
    if 0 < model.alpha >= 1e-12 * float(np.abs(K).max()):  # else the least squares of a singular K
        least = 1e-290 * max(1.0, model.alpha)  # a cannot be smaller in float64
        assert residual <= 1e-12 * (size + np.abs(t).max()) + least, (residual, size)


def linear_gap(model: Any, X: np.ndarray, y: np.ndarray, weights: Any) -> None:
    """``objective_`` is the value of the primal at the weights that were found."""
    if len(model.classes_) != 2:
        return
    w = np.ones(len(y), Long) if weights is None else np.asarray(weights, Long)
    coef, b = np.asarray(model.coef_[0], Long), Long(model.intercept_[0])
    sign = np.where(y == model.classes_[1], 1, -1).astype(Long)
    f = np.asarray(X, Long) @ coef + b
    losses = np.maximum(0, 1 - sign * f)
    losses = losses**2 if model.loss == "squared_hinge" else losses
    value = (coef @ coef + b * b) / 2 + Long(model.C) * (w * losses).sum()
    error = np.abs(X).astype(Long) @ np.abs(coef) + np.abs(b)
    room = 1e-14 * (value + Long(model.C) * (w * (1 + losses) * (1 + error)).sum())
    assert abs(float(value) - model.objective_) <= float(room), (value, model.objective_)


CERTIFICATES: dict[type, Callable] = {
    mercer.SVC: svc_gap,
    mercer.SVR: svr_gap,
    mercer.KernelRidge: ridge_residual,
    mercer.LinearSVC: linear_gap,
}


def as_scikit_learn(rng: Random, folder: Path) -> None:
    """Well-posed problems: our solution is at least as good as scikit-learn's."""
    n, d = int(rng.integers(20, 300)), int(rng.integers(1, 20))
    X, C = rng.normal(size=(n, d)), scale(rng, -2, 2)
    name, gamma = str(rng.choice(["rbf", "linear"])), scale(rng, -2, 0)
    which, same = int(rng.integers(3)), {"kernel": name, "gamma": gamma}
    if which == 0:
        y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
        y[:2] = 0, 1
        ours = mercer.SVC(C=C, tol=1e-6, **same).fit(X, y)
        theirs = sklearn.svm.SVC(C=C, tol=1e-6, **same).fit(X, y)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=1e-3 * (1 + C)
        )
    elif which == 1:
        y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
        ours = mercer.SVR(C=C, tol=1e-6, **same).fit(X, y)
        theirs = sklearn.svm.SVR(C=C, tol=1e-6, **same).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3 * (1 + C))
    else:
        y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
        ours = mercer.KernelRidge(C, **same).fit(X, y)
        theirs = SklearnKernelRidge(C, **same).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8 * (1 + 1 / C))


TRIALS: dict[str, Callable[[Random, Path], None]] = {
    **{f"fit {learner.__name__}": partial(fit, learner) for learner in LEARNERS},
    "as scikit-learn": as_scikit_learn,
}
