"""Data sets that are drawn, not loaded: images, throws at a basket, and two registers of people.

The images are white shapes, convex or not, and outlines of rectangles. The throws are the table of
``mercer demo``. The registers have errors, and are to be linked.
"""

from __future__ import annotations

import numpy as np

from mercer.estimator import Seed
from mercer.samples import is_number

SIDE = 28  # pixels
CHUNK = 4096  # shapes that are drawn at a time

#: (rate of the geometric number of half-planes, the fewest of them, the smallest number of pixels)
Polygon = tuple[float, int, int]
CONVEX: Polygon = (0.31, 1, 19)
PART: Polygon = (0.07, 3, 10)
MOST_PARTS = 4


def convex(n: int, seed: Seed = None) -> tuple[np.ndarray, np.ndarray]:
    """White shapes on a black ground: is the shape convex?

    Parameters
    ----------
    n : int >= 1
        The number of images.
    seed : int, `numpy.random.Generator` or None, default=None
        Source of the random numbers. None means another set each time.

    Returns
    -------
    X : ndarray of shape (n, 784), float32
        28 x 28 pixels row by row, 1 on the shape and 0 elsewhere.
    y : ndarray of shape (n,), int64
        1 if the shape is convex, else 0. Both have probability 1/2.

    Notes
    -----
    The set follows "convex" of Larochelle et al. (2007), whose generator is not available. Known of
    it is:

    - A convex shape is the intersection of N half-planes of uniform place and direction, with
      geometric N; it is drawn anew if it has fewer than 19 pixels.
    - Another shape is the union of 2, 3 or 4 convex parts, whose numbers of half-planes are
      geometric with rate 0.07, and which have at least 10 pixels; it is drawn anew if it passes a
      test of convexity.
    - The mean number of white pixels is the same in both classes.

    Chosen here: the boundary of a half-plane passes through a uniform point of the image. A part
    has at least 3 half-planes, that is 2 more than the geometric number, which begins at 1; else
    unions would have far more pixels than convex shapes. The rate for convex shapes is 0.31 (0.195
    is published), with which the means are equal, about 295 pixels. A shape is convex if no black
    pixel has its centre in the convex hull of the centres of the white ones. Errors are therefore
    not to be compared with published ones to the decimal.

    Some thousand images per second.

    References
    ----------
    Larochelle et al., "An empirical evaluation of deep architectures on problems with many factors
    of variation", ICML 2007, and its web page "ConvexNonConvex".

    Examples
    --------
    >>> X, y = convex(100, seed=0)
    >>> X.shape, np.unique(y).tolist()
    ((100, 784), [0, 1])
    """
    rng = check_request(n, seed)
    y = rng.integers(0, 2, int(n))
    images = np.empty((int(n), SIDE, SIDE), bool)
    images[y == 1] = _white(*_polygons(int(y.sum()), CONVEX, rng))
    images[y == 0] = _unions(int(n) - int(y.sum()), rng)
    return images.reshape(int(n), -1).astype(np.float32), y


def check_request(n: int, seed: Seed, noun: str = "images") -> np.random.Generator:
    """The generator of random numbers for n samples; an error if one of the arguments is wrong."""
    if not (is_number(n) and 1 <= n < np.inf and n % 1 == 0):
        raise ValueError(f"n={n!r}: give the number of {noun}, an integer >= 1.")
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"seed={seed!r}: give an integer >= 0, a numpy.random.Generator or None."
        ) from error


