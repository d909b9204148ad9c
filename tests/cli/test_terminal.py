"""What comes from data and the command line is shown on the terminal, and does nothing there."""

import os
import subprocess
import sys

import polars as pl
import pytest

from cli.runner import command
from lanes import few
from mercer.cli.terminal import Terminal, line

ESCAPE, SHOWN = "\x1b[31m\x9b5m\x07", r"\x1b[31m\x9b5m\x07"
MARKUP = "[bold][/][red]:smile:"


def said(capsys, *arguments):
    """What a command line prints and complains, and its exit code."""
    code, printed = command(*arguments), capsys.readouterr()
    return printed.out + printed.err, code


def table(name, target):
    """A table whose names and values are full of escape sequences and markup."""
    rows = range(60)
    pl.DataFrame(
        {
            f"size{ESCAPE}": [i * 7 % 60 / 3 for i in rows],
            f"{MARKUP}": [f"level {i % 3}{ESCAPE}{MARKUP}" for i in rows],
            "note": [f"{ESCAPE} some words {MARKUP} and number {i}" for i in rows],
            target: [f"{MARKUP}{ESCAPE}{i % 2}" for i in rows],
        }
    ).write_csv(name)


def test_strings_are_printed_as_they_are(capsys):
    screen = Terminal()
    screen.print(MARKUP + ESCAPE, line((MARKUP + ESCAPE, "bold"), "\n"))
    assert capsys.readouterr().out == f"{MARKUP}{SHOWN} {MARKUP}{SHOWN}\n\n"


@pytest.mark.full
def test_names_and_values_of_a_table(folder, capsys):
    name, target = f"[red]x{ESCAPE}.csv", f"y{ESCAPE}[/]"
    table(name, target)
    fit = ("fit", name, "--target", target, "--trials", 1, "-o", f"[bold]{ESCAPE}.mercer")
    predict = ("predict", fit[-1], name, "-o", f"[red]{ESCAPE}.csv", "--keep", MARKUP)
    for arguments in (("check", name, "--target", target), fit, predict):
        printed, code = said(capsys, *arguments)
        assert code == 0, printed
        assert not {"\x1b", "\x9b", "\x07"} & set(printed)
        assert SHOWN in printed
        assert "[red]" in printed
    page = (folder / f"[bold]{ESCAPE}.html").read_text("utf-8")
    assert not {"\x1b", "\x9b", "\x07"} & set(page)
    assert f"Predicting y{SHOWN}[/]" in page


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", f"{MARKUP}{ESCAPE}.csv", "--target", "y"),
        ("fit", "t.csv", "--target", f"{MARKUP}{ESCAPE}"),
        ("fit", "t.csv", "--target", "y", "--trials", f"{MARKUP}{ESCAPE}"),
        ("fit", "t.csv", "--target", "y", "--kind", f"{MARKUP}{ESCAPE}=text"),
        ("fit", "t.csv", "--target", "y", "-o", f"{MARKUP}{ESCAPE}/m.mercer"),
        ("predict", "t.csv", "t.csv", "-o", f"{MARKUP}{ESCAPE}"),
        (f"{MARKUP}{ESCAPE}",),
    ],
)
def test_messages_about_the_command_line(arguments, capsys):
    table("t.csv", "y")
    printed, code = said(capsys, *arguments)
    assert code in (2, 3, 4)
    assert not {"\x1b", "\x9b", "\x07"} & set(printed)
    assert r"\x1b[31m" in printed
    assert "[bold]" in printed


@pytest.mark.full
def test_a_screen_that_nobody_reads_costs_no_model(folder):
    table("t.csv", "y")
    source = "from mercer.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", source, "fit", "t.csv", "--target", "y", "--trials", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=120) == 0
    assert (folder / "model.mercer").exists()
    assert (folder / "model.html").exists()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_terminal_that_lacks_letters_shows_them_by_number(folder):
    pl.DataFrame({"größe": [1.5, 2.5, 4.0], "y": ["a", "b", "a"]}).write_csv("t.csv")
    done = subprocess.run(
        [sys.executable, "-c", "from mercer.cli import main; main()", "check", "t.csv"],
        capture_output=True, text=True, check=True, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert r"gr\xf6\xdfe" in done.stdout


MAIN = "import sys; from mercer.cli import main; main()"
SHELL = pytest.mark.skipif(os.name == "nt", reason="the shell is that of Unix")


def in_shell(line, **more):
    """What a line of a shell ends with, where $M is the command."""
    command_line = f"M() {{ {sys.executable} -c '{MAIN}' \"$@\"; }}; {line}"
    return subprocess.run(["bash", "-c", command_line], capture_output=True, text=True, **more)


CLOSED = [
    ("M --version >&-", 0, ""), ("M --version 2>&- >&-", 0, ""), ("M nonsense 2>&-", 2, ""),
    ("M --help >&- <&-", 0, ""), ("M --version >/dev/full", 4, "standard output: No space left"),
    ("M check t.csv --json >/dev/full", 4, "standard output: No space left"),
    ("M nonsense 2>/dev/full", 2, ""), ("M check t.csv >&- 2>&-", 0, ""),
    ("M check no.csv 2>&-", 3, ""), ("M check - <&-", 3, "Standard input is closed"),
]  # fmt: skip


@pytest.mark.spread(2)
@SHELL
@pytest.mark.parametrize(("line", "code", "said"), few(5, CLOSED))
def test_streams_that_are_closed_or_full(line, code, said):
    table("t.csv", "y")
    done = in_shell(line)
    assert done.returncode == code
    assert said in done.stderr
    assert said or not done.stderr
    assert "Traceback" not in done.stderr


@SHELL
@pytest.mark.parametrize("asked", few(1, ["--help", "check t.csv", "check t.csv --json"]))
def test_a_reader_that_has_gone_ends_nothing(asked):
    """The pipe has no reader from the beginning on."""
    table("t.csv", "y")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *asked.split()], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@SHELL
def test_a_file_is_not_written_into_a_closed_stream():
    """The next file that is opened would get its number."""
    code = (
        "import os; from mercer.cli.terminal import open_streams; open_streams();"
        "file = open('f', 'wb'); os.write(1, b'printed'); os.write(2, b'said'); file.close();"
        "assert os.path.getsize('f') == 0"
    )
    line = f'{sys.executable} -c "{code}" <&- >&- 2>&-'
    assert subprocess.run(["bash", "-c", line]).returncode == 0


@SHELL
@pytest.mark.parametrize(
    "module",
    few(2, ["cyclopts", "mercer.cli.check", "rich", "mercer.cli.app", "numpy", "polars", "scipy"]),
)
def test_ctrl_c_while_libraries_are_loaded_is_one_line(module):
    table("t.csv", "y")
    code = f"""
import os, signal, sys
class Finder:
    def find_spec(name, *_):
        if name == {module!r}:
            sys.meta_path.remove(Finder)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
sys.argv = ["mercer", "check", "t.csv", "--kernel", "rbf"]
from mercer.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr.strip() == "Interrupted; nothing was written."
    assert not done.stdout
