"""Every table that a user may bring: what is taken in is said, what is refused is told how to mend.

One test for each, through the command: `fit` where the table can be used, and the message, exit
code and untouched folder where it cannot.
"""

import io
import pickle
import re
import shutil
import zipfile
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import fitted_file, printed
from lanes import few

N = 60
RANDOM = np.random.default_rng(0)
SIZE = RANDOM.normal(size=N).round(3)
TABLE = pl.DataFrame(
    {
        "size": SIZE,
        "weight": RANDOM.normal(size=N).round(3),
        "colour": ["red", "green", "blue"] * (N // 3),
        "y": np.where(SIZE > 0, "yes", "no"),
    }
)
FIT = ("fit", "t.csv", "--target", "y", "--trials", 1)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# --- tables that are refused ------------------------------------------------------------------

TEXT = TABLE.write_csv().encode()
REFUSED = {
    "ragged": (
        TEXT + b"1,2,red\n",
        "t.csv is ragged: row 62 has 3 fields, the header has 4. Mend that row",
    ),
    "not UTF-8": (
        TEXT.replace(b"green", "grün".encode("latin-1")),
        "t.csv is not utf-8: byte 0xfc in row 3. Give its encoding, for example --encoding latin-1",
    ),
    "empty": (b"", "t.csv is empty."),
    "header only": (b"x,y\n", "t.csv has a header (2 columns) but no rows."),
    "no table": (
        b"PK\x03\x04\0\0",
        "t.csv has a NUL character in row 1: this is not a text",
    ),
    "one class": (
        TABLE.with_columns(y=pl.lit("yes")).write_csv().encode(),
        "--target y has the one value 'yes' in all 60 rows: there is nothing to predict.",
    ),
    "no target at all": (
        TABLE.with_columns(y=pl.lit(None)).write_csv().encode(),
        "--target y: every value of that column is missing in t.csv; give another one.",
    ),
    "classes all different": (
        TABLE.with_columns(y=pl.Series([f"name {i}" for i in range(N)])).write_csv().encode(),
        "--target y: its 60 values are all different, and classes need rows in common.",
    ),
    "numbers too large to predict": (
        TABLE.with_columns(y=pl.Series(SIZE * 1e200)).write_csv().encode(),
        "too much for squared errors. Give it in other units.",
    ),
    "numbers too small to predict": (
        TABLE.with_columns(y=pl.Series(SIZE * 1e-200)).write_csv().encode(),
        "too little for squared errors. Give it in other units.",
    ),
    "dates to predict": (
        TABLE.with_columns(y=pl.Series([f"2024-01-{i % 28 + 1:02d}" for i in range(N)]))
        .write_csv()
        .encode(),
        "--target y holds dates; turn them into a number to predict",
    ),
    "infinity": (
        TABLE.with_columns(size=pl.when(pl.col("size") == SIZE[4]).then(np.inf).otherwise(0.5))
        .write_csv()
        .encode(),
        "t.csv: column 'size' holds an infinity in row 5 below the header: replace it",
    ),
    "nothing but the target": (
        TABLE.select("y").write_csv().encode(),
        "t.csv has no column besides the target y",
    ),
    "no column of use": (
        TABLE.select("y", n=pl.lit(None)).write_csv().encode(),
        "no column that can be used: n: empty (every value is missing). Give the kind of a column "
        "with kind= (or --kind).",
    ),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_tables(content, message, folder, capsys):
    (folder / "t.csv").write_bytes(content)
    code, said = printed(capsys, *FIT)
    assert code == 3
    assert message in said
    assert names(folder) == ["t.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fit", "t", "--target", "y"), 3, "There is no file t."),
        (("--target", "z"), 3, "--target z: t.csv has no such column; it has ['size', 'weight',"),
        (("--target", "Weigth"), 3, "Did you mean 'weight'?"),
        (
            ("--task", "regression"),
            3,
            "--task regression: the target y holds 'yes', which is",
        ),
        (("--target", "size", "--task", "classification"), 3, "is a number rather than a class."),
        (("--kind", "size=colour"), 2, "size='colour'; kinds are number, category, date, text"),
        (("--kind", "colour=number"), 3, "colour='number', but no value is a number; the first is"),
        (("--drop", "y"), 2, "--drop y: this is the target; give another column."),
        (
            ("--kind", "size=number", "--kind", "colr=text"),
            3,
            "--kind colr: t.csv has no such column",
        ),
        (("--group", "y"), 2, "--group y: this is the target"),
        (("--encoding", "utf-16"), 3, "t.csv is not in utf-16: leave --encoding out"),
        (("--sep", ";"), 3, "separated by something else: leave --sep out"),
        (("--time", "0"), 2, "--time='0': give a positive number of seconds"),
        (("--metric", "r2"), 3, "--metric='r2': for classification give one of accuracy"),
        (("--seed", "-1"), 2, "--seed -1: give a whole number, at least 0."),
        (("--trials", "0"), 2, "trials=0: give a whole number, at least 1."),
        (("--memory", "much"), 2, "memory='much'"),
        (
            ("-o", "m.html"),
            2,
            "the report takes that name; give the model another, such as m.mercer",
        ),
    ],
)
def test_refused_options(arguments, code, message, folder, capsys):
    TABLE.write_csv("t.csv")
    if arguments[0] != "fit":
        arguments = ("fit", "t.csv", "--target", "y", "--quiet", *arguments)
        if arguments.count("--target") == 2:
            arguments = (*arguments[:2], *arguments[4:])
    ended, said = printed(capsys, *arguments)
    assert ended == code
    assert message in said
    assert names(folder) == ["t.csv"]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("t.csv", "t.csv: --output would replace a file that is read."),
        (".", "--output names a folder; give a file in it."),
        ("no/m.mercer", "no: there is no such folder; create it first."),
    ],
)
def test_outputs_that_even_force_does_not_write(output, message, folder, capsys):
    TABLE.write_csv("t.csv")
    code, said = printed(capsys, *FIT, "-o", output, "--force")
    assert code == 4
    assert message in said
    assert (folder / "t.csv").read_bytes() == TEXT


