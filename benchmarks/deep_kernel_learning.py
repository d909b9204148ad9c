"""Gaussian processes on the codes of networks, beside an exact process, the network alone, and deep
kernel learning in GPyTorch.

Needs torch and MERCER_DATA; not part of ``make bench``, for it takes half an hour. GPyTorch is
measured where it is installed. ``--sets energy`` measures some sets; with ``--write`` the rows of
others stay. ``--large`` measures seconds and memory of 100,000 rows alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import torch

from harness import Section, data_folder, options, said_and_peak
from mercer.deep import DeepKernelRegressor
from networks import NUMBERS, SPLITS, Rows, earlier, table

WAYS = ("chosen", "process", "network", "both")
PEER = "GPyTorch"
EXACT = 1000  # most rows of GPyTorch's exact process
POINTS = 512  # its inducing points for more rows
PRE, JOINT = 30, 20  # epochs of its network alone, and with the process
PRE_FEW, JOINT_FEW = 200, 50  # epochs, and steps of all rows, of an exact process
BATCH = 256


def california() -> Rows:
    """The logarithm of prices; a place by the sea is a number, missing rooms are the median."""
    folder = data_folder()
    assert folder is not None
    frame = pd.read_csv(folder / "numeric_reg/california_housing.csv.gz")
    y = np.log(frame.pop("median_house_value").to_numpy(float))
    frame = pd.get_dummies(frame, dtype=float)
    return frame.fillna(frame.median()).to_numpy(float), y


SETS: dict[str, Callable[[], Rows]] = {
    "energy": table("numeric_reg/energy.csv"),
    "kin8nm": NUMBERS["kin8nm"],
    "elevators": NUMBERS["elevators"],
    "california": california,
}


def density(y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> float:
    """The mean log-likelihood of rows."""
    return float(np.mean(-(((y - mean) / std) ** 2) / 2 - np.log(std * np.sqrt(2 * np.pi))))


class PeerProcess:
    """Deep kernel learning in GPyTorch: a network is trained by squared errors, then together with
    a process on its codes by their likelihood, exact or through inducing points."""

    def __init__(self, seed: int):
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> PeerProcess:
        import gpytorch

        torch.manual_seed(self.seed)
        self.centre, self.spread = X.mean(axis=0), X.std(axis=0)
        self.spread[self.spread == 0] = 1
        x, z = self._inputs(X), torch.tensor(y, dtype=torch.float32)
        few = len(x) <= EXACT
        codes = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 64),
            torch.nn.ReLU(), torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8, affine=False),
        )  # fmt: skip
        self._pre_train(codes, x, z, PRE_FEW if few else PRE)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()
        covariance = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=8))
        covariance.base_kernel.lengthscale = 8**0.5
        if few:
            self.model = exact_process(codes, covariance, x, z, self.likelihood)
            objective = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)
            batches = [(x, z)] * JOINT_FEW
        else:
            self.model = sparse_process(codes, covariance, x)
            objective = gpytorch.mlls.VariationalELBO(self.likelihood, self.model.process, len(x))
            batches = (
                (x[rows], z[rows]) for _ in range(JOINT)
                for rows in torch.randperm(len(x)).split(BATCH)
            )  # fmt: skip
        rate = 0.1 if few else 0.02
        own = [p for name, p in self.model.named_parameters() if not name.startswith("codes")]
        adam = torch.optim.Adam(
            [{"params": codes.parameters(), "lr": 0.001},
             {"params": own, "lr": rate}, {"params": self._noise(own), "lr": rate}]
        )  # fmt: skip
        self.model.train()
        self.likelihood.train()
        for some, targets in batches:
            adam.zero_grad()
            loss = -objective(self.model(some), targets)
            loss.backward()
            adam.step()
        return self

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.model.eval()
        self.likelihood.eval()
        means, spreads = [], []
        with torch.no_grad():
            for part in self._inputs(X).split(2000):
                answer = self.likelihood(self.model(part))
                means.append(answer.mean)
                spreads.append(answer.variance.sqrt())
        return torch.cat(means).numpy(), torch.cat(spreads).numpy()

    def _inputs(self, X: np.ndarray) -> torch.Tensor:
        return torch.tensor((X - self.centre) / self.spread, dtype=torch.float32)

    def _noise(self, own: list) -> list:
        """The noise, which an exact process has among its own numbers already."""
        known = {id(p) for p in own}
        return [p for p in self.likelihood.parameters() if id(p) not in known]

    def _pre_train(self, codes: Any, x: torch.Tensor, z: torch.Tensor, epochs: int) -> None:
        network = torch.nn.Sequential(codes, torch.nn.Linear(8, 1))
        adam = torch.optim.Adam(network.parameters(), lr=0.003)
        steps = epochs * len(torch.arange(len(x)).split(BATCH))
        rate = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(BATCH):
                adam.zero_grad()
                (network(x[rows])[:, 0] - z[rows]).square().mean().backward()
                adam.step()
                rate.step()


def exact_process(codes: Any, covariance: Any, x: Any, z: Any, likelihood: Any) -> Any:
    import gpytorch

    class Exact(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(x, z, likelihood)
            self.codes, self.covariance = codes, covariance
            self.mean = gpytorch.means.ConstantMean()

        def forward(self, rows):
            h = self.codes(rows)
            return gpytorch.distributions.MultivariateNormal(self.mean(h), self.covariance(h))

    return Exact()


def sparse_process(codes: Any, covariance: Any, x: Any) -> Any:
    import gpytorch

    class OnCodes(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            own = gpytorch.variational.CholeskyVariationalDistribution(len(points))
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, own))
            self.covariance, self.mean = covariance, gpytorch.means.ConstantMean()

        def forward(self, h):
            return gpytorch.distributions.MultivariateNormal(self.mean(h), self.covariance(h))

    class Sparse(gpytorch.Module):
        def __init__(self):
            super().__init__()
            self.codes = codes.eval()
            with torch.no_grad():
                points = codes(x[torch.randperm(len(x))[:POINTS]])
            self.process = OnCodes(points)

        def forward(self, rows):
            return self.process(self.codes(rows))

    return Sparse()


def measured(way: str, seed: int, train: Rows, test: Rows) -> tuple[tuple[float, ...], str]:
    """Error, log-likelihood and CPU seconds of a fit and its predictions, and what was chosen."""
    began = time.process_time()
    if way == PEER:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about sizes of solvers
            mean, std = PeerProcess(seed).fit(*train).predict(test[0])
        chosen = ""
    else:
        given = {} if way == "chosen" else {"candidates": [way]}
        model = DeepKernelRegressor(random_state=seed, n_jobs=1, **given).fit(*train)
        mean, std = model.predict(test[0], return_std=True)
        chosen = model.chosen_
    seconds = time.process_time() - began
    error = float(np.sqrt(np.mean((test[1] - mean) ** 2)))
    return (error, density(test[1], mean, std), seconds), chosen


def learnt(names: list[str], splits: int, rows: int | None) -> Section:
    ways = [*WAYS, PEER] if find_spec("gpytorch") else [*WAYS]
    section = Section(
        "deep_kernels_learnt",
        "`DeepKernelRegressor`, random splits 80/20, targets standardised: root mean "
        "squared error / log-likelihood of a test row, ± standard error over the splits; CPU "
        "seconds of a fit and its predictions on one thread.",
        ["set (rows, columns; splits)", *ways, "what was chosen"],
    )
    torch.set_num_threads(1)
    for name, read in SETS.items():
        if name not in names:
            before = earlier("deep_kernels_learnt")  # what another run has written meanwhile, too
            section.rows += [row for first, row in before.items() if first.startswith(f"{name} (")]
            continue
        X, y = read()
        found: dict[str, list[tuple[float, ...]]] = {way: [] for way in ways}
        taken = []
        for seed in range(splits):
            order = np.random.RandomState(seed).permutation(len(X))[:rows]
            train, test = np.split(order, [int(0.8 * len(order))])
            z = (y - y[train].mean()) / y[train].std()
            for way in ways:
                figures, chosen = measured(way, seed, (X[train], z[train]), (X[test], z[test]))
                found[way].append(figures)
                taken += [chosen] if way == "chosen" else []
                print(name, seed, way, chosen, figures, flush=True)
        cells = []
        for values in found.values():
            table_of = np.array(values)
            error, logs, seconds = table_of.mean(axis=0)
            spread = table_of.std(axis=0) / np.sqrt(max(splits - 1, 1))
            cells.append(
                f"{error:.3f} ± {spread[0]:.3f} / {logs:.2f} ± {spread[1]:.2f} ({seconds:.0f} s)"
            )
        counts = [f"{way} {taken.count(way)}" for way in WAYS[1:] if way in taken]
        used = min(len(X), rows or len(X))
        label = f"{name} ({used:,}, {X.shape[1]}; {splits} split{'s' * (splits > 1)})"
        section.row(label, *cells, ", ".join(counts))
    section.note(
        "Chosen: among the three by held rows, the default. Process: a Gaussian process with an "
        "RBF kernel and a length scale for each column, exact up to 3,000 rows, and else through "
        "512 inducing points. Network: a hybrid network, whose noise is that of held rows. Both: a "
        "process on the network's codes."
    )
    if PEER in ways:
        import gpytorch

        section.note(
            f"GPyTorch {gpytorch.__version__}, torch {torch.__version__}: a network d-64-64-8 is "
            f"trained by squared errors for {PRE} epochs, then with a process on its codes by "
            f"their likelihood for {JOINT} epochs, through {POINTS} inducing points (up to "
            f"{EXACT:,} rows {PRE_FEW} epochs, and {JOINT_FEW} steps of the exact process)."
        )
    return section


LARGE = """
import time
import numpy as np
from sklearn.datasets import make_friedman1
from mercer.deep import DeepKernelRegressor
# measured
X, y = make_friedman1(100_000, noise=1.0, random_state=0)
Z, z = make_friedman1(1_000_000, noise=1.0, random_state=1)
began = time.perf_counter()
model = DeepKernelRegressor(random_state=0, candidates=["both"]).fit(X, y)
fitted = time.perf_counter()
mean, std = model.predict(Z, return_std=True)
done = time.perf_counter()
print(fitted - began, done - fitted, np.sqrt(np.mean((mean - z) ** 2)), std.mean())
"""


def large() -> Section:
    """100,000 rows, and answers with their spread for a million."""
    section = Section(
        "deep_kernels_large",
        "`DeepKernelRegressor` on 100,000 rows of 10 columns, and predictions with deviations for "
        "a million others, with all threads.",
        ["fit, s", "predict, s", "RMSE (noise 1)", "mean deviation", "peak MB"],
    )
    said, peak = said_and_peak(LARGE)
    section.row(*(f"{float(word):.3g}" for word in said), f"{peak:.0f}")
    return section


def main() -> None:
    args = options(
        ("--sets", {"nargs": "*", "default": [*SETS], "choices": [*SETS]}),
        ("--splits", {"type": int, "default": SPLITS}),
        ("--rows", {"type": int, "help": "most rows of a split"}),
        ("--large", {"action": "store_true", "help": "seconds and memory of 100,000 rows alone"}),
    )
    if args.large:
        large().finish(args.write)
        return
    learnt(args.sets, 1 if args.quick else args.splits, args.rows).finish(args.write)


if __name__ == "__main__":
    main()
