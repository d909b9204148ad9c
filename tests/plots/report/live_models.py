"""Models whose predictions a page repeats, and their evaluation in float64."""

import numpy as np
import pandas as pd

import mercer
from mercer.distances import Match as MatchDistance, PairDifferences
from mercer.kernels import (
    RBF,
    ExponentialPower,
    FromDistance,
    Laplacian,
    Match,
    TableKernel,
)
from mercer.machines.machines import pair_likelihoods
from mercer.machines.means import MeanMachine
from mercer.samples import Table
from mercer.selection.automatic import KernelMachine

ROWS = 50  # of a table, that the page predicts


def table(n, seed=0):
    """Numbers, integers, levels, ordered levels, dates and times, with gaps and ties."""
    rng = np.random.default_rng(seed)
    days = pd.to_datetime("1965-03-01") + pd.to_timedelta(rng.integers(0, 20000, n), unit="D")
    X = pd.DataFrame({
        "size": rng.normal(size=n), "weight": rng.exponential(30.0, n).round(1),
        "rooms": rng.integers(1, 7, n).astype(float), "town": rng.choice(["x", "y", "<b>"], n),
        "seen": days.astype(str), "left": rng.normal(size=n),
        "at": [f"{h:02d}:{m:02d}" for h, m in rng.integers(0, 24, (n, 2))],
    })  # fmt: skip
    X.loc[rng.random(n) < 0.1, ["weight", "town"]] = None
    f = np.sin(2 * X["size"]) + X["rooms"] / 3 + (X["town"] == "x") + X["weight"].fillna(9) / 50
    return X, f.to_numpy() + 0.1 * rng.normal(size=n)


NUMBERS = ["size (scaled)", "weight (normal)", "left (scaled)", "seen: month (rank)"]
CODES = ["town (code)", "rooms (level)", "weight is missing (code)"]
SPLIT = FromDistance(MatchDistance(), 0.2)
KERNELS = {
    "gaussian": TableKernel([(RBF(0.2), NUMBERS), (SPLIT, CODES)]),
    "laplacian": TableKernel([(Laplacian(0.2), NUMBERS)]),
    "interactions": TableKernel(
        [*((Laplacian(0.7), [c]) for c in NUMBERS), *((Match(), [c]) for c in CODES)],
        "interactions", np.linspace(0.01, 3, 7).tolist(),
    ),
    "sum": TableKernel([(RBF(0.3), NUMBERS), (Match(), CODES)], "sum", [0.4, 0.6]),
    "power": TableKernel([(ExponentialPower(2.0, 1.4), NUMBERS)]),
    "differences": TableKernel([(FromDistance(PairDifferences(), 0.1), NUMBERS)]),
    "times": TableKernel([(RBF(1.0), ["at: sine (scaled)", "at: cosine (normal)"])]),
    "dates": TableKernel([
        (RBF(1.0), [f"seen: {p} (scaled)" for p in ("elapsed days", "year", "day of week")]),
    ]),
}  # fmt: skip


def machine(learner, kernel=None, **settings):
    return KernelMachine(learner, None if kernel is None else KERNELS[kernel], **settings)


MACHINES = {
    **{f"ridge, {kernel}": [machine("ridge", kernel)] for kernel in KERNELS},
    "few centres": [machine("ridge", "gaussian", rank=20)],
    "support vectors": [machine("svc", "interactions")],
    "window": [machine("window", "gaussian")],
    "window of a sum": [machine("window", "sum")],
    "absolute": [machine("ridge", metric="absolute")],
    "diagonal": [machine("ridge", metric="diagonal")],
    "full": [machine("ridge", metric="full")],
    "shapes": [machine("shapes")],
    "networks": [machine("neighbourhood", steps=30, members=2)],
    "network of effects": [machine("neighbourhood", steps=30, reads="effects")],
    "linear": [machine("linear")],
    "sparse": [machine("sparse")],
    "mean": [machine("ridge", "gaussian", weight=3.0), machine("linear"), machine("shapes")],
}
OF_CLASSES = ("support vectors",)


def fitted(machines, X, y, task, **settings):
    if task == "numbers":
        return mercer.KernelRegressor(machines=machines, **settings).fit(X, y)
    count = {"two classes": 2, "three classes": 3}[task]
    codes = np.searchsorted(np.quantile(y, np.arange(1, count) / count), y)
    return mercer.KernelClassifier(machines=machines).fit(X, np.array(["a", "b", "<i>c"])[codes])


