"""The same job in stages over files, which can be killed at any moment and go on.

Each stage is a list of tasks, and each task writes one file of the work folder, whole or not at
all: the file is the mark that the task is done. A run does what is not done yet, so that it may be
killed and started again, or be one of several processes that share the tasks:

- signs: the documents of each part of a file are read and signed;
- equals: the order of preference, and which documents have equal shingles (one task);
- bands: the keys of a band are sorted, a piece of them at a time, and give its buckets;
- sets: the shingles of the documents that share a bucket, for each part;
- verdicts: the walk (one task).

What a task writes depends on the documents and the options alone, so that the result does as well.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from mercer.dedup.buckets import Members, joined, packed, together
from mercer.dedup.signing import Signer, Signs
from mercer.dedup.walk import (
    Candidates,
    Rules,
    Sets,
    Verdicts,
    candidates,
    equal_documents,
    preferred,
    ranks,
    walk,
    with_equals,
)
from mercer.persistence import write_whole, written_whole

FORMAT, PLAN = 1, "plan.json"
PIECE = 2**24  # keys that are sorted at a time
PAUSE = 0.2  # seconds between two looks for what another process is to write
TOP = np.uint64(44)  # bits below those that choose the piece of a key


class Part(NamedTuple):
    """A run of documents of one file."""

    texts: list[str]
    values: np.ndarray  # by which they are preferred; empty if by nothing
    after: Any  # where the next part begins, as JSON


class Corpus(Protocol):
    """Files of documents, as the stages read them."""

    files: int
    fixed: int  # files of an earlier corpus, which come first

    def parts(self, file: int, after: Any) -> Iterator[Part]:
        """The parts of a file after a place, or from its begin where that is None."""
        ...

    def texts(
        self, file: int, wanted: Sequence[np.ndarray], places: Sequence[Any]
    ) -> Iterator[list[str]]:
        """Some documents of each part, by their numbers in it; ``places`` are those of `Part`."""
        ...


class Result(NamedTuple):
    """What was decided on all documents of all files, those of the earlier corpus first."""

    partners: np.ndarray  # (n,), int64; -1 for what is kept
    similarities: np.ndarray
    starts: np.ndarray  # the first document of each file, and their number
    empty: int
    compared: int
    full: int


class Stages:
    """The stages of one job.

    Parameters
    ----------
    folder : Path
        The work folder, which is made if there is none.
    corpus : Corpus
    signer : Signer
    rules : Rules
    prefer : {"first", "longest", "value"}
    plan : dict
        All that the result depends on: options, files and their stamps. A folder with another
        plan is refused.
    task : (int, int), default=(0, 1)
        The number of this process, from 0, and how many share the tasks.
    tell : callable, optional
        Called with the name of a stage, what is done and what there is to do.
    """

    def __init__(
        self, folder: Path, corpus: Corpus, signer: Signer, rules: Rules, prefer: str, plan: dict,
        task: tuple[int, int] = (0, 1), tell: Callable[[str, int, int], None] | None = None,
    ):  # fmt: skip
        self.folder, self.corpus, self.signer, self.rules = folder, corpus, signer, rules
        self.prefer, self.task, self.tell = prefer, task, tell or (lambda *_: None)
        self.n_bands = signer.bands.n_bands
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / PLAN).exists():
            write_whole(folder / PLAN, _as_text(plan).encode())
        if is_of_another(folder, plan):
            raise ValueError(
                f"{folder} belongs to a job with other files, options or another version. Give "
                "another folder, or remove this one."
            )

    def run(self) -> Result | None:
        """Do what is left to do; None for a process whose part is done, and that is not the first.

        The first process does the tasks that are single, and returns the result.
        """
        first = self.task[0] == 0
        self._signs()
        signs = self._facts()
        if first and not self._path("equals").exists():
            self._equals(signs)
        self._wait([self._path("equals")], "the order of preference")
        self._bands(signs)
        chosen = self._candidates()
        self._sets(chosen)
        if not first:
            return None
        verdicts = self._verdicts(chosen)
        return Result(
            verdicts.partners, verdicts.similarities, self._file_starts(),
            int((signs.counts == 0).sum()), verdicts.compared, verdicts.full,
        )  # fmt: skip

    # --- signs -----------------------------------------------------------------------------------

    def _signs(self) -> None:
        """The documents of each part, read and signed."""
        for file in self._mine(self.corpus.files):
            if self._whole(file).exists():
                continue
            done = 0
            while self._part("signs", file, done).exists():
                done += 1
            after = self._after(file, done - 1) if done else None
            for part in self.corpus.parts(file, after):
                signs = self.signer.sign(part.texts)
                _save_array(self._part("keys", file, done), signs.keys)
                _save(
                    self._part("signs", file, done), digests=signs.digests,
                    contents=signs.contents, lengths=signs.lengths, counts=signs.counts,
                    values=part.values, after=np.array(json.dumps(part.after)),
                )  # fmt: skip
                done += 1
            _save(self._whole(file), parts=np.array(done))
        self._wait(map(self._whole, range(self.corpus.files)), "the documents of a file")

    def _whole(self, file: int) -> Path:
        """The mark that all parts of a file are signed."""
        return self._path(f"file-{file:05d}")

    def _after(self, file: int, number: int) -> Any:
        with np.load(self._part("signs", file, number)) as archive:
            return json.loads(str(archive["after"]))

    def places(self, file: int) -> list[Any]:
        """Where each part of a file ends, as `Part.after` says."""
        return [self._after(*part) for part in self.parts if part[0] == file]

    def _facts(self) -> Signs:
        """What was read of all documents, without their keys."""
        counts = [int(_load(self._whole(file))["parts"]) for file in range(self.corpus.files)]
        self.parts = [(file, k) for file, count in enumerate(counts) for k in range(count)]
        loaded = [_load(self._part("signs", *part)) for part in self.parts]
        self.sizes = np.array([len(facts["counts"]) for facts in loaded], np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        if self.prefer == "value":
            self.values = np.concatenate([facts["values"] for facts in loaded])
        whole = {
            name: np.concatenate([facts[name] for facts in loaded])
            for name in ("digests", "contents", "lengths", "counts")
        }
        return Signs(np.empty((0, int(self.starts[-1])), np.uint64), **whole)

    def _file_starts(self) -> np.ndarray:
        files = np.array([file for file, _ in self.parts])
        sizes = np.bincount(files, weights=self.sizes, minlength=self.corpus.files)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def fixed(self) -> int:
        """How many documents the earlier corpus has."""
        return int(self._file_starts()[self.corpus.fixed])

    # --- equals ----------------------------------------------------------------------------------

    def _equals(self, signs: Signs) -> None:
        fixed, values = self.fixed, None
        if self.prefer == "longest":
            values = signs.lengths[fixed:]
        elif self.prefer == "value":
            values = np.unique(self.values[fixed:], return_inverse=True)[1]
        rank = ranks(preferred(signs, fixed, values))
        first = equal_documents(signs, rank)
        first[signs.counts == 0] = -1
        _save(self._path("equals"), rank=rank, first=first)

    # --- bands -----------------------------------------------------------------------------------

    def _bands(self, signs: Signs) -> None:
        n = len(signs)
        pieces = max(1, -(-n // PIECE))
        tasks = [(b, p) for b in range(self.n_bands) for p in range(pieces)]
        first = _load(self._path("equals"))["first"]
        alone = first == np.arange(n)
        for done, k in enumerate(mine := self._mine(len(tasks))):
            self.tell("Sorting", done, len(mine))
            if not self._part("buckets", *tasks[k]).exists():
                found = self._piece(*tasks[k], pieces, alone)
                _save(
                    self._part("buckets", *tasks[k]), rows=found.rows, buckets=found.buckets,
                    count=np.array(found.count),
                )  # fmt: skip
        self._wait((self._part("buckets", *task) for task in tasks), "the buckets of a band")
        self.tasks = tasks

    def _piece(self, band: int, piece: int, pieces: int, alone: np.ndarray) -> Members:
        """The buckets of a band whose keys are in one of so many pieces."""
        n, pairs = len(alone), []
        for start, part in zip(self.starts, self.parts):
            key = np.load(self._part("keys", *part), mmap_mode="r")[band]
            here = alone[start : start + len(key)]
            if pieces > 1:
                here = here & ((key >> TOP) % np.uint64(pieces) == piece)
            rows = np.flatnonzero(here)
            pairs.append(packed(np.asarray(key)[rows], rows + start, n))
        keys = np.concatenate(pairs)
        keys.sort()
        return together(keys, n)

    def _candidates(self) -> Candidates:
        loaded = [_load(self._part("buckets", *task)) for task in self.tasks]
        members = joined([Members(f["rows"], f["buckets"], int(f["count"])) for f in loaded])
        rank = _load(self._path("equals"))["rank"]
        return candidates(members, rank, self.fixed, self.rules)

    # --- sets ------------------------------------------------------------------------------------

    def _sets(self, chosen: Candidates) -> None:
        """The shingles of the candidates of each part, in the order of the part."""
        rows = np.sort(chosen.rows)
        ends = np.searchsorted(rows, self.starts)
        wanted = {
            part: rows[s:e] - start
            for part, s, e, start in zip(self.parts, ends[:-1], ends[1:], self.starts)
        }
        for file in self._mine(self.corpus.files):
            own = [part for part in self.parts if part[0] == file]
            done = [self._part("sets", *part).exists() for part in own]
            if all(done):
                continue
            none = np.zeros(0, np.int64)
            asked = [none if there else wanted[part] for part, there in zip(own, done)]
            texts = self.corpus.texts(file, asked, self.places(file))
            for part, there, some in zip(own, done, texts, strict=True):
                if not there:
                    values, starts = self.signer.shingles.sets(some)
                    _save_array(self._part("shingles", *part), values)
                    _save(self._part("sets", *part), starts=starts)
        self._wait((self._part("sets", *part) for part in self.parts), "the shingles of a file")
        self.rows = rows

    # --- verdicts --------------------------------------------------------------------------------

    def _verdicts(self, chosen: Candidates) -> Verdicts:
        path, n = self._path("verdicts"), int(self.starts[-1])
        if not path.exists():
            self.tell("Comparing", 0, 1)
            first = _load(self._path("equals"))["first"]
            first = np.where(first < 0, np.arange(n), first)
            found = walk(chosen, self._in_order(chosen), self.rules, n)
            found = with_equals(found, first, self.fixed, self.rules)
            _save(
                path, partners=found.partners, similarities=found.similarities,
                told=np.array([found.compared, found.full]),
            )  # fmt: skip
        facts = _load(path)
        return Verdicts(facts["partners"], facts["similarities"], *map(int, facts["told"]))

    def _in_order(self, chosen: Candidates) -> Sets:
        """The shingles of all candidates; they stay in a file, which the system reads as needed."""
        whole, lengths = self.folder / "shingles.bin", []
        with written_whole(whole) as file:
            for part in self.parts:
                lengths.append(np.diff(_load(self._part("sets", *part))["starts"]))
                file.write(np.load(self._part("shingles", *part), mmap_mode="r").data)
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))
        place = np.searchsorted(self.rows, chosen.rows)
        values = np.zeros(0, np.uint64)
        if ends[-1]:
            values = np.asarray(np.memmap(whole, np.uint64, "r"))
        return Sets(values, ends[place], ends[place + 1])

    # --- files -----------------------------------------------------------------------------------

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npz"

    def _part(self, name: str, a: int, b: int) -> Path:
        suffix = ".npy" if name in ("keys", "shingles") else ".npz"
        return self.folder / f"{name}-{a:05d}-{b:06d}{suffix}"

    def _mine(self, count: int) -> range:
        """The tasks of this process."""
        return range(self.task[0], count, self.task[1])

    def _wait(self, paths: Any, what: str) -> None:
        """Wait for what other processes write."""
        paths = list(paths)
        while missing := [path for path in paths if not path.exists()]:
            self.tell(f"Waiting for {what}", len(paths) - len(missing), len(paths))
            time.sleep(PAUSE)


def is_of_another(folder: Path, plan: dict) -> bool:
    """Whether a folder holds the stages of a job with another plan."""
    path = folder / PLAN
    return path.exists() and path.read_text() != _as_text(plan)


def _as_text(plan: dict) -> str:
    return json.dumps(plan | {"format": FORMAT}, sort_keys=True, indent=1)


def _save(path: Path, **arrays: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def _save_array(path: Path, array: np.ndarray) -> None:
    with written_whole(path) as file:
        # numpy would write by itself, and not say which error it was
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)


def _load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as archive:
        return dict(archive)
