"""``mercer demo``: the penguins, from a table to a model, its report and predictions."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from mercer.cli.terminal import Terminal, line


def run_demo(folder: Path, run: Callable[[list[str]], None]) -> int:
    """Write the penguins table into a folder, and run the three commands on it.

    ``run`` is `mercer.cli.app.run`; it ends with SystemExit.
    """
    screen = Terminal()
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(0, "--folder names a file; give a folder", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "penguins.csv"
    table.write_bytes(files("mercer").joinpath("data/penguins.csv").read_bytes())
    screen.print(
        "344 penguins of three species, with measurements, sex and island; some values are "
        "missing.\nData: K. Gorman and the Palmer Station LTER (CC0).\n"
    )
    model, predictions = folder / "penguins.mercer", folder / "penguins_predictions.csv"
    for arguments in (
        ["check", str(table), "--target", "species"],
        ["fit", str(table), "--target", "species", "-o", str(model), "--force"],
        ["predict", str(model), str(table), "-o", str(predictions), "--keep", "species", "--force"],
    ):
        screen.print(line((f"$ mercer {shlex.join(arguments)}", "bold")), soft_wrap=True)
        try:
            run(arguments)
        except SystemExit as done:
            if done.code:
                return int(done.code)
        screen.print()
    screen.print(f"Open {model.with_suffix('.html')} in a browser to read the report.")
    return 0
