"""What further learners add to the candidates of ``mercer fit``.

Candidates of the search are tried on some rows of each table, all but windows and sums of many
kernels. Then neighbours, windows, discriminants and sums of many kernels are fitted to the
training rows of the same folds, with the kernels that the search has learnt, and all predictions
of rows that were held out are compared: of each machine alone, and of blends. A blend is chosen on
half of the rows and judged on the other half. Needs MERCER_DATA.
"""

import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import numpy as np
from scipy.special import softmax

from harness import Section, data_folder, options
from mercer import KernelDiscriminant, KNeighborsClassifier, KNeighborsRegressor, NadarayaWatson
from mercer.machines.candidates.candidate import Candidate
from mercer.machines.candidates.order import candidates
from mercer.machines.recipes import Recipe
from mercer.machines.scores import metric_named
from mercer.machines.settings import SearchSettings
from mercer.machines.tasks import Classification, Regression
from mercer.selection.automatic.trials.rungs import gathered
from mercer.selection.automatic.trials.trials import Trials
from mercer.tables.encoding import TableEncoder
from tables import SETS, read

LEAST = 1e-3  # of a share of votes, whose logarithm is taken
STEPS = 10  # of a blend: one more candidate each, with replacement
MEMORY = 4 * 10**9
KINDS = ("neighbours", "window", "discriminant", "many kernels")
MANY = Candidate("many", learn=True)
KERNELS = {
    "laplacian": Candidate("laplacian", 3.0, columns="normal"),
    "interactions": Candidate("interactions", learn=True),
    "full": Candidate("metric", learn=True, form="full"),
}


def search(name: str, rows: int, trials: int) -> Trials:
    """The trials of the candidates of before on some rows of a table."""
    frame, y, task_name = read(data_folder(), name)
    some = np.random.default_rng(0).permutation(len(y))[:rows]
    frame, y = frame.iloc[np.sort(some)].reset_index(drop=True), y[np.sort(some)]
    if task_name == "classification":
        levels, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, levels[counts >= 5])
        frame, y = frame[kept].reset_index(drop=True), y[kept]
    reader = Classification if task_name == "classification" else Regression
    task, y = reader.read(y, len(y), "benchmark")
    encoder = TableEncoder().fit(frame)
    metric = metric_named("accuracy" if task.classes is not None else "r2", task_name)
    M = encoder.transform(frame)
    found = Trials(SearchSettings(task, encoder.features_, M, y, metric, MEMORY, seed=0))
    rows, rank = found.state.rungs.plan()[-1]  # exact, as what is added
    order = [
        c for c in candidates(encoder.features_, task_name, found.settings.Y.shape[1])
        if c.machine != "window" and c.family != "many"
    ]  # fmt: skip
    settings = {"rows": rows, "rank": rank, "steps": []}
    found.replay([asdict(c) | settings for c in order[:trials]])
    return found


def kernel(search: Trials, candidate: Candidate, fold: int):
    """A kernel that the search has learnt or that needs no learning, or None."""
    if not candidate.suits(search.settings.features):
        return None
    if not candidate.learn:
        return candidate.bound(search.settings.features, search.settings.M)[0]
    each = search.state.rungs.learns_each(candidate)
    return search.state.learnt.of(candidate, fold if each else None)[0]


def neighbours(task, kernel, M, y, new):
    if task.classes is None:
        model = KNeighborsRegressor("auto", weights="quartic", metric=kernel).fit(M, y)
        return model.predict(new)
    model = KNeighborsClassifier("auto", weights="quartic", metric=kernel).fit(M, y)
    return _of_votes(task, model.classes_, model.predict_proba(None), y, model.predict_proba(new))


def window(task, kernel, M, y, new):
    Y = task.targets(y)
    model = NadarayaWatson(metric=kernel).fit(M, Y)
    if task.classes is None:
        return model.predict(new)[:, 0]
    shares = [(np.asarray(each) + 1) / 2 for each in (model.left_out_, model.predict(new))]
    return _of_votes(task, task.classes, shares[0], y, shares[1])


def _of_votes(task, met, known, y, new):
    """Probabilities of shares of votes, calibrated on those of rows that were left out."""
    logs = []
    for each in (known, new):
        full = np.zeros((len(each), len(task.classes)))
        full[:, np.searchsorted(task.classes, met)] = each
        logs.append(np.log(full + LEAST))
    return task.calibrate(logs[0], y)(logs[1])


def discriminant(task, kernel, M, y, new):
    return task.answers(KernelDiscriminant(kernel=kernel).fit(M, y), new)


