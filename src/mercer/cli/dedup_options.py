"""The options of ``mercer dedup``, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mercer.cli.errors import OptionError, of_option
from mercer.dedup import Bands, Characters, Shingles, Words, choose_bands


@dataclass(frozen=True, kw_only=True)
class DedupOptions:
    """The options of ``mercer dedup``, as `mercer.cli.app.dedup` describes them."""

    files: list[Path]
    column: str
    output: Path | None
    threshold: float
    keep: str
    words: int | None
    characters: int | None
    recall: float
    against: list[Path]
    most_kept: int
    malformed: str
    pairs: Path | None
    report: Path | None
    work: Path | None
    task: str | None
    fail: bool
    sep: str | None
    seed: int
    force: bool
    json: bool
    quiet: bool

    def shingles(self) -> Shingles:
        if self.words is not None and self.characters is not None:
            raise OptionError("--words and --characters: give one of them.")
        for name, size in (("words", self.words), ("characters", self.characters)):
            if size is not None and size < 1:
                raise OptionError(f"--{name} {size}: give a number, at least 1.")
        if self.characters is not None:
            return Characters(self.characters)
        return Words() if self.words is None else Words(self.words)

    def bands(self) -> Bands:
        for name, value in (("threshold", self.threshold), ("recall", self.recall)):
            if not 0 < value <= 1 or (name == "recall" and value == 1):
                raise OptionError(f"--{name} {value:g}: give a number between 0 and 1.")
        if self.most_kept < 1:
            raise OptionError(f"--most-kept {self.most_kept}: give a number, at least 1.")
        with of_option(OptionError):
            return choose_bands(self.threshold, self.recall)

    def tasks(self) -> tuple[int, int]:
        if self.task is None:
            return 0, 1
        number, _, count = self.task.partition("/")
        if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
            raise OptionError(f"--task {self.task}: give its number and how many, as in 2/8.")
        if self.work is None:
            raise OptionError("--task: give --work, a folder that all tasks share.")
        return int(number) - 1, int(count)

    @property
    def outputs(self) -> list[Path]:
        return [path for path in (self.output, self.pairs, self.report) if path is not None]
