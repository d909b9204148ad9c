"""``mercer dedup``: files of documents without those that are nearly equal to another one.

The work is done in the stages of `mercer.dedup`, whose files stay in a work folder until the output
is written, so that the same command goes on after it was killed.
"""

from __future__ import annotations

import hashlib
import json as json_text
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

import mercer
from mercer.cli import documents
from mercer.cli.dedup_outcome import Job, check_output
from mercer.cli.document_files import FileCorpus, documents_given
from mercer.cli.documents import Format
from mercer.cli.executors import mapped_by
from mercer.cli.exit_codes import DUPLICATES, OK
from mercer.cli.options import check_paths
from mercer.cli.search_options import DedupOptions
from mercer.cli.terminal import TableError, Terminal, counted, hush, line
from mercer.dedup import (
    CorpusIndex,
    Rules,
    Stages,
    forget_placed,
    is_of_another,
    placed_by,
    remove_stages,
)

SAID = 5  # malformed records that are named
BATCH = 2**18  # documents of a segment of the index


def deduplicate_files(options: DedupOptions) -> int:
    """Run the command; returns its exit code."""
    return deduplicate(options, *documents_given(options))


def deduplicate(options: DedupOptions, formats: list[Format], earlier: list[Format]) -> int:
    """Run the command on files that were found; returns its exit code."""
    shingles, task = options.shingles(formats[0].of), options.tasks()
    index = options.opened_index(shingles)
    started = time.monotonic()
    inputs = [made.source.path for made in earlier + formats]
    plan = _plan(options, [*earlier, *formats], len(earlier)) | {"shingles": repr(shingles)}
    job = hashlib.sha256(json_text.dumps(plan, sort_keys=True).encode()).hexdigest()[:32]
    segments = 0 if index is None else index.before(job)
    if options.index is not None:
        plan |= {"index": str(options.index.resolve()), "segments": segments}
    force = options.force or _placed_all(options, plan)
    check_paths(options.written, inputs, force=force, folders=options.folders)
    if options.output is not None:
        check_output(options.output, formats)
    signer = options.signer(shingles) if index is None else index.signer
    rules = Rules(options.threshold, options.most_kept)
    prefer = options.keep if options.keep in ("first", "longest") else "value"
    screen = Terminal(quiet=options.quiet or options.json)
    hush(options.quiet)
    with _bars(options.quiet) as bars, _work_folder(options, plan) as folder:
        corpus = FileCorpus(
            [*earlier, *formats], len(earlier), options.malformed == "skip", bars.tell
        )
        stages = Stages(
            folder, corpus, signer, rules, prefer, plan, task, bars.tell, index, segments
        )
        with mapped_by(options.executor) as mapped:
            result = stages.run(mapped)
        if result is None:
            screen.print(f"Task {options.task} is done; the first task writes the output.")
            return OK
        places = [stages.work.places(file) for file in range(corpus.files)]
        done = Job(options, corpus, places, result, signer.bands)
        known = {}
        if options.index is not None:  # the output comes last, and shows that all was done
            known["index"] = _extend(index or options.new_index(shingles), job, done, bars)
        facts = done.finish(folder, plan) | known
    facts["seconds"] = round(time.monotonic() - started, 1)
    facts["notices"] = [formats[0].notice] if formats[0].notice else []
    _say(screen, facts, options)
    if options.json:
        print(json_text.dumps(facts))
    return DUPLICATES if options.fail and facts["removed"] else OK


def _plan(options: DedupOptions, formats: list[Format], fixed: int) -> dict:
    """All that the result depends on."""
    names = ("column", "threshold", "keep", "words", "characters", "recall", "most_kept",
             "malformed", "sep", "seed")  # fmt: skip
    paths = [made.source.path for made in formats]
    stamps = [[str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns] for p in paths]
    chosen = {name: getattr(options, name) for name in names}
    return chosen | {
        "files": stamps, "fixed": fixed, "shard": documents.SHARD, "mercer": mercer.__version__,
    }  # fmt: skip


