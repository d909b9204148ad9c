"""The work folder of a job: one file for each task that is done, whole or not at all."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer.persistence import read_json, stamp, write_together, write_whole, written_whole

FORMAT, PLAN = 2, "plan.json"
PLACED = "placed.json"  # what a job has put in place, or was about to
#: how the names of all other files begin, those first that are made from the later ones
STAGES = ("verdicts", "sets", "shingles", "candidates", "buckets", "equals", "earlier", "file",
          "signs", "keys", ".mercer")  # fmt: skip
STAGE = re.compile(r"([a-z]+)(-\d{5})?(-\d{6})?\.(npy|npz|bin)|(\.mercer)-.*\.tmp")


class WorkFolder:
    """A folder, which is made if there is none. One of another plan is a ValueError.

    Files of the corpus have parts, which are numbered from 0 in each. How many there are is known
    when all files are signed.
    """

    def __init__(self, folder: Path, files: int, plan: dict):
        self.folder, self.files = folder.absolute(), files  # a worker may be in another folder
        folder.mkdir(parents=True, exist_ok=True)
        there = [path.name for path in folder.iterdir()]
        if not (folder / PLAN).exists():
            others = [name for name in there if name != PLACED and not name.startswith(".mercer-")]
            if others:
                raise ValueError(
                    f"{folder} holds {others[0]!r}, which is no file of this job. Give an empty "
                    "folder, or the name of a new one."
                )
            write_whole(folder / PLAN, _as_text(plan).encode())
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
        with np.load(self.part("signs", file, number)) as archive:
            return read_json(str(archive["after"]))

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
            sizes = [load(self.whole(file))["sizes"] for file in range(self.files)]
            starts = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]))
            self._found = [len(one) for one in sizes], starts
        return self._found


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


def save(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays to one file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array to a file that can be mapped into memory."""
    with written_whole(path) as file:
        # numpy would write by itself, and not say which error it was
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)


def load(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays that `save` wrote."""
    with np.load(path) as archive:
        return dict(archive)
