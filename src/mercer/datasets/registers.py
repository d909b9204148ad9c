"""Two registers of people with errors, to be linked: drawn, not loaded."""

from __future__ import annotations

import numpy as np

from mercer.datasets.convex_shapes import check_request
from mercer.estimator import Seed

FIRST = "anna ben clara david elena felix greta henry ida jonas katja leon mira nils olga paul rosa"
MORE = (
    "simon tara uwe vera walter yara zoe amir bella carlos dina emil fatima george hanna ivan julia"
)
HEADS = "al ber cor dan eck fal gar hol jan kel lam mor nor ost pel quin ros sand tor wal"
TAILS = "berg den er hof ini man mann nov ova ow ritz sen ski son stein ton vall ville wood"
STREETS = "acker bach birken burg eichen feuer garten hafen kirch linden markt mühlen park see"
PLACES = "altdorf bergheim steinach neustadt rothenau weiler lindau hochdorf oberau grünthal"
FIRSTS = f"{FIRST} {MORE} karim laura marco nora oscar petra quentin rita stefan theresa zita"
SAME_NAME = 0.9  # of the members of a household
KEYS = "qwertzuiop", "asdfghjkl", "yxcvbnm"  # neighbours on a keyboard are mistaken
SLIPS = {"name": 0.12, "street": 0.15, "place": 0.06}  # of the cells that have a slip of the pen
SWAPPED, MOVED, OTHER_DAY, MARRIED, EMPTY = 0.03, 0.12, 0.06, 0.04, 0.05


def registers(n: int, seed: Seed = None) -> tuple[dict, dict, np.ndarray]:
    """Two registers of people: who of the first is in the second?

    Parameters
    ----------
    n : int >= 1
        The number of people. Three quarters of them are in each register, half in both.
    seed : int, `numpy.random.Generator` or None, default=None
        Source of the random numbers. None means another set each time.

    Returns
    -------
    A, B : dict of str to ndarray
        Tables of pandas or polars are made of them by their ``DataFrame(A)``: first_name,
        last_name, born, street, number and place. A missing value is None.
    pairs : ndarray of shape (k, 2)
        Row numbers in A and B of the same people.

    Notes
    -----
    People live in households of one to four, most of whom have one last name. The first register
    writes dates as 1984-03-21, the second one as 21.03.1984. In the second one 12% of the names
    have a slip of the keyboard, a letter left out or a doubled one; 12% of the people have moved,
    3% have first and last name exchanged, 4% another last name, 6% another day of birth; and 5% of
    the cells are empty.

    Examples
    --------
    >>> A, B, pairs = registers(400, seed=0)
    >>> list(A), len(A["born"]), len(B["born"]), len(pairs)
    (['first_name', 'last_name', 'born', 'street', 'number', 'place'], 300, 300, 200)
    """
    rng = check_request(n, seed, "people")
    people: list[dict[str, str]] = []
    while len(people) < n:
        home, last = _home(rng), _last_name(rng)
        for _ in range(rng.integers(1, 5)):
            own = last if rng.random() < SAME_NAME else _last_name(rng)
            born = np.datetime64("1930-01-01") + rng.integers(0, 29_000)
            first = _one(FIRSTS, rng)
            people.append({"first_name": first, "last_name": own, "born": str(born), **home})
    order = rng.permutation(n)
    mine = order[: max(1, 3 * n // 4)]
    theirs = rng.permutation(order[n // 4 :])
    A = [people[i] for i in mine]
    B = [_damaged(people[i], rng) for i in theirs]
    place = {person: row for row, person in enumerate(mine.tolist())}
    pairs = [(place[i], row) for row, i in enumerate(theirs.tolist()) if i in place]
    return _table(A), _table(B), np.array(pairs, np.int64).reshape(-1, 2)


def _table(rows: list) -> dict[str, np.ndarray]:
    names = "first_name", "last_name", "born", "street", "number", "place"
    return {name: np.array([row[name] for row in rows], object) for name in names}


def _last_name(rng: np.random.Generator) -> str:
    return _one(HEADS, rng) + _one(TAILS, rng)


def _home(rng: np.random.Generator) -> dict[str, str]:
    street = _one(STREETS, rng) + _one("straße weg allee", rng)
    return {"street": street, "number": str(rng.integers(1, 90)), "place": _one(PLACES, rng)}


def _one(words: str, rng: np.random.Generator) -> str:
    some = words.split()
    return some[rng.integers(len(some))]


def _damaged(person: dict[str, str], rng: np.random.Generator) -> dict[str, str | None]:
    found: dict[str, str | None] = {**person}
    if rng.random() < MARRIED:
        found["last_name"] = _last_name(rng)
    for name, text in found.items():
        share = SLIPS["name" if name.endswith("name") else name if name in SLIPS else "place"]
        if name != "born" and text is not None and rng.random() < share:
            found[name] = _slip(text, rng)
    if rng.random() < SWAPPED:
        found["first_name"], found["last_name"] = found["last_name"], found["first_name"]
    if rng.random() < MOVED:
        found |= _home(rng)
    year, month, day = person["born"].split("-")
    if rng.random() < OTHER_DAY:
        day = f"{rng.integers(1, 29):02d}"
    found["born"] = f"{day}.{month}.{year}"
    return {name: None if rng.random() < EMPTY else text for name, text in found.items()}


def _slip(text: str, rng: np.random.Generator) -> str:
    """A key beside the right one, a letter left out, or a letter twice."""
    at = int(rng.integers(len(text)))
    row = next((keys for keys in KEYS if text[at] in keys), "")
    way = rng.integers(3)
    if way == 0 and len(row) > 1:
        place = row.index(text[at])
        return text[:at] + row[place - 1 if place else 1] + text[at + 1 :]
    return text[:at] + (text[at] * 2 if way == 1 else "") + text[at + 1 :]
