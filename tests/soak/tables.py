"""Tables that were mangled on their way, given to ``mercer fit`` and then to ``mercer predict``.

Each trial writes a random table with strange columns, names and targets, damages the file, and
runs the command in process. Whatever the file holds, the exit code is 0 or that of wrong data
with a message; nothing in the data controls the terminal or the page; after a fit there are a model
and a report, and a prediction for each row of the table.
"""

from __future__ import annotations

import datetime
import gzip
import io
import json
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer.cli.app import run
from mercer.cli.tables import read_table
from mercer.spoken import visible

__all__ = ["TRIALS"]

Random = np.random.Generator

HOSTILE = [
    "\x1b[31mred", "\x9b5m", "\x07", "[bold]", "[/]", "[red]x[/b]", "</script>", "<b>&amp;",
    ":smile:", "=cmd|' /C calc'!A0", "+1", "-a", "@x", "\tx", "\u202etxet", "\u2028", "'", "\\",
    "a,b", "a\nb", "a\rb", '"q"', 'say "so"', "NA", "?", "None", "nan", "inf", "1e400", "0x1F",
    "true", " ", "*", "^a.*$", "ü", "\N{GRINNING FACE}", "e\u0301", "long " * 60, "{{ 7 }}",
    "{% x %}", "%s", "{0}",
]  # fmt: skip
NAMES = ["a", "b", "size", "id", "note", "prediction", "proba_a", "x is missing", *HOSTILE]
WORDS = "the red fox ran over green hills and saw no other animals until dusk".split()  # noqa: SIM905
KINDS = ["number", "category", "date", "text", "set", "identifier", "drop"]


# --- columns of texts, as they stand in a file: (rows, random) -> cells -------------------------


def texts_of(choose: Callable[[Random], Any]) -> Callable[[int, Random], list[str]]:
    return lambda n, r: [str(choose(r)) for _ in range(n)]


def sentence(r: Random) -> str:
    return " ".join(r.choice(WORDS, r.integers(1, 12)))


def date(r: Random) -> str:
    return f"{r.integers(1, 9999):04d}-{r.integers(1, 13):02d}-{r.integers(1, 29):02d}"


def near_date(r: Random) -> str:
    return f"2024-{r.integers(1, 13):02d}-{r.integers(1, 29):02d}"


def rarely(usual: Callable, other: Callable, share: float = 0.04) -> Callable[[int, Random], list]:
    return texts_of(lambda r: other(r) if r.random() < share else usual(r))


def normal(r: Random) -> float:
    return round(float(r.normal()), 3)


def hostile(r: Random) -> str:
    return HOSTILE[r.integers(len(HOSTILE))]


def few(n: int, r: Random) -> list[str]:
    some = [hostile(r) for _ in range(r.integers(1, 4))]
    return [some[i] for i in r.integers(0, len(some), n)]


COLUMNS: dict[str, Callable[[int, Random], list]] = {
    "numbers": texts_of(normal),
    "whole": texts_of(lambda r: r.integers(-50, 50)),
    "two": texts_of(lambda r: r.integers(0, 2)),
    "count": lambda n, r: list(map(str, range(n))),
    "codes": texts_of(lambda r: f"{r.integers(0, 9):03d}"),
    "dates": texts_of(near_date),
    "far dates": texts_of(date),
    "dates and text": rarely(near_date, lambda r: "unknown"),
    "dates and hostile": rarely(near_date, hostile, 0.02),
    "times": texts_of(lambda r: f"{near_date(r)}T{r.integers(0, 24):02d}:00:00Z"),
    "numbers and hostile": rarely(normal, hostile),
    "classes": texts_of(lambda r: r.choice(["red", "green", "blue"])),
    "European": texts_of(lambda r: f"{r.integers(1, 999)}.{r.integers(100, 999)},5 €"),
    "percent": rarely(lambda r: f"{r.integers(0, 100)},5%", lambda r: "7"),
    "day first": texts_of(lambda r: f"{r.integers(1, 29)}.{r.integers(1, 13)}.2024 07:30"),
    "texts": texts_of(sentence),
    "texts and hostile": rarely(sentence, hostile, 0.3),
    "flags": texts_of(lambda r: r.choice(["true", "false"])),
    "sets": texts_of(lambda r: ";".join(r.choice(WORDS[:6], r.integers(1, 4)))),
    "hostile": texts_of(hostile),
    "few": few,
    "missing": lambda n, r: [""] * n,
    "constant": lambda n, r: [hostile(r)] * n,
    "huge": texts_of(lambda r: f"{r.choice([-1, 1])}e{r.integers(200, 309)}"),
    "tiny": texts_of(lambda r: f"{r.integers(1, 9)}e-{r.integers(200, 324)}"),
    "all sizes": texts_of(lambda r: f"{r.normal()}e{r.integers(-300, 300)}"),
    "hardly different": texts_of(lambda r: int(10**16 + 2 * r.integers(0, 9))),
    "long integers": texts_of(lambda r: "1" + "0" * int(r.integers(10, 60))),
    "infinite": rarely(normal, lambda r: r.choice(["inf", "-inf", "nan", "1e999"]), 0.02),
    "mixed": texts_of(lambda r: r.choice(["1", "a", "2.5", "", "true", "2024-01-01"])),
    "long": texts_of(lambda r: "word " * int(r.integers(1, 2000))),
}  # fmt: skip


