"""Compute everything that a report shows, from a fitted model and held-out rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from mercer.learners.spectral import KernelPCA
from mercer.machines import (
    METRICS,
    HeldOut,
    Metric,
    compared,
    interval,
    kept_words,
    measure_coverage,
    metric_named,
    ranks_of,
    score_held_out,
)
from mercer.plots.displays import (
    EmbeddingDisplay,
    GramDisplay,
    PartialDependenceDisplay,
    RelianceDisplay,
    SpectrumDisplay,
)
from mercer.plots.fitted import bound_kernel, kernel_machine, rows_of, sample_gram, sample_rows
from mercer.plots.report.advice import learning_curve, suspects
from mercer.plots.report.contents import (
    Contender,
    Final,
    MachineWords,
    Provenance,
    ReportData,
    Score,
    TableFacts,
)
from mercer.plots.report.effects import TextPieces, added_shapes, text_pieces
from mercer.plots.report.failures import (
    calibration,
    class_rates,
    confusion,
    prediction_intervals,
    residuals,
    weak_segments,
    worst_rows,
)
from mercer.plots.report.kernel_words import KernelWords, kernel_words
from mercer.plots.report.summaries import column_summaries, target_summary
from mercer.threads import Clock, affordable_rows, blas_threads

TEXTS = 3  # most text columns whose words are measured
GRAM_ROWS, SPECTRUM_ROWS = 300, 1000
FOREMOST, SHOWN_COLUMNS = 6, 4  # relevant columns that are looked at, and shown with a row
#: how the encoder of the automatic estimators passes a number to the kernel
SCALES = {
    "rank": "A number is replaced by its rank among the training rows, scaled to unit variance.",
    "scaled": "From a number its mean is subtracted; then it is divided by its standard deviation.",
    "normal": "A number is replaced by the value of a standard normal variable of the same rank.",
    "level": "An integer of few values is a category too.",
}
ROLES = {"trivial": "trivial", "linear (spline)": "linear", "linear (sparse)": "linear"}


def report_data(
    model: Any,
    X: Any,
    y: Any,
    *,
    holdout: tuple[Any, Any],
    scored: HeldOut | None = None,
    final: Final | None = None,
    metric: str | None = None,
    facts: TableFacts | None = None,
    provenance: Provenance | None = None,
    values: bool = True,
    time: float | None = None,
) -> ReportData:
    """Measure a fitted model for a report.

    Parameters
    ----------
    model : fitted estimator
        `KernelClassifier`, `KernelRegressor`, or any kernel learner, pipeline or search around one.
    X, y : the rows that ``model`` was fitted to, or None
        Without them, what needs fits is left out (the linear baseline, the learning
        curve, suspected targets), and the held-out rows are described.
    holdout : (X, y)
        Held-out rows: scores, errors, calibration and relevance are measured on these.
    scored : HeldOut, optional
        The result of `score_held_out` for an automatic estimator on the same rows, if it is known.
    final : Final, optional
        The final fit on all rows; None means that it is ``model``.
    metric : str, optional
        A metric of the automatic estimators; None means the metric of ``model``, else "accuracy" or
        "r2".
    facts : TableFacts, optional
    provenance : Provenance, optional
        Shown as the origin of the model; its seed is that of random samples.
    values : bool
        Whether the report may hold values of single rows. Otherwise rows have only numbers in it,
        columns have no levels and ranges, and there are no residuals and no words of texts.
    time : float, optional
        About how many seconds this may take. What is slow gets a share of them, and takes fewer
        rows, columns or draws; what is quick is always there.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import mercer
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mercer.KernelRidge(kernel="rbf").fit(X[::2], y[::2])
    >>> data = report_data(model, X[::2], y[::2], holdout=(X[1::2], y[1::2]))
    >>> data.task, data.score.metric, data.score.rows
    ('regression', 'r2', 221)
    """
    clock = Clock(time)
    facts, provenance = facts or TableFacts(), provenance or Provenance()
    seed = provenance.seed
    X_test, y_test = holdout[0], np.asarray(holdout[1])
    if y_test.shape[1:] > (1,):
        raise ValueError(
            f"y has {y_test.shape[1]} columns, but a report is of one target: give one column, and "
            "of a KernelRegressor of several targets model.of_target(name)."
        )
    fitted_rows = 0 if X is None else len(y)
    known = X is not None
    if hasattr(model, "encoder_") and _is_table(X_test):  # each row is read and encoded once
        X_test, X = model.encode_table(X_test), model.encode_table(X) if known else None
    X, y = (X, np.asarray(y)) if known else (X_test, y_test)
    task = "classification" if is_classifier(model) else "regression"
    given = getattr(model, "metric_", getattr(model, "metric", None))
    classes: Any = getattr(model, "classes_", None)
    ranks = ranks_of(classes, getattr(model, "order_", None))
    scorer = metric_named(metric or given, task).on(ranks)
    if scored is None and known and hasattr(model, "leaderboard_"):
        scored = score_held_out(model, (X, y), (X_test, y_test), seed or 0)
    predicted = scored.predicted if scored else _predictions(model, task, X_test, classes)
    score = partial(
        _score, scorer, y_test, classes=classes, seed=seed or 0, time=clock.share(0.05).limit
    )
    if scored is not None and scored.metric == scorer.name:
        own = Score(
            scored.metric, scored.score, scored.low, scored.high, scored.rows, scored.groups
        )
    else:
        own = score(_decided(model, scorer, predicted))
    P = predicted if task == "classification" and hasattr(model, "predict_proba") else None
    kept, kept_X = (model, X) if final is None else (final.model, final.X)
    columns = column_summaries(model, X)
    trivial = _constant(y, classes, len(y_test)) if scored is None else None
    contenders = _contenders(model, score, own, scored, trivial)
    decided = _decided(model, scorer, predicted)
    winner = getattr(model, "winner_name_", "")
    simple: Any = {"trivial": trivial} if scored is None else scored.baseline_predictions
    if scored is not None and scored.metric == scorer.name:
        versus = scored.versus
    else:
        versus = {name: compared(scorer, y_test, decided, answers, classes, seed or 0)
                  for name, answers in simple.items() if winner not in simple}  # fmt: skip
    met = _all_classes(classes, y, y_test)
    gram, spectrum, embedding = _similarities(kept, kept_X, y, met, seed, clock.share(0.2))
    texts = _texts(model, X, seed, clock.share(0.2)) if values else []
    relevance = _relevance(model, scorer, y, X_test, y_test, columns, seed, clock.share(0.5))
    foremost = _foremost_columns(relevance, model)
    mine, others = (np.arange(len(y)), np.arange(len(y_test))) if facts.rows is None else facts.rows
    part = clock.share
    dependences = _dependences(model, X, foremost, seed, part(0.4))
    learning = suspicion = None
    if known and hasattr(model, "leaderboard_"):
        suspicion = part(0.3).within(lambda clock: suspects(model, X, y, mine, clock, seed or 0))
        learning = part(0.6).within(
            lambda clock: learning_curve(
                model, X, y, (X_test, y_test), scorer, own.value, clock, seed or 0
            )
        )
    segments, worst = _failures(
        model, X_test, y_test, predicted, classes, foremost, others, values, task
    )
    chosen = _decided(model, METRICS["accuracy"], predicted)
    if scorer.power:  # the classes of the least expected loss
        chosen = np.eye(len(classes))[scorer.choice(predicted)]
    coverage = None if scored is None else scored.coverage
    if scored is None and hasattr(model, "leaderboard_"):
        coverage = measure_coverage(model, X_test, y_test)
    data = ReportData(
        target=facts.target,
        task=task,
        score=own,
        fitted_rows=fitted_rows,
        final_rows=(final is not None and final.rows) or fitted_rows,
        contenders=contenders,
        versus=versus,
        kept=kept_words(model) if hasattr(model, "winner_") else "the kernel machine",
        columns=columns,
        target_summary=target_summary(np.concatenate([y, y_test]) if known else y, met),
        spectrum=spectrum,
        gram=gram,
        embedding=embedding,
        machines=_machines(kept, kept_X),
        provenance=provenance,
        relevance=relevance,
        dependences=dependences,
        shapes=added_shapes(kept),
        texts=texts,
        confusion=None if task == "regression" else confusion(y_test, chosen, classes, ranks),
        rates=None if P is None else class_rates(y_test, P, classes),
        residuals=residuals(y_test, predicted, seed) if task == "regression" else None,
        coverage=coverage,
        intervals=None
        if task == "classification" or coverage is not None
        else prediction_intervals(y_test, predicted),
        calibration=None if P is None else calibration(y_test, P, classes),
        segments=segments,
        worst=worst,
        worst_columns=[str(n) for n in foremost[:SHOWN_COLUMNS]] if _is_table(X_test) else [],
        learning=learning,
        suspicion=suspicion,
        stored=_stored(kept),
        seen=None if known else _seen(model, X_test, y_test),
        repeated=0.0 if known else getattr(getattr(model, "row_hashes_", None), "repeated", 0.0),
        notices=[*getattr(model, "notices_", []), *facts.notices],
        doubts=list(facts.doubts),
        dropped_rows=facts.dropped_rows,
    )  # fmt: skip
    return data if values else data.without_values()


# --- scores -----------------------------------------------------------------------------------


def _predictions(model: Any, task: str, X: Any, classes: Any) -> np.ndarray:
    """Predicted numbers, or probabilities (n, classes); 0 and 1 without ``predict_proba``."""
    if task == "regression":
        return np.asarray(model.predict(X))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return (np.asarray(model.predict(X))[:, None] == classes).astype(float)


def _decided(model: Any, scorer: Metric, predicted: np.ndarray) -> np.ndarray:
    """What is scored of a model's answers, by its own decision weights if it has some."""
    weights = getattr(model, "decision_weights_", None)
    return predicted if weights is None else scorer.decided(predicted, weights)


