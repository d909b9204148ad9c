"""The contract of every solver of ridge regression, as one function to call from a test.

A test of a solver of your own is::

    @pytest.mark.parametrize("penalty", [0.1, np.array([0.5, 3.0])])
    def test_my_solver(penalty):
        check_ridge_solver(MySolver(penalty))
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from mercer.gram import DenseGram, GramOperator, TiledGram
from mercer.kernels import RBF
from mercer.solvers import Reason, Result


def check_ridge_solver(
    solver: Any, *, several: bool = True, tol: float = 1e-6, tol32: float = 1e-3
) -> None:
    r"""Hold a solver of :math:`(K + λ W^{-1}) a = y` against `numpy.linalg.solve`.

    The problems are small: float64 and float32, one target and several, without weights, with
    weights and with weights of 0, duplicate rows, a single row, a target of zeros; K in memory, and
    K of which only products are cheap, which the solver may refuse.

    Parameters
    ----------
    solver : object with ``penalty`` and ``solve(K, y, weights)``
        ``penalty`` is positive, and a number or one for each output.
    several : bool, default=True
        False for a solver of one target: y has shape (n,) in all problems.
    tol, tol32 : float
        Largest errors of coefficients for float64 and float32, relative to the largest one.

    Raises
    ------
    AssertionError
        The solver breaks the contract; the message says where.

    Examples
    --------
    >>> from mercer.solvers import CholeskySolver
    >>> check_ridge_solver(CholeskySolver(penalty=0.1))
    """
    penalty = np.asarray(solver.penalty, dtype=np.float64)
    if not (penalty > 0).all():
        raise ValueError(f"solver.penalty={solver.penalty!r}: give a solver with penalties > 0.")
    if penalty.ndim and not several:
        raise ValueError(
            f"solver.penalty={solver.penalty!r} is one for each target, but several=False says "
            "that there is one target: give a number as the penalty."
        )
    outputs = [penalty.size] if penalty.ndim else [0, 1, 3] if several else [0]
    for n, dtype, columns, weighing in product(
        (30, 1), (np.float64, np.float32), outputs, ("no weights", "weights", "weights with 0")
    ):
        rng = np.random.default_rng(n)
        X = rng.normal(size=(n, 3)).astype(dtype)
        X[n // 2 :] = X[: n - n // 2]  # duplicates, in the first half or of the single row
        y = rng.normal(size=(n, columns) if columns else n)
        w = rng.integers(1, 4, n).astype(float)
        if weighing == "weights with 0":
            w[1::3] = 0
        weights = None if weighing == "no weights" else w
        kernel = RBF(0.3).bind(X)
        tiled = TiledGram(kernel, X)
        dense = DenseGram(tiled.dense(), symmetric=True)
        tiled.cheap = frozenset({"rows"})  # as if it did not fit
        for K, target in ((dense, y), (tiled, y), (dense, np.zeros_like(y))):
            where = f"{K.describe()}, y {target.shape}, {weighing}"
            for array in (target, w):
                array.flags.writeable = False  # data are not the solver's to change
            try:
                result = solver.solve(K, target, weights)
            except TypeError as error:
                if K is tiled and "needs" in str(error):
                    continue
                raise AssertionError(f"{where}: refused, with the message: {error}") from error
            _check_result(result, K, target, weights, penalty, where)
            _check_values(
                result, dense.K, target, weights, penalty,
                tol if dtype == np.float64 else tol32, where,
            )  # fmt: skip


def _check_result(result: Result, K: GramOperator, y, weights, penalty, where: str) -> None:
    """Its form: shapes, precision, and the certificate."""
    assert isinstance(result, Result), f"{where}: solve returned {type(result)}"
    assert result.coef.shape == y.shape, f"{where}: coef has shape {result.coef.shape}"
    assert result.coef.dtype == np.float64, f"{where}: coef is {result.coef.dtype}"
    stopped = f"{result.reason}, {result.certificate} {result.gap:.3g}"
    assert result.converged, f"{where}: not converged: {stopped}"
    assert result.reason is Reason.CONVERGED, f"{where}: converged, but {result.reason}"
    assert 0 <= result.gap < np.inf, f"{where}: the certificate is {result.gap}"
    assert result.iterations >= 0, f"{where}: {result.iterations} iterations"


def _check_values(result: Result, K: np.ndarray, y, weights, penalty, tol, where: str) -> None:
    """The solution, and the value of the function that it minimises."""
    K = K.astype(np.float64)
    w = np.ones(len(K)) if weights is None else weights
    kept = np.flatnonzero(w)
    Y, a = y.reshape(len(y), -1), result.coef.reshape(len(y), -1)
    wanted = np.zeros_like(Y)
    for j, λ in enumerate(np.broadcast_to(penalty, Y.shape[1])):
        A = K[np.ix_(kept, kept)] + λ * np.diag(1 / w[kept])
        wanted[kept, j] = np.linalg.solve(A, Y[kept, j])
    size = np.abs(wanted).max()
    assert_allclose(a, wanted, rtol=0, atol=tol * size, err_msg=where)
    assert not a[w == 0].any(), f"{where}: a row of weight 0 has a coefficient"
    least = w @ (Y - K @ wanted) ** 2 + penalty * np.sum(wanted * (K @ wanted), axis=0)
    assert_allclose(
        result.objective, least.sum(), rtol=tol, atol=0, err_msg=f"{where}: the objective"
    )
