"""Files as they occur in life: each is read right, or refused with the right words.

Each case is the bytes of a file, the options of ``mercer check``, and what must stand on the
screen; those that are refused end with the exit code 2 or 3.
"""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.runner import command, printed

N = 40
SINES = [round(float(np.sin(i)), 3) for i in range(N)]
SHUFFLED = np.random.default_rng(0).permutation(2 * N)[:N].tolist()
FRAME = pd.DataFrame({"size": SINES, "colour": [f"c{i % 3}" for i in range(N)]})


def lines(head, row, tail=""):
    """A text with a header and N rows, which ``row`` makes of their numbers."""
    return f"{head}\n" + "".join(f"{row(i)}\n" for i in range(N)) + tail


def two(head, cell):
    """A text with one column of interest, and a number."""
    return lines(f"{head};size", lambda i: f"{cell(i)};{SINES[i]}")


def jsons(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


PANDAS = "the index of a pandas table"
READ = {
    "an index without a name": (FRAME.to_csv(), (), "t.csv", f"{PANDAS}"),
    "an index after a split": (
        FRAME.set_axis(SHUFFLED).to_csv(), (), "t.csv", f"{PANDAS}, shuffled or with gaps"),
    "an index after a concat": (
        pd.concat([FRAME, FRAME]).to_csv(), (), "t.csv", f"{PANDAS}, which starts again at 0"),
    "an index that was reset": (
        pd.concat([FRAME, FRAME]).reset_index().to_csv(index=False), (), "t.csv",
        f"{PANDAS}, which starts again at 0"),
    "an index that was read again": (
        FRAME.set_axis(SHUFFLED).rename_axis("Unnamed: 0").to_csv(), (), "t.csv", PANDAS),
    "no header": (
        "".join(f"{i}.{i % 7 + 1};{SINES[i]}\n" for i in range(N)), (), "t.csv",
        "40 rows, 2 columns"),
    "no header, as a user says": (
        "".join(f"{i % 7};{SINES[i]}\n" for i in range(N)), ("--no-header",), "t.csv",
        "40 rows, 2 columns"),
    "years as names": (
        lines("2019,2020", lambda i: f"{i},{SINES[i]}"), (), "t.csv", "40 rows, 2 columns"),
    "units below the names": (
        lines("length,weight\nmm,[kg]", lambda i: f"{i}.5,{SINES[i]}"), (), "t.csv",
        "The line below the header holds units, and is no row: mm, [kg]."),
    "questions below the names": (
        lines("id,Q1,Q2\nResponse ID,How old are you?,\"How do you feel, in all?\"",
              lambda i: f"R{i * 7919},{i + 20},{i % 7 + 1}"), (), "t.csv",
        "The line below the header holds what the names mean, and is no row: Response ID, How old "
        "are you?, How do you feel, in all?. • Not used: id"),
    "questions and what a program calls them": (
        lines('day,Q1\nDay of the answer,How old?\n"{""ImportId"":""d""}","{""ImportId"":""Q""}"',
              lambda i: f"2024-03-{i % 28 + 1:02d},{i + 20}"), (), "t.csv", "40 rows, 2 columns"),
    "headings in two rows": (
        lines("shop,2023,,2024,\n,sold,back,sold,back",
              lambda i: f"{'abc'[i % 3]},{i},{i % 7},{i + 1},{i % 5}"), (), "t.csv",
        "The headings stand in two rows, which are joined: shop, 2023 / sold, 2023 / back, 2024 / "
        "sold, 2024 / back."),
    "headings in two rows, as pandas writes them": (
        lines("2023,2023,2024\nsold,back,sold", lambda i: f"{i},{i % 7},{i + 1}"), (), "t.csv",
        "2023 / back number"),
    "words for missing numbers in the first row": (
        lines("name,age,size\nAnna,unknown,1.7", lambda i: f"Otto {i},{i},{SINES[i]}"), (), "t.csv",
        "41 rows, 3 columns"),
    "points in thousands or not": (
        lines("people;day", lambda i: f"{i + 1}.{i + 100};{i % 28 + 1}.3.2024"), (), "t.csv",
        "people: thousands are separated by points, as nothing in the file speaks against it; if "
        "points are decimal signs, give --decimal . (a point)."),
    "dates of both orders": (
        two("day", lambda i: f"0{i % 9 + 1}/0{i % 7 + 1}/2021"), (), "t.csv",
        "day: its dates fit both orders of day and month, and '01/01/2021' is read with the day "
        "first, as 2021-01-01; if the month is first, give --dates month-first."),
    "dates whose order is given": (
        two("day", lambda i: f"0{i % 9 + 1}/0{i % 2 + 1}/2021"), ("--dates", "month-first"),
        "t.csv", "2021-01-01 to 2021-09-02"),
    "dates with a form": (
        two("day", lambda i: f"0{i % 9 + 1}/0{i % 2 + 1}/2021"), ("--kind", "day=date:month-first"),
        "t.csv", "2021-01-01 to 2021-09-02"),
    "levels with an order": (
        two("risk", lambda i: ["low", "mid", "high"][i % 3]),
        ("--kind", "risk=ordered:low<mid<high"), "t.csv", "risk ordered"),
    "a mark that is given": (
        two("x", lambda i: "gone" if i % 2 else f"{i}.5"), ("--missing", "gone"), "t.csv",
        "x number 20"),
    "a long cell": (
        lines("note,size", lambda i: f"{'word ' * (40_000 if i == 9 else 9)}{i},{SINES[i]}"), (),
        "t.csv", "note text"),
    "clock times": (
        two("opens", lambda i: f"{i % 24:02d}:30"), (), "t.csv", "0:30 to 23:30"),
    "accountants": (
        two("balance", lambda i: f"($1,{100 + i}.50)" if i % 2 else f"$2,{100 + i}.00"), (),
        "t.csv", "balance number -1139.5 to 2138"),
    "brackets": (
        two("profit", lambda i: f"({i})" if i % 2 else f"{i}"), (), "t.csv",
        "profit number -39 to 38"),
    "minus at the end": (
        two("change", lambda i: f"{i}-" if i % 2 else f"{i}"), (), "t.csv", "change number"),
    "kilograms": (two("weight", lambda i: f"{i}.6 kg"), (), "t.csv", "0.6 to 39.6 kg"),
    "bytes": (
        two("disk", lambda i: f"{i + 1} GB" if i % 3 else "512 MB"), (), "t.csv", "numbers in GB"),
    "grams and kilograms": (
        two("mass", lambda i: f"{i + 1} g" if i % 3 else f"{i + 1} kg"), (), "t.csv", "in g,"),
    "spans": (
        two("time", lambda i: f"{i % 5}h {i}m" if i % 3 else f"{i}m"), (), "t.csv", "numbers in h"),
    "a target in kilograms": (
        two("weight", lambda i: f"{i}.6 kg"), ("--target", "weight"), "t.csv",
        "weight is read in kg."),
    "degrees": (two("heat", lambda i: f"{i - 9} °C"), (), "t.csv", "-9 to 30 °C"),
    "a title above": (
        "Sales of March\n\n" + FRAME.to_csv(index=False), (), "t.csv",
        "The table begins below the first 2 lines, of which one is 'Sales of March'."),
    "a line for Excel above": (
        "sep=;\n" + two("weight", lambda i: f"{i},6 kg"), (), "t.csv", "0.6 to 39.6 kg"),
    "comments above": (
        "# made by a sensor\n# at night\n" + FRAME.to_csv(index=False), (), "t.csv",
        "The table begins below the first 2 lines"),
    "rows to skip": (
        "a,b\nc,d\n" + FRAME.to_csv(index=False), ("--skip-rows", 2), "t.csv",
        "40 rows, 2 columns"),
    "files that were joined": (
        2 * FRAME.to_csv(index=False), (), "t.csv", "The header stands among the rows again."),
    "a total": (
        FRAME.to_csv(index=False) + f"{sum(SINES):.3f},Total\n", (), "t.csv",
        "The last row adds up the others and is left out"),
    "a total with gaps": (
        FRAME.assign(n=1).to_csv(index=False) + "Total,,\n", (), "t.csv",
        "What stands below the rows is left out: 'Total,,'."),
    "a source below": (
        FRAME.to_csv(index=False) + "\nSource: a survey\n", (), "t.csv",
        "What stands below the rows is left out: 'Source: a survey'."),
    "seconds since 1970": (
        two("ts", lambda i: 1_700_000_000 + 3600 * i), ("--kind", "ts=date"), "t.csv",
        "seconds since 1970"),
    "milliseconds since 1970": (
        two("ts", lambda i: 1_700_000_000_000 + 3_600_000 * i), ("--kind", "ts=date"), "t.csv",
        "milliseconds since 1970"),
    "hours of a zone": (
        two("ts", lambda i: f"2024-03-{1 + i // 24:02d}T{i % 24:02d}:00:00+02:00"), (), "t.csv",
        "The hours of ts are those of its time zone, +02:00."),
    "nested lines": (
        jsons({"user": {"age": i, "name": f"n{i % 3}"}, "size": s} for i, s in enumerate(SINES)),
        (), "t.jsonl", "user.age"),
    "an array": (FRAME.to_json(orient="records"), (), "t.json", "40 rows, 2 columns"),
    "columns of pandas in JSON": (FRAME.to_json(), (), "t.json", "40 rows, 2 columns"),
}  # fmt: skip
REFUSED = {
    "wrong kinds": (
        FRAME.to_csv(index=False), ("--kind", "sise=number", "--kind", "colour=date"), "t.csv", 3,
        ["--kind sise: t.csv has no such column", "colour='date', but no value is a date"]),
    "kinds that are none": (
        FRAME.to_csv(index=False), ("--kind", "size=numbr", "--kind", "colour"), "t.csv", 2,
        ["size='numbr'; kinds are", "--kind colour: write column=kind"]),
    "a row that was cut off": (
        FRAME.to_csv(index=False) + "0.5\n", (), "t.csv", 3, ["ragged: row 42 has 1 fields"]),
    "small numbers as dates": (
        two("ts", lambda i: i), ("--kind", "ts=date"), "t.csv", 3,
        ["nor a number of seconds or milliseconds since 1970"]),
    "JSON that is no table": ("[1, 2, 3]", (), "t.json", 3, ["holds no table"]),
    "skipping everything": (
        FRAME.to_csv(index=False), ("--skip-rows", 50), "t.csv", 3,
        ["no table below its first 50"]),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_a_file_is_read_right(case, folder, capsys):
    content, options, name, said = READ[case]
    (folder / name).write_text(content)
    code, screen = printed(capsys, "check", name, *options)
    assert code == 0, screen
    assert said in screen


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_is_refused_with_the_right_words(case, folder, capsys):
    content, options, name, expected, words = REFUSED[case]
    (folder / name).write_text(content)
    code, screen = printed(capsys, "check", name, *options)
    assert code == expected
    for said in words:
        assert said in screen


def test_there_are_thirty_files():
    assert len(READ) + len(REFUSED) >= 30


ANSWERS = [["Yes", "yes ", "no", "No", "no"][i % 5] for i in range(N)]


def test_classes_that_differ_by_case_and_blanks_are_one(folder, capsys):
    (folder / "t.csv").write_text(lines("ok,size", lambda i: f"{ANSWERS[i]},{SINES[i]}"))
    code, said = printed(capsys, "check", "t.csv", "--target", "ok")
    assert (code, "ok: no 24 (60%), Yes 16 (40%)." in said) == (0, True)
    assert "'no', 'No' are read as one class, no" in said
    code, said = printed(capsys, "check", "t.csv", "--target", "ok", "--keep-variants")
    assert "ok: no 16 (40%)" in said


@pytest.mark.parametrize("wrong", ["4.l", "about 7"])
def test_a_mistyped_target_is_no_class(wrong, folder, capsys):
    content = lines("size;y", lambda i: f"{SINES[i]};{wrong if i == 6 else f'{i},5'}")
    (folder / "t.csv").write_text(content)
    code, said = printed(capsys, "check", "t.csv", "--target", "y")
    assert code == 3
    assert f"--target y holds numbers, but 1 cell is none: '{wrong}' (row 7)." in said
    code, said = printed(capsys, "check", "t.csv", "--target", "y", "--missing", wrong)
    assert (code, "y: 0.5 to 39.5, median 20.5" in said) == (0, True)


def test_a_target_is_read_by_what_its_file_tells(folder, capsys):
    content = lines("area;rent", lambda i: f"{i},2;{f'1.{100 + i}' if i % 3 else 500 + i} €")
    (folder / "t.csv").write_text(content)
    code, said = printed(capsys, "check", "t.csv", "--target", "rent")
    assert (code, "rent: 500 to 1138" in said) == (0, True)


def test_lengths_of_time_are_numbers_to_predict(folder, capsys):
    (folder / "t.csv").write_text(lines("size,lap", lambda i: f"{SINES[i]},0:{i + 10}:05"))
    code, said = printed(capsys, "check", "t.csv", "--target", "lap")
    assert (code, "lap is read in s." in said) == (0, True)


def test_the_record_of_each_column_is_printed_as_json(folder, capsys):
    (folder / "t.csv").write_text(two("x", lambda i: "4.l" if i == 6 else f"{i}.5"))
    assert command("check", "t.csv", "--json") == 0
    facts = json.loads(capsys.readouterr().out)["columns"]
    assert (facts[0]["unfit"], facts[0]["misfits"]) == (1, [{"row": 7, "cell": "4.l"}])
    assert [fact["others"] for fact in facts] == [[], []]
