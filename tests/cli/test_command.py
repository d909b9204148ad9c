"""The command as a user types it: what it prints, writes and answers to wrong input."""

import builtins
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from importlib.resources import files

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command, fitted_file
from lanes import few
from mercer.cli import commands
from mercer.cli.app import COMMANDS
from mercer.spoken import a_type
from mercer.tables.encoding import TableEncoder
from mercer.threads.clock import Deadline

PENGUINS = files("mercer").joinpath("data/penguins.csv")


@pytest.fixture
def folder(folder):
    (folder / "penguins.csv").write_bytes(PENGUINS.read_bytes())
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted_file(tmp_path_factory.mktemp("fitted"), PENGUINS, "species")


@pytest.fixture
def fitted(folder, model):
    shutil.copy(model, folder)
    return folder


def test_fit_says_what_it_does(folder, capsys):
    assert command("fit", "penguins.csv", "--target", "species", "--trials", "1") == 0
    out = capsys.readouterr().out
    for text in (
        "344 rows, 6 columns",
        "classification",
        "bill_length_mm",
        "baseline: linear (spline)",
        "95% interval",
        "69 rows held out",
        "fitted on all 344",
        "model.mercer",
        "model.html",
    ):
        assert text in out, text
    assert (folder / "model.mercer").exists()
    assert "Predicting species" in (folder / "model.html").read_text()


