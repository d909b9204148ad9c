"""Features of time series beside aeon: seconds of MiniRocket, MultiRocket and Hydra, and how many
of the test series a ridge machine on them gets right.

One thread, and seconds of the processor. The peer needs versions of its own of what it stands on:
MERCER_PEERS names a Python that has aeon, and torch for its Hydra; without it aeon is left out.
MERCER_DATA is needed for the samples.
"""

import os
import statistics
import sys
import time
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from harness import Section, data_folder, options, run_beside
from mercer import ConvolutionFeatures
from objects import TABLES, tables

PENALTIES = np.logspace(-3, 3, 10)

#: what runs in the environment of the peer, for the series of all sets
PEERS = r"""
import json, sys, time, statistics, warnings
import numpy as np
warnings.filterwarnings("ignore")
from aeon.transformations.collection.convolution_based import (
    HydraTransformer, MiniRocket, MultiRocket)
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
folder, repeats = sys.argv[1], int(sys.argv[2])
data = np.load(folder + "/data.npz")
makers = {
    "MiniRocket": lambda: MiniRocket(n_kernels=10_000, n_jobs=1, random_state=0),
    "MultiRocket": lambda: MultiRocket(n_kernels=6_250, n_jobs=1, random_state=0),
}
try:
    import torch
    torch.set_num_threads(1)
    HydraTransformer()
    makers["Hydra"] = lambda: HydraTransformer(n_jobs=1, random_state=0)
except (ImportError, ModuleNotFoundError) as error:
    print(error, file=sys.stderr)
found = {}
for name in sorted({key.rsplit("|", 1)[0] for key in data.files}):
    A, a, B, b = (data[name + "|" + part] for part in ("A", "a", "B", "b"))
    A, B = A[:, None, :], B[:, None, :]
    for kind, make in makers.items():
        def run():
            map_ = make().fit(A)
            return np.asarray(map_.transform(A)), np.asarray(map_.transform(B))
        run()  # compiles
        times = []
        for _ in range(repeats):
            began = time.process_time()
            F, G = run()
            times.append(time.process_time() - began)
        model = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(-3, 3, 10)))
        right = float(model.fit(F, a).score(G, b))
        found[kind + "|" + name] = [statistics.median(times), right, F.shape[1]]
print(json.dumps(found))
"""


def peer(sets: dict[str, list], repeats: int) -> dict[str, tuple]:
    """Seconds, share that is right and columns, by kind and set of series."""
    python = os.environ.get("MERCER_PEERS")
    if python is None:
        return {}
    with TemporaryDirectory() as folder:
        named = {f"{name}|{p}": part for name, s in sets.items() for p, part in zip("AaBb", s)}
        np.savez(f"{folder}/data.npz", **named)
        return run_beside(python, PEERS, folder, str(repeats))


def main() -> None:
    given = options()
    folder = data_folder()
    if folder is None:
        sys.exit("MERCER_DATA names no folder of samples.")
    repeats = 1 if given.quick else 5
    sets = {name: tables(folder / "timeseries", file) for name, file in TABLES.items()}
    section = Section(
        "series features",
        "Features of the training and the test series of sets of the UCR archive, learnt from the "
        "training series: seconds of the processor, one thread; and per cent of the test series "
        "that a ridge machine on the scaled features gets right, penalty left-one-out.",
        ["features", "set", "library", "columns", "seconds", "mercer is faster by", "right"],
    )
    makers = {
        name: partial(ConvolutionFeatures, name.lower())
        for name in ("MiniRocket", "MultiRocket", "Hydra")
    }
    theirs = peer(sets, repeats)
    for kind, maker in makers.items():
        for name, (A, a, B, b) in sets.items():
            times = []
            for _ in range(repeats + 1):
                began = time.process_time()
                map_ = maker(random_state=0, n_jobs=1).fit(A)
                F, G = map_.transform(A), map_.transform(B)
                times.append(time.process_time() - began)
            own = statistics.median(times[1:])
            model = make_pipeline(StandardScaler(), RidgeClassifierCV(PENALTIES))
            right = model.fit(F, a).score(G, b)
            section.row(kind, name, "mercer", F.shape[1], f"{own:.3f}", "", f"{100 * right:.1f}")
            if f"{kind}|{name}" in theirs:
                took, right, columns = theirs[f"{kind}|{name}"]
                section.row(kind, name, "aeon", columns, f"{took:.3f}", f"{took / own:.1f}",
                            f"{100 * right:.1f}")  # fmt: skip
    left_out = [kind for kind in makers if not any(key.startswith(kind) for key in theirs)]
    if left_out:
        section.note(f"aeon was left out of {', '.join(left_out)}: MERCER_PEERS names no Python "
                     "that has it, or no torch is there")  # fmt: skip
    section.finish(given.write)


if __name__ == "__main__":
    main()