def _score(
    scorer: Any, y: np.ndarray, predicted: Any, *, classes: Any, seed: int, time: float | None
) -> Score:
    low, high = interval(scorer, y, predicted, classes, seed, time)
    return Score(scorer.name, scorer(y, predicted, classes), low, high, len(y))


def _all_classes(classes: Any, *targets: np.ndarray) -> Any:
    """The classes of the model and those of some rows, which may have others."""
    return None if classes is None else np.union1d(classes, np.concatenate(targets))


def _constant(y: np.ndarray, classes: Any, n: int) -> np.ndarray:
    """The mean of the targets, or the shares of the classes, for n rows."""
    dummy: Any = DummyClassifier() if classes is not None else DummyRegressor()
    dummy.fit(np.zeros((len(y), 1)), y)
    blank = np.zeros((n, 1))
    return dummy.predict(blank) if classes is None else dummy.predict_proba(blank)


def _contenders(model, score, own, scored: HeldOut | None, trivial: Any) -> list[Contender]:
    """The leaderboard, with held-out scores of the winner and the baselines."""
    if scored is None:
        name = type(kernel_machine(model)[1]).__name__
        return [
            Contender(name, "winner", unseen=own),
            Contender("trivial", "trivial", unseen=score(trivial)),
        ]
    unseen = {name: score(answers) for name, answers in scored.baseline_predictions.items()}
    unseen[model.winner_name_] = own
    first = []
    if model.winner_name_ not in [row["name"] for row in model.leaderboard_]:
        # a machine that took the place of a late final fit was not tried
        first = [Contender(model.winner_name_, "winner", unseen=own)]
    return first + [
        Contender(
            row["name"],
            "winner" if row["name"] == model.winner_name_ else ROLES.get(row["name"], "kernel"),
            row["score"], unseen.get(row["name"]), row.get("seconds"),
        )
        for row in model.leaderboard_
    ]  # fmt: skip


