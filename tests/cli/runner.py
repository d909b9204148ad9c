"""The command as a user types it, run in this process."""

import pytest

from mercer.cli.app import run


def command(*arguments):
    """Exit code of a command line."""
    with pytest.raises(SystemExit) as done:
        run([str(a) for a in arguments])
    return done.value.code


def printed(capsys, *arguments):
    """Exit code of a command line and all that it printed and complained, on one line."""
    code = command(*arguments)
    said = capsys.readouterr()
    return code, " ".join((said.out + said.err).split())
