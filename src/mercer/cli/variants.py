"""``mercer variants``: what a model of sequences predicts if letters are replaced."""

from __future__ import annotations

import json as json_text
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from mercer.cli.files import STDIN, find_sources
from mercer.cli.map import told
from mercer.cli.options import WRITERS, check_paths
from mercer.cli.predict import kept_columns, write_frames
from mercer.cli.search_options import VariantOptions
from mercer.cli.sequence_files import VariantFile
from mercer.cli.tables import Tables, TextReading
from mercer.cli.terminal import OptionError, TableError, Terminal, counted, line, no_column, refuse
from mercer.persistence import ModelFileError, load, written_whole
from mercer.spoken import a_type, first_of

if TYPE_CHECKING:  # else loaded after what is wrong with names is said
    from sklearn.base import BaseEstimator

    from mercer.explain import VariantScores

PICTURES = (".png", ".svg", ".pdf")
DRAWN = 6  # sequences of a picture
SAID = 5  # variants, and faults, that the screen shows
#: the columns of a file of variants, and their other names, in small letters
COLUMNS = {
    "id": ("id", "sequence", "name", "chrom"), "position": ("position", "pos"),
    "reference": ("reference", "ref"), "alternative": ("alternative", "alternate", "alt"),
}  # fmt: skip


def score_variants(options: VariantOptions) -> int:
    """Run the command; returns its exit code."""
    reading, suffix = options.read.reading(), options.output.suffix.lower()
    written = [("--output", options.output)]
    written += [] if options.picture is None else [("--picture", options.picture)]
    listed = [] if options.variants is None else [options.variants]
    check_paths(written, [options.model, *options.tables, *listed], force=options.force)
    if suffix not in WRITERS:
        raise OptionError(f"--output {options.output}: the name must end in {', '.join(WRITERS)}.")
    if options.picture is not None and options.picture.suffix.lower() not in PICTURES:
        raise OptionError(
            f"--picture {options.picture}: the name must end in {', '.join(PICTURES)}."
        )
    if options.model.exists():  # else `load` says that it is not
        find_sources([path for path in (*options.tables, *listed) if path != STDIN])
    model: Any = load(options.model)
    if not callable(getattr(model, "predict", None)):
        raise ModelFileError(
            f"{str(options.model)!r} holds {a_type(model)}, which predicts nothing. Give the file "
            "of a model, as mercer fit writes it."
        )
    classes = [str(c) for c in getattr(model, "classes_", [])]
    if options.of is not None and options.of not in classes:
        raise OptionError(
            f"--of {options.of}: give one of the classes {', '.join(classes)}."
            if classes
            else f"--of {options.of}: the model predicts numbers, and has no classes. Leave it out."
        )
    tables = Tables(options.tables, reading.after(getattr(model, "columns_", [])))
    frame = tables.frame([str(name) for name in getattr(model, "feature_names_in_", [])])
    column = _column(model, frame, tables, options)
    texts = frame[column].cast(pl.String).fill_null("").to_list()
    kept = kept_columns(frame, options.keep, tables.label, suffix)
    several = classes if options.of is None and len(classes) > 2 else None
    _refuse_twice(kept, [*COLUMNS, *_outputs(several)])
    names = _names(frame, column)
    X = frame if getattr(model, "columns_", None) else texts
    changes = None if options.variants is None else _changes(options, reading, names, texts)
    from mercer.explain import variants

    screen = Terminal(quiet=options.quiet or options.json)
    with told(hidden=options.quiet or options.json) as tell:
        tell("Scoring variants")
        try:
            tabled = {"column": column} if X is frame else {}
            found = variants(model, X, changes, of=options.of, **tabled)
        except ValueError as error:  # columns that are lacking or are something else now
            raise TableError(f"{tables.label}: {error}") from error
        if options.picture is not None:
            tell("Drawing")
            _draw(options, model, X, column, found, names)
    frames = iter([_table(found, names, kept)])
    with written_whole(options.output) as file:
        rows = write_frames(file, frames, suffix, False)
    of = _said_output(model, options.of)
    notes = [*tables.notes, *_surprises(model, frame)]
    for note in notes:
        screen.print(f"• {note}", soft_wrap=True)
    screen.print(
        f"• before and after are {of} without and with the variant, change is the difference. "
        "Positions count from 1.", soft_wrap=True,
    )  # fmt: skip
    _show(screen, found, names)
    screen.print(
        line(f"{counted(rows, 'variant')} of {counted(len(texts), 'sequence')}: ",
             (str(options.output), "bold")), soft_wrap=True,
    )  # fmt: skip
    if options.picture is not None:
        screen.print(line("Picture: ", (str(options.picture), "bold")), soft_wrap=True)
    if options.json:
        facts = {"variants": rows, "sequences": len(texts), "output": str(options.output)}
        facts |= {"picture": str(options.picture)} if options.picture is not None else {}
        print(json_text.dumps(facts | {"explains": of, "notices": notes}))
    return 0


