"""Two lanes of tests: the quick one after every change, the full one for what takes longer.

A test marked ``full`` is left to the full lane, as one is that takes the processor for more than
half a second where others of its file go the same way. Of a test with several arguments the quick
lane takes only as many combinations as show every value of every argument; of what is then left of
a long table each second or third case, other ones than the next test; and of a test marked
``spread(n)`` n cases at even distances. Of scikit-learn's suite each file takes a third of the
checks, other ones than the next file, and each of its classes in turn for them; of the suite on
objects one kind of samples for each class and one class for each kind. Pages of the documentation,
which show together what tests show one by one and take a tenth of the time, are left to the full
lane unless they are named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

QUICK = "not full"  # the marks of the quick lane, as in pyproject.toml
SHARE = 3  # of scikit-learn's checks a file takes every third, as a test does of a long table
LONG = 24  # of a table of fewer than twice as many cases each is quick


def few(count: int, cases: Iterable[Any]) -> list[Any]:
    """Cases of a test, of which the quick lane takes the first ones."""
    several = [case if isinstance(case, tuple) else (case,) for case in cases]
    full = [pytest.param(*case, marks=pytest.mark.full) for case in several[count:]]
    return [pytest.param(*case) for case in several[:count]] + full


def examples(count: int) -> Any:
    """So many examples of a generated test in the full lane, and fewer in the quick one."""
    return settings(max_examples=max(5, count * settings.default.max_examples // 100))


def leave_to_the_full_lane(items: Iterable[Any], named: Collection[Path] = ()) -> None:
    """Mark as ``full`` what the quick lane does without; pages that are named stay in it."""
    functions = defaultdict(list)
    for item in items:
        if item.path and item.path.suffix == ".rst" and item.path not in named:
            item.add_marker(pytest.mark.full)
        if hasattr(item, "callspec") and not item.get_closest_marker("full"):
            functions[item.path, item.cls, item.originalname].append(item)
    for cases in functions.values():
        kept = quick_cases(cases)
        for item in cases:
            if item not in kept:
                item.add_marker(pytest.mark.full)


def quick_cases(cases: list[Any]) -> Sequence[Any]:
    """What the quick lane takes of a test's cases."""
    if mark := cases[0].get_closest_marker("spread"):
        return spread(mark.args[0], cases)
    shown = shown_by(cases[0])
    found = [shown(item) for item in cases]
    if shown is estimator_of_suite:
        checks = [*dict.fromkeys(key[1] for key, _ in found)]
        first = crc32(cases[0].path.name.encode()) % SHARE
        turn = set(checks[first::SHARE] or checks)
        cases, found = zip(*(pair for pair in zip(cases, found) if pair[1][0][1] in turn))
    chosen = covering(dict(found))
    kept = [item for item, (key, _) in zip(cases, found) if key in chosen]
    return in_turn(kept) if shown is combination else kept


def in_turn(cases: Sequence[Any]) -> Sequence[Any]:
    """Of a long table each second or third case, from where the test's name says."""
    step = min(SHARE, max(1, len(cases) // LONG))
    return cases[crc32(cases[0].originalname.encode()) % step :: step]


def spread(count: int, cases: Sequence[Any]) -> Sequence[Any]:
    """So many of them at even distances, the first among them."""
    return [cases[i * len(cases) // count] for i in range(min(count, len(cases)))]


def shown_by(item: Any) -> Any:
    """A function of a test's cases: what is chosen together, and the values that it shows."""
    arguments = item.callspec.params
    if {"check", "estimator"} <= set(arguments):
        return estimator_of_suite
    on_objects = hasattr(arguments.get("check"), "__wrapped__")
    return estimator_on_objects if on_objects else combination


def combination(item: Any) -> tuple[Hashable, tuple]:
    values = tuple(map(written, item.callspec.params.values()))
    return values, values


def estimator_of_suite(item: Any) -> tuple[Hashable, tuple]:
    estimator, check = (item.callspec.params[name] for name in ("estimator", "check"))
    shown = (getattr(check, "func", check), str(getattr(check, "keywords", "")))
    return (written(estimator), shown), (type(estimator), shown)


def estimator_on_objects(item: Any) -> tuple[Hashable, tuple]:
    task = item.callspec.params["check"].args[0]
    kind = type(task.X[0])
    return (written(task.estimator), kind), (type(task.estimator), kind)


def written(value: Any) -> str:
    """Its text, made once for all tests that have it: scikit-learn takes a millisecond for it."""
    if id(value) not in TEXTS:
        TEXTS[id(value)] = repr(value), value  # kept, for else another value gets its number
    return TEXTS[id(value)][0]


TEXTS: dict[int, tuple[str, Any]] = {}


def covering(values: Mapping[Hashable, tuple]) -> set[Hashable]:
    """Keys whose tuples show every value at its place, and none much more often than others.

    The next one shows the most values that none has shown, and of several such the values that
    were shown least often. What is chosen only makes the others stand further back, so that the
    first of the queue is the next if its place is still right.
    """
    times: Counter = Counter()
    places = {key: list(enumerate(shown)) for key, shown in values.items()}

    def rank(key: Hashable) -> tuple[int, int]:
        seen = [times[place] for place in places[key]]
        return -seen.count(0), sum(seen)

    keys, chosen = list(places), set()
    queue = [(*rank(key), number) for number, key in enumerate(keys)]
    heapify(queue)
    while queue:
        key = keys[queue[0][-1]]
        now = (*rank(key), queue[0][-1])
        if now != queue[0]:
            heapreplace(queue, now)
        elif now[0]:
            heappop(queue)
            chosen.add(key)
            times.update(places[key])
        else:
            break
    return chosen
