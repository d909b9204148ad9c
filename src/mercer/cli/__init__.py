"""The command ``mercer``: ``main`` checks that the ``cli`` extra is there, and runs the app."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from mercer.cli.exit_codes import INTERRUPTED, NO_EXTRA

__all__ = ["main"]

INSTALL = 'pip install "mercer[cli]"'


def main() -> None:
    """Entry point of the command; exits with a code documented in ``mercer --help``."""
    waits = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not so under nohup
    if waits:
        signal.signal(signal.SIGINT, _interrupted)  # an import has nothing to clean up
    try:
        try:
            run = _loaded()
        finally:
            if waits:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        _interrupted()


def _loaded() -> Callable[[], None]:
    """The app, with its streams opened; without the ``cli`` extra the process ends."""
    try:
        import cyclopts
        import rich
    except ModuleNotFoundError as error:
        print(
            f"The command needs the cli extra ({error.name} is not installed):\n\n    {INSTALL}\n",
            file=sys.stderr,
        )
        sys.exit(NO_EXTRA)
    from mercer.cli.terminal import open_streams

    open_streams()
    from mercer.cli.app import run

    return run


def _interrupted(*_: object) -> None:
    """End at once: nothing is written yet."""
    os.write(2, b"\nInterrupted; nothing was written.\n")
    os._exit(INTERRUPTED)
