"""Near-duplicates: signatures beside rensa and datasketch, the whole job in memory and from files,
what it costs as the corpus grows, forms and equal documents, and its answers beside all pairs.

CPU seconds of one thread, the best of several runs where not said. Peers that are not installed are
left out, and named. The articles need MERCER_DATA.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from harness import Section, data_folder, options
from mercer import MinHash, deduplicate
from mercer.dedup import CorpusIndex, Words
from mercer.dedup.walk import packed, together

HERE = {name for name in ("rensa", "datasketch") if importlib.util.find_spec(name)}
WORDS = 120


def cpu(run: Callable[[], object], repeats: int = 5) -> float:
    """Least CPU seconds of a run in this process."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


# --- texts ---------------------------------------------------------------------------------------


class Generator:
    """Documents of 120 words by Zipf's law; every tenth copies another one, and changes up to 9."""

    def __init__(self, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.words = np.array([f"w{i:x}rd"[: 3 + i % 9] + str(i) for i in range(50_000)], object)
        law = np.cumsum(1 / np.arange(1, 50_001))
        self.law = law / law[-1]

    def drawn(self, *shape: int) -> np.ndarray:
        """Numbers of words."""
        return np.minimum(np.searchsorted(self.law, self.rng.random(shape)), 49_999)

    def texts(self, n: int, step: int = 10_000) -> Iterator[str]:
        for start in range(0, n, step):
            rows = self.drawn(min(step, n - start), WORDS)
            copies = np.flatnonzero(self.rng.random(len(rows)) < 0.1)
            for row in copies[copies > 0]:
                rows[row] = rows[self.rng.integers(row)]
                changed = self.rng.integers(0, WORDS, self.rng.integers(0, 10))
                rows[row, changed] = self.drawn(len(changed))
            yield from (" ".join(self.words[row].tolist()) for row in rows)

    def write(self, path: Path, n: int, step: int = 20_000) -> None:
        """Such documents as JSON lines, by arrays of bytes: words of six letters and digits."""
        words = [f" {chr(97 + i % 26)}{i:05d}" for i in range(50_000)]
        letters = np.frombuffer("".join(words).encode(), "S7")
        fine = np.searchsorted(self.law, (np.arange(2**22) + 0.5) / 2**22).astype(np.int32)
        with path.open("wb") as file:
            for start in range(0, n, step):
                rows = fine[self.rng.integers(0, 2**22, (min(step, n - start), WORDS))]
                copies = np.flatnonzero(self.rng.random(len(rows)) < 0.1)
                for row in copies[copies > 0]:
                    rows[row] = rows[self.rng.integers(row)]
                    changed = self.rng.integers(0, WORDS, self.rng.integers(0, 10))
                    rows[row, changed] = fine[self.rng.integers(0, 2**22, len(changed))]
                begins = np.char.mod('{"id": %d, "text": "', np.arange(start, start + len(rows)))
                texts = letters[rows].view(f"S{7 * WORDS}")[:, 0]
                lines = np.char.add(np.char.add(begins.astype("S"), texts), b'"}\n')
                file.write(lines.tobytes().replace(b"\0", b""))

    def forms(self, n: int) -> list[str]:
        """One text with 7 words of its own in each copy: similarity 0.7."""
        form, places = self.drawn(WORDS), np.linspace(8, 104, 7).astype(int)
        texts = []
        for i in range(n):
            words = self.words[form].tolist()
            for place in places:
                words[place] = f"own{i}.{place}"
            texts.append(" ".join(words))
        return texts


# --- signatures and the job in memory ------------------------------------------------------------


def signatures(section: Section, texts: list[str]) -> None:
    lists, n = [text.split() for text in texts], len(texts)
    runs: dict[str, Callable[[], object]] = {
        "mercer MinHash, lists of texts": lambda: MinHash().fit_transform(lists),
        "mercer MinHash, texts": lambda: MinHash(separator=" ").fit_transform(texts),
    }
    if "rensa" in HERE:
        from rensa import RMinHash

        batch = RMinHash.digest_matrix_from_token_sets
        runs["rensa batch, lists of texts"] = lambda: batch(lists, 128, 0)
        runs["rensa batch, texts that are split"] = lambda: batch(
            [t.split() for t in texts], 128, 0
        )
    found = {name: n / cpu(run) for name, run in runs.items()}
    for name, rate in found.items():
        section.row("signatures of 128, 20,000 documents", name, f"{rate:,.0f} documents/s", "")
    large = [[f"{i}.{k}" for k in range(5000)] for i in range(200)]
    for one in (False, True):
        made = MinHash(one_permutation=one)
        rate = len(large) / cpu(partial(made.fit_transform, large))
        name = "mercer MinHash" + ", one_permutation" * one
        section.row("signatures of 128, sets of 5,000", name, f"{rate:,.0f} sets/s", "")


def job(section: Section, texts: list[str]) -> None:
    n, found = len(texts), {}
    found["mercer deduplicate, texts"] = cpu(lambda: deduplicate(texts, n_jobs=1)), "verified"
    if "rensa" in HERE:
        from rensa import RMinHash, RMinHashLSH

        def flagged(lists: list[list[str]]) -> object:
            matrix = RMinHash.digest_matrix_from_token_sets(lists, 128, 0)
            return RMinHashLSH(0.8, 128, 16).query_duplicate_flags_matrix_one_shot(matrix)

        lists = [text.split() for text in texts]
        found["rensa, lists"] = cpu(lambda: flagged(lists)), "flags, not verified"
        found["rensa, texts"] = cpu(lambda: flagged([t.split() for t in texts])), "the same"
    if "datasketch" in HERE:
        import datasketch

        def indexed(texts: list[str]) -> None:
            index = datasketch.MinHashLSH(0.8, 128)
            rows = [[word.encode() for word in text.split()] for text in texts]
            for i, sketch in enumerate(datasketch.MinHash.bulk(rows, num_perm=128)):
                index.query(sketch)
                index.insert(i, sketch)

        part = texts[:1000]
        seconds = cpu(lambda: indexed(part), 1) * n / len(part)
        found["datasketch, texts"] = seconds, "not verified; extrapolated from 1,000"
    for name, (seconds, said) in found.items():
        section.row("whole job, 20,000 documents", name, f"{seconds:.3f} s", said)


# --- files ---------------------------------------------------------------------------------------


def files(section: Section, sizes: list[int]) -> float:
    """The command, each in a process of its own; seconds a document of the largest corpus."""
    costs, parts = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path, out = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
            Generator().write(path, n)
            costs[n], memory, parts[n] = command(path, out)
            section.row(
                f"mercer dedup, {n:,} documents, {path.stat().st_size / 1e6:,.0f} MB of jsonl",
                "",
                f"{n / costs[n]:,.0f} documents/s a core",
                f"{costs[n]:.1f} CPU s with reading, verifying, writing and start; {memory:.0f} MB",
            )
    small, large = sizes[0], sizes[-1]
    start = command_start()

    def exponent(before: float, after: float) -> float:
        return float(np.log(after / before) / np.log(large / small))

    section.row(f"exponent of the cost, {small:,} to {large:,}", "",
                f"{exponent(costs[small] - start, costs[large] - start):.2f}",
                f"without {start:.1f} s of start")  # fmt: skip
    for name, seconds in parts[large].items():
        before = parts[small][name]
        said = f"{seconds:.2f} s of {large:,}"
        if before > 0.05:
            said += f", exponent {exponent(before, seconds):.2f}"
        section.row("parts of the cost", name, said, f"{1e6 * seconds / large:.2f} µs a document")
    return costs[large] / large


RUN = """
import json, re, resource, sys, time
from mercer.cli.app import made_app
from mercer.cli.dedup_outcome import Job
from mercer.dedup import Stages
spent = {}

def timed(owner, method, name):
    run = getattr(owner, method)
    def wrapped(*given):
        began = time.process_time()
        try:
            return run(*given)
        finally:
            spent[name] = spent.get(name, 0.0) + time.process_time() - began
    setattr(owner, method, wrapped)

for method, name in (("_signs", "reading and signing"), ("_equals", "equal documents"),
                     ("_buckets", "sorting keys"), ("_candidates", "collecting candidates"),
                     ("_sets", "reading candidates again"), ("_verdicts", "comparing")):
    timed(Stages, method, name)
timed(Job, "finish", "writing")
made_app(sys.argv[1:])(sys.argv[1:], exit_on_error=False)
used = resource.getrusage(resource.RUSAGE_SELF)
peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]
print(json.dumps([used.ru_utime + used.ru_stime, int(peak) / 1024, spent]))
"""


def command(*paths: Path) -> tuple[float, float, dict[str, float]]:
    """CPU seconds and peak MB of ``mercer dedup in -o out``, and the seconds of its parts."""
    asked = ["dedup", str(paths[0]), "-o", str(paths[1]), "--force", "--quiet"]
    done = subprocess.run([sys.executable, "-c", RUN, *asked], capture_output=True, text=True,
                          check=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})  # fmt: skip
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def command_start() -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.jsonl")
        path.write_text('{"text": "a"}\n')
        return command(path, Path(folder, "out.jsonl"))[0]


