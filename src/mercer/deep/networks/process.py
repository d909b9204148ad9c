"""Gaussian processes with a radial kernel of the library, whose numbers are learnt by likelihood:
alone, or together with the network on whose codes a process stands.

This file requires torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mercer.deep.networks.blocks import NeuralKernelNetwork
from mercer.deep.torch_layers import one_cycle
from mercer.gram.on_torch import PROFILES, check_formula, choose_device
from mercer.kernels import Kernel
from mercer.threads import raise_if_stopped

STEPS, RATE = 60, 0.1  # of Adam, for the numbers of a kernel
JITTER = 1e-6  # of the amplitude, on the diagonal of each matrix that is factorised
LEAST = 1e-12  # of a distance: roots have no slope at 0
NOISE = 1e-6  # least variance of the noise
ROWS = 4096  # that are compared with the points at a time
CANDIDATES = 8  # rows among which each inducing point is chosen


class LearntNumbers(NamedTuple):
    """Logarithms of what is learnt.

    Attributes
    ----------
    scales : Tensor of shape (d,)
        Length scales of the columns.
    amplitude, noise : Tensor
        Variances of the process, and of what is added to it.
    """

    scales: Tensor
    amplitude: Tensor
    noise: Tensor


class Seen(NamedTuple):
    """Rows that a process has seen.

    Attributes
    ----------
    x : Tensor of shape (n, d)
    Y : Tensor of shape (n, q)
    given : Tensor of shape (n, q), or None
        Variances of the noise of Y, where they are not learnt.
    weights : Tensor of shape (n,)
    """

    x: Tensor
    Y: Tensor
    given: Tensor | None
    weights: Tensor

    def part(self, rows: Any) -> Seen:
        given = None if self.given is None else self.given[rows]
        return Seen(self.x[rows], self.Y[rows], given, self.weights[rows])


@dataclass(frozen=True)
class RadialProcess:
    """A process with covariance a k(x / l, z / l).

    Attributes
    ----------
    kernel : Kernel
        A radial kernel of a Minkowski distance.
    numbers : LearntNumbers
    """

    kernel: Kernel
    numbers: LearntNumbers

    @classmethod
    def begin(cls, kernel: Kernel, x: Tensor) -> RadialProcess:
        """A process for standardised columns x (n, d): rows are about a length scale apart."""
        d = x.shape[1]
        scales = x.new_full((d,), math.log(max(d, 1)) / 2)
        return cls(kernel, LearntNumbers(scales, x.new_tensor(0.0), x.new_tensor(math.log(0.1))))

    def gram(self, x: Tensor, z: Tensor) -> Tensor:
        """Covariances of rows x (n, d) and z (m, d)."""
        formula, by = self.kernel.formula, torch.exp(-self.numbers.scales)
        assert formula is not None
        x, z = x * by, z * by
        if formula.p == 2:
            squares = x.square().sum(1)[:, None] + z.square().sum(1) - 2 * x @ z.T
            t = squares.clamp_min(LEAST)
        else:
            t = torch.cdist(x, z, p=formula.p).clamp_min(LEAST) ** formula.p
        return self.variance * PROFILES[formula.profile](t, formula.parameters)

    @property
    def variance(self) -> Tensor:
        """The variance of the process at any row."""
        formula = self.kernel.formula
        assert formula is not None
        return formula.factor * self.numbers.amplitude.exp()

    def noises(self, rows: Seen) -> Tensor:
        """Variances of what is added, (n, q) or (n, 1): a row of weight w is w rows."""
        if rows.given is None:
            return (self.numbers.noise.exp() + NOISE) / rows.weights[:, None]
        return rows.given / rows.weights[:, None]

    def log_likelihood(self, rows: Seen) -> Tensor:
        """log N(Y; 0, K + noise), summed over the columns of Y (n, q)."""
        x, Y = rows.x, rows.Y
        K, noises = self.gram(x, x), self.noises(rows)
        total = x.new_tensor(0.0)
        for j in range(noises.shape[1]):
            L = factor(K, noises[:, j], self.variance)
            part = Y if noises.shape[1] == 1 else Y[:, j : j + 1]
            white = torch.linalg.solve_triangular(L, part, upper=False)
            logs = L.diagonal().log().sum() * part.shape[1]
            total = total - white.square().sum() / 2 - logs
            total = total - part.numel() * math.log(2 * math.pi) / 2
        return total

    def learnt(self, rows: Seen) -> RadialProcess:
        """The same process with the numbers of the highest likelihood that Adam meets."""
        free = [t.detach().clone().requires_grad_() for t in self.numbers]
        adam = torch.optim.Adam(free, lr=RATE)
        best, least = self, math.inf
        for _ in range(STEPS):
            raise_if_stopped()
            adam.zero_grad()
            process = replace(self, numbers=LearntNumbers(*free))
            try:
                loss = -process.log_likelihood(rows) / len(rows.x)
            except LinAlgError:
                break
            if float(loss.detach()) < least:
                least = float(loss.detach())
                best = replace(self, numbers=LearntNumbers(*(t.detach().clone() for t in free)))
            loss.backward()
            adam.step()
        return best

    @torch.no_grad()
    def conditioned(self, seen: Seen, points: Tensor) -> Posterior:
        """The process that has seen targets Y (n, q), through its values at some points (m, d).

        All rows as points are the exact process; fewer are the one of Titsias (2009).
        """
        x, Y = seen.x, seen.Y
        noises, exact = self.noises(seen), len(points) == len(x)
        weights, roots = [], []
        if exact:
            K = self.gram(x, x)
        else:
            L = factor(self.gram(points, points), x.new_zeros(len(points)), self.variance)
        for j in range(noises.shape[1]):
            part = Y if noises.shape[1] == 1 else Y[:, j : j + 1]
            if exact:
                C = factor(K, noises[:, j], self.variance)
                weights.append(torch.cholesky_solve(part, C))
                eye = torch.eye(len(C), dtype=C.dtype, device=C.device)
                # var = k(x, x) - |L⁻¹ k|²
                roots.append(torch.linalg.solve_triangular(C, eye, upper=False).T)
                continue
            m = len(points)
            A, b = x.new_zeros(m, m), x.new_zeros(m, part.shape[1])
            for rows in torch.arange(len(x), device=x.device).split(ROWS):
                raise_if_stopped()
                W = torch.linalg.solve_triangular(L, self.gram(points, x[rows]), upper=False)
                A += (W / noises[rows, j]) @ W.T
                b += (W / noises[rows, j]) @ part[rows]
            eye = torch.eye(m, dtype=x.dtype, device=x.device)
            # with w = L⁻¹ k: mean wᵀ (I + A)⁻¹ b, variance k(x, x) - wᵀ (I - (I + A)⁻¹) w
            values, U = torch.linalg.eigh((A + A.T) / 2)
            values = values.clamp_min(0)
            weights.append(back(L, U @ ((U.T @ b) / (1 + values)[:, None])))
            roots.append(back(L, U * (values / (1 + values)).sqrt()))
        return Posterior(self, points, torch.cat(weights, 1), torch.stack(roots))

    @torch.no_grad()
    def chosen_points(self, x: Tensor, count: int) -> Tensor:
        """Rows of x, one after the other where the process is least known from those before."""
        some = x[: CANDIDATES * count]
        left = self.variance.expand(len(some)).clone()
        columns, chosen = x.new_zeros(len(some), count), []
        for i in range(count):
            best = int(left.argmax())
            if float(left[best]) <= JITTER * float(self.variance):
                break
            chosen.append(best)
            column = self.gram(some, some[best : best + 1])[:, 0]
            column = (column - columns[:, :i] @ columns[best, :i]) / left[best].sqrt()
            columns[:, i] = column
            left = (left - column.square()).clamp_min(0)
        return some[chosen]


@dataclass(frozen=True)
class Posterior:
    """A process that has seen targets.

    Attributes
    ----------
    process : RadialProcess
    points : Tensor of shape (m, d)
    weights : Tensor of shape (m, q)
        The mean at x is k(x, points) weights.
    roots : Tensor of shape (1 or q, m, r)
        The variance at x is k(x, x) - |k(x, points) root|².
    """

    process: RadialProcess
    points: Tensor
    weights: Tensor
    roots: Tensor

    @torch.no_grad()
    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Means and variances of the process at rows x, (n, q) each, without noise."""
        means, variances = [], []
        for part in x.split(ROWS):
            raise_if_stopped()
            K = self.process.gram(part, self.points)
            seen = torch.stack([(K @ root).square().sum(1) for root in self.roots], dim=1)
            means.append(K @ self.weights)
            variances.append((self.process.variance - seen).clamp_min(0).expand_as(means[-1]))
        return torch.cat(means), torch.cat(variances)

    def arrays(self) -> dict[str, np.ndarray]:
        """All its numbers, by name."""
        numbers = self.process.numbers._asdict()
        own = {"points": self.points, "weights": self.weights, "roots": self.roots}
        return {name: t.cpu().numpy().copy() for name, t in {**numbers, **own}.items()}

    @classmethod
    def restored(cls, kernel: Kernel, found: dict[str, np.ndarray], device: Any) -> Posterior:
        """A posterior from its ``arrays``."""
        on = choose_device(device)
        tensors = {name: torch.tensor(values, device=on) for name, values in found.items()}
        numbers = LearntNumbers(*(tensors[name] for name in LearntNumbers._fields))
        process = RadialProcess(kernel, numbers)
        return cls(process, tensors["points"], tensors["weights"], tensors["roots"])


