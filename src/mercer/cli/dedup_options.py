"""The options of ``mercer dedup``, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.utils import check_random_state

from mercer.cli.errors import OptionError, of_option
from mercer.cli.options import check_seed
from mercer.dedup import Bands, Characters, CorpusIndex, Shingles, Signer, Words, choose_bands


@dataclass(frozen=True, kw_only=True)
class DedupOptions:
    """The options of ``mercer dedup``, which search_commands.py describes."""

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
    index: Path | None = None
    bits: int | None = None
    executor: Any = None

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
        check_seed(self.seed)
        if self.most_kept < 1:
            raise OptionError(f"--most-kept {self.most_kept}: give a number, at least 1.")
        with of_option(OptionError):
            return choose_bands(self.threshold, self.recall)

    def opened_index(self) -> CorpusIndex | None:
        """The index that is there; None if there is none yet, or none is asked for."""
        if self.bits is not None and self.index is None:
            raise OptionError("--bits: give --index, the folder of an index.")
        shingles, bands = self.shingles(), self.bands()
        if self.index is None or not self.index.exists() or not any(self.index.iterdir()):
            return None
        found = CorpusIndex.open(self.index)
        given = {"threshold": self.threshold, "recall": self.recall, "bits": self.bits}
        asked = {name: value for name, value in given.items() if value != getattr(found, name)}
        if bands == found.bands:
            asked.pop("recall", None)
        if self.threshold > found.threshold:
            asked.pop("threshold", None)
        if self.bits is None:
            asked.pop("bits", None)
        if shingles != found.shingles:
            raise OptionError(
                f"--index {self.index}: it was made with {found.shingles!r}; give the same --words "
                "or --characters, or another folder."
            )
        for name, value in asked.items():
            raise OptionError(
                f"--{name} {value:g}: the index {self.index} was made with "
                f"{getattr(found, name) or 'the shingles'}; give the same, or another folder."
            )
        return found

    def signer(self) -> Signer:
        """What reads documents as an index does that is made with the same options."""
        seed = int(check_random_state(self.seed).randint(2**31))
        return Signer(self.shingles(), self.bands(), seed)

    def new_index(self) -> CorpusIndex:
        """The index, made now."""
        if self.index is None:
            raise OptionError("--index: give a folder.")
        return CorpusIndex.create(
            self.index, threshold=self.threshold, recall=self.recall, shingles=self.shingles(),
            bits=self.bits, random_state=self.seed,
        )  # fmt: skip

    def tasks(self) -> tuple[int, int]:
        if self.task is None:
            return 0, 1
        number, _, count = self.task.partition("/")
        if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
            raise OptionError(f"--task {self.task}: give its number and how many, as in 2/8.")
        if self.work is None:
            raise OptionError("--task: give --work, a folder that all tasks share.")
        if self.executor is not None:
            raise OptionError("--task and --executor: give one of them.")
        return int(number) - 1, int(count)

    @property
    def written(self) -> list[tuple[str, Path]]:
        """The files that are written, with their options."""
        given = {"--output": self.output, "--pairs": self.pairs, "--report": self.report}
        return [(name, path) for name, path in given.items() if path is not None]

    @property
    def folders(self) -> list[tuple[str, Path]]:
        """The folders that are filled, with their options."""
        given = {"--work": self.folder, "--index": self.index}
        return [(name, path) for name, path in given.items() if path is not None]

    @property
    def folder(self) -> Path | None:
        """The folder of the stages; None for a passing one, where no file is written."""
        if self.work is not None or not self.written:
            return self.work
        first = self.written[0][1]
        return first.with_name(f"{first.name}.work")
