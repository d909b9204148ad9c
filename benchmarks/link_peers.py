"""What the peers of link.py do, in a process and an environment of their own: Splink, or
recordlinkage, on the tables of a folder: a.parquet, perhaps b.parquet, and plan.json. Prints its
seconds, and saves rows and probabilities of pairs in found.npy.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

folder, name = sys.argv[1:]
plan = json.loads(Path(folder, "plan.json").read_text())
A = pd.read_parquet(f"{folder}/a.parquet")
B = pd.read_parquet(f"{folder}/b.parquet") if plan["two"] else None


def splink():
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    kinds = {
        "name": lambda c: cl.NameComparison(c),
        "date": lambda c: cl.DateOfBirthComparison(
            c, input_is_string=True, datetime_format=plan["format"], invalid_dates_as_null=True
        ),
        "digits": lambda c: cl.DamerauLevenshteinAtThresholds(c, [1, 2]),
        "exact": lambda c: cl.ExactMatch(c).configure(term_frequency_adjustments=True),
        "text": lambda c: cl.JaroWinklerAtThresholds(c, [0.9, 0.7]),
    }
    settings = SettingsCreator(
        link_type="link_only" if plan["two"] else "dedupe_only",
        unique_id_column_name="row",
        comparisons=[kinds[k](c) for c, k in plan["columns"].items()],
        blocking_rules_to_generate_predictions=[block_on(*rule) for rule in plan["rules"]],
    )
    tables = []
    for T in (A, B):
        if T is not None:
            T = T.copy()
            T["row"] = np.arange(len(T))
            tables.append(T)
    api = DuckDBAPI()
    try:
        linker = Linker(tables if plan["two"] else tables[0], settings, db_api=api)
    except Exception:
        made = [api.register(t) for t in tables]
        linker = Linker(made if plan["two"] else made[0], settings)
    linker.training.estimate_probability_two_random_records_match(
        [block_on(*r) for r in plan["sure"]], recall=0.9
    )
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    for rule in plan["train"]:
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(*rule))
    got = linker.inference.predict(threshold_match_probability=0.01).as_pandas_dataframe()
    l, r = got["row_l"].to_numpy(), got["row_r"].to_numpy()
    if plan["two"] and "source_dataset_l" in got and len(got):
        first = sorted(got["source_dataset_l"].unique())[0]
        turn = (got["source_dataset_l"] != first).to_numpy()
        l, r = np.where(turn, r, l), np.where(turn, l, r)
    return np.column_stack([l, r, got["match_probability"]])


def recordlinkage():
    import recordlinkage as rl

    index = rl.Index()
    for rule in plan["rules"]:
        index.block(rule)
    pairs = index.index(A, B) if plan["two"] else index.index(A)
    compare = rl.Compare()
    for c, k in plan["columns"].items():
        if k in ("name", "text"):
            compare.string(c, c, method="jarowinkler", threshold=0.85, label=c)
        elif k == "digits":
            compare.string(c, c, method="damerau_levenshtein", threshold=0.8, label=c)
        else:
            compare.exact(c, c, label=c)
    X = compare.compute(pairs, A, B) if plan["two"] else compare.compute(pairs, A)
    ecm = rl.ECMClassifier()
    p = ecm.fit_predict(X), ecm.prob(X)
    found = np.array([list(pair) for pair in X.index], float)
    return np.column_stack([found, np.asarray(p[1])])


began, wall = time.process_time(), time.perf_counter()
found = globals()[name]()
print("MEASURED", time.process_time() - began, time.perf_counter() - wall)
np.save(f"{folder}/found.npy", found)