def added_predictions(search: Trials, count: int) -> dict[str, np.ndarray]:
    """Predictions of the held-out rows of the first ``count`` rows by each added learner."""
    task, (rows, folds) = search.settings.task, search.state.rungs.folds(count)
    runs: dict[str, Callable] = {}
    for label, candidate in KERNELS.items():
        if kernel(search, candidate, 0) is None:
            continue
        for how in (neighbours, window, discriminant):
            if how is not discriminant or task.classes is not None:
                runs[f"{how.__name__}, {label}"] = partial(alone, search, candidate, how)
    for machine in ("ridge", "svc") if task.classes is not None else ("ridge",):
        runs[f"many kernels, {machine}"] = partial(together, search, machine)
    return {
        name: gathered(
            folds,
            [run(f, rows[folds != f], rows[folds == f]) for f in range(int(folds.max()) + 1)],
        )
        for name, run in runs.items()
    }


def alone(search: Trials, candidate: Candidate, how: Callable, fold: int, train, new):
    """Predictions of a learner with one kernel."""
    k = kernel(search, candidate, fold)
    X = k.encode(search.settings.M)
    return how(search.settings.task, k, X[train], search.settings.y[train], X[new])


def together(search: Trials, machine: str, fold: int, train, new):
    """Predictions with the sum of many kernels."""
    given, spared = search.settings, search.state.rungs.spared
    rows = (train if spared is None else spared)[:1000]
    k = MANY.learnt(given, rows).kernel
    fitted = Recipe(machine, exact=True).fit(given.task, k, given.M[train], given.y[train])
    return fitted(given.M[new])


def blend(task, y, predictions: list[np.ndarray]) -> float:
    """The loss of a greedy weighted blend, each half of the rows by weights of the other half."""
    half = np.random.default_rng(0).permutation(len(y)) % 2
    values = predictions
    if task.classes is not None:
        values = [np.log(np.clip(p, 1e-9, 1)) for p in predictions]
    losses = np.zeros(2)
    for own in (0, 1):
        others, total, best = half != own, 0.0, np.inf
        for step in range(STEPS):
            tried = [
                task.loss(y[others], _finish(task, (total + v)[others] / (step + 1)))
                for v in values
            ]
            if min(tried) >= best:
                break
            best = min(tried)
            total = total + values[int(np.argmin(tried))]
            steps = step + 1
        rest = half == own
        losses[own] = task.loss(y[rest], _finish(task, total[rest] / steps)) * rest.mean()
    return float(losses.sum())


def _finish(task, value):
    return value if task.classes is None else softmax(value, axis=1)


def compare(section: Section, name: str, rows: int, trials: int) -> None:
    """One table: the losses of all machines, alone and in means with the best of before."""
    done = search(name, rows, trials)
    task, count = done.task, done.schedule[0]["rows"]
    rows_of, folds = done.rungs.folds(count)
    judged = folds >= 0
    y = done.y[rows_of][judged]
    unit = 1.0 if task.classes is not None else float(y.var())
    before = {row["name"]: p[judged] for row, _, p in done.held.best()}
    added = {name: p[judged] for name, p in added_predictions(done, count).items()}
    if task.classes is not None:
        before, added = ({k: np.clip(p, 1e-9, 1) for k, p in d.items()} for d in (before, added))
    loss = {k: task.loss(y, p) / unit for k, p in (before | added).items()}
    best = min(before, key=loss.__getitem__)
    mean = {k: task.loss(y, task.mean(before[best], p)) / unit for k, p in (before | added).items()}
    others = [mean[k] for k in before if k != best]
    cells = [f"{loss[best]:.4f}", f"{min(others):.4f}" if others else ""]
    for kind in KINDS:
        own = [k for k in added if k.startswith(kind)]
        least = [f"{min(d[k] for k in own):.4f}" for d in (loss, mean)] if own else []
        cells.append(f"{least[0]} ({least[1]})" if own else "")
    cells.append(f"{blend(task, y, list(before.values())) / unit:.4f}")
    cells.append(f"{blend(task, y, [*before.values(), *added.values()]) / unit:.4f}")
    section.row(name, *cells)
    for k in sorted(loss, key=loss.__getitem__):
        print(f"    {k:45s} {loss[k]:.4f} {mean[k]:.4f}{'  added' if k in added else ''}")


def main() -> None:
    args = options(
        ("--rows", {"type": int, "default": 1600}), ("--trials", {"type": int, "default": 12}),
        ("--sets", {"default": ",".join(SETS)}),
    )  # fmt: skip
    section = Section(
        "candidates",
        f"At most {args.rows:,} rows of each table, rows held out in folds: log loss, or squared "
        f"error divided by the variance. Before: the best of the first {args.trials} candidates "
        "without windows and sums of many kernels, and the best mean of it and another one. Then "
        "the best of each kind of learner that was added: alone, and in brackets its mean with "
        "the best of before. Blends: weighted, of the best of each family, before and with all.",
        ["data", "before", "mean of two", *KINDS, "blend", "blend with these"],
    )
    for name in args.sets.split(","):
        compare(section, name, args.rows, args.trials)
    section.finish(args.write)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
