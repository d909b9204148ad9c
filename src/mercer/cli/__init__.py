"""The command ``mercer``: ``main`` checks that the ``cli`` extra is there, and runs the app."""

import sys

from mercer.cli.exit_codes import NO_EXTRA

__all__ = ["main"]

INSTALL = 'pip install "mercer[cli]"'


def main() -> None:
    """Entry point of the command; exits with a code documented in ``mercer --help``."""
    try:
        import cyclopts
        import rich
    except ModuleNotFoundError as error:
        print(
            f"The command needs the cli extra ({error.name} is not installed):\n\n    {INSTALL}\n",
            file=sys.stderr,
        )
        sys.exit(NO_EXTRA)
    for stream in (sys.stdout, sys.stderr):  # which may lack letters, as in ASCII
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    from mercer.cli.app import run

    run()
