"""`deduplicate` in stages over files, which can be killed at any moment and continued.

Each stage is a list of tasks, and each task writes one file of the work folder, whole or not at
all: the file is the mark that the task is done. A run does what is not done yet, so that it may be
killed and started again, or be one of several processes that share the tasks:

- signs: the documents of each part of a file are read and signed;
- earlier: which of them are removed for a document of an index, for each part;
- equals: the order of preference, and which documents have equal shingles (one task);
- buckets: the keys of a band are sorted, a piece of them at a time, and give its buckets;
- candidates: which documents share a bucket (one task);
- sets: the shingles of these, for each part;
- verdicts: the walk (one task).

What a task writes depends on the documents and the options alone, so that the result does as well.
The tasks of a stage do not depend on each other: any function that maps as Python's ``map`` does
may run them, in other processes or on other machines that see the same folder.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np

from mercer.dedup.corpus_index import CorpusIndex
from mercer.dedup.signing import Signer, Signs
from mercer.dedup.walk import (
    Members,
    Rules,
    ShingleSets,
    WalkCandidates,
    candidates,
    equal_documents,
    joined,
    packed,
    preferred,
    ranks,
    together,
    walk,
    with_equals,
)
from mercer.dedup.work_folder import WorkFolder, damaged, save_array
from mercer.persistence import Mapped, StagedTasks, nothing, save_arrays, written_whole


class Part(NamedTuple):
    """A run of documents of one file."""

    texts: list[str]
    values: np.ndarray  # by which they are preferred; empty if by nothing
    after: Any  # where the next part begins, as JSON


class Corpus(Protocol):
    """Files of documents, as the stages read them."""

    files: int
    fixed: int  # files of an earlier corpus, which come first

    def parts(self, file: int, after: object) -> Iterator[Part]:
        """The parts of a file after a place, or from its begin where that is None."""
        ...

    def alone(self) -> Corpus:
        """The same without what belongs to this process, such as its screen."""
        ...

    def texts(
        self, file: int, wanted: Sequence[np.ndarray], places: Sequence[Any]
    ) -> Iterator[list[str]]:
        """Some documents of each part, by their numbers in it; ``places`` are those of `Part`."""
        ...


PIECE = 2**24  # keys that are sorted at a time
TOP = np.uint64(44)  # bits below those that choose the piece of a key


class Decisions(NamedTuple):
    """What was decided on all documents of all files, those of the earlier corpus first."""

    partners: np.ndarray  # (n,), int64; -1 for what does not go for one of them
    similarities: np.ndarray
    earlier: np.ndarray  # (n,), int64: the row of an index for which it goes, or -1
    starts: np.ndarray  # the first document of each file, and their number
    empty: int
    compared: int
    full: int

    @property
    def stays(self) -> np.ndarray:
        """Which documents are kept, (n,)."""
        return (self.partners < 0) & (self.earlier < 0)


class Stages(StagedTasks):
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
        Called with the name of a stage, the work done so far and the work in all.
    index : CorpusIndex, optional
        Documents that were seen earlier, of which the first ``segments`` segments are asked.
    """

    said: ClassVar = {
        "signs": "Reading", "earlier": "Asking the index", "equals": "Comparing whole documents",
        "buckets": "Sorting", "candidates": "Collecting", "sets": "Reading what may be equal",
        "verdicts": "Comparing",
    }  # fmt: skip

    def __init__(
        self, folder: Path, corpus: Corpus, signer: Signer, rules: Rules, prefer: str, plan: dict,
        task: tuple[int, int] = (0, 1), tell: Callable[[str, int, int], None] | None = None,
        index: CorpusIndex | None = None, segments: int = 0,
    ):  # fmt: skip
        self.work = WorkFolder(folder, corpus.files, plan, signer.bands.n_bands, bool(segments))
        self.corpus, self.signer, self.rules = corpus, signer, rules
        self.prefer, self.task, self.tell = prefer, task, tell or nothing
        self.index, self.segments = copy.copy(index) if segments else None, segments
        if self.index is not None:
            self.index.folder = self.index.folder.absolute()
        self.n_bands = signer.bands.n_bands

    def run(self, mapped: Mapped | None = None) -> Decisions | None:
        """Do the remaining tasks; None for a process other than the first, when its part is done.

        The first process does the tasks that are single, and returns the result. ``mapped`` runs
        the others: it is called with a function of the number of a task and with the numbers, as
        ``map`` is. The function can be pickled.
        """
        self.mapped = mapped
        files = range(self.corpus.files)
        self.perform_all("signs", files)
        if self.index is not None:
            self.perform_all("earlier", files[self.corpus.fixed :])
        self.perform_one("equals")
        self.perform_all("buckets", range(self.n_bands * self._pieces()))
        self.perform_one("candidates")
        self.perform_all("sets", files)
        if self.task[0] > 0:
            return None
        self.perform_one("verdicts")
        facts, known = self.work.read("verdicts"), self.work.read("equals")
        told = facts["told"].tolist()
        return Decisions(
            facts["partners"], facts["similarities"], facts["earlier"], self.work.file_starts,
            int(known["empty"]), told[0], told[1],
        )  # fmt: skip

    # --- tasks -----------------------------------------------------------------------------------

    def alone(self) -> Stages:
        alone = super().alone()
        alone.corpus = self.corpus.alone()
        vars(alone).pop("_open", None)
        return alone

    def perform_here(self, stage: str, numbers: Sequence[int]) -> None:
        if stage == "buckets":
            return super().perform_here(stage, numbers)
        for k in numbers:  # which tell how far they have read
            self.perform(stage, k)

    def done(self, stage: str, number: int | None = None) -> bool:
        if number is None:
            return self.work.path(stage).exists()
        if stage == "buckets":
            return self.work.part(stage, *divmod(number, self._pieces())).exists()
        if stage == "signs":
            return self.work.whole(number).exists()
        return all(
            self.work.part(stage, number, k).exists() for k in range(self.work.counts[number])
        )

    # --- signs -----------------------------------------------------------------------------------

    def _signs(self, file: int) -> None:
        """The documents of each part, read and signed."""
        done = 0
        while self.work.part("signs", file, done).exists():
            done += 1
        after = self.work.after(file, done - 1) if done else None
        sizes = [self.work.keys(file, k).shape[1] for k in range(done)]
        for part in self.corpus.parts(file, after):
            signs = self.signer.sign(part.texts)
            save_array(self.work.part("keys", file, done), signs.keys)
            save_arrays(
                self.work.part("signs", file, done), digests=signs.digests, contents=signs.contents,
                lengths=signs.lengths, counts=signs.counts, values=part.values,
                after=np.array(json.dumps(part.after)),
            )  # fmt: skip
            sizes.append(len(signs))
            done += 1
        save_arrays(self.work.whole(file), sizes=np.array(sizes, np.int64))

    def _pieces(self) -> int:
        return max(1, -(-int(self.work.starts[-1]) // PIECE))

    @property
    def fixed(self) -> int:
        """How many documents the earlier files have."""
        return int(self.work.file_starts[self.corpus.fixed])

    # --- earlier ---------------------------------------------------------------------------------

    def _earlier(self, file: int) -> None:
        """The document of the index for which each one is removed, or none."""
        index, met = cast(CorpusIndex, self.index), []
        parts = range(self.work.counts[file])
        for k in parts:
            keys = self.work.keys(file, k)
            good = np.flatnonzero(self.work.read("signs", file, k)["counts"] > 0)
            met.append(index.meet(np.asarray(keys), good, self.rules.most_kept, self.segments))
        texts = self.corpus.texts(file, [one.documents for one in met], self.work.places(file))
        for k, some, one in zip(parts, texts, met, strict=True):
            found = index.similar(one, *self.signer.shingles.sets(some), self.rules.threshold)
            start = self.work.starts[sum(self.work.counts[:file]) + k]
            n = int(self.work.starts[sum(self.work.counts[:file]) + k + 1] - start)
            rows, similarities = found.nearest(n)
            save_arrays(
                self.work.part("earlier", file, k), rows=rows, similarities=similarities,
                told=np.array([found.compared, found.full]),
            )  # fmt: skip

    def _earlier_of_all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The index row for which each document is removed, the similarity, and two counts."""
        rows, similarities = np.full(self.work.starts[-1], -1), np.zeros(self.work.starts[-1])
        told = np.zeros(2, np.int64)
        for part, start in zip(self.work.parts, self.work.starts):
            if self.index is not None and part[0] >= self.corpus.fixed:
                facts = self.work.read("earlier", *part)
                here = slice(start, start + len(facts["rows"]))
                rows[here], similarities[here] = facts["rows"], facts["similarities"]
                told += facts["told"]
        return rows, similarities, told

    # --- equals ----------------------------------------------------------------------------------

    def _equals(self) -> None:
        """Write the order of preference of all documents, and the first of those that are equal."""
        n = int(self.work.starts[-1])
        whole = {
            "digests": np.empty((n, 2), np.uint64), "contents": np.empty(n, np.uint64),
            "lengths": np.empty(n, np.int64), "counts": np.empty(n, np.int64),
            "values": np.empty(n),
        }  # fmt: skip
        for part, start, stop in zip(self.work.parts, self.work.starts, self.work.starts[1:]):
            facts = self.work.read("signs", *part)
            for name, array in whole.items():
                array[start:stop] = facts[name]
        given, fixed, values = whole.pop("values"), self.fixed, None
        signs = Signs(np.empty((0, n), np.uint64), **whole)
        if self.prefer == "longest":
            values = signs.lengths[fixed:]
        elif self.prefer == "value":
            values = np.unique(given[fixed:], return_inverse=True)[1]
        rank = ranks(preferred(signs, fixed, values))
        first = equal_documents(signs, rank)
        first[signs.counts == 0] = -1
        save_arrays(
            self.work.path("equals"),
            rank=rank,
            first=first,
            empty=np.array((signs.counts == 0).sum()),
        )

    # --- buckets ---------------------------------------------------------------------------------

    def _buckets(self, number: int) -> None:
        """The buckets of a band whose keys are in one of so many pieces."""
        pieces, n, pairs = self._pieces(), int(self.work.starts[-1]), []
        band, piece = divmod(number, pieces)
        alone = self._alone()
        for start, part in zip(self.work.starts, self.work.parts):
            key = self.work.keys(*part)[band]
            here = alone[start : start + len(key)]
            if pieces > 1:
                here = here & ((key >> TOP) % np.uint64(pieces) == piece)
            rows = np.flatnonzero(here)
            pairs.append(packed(np.asarray(key)[rows], rows + start, n))
        keys = np.concatenate([np.zeros(0, np.uint64), *pairs])
        del pairs
        keys.sort()
        found = together(keys, n)
        save_arrays(
            self.work.part("buckets", band, piece), rows=found.rows, buckets=found.buckets,
            count=np.array(found.count),
        )  # fmt: skip

    def _alone(self) -> np.ndarray:
        """Which documents are compared with others: the first of equal ones, if it has not gone."""
        if "_open" not in self.__dict__:
            first = self.work.read("equals")["first"]
            self._open = first == np.arange(len(first))
            if self.index is not None:
                self._open &= self._earlier_of_all()[0] < 0
        return self._open

    def _members(self) -> WalkCandidates:
        tasks = [divmod(k, self._pieces()) for k in range(self.n_bands * self._pieces())]
        loaded = [self.work.read("buckets", *task) for task in tasks]
        members = joined([Members(f["rows"], f["buckets"], int(f["count"])) for f in loaded])
        rank = self.work.read("equals")["rank"]
        return candidates(members, rank, self.fixed, self.rules)

    def _candidates(self) -> None:
        save_arrays(self.work.path("candidates"), rows=np.sort(self._members().rows))

    # --- sets ------------------------------------------------------------------------------------

    def _sets(self, file: int) -> None:
        """The shingles of the candidates of each part, in the order of the part."""
        rows = self.work.read("candidates")["rows"]
        none, before, asked = np.zeros(0, np.int64), sum(self.work.counts[:file]), []
        done = [self.work.part("sets", file, k).exists() for k in range(self.work.counts[file])]
        for k, there in enumerate(done):
            start, stop = self.work.starts[before + k : before + k + 2]
            here = rows[np.searchsorted(rows, start) : np.searchsorted(rows, stop)]
            asked.append(none if there else here - start)
        texts = self.corpus.texts(file, asked, self.work.places(file))
        for k, (there, some) in enumerate(zip(done, texts, strict=True)):
            if not there:
                values, starts = self.signer.shingles.sets(some)
                save_array(self.work.part("shingles", file, k), values)
                save_arrays(self.work.part("sets", file, k), starts=starts)

    # --- verdicts --------------------------------------------------------------------------------

    def _verdicts(self) -> None:
        """Write which document each one is a copy of."""
        n, chosen = int(self.work.starts[-1]), self._members()
        first = self.work.read("equals")["first"]
        first = np.where(first < 0, np.arange(n), first)
        found = walk(chosen, self._in_order(chosen), self.rules, n)
        found = with_equals(found, first, self.fixed, self.rules)
        earlier, similar, told = self._earlier_of_all()
        gone = earlier >= 0
        save_arrays(
            self.work.path("verdicts"), partners=np.where(gone, -1, found.partners),
            similarities=np.where(gone, similar, found.similarities), earlier=earlier,
            told=told + np.array([found.compared, found.full]),
        )  # fmt: skip

    def _in_order(self, chosen: WalkCandidates) -> ShingleSets:
        """The shingles of all candidates; they stay in a file, which the system reads as needed."""
        whole, lengths = self.work.folder / "shingles.bin", []
        with written_whole(whole) as file:
            for part in self.work.parts:
                starts, values = self.work.read("sets", *part)["starts"], self.work.shingles(*part)
                if len(values) != starts[-1]:
                    raise ValueError(damaged(self.work.part("shingles", *part), "it is too short"))
                lengths.append(np.diff(starts))
                file.write(values.data)
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))
        if len(ends) != len(chosen.rows) + 1:
            raise ValueError(damaged(self.work.path("candidates"), "it has others than the bands"))
        place = np.searchsorted(np.sort(chosen.rows), chosen.rows)
        values = np.zeros(0, np.uint64)
        if ends[-1]:
            values = np.asarray(np.memmap(whole, np.uint64, "r"))
        return ShingleSets(values, ends[place], ends[place + 1])
