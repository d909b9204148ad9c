"""The command as a user types it, run in this process."""

import dataclasses

import pytest

from mercer.cli.app import made_app, run


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


def fitted_file(folder, table, target):
    """The path of a model of this file, for fixtures that fit one for all tests of a module."""
    fit = ("fit", table, "--target", target, "--trials", 1, "--quiet")
    assert command(*fit, "-o", folder / "model.mercer") == 0
    return folder / "model.mercer"


def options(name):
    """The arguments of a command, and its options one by one, as cyclopts knows them."""
    found = made_app([name])[name].assemble_argument_collection()
    return [each for each in found if each.parse and not dataclasses.is_dataclass(each.hint)]