def index(section: Section, n: int) -> None:
    """An index of n documents on disk, and a hundredth of that many new ones."""
    texts, new = list(Generator().texts(n)), list(Generator(1).texts(n // 100))
    new[::2] = texts[: len(new[::2])]
    for bits in (None, 8, 1):
        with tempfile.TemporaryDirectory() as folder:
            made = CorpusIndex.create(folder, bits=bits)

            def append(made: CorpusIndex = made) -> None:
                for start in range(0, n, 50_000):
                    made.append(texts[start : start + 50_000], n_jobs=1)

            added = cpu(append, 1)
            asked = cpu(partial(made.query, new, n_jobs=1), 3)
            found = made.query(new)
            wanted = {(k, k // 2) for k in range(0, len(new), 2)}
            right = len(wanted & set(zip(*(found[name].tolist() for name in ("document", "row")))))
            section.row(
                f"index of {n:,} documents", "shingles" if bits is None else f"{bits} bits a hash",
                f"{made.n_bytes / n:,.0f} bytes a document, {n / added:,.0f} added/s, "
                f"{len(new) / asked:,.0f} asked/s",
                f"{right:,} of {len(wanted):,} equal ones found",
            )  # fmt: skip


def sorting(section: Section, n: int) -> None:
    """The keys of one band, drawn, in pieces of 2²⁴ as the stages sort them."""
    rng, seconds, piece = np.random.default_rng(0), 0.0, 2**24
    for start in range(0, n, piece):
        size = min(piece, n - start)
        keys = rng.integers(0, 2**64, size, np.uint64)
        began = time.process_time()
        pairs = packed(keys, np.arange(start, start + size), n)
        pairs.sort()
        together(pairs, n)
        seconds += time.process_time() - began
    section.row(
        f"sort of one band, {n:,} drawn keys", "", f"{seconds:.1f} s",
        f"16 bands: {16 * seconds:.0f} s, extrapolated; {1e9 * seconds / n:.0f} ns a key",
    )  # fmt: skip


# --- equal documents and forms -------------------------------------------------------------------


def hostile(section: Section, quick: bool) -> None:
    text = next(Generator().texts(1))
    for n in (10**5, 10**5 if quick else 10**6):
        equal = [text] * n
        seconds = cpu(partial(deduplicate, equal, n_jobs=1), 1)
        section.row(f"{n:,} equal documents", "", f"{seconds:.2f} s", f"{n / seconds:,.0f}/s")
    for n in (10_000, 10_000 if quick else 40_000):
        forms = Generator().forms(n)
        for most in (10, 100):
            began = time.process_time()
            found = deduplicate(forms, most_kept=most, n_jobs=1)
            seconds = time.process_time() - began
            said = f"{found.compared:,} pairs compared, {len(found.removed)} removed"
            name = f"{n:,} forms of similarity 0.7"
            section.row(name, f"most_kept={most}", f"{seconds:.2f} s", said)
    forms = Generator().forms(3000)
    rng = np.random.default_rng(1)
    mixed = [*forms, *(form + " end" for form in forms[::3])]
    mixed = [mixed[i] for i in rng.permutation(len(mixed))]
    whole = len(deduplicate(mixed, most_kept=10**6).removed)
    for most in (10, 100):
        found = len(deduplicate(mixed, most_kept=most).removed)
        section.row("1,000 copies with a word more among 3,000 forms", f"most_kept={most}",
                    f"{found} removed", f"{whole} without a limit")  # fmt: skip


# --- quality -------------------------------------------------------------------------------------


def articles(folder: Path, n: int, copies: int) -> list[str]:
    """News, copies of which some words are changed, and chains whose ends differ."""
    with gzip.open(folder / "strings/ag_news_sub.csv.gz") as file:
        frame = pl.read_csv(file.read())
    column = max(frame.select(pl.selectors.string()).columns,
                 key=lambda name: frame[name].str.len_chars().mean() or 0)  # fmt: skip
    rng, texts = np.random.default_rng(0), frame[column][:n].to_list()
    words = sorted({word for text in texts for word in text.split()})
    for _ in range(copies):
        text = texts[rng.integers(len(texts))].split()  # a copy of a copy makes a chain
        for place in rng.integers(0, len(text), rng.integers(0, 3)):
            text[place] = words[rng.integers(len(words))]
        texts.append(" ".join(text))
    return [texts[i] for i in rng.permutation(len(texts))]


def quality(section: Section, texts: list[str], threshold: float = 0.8) -> None:
    """Beside all pairs, whose shared shingles are one sparse product."""
    values, starts = Words().sets(texts)
    codes = np.unique(values, return_inverse=True)[1]
    A = sp.csr_array((np.ones(len(codes), np.int32), codes, starts))
    sizes = np.diff(starts)
    common = sp.coo_array(A @ A.T)
    i, j = common.coords
    J = common.data / (sizes[i] + sizes[j] - common.data)
    near = (i != j) & (threshold <= J)
    true = [dict[int, float]() for _ in texts]
    for a, b, value in zip(i[near].tolist(), j[near].tolist(), J[near].tolist()):
        true[a][b] = value
    kept: set[int] = set()
    wanted = np.zeros(len(texts), bool)
    for row, neighbours in enumerate(true):
        wanted[row] = not (neighbours.keys() & kept)
        if wanted[row]:
            kept.add(row)
    found = deduplicate(texts)
    stays = np.isin(np.arange(len(texts)), found.kept)
    bad = sum(true[r].get(k, 0.0) != s or not stays[k] for r, k, _, s in found.pairs.tolist())
    known = deduplicate(texts, recall=0.9)
    pairs = f"{near.sum() // 2:,} pairs of {threshold} and more"
    name = f"{len(texts):,} articles and changed copies, {pairs}"
    said = f"{len(found.removed):,} removed, {bad} of them wrong; {found.compared:,} compared"
    right = f"{(stays == wanted).sum():,} decisions as by all pairs"
    section.row(name, "recall=0.99", right, said)
    stays = np.isin(np.arange(len(texts)), known.kept)
    section.row(name, "recall=0.9", f"{(stays == wanted).sum():,} decisions as by all pairs", "")
    edges = sp.csr_array((np.ones(near.sum()), (i[near], j[near])), (len(texts), len(texts)))
    parts = sp.csgraph.connected_components(edges)[0]
    section.row(name, "connected components", f"{len(texts) - parts:,} removed",
                f"the walk removes {len(texts) - int(wanted.sum()):,}")  # fmt: skip


def main() -> None:
    args = options()
    section = Section(
        "dedup",
        "Near-duplicates; CPU seconds of one thread. Documents have 120 words by Zipf's law where "
        "not said, every tenth a copy with up to 9 words changed; shingles of 3 words, threshold "
        "0.8, recall 0.99.",
        ["task", "what", "measured", "beside"],
    )
    texts = list(Generator().texts(20_000))
    signatures(section, texts)
    job(section, texts)
    a_document = files(section, [10**4, 10**5] if args.quick else [10**5, 10**6, 10**7])
    index(section, 10**4 if args.quick else 10**5)
    sorting(section, 10**7 if args.quick else 10**8)
    hostile(section, args.quick)
    folder = data_folder()
    if folder is None:
        section.note("articles: left out; set MERCER_DATA.")
    else:
        quality(section, articles(folder, 1000, 3000 if args.quick else 10_000))
    missing = [name for name in ("rensa", "datasketch") if name not in HERE]
    if missing:
        section.note(f"not installed, and left out: {', '.join(missing)}")
    section.note(
        f"10⁸ documents were not run. At {1e6 * a_document:.1f} CPU µs a document 10⁸ take "
        f"{1e8 * a_document / 60:.0f} minutes on one core, and their sort as above: extrapolated."
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
