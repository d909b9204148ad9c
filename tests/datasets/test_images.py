"""Images that are drawn: their rules, the balance of classes, and the test of convexity."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.datasets import convex, drawn, rectangles

BOTH = pytest.mark.parametrize("draw", [convex, rectangles])


def in_hull(points, p):
    """Whether p is in the convex hull of points: no half-plane through p has all of them strictly
    inside its complement, as the largest gap between directions of points is at most π."""
    v = points - p
    if (v == 0).all(axis=1).any():
        return True
    angles = np.sort(np.arctan2(v[:, 1], v[:, 0]))
    gaps = np.append(np.diff(angles), angles[0] + 2 * np.pi - angles[-1])
    return gaps.max() <= np.pi + 1e-12


@BOTH
def test_images_and_labels(draw):
    X, y = draw(3000, seed=1)
    assert (X.shape, X.dtype, y.shape) == ((3000, 784), np.float32, (3000,))
    assert set(np.unique(X)) == {0, 1}
    assert set(np.unique(y)) == {0, 1}
    assert 0.46 < y.mean() < 0.54
    assert len(np.unique(X, axis=0)) > (2900 if draw is convex else 2000)
    for again in (1, np.random.default_rng(1)):
        for first, second in zip((X, y), draw(3000, again)):
            assert_array_equal(first, second)
    assert (draw(3000, seed=2)[0] != X).any()
    assert draw(1)[0].shape == (1, 784)


@BOTH
def test_both_classes_have_as_many_white_pixels(draw):
    """On average, within four standard errors; brightness alone tells nothing."""
    X, y = draw(12_000, seed=3)
    white = X.sum(axis=1)
    sides = [white[y == label] for label in (0, 1)]
    error = np.sqrt(sum(side.var() / len(side) for side in sides))
    assert abs(sides[0].mean() - sides[1].mean()) < 4 * error
    assert error < 0.02 * white.mean()


def test_shapes_are_convex_or_not():
    X, y = convex(60, seed=4)
    grid = np.array([(r, c) for r in range(28) for c in range(28)], float)
    for row, label in zip(X > 0, y):
        whole = not any(in_hull(grid[row], p) for p in grid[~row])
        assert whole == label
        assert row.sum() >= (19 if label else 10)


def test_convexity_of_random_pixels():
    rng = np.random.default_rng(5)
    images = np.zeros((400, 28, 28), bool)
    images[:, 9:14, 11:16] = rng.random((400, 5, 5)) < rng.random((400, 1, 1))
    images[:200, 9:13, 11:13] = True
    grid = np.array([(r, c) for r in range(8, 15) for c in range(10, 17)], float)
    found = drawn.is_convex(images)
    for image, verdict in zip(images, found):
        white = image[8:15, 10:17].ravel()
        if white.any():
            assert verdict == (not any(in_hull(grid[white], p) for p in grid[~white]))
    assert 20 < found.sum() < 380
    corners = np.zeros((1, 28, 28), bool)
    assert drawn.is_convex(corners)
    corners[0, [0, 27], [0, 27]] = True  # the diagonal between them is black
    assert not drawn.is_convex(corners)
    corners[0, 1:] = corners[0, :, 1:] = False
    assert drawn.is_convex(corners)


def test_outlines_of_rectangles():
    X, y = rectangles(500, seed=6)
    for image, label in zip(X.reshape(-1, 28, 28), y):
        r, c = np.nonzero(image)
        height, width = np.ptp(r) + 1, np.ptp(c) + 1
        expected = np.zeros((28, 28))
        expected[r.min() : r.max() + 1, c.min() : c.max() + 1] = 1
        expected[r.min() + 1 : r.max(), c.min() + 1 : c.max()] = 0
        assert_array_equal(image, expected)
        assert min(height, width) >= 3
        assert abs(height - width) >= 3
        assert (height > width) == label


@BOTH
@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0,), "n=0"), ((2.5,), "n=2.5"), (("a",), "n='a'"), ((5, -1), "seed=-1"), ((5, "a"), "seed")],
)
def test_refusals(draw, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        draw(*arguments)
