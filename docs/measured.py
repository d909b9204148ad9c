"""Measured figures of the pages and of README.md, and the place of each in benchmarks/RESULTS.md.

`FIGURES` has sentences in which {} stands for a figure, and for each {} where it was measured.
``check`` reads both sides, and a test compares them: a figure in a page is that of the results,
rounded to the digits that are written. `OTHERS` are the seconds and bytes that no benchmark has
measured, each with its reason; any further one in a page is an error. `number` also serves the bars
of the home page (ratios.py).
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
NUMBER = r"-?(?:\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)"
UNITS = r"(?:s|ms|µs|MB|GB|kB|minutes|seconds|processor seconds|hours|pairs/s|queries/s)"
#: what looks like a measurement in a page
SEEN = re.compile(rf"(?<![\w.=\"'/·]){NUMBER}(?: to {NUMBER})? {UNITS}\b")


class Cell(NamedTuple):
    """A number in a table: the section, cells that its row begins with, and its column.

    In the page it is multiplied by ``times``, or ``over`` is divided by it.
    """

    section: str
    row: list[str]
    column: str
    times: float = 1
    over: float = 0


class Note(NamedTuple):
    """A number below a table: the section and a pattern with one group."""

    section: str
    pattern: str
    times: float = 1
    over: float = 0


def section_of(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def table_of(section: str) -> list[list[str]]:
    """The cells of a section: the names of the columns, then its rows."""
    names, _, *lines = [
        [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    return [names, *lines]


def number(text: str, source: Cell | Note) -> float:
    """The first number of the cell, or of the group of the note."""
    section = section_of(text, source.section)
    if isinstance(source, Note):
        (found,) = set(re.findall(source.pattern, section))
    else:
        names, *lines = table_of(section)
        begun = [row for row in lines if row[: len(source.row)] == source.row]
        if len(begun) != 1:
            raise ValueError(f"{len(begun)} rows, not one, for {source}")
        found = begun[0][names.index(source.column)]
    value = float(re.findall(NUMBER, found)[0].replace(",", ""))
    return source.over / value if source.over else value * source.times


def agree(written: str, value: float) -> bool:
    """Whether the text is the value, rounded to the digits of the text.

    Zeros at the end of a whole number may be places that were rounded, but for the first two.
    """
    digits = written.replace(",", "").lstrip("-")
    if "." in digits:
        place = len(digits.split(".")[1])
    else:
        place = -min(len(digits) - len(digits.rstrip("0")), max(len(digits) - 2, 0))
    unit = 10.0**-place
    return abs(float(written.replace(",", "")) - value) <= 0.5 * unit * (1 + 1e-9)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def told(text: str) -> str:
    """The page without its examples, which are run."""
    if "\n>>> " not in text:
        return text
    parts = doctest.DocTestParser().parse(text)
    return "".join(part for part in parts if isinstance(part, str))


def check(page: str, text: str, results: str) -> Iterator[str]:
    """What is wrong with the figures of a page."""
    rest = flat(told(text))
    for sentence, *sources in FIGURES.get(page, ()):
        pattern = re.escape(flat(sentence)).replace(r"\{\}", f"({NUMBER})")
        found = [*re.finditer(pattern, rest)]
        if len(found) != 1:
            yield f"{page}: {sentence!r} is there {len(found)} times"
            continue
        if len(found[0].groups()) != len(sources):
            yield f"{page}: {sentence!r} has {len(found[0].groups())} figures"
        for written, source in zip(found[0].groups(), sources):
            if not agree(written, number(results, source)):
                yield f"{page}: {sentence!r} has {written}, and {source} {number(results, source)}"
        rest = rest.replace(found[0][0], "§")
    for reason, pages in OTHERS.items():
        for words in pages.get(page, ()):
            if flat(words) not in rest:
                yield f"{page}: {words!r} ({reason}) is not there"
            rest = rest.replace(flat(words), "§")
    for left in SEEN.finditer(rest):
        yield f"{page}: {rest[max(0, left.start() - 40) : left.end() + 10]!r} is not measured"


def columns(section: str, row: list[str], *names: str) -> list[Cell]:
    """Several columns of a row."""
    return [Cell(section, row, name) for name in names]


def rows(section: str, column: str, *begins: list[str]) -> list[Cell]:
    """A column of several rows."""
    return [Cell(section, begin, column) for begin in begins]


GAPS = "gap-weighted, length 100, up to 3, normalised"
EXACT_GAPS = "gap-weighted, length 100, exactly 3"
SHAP = "shap.KernelExplainer, all coalitions"
MEANS = ["mean rank ± standard error"]
PAIRS = 5_000**2 / 2  # of the 5,000 samples in choose.rst
TRACE = 100 * 101 / 2  # pairs that a benchmark of all pairs of 100 series computes
PROTEINS, PTC = 1_113 * 1_114 / 2, 344 * 345 / 2
BUDGET = ["SVC, float32, n = 200,000, d = 50"]
#: of each page: a sentence with {} for each figure, and where each of them was measured
FIGURES: dict[str, list[tuple]] = {
    "README.md": [
        ("| {} | learnt metric: {}; LightGBM, tuned as long: {}; xRFM, tuned: {}; SVM, tuned: {} |",
         *columns("tables", MEANS, "mercer fit", "FeatureMachine", "LightGBM, tuned",
                  "xRFM, tuned", "SVM, tuned")),
        ("| {} in {} s | LightGBM: {} with its defaults, {} tuned |",
         *columns("learnt neighbourhoods", ["california"], "neighbourhood", "seconds", "LightGBM"),
         Cell("tables", ["california"], "LightGBM, tuned")),
        ("| {} s | GridSearchCV: {} s, the same scores |",
         *rows("ridge_search", "seconds", ["mercer", "float64"], ["scikit-learn"])),
        ("| {} s | scikit-learn: {} s; scikit-learn-intelex: {} s, the same solution |",
         *rows("svm_fit", "fit, s", *(["a9a, n = 32,561", library, "float64"]
                                      for library in ("mercer", "scikit-learn", "intelex")))),
        ("float32 | {} s, {} MB | scikit-learn: {} s, {} MB |",
         *columns("gram_products", ["mercer"], "seconds", "peak MB"),
         *columns("gram_products", ["scikit-learn"], "seconds", "peak MB")),
        ("| {} pairs/s | strkernels: {} pairs/s |",
         *rows("strings", "rate", [GAPS, "mercer, avx512"], [GAPS, "strkernels 0.2.15"])),
        ("| {} s, {} MB | GraKeL: {} s, {} MB |",
         *columns("graphs", ["Weisfeiler-Lehman", "PROTEINS", "mercer"], "seconds", "MB"),
         *columns("graphs", ["Weisfeiler-Lehman", "PROTEINS", "grakel"], "seconds", "MB")),
        ("| {} ms | shap, all coalitions: {} ms; of scikit-learn's machine: {} ms |",
         Cell("shapley", ["mercer"], "processor seconds"),
         Cell("shapley", [SHAP], "processor seconds", 1000),
         Cell("shapley", [f"{SHAP} of scikit-learn's machine"], "processor seconds", 1000)),
        ("| {} | recordlinkage: {}; Splink, with rules by hand: {} at its best threshold |",
         # of the two columns called "best threshold" the first is Splink's
         *columns("linked records", ["patients, seed 52"], "Mercer", "recordlinkage ECM",
                  "best threshold")),
        ("| {} s | rensa, not verified: {} s; datasketch, not verified: {} s |",
         *rows("dedup", "measured", *(["whole job, 20,000 documents", f"{what}, texts"]
                                      for what in ("mercer deduplicate", "rensa", "datasketch")))),
        ("additive machines of ten million rows in {} s",
         Cell("additive, many rows", ["10,000,000"], "clock s")),
    ],
    "docs/attention.rst": [
        ("are right on {} to {}% of new ones",
         *rows("attention, news", "right", ["distance"], ["rbf"])),
        ("standard deviations of {} to {} points over five seeds",
         *rows("attention, news", "standard deviation", ["quadratic"], ["dot_product"])),
        ("cost nearly the same: {} to 1.2 times", Cell("attention", ["rbf"], "times torch")),
        ("(cosines: {} in all; a logarithm of each entry: {})",
         *rows("attention", "times torch", ["a user's function: 8 cos"],
               ["a user's function: Cauchy"])),
    ],
    "docs/bags.rst": [
        ("distances had {} % right, the mean map and the multi-instance kernel {} %, the Gaussian "
         "of the discrepancy {} %, the kernels of fitted Gaussians {} %",
         *rows("bags: Musk1", "right", ["sliced Wasserstein"], ["mean map"], ["Gaussian of MMD"],
               ["Bhattacharyya"])),
        ("the library sawmil had {} %", Cell("bags: Musk1", ["sawmil, NSK"], "right")),
        ("Gaussians took {} to {} s for ten folds",
         *rows("bags: Musk1", "seconds", ["sliced Wasserstein"], ["Gaussian of MMD"])),
    ],
    "docs/choose.rst": [
        ("# 30 seconds, {} to {} MB",
         *rows("tables", "peak MB", ["energy"], ["nursery"])),
        ("(``KernelSearchCV``) - {}", Cell("ridge_search", ["mercer", "float64"], "seconds")),
        ("25 settings in 5 folds - {}", Cell("svm_search", ["mercer", "float64"], "seconds")),
        ("* - 10,000 - ``SVC``, 50 columns - {}",
         Cell("svc_fit", ["overlapping, 5% noise", "mercer", "float64"], "seconds")),
        ("``KernelRidge``, exact - {}",
         Cell("exact ridge", ["float64", "1.0", "0.01", "no"], "Mercer")),
        ("``KernelPCA(20)`` - {}", Cell("kernel_pca", ["10,000", "mercer, krylov"], "seconds")),
        ("1,000 centres - {} - {} MB",
         *columns("local_ridge", ["california", "15,480", "low rank, 1,000"], "seconds",
                  "peak MB")),
        ('``solver="local"`` - {} - {} MB',
         *columns("local_ridge", ["california", "15,480", "local"], "seconds", "peak MB")),
        ("``NeighbourGaussianProcess`` - {}",
         Cell("processes on neighbours", ["california"], "fit, s")),
        ("* - 50,000 - ``SVC``, 50 columns - {} - {} GB",
         Cell("svm_large", ["SVC, float32, n = 50,000, d = 50"], "seconds"),
         Cell("svm_large", ["SVC, float32, n = 50,000, d = 50"], "peak", 1e-3)),
        ("``DeepKernelRegressor`` - {} - {} GB",
         Cell("deep_kernels_large", [], "fit, s"),
         Cell("deep_kernels_large", [], "peak MB", 1e-3)),
        ('``memory="1.5GB"`` - {} - {} GB',
         Cell("svm_large", BUDGET, "seconds"), Cell("svm_large", BUDGET, "peak", 1e-3)),
        ("20 columns and 20 pairs - {}",
         Cell("additive, many rows", ["200,000", "mercer, at most 20 pairs"], "clock s")),
        ("* - 1,000,000 - the same - {}", Cell("additive, many rows", ["1,000,000"], "clock s")),
        ('eigen_solver="low_rank")`` - {} - {} GB',
         Cell("kernel_pca", ["1,000,000"], "seconds"),
         Cell("kernel_pca", ["1,000,000"], "peak MB", 1e-3)),
        ("documents of 120 words - {} - {} GB",
         Note("dedup", r"1,000,000 documents, 867 .* ([\d.]+) CPU s"),
         Note("dedup", r"1,000,000 documents, 867 .* (\d+) MB \|", 1e-3)),
        ("20 columns, without pairs - {} - {} GB",
         Cell("additive, many rows", ["10,000,000"], "clock s"),
         Note("additive, many rows", r"single columns: (\d+) MB", 1e-3)),
        ("``Spectrum(6)``, DNA of 100 letters - {} · 10⁷ - {} s",
         Cell("kmers", ["Spectrum k=6", "mercer"], "pairs/s", 1e-7),
         Cell("kmers", ["Spectrum k=6", "mercer"], "pairs/s", over=PAIRS)),
        ("shortest=1)``, the same - {} · 10⁷ - {} s",
         Cell("kmers", ["Spectrum k=6, blended", "mercer"], "pairs/s", 1e-7),
         Cell("kmers", ["Spectrum k=6, blended", "mercer"], "pairs/s", over=PAIRS)),
        ("``Mismatch(4, 1)``, the same - {} · 10⁷ - {} s",
         Cell("kmers", ["Mismatch k=4, m=1", "mercer"], "pairs/s", 1e-7),
         Cell("kmers", ["Mismatch k=4, m=1", "mercer"], "pairs/s", over=PAIRS)),
        ("``GappedKmer(10, 6)``, the same - {} · 10⁵ - {} s",
         Cell("kmers", ["GappedKmer l=10, k=6", "mercer"], "pairs/s", 1e-5),
         Cell("kmers", ["GappedKmer l=10, k=6", "mercer"], "pairs/s", over=PAIRS)),
        ("``GapWeighted(3)``, the same - {} · 10⁵ - {} s",
         Cell("strings", [EXACT_GAPS, "mercer, avx512"], "rate", 1e-5),
         Cell("strings", [EXACT_GAPS, "mercer, avx512"], "rate", over=PAIRS)),
        ("``Edit``, names - {} · 10⁸ - {} s",
         Cell("sets_and_edit", ["edit matrix, names", "mercer, tiles"], "speed", 1e-8),
         Cell("sets_and_edit", ["edit matrix, names", "mercer, tiles"], "speed", over=PAIRS)),
        ("``Edit``, DNA of 100 letters - {} · 10⁷ - {} s",
         Cell("sets_and_edit", ["edit matrix, DNA, length 100", "mercer, tiles"], "speed", 1e-7),
         Cell("sets_and_edit", ["edit matrix, DNA, length 100", "mercer, tiles"], "speed",
              over=PAIRS)),
        ("1,113 proteins of 39 nodes - {} · 10⁶ - {} s",
         Cell("graphs", ["Weisfeiler-Lehman", "PROTEINS", "mercer"], "seconds",
              over=PROTEINS * 1e-6),
         Cell("graphs", ["Weisfeiler-Lehman", "PROTEINS", "mercer"], "seconds", PAIRS / PROTEINS)),
        ("344 molecules - {} · 10⁶ - {} s",
         Cell("graphs", ["shortest path", "PTC", "mercer"], "seconds", over=PTC * 1e-6),
         Cell("graphs", ["shortest path", "PTC", "mercer"], "seconds", PAIRS / PTC)),
        ("without - {} · 10⁵; {} · 10⁴ - {} s; {} s",
         Cell("objects", ["DTW, window", "mercer"], "seconds", over=TRACE * 1e-5),
         Cell("objects", ["DTW", "mercer"], "seconds", over=TRACE * 1e-4),
         Cell("objects", ["DTW, window", "mercer"], "seconds", PAIRS / TRACE),
         Cell("objects", ["DTW", "mercer"], "seconds", PAIRS / TRACE)),
        ("``GlobalAlignment``, 275 points - {} · 10⁴ - {} minutes",
         Cell("objects", ["global alignment", "mercer"], "seconds", over=TRACE * 1e-4),
         Cell("objects", ["global alignment", "mercer"], "seconds", PAIRS / TRACE / 60)),
        ("had the rank {} of six machines, and tuned LightGBM {}: the mean over the tables of the "
         "rank by the mean of five splits. It was at most {} behind",
         *columns("tables", MEANS, "mercer fit", "LightGBM, tuned"),
         Note("tables", r"it is at most ([\d.]+) behind")),
    ],
    "docs/cluster.rst": [
        ("uniform numbers: {} MB for a partition",
         Cell("cluster", ["additive, 8,000,000 rows"], "MB a partition")),
    ],
    "docs/command.rst": [
        ("about {} ms each for gapped k-mers",
         Cell("sequences", ["NFE2", "1,416 variants"], "found")),
    ],
    "docs/link.rst": [
        ("{} processor seconds and {} GB for 100,000 records",
         Cell("many linked records", ["100,000", "Mercer"], "CPU s"),
         Cell("many linked records", ["100,000", "Mercer"], "peak MB", 1e-3)),
        ("columns, {} s and {} GB for a million",
         Cell("many linked records", ["1,000,000", "Mercer"], "CPU s"),
         Cell("many linked records", ["1,000,000", "Mercer"], "peak MB", 1e-3)),
    ],
    "docs/networks.rst": [
        ("phoneme {} 89.5", Cell("tables, 120 s", ["phoneme"], "mercer fit", 100)),
        ("satimage {} 92.3", Cell("tables, 120 s", ["satimage"], "mercer fit", 100)),
        ("spambase {} 93.3", Cell("tables, 120 s", ["spambase"], "mercer fit", 100)),
        ("counts of words in mails it raised {}% right to {}%",
         *columns("networks", ["spambase (4,601, 57)"], "network", "on ranks")),
        ("its errors are {} and {} standard deviations",
         Cell("networks", ["kin8nm (8,192, 8)"], "network"),
         Cell("networks", ["elevators (16,599, 18)"], "network")),
    ],
    "docs/ridge.rst": [
        ("takes {} seconds on two cores",
         Cell("exact ridge", ["float64", "1.0", "0.01", "no"], "Mercer")),
    ],
    "docs/series.rst": [
        ("takes {} s of one core (pysiglib {} to {} s",
         Cell("signature kernels", ["Trace", "mercer"], "seconds"),
         *rows("signature kernels", "seconds", ["Trace", "pysiglib, polynomials of order 6"],
               ["Trace", "pysiglib, polynomials of order 8"])),
    ],
    "docs/shapley.rst": [
        ("by {}% of the mean size of a value, and these by {}%",
         Cell("shapley, background", ["100 rows that stand for all"], "error", 100),
         Cell("shapley, background", ["100 random rows, mean of 20"], "error", 100)),
    ],
    "docs/speech.rst": [
        ("and returns them {} ms later", Note("speech", r"10 ms [\d.]+, (\d+) ms late")),
    ],
    "docs/strings.rst": [
        ("10¹⁰ cells a second: {} ms for 1,000 symbols",
         Cell("strings", ["all, length 1000", "unscaled, avx512"], "rate", over=1e9)),
    ],
    "docs/trees.rst": [
        ("``Subtree`` is right for {}%, ``PartialTree`` for {}%, ``SubsetTree`` for {}%",
         *rows("trees", "right", ["SVC, Subtree()"], ["SVC, PartialTree()"],
               ["SVC, SubsetTree()"])),
        ("without any trees for {}%",
         Cell("trees", ["weighted words, LinearSVC of scikit-learn"], "right")),
        ("matrices take {}, {} and {} seconds",
         *rows("trees", "Gram matrix", ["SVC, Subtree()"], ["SVC, PartialTree()"],
               ["SVC, SubsetTree()"])),
    ],
    "docs/coming_from/graphs.rst": [
        ("the time is {} to {} times shorter",
         *rows("graphs", "mercer is faster by", ["Weisfeiler-Lehman", "PTC", "grakel"],
               ["random walk", "MUTAG", "grakel"])),
    ],
    "docs/coming_from/libsvm.rst": [
        ("200,000 rows within {} GB", Cell("svm_large", BUDGET, "budget")),
    ],
    "docs/coming_from/series.rst": [
        ("``DTW`` takes {} s of one core here, {} s in tslearn and {} s in aeon; with a window {}, "
         "{} and {} s",
         *rows("objects", "seconds", *([task, library] for task in ("DTW", "DTW, window")
                                       for library in ("mercer", "tslearn", "aeon")))),
    ],
    "docs/kinds/audio.rst": [
        ("some {} pairs in a second",
         # of 275 points, whose tables have 275² cells
         Cell("objects", ["global alignment", "mercer"], "seconds", over=TRACE * (275 / 300) ** 2)),
    ],
    "docs/kinds/images.rst": [
        ("has {}% right and tuned LightGBM {}%",
         Cell("tables", ["pendigits"], "mercer fit", 100),
         Cell("tables", ["pendigits"], "LightGBM, tuned", 100)),
    ],
    "docs/kinds/records.rst": [
        ("of 1,000 are found in {} s; all names within one edit of another, of 200,000, take {} s",
         *rows("sets_and_edit", "speed", ["10 nearest of 1,000 names, of 1,000,000"],
               ["names within 1 edit of another, of 200,000"])),
    ],
    "docs/kinds/sequences.rst": [
        ("letters takes {} s by ``Spectrum(6)``, {} s by ``Mismatch(4, 1)``, and {} s by",
         *rows("kmers", "seconds", ["Spectrum k=6", "mercer"], ["Mismatch k=4, m=1", "mercer"]),
         Cell("kmers", ["GappedKmer l=10, k=6", "mercer"], "seconds", 16)),
        ("``LocalAlignment`` had {}% right, and ``Spectrum(3)`` {}%, in {} s and {} s",
         Cell("sequences", ["150 nuclear receptors", "LocalAlignment()"], "found", 100),
         Cell("sequences", ["150 nuclear receptors", "Spectrum()"], "found", 100),
         *rows("sequences", "CPU s", ["150 nuclear receptors", "LocalAlignment()"],
               ["150 nuclear receptors", "Spectrum()"])),
        ("10,000 letters takes {} ms by ``GapWeighted(3)``",
         Cell("strings", [EXACT_GAPS, "mercer, avx512"], "rate", over=1e3 * 1e4)),
    ],
    "docs/kinds/sets.rst": [
        ("found for {} queries in a second",
         Cell("sets_and_edit", ["10 nearest of 20,000 sets", "mercer"], "speed")),
    ],
    "docs/kinds/tables.rst": [
        ("six machines was {}; tuned LightGBM had {}",
         *columns("tables", MEANS, "mercer fit", "LightGBM, tuned")),
    ],
    "docs/kinds/texts.rst": [
        ("F1 {} with pieces of characters, {} for words with TF-IDF and a linear machine, {} for",
         *(Note("string_learning", rf"spam \| {machine} \| F1 ([\d.]+)") for machine in
           (r"SVC on Spectrum\(k, shortest=1\)", "words, TF-IDF, LinearSVC",
            "char_wb 2-5, TF-IDF, LinearSVC"))),
        ("{}% of new names were right, and {}% by TF-IDF",
         Note("string_learning", r"decay\) \| accuracy ([\d.]+)", 100),
         Note("string_learning", r"char 1-4, TF-IDF, LinearSVC \| accuracy ([\d.]+)", 100)),
    ],
}  # fmt: skip

#: seconds and bytes that no benchmark gives: the reason, and the words of each page
OTHERS: dict[str, dict[str, list[str]]] = {
    "a limit, a size or a rate that the program has by design": {
        "docs/certificates.rst": ["within about 2 seconds"],
        "docs/command.rst": ["and 2 seconds late", "give 10 seconds or more", "more than 5 MB",
                             "more than 100 MB"],
        "docs/deployment.rst": ["more than 100 MB"],
        "docs/duplicates.rst": ["about 256 MB"],
        "docs/safety.rst": ["more than 4 GB"],
        "docs/speech.rst": ["frames of 32 ms", "every 10 ms"],
        "docs/book/speech.rst": ["**frames** of 32 ms", "every 10 ms", "lasts 32 ms",
                                 "ends 10 ms later"],
        "docs/kinds/tables.rst": ["with 30 seconds for each"],
    },
    "computed from the figures beside it": {
        "docs/choose.rst": ["below 0.1 - 8 MB for K", "1.2 GB", "below 0.1 s"],
        "docs/cluster.rst": ["500 centres: 2.0 MB"],
        "docs/link.rst": ["and 22 GB"],
        "docs/kinds/audio.rst": ["takes about 0.1 ms"],
        "docs/speech.rst": ["has 1.2 MB"],
    },
    "a variable of a formula": {"docs/book/perceptron.rst": ["t \\le (R / M)^2 + 2 s / M"]},
    "of other programs, and another one for each machine": {
        "docs/command.rst": ["2 to 4 seconds"],
        "docs/networks.rst": ["a second and 220 MB"],
        "docs/kinds/molecules.rst": ["RDKit takes 1 ms", "and 0.1 ms for most fingerprints"],
    },
    "the most that was seen while the sums were written, and a bound for planning alone": {
        "docs/cluster.rst": ["up to 530 MB"],
    },
}  # fmt: skip
