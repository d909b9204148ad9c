"""The work folder of a job: one file for each task that is done, whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile
from zlib import error as ZlibError

import numpy as np

from mercer.persistence import (
    load_arrays,
    read_json,
    stamp,
    write_together,
    write_whole,
    written_whole,
)

FORMAT, PLAN = 2, "plan.json"
PLACED = "placed.json"  # what a job has put in place, or was about to
#: how the names of all other files begin, those first that are made from the later ones
STAGES = ("verdicts", "sets", "shingles", "candidates", "buckets", "equals", "earlier", "file",
          "signs", "keys", ".mercer")  # fmt: skip
STAGE = re.compile(r"([a-z]+)(-\d{5})?(-\d{6})?\.(npy|npz|bin)|(\.mercer)-.*\.tmp")


class WorkFolder:
    """A folder, which is made if there is none. One of another plan is a ValueError.

    ``bands`` are the keys of a document, and ``indexed`` says whether there is an index of earlier
    ones.

    Files of the corpus have parts, which are numbered from 0 in each. How many there are is known
    when all files are signed.
    """

    def __init__(self, folder: Path, files: int, plan: dict, bands: int, indexed: bool):
        self.bands, self.indexed, self.files = bands, indexed, files
        self.folder = folder.absolute()  # a worker may be in another folder
        self.plan = _as_text(plan)  # a worker never takes one job for another
        folder.mkdir(parents=True, exist_ok=True)
        there = [path.name for path in folder.iterdir()]
        if not (folder / PLAN).exists():
            others = [name for name in there if name != PLACED and not name.startswith(".mercer-")]
            if others:
                raise ValueError(
                    f"{folder} holds {others[0]!r}, which is no file of this job. Give an empty "
                    "folder, or the name of a new one."
                )
            write_whole(folder / PLAN, self.plan.encode())
        if is_of_another(folder, plan):
            raise ValueError(
                f"{folder} belongs to a job with other files, options or another version. Give "
                "another folder, or remove this one."
            )

    def path(self, name: str) -> Path:
        """The file of a task that is single."""
        return self.folder / f"{name}.npz"

    def part(self, name: str, a: int, b: int) -> Path:
        """The file of a task with two numbers, such as those of a file and of its part."""
        suffix = ".npy" if name in ("keys", "shingles") else ".npz"
        return self.folder / f"{name}-{a:05d}-{b:06d}{suffix}"

    def whole(self, file: int) -> Path:
        """The mark that all parts of a file are signed; it holds how many documents each has."""
        return self.path(f"file-{file:05d}")

    def after(self, file: int, number: int) -> Any:
        """Where a part ends."""
        path = self.part("signs", file, number)
        with reading(path):
            return read_json(str(load_arrays(path)["after"]))

    def keys(self, file: int, number: int) -> np.ndarray:
        """The keys of a part, (bands, documents), which stay in their file."""
        return self._mapped(self.part("keys", file, number), 2, self.bands)

    def shingles(self, file: int, number: int) -> np.ndarray:
        """The shingles of the candidates of a part, which stay in their file."""
        return self._mapped(self.part("shingles", file, number), 1, None)

    def _mapped(self, path: Path, dimensions: int, first: int | None) -> np.ndarray:
        """A mapped array of a file of the folder, after a check of its shape."""
        with reading(path):
            found = np.load(path, mmap_mode="r")
            lacks = first is not None and found.shape[:1] != (first,)
            if found.dtype != np.uint64 or found.ndim != dimensions or lacks:
                raise ValueError("it holds other numbers than Mercer wrote")
            return found

    def read(self, stage: str, *numbers: int) -> dict[str, np.ndarray]:
        """The arrays of a finished task, after a check that the stage can have made their numbers.

        Raises
        ------
        ValueError
            The file is damaged or was altered; the message names it.
        """
        path = self.part(stage, *numbers) if numbers else self.path(stage)
        n = int(self.starts[-1])
        limits = {"n": n, "index": None if self.indexed else 0}
        with reading(path):
            found = load_arrays(path)
            for name, (kind, least, below) in ARRAYS[stage].items():
                values, most = found[name], limits.get(below, below)
                right = values.dtype.kind == kind and (
                    not values.size
                    or (
                        (least is None or values.min() >= least)
                        and (most is None or values.max() < most)
                    )
                )
                if not right:
                    raise ValueError(f"{name} cannot be what it holds")
            CHECKS[stage](found, self.keys(*numbers).shape[1] if stage in OF_PARTS else n)
            return found

    def places(self, file: int) -> list[Any]:
        """Where each part of a file ends."""
        return [self.after(file, k) for k in range(self.counts[file])]

    @property
    def counts(self) -> list[int]:
        """How many parts each file has."""
        return self._layout()[0]

    @property
    def parts(self) -> list[tuple[int, int]]:
        """All parts, as files and numbers."""
        return [(file, k) for file, count in enumerate(self.counts) for k in range(count)]

    @property
    def starts(self) -> np.ndarray:
        """The first document of each part, and their number."""
        return self._layout()[1]

    @property
    def file_starts(self) -> np.ndarray:
        """The first document of each file, and their number."""
        return self.starts[np.cumsum([0, *self.counts])]

    def _layout(self) -> tuple[list[int], np.ndarray]:
        if "_found" not in self.__dict__:
            sizes = [self._sizes(file) for file in range(self.files)]
            starts = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]))
            self._found = [len(one) for one in sizes], starts
        return self._found

    def _sizes(self, file: int) -> np.ndarray:
        """How many documents each part of a file has, also seen from its keys."""
        with reading(self.whole(file)):
            sizes = load_arrays(self.whole(file))["sizes"]
            if sizes.dtype.kind != "i" or sizes.ndim != 1:
                raise ValueError("it holds other numbers than Mercer wrote")
        there = [self.keys(file, k).shape[1] for k in range(len(sizes))]
        with reading(self.whole(file)):
            if sizes.tolist() != there:
                raise ValueError("its sizes are not those of its parts")
        return sizes


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """While a file of a job is read: errors in it become a ValueError that names the file."""
    try:
        yield
    except (ValueError, LookupError, TypeError, EOFError, OSError, BadZipFile, ZlibError) as error:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise
        raise ValueError(damaged(path, str(error))) from None


def damaged(path: Path, why: str) -> str:
    """The error for a file of a job that Mercer cannot have written."""
    return (
        f"{path} is damaged, or was altered ({why}). Remove the folder {path.parent}, and give the "
        "same command again."
    )


def _of_all(facts: dict[str, np.ndarray], n: int, *names: str) -> None:
    """Raise ValueError unless some arrays have an entry for each of n documents."""
    for name in names:
        if facts[name].shape[:1] != (n,):
            raise ValueError(f"{name} has {facts[name].shape[:1]} entries for {n} documents")


def _of_told(facts: dict[str, np.ndarray], n: int, *names: str) -> None:
    _of_all(facts, n, *names)
    _of_all(facts, 2, "told")


def _of_equals(facts: dict[str, np.ndarray], n: int) -> None:
    _of_all(facts, n, "rank", "first")
    if len(np.unique(facts["rank"])) < n:
        raise ValueError("two documents have one rank")


def _of_buckets(facts: dict[str, np.ndarray], n: int) -> None:
    rows, buckets = facts["rows"], facts["buckets"]
    if rows.shape != buckets.shape or buckets.ndim != 1 or facts["count"].ndim:
        raise ValueError("its arrays are not of one length")
    if len(buckets) and buckets.max() >= facts["count"]:
        raise ValueError("a bucket has a number that is too large")


def _of_sets(facts: dict[str, np.ndarray], n: int) -> None:
    starts = facts["starts"]
    if starts.ndim != 1 or not len(starts) or starts[0] or (np.diff(starts) < 0).any():
        raise ValueError("its starts do not ascend from 0")


#: stage -> array -> its kind, the least number, and the one that all are below
ARRAYS: dict[str, dict[str, tuple[str, int | None, Any]]] = {
    "signs": {"digests": ("u", 0, None), "contents": ("u", 0, None), "lengths": ("i", 0, None),
              "counts": ("i", 0, None), "values": ("f", None, None)},
    "earlier": {"rows": ("i", -1, "index"), "similarities": ("f", None, None),
                "told": ("i", 0, None)},
    "equals": {"rank": ("i", 0, "n"), "first": ("i", -1, "n"), "empty": ("i", 0, None)},
    "buckets": {"rows": ("i", 0, "n"), "buckets": ("i", 0, None), "count": ("i", 0, 2**40)},
    "candidates": {"rows": ("i", 0, "n")},
    "sets": {"starts": ("i", 0, None)},
    "verdicts": {"partners": ("i", -1, "n"), "similarities": ("f", None, None),
                 "earlier": ("i", -1, "index"), "told": ("i", 0, None)},
}  # fmt: skip
OF_PARTS = ("signs", "earlier")  # stages whose arrays have an entry for each document of a part
#: stage -> what must hold between its arrays, by the number of its documents
CHECKS: dict[str, Callable[[dict[str, np.ndarray], int], None]] = {
    "signs": lambda facts, n: _of_all(facts, n, *ARRAYS["signs"]),
    "earlier": lambda facts, n: _of_told(facts, n, "rows", "similarities"),
    "equals": _of_equals,
    "buckets": _of_buckets,
    "candidates": lambda facts, n: None,
    "sets": _of_sets,
    "verdicts": lambda facts, n: _of_told(facts, n, "partners", "similarities", "earlier"),
}


def is_of_another(folder: Path, plan: dict) -> bool:
    """Whether a folder holds the stages of a job with another plan."""
    path = folder / PLAN
    return path.exists() and path.read_bytes() != _as_text(plan).encode()


def remove_stages(folder: Path) -> None:
    """Remove the files of a job, and the folder if it holds nothing else.

    A file goes before those that it was made from, then the plan, and then what tells which files
    the job has put in place, so that the same job can be done again wherever this is cut short. A
    plan of another program is a ValueError.
    """
    if not _is_ours(folder / PLAN):
        raise ValueError(
            f"{folder} holds a {PLAN} of another program. Give an empty folder, or the name of a "
            "new one."
        )
    found = {path: STAGE.fullmatch(path.name) for path in folder.iterdir()}
    stages = {path: match[1] or match[5] for path, match in found.items() if match}
    ours = [path for path, stage in stages.items() if stage in STAGES]
    for path in sorted(ours, key=lambda path: (STAGES.index(stages[path]), path.name)):
        path.unlink(missing_ok=True)
    for name in (PLAN, PLACED):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # it holds files of the user's
        folder.rmdir()


def put_in_place(
    folder: Path, plan: dict, parts: Sequence[tuple[Path, Callable[[IO[bytes]], object]]]
) -> None:
    """Write the outputs of a job: none of them, or all, also where it is killed and done again."""

    def note(stamps: list[list[int]]) -> None:
        placed = {str(path.absolute()): found for (path, _), found in zip(parts, stamps)}
        content = {"plan": _as_text(plan), "placed": placed}
        write_whole(folder / PLACED, json.dumps(content).encode())

    write_together(parts, note)


def placed_by(folder: Path, plan: dict, path: Path) -> bool:
    """Whether this job has put a file in place before it was killed, and nobody has changed it."""
    try:
        found = read_json((folder / PLACED).read_bytes())
        return found["plan"] == _as_text(plan) and found["placed"][str(path.absolute())] == stamp(
            path
        )
    except (OSError, ValueError, LookupError, TypeError):
        return False


def forget_placed(folder: Path) -> None:
    """Forget what the job has put in place: it is done, and its files are like any others."""
    (folder / PLACED).unlink(missing_ok=True)


def _is_ours(plan: Path) -> bool:
    try:
        found = read_json(plan.read_bytes())
    except (OSError, ValueError):
        return not plan.exists()
    return isinstance(found, dict) and {"format", "mercer", "files"} <= set(found)


def _as_text(plan: dict) -> str:
    return json.dumps(plan | {"format": FORMAT}, sort_keys=True, indent=1)


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array to a file that can be mapped into memory."""
    with written_whole(path) as file:
        # numpy would write by itself, and not say which error it was
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)
