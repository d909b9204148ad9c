"""The report: one HTML file that contains everything, and loads nothing.

It runs no script, but for the one of a page that predicts, which its policy names by its hash.

`report_data` measures a fitted model, `write_report` writes the page. The numbers are also in a
block of JSON for programs, ``<script type="application/json" id="mercer-report">``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mercer.persistence import write_whole
from mercer.plots.report.contents import ReportData, report_data
from mercer.plots.report.section import PLACES, TEMPLATES, environment
from mercer.plots.report.subject import Subject, TableFacts
from mercer.spoken import in_page, visible

__all__ = ["ReportData", "report_data", "save_report", "write_report"]

#: suffix -> what reads such a table in Python
READERS = {
    ".csv": "pl.read_csv({})", ".csv.gz": "pl.read_csv({})", ".csv.zst": "pl.read_csv({})",
    ".tsv": 'pl.read_csv({}, separator="\\t")', ".parquet": "pl.read_parquet({})",
    ".arrow": "pl.read_ipc({})", ".feather": "pl.read_ipc({})", ".jsonl": "pl.read_ndjson({})",
    ".ndjson": "pl.read_ndjson({})", ".xlsx": "pl.read_excel({})",
}  # fmt: skip


def write_report(path: str | os.PathLike, data: ReportData) -> None:
    """Write the result of `report_data`; an existing file is replaced, or unchanged after an error.

    Raises
    ------
    ImportError
        jinja2 is not installed: it comes with the ``cli`` extra.
    OSError
        The file cannot be written.
    """
    write_whole(path, visible(render(data)).encode("utf-8"))


def save_report(
    path: str | os.PathLike,
    model: Any,
    X: Any,
    y: Any,
    *,
    train: tuple[Any, Any] | None = None,
    target: str = "target",
    values: bool = True,
    what_if: bool = False,
    rows: bool = True,
    time: float | None = 60.0,
) -> ReportData:
    """Measure a fitted model and write its report.

    Parameters
    ----------
    path : str or path
        An existing file is replaced.
    model : fitted estimator
        `KernelClassifier`, `KernelRegressor`, or any kernel learner, pipeline or search around one.
    X, y : rows that the model was not fitted to
        The score and the errors are those on these rows.
    train : (X, y), optional
        The rows that it was fitted to. Without them there is no linear baseline, no
        learning curve, and no list of suspected targets.
    target : str
        Name of the target.
    values : bool
        Whether the report may hold values of single rows.
    what_if : bool
        Whether the page predicts by itself, without a network: a form for a row, its prediction
        with an interval or probabilities, the training rows that are most alike, and a curve of
        what happens as one column moves. The page then holds the rows that the model compares
        with, as the model file does: share it as you would share these rows. Where a page cannot
        evaluate a model, the report says why in a sentence.
    rows : bool
        Whether it shows the training rows that are most alike, if ``train`` is given.
    time : float, optional
        About how many seconds this may take; None means no limit.

    Returns
    -------
    data : ReportData
        The numbers in the report.

    Examples
    --------
    >>> import mercer, tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mercer.KernelClassifier(trials=1).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = save_report(f"{folder}/iris.html", model, X[1::2], y[1::2])
    >>> data.score.rows
    75
    """
    data = report_data(Subject(
        model, *(train or (None, None)), holdout=(X, y), facts=TableFacts(target), values=values,
        what_if=what_if, rows=rows, time=time,
    ))  # fmt: skip
    write_report(path, data)
    return data


def render(data: ReportData) -> str:
    """The page as text."""
    shown: dict[str, str] = dict.fromkeys(PLACES, "")
    for section in data.sections.values():
        shown[section.place] += str(section.html(data))
    what_if = data.get("what_if")
    return environment().get_template("report.html").render(
        data=data, shown=shown, live=what_if if what_if and what_if.model else None,
        scores=data.leaderboard.tracks(data.score),
        style=(TEMPLATES / "style.css").read_text("utf-8"), embedded=in_page(data.numbers()),
        new_table=_table_in_python(data), file_name=Path(data.provenance.data_path).name,
    )  # fmt: skip


def _table_in_python(data: ReportData) -> str:
    """The expression that reads new rows, or what to put there where no function of polars does."""
    path, other = data.provenance.new_path, "...  # a table like {}"
    if any(column.kind == "graph" for column in data["columns"]):  # which may be several in a file
        return other.format(json.dumps(path))
    return READERS.get("".join(Path(path).suffixes).lower(), other).format(json.dumps(path))