LinAlgError: Any = torch.linalg.LinAlgError  # pyright: ignore[reportPrivateImportUsage]


def factor(K: Tensor, noise: Tensor, variance: Tensor) -> Tensor:
    """The Cholesky factor of K with noise and a jitter on its diagonal."""
    return torch.linalg.cholesky(K + torch.diag(noise + JITTER * variance))


def back(L: Tensor, B: Tensor) -> Tensor:
    """L⁻ᵀ B."""
    return torch.linalg.solve_triangular(L.T, B, upper=True)


def check_process_kernel(kernel: Kernel) -> None:
    """Raise ValueError for kernels without a profile on torch."""
    kernel.validate()
    gamma = kernel.get_params(deep=False).get("gamma")
    formula = None if isinstance(gamma, str) else kernel.formula
    if formula is None or formula.coordinates != "distance" or formula.scaling is not None:
        raise ValueError(
            f"covariance={kernel!r}: give a radial kernel with numbers, such as RBF(0.5), "
            "Matern(2.5), Laplacian(1.0) or RationalQuadratic(); length scales of the columns are "
            "learnt."
        )
    check_formula(kernel, "cpu:torch")


BATCH = 256  # rows whose likelihood is exact in a step
PASSES, FEWEST = 20, 200  # over all rows, and steps
RATES = (1e-3, 1e-2)  # highest ones, of the network and of the numbers


