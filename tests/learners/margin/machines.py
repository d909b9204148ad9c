"""What the tests of support vector machines share: data, values of machines, primal problems.

The primal problems are written out in plain numpy from a machine's dual coefficients and K alone,
so that a certificate is not judged by the code that made it.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]


def standardised(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


IRIS, WINE, CANCER = (standardised(load) for load in (load_iris, load_wine, load_breast_cancer))
DIABETES = standardised(load_diabetes)
DIABETES = DIABETES[0], DIABETES[1] / 50


def overlapping(n, seed=0, columns=3):
    """Two classes of equal size, with a curved border and some rows beyond it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    score = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, (score > np.median(score)).astype(int)


def target(Machine, y):
    """Targets that suit a machine: classes, or numbers of them, or none."""
    if Machine is OneClassSVM:
        return None
    return y if Machine in (SVC, NuSVC) else y + 0.3 * np.sin(np.arange(len(y)))


def values(model, X):
    """What a machine computes for each row, before any vote."""
    if isinstance(model, (SVC, NuSVC)) and model.multi_class == "ovo":
        model.decision_function_shape = "ovo"
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def beta_of(model, n):
    """β of a machine for two classes, numbers or one class, (n,)."""
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def svc_primal(K, y, C, beta, b):
    """½‖w‖² + Σ C_i max(0, 1 - y_i f_i), y = ±1."""
    return beta @ K @ beta / 2 + C @ np.maximum(0, 1 - y * (K @ beta + b))


def nu_svc_primal(K, y, C, nu, beta, b):
    """The same less ν Σ C: of ν-classification after the division by its margin."""
    return svc_primal(K, y, C, beta, b) - nu * C.sum()


def svr_primal(K, t, C, epsilon, beta, b):
    """½‖w‖² + Σ C_i max(0, |t_i - f_i| - ε)."""
    return beta @ K @ beta / 2 + C @ np.maximum(0, abs(t - K @ beta - b) - epsilon)


def nu_svr_primal(K, t, C, nu, epsilon, beta, b):
    return svr_primal(K, t, C, epsilon, beta, b) + nu * epsilon * C.sum()


def one_class_primal(K, w, nu, beta, rho):
    """½‖w‖² - ν ρ Σ w + Σ w_i max(0, ρ - (Kβ)_i)."""
    return beta @ K @ beta / 2 - nu * rho * w.sum() + w @ np.maximum(0, rho - K @ beta)