@pytest.mark.full
@pytest.mark.usefixtures("no_report")
def test_json_is_one_object(folder, capsys):
    assert command("fit", "penguins.csv", "--target", "species", "--trials", "1", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["task"] == "classification"
    low, high = facts["score"]["interval"]
    assert low <= facts["score"]["value"] <= high
    assert {row["name"] for row in facts["leaderboard"] if row["baseline"]} == {
        "trivial",
        "linear (spline)",
    }


@pytest.mark.full
@pytest.mark.usefixtures("no_report")
def test_trials_are_deterministic(folder):
    for name in ("a.mercer", "b.mercer"):
        assert (
            command("fit", "penguins.csv", "--target", "sex", "--trials", 2, "--quiet", "-o", name)
            == 0
        )
    table = pl.read_csv("penguins.csv")
    first, second = (mercer.load(name).predict_proba(table) for name in ("a.mercer", "b.mercer"))
    np.testing.assert_array_equal(first, second)


@pytest.mark.usefixtures("no_report")  # which encodes some rows
def test_a_fit_encodes_each_row_once_for_each_purpose(folder, monkeypatch):
    encoded, encode = [], TableEncoder._encode

    def counted(encoder, table):
        M = encode(encoder, table)
        encoded.append(len(M))
        return M

    monkeypatch.setattr(TableEncoder, "_encode", counted)
    assert command("fit", "penguins.csv", "--target", "species", "--trials", "1", "--quiet") == 0
    assert encoded == [275, 69, 344]  # the search, the rows held out, the fit to all rows


@pytest.mark.full
@pytest.mark.parametrize("cut", few(1, [KeyboardInterrupt, None]))
def test_a_fit_to_all_rows_that_is_late_leaves_the_model_that_was_scored(cut, folder, monkeypatch):
    """Solvers that are stopped return what they have, or raise one of these."""

    class Late(Deadline):
        def is_over(self):
            return True

    def refit(model, *arguments):
        if cut is not None:
            raise cut

    monkeypatch.setattr("mercer.cli.fit.Deadline", Late)
    monkeypatch.setattr(mercer.KernelClassifier, "refit", refit)
    assert command("fit", "penguins.csv", "--target", "species", "--time", "2s", "--quiet") == 0
    model = mercer.load("model.mercer")
    assert any("no time left to fit the winner again" in notice for notice in model.notices_)
    assert model.predict(pl.read_csv("penguins.csv")).shape == (344,)
    assert "275 of the 344 rows" in (folder / "model.html").read_text()


def test_predictions_keep_the_order_and_name_the_classes(fitted):
    table = pl.read_csv("penguins.csv")
    shuffled = table.select(table.columns[::-1]).drop("species").with_columns(extra=pl.lit(1))
    shuffled.write_csv("new.csv")
    assert command("predict", "model.mercer", "new.csv", "-o", "out.csv", "--keep", "island") == 0
    out = pl.read_csv("out.csv")
    assert out.columns == [
        "island", "prediction", "proba_Adelie", "proba_Chinstrap", "proba_Gentoo",
    ]  # fmt: skip
    assert out["island"].equals(table["island"])
    P = out.select(out.columns[2:]).to_numpy()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    predicted = out["prediction"].to_numpy()
    assert (np.array(["Adelie", "Chinstrap", "Gentoo"])[P.argmax(axis=1)] == predicted).all()
    assert np.mean(predicted == table["species"].to_numpy()) > 0.95
    assert command("predict", "model.mercer", "new.csv", "-o", "out.csv") == 4
    assert command("predict", "model.mercer", "new.csv", "-o", "out.csv", "--force") == 0


@pytest.mark.usefixtures("no_report")
def test_an_integer_target_says_how_to_reverse_the_choice(folder, capsys):
    x = np.arange(200)
    pl.DataFrame({"x": x % 17, "y": x % 4}).write_csv("t.csv")
    assert command("fit", "t.csv", "--target", "y", "--trials", 1) == 0
    assert "--task regression" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("no_report")
def test_a_number_target_is_scored_by_r2(folder, capsys):
    x = np.linspace(0, 6, 120)
    pl.DataFrame({"x": x, "y": np.sin(x)}).write_csv("t.csv")
    assert command("fit", "t.csv", "--target", "y", "--trials", 2) == 0
    assert re.search(r"r2 (0\.9|1\.0)", capsys.readouterr().out)


def test_check_fits_nothing(folder, capsys):
    assert command("check", "penguins.csv", "--target", "species", "--kernel", "sigmoid") == 0
    out = capsys.readouterr().out
    assert "category" in out
    assert "Not positive semidefinite" in out
    assert sorted(p.name for p in folder.iterdir()) == ["penguins.csv"]


@pytest.mark.full  # the quick lane has that of the tutorial
def test_the_demo_runs(folder, capsys):
    assert command("demo") == 0
    assert "100 predictions" in capsys.readouterr().out
    assert (folder / "mercer-demo" / "throws.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fit",), 2, "mercer fit needs TRAIN. See mercer fit --help."),
        (("predict", "m.mercer", "penguins.csv"), 2, "mercer predict needs --output."),
        (("fit", "penguins.csv"), 2, "to be predicted? penguins.csv has the columns"),
        (("fit", "penguins.csv", "--target"), 2, "--target requires an argument"),
        (("fit", "absent.csv", "--target", "y"), 3, "There is no file absent.csv"),
        (("fit", "penguins.csv", "--target", "specie"), 3, "Did you mean 'species'?"),
        (("fit", "penguins.csv"), 2, "--target"),
        (("fit", "penguins.csv", "--target", "species", "--metric", "r2"), 3, "metric='r2'"),
        (("fit", "penguins.csv", "--target", "species", "--time", "soon"), 2, "time='soon'"),
        (("fit", "penguins.csv", "--target", "species", "--memory", "lots"), 2, "memory='lots'"),
        (("fit", "penguins.csv", "--target", "species", "--kind", "sex"), 2, "write column=kind"),
        (
            ("fit", "penguins.csv", "--target", "species", "--kind", "sx=category"),
            3,
            "--kind sx: penguins",
        ),
        (("fit", "penguins.csv", "--target", "species", "--drop", "sx"), 3, "Did you mean 'sex'"),
        (("fit", "penguins.csv", "--target", "species", "-o", "no/m.mercer"), 4, "no such folder"),
        (("predict", "absent.mercer", "penguins.csv", "-o", "o.csv"), 3, "There is no file"),
        (("predict", "penguins.csv", "penguins.csv", "-o", "o.csv"), 3, "not a Mercer model"),
        (("predict", "penguins.csv", "penguins.csv", "-o", "o.xlsx"), 2, "must end in"),
        (("frobnicate",), 2, "frobnicate"),
    ],
)
def test_wrong_input_is_answered(arguments, code, message, folder, capsys):
    assert command(*arguments) == code
    assert message in " ".join(capsys.readouterr().err.split())
    assert sorted(p.name for p in folder.iterdir()) == ["penguins.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\n1,a\n2,a\n3,a\n", "one value 'a'"),
        ("x,y\n1,\n2,\n", "every value of that column is missing"),
        ("y\n1\n2\n", "no column besides the target"),
        ("x,y\n1,a\n2\n", "row 3 has 1 fields"),
        ("x,y\n5,a\n5,b\n5,a\n", "no column that can be used"),
    ],
)
def test_wrong_tables_are_answered(content, message, folder, capsys):
    (folder / "t.csv").write_text(content)
    assert command("fit", "t.csv", "--target", "y", "--trials", "1") == 3
    assert message in " ".join(capsys.readouterr().err.split())


def test_three_rows_fit_without_a_score(folder, capsys):
    (folder / "t.csv").write_text("x,y\n1,a\n2,b\n4,a\n")
    assert command("fit", "t.csv", "--target", "y", "--trials", "1") == 0
    assert "none are held out" in capsys.readouterr().out


