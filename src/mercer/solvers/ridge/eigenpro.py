r"""EigenPro: ridge or least squares by stochastic gradients with a spectral preconditioner.

A gradient step on a batch of rows costs one strip of K. Plain steps are slow, since the largest
eigenvalues bound their length while the small ones carry the detail. EigenPro flattens the largest
ones: with eigenpairs :math:`(μ_i, e_i)` of K, estimated from a sample of the rows,

.. math:: P = I - \sum_{i \le k} \Bigl(1 - \frac{μ_{k+1} + λ}{μ_i + λ}\Bigr) e_i e_i^\top

makes :math:`μ_{k+1} + λ` the largest eigenvalue of P (K + λ I), so that steps may be
:math:`μ_1 / μ_{k+1}` times as long and reach the same solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.utils import check_random_state

from mercer.gram import GramOperator
from mercer.solvers.result import Reason, Result

SAMPLE = 1000  # rows that the eigenvectors are estimated from
FOUND = 1e-7  # of the largest: smaller eigenvalues of the sample are rounding
SLACK = 0.9  # of the longest sound step: its length rests on estimates
STALLED = 10  # times in a row that the step was halved in vain
LARGEST = 2048  # rows of a batch: more do not make a product faster


@dataclass(frozen=True)
class EigenProSolver:
    r"""Solve :math:`(K + λ W^{-1}) a = y` by preconditioned stochastic gradients.

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output. With 0 the number of epochs regularises.
    epochs : int, default=10
        Passes over the rows; fewer where the tolerance is met before.
    tol : float >= 0, default=1e-3
        Stop at the relative residual ‖b - A z‖ <= tol ‖b‖ of every output.
    batch : int, optional
        Rows of a step. None takes the batch from which larger ones stop paying,
        n β / μ_{k+1}, at most 2048 rows.
    rank : int, optional
        Eigenvectors that are flattened. None takes as many as make a batch of 2048 rows pay, at
        most a tenth of the sample, whose smaller eigenvalues are not those of K.
    random_state : int, RandomState or None, default=None
        Seed for the sample and the order of the rows.

    Notes
    -----
    K has to be positive semidefinite. Only strips of ``batch`` rows of K are read, so that memory
    is batch · n numbers and the eigenvectors of the sample, of at most 1,000 rows. An epoch takes
    n² values of K, as one product does. The certificate (``Result.gap``) is the largest relative
    residual, measured after each epoch by one product. A step uses

    .. math:: a_b \leftarrow a_b - η g, \quad
              a_s \leftarrow a_s + η V D V^\top K_{sb} g, \quad g = (K a + λ a - y)_b

    with the sample s, :math:`D_{ii} = (1 - (μ_{k+1} + λ) / (μ_i + λ)) / μ_i` for the eigenvalues of
    :math:`K_{ss}`, and :math:`η = 1 / (β + (m - 1) λ_{k+1})`: m rows in a batch, β the measured
    largest diagonal of the preconditioned matrix.
    If an epoch does not lower the residual, the step is halved and the best one is gone on from.

    References
    ----------
    Ma & Belkin, "Kernel machines that adapt to GPUs for effective large batch training", MLSys
    2019 (EigenPro 2). Hui, Ma & Belkin, "Kernel machines beat deep neural networks on mask-based
    single-channel speech enhancement", Interspeech 2019.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.solvers import EigenProSolver
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.sin(X[:, 0])
    >>> solver = EigenProSolver(epochs=50, random_state=0)
    >>> model = KernelRidge(kernel="rbf", alpha=0.1, solver=solver).fit(X, y)
    >>> exact = KernelRidge(kernel="rbf", alpha=0.1).fit(X, y)
    >>> bool(np.abs(model.predict(X) - exact.predict(X)).max() < 1e-2)
    True
    """

    penalty: float | np.ndarray = 1.0
    epochs: int = 10
    tol: float = 1e-3
    batch: int | None = None
    rank: int | None = None
    random_state: int | np.random.RandomState | None = None

    def solve(self, K: GramOperator, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """a for y of shape (n,) or (n, outputs), as a `Result`; ``coef`` is float64.

        An interrupt (Ctrl-C) keeps the best solution so far.
        """
        n = K.shape[0]
        Y = np.asarray(y, dtype=np.float64).reshape(n, -1)
        penalty = np.broadcast_to(np.asarray(self.penalty, dtype=np.float64), Y.shape[1])
        # (S + λ I) z = s y with S = √W K √W (ridge_system.py)
        s = None if weights is None else np.sqrt(weights)
        S = K if s is None else K.scaled(s)
        b = Y if s is None else Y * s[:, None]
        random = check_random_state(self.random_state)
        steps = PreconditionedSteps(S, penalty, self.rank, self.batch, random)
        z, gap, epochs, reason = self._descend(S, b, penalty, steps, random)
        error = b - np.asarray(S @ z, dtype=np.float64)
        return Result(
            (z if s is None else z * s[:, None]).reshape(np.shape(y)),
            objective=float(np.sum(error**2) + np.sum(penalty * z * (b - error))),
            gap=gap,
            iterations=epochs,
            converged=reason is Reason.CONVERGED,
            reason=reason,
            solver="EigenProSolver",
            certificate="relative residual",
        )

    def _descend(self, S, b, penalty, steps, random):
        """z, its largest relative residual, the epochs it took, and why it stopped."""
        best, gap, epoch, fails = np.zeros_like(b), 1.0, 0, 0
        size = np.linalg.norm(b, axis=0)
        try:
            while gap > self.tol:
                if epoch == self.epochs:
                    return best, gap, epoch, Reason.LIMIT
                epoch += 1
                z = steps.epoch(best, b, random.permutation(len(b)))
                r = b - np.asarray(S @ z, dtype=np.float64) - penalty * z
                now = float((np.linalg.norm(r, axis=0) / np.where(size > 0, size, 1)).max())
                if now < gap:
                    best, gap, fails = z, now, 0
                    continue
                fails += 1
                if fails == STALLED:
                    return best, gap, epoch, Reason.STALLED
                steps.shorten()
        except KeyboardInterrupt:
            return best, gap, epoch, Reason.INTERRUPTED
        return best, gap, epoch, Reason.CONVERGED


class PreconditionedSteps:
    """The eigenvectors of a sample, the batch and the step's length that they allow.

    Attributes
    ----------
    batch, rank : int
        Rows of a step, and eigenvectors that are flattened.
    length : float
        η, of a step along the summed gradient of a batch.
    """

    def __init__(self, S: GramOperator, penalty: np.ndarray, rank, batch, random):
        n = S.shape[0]
        self.S, self.penalty = S, penalty
        sample = np.sort(random.choice(n, min(n, SAMPLE), replace=False))
        block = np.asarray(S.block(sample, sample), dtype=np.float64)
        values, vectors = scipy.linalg.eigh(block, overwrite_a=True, driver="evd")
        values, vectors = values[::-1], vectors[:, ::-1]
        most = max(1, int((values > FOUND * max(values[0], 0)).sum()) - 1)
        least = float(penalty.min())
        # of all rows the eigenvalues are n / s times those of the sample
        all_values = values * (n / len(sample)) + least
        diagonal = S.diag()[sample].astype(np.float64)
        paying = int((all_values > (diagonal.max() + least) * n / min(n, LARGEST)).sum())
        wanted = max(1, min(paying, len(sample) // 10)) if rank is None else rank
        self.rank = k = min(most, wanted)
        flat = all_values[k] if k < len(values) else all_values[-1]
        flat = max(float(flat), np.finfo(float).tiny)
        kept = 1 - np.minimum(flat / np.maximum(all_values[:k], flat), 1)
        self.sample, self.V = sample, vectors[:, :k]
        self.D = kept / np.maximum(values[:k], np.finfo(float).tiny)
        # the preconditioned diagonal: k(x, x) + λ, less what the flattened directions hold of it
        held = (vectors[:, :k] * np.sqrt(np.maximum(values[:k], 0))) ** 2 @ kept
        beta = float(np.max(diagonal - held, initial=0.0)) + least
        beta = max(beta, np.finfo(float).eps * float(values[0]))
        whole = int(max(1, beta * n / flat))
        self.batch = min(n, max(1, min(whole, LARGEST) if batch is None else batch))
        self.length = SLACK / (beta + (self.batch - 1) * flat / n)

    def shorten(self) -> None:
        """Halve the step: it was too long."""
        self.length /= 2

    def epoch(self, start: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
        """One pass over the rows in this order, from ``start``."""
        z = start.copy()
        for first in range(0, len(order), self.batch):
            rows = np.sort(order[first : first + self.batch])
            strip = self.S.rows(rows)
            g = strip @ z.astype(strip.dtype) - b[rows] + self.penalty * z[rows]
            z[rows] -= self.length * g
            inner = strip[:, self.sample].T @ g.astype(strip.dtype)
            z[self.sample] += self.length * (self.V @ (self.D[:, None] * (self.V.T @ inner)))
        return z
