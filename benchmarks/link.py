"""Records that are the same: Mercer without rules beside Splink and recordlinkage, whose rules and
comparisons are written here as their tutorials do. FEBRL's data, real tables, and tables of three
generators with damage of other kinds than those that the library was tuned on; then many records.

MERCER_LINK names a Python that has splink and recordlinkage, which stand on versions of their own;
it also has FEBRL's data. MERCER_LINK_TABLES names the folder ``datasets`` of the source of
py_entitymatching, with restaurants and papers. What is absent is left out, and said.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness import Section, options, said_and_peak
from mercer import RecordLinkage
from mercer.datasets import registers

PEERS = Path(__file__).with_name("link_peers.py")
BEST = 0.05, 0.2, 0.8, 0.95, 0.99, 0.999, 0.9999, 0.99999  # thresholds of the peers
FRESH = (51, 52, 53)  # seeds of the generators, which nobody looked at before


class Task(NamedTuple):
    """Tables with their true pairs, and what the peers are told."""

    name: str
    A: pd.DataFrame
    B: pd.DataFrame | None
    truth: set
    plan: dict[str, Any]
    judged: set | None = None  # the pairs whose truth is known; None: all


# --- generators -----------------------------------------------------------------------------------

FIRST = (
    "james mary robert patricia john jennifer michael linda david elizabeth william barbara "
    "richard susan joseph jessica thomas karen christopher sarah charles lisa daniel nancy "
    "matthew betty anthony sandra mark ashley donald emily steven kimberly andrew margaret "
    "paul donna joshua michelle kenneth carol kevin amanda brian melissa timothy deborah "
    "ronald stephanie"
)
LAST = (
    "smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez "
    "lopez wilson anderson thomas taylor moore jackson martin lee perez thompson white harris "
    "sanchez clark ramirez lewis robinson walker young allen king wright scott torres nguyen "
    "hill flores green adams nelson baker hall rivera campbell mitchell carter roberts "
    "phillips evans turner"
)
ENDS = ["", "", "", "son", "man", "field", "ford", "ley", "worth", "wood"]
ROADS = "oak maple cedar elm pine walnut lake hill park river church spring mill ridge"
TOWNS = "salem clinton madison fairview franklin greenville bristol georgetown arlington dover"
FIRSTS, LASTS, ROAD, TOWN = (text.split() for text in (FIRST, LAST, ROADS, TOWNS))
SOUNDS = [("ph", "f"), ("ck", "k"), ("th", "t"), ("ll", "l"), ("y", "i"), ("ea", "ee"), ("mb", "m")]
SCANS = str.maketrans("0158bgeo", "olisd9c0")
WAYS = {"street": "st", "avenue": "ave", "road": "rd", "drive": "dr"}


def one(rng: np.random.Generator, items: list) -> Any:
    return items[rng.integers(len(items))]


def spoilt(rng: np.random.Generator, text: str) -> str:
    """Misheard, scanned wrongly, cut off, or its first letter lost."""
    way = rng.integers(4)
    if way == 0:
        known = [pair for pair in SOUNDS if pair[0] in text]
        return text.replace(*one(rng, known), 1) if known else text
    if way == 1:
        at = rng.integers(len(text))
        return text[:at] + text[at].translate(SCANS) + text[at + 1 :]
    return text[:6] if way == 2 else text[1:] if len(text) > 3 else text


def patients(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, set]:
    """A clinic's register and an insurer's: double names, juniors, dates of entry, cut names."""
    rng = np.random.default_rng(seed)
    people: list[dict] = []
    while len(people) < n:
        last = one(rng, LASTS) + one(rng, ENDS)
        home = {
            "address": f"{rng.integers(1, 999)} {one(rng, ROAD)} {one(rng, list(WAYS))}",
            "town": one(rng, TOWN),
            "phone": f"{rng.integers(200, 999)}-555-{rng.integers(10**4):04d}",
        }  # fmt: skip
        father = ""
        for role in range(rng.choice([1, 2, 3, 4])):
            first = father if role == 2 and rng.random() < 0.15 else one(rng, FIRSTS)
            father = first if role == 0 else father
            year = rng.integers(1935, 1975) if role < 2 else rng.integers(1976, 2008)
            born = f"{year}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
            middle = one(rng, FIRSTS)[0]
            people.append({"first": first, "middle": middle, "last": last, "born": born, **home})
    people = people[:n]

    def other(p: dict) -> dict:
        p = dict(p)
        for name, share in (("first", 0.1), ("last", 0.1), ("address", 0.12), ("town", 0.05)):
            if rng.random() < share:
                p[name] = spoilt(rng, p[name])
        if rng.random() < 0.08:
            p["last"] = f"{p['last']}-{one(rng, LASTS)}"  # a double name
        if rng.random() < 0.06:
            p["first"] = p["first"][0]
        if rng.random() < 0.03:
            p["first"], p["middle"] = p["middle"], p["first"]
        for long, short in WAYS.items():
            p["address"] = p["address"].replace(long, short)
        if rng.random() < 0.15:
            p["address"] = f"{rng.integers(1, 999)} {one(rng, ROAD)} {one(rng, [*WAYS.values()])}"
            p["town"] = one(rng, TOWN)
        if rng.random() < 0.3:
            p["phone"] = f"({rng.integers(200, 999)}) 555 {rng.integers(10**4):04d}"
        y, m, d = p["born"].split("-")
        way = rng.random()
        if way < 0.03:
            m, d = "01", "01"  # only the year was known
        elif way < 0.06:
            y = str(int(y) + int(rng.choice([-1, 1, 100, -100])))
        p["born"] = f"{m}/{d}/{y}"
        return {k: None if rng.random() < 0.08 else v for k, v in p.items()}

    return halves(people, lambda p: p, other, rng)


def firms(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, set]:
    """A register of firms and a list of suppliers: trade names, branches, tax numbers."""
    rng = np.random.default_rng(seed)
    fields = [
        "systems",
        "foods",
        "textiles",
        "motors",
        "logistics",
        "pharma",
        "energy",
        "media",
        "glass",
        "paper",
        "tools",
    ]
    found: list[dict] = []
    while len(found) < n:
        core = [one(rng, LASTS) + one(rng, ENDS), one(rng, fields)]
        core += [one(rng, ["international", "holding", "group"])] if rng.random() < 0.3 else []
        firm = {
            "name": core,
            "town": one(rng, TOWN),
            "street": one(rng, ROAD) + " road",
            "tax": f"{rng.integers(10**8, 10**9)}",
            "staff": int(np.exp(rng.normal(3.5, 1.3))),
        }
        found.append(firm)
        if rng.random() < 0.2:  # a branch
            found.append({**firm, "town": one(rng, TOWN), "street": one(rng, ROAD) + " road",
                          "tax": f"{rng.integers(10**8, 10**9)}",
                          "staff": int(np.exp(rng.normal(2.5, 1)))})  # fmt: skip
    found = found[:n]

    def mine(f: dict) -> dict:
        return f | {"name": " ".join([*f["name"], "limited"])}

    def theirs(f: dict) -> dict:
        core = list(f["name"])
        way = rng.random()
        if way < 0.1:
            core = core[:1] + ["".join(word[0] for word in core[1:])]
        elif way < 0.25:
            core = ["the", *core]
        elif way < 0.4:
            core[0] = spoilt(rng, core[0])
        name = " ".join(core) + one(rng, [" ltd", " ltd.", "", " plc", " (uk) ltd"])
        tax = None if rng.random() < 0.4 else f"GB {f['tax'][:3]} {f['tax'][3:7]} {f['tax'][7:]}"
        staff = None if rng.random() < 0.3 else round(f["staff"] * np.exp(rng.normal(0, 0.2)))
        street = (
            one(rng, ROAD) + " rd" if rng.random() < 0.15 else f["street"].replace("road", "rd")
        )
        return {"name": name, "town": f["town"], "street": street, "tax": tax, "staff": staff}

    return halves(found, mine, theirs, rng)


def halves(
    things: list[dict], mine: Any, theirs: Any, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, set]:
    """Three quarters of the things in each table, half of them in both."""
    n = len(things)
    order = rng.permutation(n)
    a, b = order[: 3 * n // 4], rng.permutation(order[n // 4 :])
    place = {thing: row for row, thing in enumerate(a.tolist())}
    A, B = pd.DataFrame([mine(things[i]) for i in a]), pd.DataFrame([theirs(things[i]) for i in b])
    return A, B, {(place[i], j) for j, i in enumerate(b.tolist()) if i in place}


PERSONS: dict[str, Any] = {
    "format": "%Y%m%d", "sure": [["soc_sec_id"], ["given_name", "surname", "date_of_birth"]],
    "columns": {
        "given_name": "name", "surname": "name", "date_of_birth": "date", "soc_sec_id": "digits",
        "street_number": "exact", "postcode": "digits", "suburb": "text", "address_1": "text",
        "state": "exact",
    },
    "rules": [
        ["given_name", "surname"], ["date_of_birth"], ["soc_sec_id"], ["state", "address_1"],
        ["street_number", "address_1"], ["postcode"],
    ],
    "train": [["date_of_birth"], ["postcode"]],
}  # fmt: skip
SCALE = PERSONS | {
    "rules": [
        ["given_name", "surname"], ["date_of_birth"], ["soc_sec_id"],
        ["address_1", "street_number"],
        ["surname", "postcode"], ["given_name", "postcode"], ["suburb", "street_number", "surname"],
        ["address_1", "suburb"],
    ],
    "train": [["date_of_birth"], ["given_name", "surname"]],
}  # fmt: skip
REGISTERS = {
    "format": "%Y-%m-%d", "sure": [["first_name", "last_name", "born"]],
    "columns": {"first_name": "name", "last_name": "name", "born": "date", "street": "text",
                "number": "exact", "place": "text"},
    "rules": [["first_name", "last_name"], ["born"], ["street", "number"], ["last_name", "place"]],
    "train": [["born"], ["street", "number"]],
}  # fmt: skip
PATIENTS = {
    "format": "%Y-%m-%d", "sure": [["first", "last", "born"]],
    "columns": {"first": "name", "last": "name", "born": "date", "address": "text", "town": "text",
                "phone": "digits", "middle": "exact"},
    "rules": [["first", "last"], ["born"], ["phone"], ["address", "town"], ["last", "town"]],
    "train": [["born"], ["phone"]],
}  # fmt: skip
FIRMS = {
    "format": "", "sure": [["tax"], ["name", "town"]],
    "columns": {"name": "text", "town": "text", "street": "text", "tax": "digits"},
    "rules": [["tax"], ["name"], ["town"]], "train": [["tax"], ["town"]],
}  # fmt: skip
RESTAURANTS = {
    "format": "", "sure": [["phone"], ["name", "city"]],
    "columns": {"name": "text", "addr": "text", "city": "text", "phone": "digits"},
    "rules": [["phone"], ["name"], ["addr"], ["city"]], "train": [["phone"], ["city"]],
}  # fmt: skip
PAPERS = {
    "format": "", "sure": [["title", "year"]],
    "columns": {"title": "text", "authors": "text", "year": "exact"},
    "rules": [["title"], ["authors"], ["year"]], "train": [["title"], ["year"]],
}  # fmt: skip


# --- tasks ----------------------------------------------------------------------------------------

DUMP = """
import sys
import recordlinkage.datasets as d
for k in (1, 2, 3, 4):
    found = getattr(d, f"load_febrl{k}")(return_links=True)
    for letter, table in zip("ab", found[:-1]):
        table.astype("string").to_parquet(f"{sys.argv[1]}/{k}{letter}.parquet")
    found[-1].to_frame(index=False).to_parquet(f"{sys.argv[1]}/{k}links.parquet")
