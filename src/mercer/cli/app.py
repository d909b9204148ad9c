"""The app: all commands, and how errors become messages and exit codes.

The commands stand in commands.py. That file is not imported for their list, so that ``mercer
--help`` is fast: `COMMANDS` has what the list says.
"""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from functools import partial
from typing import NoReturn

from cyclopts import App, CycloptsError, CycloptsPanel, MissingArgumentError

import mercer
from mercer.cli.exit_codes import BUG, DATA, INTERRUPTED, NO_EXTRA, OK, OUTPUT, USAGE
from mercer.cli.libraries import check_room
from mercer.cli.terminal import OptionError, Terminal, line
from mercer.spoken import visible

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # errors that mean: no room for a file

QUICK = {"--help", "-h", "--version"}  # options that load nothing

EPILOGUE = """Exit codes: 0 done; 1 an error of Mercer's own; 2 wrong command line; 3 wrong data; \
4 a result could not be written; 5 an extra is not installed; 6 the model is written, but its \
report failed; 7 dedup --fail or link --fail has found some; 130 interrupted."""

#: the name of each function in commands.py, and the first line of its docstring
COMMANDS = {
    "fit": "Fit, score and explain a model of a table.",
    "predict": "Predict for the rows of a table, in their order.",
    "report": "Score a model on new rows whose target is known, and write a report.",
    "check": "Say what is in a table and what is wrong with it, without fitting.",
    "variants": "Say what a model of sequences predicts if letters are replaced.",
    "neighbors": "Find the nearest rows of a table, by columns of any kind.",
    "map_": "Draw a map of the rows of a table, with its clusters, as a page to walk through.",
    "link": "Find records that are the same person, firm or thing, in two tables or within one.",
    "denoise": "Take noise out of recordings of speech.",
    "dedup": "Remove near-duplicates from files of documents.",
    "demo": "Fit, explain and use a model of throws at a basket.",
}


def made_app(words: list[str]) -> App:
    """The app for a command line: the module of a command is imported when it is used, and not to
    list it."""
    listed = not words or words[0] in QUICK
    app = App(
        name="mercer",
        help="Learning from similarity: a table in, a tuned kernel machine and its report out.",
        help_epilogue=EPILOGUE,
        help_format="plaintext",
        version=f"mercer {mercer.__version__}",
        version_format="plaintext",
        result_action="return_value",
        suppress_keyboard_interrupt=False,  # `run` says what became of the files
    )
    for place, (name, said) in enumerate(COMMANDS.items()):
        app.command(
            f"mercer.cli.commands:{name}",
            name=name.rstrip("_"),
            help=said if listed else None,
            help_format="markdown",
            sort_key=place,
        )
    return app


def run(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    errors = Terminal(stderr=True)
    warnings.showwarning = partial(_warn, errors, set())
    words = _with_pipe(sys.argv[1:] if arguments is None else arguments)
    try:
        if not QUICK.intersection(words):
            check_room()
        code = made_app(words)(words, exit_on_error=False, print_error=False)
        sys.stdout.flush()  # on a full disk now, and not when Python ends
    except CycloptsError as error:
        errors.print(CycloptsPanel(visible(_usage(error))))
        sys.exit(USAGE)
    except KeyboardInterrupt:
        errors.print("\nInterrupted; nothing was written.")
        sys.exit(INTERRUPTED)
    except OptionError as error:
        _fail(errors, error, USAGE)
    except (FileExistsError, PermissionError) as error:
        _fail(errors, error, OUTPUT)
    except (ValueError, TypeError, MemoryError, FileNotFoundError, IsADirectoryError) as error:
        _fail(errors, error, DATA)
    except ImportError as error:
        if error.name is not None:  # raised by an import, not by code that says what to install
            _bug(errors)
        _fail(errors, error, NO_EXTRA)
    except OSError as error:
        _fail(errors, error, OUTPUT)
    except Exception:
        _bug(errors)
    sys.exit(code if isinstance(code, int) else OK)


def _usage(error: CycloptsError) -> str:
    """What is wrong in a command line; of what has to be there and is not, its name."""
    wanted = error.argument
    if not isinstance(error, MissingArgumentError) or wanted is None or error.keyword:
        return str(error)
    command = " ".join(["mercer", *(error.command_chain or ())])
    return f"{command} needs {wanted.name}. See {command} --help."


def _bug(errors: Terminal) -> NoReturn:
    errors.print(traceback.format_exc(), soft_wrap=True)
    errors.print("This is an error of Mercer's own. Please report it, with the lines above.")
    sys.exit(BUG)


def _with_pipe(words: list[str]) -> list[str]:
    """The same command, where ``-`` is the file of that name: standard input before all options,
    and standard output as that of predictions; and what ``--explain`` of these means alone."""
    options = next((i for i, word in enumerate(words) if word[:1] == "-" != word), len(words))
    files = {i for i, word in enumerate(words) if word == "-" and i < options}
    if words[:1] == ["predict"]:
        for i in reversed(range(len(words))):
            if words[i] == "--explain" and words[i + 1 : i + 2] not in (["rows"], ["columns"]):
                words = [*words[: i + 1], "rows", *words[i + 1 :]]
        files |= {i + 1 for i, word in enumerate(words[:-1])
                  if word in ("-o", "--output") and words[i + 1] == "-"}  # fmt: skip
    return ["./-" if i in files else word for i, word in enumerate(words)]


def _warn(errors: Terminal, said: set[str], message: Warning | str, *_: object) -> None:
    """A warning in the command's own words: once, and without the line of code that gave it."""
    if str(message) not in said:
        said.add(str(message))
        errors.print(line(("mercer: ", "yellow"), str(message)), soft_wrap=True)


def _fail(errors: Terminal, error: Exception, code: int) -> None:
    errors.print(line(("mercer: ", "bold red"), _plain(error)), soft_wrap=True)
    sys.exit(code)


def _plain(error: Exception) -> str:
    """An error in words, with the file that it is about."""
    if isinstance(error, MemoryError) and not str(error):  # as of an array that finds no room
        return "The memory is used up. Close other programs, give fewer rows, or raise its limit."
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    said = f"{error.filename}: {error.strerror}."
    if error.errno == errno.EISDIR:
        said = f"{error.filename} is a folder. Give the name of a file."
    if error.errno in FULL:
        said += (
            " It was not written; a file that was there is unchanged. Free some space, or give "
            "an --output on another disk."
        )
    return said
