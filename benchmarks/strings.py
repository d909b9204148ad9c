"""Kernels on subsequences of random DNA: cells of the recursion a second, beside the limit of the
processor, exactness beside integers, and gap-weighted kernels beside strkernels.

Rows of several threads are of whole Gram matrices; the others are blocks computed by one thread.
"""

import math
import re
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
from strkernels import SubsequenceStringKernel
from threadpoolctl import threadpool_limits

from harness import Section, options
from mercer import _native
from mercer.gram import Place, gram
from mercer.kernels import AllSubsequences, GapWeighted, subsequences
from mercer.threads import count_jobs
from roofline import note_of

# Of 8 cells, two additions and a shift of lanes on two ports of 512 bits: 32 cells in 6 cycles.
CELLS_PER_CYCLE = 32 / 6
SIZES = {100: 80, 1000: 8}  # length -> strings: runs of some ms, which may pass undisturbed
MANY = {100: 800, 1000: 100}  # where threads share the work


def dna(n: int, length: int, seed: int = 0) -> list[str]:
    letters = np.random.default_rng(seed).choice(list("ACGT"), (n, length))
    return ["".join(row) for row in letters]


def clock() -> float | None:
    """Cycles a second that the system reports, now."""
    info = Path("/proc/cpuinfo")
    found = re.findall(r"cpu MHz\s*:\s*([\d.]+)", info.read_text()) if info.exists() else []
    return max(map(float, found)) * 1e6 if found else None


def least(runs: dict, repeats: int) -> dict:
    """Least seconds of each, the runs taken in turn: other processes only ever add to them."""
    times = dict.fromkeys(runs, np.inf)
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - began)
    return times


def unscaled(S) -> Callable[[], object]:
    """All pairs without exponents, infinities or not."""
    n = len(S)
    strings, columns = subsequences.encoded_alike(S, S)
    pairs = np.array(np.transpose(np.triu_indices(n)), np.int64, order="C")
    codes, K, out = np.empty(columns, np.uint8), np.empty(columns), np.empty(len(pairs))
    none = np.empty(0, np.int32), np.empty(0, np.int64)

    def run() -> None:
        state = np.zeros(2, np.int64)
        while state[0] < len(pairs):
            _native.all_subsequences(
                *strings, pairs, 1.0, codes, K, none[0], state, 5e8, out, none[1]
            )

    return run


def cells(section: Section, quick: bool) -> None:
    hertz = clock()
    for length, n in SIZES.items():
        S = AllSubsequences().encode(dna(n, length))
        total = n * (n + 1) / 2 * length**2
        runs = {}
        for isa in _native.available_isas():
            runs[isa, 1, "unscaled"] = on(isa, unscaled(S))
            runs[isa, 1, "scaled"] = on(isa, lambda S=S: scaled(S))
        for (isa, jobs, what), spent in least(runs, 50 if quick else 300).items():
            rate = total / spent / 1e9
            limited = isa == "avx512" and hertz
            share = f"{rate / (CELLS_PER_CYCLE * hertz / 1e9):.0%} of the limit" if limited else ""
            section.row(
                f"all, length {length}", f"{what}, {isa}", jobs, f"{rate:.2f}e9 cells/s", share
            )
    if hertz:
        section.note(
            f"Limit: {CELLS_PER_CYCLE:.2f} cells a cycle (AVX-512, two additions and a shift on "
            f"two ports), {CELLS_PER_CYCLE * hertz / 1e9:.1f}e9 cells/s at the "
            f"{hertz / 1e9:.2f} GHz that the system reports; a higher clock or a third port "
            "exceeds it."
        )


def threads(section: Section, quick: bool) -> None:
    for length, n in MANY.items():
        S = AllSubsequences().encode(dna(n, length))
        runs = {jobs: lambda S=S, j=jobs: whole(S, j) for jobs in sorted({1, 2, count_jobs(None)})}
        seconds = least(runs, 3 if quick else 9)
        for jobs, spent in seconds.items():
            rate = n * (n + 1) / 2 * length**2 / spent / 1e9
            section.row(
                f"all, length {length}", f"Gram matrix of {n}, scaled, {_native.isa()}", jobs,
                f"{rate:.2f}e9 cells/s", f"{seconds[1] / spent:.2f} x one thread",
            )  # fmt: skip


def on(isa: str, run: Callable[[], object]) -> Callable[[], None]:
    def chosen() -> None:
        before = _native.isa()
        _native.use_isa(isa)
        try:
            run()
        finally:
            _native.use_isa(before)

    return chosen