def _extend(index: CorpusIndex, job: str, done: Job, bars: Bars) -> dict[str, int]:
    """Add the documents that stay to the index, which may have them from an earlier try."""
    batch: list[str] = []
    added = number = 0
    for texts in done.texts_kept():
        batch += texts
        if len(batch) >= BATCH:
            added += len(index.append(batch, job=f"{job} {number}"))
            batch, number = [], number + 1
        bars.tell("Adding to the index", added, added + len(batch) + 1)
    if batch:
        added += len(index.append(batch, job=f"{job} {number}"))
    return {"added": added, "documents": len(index), "bytes": index.n_bytes}


@contextmanager
def _work_folder(options: DedupOptions, plan: dict) -> Iterator[Path]:
    """The folder of the stages, which goes when the job is done, unless the user has named it."""
    folder = options.folder
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="mercer-dedup-") as name:
            yield Path(name)
    elif options.work is not None:
        yield folder
        forget_placed(folder)  # the job is done
    else:
        if is_of_another(folder, plan):
            remove_stages(folder)
        try:
            yield folder
        except TableError:  # mended files are other files
            remove_stages(folder)
            raise
        remove_stages(folder)


def _placed_all(options: DedupOptions, plan: dict) -> bool:
    """Whether the outputs that are there were put in place by this job, before it was killed."""
    there = [path for _, path in options.written if path.exists()]
    folder = options.folder
    return folder is not None and all(placed_by(folder, plan, path) for path in there)


# --- the screen ----------------------------------------------------------------------------------


class Bars:
    """A bar for the stage that is at work, with the time left."""

    def __init__(self, progress: Progress):
        self.progress, self.stage, self.bar = progress, "", None

    def tell(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        if stage != self.stage:
            if self.bar is not None:
                self.progress.remove_task(self.bar)
            self.stage, self.bar = stage, self.progress.add_task(stage, total=total)
        if self.bar is not None:
            self.progress.update(self.bar, completed=done, total=total)


@contextmanager
def _bars(quiet: bool) -> Iterator[Bars]:
    """Bars of progress on the terminal."""
    console = Terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
               TimeRemainingColumn())  # fmt: skip
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        yield Bars(progress)


def _say(screen: Terminal, facts: dict[str, Any], options: DedupOptions) -> None:
    """Print what was found."""
    for notice in facts["notices"]:
        screen.print(f"• {notice}", soft_wrap=True)
    malformed = facts["malformed"]
    if malformed:
        more = f" and {len(malformed) - SAID:,} more" if len(malformed) > SAID else ""
        said = f"• {len(malformed):,} malformed left out: {'; '.join(malformed[:SAID])}{more}."
        screen.print(said, soft_wrap=True)
    if facts["empty"]:
        screen.print(f"• {counted(facts['empty'], 'document')} without text: kept.")
    if "index" in facts:
        known = facts["index"]
        screen.print(
            f"• {counted(facts['like_the_index'], 'document')} like one of the index; "
            f"{known['added']:,} added to it. It has {known['documents']:,} now, "
            f"{known['bytes'] / max(known['documents'], 1):,.0f} bytes each.", soft_wrap=True,
        )  # fmt: skip
    if facts["full_buckets"]:
        screen.print(
            f"• {counted(facts['full_buckets'], 'bucket')} of documents that share a form had more "
            f"than {options.most_kept} that are kept; pairs may have been missed there "
            "(--most-kept).", soft_wrap=True,
        )  # fmt: skip
    screen.print(
        f"Near-duplicates removed: {facts['removed']:,}, in {counted(facts['clusters'], 'group')}; "
        f"each has a similarity of at least {options.threshold:g} to a kept document. "
        f"Kept: {facts['kept']:,} of {counted(facts['documents'], 'document')}.", soft_wrap=True,
    )  # fmt: skip
    for _, path in options.written:
        screen.print(line((f"{path}", "bold")))