def columns(r: Random, n: int) -> dict[str, list]:
    """Names and cells; the last is the target, which some other columns often tell of."""
    wide = int(r.choice([1, 2, 3, 4, 6, 60], p=[0.1, 0.2, 0.3, 0.25, 0.13, 0.02]))
    kinds = list(COLUMNS)
    found: dict[str, list] = {}
    for j in range(wide):
        name = NAMES[r.integers(len(NAMES))] if r.random() < 0.8 else f"column {j}"
        cells = COLUMNS[kinds[r.integers(len(kinds))]](n, r)
        if r.random() < 0.3:
            cells = ["" if r.random() < 0.2 else cell for cell in cells]
        found[name] = cells
    likely = ["numbers", "classes", "few", "whole", "two", "flags", *kinds]
    target = NAMES[r.integers(len(NAMES))] if r.random() < 0.3 else "y"
    found.pop(target, None)
    found[target] = COLUMNS[likely[r.integers(len(likely))]](n, r)
    return found


def rows(r: Random) -> int:
    return int(r.choice([1, 2, 3, 5, 19, 20, 21, 30, 60, 120]))


# --- text files -------------------------------------------------------------------------------


def written(table: dict[str, list], separator: str, r: Random) -> str:
    """A text as a program writes it; rarely as one that never heard of quotes."""
    careless = r.random() < 0.1

    def field(cell: str) -> str:
        plain = not any(c in cell for c in f'{separator}"\r\n')
        return (
            cell
            if careless or (plain and r.random() < 0.95)
            else '"' + cell.replace('"', '""') + '"'
        )

    lines = [list(table), *zip(*table.values())]
    return "".join(separator.join(map(field, cells)) + "\n" for cells in lines)


def flipped(content: bytes, r: Random) -> bytes:
    data = bytearray(content)
    for at in r.integers(0, len(data), r.integers(1, 6)) if data else ():
        data[at] = r.choice([0, 10, 13, 34, 44, 255, int(r.integers(256))])
    return bytes(data)


def lacking(content: bytes, r: Random) -> bytes:
    start = int(r.integers(0, len(content) + 1))
    return content[:start] + content[start + int(r.integers(1, 9)) :]


MANGLED: dict[str, Callable[[bytes, Random], bytes]] = {
    "cut": lambda c, r: c[: int(r.integers(0, len(c) + 1))],
    "flipped": flipped,
    "lacking": lacking,
    "CR": lambda c, r: c.replace(b"\n", b"\r"),
    "CR LF": lambda c, r: c.replace(b"\n", b"\r\n"),
    "mixed ends": lambda c, r: b"".join(
        line + [b"\n", b"\r", b"\r\n"][r.integers(3)] for line in c.split(b"\n")
    ),
    "marked": lambda c, r: b"\xef\xbb\xbf" + c,
    "UTF-16": lambda c, r: c.decode().encode(str(r.choice(["utf-16", "utf-16-le", "utf-16-be"]))),
    "latin-1": lambda c, r: c.decode().encode("latin-1", "replace"),
    "a quote": lambda c, r: c[: (at := int(r.integers(0, len(c) + 1)))] + b'"' + c[at:],
    "empty lines": lambda c, r: b"\n" * int(r.integers(2)) + c.replace(b"\n", b"\n\n", 2) + b"\n",
    "no last end": lambda c, r: c.rstrip(b"\n"),
    "header twice": lambda c, r: c.partition(b"\n")[0] + b"\n" + c,
}  # fmt: skip


