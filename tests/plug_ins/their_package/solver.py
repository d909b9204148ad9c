"""A solver that needs nothing of the Gram matrix but its products."""

from dataclasses import dataclass

import numpy as np

from mercer.solvers import Reason, Result


@dataclass(frozen=True)
class PlainConjugateGradient:
    """Solve (K + penalty / weights) a = y, for a positive semidefinite K and one target."""

    penalty: float = 1.0
    tol: float = 1e-8
    max_iter: int = 1000

    several = False  # targets at once: learners with several ask for one after the other

    def solve(self, K, y, weights=None):
        """The solution as a `Result`; its certificate is the relative residual."""
        # a = s z for s = sqrt(weights), so that a row of weight 0 is as if it were absent
        s = np.ones(K.shape[0]) if weights is None else np.sqrt(weights)

        def product(z):
            return s * (K @ (s * z)) + self.penalty * z

        b = s * y
        z, r, p, iterations, reason = np.zeros(len(b)), b, b, 0, Reason.CONVERGED
        while np.linalg.norm(r) > self.tol * np.linalg.norm(b):
            if iterations == self.max_iter:
                reason = Reason.LIMIT
                break
            q = product(p)
            step = (r @ r) / (p @ q)
            z, before, r = z + step * p, r, r - step * q
            p = r + (r @ r) / (before @ before) * p
            iterations += 1
        return Result(
            s * z,
            objective=self.penalty * float(b @ z),
            gap=float(np.linalg.norm(b - product(z)) / (np.linalg.norm(b) or 1.0)),
            iterations=iterations,
            converged=reason is Reason.CONVERGED,
            reason=reason,
            solver="PlainConjugateGradient",
            certificate="relative residual",
        )