def in_double(encoded):
    return Table(encoded.groups, [part.astype(np.float64) for part in encoded.parts])


def outputs(machine, M):
    """Those of a machine, whose kernel is evaluated in float64 on its rounded rows."""
    learner = machine.learner
    if type(machine).__name__ in ("AdditiveMachine", "LinearMachine"):
        return machine.outputs(M)  # in float64 anyway
    if type(machine).__name__ == "LearntNeighbourhood":
        return networks(machine, M)
    X, Z = in_double(machine.kernel.encode(M, like=learner.X_fit_)), in_double(learner.X_fit_)
    K = machine.kernel.block(X, Z)
    assert K.dtype == np.float64
    if type(machine).__name__ == "WindowMachine":
        logs = K / machine.penalty**2
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return machine.read(shares @ machine.targets / shares.sum(axis=1, keepdims=True))
    if type(machine).__name__ == "KernelRidgeMachine":
        return K @ np.asarray(learner.dual_coef_, float).reshape(len(Z), -1) + machine.offset
    signs = np.asarray(learner.dual_coef_, float)
    k = len(learner.classes_)
    if k == 2:
        values = K @ signs[0] + learner.intercept_[0]
    else:  # scikit-learn's layout, pair by pair
        codes, values, pair = np.repeat(np.arange(k), learner.n_support_), [], 0
        for a in range(k):
            for b in range(a + 1, k):
                f = K[:, codes == a] @ signs[b - 1, codes == a]
                f += K[:, codes == b] @ signs[a, codes == b]
                values.append(f + learner.intercept_[pair])
                pair += 1
        values = np.array(values).T
    return pair_likelihoods(values, k)


def networks(machine, M):
    """Means of the targets over networks in float64, layer by layer."""
    rows, learner, means = machine.columns.encode(M).matrix, machine.learner, []
    for member in learner.members_:
        w = {name: np.float64(part) for name, part in member.network.layers().items()}
        numbers, extra = map(np.float64, member.design.read(rows))
        extra[extra > 0] = 0.7
        turns = 2 * np.pi * numbers[:, :, None] * w["frequencies"]
        features = np.concatenate([np.cos(turns), np.sin(turns), numbers[:, :, None]], axis=2)
        E = np.maximum(features @ w["periodic"] + w["periodic_bias"], 0).reshape(len(M), -1)
        E = np.hstack([E, extra])
        z = E @ w["linear"][: E.shape[1]] + w["linear_bias"]
        mean1, var1, mean2, var2 = np.float64(member.network.running).reshape(4, -1)
        z = (z - mean1) / np.sqrt(var1 + 1e-5) * w["gain1"] + w["shift1"]
        z = np.maximum(z @ w["into"].T + w["into_bias"], 0) @ w["out"] + w["out_bias"]
        z = (z - mean2) / np.sqrt(var2 + 1e-5) * w["gain2"] + w["shift2"]
        z = z[:, : member.network.width]
        np.testing.assert_allclose(z, member.embed(rows, 1), atol=1e-4)
        far = np.linalg.norm(z[:, None] - np.float64(member.Z), axis=2)
        votes = learner.votes * np.exp(member.temperature * (far.min(axis=1)[:, None] - far))
        means.append(votes @ machine.targets / votes.sum(axis=1, keepdims=True))
    mean = np.mean(means, axis=0)
    return mean if machine.classes is None else np.log((1 + mean) / 2 + 1e-3)


def exactly(model, M):
    """The model's predictions or probabilities in float64."""
    whole, found = model.machine_, [outputs(part, M) for part in model.machine_.parts]
    if not isinstance(whole, MeanMachine):
        return whole.finish(found[0])
    parts = zip(whole.shares, whole.parts, found)
    return whole.finish(sum(s * (p.finish.slope * f + p.finish.bias) for s, p, f in parts))


def size_of(model):
    """What errors of kernels are multiplied by: the sum of the coefficients."""
    sums = [1.0]
    for part in model.machine_.parts:
        if type(part).__name__ == "WindowMachine":  # of squared distances in units of the width
            sums.append(np.ptp(part.targets) / part.penalty**2)
        elif type(part).__name__ == "LearntNeighbourhood":  # of float32 in three layers
            sums.append(100 * part.penalty * np.ptp(part.targets))
        elif type(part).__name__ in ("KernelRidgeMachine", "MarginMachine"):
            sums.append(np.abs(part.learner.dual_coef_).sum())
    return max(sums)
