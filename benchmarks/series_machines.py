"""Classifiers of time series beside the Hydra + MultiRocket machine of aeon: how many test series
are wrong, as a mean over seeds.

aeon reads series of one length, so PickupGesture is given to it padded with zeros, and stretched to
one length; the better of both counts. The peer needs versions of its own of what it stands on:
MERCER_PEERS names a Python that has aeon and torch; without it aeon is left out. MERCER_DATA is
needed for the samples.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

from harness import Section, data_folder, options, run_beside
from mercer import SVC, ConvolutionFeatures, KernelRidgeClassifier
from mercer.kernels import Convolutions, GlobalAlignment
from objects import LISTS, TABLES, lists, tables

#: what runs in the environment of the peer: errors of each seed, by set
PEER = r"""
import json, sys, warnings
import numpy as np, torch
warnings.filterwarnings("ignore")
torch.set_num_threads(1)
from aeon.classification.convolution_based import MultiRocketHydraClassifier
data, seeds = np.load(sys.argv[1] + "/data.npz"), int(sys.argv[2])
found = {}
for name in sorted({key.rsplit("|", 1)[0] for key in data.files}):
    A, a, B, b = (data[name + "|" + part] for part in ("A", "a", "B", "b"))
    found[name] = [
        int((MultiRocketHydraClassifier(random_state=s).fit(A, a).predict(B) != b).sum())
        for s in range(seeds)]
print(json.dumps(found))
"""


def ridge() -> KernelRidgeClassifier:
    """On scaled features; the penalty by leaving out."""
    return KernelRidgeClassifier(kernel="linear", alpha="auto")


def features(method: str, seed: int) -> ConvolutionFeatures:
    """With the usual number."""
    return ConvolutionFeatures(method, random_state=seed)


#: machines by name, made for a seed
MACHINES: dict[str, Callable[[int], Any]] = {
    "ridge, Convolutions": lambda s: KernelRidgeClassifier(kernel=Convolutions(s), alpha="auto"),
    "ridge, MultiRocket": lambda s: make_pipeline(
        features("multirocket", s), StandardScaler(), ridge()),
    "ridge, Hydra and MiniRocket": lambda s: make_pipeline(
        make_union(features("hydra", s), features("minirocket", s)), StandardScaler(), ridge()),
    "ridge, Hydra and MultiRocket": lambda s: make_pipeline(
        make_union(features("hydra", s), features("multirocket", s)), StandardScaler(), ridge()),
    "SVC, global alignment": lambda s: SVC(kernel=GlobalAlignment(), C=100),
}  # fmt: skip


def layouts(name: str, A: Any, a: Any, B: Any, b: Any) -> dict[str, np.ndarray]:
    """What aeon can read of a set: (n, channels, time), by "set, layout|part"."""
    lengths = {len(x) for x in (*A, *B)}
    most, here = max(lengths), np.linspace(0, 1, max(lengths))

    def padded(x: np.ndarray) -> np.ndarray:
        return np.pad(x, ((0, most - len(x)), (0, 0)))

    def stretched(x: np.ndarray) -> np.ndarray:
        at = np.linspace(0, 1, len(x))
        return np.stack([np.interp(here, at, channel) for channel in x.T], axis=1)

    found = {}
    for layout in (padded, stretched) if len(lengths) > 1 else (padded,):
        for part, rows in (("A", A), ("B", B)):
            each = [layout(np.asarray(x).reshape(len(x), -1)).T for x in rows]
            found[f"{name}, {layout.__name__}|{part}"] = np.stack(each)
        found |= {f"{name}, {layout.__name__}|a": a, f"{name}, {layout.__name__}|b": b}
    return found


def peer(sets: dict[str, list], seeds: int) -> dict[str, float]:
    """The mean number of test series of each set that aeon's machine gets wrong."""
    python = os.environ.get("MERCER_PEERS")
    if python is None:
        return {}
    with TemporaryDirectory() as folder:
        arrays = {}
        for name, s in sets.items():
            arrays |= layouts(name, *s)
        np.savez(f"{folder}/data.npz", **arrays)
        found = run_beside(python, PEER, folder, str(seeds))
    return {
        name: min(np.mean(wrong) for key, wrong in found.items() if key.split(",")[0] == name)
        for name in sets
    }


def main() -> None:
    given = options()
    folder: Path | None = data_folder()
    if folder is None:
        sys.exit("MERCER_DATA names no folder of samples.")
    seeds = 1 if given.quick else 3
    place = folder / "timeseries"
    sets = {name: tables(place, file) for name, file in TABLES.items()}
    sets |= {name: lists(place, file) for name, file in LISTS.items()}
    section = Section(
        "series machines",
        "Test series that a machine gets wrong, as the mean of "
        f"{seeds} seeds, by set with its number of test series; and the mean per cent of all sets.",
        ["machine", *(f"{name} ({len(s[3])})" for name, s in sets.items()), "mean, %"],
    )

    def row(machine: str, wrong: list[float]) -> None:
        shares = [100 * w / len(s[3]) for w, s in zip(wrong, sets.values())]
        section.row(machine, *(f"{w:.1f}" for w in wrong), f"{np.mean(shares):.2f}")

    all_wrong = []
    for machine, make in MACHINES.items():
        wrong = []
        for A, a, B, b in sets.values():
            each = [(make(s).fit(A, a).predict(B) != b).sum() for s in range(seeds)]
            wrong.append(float(np.mean(each)))
        row(machine, wrong)
        all_wrong.append(wrong)
    row("the best of these for each set", np.min(all_wrong, axis=0).tolist())
    theirs = peer(sets, seeds)
    if theirs:
        row("aeon, Hydra and MultiRocket", list(theirs.values()))
    else:
        section.note("aeon was left out: MERCER_PEERS names no Python that has it, and torch")
    section.finish(given.write)


if __name__ == "__main__":
    main()
