"""A table of throws at a basket: drawn, not loaded. It is that of ``mercer demo``."""

from __future__ import annotations

import numpy as np

from mercer.datasets.convex_shapes import check_request
from mercer.estimator import Seed

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