def _relevance(model, scorer, y, X_test, y_test, columns, seed, clock) -> RelianceDisplay | None:
    """None if there is nothing to compare: one column, one class, or samples without columns."""
    used = sum(column.used for column in columns)
    if used < 2 or len(np.unique(y)) < 2 or len(y_test) < 2:
        return None
    return RelianceDisplay.measured(
        model, X_test, y_test, metric=scorer, time=clock.limit, random_state=seed or 0
    )


def _foremost_columns(relevance: RelianceDisplay | None, model: Any) -> list:
    """The most relevant columns, whose loss is clearly above 0 or is among the first three."""
    if relevance is None:
        used = [c.name for c in getattr(model, "columns_", []) if c.used]
        return used[:FOREMOST]
    low = np.nan_to_num(relevance.low)
    return [
        name for i, name in enumerate(relevance.columns[:FOREMOST]) if i < 3 or low[i] > 0
    ]  # fmt: skip


def _dependences(model: Any, X: Any, columns: list, seed: int | None, clock: Clock) -> list:
    """How predictions depend on columns with an order or levels; empty if X is not a table."""
    objects = [c.name for c in getattr(model, "columns_", []) if c.of.samples is not None]
    shown = [name for name in columns if name not in objects]
    if not _is_table(X) or not shown:
        return []
    return PartialDependenceDisplay.measured(
        model, X, shown, time=clock.limit, random_state=seed or 0
    ).dependences


def _is_table(X: Any) -> bool:
    return len(getattr(X, "shape", ())) == 2


def _failures(model, X, y, predicted, classes, columns, numbers, values, task):
    """The weak parts of the held-out rows, and the worst rows."""
    columns = columns if _is_table(X) else []
    rows: Any = rows_of(model, X) if columns else None
    if task == "classification":
        errors = (classes[predicted.argmax(axis=1)] != y).astype(float)
    else:
        errors = np.abs(y - predicted)
    kinds = {c.name: c.of for c in getattr(model, "columns_", [])}
    split = [name for name in columns
             if name not in kinds or not (kinds[name].samples or kinds[name].in_time)]  # fmt: skip
    shown = columns[:SHOWN_COLUMNS] if values else []
    return (
        weak_segments(rows, split, kinds, errors),
        worst_rows(rows, y, predicted, classes, shown, numbers),
    )


