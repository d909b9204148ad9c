"""What comes from data and the command line is shown on the terminal, and does nothing there."""

import os
import subprocess
import sys

import polars as pl
import pytest

from cli.runner import command
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