def text_trial(r: Random, folder: Path) -> None:
    table = columns(r, rows(r))
    suffix, separator = [(".csv", ","), (".tsv", "\t"), (".txt", ";"), (".csv", ";")][
        r.choice(4, p=[0.7, 0.1, 0.1, 0.1])
    ]
    content = written(table, separator, r).encode()
    if r.random() < 0.5:
        names = list(MANGLED)
        content = MANGLED[names[r.integers(len(names))]](content, r)
    if r.random() < 0.05:
        content, suffix = gzip.compress(content, mtime=0), suffix + ".gz"
        content = lacking(content, r) if r.random() < 0.5 else content
    name = str(r.choice(["t", "[red]x", "\x1b[31m", "a b", "[", "-t", ":smile:", "ü'\""])) + suffix
    (folder / name).write_bytes(content)
    check_command(r, folder, f"./{name}", table)


# --- Parquet files ----------------------------------------------------------------------------


def typed(n: int, r: Random) -> list[pl.Series]:
    """A column of each type that polars has, with some missing values."""
    base = datetime.datetime(2024, 1, 1)
    whole = r.integers(0, 9, n).tolist()
    words = r.choice(WORDS, n).tolist()
    moments = [base + datetime.timedelta(hours=int(h)) for h in r.integers(0, 9999, n)]
    made: list[tuple[list, Any]] = [
        (r.normal(size=n).tolist(), pl.Float32), (r.normal(size=n).tolist(), pl.Float64),
        *[(whole, t) for t in (pl.Int8, pl.Int64, pl.UInt64, pl.Int128)],
        ([Decimal(v) / 8 for v in whole], pl.Decimal(30, 6)), ([v > 4 for v in whole], pl.Boolean),
        ([m.date() for m in moments], pl.Date), (moments, pl.Datetime("ns")),
        (moments, pl.Datetime("us", "Europe/Paris")), ([m.time() for m in moments], pl.Time),
        ([m - base for m in moments], pl.Duration("ms")), (words, pl.Categorical),
        (words, pl.Enum(sorted(WORDS))), ([[w, "x"] for w in words], pl.List(pl.String)),
        ([[[v], []] for v in whole], pl.List(pl.List(pl.Int64))),
        ([[v, v] for v in whole], pl.Array(pl.Int8, 2)),
        ([{"a": v} for v in whole], pl.Struct({"a": pl.Int64})),
        ([w.encode() for w in words], pl.Binary), ([None] * n, pl.Null),
        ([float(r.choice([np.nan, 1.5, -0.0, 2.5])) for _ in whole], pl.Float64),
        ([float(r.choice([np.inf, 1.5, 2.5])) for _ in whole], pl.Float32),
        ([hostile(r) for _ in whole], pl.String), ([f"\0{w}" for w in words], pl.String),
    ]  # fmt: skip
    chosen = [made[i] for i in r.integers(0, len(made), r.integers(1, 5))]
    gaps = r.random((len(chosen), n)) < r.choice([0.0, 0.2])
    return [
        pl.Series([None if g else v for v, g in zip(cells, gap)], dtype=dtype)
        for (cells, dtype), gap in zip(chosen, gaps)
    ]


def parquet_trial(r: Random, folder: Path) -> None:
    n = rows(r)
    table: dict[str, Any] = {NAMES[r.integers(len(NAMES))]: series for series in typed(n, r)}
    table.pop("y", None)
    table["y"] = typed(n, r)[0] if r.random() < 0.3 else COLUMNS["classes"](n, r)
    content = io.BytesIO()
    pl.DataFrame(table).write_parquet(content)
    if r.random() < 0.2:  # the columns of all types in Arrow's format, too
        content = io.BytesIO()
        pl.DataFrame(table).write_ipc(content)
    name = "t.parquet" if content.getvalue().startswith(b"PAR1") else "t.arrow"
    mangled = {0: flipped, 1: lacking, 2: MANGLED["cut"]}.get(int(r.integers(9)), lambda c, r: c)
    (folder / name).write_bytes(mangled(content.getvalue(), r))
    check_command(r, folder, name, table)


# --- the command, and what it promises --------------------------------------------------------


def options(r: Random, table: dict[str, Any]) -> list[str]:
    """The target, and some options that often do not fit."""
    *names, target = table
    given = [f"--target={target}", "--trials=1", f"--seed={r.integers(3)}"]
    if names and r.random() < 0.2:
        given.append(f"--kind={names[r.integers(len(names))]}={KINDS[r.integers(len(KINDS))]}")
    if names and r.random() < 0.05:
        given.append(f"--drop={names[r.integers(len(names))]}")
    if r.random() < 0.1:
        given.append(f"--task={r.choice(['classification', 'regression'])}")
    if r.random() < 0.1:
        given.append(f"--metric={r.choice(['roc_auc', 'log_loss', 'f1', 'rmse', 'mae'])}")
    for option in ("group", "time-column", "weight"):
        if names and r.random() < 0.05:
            given.append(f"--{option}={names[r.integers(len(names))]}")
    if r.random() < 0.1:
        given.append(f"--compress={r.integers(1, 50)}")
    if r.random() < 0.03:
        given[1] = "--time=3s"
    return given + ["--json"] * (r.random() < 0.2) + ["--no-rows"] * (r.random() < 0.1)


