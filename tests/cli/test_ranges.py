"""Every number among the options of every command has a range, and is refused outside of it."""

import re
from pathlib import Path

import pytest

from cli.runner import options, printed

NEEDED = {
    "fit": ["t.csv", "--target", "y", "-o", "new.mercer"],
    "predict": ["m.mercer", "t.csv", "-o", "p.csv"],
    "report": ["m.mercer", "t.csv"],
    "check": ["t.csv"],
    "variants": ["m.mercer", "t.csv", "-o", "v.csv"],
    "neighbors": ["t.csv"],
    "map": ["t.csv"],
    "link": ["t.csv"],
    "denoise": ["--train", "speech", "-o", "new.mercer"],
    "dedup": ["d.jsonl", "-o", "o.jsonl"],
}
HUGE = "99999999999999999999999999"
WHOLE, COUNT = ["-1", HUGE, "2.5", "nan", "some"], ["0", "-1", HUGE, "2.5", "nan", "some"]
SHARE = ["0", "-0.5", "1.5", "nan", "inf", "some"]
WRONG = {
    "bits": ["0", "3", "nan"], "characters": COUNT, "compress": COUNT, "interval": SHARE,
    "min_cluster_size": [*COUNT, "1"], "neighbors": COUNT, "rows": [*COUNT, "2"],
    "max_block": [*COUNT, "1"], "relatives": [*WHOLE, "9"],
    "pairs_per_record": ["0", "-1", "nan", "inf", "some"],
    "k": COUNT, "most_kept": COUNT, "radius": ["-1", "nan", "inf", "some"],
    "recall": SHARE, "scenes": COUNT, "seed": [*WHOLE, "4294967296"],
    "skip_rows": [*WHOLE, "1000001"], "threshold": SHARE, "trials": COUNT, "words": COUNT,
}  # fmt: skip


NUMBER = re.compile(r"\b(int|float)\b|Literal\[\d")


def numbers():
    """Every option of every command that is a number."""
    for name in NEEDED:
        for argument in options(name):
            if NUMBER.search(str(argument.hint)):
                yield name, argument.field_info.name


def test_every_number_of_every_command_is_in_the_table():
    assert {option for _, option in numbers()} == set(WRONG)


@pytest.mark.spread(60)
@pytest.mark.parametrize(
    ("name", "option", "value"), [(n, o, value) for n, o in numbers() for value in WRONG[o]]
)
def test_a_number_outside_of_its_range_is_an_error_of_the_command_line(name, option, value, capsys):
    Path("speech").mkdir()
    for file in ("t.csv", "d.jsonl", "m.mercer", "speech/a.wav"):
        Path(file).write_text("")
    asked = "--neighbors" if option == "k" else f"--{option.replace('_', '-')}"
    code, said = printed(capsys, name, *NEEDED[name], f"{asked}={value}")
    assert code == 2, said
    assert "Traceback" not in said
    assert asked in said or "-k" in said
