"""What is left of a fit that is interrupted or finds no room, in processes of their own."""

import json
import os
import signal
import subprocess
import sys
from importlib.resources import files
from time import monotonic

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import mercer
from cli.runner import command
from lanes import few
from mercer.machines.holdout import hold_out

PENGUINS = files("mercer").joinpath("data/penguins.csv")
FIT = ("fit", "penguins.csv", "--target", "species")

# The command, which says on stderr what it is at, and then waits at one step, or never.
TELLING = """
import signal, sys, time
from mercer.cli import screen
from mercer.cli.app import run

shown, stop = screen.SearchBar.__call__, sys.argv[1]

def tell(bar, event):
    print("AT", event["trial"], file=sys.stderr, flush=True)
    shown(bar, event)
    if stop and event["trial"].startswith(stop):
        time.sleep(60)

screen.SearchBar.__call__ = tell
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
run(sys.argv[2:])
"""

FULL = """
import resource, sys
from mercer.cli.app import run
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
run(sys.argv[2:])
"""


@pytest.fixture
def folder(folder):
    (folder / "penguins.csv").write_bytes(PENGUINS.read_bytes())
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def interrupted(at, *arguments, wait=True):
    """(exit code, stdout, stderr) of a command that gets SIGINT at a step, where it may wait."""
    # beside other processes the threads of a linear algebra library wait for each other
    env = os.environ | {"COLUMNS": "200"} | ({} if wait else {"OPENBLAS_NUM_THREADS": "1"})
    process = subprocess.Popen(
        [sys.executable, "-c", TELLING, at if wait else "", *arguments], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(f"AT {at}"):
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.full
@pytest.mark.parametrize(
    ("at", "said", "report"),
    few(1, [
        ("SVC: gaussian, scale 2", "the search was cut short", True),
        ("final fit: ", "the final fit was cut short", True),
        ("score", "there is no score and no report", False),
        ("final fit on all rows", "the model is fitted on 275 of the 344 rows", True),
        ("report", "there is no report", False),
    ]),
)  # fmt: skip
def test_ctrl_c_ends_a_step_and_keeps_the_best_so_far(at, said, report, folder):
    code, out, err = interrupted(at, *FIT, "--trials", "2")
    assert code == 130
    assert f"Interrupted: {said}. The best model until then is in model.mercer." in err
    assert "Traceback" not in err
    assert names(folder) == [*["model.html"] * report, "model.mercer", "penguins.csv"]
    model = mercer.load("model.mercer")
    assert model.score(*table()) > 0.95
    assert ("fitted on all 344" in out) == (at in ("SVC: gaussian, scale 2", "report"))


def table():
    frame = pl.read_csv("penguins.csv")
    return frame.drop("species"), frame["species"].to_numpy()


@pytest.mark.full
def test_an_interrupted_search_is_gone_on_with(folder):
    _, _, err = interrupted("SVC: gaussian, scale 2", *FIT)
    assert "To go on, add --resume model.mercer." in err
    half = mercer.load("model.mercer").schedule_
    done = subprocess.run(
        [sys.executable, "-c", "from mercer.cli import main; main()", *FIT, "--trials", "4",
         "--resume", "model.mercer", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    whole = json.loads(done.stdout)["schedule"]
    assert whole[: len(half) - 1] == half[:-1]
    assert len([entry for entry in whole if not entry.get("final")]) >= 4


@pytest.mark.full
@pytest.mark.usefixtures("no_report")
def test_a_model_of_another_table_is_not_gone_on_with(folder, capsys):
    def refused(*arguments):
        assert command(*arguments) not in (0, None)
        return capsys.readouterr().err

    assert command(*FIT, "--trials", "1", "--quiet") == 0
    more = ("--trials", "1", "--resume")
    assert "resume= was fitted to other rows" in refused(*FIT, "--seed", "3", *more, "model.mercer")
    other = ("fit", "penguins.csv", "--target", "body_mass_g", "-o", "other.mercer")
    said = " ".join(refused(*other, *more, "model.mercer").split())
    assert "holds a KernelClassifier, but the target asks for a KernelRegressor" in said
    assert "penguins.csv" in refused(*FIT, *more, "penguins.csv", "--force")


@pytest.mark.full
def test_ctrl_c_before_anything_was_tried_writes_nothing(folder):
    code, _, err = interrupted("baseline", *FIT)
    assert code == 130
    assert "Interrupted; nothing was written." in err
    assert names(folder) == ["penguins.csv"]


@pytest.mark.full
def test_ctrl_c_in_the_middle_of_a_long_computation(folder):
    random = np.random.default_rng(0)
    frame = pl.DataFrame({"a": random.normal(size=1500), "b": random.normal(size=1500)})
    frame = frame.with_columns(y=(pl.col("a") * pl.col("b")).sin())
    frame.write_csv("t.csv")
    fit = ("fit", "t.csv", "--target", "y", "--trials", "8")
    code, _, err = interrupted("gaussian, scale 1", *fit, wait=False)
    assert code == 130
    assert "The best model until then is in model.mercer." in err
    assert mercer.load("model.mercer").predict(frame).shape == (1500,)


def fitted_again(schedule, all_rows=True):
    """The model of ``mercer fit`` from its recorded schedule, by hand."""
    X, y = table()
    rows, _ = hold_out(len(y), y, "classification")
    model = mercer.KernelClassifier(replay=schedule, memory="4GB").fit(X[rows], y[rows])
    return model.refit(X, y) if all_rows else model


@pytest.mark.full
def test_a_timed_fit_is_repeated_from_its_schedule(folder):
    done = subprocess.run(
        [sys.executable, "-c", "from mercer.cli import main; main()", *FIT, "--time", "1.5s",
         "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    model, (frame, _) = mercer.load("model.mercer"), table()
    late = any("no time left to fit the winner again" in notice for notice in model.notices_)
    again = fitted_again(json.loads(done.stdout)["schedule"], all_rows=not late)
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


@pytest.mark.full
@pytest.mark.parametrize(
    ("at", "all_rows"), [("SVC: gaussian, scale 2", True), ("final fit", False)]
)
def test_an_interrupted_fit_is_repeated_from_its_schedule(at, all_rows, folder):
    interrupted(at, *FIT, "--trials", "2")
    model, (frame, _) = mercer.load("model.mercer"), table()
    again = fitted_again(model.schedule_, all_rows)
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


# --- no room ----------------------------------------------------------------------------------


def with_room_for(size, *arguments):
    return subprocess.run(
        [sys.executable, "-c", FULL, str(size), *arguments], capture_output=True, text=True,
        check=False, env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip


@pytest.mark.full
def test_a_full_disk_leaves_the_old_model_alone(folder):
    (folder / "model.mercer").write_bytes(b"old model")
    (folder / "model.html").write_bytes(b"old report")
    done = with_room_for(8192, *FIT, "--trials", "1", "--quiet", "--force")
    assert done.returncode == 4
    assert done.stderr.startswith("mercer: model.mercer: ")
    assert "a file that was there is unchanged. Free some space" in done.stderr
    assert "Traceback" not in done.stderr
    assert names(folder) == ["model.html", "model.mercer", "penguins.csv"]
    assert (folder / "model.mercer").read_bytes() == b"old model"
    assert (folder / "model.html").read_bytes() == b"old report"


@pytest.mark.full
@pytest.mark.usefixtures("no_report")
def test_a_disk_too_full_for_predictions(folder):
    assert command(*FIT, "--trials", "1", "--quiet") == 0
    done = with_room_for(100, "predict", "model.mercer", "penguins.csv", "-o", "out.csv")
    assert done.returncode == 4
    assert "mercer: out.csv: " in done.stderr
    assert "out.csv" not in names(folder)


LIMITED = """
import resource, sys
from mercer.cli.app import run
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), resource.RLIM_INFINITY))
run(sys.argv[2:])
"""


@pytest.mark.parametrize("limit", [400_000_000, 800_000_000])
def test_too_few_addresses_for_the_libraries_are_said_before_they_are_loaded(limit, folder):
    """They would abort, or wait for ever."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *FIT], capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith("mercer: this process may use 0.")
    assert "ulimit -v" in done.stderr
    assert names(folder) == ["penguins.csv"]


@pytest.mark.filterwarnings("default")
def test_a_time_that_loading_uses_up_is_said_at_once(folder, capsys, monkeypatch):
    def read(*arguments):
        raise ValueError("nothing was read yet")

    monkeypatch.setattr("mercer.cli.fit.read_problem", read)
    for loading in (0, 15):
        monkeypatch.setattr(
            "mercer.cli.commands.monotonic", lambda took=loading: monotonic() - took
        )
        assert command(*FIT, "--time", "5s") == 3
        said = " ".join(capsys.readouterr().err.split())
        assert ("--time 5s: loading the libraries alone took 15 s" in said) == (loading > 0)
        assert ("Give --time 31s or more" in said) == (loading > 0)


UNLOADED = """
import sys

class Unwanted:
    def find_spec(self, name, *others):
        if name in ("sklearn", "scipy", "polars"):
            sys.exit(7)

sys.meta_path.insert(0, Unwanted())
from mercer.cli.app import run
run(sys.argv[1:])
"""


@pytest.mark.parametrize(("time", "told"), [("0.05s", True), ("1h", False)])
def test_a_time_that_loading_will_use_up_is_said_before_it_loads(time, told, folder):
    done = subprocess.run(
        [sys.executable, "-c", UNLOADED, *FIT, "--time", time], capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 7
    said = " ".join(done.stderr.split())
    assert (f"--time {time}: loading the libraries alone will take about" in said) == told
    assert ("Give --time" in said) == told


def test_an_array_that_finds_no_room_is_not_an_empty_message(folder, capsys, monkeypatch):
    def full(*arguments):
        raise MemoryError

    monkeypatch.setattr("mercer.cli.fit.read_problem", full)
    assert command(*FIT) == 3
    assert "mercer: The memory is used up." in capsys.readouterr().err