def _stored(model: Any) -> str:
    """How many training rows the model keeps, in words."""
    machine = kernel_machine(model)[1]
    if hasattr(machine, "machine_"):
        kind = machine.machine_.kind
        if not len(machine.stored_rows_):
            return ""
        which = "" if kind == "training rows" else f", the {kind}"
        return f"{len(machine.stored_rows_):,} training rows{which}"
    kept = getattr(machine, "X_fit_", None)
    return "" if kept is None or not hasattr(kept, "shape") else f"{kept.shape[0]:,} training rows"


def _seen(model: Any, X: Any, y: np.ndarray) -> int | None:
    """How many of the rows a model was fitted to; None where it does not know its rows."""
    hashes = getattr(model, "row_hashes_", None)
    if hashes is None or not _is_table(X):
        return None
    if is_classifier(model):  # the targets as the fit has read them
        y = np.asarray(y).astype(np.asarray(model.classes_).dtype)
    return hashes.count(model.encode_table(X), y)


def _texts(model: Any, X: Any, seed: int | None, clock: Clock) -> list[TextPieces]:
    """The words that matter in the first text columns that a model of a table uses."""
    if not hasattr(model, "encoder_") or not _is_table(X):
        return []
    spoken = {f.source for f in model.encoder_.features_ if f.kind == "characters"}
    names = [c.name for c in model.columns_ if c.name in spoken][:TEXTS]
    found = [
        text_pieces(model, X, name, seed or 0, clock.share(1 / (len(names) - place)))
        for place, name in enumerate(names) if clock.left()
    ]  # fmt: skip
    return [pieces for pieces in found if pieces is not None]


# --- the kernel -------------------------------------------------------------------------------


def _similarities(
    model: Any, X: Any, y: np.ndarray, classes: Any, seed: int | None, clock: Clock
) -> tuple[GramDisplay, SpectrumDisplay, EmbeddingDisplay | None]:
    """Picture, spectrum and first axes of one Gram matrix; the picture is of a part of its rows."""

    def matrix(rows: int) -> tuple[np.ndarray, np.ndarray]:
        return sample_gram(model, X, max_samples=rows, random_state=seed or 0)

    K, rows = matrix(affordable_rows(matrix, min(len(y), SPECTRUM_ROWS), clock))
    some = sample_rows(len(rows), GRAM_ROWS, seed or 0)
    picture = GramDisplay.from_gram(K[np.ix_(some, some)], y[rows[some]], classes=classes)
    with blas_threads(1):
        return picture, SpectrumDisplay.from_gram(K), _embedding(K, y[rows], classes)


def _embedding(K: np.ndarray, y: np.ndarray, classes: Any) -> EmbeddingDisplay | None:
    """The rows on the first two axes of kernel PCA; None where there are no two."""
    axes = KernelPCA(2, kernel="precomputed", eigen_solver="dense")
    with warnings.catch_warnings():  # the spectrum beside it says what an indefinite kernel loses
        warnings.simplefilter("ignore", UserWarning)
        scores = axes.fit_transform(K)
    if scores.shape[1] < 2 or not np.ptp(scores, axis=0).all():
        return None
    order = ("first", "second")
    parts = axes.explained_variance_ratio_
    names = [f"{name} axis ({100 * part:.0f}%)" for name, part in zip(order, parts)]
    return EmbeddingDisplay(scores, y, (names[0], names[1]), classes)


def _machines(model: Any, X: Any) -> list[MachineWords]:
    """The kernel machine in words; of a mean all of them."""
    transformers, machine = kernel_machine(model)
    features = getattr(getattr(machine, "encoder_", None), "features_", None)
    if features is not None:
        return [
            MachineWords(_table_words(part.kernel, features), _capital(part.description))
            for part in machine.machine_.parts
        ]
    for transformer in transformers:
        X = transformer.transform(X)
    return [MachineWords(kernel_words(bound_kernel(machine, X)), repr(machine))]


def _table_words(kernel: Any, features: list) -> KernelWords:
    """A kernel of encoded columns in words, with what the encoder does to the columns."""
    words = kernel_words(kernel, lambda column: features[column].label)
    read = {features[c].kind for _, columns in kernel.parts for c in columns}
    scales = [sentence for kind, sentence in SCALES.items() if kind in read]
    return replace(words, meaning=" ".join([words.meaning, *scales]))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