def _polygons(n: int, kind: Polygon, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """n intersections of half-planes, each as the first and the last column of each row of pixels;
    (n, SIDE) each. A row is empty if its first column is behind its last one."""
    rate, fewest, smallest = kind
    rows = np.arange(SIDE) + 0.5  # the centres of pixels
    found = [(np.empty((0, SIDE)), np.empty((0, SIDE)))]
    missing = n
    while missing > 0:
        planes = rng.geometric(rate, CHUNK) + fewest - 1
        first, last = np.zeros((CHUNK, SIDE)), np.full((CHUNK, SIDE), SIDE - 1.0)
        alive = np.arange(CHUNK)
        for drawn in range(planes.max()):
            alive = alive[planes[alive] > drawn]
            # <u, p> >= <u, c> for a point c of the image and a direction u: in a row of pixels it
            # is a bound on the column
            angle = rng.uniform(0, 2 * np.pi, len(alive))
            x, y = rng.uniform(0, SIDE, (2, len(alive), 1))
            u, v = np.cos(angle)[:, None], np.sin(angle)[:, None]
            bound = x - v * (rows - y) / u - 0.5
            right = u > 0
            first[alive] = np.maximum(first[alive], np.where(right, np.ceil(bound), 0))
            last[alive] = np.minimum(last[alive], np.where(right, SIDE - 1, np.floor(bound)))
            size = np.maximum(last[alive] - first[alive] + 1, 0).sum(axis=1)
            planes[alive[size < smallest]] = 0  # it only gets smaller
            alive = alive[size >= smallest]
        good = np.flatnonzero(planes)[:missing]
        found.append((first[good], last[good]))
        missing -= len(good)
    first, last = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return first, last


def _white(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The pixels between the first and the last column of each row; (n, SIDE, SIDE)."""
    columns = np.arange(SIDE)
    return (columns >= first[..., None]) & (columns <= last[..., None])


def is_convex(images: np.ndarray) -> np.ndarray:
    """Whether the white pixels are all those whose centres lie in their convex hull; (n,).

    The left and the right border of the hull in row r are the least and the greatest points at
    which chords between white pixels of a row i <= r and a row j >= r meet the row.
    """
    wide = 4 * SIDE
    some = np.asarray(images.any(axis=2))  # white pixels in a row
    first = np.where(some, images.argmax(axis=2), wide)
    last = np.where(some, SIDE - 1 - images[:, :, ::-1].argmax(axis=2), -wide)
    left, right = first.copy(), last.copy()
    for i in range(SIDE):
        for j in range(i + 2, SIDE):
            r, span = np.arange(i + 1, j), j - i
            both = (some[:, i] & some[:, j])[:, None]
            chord = first[:, i, None] * (j - r) + first[:, j, None] * (r - i)
            left[:, i + 1 : j] = np.minimum(
                left[:, i + 1 : j], np.where(both, -(-chord // span), wide)
            )
            chord = last[:, i, None] * (j - r) + last[:, j, None] * (r - i)
            right[:, i + 1 : j] = np.maximum(
                right[:, i + 1 : j], np.where(both, chord // span, -wide)
            )
    return np.maximum(right - left + 1, 0).sum(axis=1) == images.sum(axis=(1, 2))


def _unions(n: int, rng: np.random.Generator) -> np.ndarray:
    """n unions of convex parts that are not convex; (n, SIDE, SIDE)."""
    found = [np.empty((0, SIDE, SIDE), bool)]
    missing = n
    while missing > 0:
        size = min(CHUNK, missing + missing // 4 + 8)
        parts = rng.integers(2, MOST_PARTS + 1, size)
        white = _white(*_polygons(int(parts.sum()), PART, rng))
        shapes = np.logical_or.reduceat(white, np.concatenate([[0], parts.cumsum()[:-1]]))
        shapes = shapes[~is_convex(shapes)][:missing]
        found.append(shapes)
        missing -= len(shapes)
    return np.concatenate(found)


SHORTEST = 3  # pixels of a side; an outline with something inside
DIFFERENCE = 3  # least difference of the sides


def rectangles(n: int, seed: Seed = None) -> tuple[np.ndarray, np.ndarray]:
    """Outlines of rectangles on a black ground: is the rectangle tall, or wide?

    Parameters
    ----------
    n : int >= 1
        The number of images.
    seed : int, `numpy.random.Generator` or None, default=None
        Source of the random numbers. None means another set each time.

    Returns
    -------
    X : ndarray of shape (n, 784), float32
        28 x 28 pixels row by row, 1 on the outline and 0 elsewhere.
    y : ndarray of shape (n,), int64
        1 if the rectangle is taller than wide, 0 if it is wider than tall.

    Notes
    -----
    The set follows "rectangles" of Larochelle et al. (2007), whose generator is not available.
    Height and width are uniform, and so is the place within the image; both sides have at least 3
    pixels and differ by at least 3, which is chosen here. As a rectangle and the same on its side
    are equally frequent, both classes have the same number of white pixels on average. Errors are
    not to be compared with published ones to the decimal.

    About 50,000 images per second.

    References
    ----------
    Larochelle et al., "An empirical evaluation of deep architectures on problems with many factors
    of variation", ICML 2007.

    Examples
    --------
    >>> X, y = rectangles(1000, seed=0)
    >>> X.shape, np.unique(y).tolist()
    ((1000, 784), [0, 1])
    """
    rng = check_request(n, seed)
    sides = np.arange(SHORTEST, SIDE + 1)
    heights, widths = (side.ravel() for side in np.meshgrid(sides, sides, indexing="ij"))
    allowed = np.flatnonzero(np.abs(heights - widths) >= DIFFERENCE)
    chosen = rng.choice(allowed, int(n))
    height, width = heights[chosen], widths[chosen]
    top, left = (rng.integers(0, SIDE - side + 1) for side in (height, width))
    y_edge, y_in = _sides(top, height)
    x_edge, x_in = _sides(left, width)
    outline = (y_edge[:, :, None] & x_in[:, None, :]) | (y_in[:, :, None] & x_edge[:, None, :])
    return outline.reshape(int(n), -1).astype(np.float32), (height > width).astype(np.int64)


def _sides(start: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which pixels of an axis are the two ends of a side, and which lie on it; (n, SIDE) each."""
    place = np.arange(SIDE) - start[:, None]
    last = length[:, None] - 1
    return (place == 0) | (place == last), (place >= 0) & (place <= last)


GRAVITY = 9.81  # m/s²
RISE = 1.05  # m from the hand to the ring
INSIDE = 0.6  # m beside the middle of the ring, within which a ball drops in or bounces in
CARRIED = {"leather": 0.1, "foam": 0.5}  # part of the wind's speed that a ball takes on
SKILL = 0.1  # by how much speeds differ from the right one
NOISE = 0.1  # m
UNREAD = 0.03  # part of the rows in which the gauge of the wind failed


def throws(n: int, seed: Seed = None) -> dict[str, np.ndarray]:
    """Throws of a ball at a basket: does it fall short, go in, or fly too long?

    Parameters
    ----------
    n : int >= 1
        The number of throws.
    seed : int, `numpy.random.Generator` or None, default=None
        Source of the random numbers. None means another set each time.

    Returns
    -------
    table : dict of str to ndarray of shape (n,)
        A table of pandas or polars is made of it by their ``DataFrame(table)``:

        - ``distance`` of the basket (3 to 9 m), ``angle`` at which the ball leaves the hand (35 to
          70 degrees), and its ``speed`` (m/s);
        - ``wind`` from behind (m/s), which is missing in 3% of the rows;
        - the ``ball``, "leather" or "foam", and the ``hand``, "left" or "right", which has no part
          in it;
        - ``result``: "short", "in" or "long".

    Notes
    -----
    The ball flies along a parabola to a ring 1.05 m above the hand, and takes on a part of the
    wind: a tenth if it is of leather, half if it is of foam. Speeds are about 10% off those that
    hit at this angle and distance, so that no column tells much by itself.

    Examples
    --------
    >>> table = throws(600, seed=0)
    >>> list(table)
    ['distance', 'angle', 'speed', 'wind', 'ball', 'hand', 'result']
    >>> names, rows = np.unique(table["result"], return_counts=True)
    >>> names.tolist(), rows.tolist()
    (['in', 'long', 'short'], [156, 213, 231])
    """
    rng = check_request(n, seed, "throws")
    distance, angle = rng.uniform(3, 9, n), rng.uniform(35, 70, n)
    wind = rng.normal(0, 2.5, n)
    ball = rng.choice(list(CARRIED), n)
    hand = rng.choice(["left", "right"], n, p=[0.2, 0.8])
    up, ahead = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    # the parabola y = x tan θ - g x² / (2 v² cos² θ) through the ring, solved for v
    right = distance / ahead * np.sqrt(GRAVITY / 2 / (distance * up / ahead - RISE))
    speed = right * np.exp(SKILL * rng.normal(size=n))
    fall = (speed * up) ** 2 - 2 * GRAVITY * RISE  # negative where the ball never gets so high
    time = (speed * up + np.sqrt(np.maximum(fall, 0))) / GRAVITY
    part = np.where(ball == "foam", CARRIED["foam"], CARRIED["leather"])
    off = (speed * ahead + part * wind) * time - distance + NOISE * rng.normal(size=n)
    off[fall < 0] = -distance[fall < 0]
    return {
        "distance": distance.round(1), "angle": angle.round(), "speed": speed.round(1),
        "wind": np.where(rng.random(n) < UNREAD, np.nan, wind.round(1)), "ball": ball, "hand": hand,
        "result": np.select([off < -INSIDE, off > INSIDE], ["short", "long"], "in"),
    }  # fmt: skip


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
    """The record of a person at another time: some fields are changed, wrong or missing."""
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
