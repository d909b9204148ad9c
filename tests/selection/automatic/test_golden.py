"""Names, order, code and words of a search, as files that a change has to change too.

To write them again: ``python tests/selection/automatic/test_golden.py`` from the root.
"""

import re
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor
from mercer.kernels import RBF, Laplacian, TableKernel
from mercer.machines.candidates import Candidate, candidates, simple_candidates
from mercer.selection.automatic import KernelMachine
from mercer.tables.encoding import TableEncoder

GOLDEN = Path(__file__).parent / "golden"
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.uniform(-1, 1, size=(80, 3)), columns=list("abc")).assign(
    colour=np.array(list("rgb"))[RNG.integers(3, size=80)],
    count=RNG.integers(6, size=80), other=RNG.integers(6, size=80),
)  # fmt: skip
WAVE = np.sin(3 * TABLE["a"]) + TABLE["b"]
TEXTS = pd.DataFrame({"text": ["one two", "two three", "three four five"] * 10, "x": range(30)})

#: name -> table, and the other arguments of `candidates`
ORDERS = {
    "numbers": (TABLE, {"task": "regression"}),
    "two classes": (TABLE, {"task": "classification"}),
    "local classes": (TABLE, {"task": "classification", "classes": 4, "local": True}),
    "many classes": (TABLE, {"task": "classification", "classes": 26, "large": True}),
    "too many classes": (TABLE, {"task": "classification", "classes": 101}),
    "large table": (TABLE, {"task": "regression", "local": True, "large": True}),
    "40 columns": (RNG.normal(size=(30, 40)), {"task": "classification", "large": True}),
    "101 columns": (RNG.normal(size=(30, 101)), {"task": "regression"}),
    "texts": (TEXTS, {"task": "classification"}),
    "texts for numbers": (TEXTS[["text"]], {"task": "regression"}),
}

KERNEL = TableKernel(
    [(RBF(0.5), ["a (scaled)", "b (scaled)"]), (Laplacian(1.0), ["c (scaled)"])], "product"
)
WEIGHED = TableKernel([(Laplacian(1.0), ["a (rank)"]), (Laplacian(1.0), ["b (rank)"])],
                      "interactions", [0.5, 2.0])  # fmt: skip
MACHINES = {
    "ridge": KernelMachine("ridge", KERNEL, "a kernel"),
    "few centres": KernelMachine("ridge", WEIGHED, "weights", rank=20),
    "exact": KernelMachine("ridge", KERNEL, "a kernel", exact=True),
    "local": KernelMachine("local", KERNEL, "a kernel", leaf_rows=40),
    "svc": KernelMachine("svc", KERNEL, "a kernel", penalty=10.0),
    "window": KernelMachine("window", WEIGHED, "weights"),
    "metric": KernelMachine("ridge", metric="full", steps=1, learning=60),
    "neighbourhood": KernelMachine("neighbourhood", reads="normal", members=1),
    "shapes": KernelMachine("shapes"),
    "constant": KernelMachine("constant"),
    "linear": KernelMachine("linear"),
    "sparse": KernelMachine("sparse"),
}
ALONE = {"svc": KernelClassifier}


def orders() -> str:
    """All candidates of each table, in the order in which they are tried."""
    lines = []
    for name, (table, given) in ORDERS.items():
        features = TableEncoder().fit(table).features_
        found = [*simple_candidates(features), *candidates(features, **given)]
        lines += [f"== {name}", *map(spelled, found)]
    return "\n".join([*lines, ""])


def spelled(candidate: Candidate) -> str:
    """The name of a candidate, and its fields that are not their defaults."""
    plain = asdict(Candidate(candidate.family))
    own = {k: v for k, v in asdict(candidate).items() if v != plain[k]}
    assert Candidate.of({**asdict(candidate), "rows": 3, "steps": []}) == candidate
    return f"{candidate.name} | {candidate.family} {own}"


def codes() -> str:
    """Name, words and code of each machine, without the numbers that a fit finds."""
    lines = []
    for name, machine in MACHINES.items():
        model = fitted(name, [machine])
        told = re.sub(r"[\d.]+( × 10[⁻⁰¹²³⁴-⁹]+)?", "#", model.solver_)
        code = model.code().replace(model.solver_, told)
        lines += [f"== {name}", model.winner_name_, model.machine_.kind, code]
    return "\n".join(lines)


def fitted(name: str, machines: list) -> KernelRegressor | KernelClassifier:
    if name in ALONE:
        return ALONE[name](machines=machines).fit(TABLE, WAVE > 0)
    return KernelRegressor(machines=machines).fit(TABLE, WAVE)


@pytest.mark.parametrize("name", ["orders", "codes"])
def test_candidates_and_code_are_those_of_the_file(name):
    assert globals()[name]() == (GOLDEN / f"{name}.txt").read_text()


def test_a_mean_of_given_machines_has_the_code_of_each():
    model = fitted("mean", [MACHINES["ridge"], MACHINES["shapes"]])
    code = model.code()
    assert model.winner_name_ == f"mean of a kernel + {MACHINES['shapes'].candidate.name}"
    names: dict = {}
    exec(code, {"X": TABLE, "y": WAVE}, names)
    np.testing.assert_allclose(names["model"].predict(TABLE), model.predict(TABLE), rtol=1e-9)


if __name__ == "__main__":
    sys.path.insert(0, "tests")
    GOLDEN.mkdir(exist_ok=True)
    for each in ("orders", "codes"):
        (GOLDEN / f"{each}.txt").write_text(globals()[each]())