def check_command(r: Random, folder: Path, name: str, table: dict[str, Any]) -> None:
    """Fit, predict, report and check, with what each of them promises."""
    files, chosen = [name], options(r, table)
    if r.random() < 0.05:  # the same rows twice
        files.append(f"./2{name.removeprefix('./')}")
        shutil.copy(folder / name, folder / files[1])
    before = sorted(os.listdir(folder))
    code, out, err = command(folder, "fit", *files, *chosen)
    if code in (2, 3):
        assert err.startswith("mercer: "), err
        assert sorted(os.listdir(folder)) == before
        return
    assert code == 0, f"exit code {code}:\n{out}{err}"
    if out.startswith("{"):
        facts = json.loads(out, parse_constant=lambda c: f"{c} is no JSON")
        assert "is no JSON" not in str(facts)
    assert (folder / "model.mercer").exists()
    frame = read_table(folder / name)
    check_page(folder / "model.html")
    output = str(r.choice(["p.csv", "p.tsv", "p.parquet"]))
    if any("\0" in str(value) for value in table[list(table)[-1]]):
        output = "p.parquet"  # no text table holds a NUL
    keep = [c for c in frame.columns if frame[c].dtype.is_numeric() and not c.startswith("pr")][:1]
    safe = ["--safe-cells"] * (r.random() < 0.3)
    explain = ["--explain"] * (r.random() < 0.3)
    given = [f"--output={output}", *(f"--keep={c}" for c in keep), *safe, *explain]
    code, out, err = command(folder, "predict", "model.mercer", name, *given)
    assert code == 0, f"exit code {code}:\n{out}{err}"
    check_predictions(folder, output, frame, bool(safe))
    if r.random() < 0.2:
        code, out, err = command(folder, "report", "model.mercer", name, chosen[0], "-o=r.html")
        assert code in (0, 3), f"exit code {code}:\n{out}{err}"
        check_page(folder / "r.html")
    if r.random() < 0.2:
        code, out, err = command(folder, "check", *files, chosen[0])
        assert code in (0, 3), f"exit code {code}:\n{out}{err}"


def check_page(path: Path) -> None:
    if not path.exists():
        return  # there were too few rows for a score
    page = path.read_text("utf-8")
    assert page == visible(page)
    _, _, numbers = page.partition('id="mercer-report">')
    json.loads(numbers.partition("</script>")[0])
    assert page.count("</script>") == 1


def check_predictions(folder: Path, output: str, frame: pl.DataFrame, safe: bool) -> None:
    model = mercer.load(folder / "model.mercer")
    if output.endswith(".parquet"):
        found = pl.read_parquet(folder / output)
    else:  # as texts, since a class may be called "inf"
        separator = "\t" if output.endswith(".tsv") else ","
        found = pl.read_csv(folder / output, separator=separator, infer_schema=False)
    assert found.height == frame.height
    assert found["prediction"].null_count() == 0
    said = np.asarray(model.predict(frame))
    if said.dtype.kind in "US" and not safe:
        assert found["prediction"].cast(pl.String).to_list() == said.tolist()
    if said.dtype.kind == "f":
        assert np.isfinite(said).all()
    names = [c for c in found.columns if c.startswith("proba_")]
    P = np.array([found[c].cast(pl.Float64).to_numpy() for c in names]).T
    assert not P.size or np.allclose(P.sum(axis=1), 1)


def command(folder: Path, *arguments: str) -> tuple[Any, str, str]:
    """Exit code, standard output and standard error of a command line, run in the folder."""
    out, err, code = io.StringIO(), io.StringIO(), None
    with chdir(folder), redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a part of the contract
        warnings.simplefilter("error", RuntimeWarning)  # numbers that overflow unseen
        try:
            run(list(arguments))
        except SystemExit as done:
            code = done.code
    screen = out.getvalue() + err.getvalue()
    assert screen == visible(screen), f"a control character is printed:\n{screen!r}"
    assert "Traceback" not in screen, screen
    return code, out.getvalue(), err.getvalue()


TRIALS: dict[str, Callable[[Random, Path], None]] = {
    "text tables": text_trial,
    "Parquet tables": parquet_trial,
}
