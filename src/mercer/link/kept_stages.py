"""What a fit keeps in a folder while it is at work, so that one that was killed goes on.

The folder belongs to one job: the same tables with the same parameters and version. Files of
another job are replaced.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.persistence import read_json, write_whole

PLAN = "plan.json"
STAGES = ("passes", "candidates", "crowded", "levels")
OURS = {PLAN, *(f"{stage}.npy" for stage in STAGES)}


class KeptStages:
    """Arrays of finished stages; without a folder nothing is kept."""

    def __init__(self, folder: str | os.PathLike | None, plan: dict[str, Any]):
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(plan, sort_keys=True)
        path = self.folder / PLAN
        there = [file.name for file in self.folder.iterdir()]
        ours = _is_ours if path.exists() else _is_new
        others = [name for name in there if not ours(name)]
        if others:
            raise ValueError(
                f"work: the folder {self.folder} holds {others[0]!r}, which is not of a fit; give "
                "a new one."
            )
        if not path.exists() or path.read_text("utf-8") != text:
            _remove_ours(self.folder)
            write_whole(path, text.encode())

    def array(
        self, name: str, make: Callable[[], np.ndarray], fits: Callable[[np.ndarray], Any]
    ) -> np.ndarray:
        """An array that an earlier try has made, if it ``fits``, or that is made now."""
        if self.folder is None:
            return make()
        path = self.folder / f"{name}.npy"
        try:
            found = np.load(path, allow_pickle=False)
            if fits(found):
                return found
        except (OSError, ValueError, EOFError):  # none, or damaged
            pass
        found = make()
        buffer = io.BytesIO()
        np.save(buffer, found, allow_pickle=False)
        write_whole(path, buffer.getvalue())
        return found

    def value(self, name: str, make: Callable[[], Any]) -> Any:
        """A value of JSON in the same way."""

        def as_bytes() -> np.ndarray:
            return np.frombuffer(json.dumps(make()).encode(), np.uint8)

        return read_json(self.array(name, as_bytes, _is_json).tobytes())


def _is_json(array: np.ndarray) -> bool:
    read_json(array.tobytes())  # a ValueError where it is none
    return True


def _is_new(name: str) -> bool:
    """Whether a file was being written when a fit was killed."""
    return name.startswith(".mercer-") and name.endswith(".tmp")


def _is_ours(name: str) -> bool:
    return name in OURS or _is_new(name)


def _remove_ours(folder: Path) -> None:
    for file in folder.iterdir():
        if _is_ours(file.name):
            file.unlink()


def are_pairs(array: np.ndarray, n: int) -> bool:
    """Whether numbers are pairs of n records, the first one in the upper half."""
    if array.dtype != np.uint64 or array.ndim != 1:
        return False
    right = array.astype(np.uint32).max(initial=0)
    return not len(array) or max(int(right), int(array.max() >> np.uint64(32))) < n


def are_levels(array: np.ndarray, shape: tuple[int, int]) -> bool:
    """Whether these are levels of so many pairs and columns."""
    return array.shape == shape and array.dtype == np.uint8 and array.max(initial=0) < 8


def forget_stages(folder: Path) -> None:
    """Remove the folder of a job that is done, but for what others put there."""
    if (folder / PLAN).is_file():
        _remove_ours(folder)
        if not any(folder.iterdir()):
            folder.rmdir()
