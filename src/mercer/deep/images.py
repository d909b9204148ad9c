"""Images as arrays: what shapes samples may have, and pixels of mean 0 and size 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.samples import is_whole


def check_image_shape(value: Any) -> None:
    """Raise an error if ``image_shape`` is neither None nor two or three counts."""
    known = isinstance(value, (tuple, list)) and len(value) in (2, 3)
    if value is not None and not (known and all(is_whole(v) and v >= 1 for v in value)):
        raise ValueError(
            f"image_shape={value!r}: give (rows, columns), (channels, rows, columns) or None."
        )


def as_images(X: np.ndarray, image_shape: Any) -> np.ndarray:
    """Samples as (n, channels, rows, columns).

    Examples
    --------
    >>> as_images(np.zeros((5, 64)), (8, 8)).shape, as_images(np.zeros((5, 64)), None).shape
    ((5, 1, 8, 8), (5, 1, 1, 64))
    """
    if image_shape is None:
        if not 2 <= X.ndim <= 4:
            raise ValueError(
                f"X has the shape {X.shape}: give images of the shape (n, rows, columns) or "
                "(n, channels, rows, columns)."
            )
        image_shape = X.shape[1:]
    shape = (1,) * (3 - len(image_shape)) + tuple(image_shape)
    bare = shape[1:] if shape[0] == 1 else shape
    if X.shape[1:] not in (shape, bare, (math.prod(shape),)):
        raise ValueError(
            f"X has the shape {X.shape}: give images of the shape (n, {', '.join(map(str, bare))}) "
            f"or (n, {math.prod(shape)})."
        )
    return X.reshape(len(X), *shape)


def pixel_scales(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each channel, and what to divide it by, (channels,) each: then the squares of all
    channels at a position have the sum 1 on average. A channel that is constant is divided by 1.

    Examples
    --------
    >>> pixel_scales(np.array([[[[1.0, 5.0]], [[7.0, 7.0]]]]))
    (array([3., 7.]), array([2.8284271..., 1.        ]))
    """
    largest = np.abs(images).max((0, 2, 3)).astype(np.float64)
    largest[largest == 0] = 1.0
    near_one = images / largest[:, None, None]  # squares of these neither overflow nor vanish
    means, sizes = near_one.mean((0, 2, 3)), near_one.std((0, 2, 3))
    varied = sizes > 10 * np.finfo(images.dtype).eps
    return means * largest, np.where(varied, sizes * largest * np.sqrt(images.shape[1]), 1.0)
