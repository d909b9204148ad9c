"""Series as arrays whose axes have names, as those of xarray have."""

import numpy as np

from mercer.samples import kind_named

PLACES = {"time": 1, "channel": 2}  # of an axis; that of the samples comes first


def of_named_axes(X):
    """An array with the axes time and channel, and one of samples, as series; else None."""
    axes = getattr(X, "dims", ())
    if "time" not in axes or not 2 <= len(axes) <= 3:
        return None
    return list(np.transpose(X.values, np.argsort([PLACES.get(axis, 0) for axis in axes])))


kind_named("series").forms += (of_named_axes,)
