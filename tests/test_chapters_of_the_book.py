"""Each chapter of the book has all its parts; its examples are run by the doctests of the pages."""

import doctest
import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[1] / "docs" / "book"
BESIDE = {"index", "notation", "course"}
CHAPTERS = sorted(path for path in BOOK.glob("*.rst") if path.stem not in BESIDE)


def test_the_list_has_all_chapters():
    listed = re.search(r":hidden:\n\n(.*?)\n\n", (BOOK / "index.rst").read_text("utf-8"), re.S)[1]
    assert {*listed.split(), "index"} == {path.stem for path in BOOK.glob("*.rst")}
    assert listed.split()[-2:] == ["notation", "course"]


def test_the_course_has_all_exercises():
    """A week for each chapter but the last one, and how many exercises it has."""
    course = (BOOK / "course.rst").read_text("utf-8")
    rows = re.findall(r"\* - (\d+)\n +- :doc:`(\w+)`\n +- 1 to (\d)", course)
    assert [int(week) for week, _, _ in rows] == [*range(1, 13)]
    for week, chapter, count in rows:
        text = (BOOK / f"{chapter}.rst").read_text("utf-8")
        assert text.startswith(f"{week}. ")
        exercises = text.split("\nExercises\n")[1].split("\nReference: ")[0]
        assert len(re.findall(r"\n\d\. ", exercises)) == int(count), chapter


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_all_parts(path):
    text = path.read_text("utf-8")
    title, opening = text.split("\n", 3)[0], text.split("\n", 3)[3]
    assert re.match(r"\d+\. ", title)
    assert "?" in title or "?" in opening[:1200], "it begins with a question"
    assert text.count(".. picture::") >= 1
    assert ".. warning::" in text
    functions = [e.source for e in doctest.DocTestParser().get_examples(text)
                 if e.source.startswith("def ")]  # fmt: skip
    assert functions, "something is done by hand"
    assert max(source.count("\n") for source in functions) <= 21
    exercises = re.split(r"\n\d\. ", text.split("\nExercises\n")[1].split("\nReference: ")[0])[1:]
    assert 3 <= len(exercises) <= 6
    for exercise in exercises:
        assert exercise.count(".. folded:: Solution") == 1
        assert ">>>" in exercise.split(".. folded:: Solution")[1], exercise
    sources = text.split("\nSources: ")[1].split(";")
    assert [each for each in sources if not re.search("pages|chapters|a book", each)] == []
