"""Random pairs of a public callable and a hostile input, of the table in tests/hostile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from hostile.doors import DOORS
from hostile.inputs import hostile
from hostile.verdict import wrong


def one_pair(rng: np.random.Generator, folder: Path) -> None:
    """One callable, and two of its inputs."""
    door = DOORS[int(rng.integers(len(DOORS)))]
    inputs = hostile(door.kind, door.good)
    for name in rng.choice(list(inputs), 2):
        given = inputs[str(name)]()
        said = wrong(lambda given=given: door.call(given), door.infinite)
        assert not said, f"{door.name} of {name}: {said}"


TRIALS: dict[str, Callable[[np.random.Generator, Path], None]] = {"pairs": one_pair}
