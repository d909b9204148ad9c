"""Random trials for minutes or hours: ``python -m soak.run --seconds 600 --seed 1``, in tests/.

Every module of this folder with ``TRIALS`` takes part; each trial gets the same share of the time.
A trial runs in a process of its own kind, which is ended where the trial takes longer than its
limit or kills it. What is done is written to a journal, and another run with the same seed goes on
where the last one stopped. A failure prints how to see it again.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import multiprocessing
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["all_trials", "one_trial"]

LIMIT = 180.0  # seconds of a trial, after which it counts as hanging
AREAS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem != "run" and not path.stem.startswith("test_")
)


def all_trials() -> dict[str, Callable]:
    """Every trial as "area: name"."""
    return {
        f"{area}: {name}": trial
        for area in AREAS
        for name, trial in importlib.import_module(f"soak.{area}").TRIALS.items()
    }


def one_trial(trial: Callable, seed: int, number: int) -> None:
    """One seeded trial in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        trial(np.random.default_rng([seed, number]), Path(folder))


def work(orders: Connection) -> None:
    """In the process of the trials: answer each order by an error, or by ""."""
    faulthandler.enable()
    trials = all_trials()
    orders.send("ready")
    while (order := orders.recv()) is not None:
        name, seed, number = order
        try:
            one_trial(trials[name], seed, number)
        except BaseException:  # whatever it is, it is the answer
            orders.send(traceback.format_exc())
        else:
            orders.send("")


class Worker:
    """The process of the trials, which is started anew after a trial has killed it."""

    def __init__(self):
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.orders, theirs = context.Pipe()
        self.process: Any = context.Process(target=work, args=(theirs,), daemon=False)
        self.process.start()
        theirs.close()
        self.orders.recv()

    def end(self) -> None:
        self.process.kill()
        self.process.join()

    def run(self, *order: Any) -> str:
        """What was wrong in one trial; empty if nothing was."""
        try:
            self.orders.send(order)
            # children of a trial may hold the pipe open after its process has ended
            ready = wait([self.orders, self.process.sentinel], LIMIT)
            if self.orders in ready:
                return self.orders.recv()
            if ready:
                raise EOFError
            self.end()
            self.start()
            return f"did not end within {LIMIT:.0f} s"
        except (EOFError, OSError):  # the process is gone
            self.process.join()
            code = self.process.exitcode
            self.start()
            return f"ended the process with {code}"


def soak(seconds: float, seed: int, only: str, most: float) -> int:
    """Run trials for some time, and print a table; the number of failures."""
    names = [name for name in all_trials() if only in name]
    journal = Path("build", "soak", f"{seed}.txt")
    journal.parent.mkdir(parents=True, exist_ok=True)
    done = dict.fromkeys(names, 0)
    if journal.exists():
        for line in journal.read_text().splitlines():
            name, _, number = line.rpartition("\t")
            if name in done:
                done[name] = max(done[name], int(number) + 1)
    spent, slowest, failures = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0), 0
    before, worker, start = done.copy(), Worker(), time.monotonic()
    with journal.open("a") as record:
        try:
            while time.monotonic() - start < seconds:
                waiting = [name for name in names if done[name] < most]
                if not waiting:
                    break
                name = min(waiting, key=spent.__getitem__)
                began = time.monotonic()
                wrong = worker.run(name, seed, done[name])
                took = time.monotonic() - began
                spent[name] += took
                slowest[name] = max(slowest[name], took)
                record.write(f"{name}\t{done[name]}\n")
                record.flush()
                if wrong:
                    failures += 1
                    print(f"{name}, number {done[name]}: {wrong}")
                    print(f'  again: --again "{name}" {done[name]} --seed {seed}', flush=True)
                done[name] += 1
        except KeyboardInterrupt:
            print("Interrupted; the same command goes on from here.")
        finally:
            worker.end()
    for name in names:
        count = done[name] - before[name]
        print(f"{name:40} {count:7,} trials, the slowest {slowest[name]:5.1f} s")
    print(f"{sum(done.values()) - sum(before.values()):,} trials, {failures} failures")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--trials", type=float, default=np.inf, help="most of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="trials whose name has this text")
    parser.add_argument("--again", nargs=2, metavar=("NAME", "NUMBER"))
    options = parser.parse_args()
    if options.again:
        name, number = options.again
        one_trial(all_trials()[name], options.seed, int(number))
        print("Nothing was wrong.")
        return 0
    if options.seconds == options.trials == np.inf:
        parser.error("give --seconds, --trials, or both")
    return min(soak(options.seconds, options.seed, options.only, options.trials), 1)


if __name__ == "__main__":
    raise SystemExit(main())