"""


def febrl(python: str) -> list[Task]:
    tasks = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-W", "ignore", "-c", DUMP, folder], check=True)
        for k in (1, 2, 3, 4):
            sides = [pd.read_parquet(f"{folder}/{k}{x}.parquet") for x in ("ab" if k == 4 else "a")]
            links = pd.read_parquet(f"{folder}/{k}links.parquet").to_numpy()
            place = [{v: i for i, v in enumerate(table.index)} for table in sides]
            truth = {(place[0][a], place[-1][b]) for a, b in links.tolist()}
            if k < 4:
                truth = {(min(pair), max(pair)) for pair in truth}
            tables = [
                table.reset_index(drop=True).astype(object).where(table.notna().to_numpy(), None)
                for table in sides
            ]
            B = tables[1] if k == 4 else None
            tasks.append(Task(f"FEBRL {k}", tables[0], B, truth, PERSONS))
    return tasks


def real(folder: Path) -> list[Task]:
    inner = folder / "end-to-end" / "restaurants"
    A, B, links = (pd.read_csv(inner / f"{name}.csv", skipinitialspace=True)
                   for name in ("fodors", "zagats", "matches_fodors_zagats"))  # fmt: skip
    a, b = ({v: i for i, v in enumerate(table["id"])} for table in (A, B))
    truth = {(a[i], b[j]) for i, j in links.to_numpy().tolist()}
    tasks = [Task("Fodors-Zagats", A.drop(columns="id"), B.drop(columns="id"), truth, RESTAURANTS)]
    A, B = (pd.read_csv(folder / f"{name}.csv") for name in ("DBLP", "ACM"))
    known = pd.read_csv(folder / "dblp_acm_demo_labels.csv")
    a, b = ({str(v): i for i, v in enumerate(table["id"])} for table in (A, B))
    rows = [(a[str(i)], b[str(j)], gold) for i, j, gold in
            known[["ltable.id", "rtable.id", "gold"]].to_numpy().tolist()
            if str(i) in a and str(j) in b]  # fmt: skip
    truth, judged = {r[:2] for r in rows if r[2]}, {r[:2] for r in rows}
    A, B = A.drop(columns="id"), B.drop(columns="id")
    return [*tasks, Task("DBLP-ACM", A, B, truth, PAPERS, judged)]


def made(quick: bool) -> list[Task]:
    tasks = []
    for seed in FRESH[: 1 if quick else 3]:
        A, B, truth = registers(4000, seed=seed)
        a, b = pd.DataFrame(A), pd.DataFrame(B)
        known = set(map(tuple, truth.tolist()))
        tasks.append(Task(f"registers, seed {seed}", a, b, known, REGISTERS))
        tasks.append(Task(f"patients, seed {seed}", *patients(4000, seed), PATIENTS))
        tasks.append(Task(f"firms, seed {seed}", *firms(4000, seed), FIRMS))
    return tasks


# --- figures --------------------------------------------------------------------------------------


def f1(found: set, task: Task) -> float:
    found = found if task.judged is None else found & task.judged
    return 2 * len(found & task.truth) / max(len(found) + len(task.truth), 1)


def ours(task: Task) -> list[Any]:
    began = time.process_time()
    model = RecordLinkage().fit(task.A, task.B)
    seconds = time.process_time() - began
    near = model.near_
    pairs = list(zip(near.left.tolist(), near.right.tolist()))
    alone = f1({p for p, x in zip(pairs, near.probability) if x >= 0.5}, task)
    if task.B is None:
        groups = pd.Series(range(len(model.labels_))).groupby(model.labels_).apply(list)
        whole = {(i, j) for g in groups if len(g) > 1 for k, i in enumerate(g) for j in g[k + 1 :]}
    else:
        one_each = near.above(0.5).one_to_one(len(task.A), len(task.B))
        whole = set(zip(one_each.left.tolist(), one_each.right.tolist()))
    caught = len(set(pairs) & task.truth) / len(task.truth)
    known = np.array([task.judged is None or pair in task.judged for pair in pairs])
    right = np.array([pair in task.truth for pair in pairs])[known]
    p = near.probability[known]
    part = np.minimum((p * 10).astype(int), 9)
    apart = sum(abs(p[part == b].sum() - right[part == b].sum()) for b in range(10)) / max(
        len(p), 1
    )
    return [alone, f1(whole, task), caught, apart, seconds]


def peer(python: str, name: str, task: Task) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        for letter, table in (("a", task.A), ("b", task.B)):
            if table is not None:
                plain(table, task.plan).to_parquet(f"{folder}/{letter}.parquet")
        plan = task.plan | {"two": task.B is not None}
        Path(folder, "plan.json").write_text(json.dumps(plan))
        done = subprocess.run([python, "-W", "ignore", str(PEERS), folder, name],
                              capture_output=True, text=True)  # fmt: skip
        if done.returncode:
            return ["failed", "", ""]
        seconds = float(done.stdout.split("MEASURED")[1].split()[0])
        found = np.load(f"{folder}/found.npy").reshape(-1, 3)
    scores = []
    for threshold in (0.5, *BEST):
        rows = found[found[:, 2] >= threshold][:, :2].astype(int)
        rows = rows if task.B is not None else np.sort(rows, axis=1)
        scores.append(f1(set(map(tuple, rows.tolist())), task))
    return [scores[0], max(scores), seconds]


def plain(table: pd.DataFrame, plan: dict[str, Any]) -> pd.DataFrame:
    """What a user of the peers prepares by hand: small letters, dates and numbers in one form."""
    table = table.astype("string").apply(lambda column: column.str.lower().str.strip())
    for name, kind in plan["columns"].items():
        if kind == "digits":
            table[name] = table[name].str.replace(r"\D", "", regex=True)
        if kind == "exact":
            table[name] = table[name].str.removesuffix(".0")
        if kind == "date" and plan["format"] == "%Y-%m-%d":
            dots = "." in "".join(table[name].dropna()[:3])
            read = pd.to_datetime(table[name], format="mixed", dayfirst=dots, errors="coerce")
            table[name] = read.dt.strftime("%Y-%m-%d").astype("string")
    return table


# --- many records ---------------------------------------------------------------------------------


def many(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """FEBRL-like: three tenths are damaged copies of others, 15% of their cells have a slip."""
    rng = np.random.default_rng(seed)
    k = int(0.7 * n)

    def drawn(words: list[str], size: int, power: float) -> np.ndarray:
        some = words + [a + b for a in words for b in (*TOWN, *ROAD, *words)]
        some = np.array(some[:size] if size <= len(some) else
                        [f"{w}{e}" for w in some for e in ENDS[2:]][:size], object)  # fmt: skip
        p = 1 / np.arange(1, len(some) + 1) ** power
        return some[rng.choice(len(some), k, p=p / p.sum())]

    digits = [rng.integers(low, high, k).astype(str).astype(object)
              for low, high in ((1, 400), (800, 7000), (10**6, 10**7))]  # fmt: skip
    born = np.datetime64("1920-01-01") + rng.integers(0, 30_000, k)
    A = pd.DataFrame({
        "given_name": drawn(FIRSTS, 2000, 0.8), "surname": drawn(LASTS, 20_000, 0.7),
        "street_number": digits[0], "address_1": drawn(ROAD + LASTS, 15_000, 0.5),
        "suburb": drawn(TOWN + LASTS, 4000, 0.6), "postcode": digits[1],
        "state": rng.choice(np.array(["nsw", "vic", "qld", "wa", "sa"], object), k),
        "date_of_birth": np.char.replace(np.datetime_as_string(born), "-", "").astype(object),
        "soc_sec_id": digits[2],
    })  # fmt: skip
    own = np.append(np.arange(k), rng.integers(0, k, n - k))
    B = A.iloc[own[k:]].reset_index(drop=True)
    for name in B.columns:
        cells = B[name].to_numpy().copy()
        for row in np.flatnonzero(rng.random(len(B)) < 0.15).tolist():
            text, at = cells[row], rng.integers(len(cells[row]))
            cells[row] = text[:at] + one(rng, ["", text[at] * 2, "x", "7"]) + text[at + 1 :]
        cells[rng.random(len(B)) < 0.04] = None
        B[name] = cells
    order = rng.permutation(n)
    return pd.concat([A, B], ignore_index=True).iloc[order].reset_index(drop=True), own[order]


MEASURED = """
import sys, time
import numpy as np, pandas as pd
from mercer import RecordLinkage
X = pd.read_parquet({path!r})
own = X.pop("own").to_numpy()
# measured
began, wall = time.process_time(), time.perf_counter()
model = RecordLinkage().fit(X)
seconds = time.process_time() - began, time.perf_counter() - wall
size = np.bincount(own)
truth = int((size * (size - 1) // 2).sum())
pairs = model.pairs_
good = int((own[pairs.left] == own[pairs.right]).sum())
print(*seconds, 2 * good / (len(pairs) + truth), model.n_candidates_, good / truth)
"""


def scale(python: str, sizes: tuple[int, ...]) -> Section:
    section = Section(
        "many linked records",
        "One table, three tenths of it damaged copies; nine columns, from Parquet. F1 of pairs.",
        ["records", "", "CPU s", "s", "peak MB", "pairs compared", "recall", "F1"],
    )
    for n in sizes:
        X, own = many(n)
        with tempfile.TemporaryDirectory() as folder:
            X.assign(own=own).to_parquet(f"{folder}/own.parquet")
            words, peak = said_and_peak(MEASURED.format(path=f"{folder}/own.parquet"))
        cpu, wall, score, candidates, recall = map(float, words[:5])
        section.row(f"{n:,}", "Mercer", f"{cpu:.1f}", f"{wall:.1f}", f"{peak:.0f}",
                    f"{candidates:,.0f}", f"{recall:.4f}", f"{score:.4f}")  # fmt: skip
        if python:
            groups = pd.Series(range(n)).groupby(own).apply(list)
            truth = {(i, j) for g in groups for k, i in enumerate(g) for j in g[k + 1 :]}
            score, _, seconds = peer(python, "splink", Task("", X, None, truth, SCALE))
            section.row(
                f"{n:,}", "Splink", *told(seconds, ".1f"), "", "", "", "", *told(score, ".4f")
            )
    return section


def told(value: Any, form: str) -> list[str]:
    return [format(value, form) if isinstance(value, float) else str(value)]


def main() -> None:
    chosen = options()
    python, tables = os.environ.get("MERCER_LINK", ""), os.environ.get("MERCER_LINK_TABLES", "")
    section = Section(
        "linked records",
        "F1 of pairs at probability 0.5. Mercer has no rules and no labels; those of the peers are "
        "written in benchmarks/link.py. Whole: one to one of two tables, clusters of one. Caught: "
        "true pairs with a probability of 0.01 and more. ECE: their calibration error.",
        ["tables", "records", "Mercer", "whole", "caught", "ECE", "CPU s", "Splink",
         "best threshold", "CPU s", "recordlinkage ECM", "best threshold", "CPU s"],
    )  # fmt: skip
    tasks = febrl(python) if python else []
    tasks += real(Path(tables)) if tables else []
    for task in tasks + made(chosen.quick):
        alone, whole, caught, apart, seconds = ours(task)
        row = [f"{alone:.4f}", f"{whole:.4f}", f"{caught:.4f}", f"{apart:.3f}", f"{seconds:.1f}"]
        for name in ("splink", "recordlinkage"):
            found = peer(python, name, task) if python else ["", "", ""]
            row += [*told(found[0], ".4f"), *told(found[1], ".4f"), *told(found[2], ".1f")]
        count = len(task.A) + (0 if task.B is None else len(task.B))
        section.row(task.name, f"{count:,}", *row)
    if python:
        code = "from importlib.metadata import version as v; print(v('splink'), v('recordlinkage'))"
        said = subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.split()
        section.note(f"Splink {said[0]} on DuckDB, recordlinkage {said[1]}")
    else:
        section.note("no peers, nor FEBRL's data: MERCER_LINK names no Python that has them")
    if not tables:
        section.note("no restaurants and papers: MERCER_LINK_TABLES names no folder")
    section.note("papers are judged by their labelled pairs")
    section.note(
        "rules and constants were chosen after a look at the errors of Fodors-Zagats, and on other "
        "seeds of the generators: 0 to 13 and 30 to 41"
    )
    section.note(f"measured beside a load of {os.getloadavg()[0]:.0f} on the cores")
    section.finish(chosen.write)
    larger = scale(python, (20_000,) if chosen.quick else (100_000, 1_000_000))
    larger.note(f"measured beside a load of {os.getloadavg()[0]:.0f} on the cores")
    larger.finish(chosen.write)


if __name__ == "__main__":
    main()