@pytest.mark.usefixtures("no_report")
def test_rows_without_a_target_are_left_out_and_counted(folder, capsys):
    assert command("fit", "penguins.csv", "--target", "sex", "--trials", "1") == 0
    assert "11 rows without a sex are left out" in capsys.readouterr().out


@pytest.mark.parametrize("saved", [{"a": 1}, [1.5], "text", 3, TableEncoder()])
def test_a_model_file_that_holds_no_model(saved, folder, capsys):
    mercer.save(saved, "model.mercer")
    assert command("predict", "model.mercer", "penguins.csv", "-o", "predictions.csv") == 3
    err = " ".join(capsys.readouterr().err.split())
    assert f"'model.mercer' holds {a_type(saved)}, which predicts nothing." in err
    assert "Traceback" not in err
    assert not (folder / "predictions.csv").exists()


def test_missing_columns_and_unseen_categories_at_prediction(fitted, capsys):
    table = pl.read_csv("penguins.csv").drop("species")
    table.drop("sex").write_csv("less.csv")
    assert command("predict", "model.mercer", "less.csv", "-o", "out.csv") == 3
    assert "sex" in capsys.readouterr().err
    table.with_columns(island=pl.lit("Atlantis")).write_csv("unseen.csv")
    assert command("predict", "model.mercer", "unseen.csv", "-o", "out.csv") == 0


OPTIONS = [
    (),
    ("--task", "classification", "--metric", "log_loss", "--memory", "1GB", "--seed", "3"),
    ("--trials", "2", "--kind", "year=category", "--kind", "sex=text", "--drop", "island"),
    ("--time", "5min", "--test", "a table.csv", "--encoding", "latin-1", "-o", "other.mercer"),
    ("--drop=-dash", "--drop", "two words", "--kind", "it's=number"),
]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_recorded_command_says_all_that_was_given(options, folder, monkeypatch):
    """Parsed again, it asks for the same fit; only what trials make irrelevant may be absent."""
    asked: list = []
    monkeypatch.setattr("mercer.cli.fit.fit_table", lambda given, *_, **__: asked.append(given))
    monkeypatch.setattr("mercer.cli.problem.check_names", lambda _: None)  # some are not there
    command("fit", "penguins.csv", "--target", "species", *options)
    program, *words = shlex.split(asked[0].command())
    assert program == "mercer"
    command(*words)
    assert asked[0] == asked[1]
    assert asked[0].command() == asked[1].command()


@pytest.mark.full
def test_the_recorded_command_gives_the_same_model(folder, capsys):
    options = ("--trials", 2, "--kind", "sex=text", "--drop", "island", "--metric", "log_loss")
    assert command("fit", "penguins.csv", "--target", "species", *options, "--json") == 0
    recorded = json.loads(capsys.readouterr().out)["command"]
    assert recorded in (folder / "model.html").read_text()
    first = mercer.load("model.mercer")
    (folder / "model.mercer").unlink()
    (folder / "model.html").unlink()
    assert command(*shlex.split(recorded)[1:], "--quiet") == 0
    table = pl.read_csv("penguins.csv")
    again = mercer.load("model.mercer")
    np.testing.assert_array_equal(again.predict_proba(table), first.predict_proba(table))


def test_what_the_package_needs_besides_code_is_in_it():
    templates = [
        f"plots/report/templates/{file}" for file in ("report.html", "sections.html", "style.css")
    ]
    for name in ("py.typed", "__init__.pyi", "data/penguins.csv", *templates):
        assert files("mercer").joinpath(name).is_file(), name


def test_warnings_are_said_once_and_in_one_line(folder, capsys):
    from rich.console import Console

    from mercer.cli.app import _warn

    said = set()
    for _ in range(2):
        _warn(Console(stderr=True), said, UserWarning("it [may] matter"), UserWarning, "f.py", 3)
    assert capsys.readouterr().err == "mercer: it [may] matter\n"


@pytest.mark.usefixtures("no_report")
def test_an_existing_model_is_kept_unless_forced(fitted):
    before = (fitted / "model.mercer").read_bytes()
    fit = ("fit", "penguins.csv", "--target", "species", "--trials", "1", "--quiet")
    assert command(*fit) == 4
    assert (fitted / "model.mercer").read_bytes() == before
    assert command(*fit, "--force") == 0


