"""Where a user called: warnings point there, however deep in the library they come from."""

from __future__ import annotations

import sys


def first_outside() -> int:
    """The stacklevel, for the function that calls this one, of the first caller of another library.

    ``warnings.warn(..., stacklevel=first_outside())`` names the line of the user's program.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] == "mercer":
        frame, level = frame.f_back, level + 1
    return level