def _surprises(model: BaseEstimator, frame: pl.DataFrame) -> list[str]:
    """What a user should know of the sequences, beside those of the training table."""
    from mercer.tables import Surprises, TableEncoder, read_columns

    encoder = getattr(model, "encoder_", None)
    if not isinstance(encoder, TableEncoder):
        return []
    surprises = Surprises(encoder)
    surprises.see(read_columns(frame))
    return surprises.sentences()


def _column(
    model: BaseEstimator, frame: pl.DataFrame, tables: Tables, options: VariantOptions
) -> str:
    """The column of the sequences that the model reads."""
    if options.column is not None:
        if options.column not in frame.columns:
            raise no_column("--column", options.column, tables.label, frame.columns)
        return options.column
    read = getattr(model, "columns_", None)
    found = [str(c.name) for c in read if c.of.lettered] if read else ["sequence"]
    if not found:
        raise ModelFileError(
            f"{str(options.model)!r} reads no column of sequences, but "
            f"{first_of([str(c.name) for c in read or [] if c.used])}. Fit a model of FASTA files, "
            "or name a column of sequences by --kind NAME=sequence."
        )
    if len(found) > 1:
        raise OptionError(f"--column: the model reads {', '.join(found)}; name one of them.")
    if found[0] not in frame.columns:
        raise no_column("--column", found[0], tables.label, frame.columns)
    return found[0]


def _names(frame: pl.DataFrame, column: str) -> list[str]:
    """What the sequences are called."""
    if "id" in frame.columns and column != "id":
        ids = frame["id"].cast(pl.String).to_list()
        return [f"row {i + 1}" if name is None else name for i, name in enumerate(ids)]
    return [f"row {i + 1}" for i in range(frame.height)]


def _changes(
    options: VariantOptions, reading: TextReading, names: Sequence[str], texts: Sequence[str]
) -> list[tuple[int, int, str, str]]:
    """The variants of a file, as `mercer.explain.variants` reads them; wrong ones are refused."""
    assert options.variants is not None
    table = Tables([options.variants], replace(reading, missing=()))
    frame, label = table.frame(), table.label
    known = {name.lower().removeprefix("#"): name for name in frame.columns}
    own = {what: next((known[n] for n in called if n in known), None)
           for what, called in COLUMNS.items()}  # fmt: skip
    needed = ["position", "alternative"] if len(texts) == 1 else ["id", "position", "alternative"]
    lacking = [what for what in needed if own[what] is None]
    if lacking:
        raise TableError(
            f"{label} lacks the column {lacking[0]}; it has {frame.columns}. Variants have the "
            "columns id, position (from 1), reference and alternative; or give a .vcf file."
        )
    cells = {what: frame[name].cast(pl.String).to_list() if name is not None else None
             for what, name in own.items()}  # fmt: skip
    places: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        places.setdefault(name, []).append(row)
    found, faults = [], []
    where = [f"{part.source.label}, line {i}" for part in table.parts
             if isinstance(part, VariantFile) for i in part.lines]  # fmt: skip
    where = where or [f"{label}, row {i + 1}" for i in range(frame.height)]
    for i in range(frame.height):
        cell = {what: None if column is None else column[i] or "" for what, column in cells.items()}
        try:
            found += _change(cell, places, names, texts)
        except TableError as error:
            faults.append(TableError(f"{where[i]}: {error}"))
    if len(faults) > SAID:
        more = counted(len(faults) - SAID, "more row is", "more rows are")
        faults = [*faults[:SAID], TableError(f"{more} wrong.")]
    refuse(faults)
    return found


def _change(
    cell: dict[str, str | None], places: dict[str, list[int]], names: Sequence[str],
    texts: Sequence[str],
) -> list[tuple[int, int, str, str]]:  # fmt: skip
    """The variants of one row, of which a .vcf may have several with commas between them. A cell is
    None where the file has no such column."""
    from mercer.explain import same_letters  # loads libraries

    rows = [0] if cell["id"] is None else places.get(cell["id"], [])
    if len(rows) != 1:
        many = f"{len(rows)} sequences are" if rows else "no sequence is"
        raise TableError(f"{many} called {cell['id']!r}; there are {first_of([*places])}.")
    name, text = names[rows[0]], texts[rows[0]]
    given = str(cell["position"])
    place = int(given) - 1 if given.isdecimal() else -1
    old = text[place : place + 1] if cell["reference"] is None else _letters(cell["reference"])
    if not 0 <= place <= len(text) - max(len(old), cell["reference"] is None):
        raise TableError(
            f"the position is {given!r}, but {name!r} has {counted(len(text), 'letter')}: give a "
            "whole number from 1."
        )
    here = text[place : place + len(old)]
    if not same_letters(here, old):
        raise TableError(
            f"the reference is {old!r}, but {name!r} has {here!r} at position {given} (positions "
            "count from 1)."
        )
    return [(rows[0], place, here, _letters(new)) for new in str(cell["alternative"]).split(",")]


