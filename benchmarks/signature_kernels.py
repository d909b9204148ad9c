"""The signature kernel of all levels beside pysiglib: seconds of a Gram matrix, and its error.

One thread, and seconds of the processor. pysiglib has two methods, with an order each that trades
time for accuracy; both are run at several. The reference is its method of polynomials at a high
order. It needs torch, so MERCER_PEERS names a Python that has it. MERCER_DATA is needed for the
samples.
"""

import os
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from harness import Section, data_folder, options, run_beside
from mercer.kernels import Signature
from objects import lists, matrix, tables

#: what runs in the environment of the peer: all settings for each array of series
PEER = r"""
import json, sys, time, statistics
import numpy as np
import pysiglib
folder, repeats = sys.argv[1], int(sys.argv[2])
data = np.load(folder + "/data.npz")
settings = [{"dyadic_order": r} for r in range(4)]
settings += [{"method": "polynomial", "order": q} for q in (2, 3, 4, 5, 6, 8)]
found = {}
for name in data.files:
    X = data[name]
    exact = pysiglib.sig_kernel_gram(X, X, method="polynomial", order=16)
    np.save(folder + "/" + name + ".npy", exact)
    for s in settings:
        times = []
        for _ in range(repeats):
            began = time.process_time()
            K = pysiglib.sig_kernel_gram(X, X, **s)
            times.append(time.process_time() - began)
        error = float(np.abs(K / exact - 1).max())
        label = "polynomials of order {order}" if "order" in s else "grid, {dyadic_order} halvings"
        found[name + "|" + label.format(**s)] = [statistics.median(times), error]
print(json.dumps(found))
"""


def scaled(X: np.ndarray, variation: float) -> np.ndarray:
    """Divided so that a channel goes up and down by so much in all, on average."""
    return variation * X / np.abs(np.diff(X, axis=1)).sum(axis=1).mean()


def samples(folder: Path) -> dict[str, np.ndarray]:
    """Series of one length, (n, T, d)."""
    A, _, B, _ = lists(folder, "basicmotions")
    trace = scaled(tables(folder, "trace")[0], 4)
    time_ = np.broadcast_to(np.linspace(0, 1, trace.shape[1]), trace.shape)
    return {"BasicMotions": scaled(np.stack(A + B), 1), "Trace": np.stack([trace, time_], axis=2)}


def main() -> None:
    given = options()
    folder, python = data_folder(), os.environ.get("MERCER_PEERS")
    if folder is None or python is None:
        sys.exit("MERCER_DATA must name a folder of samples, MERCER_PEERS a Python with pysiglib.")
    repeats = 1 if given.quick else 3
    section = Section(
        "signature kernels",
        "Gram matrices of the signature kernel of all levels: seconds of the processor, one "
        "thread, and the largest relative error. BasicMotions: 80 series, 100 points, 6 channels; "
        "Trace: 100 series, 275 points, time is a channel.",
        ["series", "library", "seconds", "largest error", "mercer is faster by"],
    )
    with TemporaryDirectory() as place:
        sets = samples(folder / "timeseries")
        np.savez(f"{place}/data.npz", **sets)
        theirs = run_beside(python, PEER, place, str(repeats))
        for name, X in sets.items():
            times = []
            for _ in range(repeats):
                began = time.process_time()
                K = matrix(Signature(None), list(X))
                times.append(time.process_time() - began)
            own = statistics.median(times)
            error = np.abs(K / np.load(f"{place}/{name}.npy") - 1).max()
            section.row(name, "mercer", f"{own:.3f}", f"{error:.0e}", "")
            for key, (took, wrong) in theirs.items():
                of, label = key.split("|")
                if of == name:
                    section.row(name, f"pysiglib, {label}", f"{took:.3f}", f"{wrong:.0e}",
                                f"{took / own:.1f}")  # fmt: skip
    section.note("pysiglib computes all n² pairs, mercer those of a symmetric matrix")
    section.finish(given.write)


if __name__ == "__main__":
    main()