@pytest.mark.usefixtures("no_report")
def test_a_test_table_that_cannot_be_scored_is_refused_before_the_search(folder, capsys):
    TABLE.write_csv("t.csv")
    test = (*FIT[:4], "--time", "1h", "--test", "test.csv")
    TABLE.drop("weight").write_csv("test.csv")
    code, said = printed(capsys, *test)
    assert (code, "test.csv lacks the column 'weight' of the training table." in said) == (3, True)
    TABLE.with_columns(y=pl.lit("maybe")).write_csv("test.csv")
    code, said = printed(capsys, *test)
    assert (code, "its target holds 'maybe', which the training target never is" in said) == (
        3,
        True,
    )
    fit = ("fit", "t.csv", "--target", "size", "--test", "test.csv")
    code, said = printed(capsys, *fit, "--trials", 1, "-o", "a.mercer")
    assert code == 0
    TABLE.with_columns(size=pl.lit("big")).write_csv("test.csv")
    code, said = printed(capsys, *fit)
    assert (code, "its target holds 'big', but the training target holds numbers" in said) == (
        3,
        True,
    )


@pytest.mark.usefixtures("no_report")
def test_a_test_table_of_one_row(capsys):
    TABLE.write_csv("t.csv")
    TABLE.head(1).write_csv("test.csv")
    code, said = printed(capsys, *FIT, "--test", "test.csv")
    assert code == 0
    assert "on the 1 row of test.csv" in said


# --- tables that are taken, and what is said of them ------------------------------------------