def scaled(S) -> None:
    """All pairs with exponents, also where the lengths would need none."""
    limit, subsequences.RANGE = subsequences.RANGE, 0.0
    try:
        AllSubsequences().scaled_block(S, S)
    finally:
        subsequences.RANGE = limit


def whole(S, jobs: int) -> None:
    limit, subsequences.RANGE = subsequences.RANGE, 0.0
    try:
        gram(AllSubsequences(), S, place=Place(n_jobs=jobs)).dense()
    finally:
        subsequences.RANGE = limit


def exactness(section: Section, quick: bool) -> None:
    rng = np.random.default_rng(0)
    kernel = AllSubsequences()
    worst = 0.0
    for n, m, letters in [(100, 100, 4), (1000, 1000, 4), (2500, 2000, 20)][: 2 if quick else 3]:
        s, t = rng.integers(0, letters, n).tolist(), rng.integers(0, letters, m).tolist()
        worst = max(worst, error(kernel, s, t, exact(s, t)))
    section.note(
        f"Relative error beside Python integers to {n:,} x {m:,} symbols: {worst:.1e} at most."
    )
    length = 100_000
    began = time.perf_counter()
    found = error(kernel, [0] * length, [0] * length, math.comb(2 * length, length))
    spent = time.perf_counter() - began
    section.note(
        f"{length:,} x {length:,} symbols, one letter, beside the binomial coefficient: relative "
        f"error {found:.1e}; {spent:.2f} s with the check. Random DNA: log2 k = "
        f"{kernel.log(*([s] for s in dna(2, length)))[0, 0] / math.log(2):.2f}."
    )


def exact(s: list, t: list) -> int:
    row = [1] * (len(t) + 1)
    for a in s:
        below, row, matched = row, [1], 0
        for j, b in enumerate(t):
            matched += below[j] if a == b else 0
            row.append(below[j + 1] + matched)
    return row[-1]


def error(kernel, s: list, t: list, value: int) -> float:
    X = kernel.encode([s, t])
    (m,), (e,) = (part.ravel() for part in kernel.scaled_block(X[:1], X[1:]))
    return float(abs(Fraction(float(m)) * Fraction(2) ** int(e) - value) / value)


def gaps(section: Section, quick: bool) -> None:
    X, Z = dna(100, 100), dna(100, 100, seed=1)
    peer, ours = SubsequenceStringKernel(maxlen=3, ssk_lambda=0.5), GapWeighted(3, 0.5, up_to=True)
    S = ours.encode(X)
    T = ours.encode(Z, like=S)
    assert np.allclose(peer(X[:9], Z), ours.normalised()(X[:9], Z), rtol=1e-6)
    few = X[:1]
    runs = {("strkernels", "up to 3, normalised", ""): (lambda: peer(few, Z), len(few) * len(Z))}
    S = S[:10]
    pairs = len(S) * len(T)
    for isa in _native.available_isas():
        normalised = ours.normalised()
        runs["mercer", "up to 3, normalised", isa] = (
            on(isa, lambda k=normalised: k.block(S, T)),
            pairs,
        )
        runs["mercer", "exactly 3", isa] = on(isa, lambda: GapWeighted(3).block(S, T)), pairs
    with threadpool_limits(1):
        seconds = least({key: run for key, (run, _) in runs.items()}, 30 if quick else 200)
    rates = {key: runs[key][1] / seconds[key] for key in runs}
    first = rates["strkernels", "up to 3, normalised", ""]
    for (library, what, isa), rate in rates.items():
        note = "" if library == "strkernels" else f"{rate / first:.1f} x strkernels"
        label = f"{library} {version(library)}" if library == "strkernels" else f"{library}, {isa}"
        section.row(f"gap-weighted, length 100, {what}", label, 1, f"{rate:.2e} pairs/s", note)


def main() -> None:
    args = options()
    section = Section(
        "strings",
        "Kernels on strings of random DNA; least of the runs, taken in turn. A Gram matrix of n "
        "strings has n (n + 1) / 2 pairs, a pair as many cells as its lengths multiply to.",
        ["kernel", "library", "threads", "rate", "note"],
    )
    cells(section, args.quick)
    threads(section, args.quick)
    gaps(section, args.quick)
    exactness(section, args.quick)
    section.note(note_of("all subsequences"))
    section.finish(args.write)


if __name__ == "__main__":
    main()
