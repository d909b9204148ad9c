"""Every command and line of Python of the tutorial, one after the other in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

import mercer.cli.app
from cli.runner import command

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.rst"


def blocks(page):
    """(language, text) of each block of code of a page."""
    found = re.findall(r"^\.\. code-block:: (\w+)\n\n((?: {3}.*\n|\n)+)", page, re.MULTILINE)
    return [(language, re.sub(r"^ {3}", "", text, flags=re.MULTILINE)) for language, text in found]


def quick(words):
    """The same command; a fit takes one trial."""
    if words[0] != "fit":
        return words
    time = words.index("--time") if "--time" in words else len(words)
    return [*words[:time], *words[time + 2 :], "--trials", "1"]


@pytest.mark.full
@pytest.mark.skipif(not PAGE.exists(), reason="the docs are no part of a source package")
def test_the_tutorial_works_word_by_word(folder, monkeypatch, capsys):
    run = mercer.cli.app.run
    monkeypatch.setattr("mercer.cli.app.run", lambda words: run(quick(words)))  # of the demo
    done = []
    for language, text in blocks(PAGE.read_text()):
        if text.startswith("distance,"):
            Path("new.csv").write_text(text.strip() + "\n")
        if language == "python":
            capsys.readouterr()
            exec(text, {})
            assert capsys.readouterr().out == "['short' 'in' 'long']\n"
            done.append("python")
        for line in text.strip().splitlines() if language == "console" else []:
            program, *words = shlex.split(line.removeprefix("$ "))
            done.append(words[0])
            if program == "cd":
                monkeypatch.chdir(words[0])
            elif program == "mercer":
                assert command(*quick(words)) == 0, line
    assert done == [
        "install",
        "--version",
        "demo",
        "mercer-demo",
        "check",
        "fit",
        "predict",
        "python",
    ]
    assert Path("basket.html").exists()