def _letters(cell: str) -> str:
    """The letters of a reference or an alternative; a blank or a - stands for none."""
    found = cell.strip().strip("-")
    if found and not found.isalpha():
        raise TableError(f"{cell!r}: give letters, or - for none.")
    return found


def _table(found: VariantScores, names: Sequence[str], kept: dict[str, pl.Series]) -> pl.DataFrame:
    """The table that is written."""
    table: dict[str, Any] = {
        "id": [names[row] for row in found.rows.tolist()], "position": found.places + 1,
        "reference": [text or "-" for text in found.references],
        "alternative": [text or "-" for text in found.alternatives],
    }  # fmt: skip
    values = (found.before, found.after, found.changes)
    numbers = np.concatenate([np.atleast_2d(each.T) for each in values])
    table |= dict(zip(_outputs(found.output_names), numbers))
    _refuse_twice(kept, table)
    return pl.DataFrame(table | {name: cells.gather(found.rows) for name, cells in kept.items()})


def _outputs(names: Sequence[str] | None) -> list[str]:
    """The columns of the outputs of a model, which have names if there are several."""
    endings = [""] if names is None else [f"_{name}" for name in names]
    return [what + end for what in ("before", "after", "change") for end in endings]


def _refuse_twice(kept: Iterable[str], columns: Container[str]) -> None:
    for name in kept:
        if name in columns:
            raise TableError(f"--keep {name}: the variants have a column of that name.")


def _strength(found: VariantScores) -> np.ndarray:
    """How much each variant changes, the largest of several outputs."""
    changes = np.abs(found.changes)
    return changes if changes.ndim == 1 else changes.max(axis=1)


def _draw(
    options: VariantOptions, model: BaseEstimator, X: pl.DataFrame | list[str], column: str,
    found: VariantScores, names: Sequence[str],
) -> None:  # fmt: skip
    """Draw the sequences whose variants change most."""
    import matplotlib as mpl

    mpl.use("Agg")
    from mercer.explain import letters
    from mercer.plots.displays import SequenceDisplay

    most = np.zeros(len(names))
    np.maximum.at(most, found.rows, _strength(found))
    rows = np.sort(np.argsort(-most, kind="stable")[:DRAWN])
    own = np.isin(found.rows, rows)
    part = replace(
        found, rows=np.searchsorted(rows, found.rows[own]), places=found.places[own],
        references=[r for r, o in zip(found.references, own) if o],
        alternatives=[a for a, o in zip(found.alternatives, own) if o],
        before=found.before[own], after=found.after[own],
    )  # fmt: skip
    tabled = isinstance(X, pl.DataFrame)
    some = X[rows.tolist()] if tabled else [X[row] for row in rows]
    values = letters(model, some, column=column if tabled else None, of=options.of)
    number = 0
    if found.output_names is not None and len(found.rows):
        number = int(np.abs(found.changes).max(axis=0).argmax())
    shown = SequenceDisplay.of(values, part, names=[names[row] for row in rows], number=number)
    if values.output_names is None:
        shown.output = _said_output(model, options.of)
    assert options.picture is not None
    with written_whole(options.picture) as file:
        figure = shown.plot().figure_
        kind = options.picture.suffix.lower()[1:]
        figure.canvas.print_figure(file, format=kind, dpi=150)


def _said_output(model: BaseEstimator, of: str | None) -> str:
    """What the numbers before and after are."""
    classes = [str(c) for c in getattr(model, "classes_", [])]
    if not classes:
        return "the prediction"
    what = "log-odds" if callable(getattr(model, "predict_proba", None)) else "decision value"
    one = of or (classes[1] if len(classes) == 2 else None)
    return f"the {what} of {'each class' if one is None else repr(one)}"


def _show(screen: Terminal, found: VariantScores, names: Sequence[str]) -> None:
    """The strongest variants."""
    changes = found.changes[:, None] if found.changes.ndim == 1 else found.changes
    for i in np.argsort(-_strength(found), kind="stable")[:SAID]:
        row, place = int(found.rows[i]), int(found.places[i])
        number = int(np.abs(changes[i]).argmax())
        change = changes[i, number]
        of = "" if found.output_names is None else f" ({found.output_names[number]})"
        screen.print(
            f"  {names[row]}  {place + 1} {found.references[i] or '-'}>"
            f"{found.alternatives[i] or '-'}  {change:+.3g}{of}", soft_wrap=True,
        )  # fmt: skip
