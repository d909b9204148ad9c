"""Candidates and their levels in stages of tasks, which other processes and machines may share.

- views: what of each column others may share, and what each view alone costs;
- doubles: what pairs of views cost, some of them at a time;
- passes: which ones are made (one task);
- found: the pairs of a pass, by the shard of their left record;
- crowded: how many records no pass compares (one task);
- levels: the pairs of a shard, each once, and how they agree.

What a task makes depends on the records and the parameters alone, so that the answer does as well.
It is kept in memory, or in the files of a folder: then a fit that was killed goes on, and processes
that see the folder share the work. They read the columns from it. The folder belongs to one job:
the same tables with the same parameters and version. Files of another job are replaced; processes
with numbers (``task``) refuse them, since others may be at work on them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.link.candidates import (
    Costs,
    Pass,
    Views,
    asked_passes,
    choose_passes,
    each_once,
    room_of,
    sides_of,
)
from mercer.link.columns import Coded, Symbols
from mercer.link.kinds import KINDS, BlockingView, whole_view
from mercer.link.link_columns import LinkColumn
from mercer.link.records import Comparer, Records
from mercer.persistence import (
    Mapped,
    StagedTasks,
    load_arrays,
    nothing,
    read_json,
    save_arrays,
    write_whole,
)
from mercer.threads import ordered_map, raise_if_stopped

SHARD = 2**17  # left records of a shard
DOUBLES = 8  # tasks of the stage of this name
PLAN = "plan.json"
Fits = Callable[[str, int, dict[str, np.ndarray]], bool]  # of a stage, a task and what it made
STAGE = re.compile(r"(columns|views|doubles|passes|found|crowded|levels)(-\d{5})?\.npz")


class Kept:
    """Arrays of finished tasks, in memory or in the files of a folder, which others may share."""

    def __init__(
        self,
        folder: str | os.PathLike | None = None,
        plan: dict[str, Any] | None = None,
        shared: bool = False,
    ):
        self.folder = None if folder is None else Path(folder).absolute()
        self.known: dict[str, dict[str, np.ndarray]] = {}
        self.unchecked: set[str] = set()  # files of earlier processes
        # other processes never take one job for another
        self.plan = text = json.dumps((plan or {}) | {"shard": SHARD}, sort_keys=True)
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / PLAN
        there = [file.name for file in self.folder.iterdir()]
        ours = _is_ours if path.exists() else _is_new
        others = [name for name in there if not ours(name)]
        if others:
            raise ValueError(
                f"work: the folder {folder} holds {others[0]!r}, which is no file of a linkage. "
                "Move it away, or give another folder."
            )
        if path.exists() and path.read_bytes() != text.encode():
            if shared:
                raise ValueError(
                    f"work: the folder {folder} belongs to a job with other tables or parameters. "
                    "Give another folder, or remove this one."
                )
            _remove_ours(self.folder)
        else:
            self.unchecked = set(there)
        if not path.exists():
            write_whole(path, text.encode())

    def done(self, stage: str, number: int | None, fits: Fits) -> bool:
        """Whether a task was done. A file of an earlier process that is damaged, or does not
        ``fit``, is removed when it is asked for, and made again."""
        name = _name_of(stage, number)
        if self.folder is None:
            return name in self.known
        path = self.folder / name
        if name in self.unchecked:
            with suppress(FileNotFoundError):  # another process has removed it
                try:
                    right = fits(stage, number or 0, load_arrays(path))
                except (ValueError, LookupError, TypeError):
                    right = False
                if not right:
                    path.unlink()
            self.unchecked.discard(name)
        return path.exists()

    def put(self, stage: str, number: int | None = None, **arrays: np.ndarray) -> None:
        """Keep what a task has made."""
        name = _name_of(stage, number)
        if self.folder is None:
            self.known[name] = arrays
        else:
            save_arrays(self.folder / name, **arrays)

    def get(self, stage: str, number: int | None = None, *names: str) -> dict[str, np.ndarray]:
        """What a task has made, or some of its arrays."""
        name = _name_of(stage, number)
        return self.known[name] if self.folder is None else load_arrays(self.folder / name, *names)

    def free(self, stage: str) -> None:
        """Forget a stage that is needed no more, if it is in memory."""
        self.known = {n: found for n, found in self.known.items() if not n.startswith(stage)}


def _name_of(stage: str, number: int | None) -> str:
    return f"{stage}.npz" if number is None else f"{stage}-{number:05d}.npz"


def _is_new(name: str) -> bool:
    """Whether a file was being written when a fit was killed."""
    return name.startswith(".mercer-") and name.endswith(".tmp")


def _is_ours(name: str) -> bool:
    return name == PLAN or STAGE.fullmatch(name) is not None or _is_new(name)


def _remove_ours(folder: Path) -> None:
    for file in folder.iterdir():
        if _is_ours(file.name):
            file.unlink(missing_ok=True)


def forget_stages(folder: Path) -> None:
    """Remove the folder of a job that is done, but for what others put there."""
    if (folder / PLAN).is_file():
        with suppress(FileNotFoundError):  # another process removes it, too
            _remove_ours(folder)
            if not any(folder.iterdir()):
                folder.rmdir()


# --- the stages -----------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """The pairs that are compared.

    Attributes
    ----------
    passes : list of Pass
        What finds them.
    left, right : ndarray of shape (pairs,)
        Their records, in order.
    levels : ndarray of shape (pairs, d)
    crowded : float
        The share of all records whose blocks are all too large.
    """

    passes: list[Pass]
    left: np.ndarray
    right: np.ndarray
    levels: np.ndarray
    crowded: float


class LinkStages(StagedTasks):
    """The stages of one job.

    ``ranks`` are the records in an order that does not depend on that of the tables; ``cap`` is the
    size of the largest block, ``per_record`` how many pairs are compared for each record.
    """

    said: ClassVar = {
        "columns": "Writing columns", "views": "Counting shared values",
        "doubles": "Counting shared pairs of values", "passes": "Choosing passes",
        "found": "Finding pairs", "crowded": "Counting records in large blocks only",
        "levels": "Comparing pairs",
    }  # fmt: skip
    #: of other processes: the columns, and those of samples, which cannot be written without pickle
    specs: list[dict[str, Any]]
    samples: dict[str, Coded]

    def __init__(
        self,
        records: Records,
        kept: Kept,
        ranks: np.ndarray | None = None,
        *,
        cap: int,
        per_record: float = 0.0,
        n_jobs: int | None = 1,
        comparer: Comparer | None = None,
        task: tuple[int, int] = (0, 1),
    ):
        self.kept, self.ranks, self.n_jobs, self.tell = kept, ranks, n_jobs, nothing
        self.cap, self.per_record, self.first = cap, per_record, records.first
        self.task = task
        lefts = records.first or records.n
        count = max(1, -(-lefts // SHARD))
        self.bounds = [lefts * k // count for k in range(count + 1)]
        self.columns = range(len(records.columns))
        # set, and not made when they are asked for
        vars(self)["records"] = records
        vars(self)["comparer"] = comparer or Comparer(records, n_jobs)

    def run(self, mapped: Mapped | None = None) -> Candidates:
        """Do the remaining tasks; ``mapped`` runs them in other processes."""
        self.mapped = mapped
        shards = range(len(self.bounds) - 1)
        if mapped is not None:
            self.perform_here("columns", self.columns)
        if not self.done("passes"):
            self.perform_all("views", self.columns)
            self.perform_all("doubles", range(DOUBLES))
            self.perform_one("passes")
        passes = self._passes_made
        if not (self.done("crowded") and all(self.done("levels", k) for k in shards)):
            if mapped is None:  # each view once, before threads ask for it
                list(ordered_map(self.views.made, self.columns, self.n_jobs))
            self.perform_all("found", range(len(passes)))
            self.perform_one("crowded")
        self.kept.free("views")
        vars(self).pop("views", None)
        self.perform_all("levels", shards)
        self.kept.free("found")
        left, right = sides_of(self._joined("pairs"))
        levels = self._joined("levels")
        self.kept.free("levels")
        crowded = float(self.kept.get("crowded")["share"])
        return Candidates(passes, left, right, levels, crowded)

    def run_passes(self, passes: Sequence[Pass]) -> Candidates:
        """The same by passes that are known."""
        self._put_passes(passes)
        return self.run()

    # --- tasks ------------------------------------------------------------------------------------

    def done(self, stage: str, number: int | None = None) -> bool:
        return self.kept.done(stage, number, self._fits)

    def alone(self) -> LinkStages:
        alone = super().alone()
        alone.ranks, alone.n_jobs = None, 1
        for name in ("comparer", "views"):
            vars(alone).pop(name, None)
        known: Records = vars(alone).pop("records")
        alone.specs = [vars(spec) for spec in known.specs]
        alone.samples = {c.name: c for c in known.columns if c.samples is not None}
        return alone

    def perform_here(self, stage: str, numbers: Sequence[int]) -> None:
        # in threads
        for _ in ordered_map(lambda k: self.perform(stage, k), numbers, self.n_jobs):
            raise_if_stopped()

    def _fits(self, stage: str, number: int, arrays: dict[str, np.ndarray]) -> bool:
        """Whether numbers are those that a task can have made."""
        n, d = len(self.records.columns[0].codes), len(self.columns)
        if stage == "passes":
            read_json(arrays["passes"].tobytes())
        if stage == "levels":
            levels, pairs = arrays["levels"], arrays["pairs"]
            return self._of_shard(pairs, number, n) and are_levels(levels, (len(pairs), d))
        if stage == "found":
            seen, shape = (arrays["any"], arrays["small"]), (-(-n // 8),)
            return all(one.dtype == np.uint8 and one.shape == shape for one in seen) and all(
                self._of_shard(arrays[f"shard{k}"], k, n) for k in range(len(self.bounds) - 1)
            )
        return True

    def _of_shard(self, pairs: np.ndarray, shard: int, n: int) -> bool:
        """Whether these are pairs of a shard."""
        if not are_pairs(pairs, n):
            return False
        left, bounds = pairs >> np.uint64(32), self.bounds[shard : shard + 2]
        return not len(left) or bool(bounds[0] <= left.min() and left.max() < bounds[1])

    # --- columns, in other processes --------------------------------------------------------------

    def _columns(self, k: int) -> None:
        column = self.records.columns[k]
        if column.samples is None:
            symbols, starts = column.symbols.texts
            self.kept.put("columns", k, codes=column.codes, symbols=symbols, starts=starts)

    @cached_property
    def records(self) -> Records:
        """The records, as they stand in the folder."""
        specs = [LinkColumn(**spec) for spec in self.specs]
        columns = [
            self.samples.get(spec.name) or self._column(k, spec) for k, spec in enumerate(specs)
        ]
        return Records(specs, columns, [], self.first)

    def _column(self, k: int, spec: LinkColumn) -> Coded:
        found = self.kept.get("columns", k)
        values = Symbols.spelled(found["symbols"], found["starts"])
        return Coded(spec.name, KINDS[spec.kind], values, found["codes"], self.first)

    @cached_property
    def comparer(self) -> Comparer:
        return Comparer(self.records, self.n_jobs)

    # --- views ------------------------------------------------------------------------------------

    @cached_property
    def views(self) -> Views:
        return Views(self.records.columns, self.cap, lru_cache(None)(self._made))

    def _made(self, k: int) -> list[BlockingView]:
        """The views of a column, which other tasks may have made."""
        column = self.records.columns[k]
        if not self.done("views", k):
            return column.kind.views(column)
        found = self.kept.get("views", k)
        return [
            whole_view(column) if label == "=" else BlockingView(label, found[f"parts{i}"])
            for i, label in enumerate(found["labels"].tolist())
        ]

    def _views(self, k: int) -> None:
        """Write the parts by which column k finds pairs, and what each would cost."""
        column = self.records.columns[k]
        made = column.kind.views(column)
        alone = Views(self.records.columns, self.cap, lambda _: made)
        parts = {f"parts{i}": view.parts for i, view in enumerate(made) if view.label != "="}
        costs = [alone.cost(((k, view.label),)) for view in made]
        labels = np.array([view.label for view in made], "U8")
        self.kept.put("views", k, labels=labels, costs=_as_array(costs), **parts)

    def _singles(self) -> Costs:
        """What each view alone costs."""
        found: Costs = {}
        for k in self.columns:
            made = self.kept.get("views", k, "labels", "costs")
            for label, cost in zip(made["labels"].tolist(), _as_costs(made["costs"])):
                found[((k, label),)] = cost
        return found

    # --- passes -----------------------------------------------------------------------------------

    def _doubles(self, number: int) -> None:
        asked = asked_passes(self.views.n, self._singles())[number::DOUBLES]
        self.kept.put("doubles", number, costs=_as_array([self.views.cost(each) for each in asked]))

    def _passes(self) -> None:
        """Choose the passes, from the costs of single parts and of two together."""
        costs = self._singles()
        asked = asked_passes(self.views.n, costs)
        found: dict = {}
        for number in range(DOUBLES):
            own = _as_costs(self.kept.get("doubles", number)["costs"])
            found |= zip(asked[number::DOUBLES], own)
        costs |= {each: found[each] for each in asked}
        assert self.ranks is not None
        self._put_passes(choose_passes(self.views, costs, self.ranks, self.per_record))

    def _put_passes(self, passes: Sequence[Pass]) -> None:
        text = json.dumps([tuple(one) for one in passes])
        self.kept.put("passes", passes=np.frombuffer(text.encode(), np.uint8))

    @property
    def _passes_made(self) -> list[Pass]:
        told = read_json(self.kept.get("passes")["passes"].tobytes())
        return [Pass(tuple(map(tuple, places)), *rest) for places, *rest in told]

    # --- pairs ------------------------------------------------------------------------------------

    def _found(self, number: int) -> None:
        """Write the pairs that one pass finds, in shards."""
        one = self._passes_made[number]
        pairs, seen = self.views.found_by(one.views, room_of(one, self.views.n))
        cuts = np.searchsorted(pairs, np.array(self.bounds, np.uint64) << np.uint64(32))
        self.kept.put(
            "found", number, any=np.packbits(seen > 0), small=np.packbits(seen == 3),
            **{f"shard{k}": pairs[a:b] for k, (a, b) in enumerate(pairwise(cuts.tolist()))},
        )  # fmt: skip

    def _of_passes(self, *names: str) -> Iterator[list[np.ndarray]]:
        for number in range(len(self._passes_made)):
            found = self.kept.get("found", number, *names)
            yield [found[name] for name in names]

    def _crowded(self) -> None:
        """Write the share of records whose parts are all in blocks that are too large."""
        n = len(self.records.columns[0].codes)
        seen = np.zeros((2, -(-n // 8)), np.uint8)
        for own in self._of_passes("any", "small"):
            seen |= own
        alone = np.unpackbits(seen[0] & ~seen[1], count=n)
        self.kept.put("crowded", share=np.array(alone.mean()))

    def _levels(self, shard: int) -> None:
        parts = [own for (own,) in self._of_passes(f"shard{shard}")]
        pairs = each_once(np.concatenate([np.empty(0, np.uint64), *parts]))
        self.kept.put("levels", shard, pairs=pairs, levels=self.comparer.levels(*sides_of(pairs)))

    def _joined(self, name: str) -> np.ndarray:
        """An array of all shards."""
        parts = [self.kept.get("levels", k, name)[name] for k in range(len(self.bounds) - 1)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _as_array(costs: list[tuple[int, float]]) -> np.ndarray:
    return np.array(costs, float).reshape(-1, 2)


def _as_costs(array: np.ndarray) -> list[tuple[int, float]]:
    return [(int(pairs), share) for pairs, share in array.tolist()]


def are_pairs(array: np.ndarray, n: int) -> bool:
    """Whether numbers are pairs of n records, the first one in the upper half."""
    if array.dtype != np.uint64 or array.ndim != 1:
        return False
    right = array.astype(np.uint32).max(initial=0)
    return not len(array) or max(int(right), int(array.max() >> np.uint64(32))) < n


def are_levels(array: np.ndarray, shape: tuple[int, int]) -> bool:
    """Whether these are levels of so many pairs and columns."""
    return array.shape == shape and array.dtype == np.uint8 and array.max(initial=0) < 8
