"""What all fuzzers share: numbers from bytes, and the command that runs one until its time is over.

A fuzzer is a function that turns any bytes into an input, and raises if a promise is broken. Inputs
are those that atheris (libFuzzer) grows by what they reach, or random ones where it is not
installed or ``--seed`` is given. A failure prints how to see it again.
"""

from __future__ import annotations

import argparse
import base64
import inspect
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable

try:
    import atheris
except ImportError:
    atheris = None


class Source:
    """Numbers from bytes; 0 when they are used up."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def below(self, count: int) -> int:
        """In 0 .. count - 1."""
        value = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        if count > 256:
            value += 256 * self.below(256)
        return value % count

    def one_of(self, items):
        return items[self.below(len(items))]

    def rarely(self) -> bool:
        return self.below(16) == 15


def random_input(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice([3, 10, 40, 120, 400]))


def fuzz(
    one_input: Callable[[bytes], object],
    random_input: Callable[[random.Random], bytes] = random_input,
) -> None:
    """Run a fuzzer as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--count", type=int, help="of random inputs, instead of --seconds")
    parser.add_argument("--seed", type=int, default=None, help="of random inputs, without atheris")
    parser.add_argument("--input", help="one input in base 64, as a failure prints it")
    given, rest = parser.parse_known_args()

    def told(data: bytes) -> object:
        """Check an input; a failure says how to see it again."""
        try:
            return one_input(data)
        except BaseException:
            traceback.print_exc()
            print("--input", base64.b64encode(data).decode(), file=sys.stderr, flush=True)
            raise

    if given.input:
        print(one_input(base64.b64decode(given.input)))
    elif atheris is not None and given.seed is None and given.count is None:
        limits = ["-max_len=2000", "-timeout=20", "-rss_limit_mb=4096", "-artifact_prefix=build/"]
        watch_branches()
        atheris.Setup([sys.argv[0], f"-max_total_time={given.seconds}", *limits, *rest], told)
        atheris.Fuzz()
    else:
        seed = time.time_ns() if given.seed is None else given.seed
        rng, began, count = random.Random(seed), time.monotonic(), 0
        ends: Counter = Counter()
        while count != given.count and (given.count or time.monotonic() < began + given.seconds):
            ends[told(random_input(rng))] += 1
            count += 1
        seconds = time.monotonic() - began
        print(f"{count:,} random inputs (seed {seed}) in {seconds:.0f} s: nothing found")
        if len(ends) < 9:  # they are ways to end, and no results
            print(", ".join(f"{end}: {times:,}" for end, times in ends.most_common()))


def watch_branches() -> None:
    """Let atheris see which branches an input takes, in the fuzzer and in the package.

    Its hook on imports, the usual way, does not see through an editable installation.
    """
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] not in ("mercer", "__main__"):
            continue
        for value in list(vars(module).values()):
            members = vars(value).values() if inspect.isclass(value) else [value]
            for member in members:
                function = getattr(member, "fget", member)
                if inspect.isfunction(function) and function.__module__ == name:
                    atheris.instrument_func(function)