def learn_jointly(
    network: NeuralKernelNetwork, process: RadialProcess, rows: Seen, centre: Tensor,
    spread: Tensor, rng: np.random.RandomState,
) -> None:  # fmt: skip
    """Change the network: ascend the likelihood of random batches, for rows whose x are inputs of
    the network and whose codes are measured from a centre in units of a spread."""
    n = len(rows.x)
    steps = max(FEWEST, PASSES * math.ceil(n / BATCH))
    free = [t.detach().clone().requires_grad_() for t in process.numbers]
    learnt = [p for p in network.parameters() if p.requires_grad]
    groups = [{"params": part, "lr": rate} for part, rate in zip((learnt, free), RATES)]
    adam = torch.optim.Adam(groups)
    dtype = network.head.weight.dtype
    for step in range(1, steps + 1):
        raise_if_stopped()
        chosen = torch.from_numpy(rng.permutation(n)[:BATCH]).to(rows.x.device)
        part = rows.part(chosen)
        for group, rate in zip(adam.param_groups, RATES):
            group["lr"] = rate * one_cycle(step / steps)
        adam.zero_grad(set_to_none=True)
        codes = (network.code(part.x.to(dtype)).double() - centre) / spread
        at = replace(process, numbers=LearntNumbers(*free))
        try:
            loss = -at.log_likelihood(part._replace(x=codes)) / len(chosen)
        except LinAlgError:
            return
        loss.backward()
        adam.step()
