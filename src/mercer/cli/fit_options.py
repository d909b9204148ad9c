"""The options of ``mercer fit``, and what they mean."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from cyclopts import Parameter

from mercer.cli.files import STDIN
from mercer.cli.options import (
    MEMORY,
    Drops,
    Flag,
    Given,
    GivenFiles,
    Json,
    Kinds,
    Output,
    Quiet,
    ReadingOptions,
    Whole,
    check_memory_size,
    check_paths,
    check_seed,
    kinds_given,
)
from mercer.cli.terminal import OptionError, of_option
from mercer.spoken import seconds

TIME = "120s"  # where --time is not given
#: the options that decide about the model, in the order of the recorded command
#: by task, as `mercer.machines` has them
METRIC_NAMES: dict[str, tuple[str, ...]] = {
    "classification": ("accuracy", "balanced_accuracy", "roc_auc", "average_precision", "log_loss",
                       "f1", "rank_error", "quadratic_kappa"),
    "regression": ("r2", "rmse", "mae"),
}  # fmt: skip
RECORDED = ("target", "test", "task", "order", "metric", "time", "trials", "memory", "kind", "drop",
            "only", "seed", "group", "time_column", "weight", "compress", "output")  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The options of ``mercer fit``.

    Parameters
    ----------
    target
        The column to predict, or several columns of numbers with commas between: low,high. A name
        with a comma stands in quotes: 'low,"high, or"'. A .svm or .ts file tells it,
        and of several files of sequences each is a class.
    test
        A table to score on; without it 20% of the rows are split off before anything is fitted.
    task
        Overrides what the target suggests; ordered means classes with an order, such as low,
        medium and high, or 1 to 5.
    order
        The classes of an ordered target, the lowest first: low,medium,high. Words of known scales
        and numbers need none.
    metric
        What to optimise and report: accuracy, balanced_accuracy, roc_auc, average_precision,
        log_loss, f1; r2, rmse, mae; of ordered classes rank_error, quadratic_kappa. Default: r2, or
        accuracy, or rank_error, or average_precision for two classes of which one has less than a
        tenth of the rows.
    time
        Time for all of it, search, final fit and report: 90, "120s", "5min", "1h". Default: 120s.
    trials
        A number of trials in place of --time: the same model on any machine.
    memory
        Memory budget: "4GB", "500MB".
    only
        "kernels" keeps a kernel machine even where the constant or a linear model, which are tried
        too, predicts rows that were left out better.
    group
        A column of groups, such as patients: rows of one group are never on both sides of a split.
        It is not used to predict from. "scaffold": molecules with the same rings and links
        between them. Without --group and --time-column, equal molecules are one group.
    time_column
        A column of times: the latest rows are held out, as later rows are to be predicted.
    weight
        A column with the weights of the rows, >= 0. It is not used to predict from.
    compress
        So many centres in place of all rows or support vectors: a smaller file and predictions that
        are many times as fast. The score is that of the compressed model; what it lost is said.
    seed
        Seed of the split and the search.
    output
        Where the model is written; the report goes beside it as .html.
    no_rows
        Keep the values of single rows out of the report: cells, targets, words, levels and ranges.
    what_if
        Let the report predict by itself, offline: a form, the prediction, rows that are alike and a
        curve. It holds training rows then, as the model file does.
    resume
        A model of the same table with the same options, such as one that Ctrl-C has left: its
        trials are not repeated, and the search goes on after them.
    force
        Replace an existing model and report.
    """

    train: Given = STDIN
    more: GivenFiles = ()
    target: str | None = None
    test: Path | None = None
    task: Literal["classification", "regression", "ordered"] | None = None
    order: str | None = None
    metric: str | None = None
    time: str | None = None
    trials: Whole | None = None
    memory: str = MEMORY
    kind: Kinds = ()
    drop: Drops = ()
    only: Literal["kernels"] | None = None
    group: str | None = None
    time_column: str | None = None
    weight: str | None = None
    compress: Whole | None = None
    seed: Whole = 0
    output: Output = Path("model.mercer")
    read: ReadingOptions = ReadingOptions()  # noqa: RUF009 - it cannot change
    no_rows: Flag = False
    what_if: Flag = False
    resume: Path | None = None
    force: Flag = False
    json: Json = False
    quiet: Quiet = False

    @property
    def report(self) -> Path:
        """The path of the report, which is written beside the model."""
        return self.output.with_suffix(".html")

    def limit(self) -> float:
        """The seconds from start to end; with ``--trials`` only the report regards them."""
        return seconds(TIME if self.time is None else self.time)

    @property
    def kinds(self) -> dict[str, str]:
        """Column name -> the kind that the user gives it."""
        return kinds_given(self.kind)

    @property
    def tables(self) -> list[Path]:
        """All training files, as they were given."""
        return [self.train, *self.more]

    @property
    def orders(self) -> list[str]:
        """The classes of ``--order``."""
        return [] if self.order is None else [text.strip() for text in self.order.split(",")]

    def check(self) -> None:
        """Refuse, before any table is read, what no table could make right."""
        if self.output.suffix.lower() == ".html":
            raise OptionError(
                f"--output {self.output}: the report takes that name; give the model another, such "
                f"as {self.output.with_suffix('.mercer')}."
            )
        if self.compress is not None and self.compress < 1:
            raise OptionError(f"--compress {self.compress}: give a number of centres, at least 1.")
        check_seed(self.seed)
        if self.trials is not None and self.trials < 1:
            raise OptionError(f"--trials: trials={self.trials}: give a whole number, at least 1.")
        if self.time is not None and self.trials is not None:
            raise OptionError(
                "--time and --trials are both given: give one of them. A clock may stop the search "
                "before its last trial, and the model would differ from machine to machine."
            )
        with of_option(OptionError):
            self.limit()
        if self.what_if and self.no_rows:
            raise OptionError(
                "--what-if puts training rows into the report, which --no-rows keeps out: give one "
                "of them."
            )
        if self.group is not None and self.time_column is not None:
            raise OptionError("--group and --time-column are both given: give one of them.")
        task = "regression" if self.task == "regression" else "classification"
        fitting = METRIC_NAMES[task] if self.task else sum(METRIC_NAMES.values(), ())
        if self.metric not in (None, *sum(METRIC_NAMES.values(), ())):
            raise OptionError(f"--metric {self.metric}: give one of {', '.join(fitting)}.")
        if self.metric not in (None, *fitting):
            raise OptionError(
                f"--metric={self.metric!r}: for {task} give one of {', '.join(fitting)}."
            )
        check_memory_size(self.memory)
        kinds_given(self.kind)
        self.read.reading()  # refuses wrong ones
        inputs = [*self.tables, self.test] if self.test else self.tables
        # a model that is gone on with may be replaced by what comes of it
        force = self.force or (self.resume is not None and self.resume == self.output)
        check_paths([("--output", self.output)], inputs, force=force)  # "." has no name beside it
        both = [("--output", self.output), ("the report beside it", self.report)]
        check_paths(both, inputs, force=force)

    def check_several(self, targets: Sequence[str]) -> None:
        """Refuse what does not suit several targets, and reports of them that would be replaced."""
        if len(targets) < 2:
            return
        both = f"--target {self.target} names {len(targets)} columns of numbers"
        if self.task not in (None, "regression") or self.order is not None:
            raise OptionError(
                f"{both}, but {'--order' if self.order else f'--task {self.task}'} asks for "
                "classes: fit a model for each column of classes."
            )
        if self.metric not in (None, *METRIC_NAMES["regression"]):
            fitting = ", ".join(METRIC_NAMES["regression"])
            raise OptionError(f"{both}, but --metric {self.metric} is for classes: give {fitting}.")
        if self.compress is not None:
            raise OptionError(
                f"{both}, but --compress measures its loss on one: leave it out, or fit a model "
                "for each."
            )
        pages = [("the report of a target", page) for page in self.pages(targets).values()]
        check_paths(pages, [*self.tables, *([self.test] if self.test else [])], force=self.force)

    def pages(self, targets: Sequence[str]) -> dict[str, Path]:
        """Where the report of each of several targets is written: beside the model."""
        words = [re.sub(r"[^\w-]+", "_", name).strip("_")[:40] for name in targets]
        return {
            name: self.output.with_name(f"{self.output.stem}-{place}-{word}.html")
            for place, (name, word) in enumerate(zip(targets, words), 1)
        }

    def check_memory(self, rows: int) -> None:
        """Refuse, before the search, a memory that is too small for so many training rows."""
        from mercer.gram import Place
        from mercer.machines import least_memory

        least = least_memory(rows)
        if Place(self.memory).budget() < least:
            raise OptionError(
                f"--memory {self.memory} is too small for {rows:,} rows: give at least "
                f"{-(-least // 10**6)}MB."
            )

    def command(self) -> str:
        """The command line that repeats the fit: every option that matters to the model."""
        parts = ["mercer", "fit", *map(str, self.tables)]
        recorded = [(name, getattr(self, name)) for name in RECORDED]
        usual, read = asdict(ReadingOptions()), asdict(self.read)
        recorded += [(name, value) for name, value in read.items() if value != usual[name]]
        for name, value in recorded:
            if isinstance(value, bool):
                parts.append(f"--{'no-' * (not value)}{name.replace('_', '-')}")
                continue
            for given in value if isinstance(value, (list, tuple)) else [value]:
                if given is not None:
                    # in one word where the value might be taken for an option
                    dash = str(given).startswith("-")
                    option = f"--{name.replace('_', '-')}"
                    parts += [f"{option}={given}"] if dash else [option, str(given)]
        return shlex.join(parts)
