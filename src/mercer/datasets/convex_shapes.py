"""Images that are drawn, not loaded: white shapes, convex or not, and outlines of rectangles."""

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