def test_without_the_extra_the_install_line_is_printed(monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.split(".")[0] in ("cyclopts", "rich"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **options)

    for name in [n for n in sys.modules if n.split(".")[0] in ("cyclopts", "rich")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit) as done:
        mercer.cli.main()
    assert done.value.code == 5
    assert signal.getsignal(signal.SIGINT) is handler  # else a later Ctrl-C ended this process
    assert 'pip install "mercer[cli]"' in capsys.readouterr().err


def test_help_loads_no_data_library_and_no_command():
    code = (
        "import sys\nfrom mercer.cli.app import run\n"
        "try:\n    run(['--help'])\nexcept SystemExit: pass\n"
        "unused = {'numpy', 'polars', 'sklearn', 'matplotlib', 'mercer.cli.commands'}\n"
        "print(unused & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stderr.strip() == "set()"


def test_the_list_of_commands_says_what_each_says_of_itself():
    found = {name: getattr(commands, name).__doc__.split("\n")[0] for name in COMMANDS}
    assert found == COMMANDS
    own = inspect.getmembers(commands, inspect.isfunction)
    public = {name for name, found in own if found.__module__ == commands.__name__}
    assert public == set(COMMANDS)


#: each names something that is not there, or no table could make right, in a word with "none"
WRONG = (
    "check none.csv", "check t.csv --drop none", "check t.csv --target none",
    "check t.csv --kernel none", "check t.csv --kind x=none", "check ragged.csv --kind none=text",
    "fit none.csv --target y", "fit t.csv --target none", "fit t.csv --target y --kind none=text",
    "fit t.csv --target y --kind x=none", "fit t.csv --target y --group none",
    "fit t.csv --target y --metric none", "fit t.csv --target y --metric none --task regression",
    "fit t.csv --target y --memory none", "neighbors t.csv -o n.csv -k 1 --memory none",
    "predict none.mercer t.csv -o p.csv", "predict t.csv none.csv -o p.csv",
    "predict t.csv t.csv -o p.none", "predict t.csv t.csv -o p.csv --quantiles none",
    "neighbors none.csv -o n.csv -k 1", "neighbors t.csv none.csv -o n.csv -k 1",
    "map none.csv", "map t.csv --color none", "map t.csv --columns none",
    "neighbors t.csv -o n.none -k 1", "neighbors t.csv t.csv -o n.csv -k 1 --columns none",
    "neighbors t.csv -o n.csv -k 1 --keep none", "neighbors t.csv -o n.csv -k 1 --kind x=none",
    "dedup none.jsonl -o d.jsonl", "dedup t.csv --column none -o d.csv",
    "dedup t.csv --column x -o d.csv --task none", "dedup t.csv --column x -o d.csv --keep none",
    "dedup t.csv --column x -o d.csv --against none.csv", "dedup t.none -o d.csv",
)  # fmt: skip


@pytest.mark.full
def test_what_is_wrong_with_options_files_and_columns_is_said_before_learners_are_loaded(folder):
    (folder / "t.csv").write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(30)))
    (folder / "t.none").write_text("x\n1\n")
    (folder / "ragged.csv").write_text("x,none\n1,2\n3\n")
    code = (
        "import contextlib, io, json, sys\nfrom mercer.cli.app import run\n"
        "heavy = {'sklearn', 'scipy.stats', 'pandas', 'mercer.kernels', 'mercer.learners'}\n"
        f"for words in ['check t.csv', *{WRONG!r}]:\n"
        "    said, code = io.StringIO(), 0\n"
        "    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):\n"
        "        try:\n            run(words.split())\n"
        "        except SystemExit as end:\n            code = end.code\n"
        "    found = words, code, said.getvalue(), sorted(heavy & set(sys.modules))\n"
        "    print(json.dumps(found))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 1 + len(WRONG)
    for words, code, said, loaded in found:
        assert not loaded, words
        assert code == 0 if words == "check t.csv" else code in (2, 3), (words, said)
        assert words == "check t.csv" or "none" in said or "ragged" in said, (words, said)


def test_the_names_that_are_known_before_learners_are_loaded_are_theirs():
    from mercer.cli.check import KERNEL_NAMES
    from mercer.cli.fit_options import METRIC_NAMES
    from mercer.kernels import NAMED
    from mercer.machines import METRICS

    assert sorted(NAMED) == list(KERNEL_NAMES)
    for task, names in METRIC_NAMES.items():
        assert names == tuple(name for name, metric in METRICS.items() if metric.task == task)


@pytest.mark.full
def test_the_core_imports_no_optional_library():
    # rich is left out of the list: scikit-learn imports it itself where it is installed
    code = (
        "import mercer, sys\n"
        "mercer.SVC, mercer.KernelRidge, mercer.KernelClassifier, mercer.save\n"
        "print({'torch', 'matplotlib', 'polars', 'dask', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
