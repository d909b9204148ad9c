"""``mercer report``: the score of a saved model on new rows, and the report of it."""

from __future__ import annotations

import json as json_text

import numpy as np
from sklearn.base import is_classifier

from mercer.cli.files import new_rows, target_of, targets_of
from mercer.cli.options import ReportOptions, check_paths
from mercer.cli.tables import Tables
from mercer.cli.target import left_out, read_target, unknown_classes
from mercer.cli.terminal import OptionError, TableError, Terminal, counted, line
from mercer.persistence import ModelFileError, load
from mercer.plots.report import (
    Provenance,
    Subject,
    TableFacts,
    plain,
    report_data,
    write_report,
)
from mercer.spoken import a_type

SECONDS = 60.0  # the most that the report may take


def report_table(options: ReportOptions) -> int:
    """Write the report, and say the verdict."""
    model, given, output, json = options.model, options.tables, options.output, options.json
    reading = options.read.reading()
    screen = Terminal(quiet=json)
    if output.suffix.lower() != ".html":
        raise OptionError(f"--output {output}: the name must end in .html.")
    written = [("--output", output)]
    check_paths(written, [model, *given], force=options.force)
    estimator = load(model)
    if not hasattr(estimator, "leaderboard_"):
        raise ModelFileError(
            f"{str(model)!r} holds {a_type(estimator)}. Give the file of a model, as "
            "mercer fit writes it."
        )
    if several := targets_of(estimator):
        if options.target not in several:
            raise OptionError(
                f"{str(model)!r} predicts {', '.join(several)}: give one of them with --target."
            )
        estimator = estimator.of_target(several.index(options.target))
    target = target_of(estimator) if options.target is None else options.target
    tables = Tables(given, reading.after(estimator.columns_))
    check_paths(written, tables.paths, force=True)
    frame = tables.frame([str(name) for name in getattr(estimator, "feature_names_in_", [])])
    classes = np.asarray(getattr(estimator, "classes_", []))
    X, y, rows = read_target(
        frame, target, tables.label, varied=False, unread=tables.unread, hints=tables.hints,
        known=classes.tolist() if classes.dtype.kind in "UO" and len(classes) else None,
    )  # fmt: skip
    dropped = frame.height - len(rows)
    for sentence in tables.notes:
        screen.print(f"• {sentence}", soft_wrap=True)
    if dropped:
        screen.print(left_out(dropped, target))
    y, doubts = _checked(estimator, y, tables.label, target)
    for doubt in doubts:
        screen.print(line(("! ", "yellow"), doubt), soft_wrap=True)
    try:
        data = report_data(Subject(
            estimator, holdout=(X, y), values=not options.no_rows, time=SECONDS,
            facts=TableFacts(target, dropped_rows=dropped, rows=(rows, rows)),
            provenance=Provenance(
                model_path=str(model), data_path=tables.label, new_path=new_rows(given[0])
            ),
        ))  # fmt: skip
    except ValueError as error:  # columns that are lacking or are something else now
        raise TableError(f"{tables.label}: {error}") from error
    write_report(output, data)
    screen.print(data.verdict, soft_wrap=True)
    if data.seen:
        screen.print(line(("! ", "yellow"), data.seen_before), soft_wrap=True)
    elif data.seen == 0:
        screen.print(data.seen_before)
    for sentence in data.lines("relevance") + data.lines("additions"):
        screen.print(sentence, soft_wrap=True)
    screen.print(f"Report of {counted(len(y), 'row')}: {output}", soft_wrap=True)
    if json:
        score = data.score
        facts = {
            "target": target, "rows": len(y), "rows_without_target": dropped,
            "score": {"metric": score.metric, "value": score.value,
                      "interval": [score.low, score.high], "rows": score.rows},
            "verdict": data.verdict, "rows_in_training": data.seen,
            "relevance": data.numbers()["relevance"],
            "notices": [*tables.notes, *doubts, *[data.seen_before] * bool(data.seen)],
            "report": str(output),
        }  # fmt: skip
        print(json_text.dumps(plain(facts), allow_nan=False))
    return 0


def _checked(estimator, y: np.ndarray, table: str, target: str) -> tuple[np.ndarray, list[str]]:
    """The targets as the model's, and what to say of them.

    A column that has none of the model's classes is refused.
    """
    if not is_classifier(estimator):
        if y.dtype.kind not in "fiub":
            raise TableError(
                f"--target {target}: {table} holds {y[0].item()!r} there, but the model predicts "
                "numbers. Give the column that it was fitted to."
            )
        return y, []
    if estimator.classes_.dtype.kind == "U":
        y = y.astype(str)  # classes 1 and 2, where training has 3a too
    unknown, said = unknown_classes(y, estimator.classes_)
    if unknown and set(y.tolist()) <= set(unknown):
        raise TableError(
            f"--target {target}: {table} holds {unknown[0]!r} there, which the model never "
            f"predicts: its classes are {estimator.classes_.tolist()[:20]}. Give the column that "
            "it was fitted to."
        )
    return y, [said] if said else []