TAKEN = {
    "missing in features": (
        TABLE.with_columns(
            size=pl.when(pl.col("weight") > 0.5).then(None).otherwise(pl.col("size")),
            colour=pl.when(pl.col("weight") > 1).then(None).otherwise(pl.col("colour")),
        ),
        (
            "Missing numbers are filled with the median, and that they were missing is a column of "
            "its own: size.",
            "A missing category is a level of its own: colour.",
        ),
    ),
    "missing in the target": (
        TABLE.with_columns(y=pl.when(pl.col("weight") > 1).then(None).otherwise(pl.col("y"))),
        ("rows without a y are left out.",),
    ),
    "marks in a target of numbers": (
        TABLE.with_columns(y=pl.Series(["NA", *map(str, SIZE[1:])])),
        ("59 rows, 3 columns besides y.", "1 row without a y is left out.", "Task: regression"),
    ),
    "codes with marks among them": (
        TABLE.with_columns(y=pl.Series(["NA", "01", "02"] * (N // 3))),
        ("60 rows, 3 columns besides y.", "Task: classification", "3 different values that are"),
    ),
    "constant and duplicate": (
        TABLE.with_columns(one=pl.lit(1), again=pl.col("size")),
        ("Not used: one (every value is 1); again (equal to column 'size' in every row).",),
    ),
    "dates": (
        TABLE.with_columns(day=pl.Series([f"2024-{i % 12 + 1:02d}-15" for i in range(N)])),
        ("day date dates, read as year, month, day, day of week and elapsed days",),
    ),
    "a text among dates": (
        TABLE.with_columns(
            day=pl.Series(
                ["unknown" if i in (5, 6) else f"2024-{i % 12 + 1:02d}-15" for i in range(N)]
            )
        ),
        ("dates stored as text, read as", "that are not, such as 'unknown', count as missing"),
    ),
    "only numbers too large for an integer": (
        TABLE.with_columns(long=pl.Series([f"{i}{'0' * 50}" for i in range(1, N + 1)])),
        ("long number numbers stored as text",),
    ),
    "names that polars reads as patterns": (
        TABLE.rename({"size": "*", "colour": "^y$"}),
        ("* number", "^y$ category"),
    ),
    "numbers of all sizes": (
        TABLE.with_columns(far=pl.Series([f"{i + 1}e{i * 21 - 320}" for i in range(30)] * 2)),
        ("far number numbers, ",),
    ),
    "mixed types": (
        TABLE.with_columns(mix=pl.Series(["1", "a", "2.5", None] * (N // 4))),
        ("mix category", "3 different values"),
    ),
    "a stray text among numbers": (
        TABLE.with_columns(odd=pl.Series(["n/a" if i % 10 == 0 else str(i) for i in range(N)])),
        ("numbers stored as text; ", "that are not, such as 'n/a', count as missing"),
    ),
    "free text": (
        TABLE.with_columns(note=pl.Series([f"some words that nobody else {i}" for i in range(N)])),
        ("note text free text: 60 different values,",),
    ),
    "a text of a million characters": (
        TABLE.with_columns(
            note=pl.Series(['ab, "c" ' * 125_000, *[f"word {i}" * 5 for i in range(N - 1)]])
        ),
        ("note text free text: 60 different values",),
    ),
    "emoji, surrogates and other marks": (
        TABLE.with_columns(
            note=pl.Series([f"\N{GRINNING FACE} \u200b\u0301 ζ {i} \r\n\t" * 3 for i in range(N)])
        ),
        ("note text free text: 60 different values",),
    ),
    "a text that is missing mostly": (
        TABLE.with_columns(
            note=pl.Series([*[f"some words, number {i}" for i in range(30)], *[None] * (N - 30)])
        ),
        ("A missing text counts as the empty one: note.",),
    ),
    "a text that is missing": (
        TABLE.with_columns(note=pl.Series([None] * N, dtype=pl.String)),
        ("note empty 60 every value is missing",),
    ),
    "a constant text": (
        TABLE.with_columns(note=pl.lit("always the same long sentence, to the last word")),
        ("note constant every value is 'always the same long sente...",),
    ),
    "sets": (
        TABLE.with_columns(
            bag=pl.Series(
                [";".join("abcdefg"[j] for j in range(7) if (i * 7 + 3) >> j & 1) for i in range(N)]
            )
        ),
        ("bag set sets of 7 different items, separated by ';'",),
    ),
    "three rows": (
        TABLE.head(3).with_columns(y=pl.Series(["a", "b", "a"])),
        ("3 rows, 3 columns besides y.", "Fewer than 10 rows: none are held out"),
    ),
    "one feature": (TABLE.select("size", "y"), ("60 rows, 1 column besides y.",)),
    "more features than rows": (
        pl.DataFrame({f"f{j}": RANDOM.normal(size=25) for j in range(40)}).with_columns(
            y=pl.Series(["a", "b", "c", "b", "a"] * 5)
        ),
        ("25 rows, 40 columns besides y.", "on 5 rows held out"),
    ),
}


@pytest.mark.spread(1)
@pytest.mark.parametrize(("frame", "said"), few(7, TAKEN.values()), ids=TAKEN)
def test_tables_that_are_taken(frame, said, capsys):
    frame.write_csv("t.csv")
    code, shown = printed(capsys, *FIT)
    assert code == 0, shown
    for part in said:
        assert part in shown
    features = frame.drop("y")
    assert len(mercer.load("model.mercer").predict(features)) == frame.height


def test_trailing_empty_lines_are_no_rows(folder, capsys):
    (folder / "t.csv").write_bytes(TEXT + b"\n\n\n")
    code, said = printed(capsys, "check", "t.csv", "--target", "y")
    assert code == 0
    assert "60 rows, 4 columns." in said
    assert "left out" not in said


@pytest.mark.full
@pytest.mark.usefixtures("no_report")
def test_ten_thousand_levels(capsys):
    codes = np.arange(32_000) % 10_000
    frame = pl.DataFrame({"level": [f"level {c}" for c in codes], "y": codes / 1000})
    frame.write_csv("t.csv")
    code, said = printed(capsys, *FIT, "--memory", "20MB")
    assert code == 0
    assert re.search(r"level category 10000 different values", said)
    assert np.isfinite(mercer.load("model.mercer").predict(frame[:100])).all()


@pytest.mark.usefixtures("no_report")
def test_another_encoding_is_read_when_told(folder, capsys):
    (folder / "t.csv").write_bytes(TEXT.replace(b"green", "grün".encode("latin-1")))
    assert printed(capsys, *FIT, "--encoding", "latin-1")[0] == 0
    assert "grün" in mercer.load("model.mercer").columns_[2].levels


# --- prediction -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    TABLE.write_csv(folder / "t.csv")
    return fitted_file(folder, folder / "t.csv", "y")


@pytest.fixture
def fitted(folder, model):
    TABLE.write_csv("t.csv")
    shutil.copy(model, folder)
    return folder


def test_unseen_levels_are_predicted_for_and_said(fitted, capsys):
    TABLE.with_columns(colour=pl.Series(["red", "pink", None] * (N // 3))).write_csv("new.csv")
    code, said = printed(capsys, "predict", "model.mercer", "new.csv", "-o", "out.csv")
    assert code == 0
    assert "colour: 1 level that was absent or rare in training: pink." in said
    assert pl.read_csv("out.csv")["prediction"].null_count() == 0


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            TABLE.drop("size", "y"),
            "new.csv: the column 'size' of the training table is lacking; there are "
            "['weight', 'colour']. Add what is lacking, or fit again without this column.",
        ),
        (
            TABLE.with_columns(size=pl.lit("big")),
            "new.csv: column 'size' was read as numbers in training, but none of its values "
            "is a number now, the first is 'big': give numbers",
        ),
    ],
)
def test_columns_that_are_lacking_or_something_else_at_prediction(frame, message, fitted, capsys):
    frame.write_csv("new.csv")
    code, said = printed(capsys, "predict", "model.mercer", "new.csv", "-o", "out.csv")
    assert code == 3
    assert message in said
    assert not (fitted / "out.csv").exists()


def test_columns_to_keep_must_be_there(fitted, capsys):
    predict = ("predict", "model.mercer", "t.csv", "-o", "out.csv")
    code, said = printed(capsys, *predict, "--keep", "Colour")
    assert code == 3
    assert "--keep Colour: t.csv has no such column" in said
    assert "Did you mean 'colour'?" in said


@pytest.mark.parametrize("output", ["model.mercer", "t.csv"])
def test_predictions_replace_no_file_that_is_read(output, fitted, capsys):
    (fitted / "model.csv").write_bytes((fitted / "model.mercer").read_bytes())
    output = output.replace(".mercer", ".csv")
    before = (fitted / output).read_bytes()
    code, said = printed(capsys, "predict", "model.csv", "t.csv", "-o", output, "--force")
    assert code == 4
    assert "--output would replace a file that is read" in said
    assert (fitted / output).read_bytes() == before


class Bomb:
    """Unpickling it writes a file."""

    def __reduce__(self):
        return open, ("sprung", "w")


def archive(**members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, text in members.items():
            file.writestr(name.replace("_", "."), text)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(Bomb()), "is not a Mercer model, or it is truncated"),
        (archive(data_pkl=pickle.dumps(Bomb())), "not a Mercer model: it lacks mercer.json"),
        (
            archive(mercer_json='{"format": 1}', schema_json='{"__module__": "os"}'),
            "'foreign.mercer' is not a Mercer model, or it is truncated or altered: ",
        ),
        (None, "is not a Mercer model, or it is truncated"),
    ],
    ids=["pickle", "archive", "header alone", "truncated"],
)
def test_foreign_and_truncated_models_run_no_code(content, message, fitted, capsys):
    whole = (fitted / "model.mercer").read_bytes()
    (fitted / "foreign.mercer").write_bytes(content or whole[: len(whole) // 2])
    code, said = printed(capsys, "predict", "foreign.mercer", "t.csv", "-o", "out.csv")
    assert code == 3
    assert message in said
    assert not (fitted / "out.csv").exists()
    assert not (fitted / "sprung").exists()


@pytest.mark.spread(1)
@pytest.mark.parametrize("target", ["^y.$", "*"])
def test_a_target_whose_name_polars_reads_as_a_pattern(target, capsys):
    TABLE.rename({"y": target}).write_csv("t.csv")
    code, said = printed(capsys, "fit", "t.csv", f"--target={target}", "--trials", 1)
    assert code == 0, said
    assert mercer.load("model.mercer").n_features_in_ == 3


@pytest.mark.usefixtures("no_report")
def test_a_target_of_integers_of_128_bits(capsys):
    for size in (3, 2**70):
        y = pl.Series([size * (i % 2) for i in range(N)], dtype=pl.Int128)
        TABLE.with_columns(y=y).write_parquet("t.parquet")
        code, said = printed(capsys, "fit", "t.parquet", "--target", "y", "--trials", 1, "--force")
        assert code == 0, said
    assert mercer.load("model.mercer").classes_.tolist() == ["0", "1180591620717411303424"]


NESTED = {
    "lists of structs": pl.Series([[{"a": 1}], [{"a": 2}]] * (N // 2)),
    "lists of lists": pl.Series([[[1], []], [[2]]] * (N // 2)),
}


@pytest.mark.parametrize("cells", NESTED.values(), ids=NESTED)
def test_cells_that_are_tables_themselves(cells, capsys):
    TABLE.with_columns(nest=cells).write_parquet("t.parquet")
    code, said = printed(capsys, "check", "t.parquet", "--target", "y")
    assert code == 0
    assert "60 rows, 4 columns." in said
    assert "Left out: nest, which holds" in said
    code, said = printed(capsys, "fit", "t.parquet", "--target", "nest")
    assert code == 3
    assert "--target nest holds" in said
    assert "give a column of numbers or classes" in said


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([["a"], ["b"]], "--target y holds List(String): give a column of numbers or classes."),
        ([b"a", b"b"], "--target y holds Binary: give a column of numbers or classes."),
        ([timedelta(1), timedelta(2)], "--target y holds durations; turn them into a number"),
    ],
)
def test_targets_that_are_neither_numbers_nor_classes(cells, message, capsys):
    TABLE.with_columns(y=pl.Series(cells * (N // 2))).write_parquet("t.parquet")
    code, said = printed(capsys, "fit", "t.parquet", "--target", "y")
    assert code == 3
    assert message in said


@pytest.mark.full
def test_brackets_in_names_are_printed_as_they_are(capsys, folder):
    TABLE.rename({"y": "[red]y[/b]"}).write_csv("t.csv")
    code, said = printed(capsys, "fit", "t.csv", "--target", "[red]y[/b]", "--trials", 1)
    assert code == 0
    assert "60 rows, 3 columns besides [red]y[/b]." in said
    assert printed(capsys, "check", "t.csv", "--target", "[red]y[/b]")[0] == 0


@pytest.mark.usefixtures("no_report")
def test_codes_keep_their_zeros(capsys, folder):
    codes = np.where(SIZE > 0, "01", "1")
    TABLE.with_columns(y=pl.Series(codes)).write_csv("t.csv")
    assert printed(capsys, *FIT)[0] == 0
    assert printed(capsys, "predict", "model.mercer", "t.csv", "-o", "p.csv")[0] == 0
    assert set(pl.read_csv("p.csv", infer_schema=False)["prediction"]) == {"01", "1"}


@pytest.mark.usefixtures("no_report")
def test_a_test_table_may_have_only_the_classes_that_look_like_numbers(capsys, folder):
    labels = np.array(["1", "2", "3a"])[np.digitize(SIZE, [-0.5, 0.5])]
    table = TABLE.with_columns(y=pl.Series(labels))
    table.write_csv("t.csv")
    table.filter(pl.col("y") != "3a").write_csv("held.csv")
    code, said = printed(capsys, *FIT, "--test", "held.csv")
    assert code == 0, said


# --- texts and sets ---------------------------------------------------------------------------


@pytest.mark.full
def test_kinds_of_text_are_told_and_a_wrong_one_is_refused(capsys):
    notes = [
        f"{'good' if size > 0 else 'bad'} things, some words and {i}" for i, size in enumerate(SIZE)
    ]
    frame = TABLE.with_columns(note=pl.Series(notes), bag=pl.Series(["a b", "b c", "c"] * (N // 3)))
    frame.write_csv("t.csv")
    kinds = ("--kind", "bag=set", "--kind", "size=drop", "--kind", "weight=drop")
    code, said = printed(capsys, *FIT, *kinds)
    assert code == 0, said
    assert "bag set as given; sets of 3 different items, separated by blanks" in said
    assert "size dropped left out on request" in said
    assert "Which words of note speak for what: " in said
    assert re.search(r"no: .*bad.* yes: .*good", said)
    model = mercer.load("model.mercer")
    assert {c.name: c.kind for c in model.columns_ if c.used} == {
        "colour": "category", "note": "text", "bag": "set",
    }  # fmt: skip
    code, said = printed(capsys, *FIT, "--force", "--kind", "note=words")
    assert code == 2
    assert (
        "kind: note='words'; kinds are number, category, date, text, sequence, set, series, "
        in said
    )
    assert "identifier" in said
    assert printed(capsys, "check", "t.csv", "--kind", "note=category", "--kernel", "rbf")[0] == 0
    code, said = printed(capsys, "check", "t.csv", "--kind", "bag=set", "--kernel", "rbf")
    assert code == 0
    assert "Mercer's condition for rbf" in said


@pytest.mark.usefixtures("no_report")
def test_a_nul_in_a_text_of_a_parquet_file(capsys):
    frame = TABLE.with_columns(
        note=pl.Series([f"some\0words, \0 and number {i}" for i in range(N)])
    )
    frame.write_parquet("t.parquet")
    assert printed(capsys, "fit", "t.parquet", "--target", "y", "--trials", 1)[0] == 0
    code, said = printed(capsys, "predict", "model.mercer", "t.parquet", "-o", "p.csv")
    assert code == 0
    assert "60 predictions are in p.csv." in said


@pytest.mark.full
@pytest.mark.usefixtures("no_report")
def test_texts_that_are_numbers_in_the_new_table(capsys):
    frame = TABLE.with_columns(note=pl.Series([f"some words, and number {i}" for i in range(N)]))
    frame.write_csv("t.csv")
    assert printed(capsys, *FIT)[0] == 0
    frame.with_columns(note=pl.arange(N, eager=True)).write_csv("new.csv")
    assert printed(capsys, "predict", "model.mercer", "new.csv", "-o", "p.csv")[0] == 0
    frame.drop("note").write_csv("new.csv")
    code, said = printed(capsys, "predict", "model.mercer", "new.csv", "-o", "q.csv")
    assert code == 3
    assert "new.csv: the column 'note' of the training table is lacking" in said
