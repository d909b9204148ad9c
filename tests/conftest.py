"""For all tests: the lanes, and the number of examples of generated tests in each.

Generated tests have no deadline, since a busy machine may take long for a step. In the lanes their
examples are the same in each run of the same code, so that a commit that passed once passes again;
the profile "explore" draws other ones each time (``make explore``).
"""

import gc
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from lanes import QUICK, leave_to_the_full_lane

settings.register_profile("quick", deadline=None, max_examples=20, derandomize=True)
settings.register_profile("full", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=300)
settings.load_profile("quick")


def pytest_configure(config):
    """Tests that are named one by one run, whatever their lane; so do those that failed last."""
    named = any("::" in argument for argument in config.args)
    failed = config.getoption("lf", False) and config.cache.get("cache/lastfailed", {})
    if config.option.markexpr == QUICK and (named or failed):
        config.option.markexpr = ""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays to the end, so that the garbage collector need never look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Files of tests have no examples, which would be looked for in them."""
    found = yield
    examples = DoctestModule if file_path.name.startswith("test_") else ()
    return [each for each in found if not isinstance(each, examples)]


@pytest.hookimpl(tryfirst=True)  # before those of the other lane are left out
def pytest_collection_modifyitems(config, items):
    given = getattr(config, "workerinput", {}).get("mainargv", sys.argv)
    leave_to_the_full_lane(
        items, [Path(name).absolute() for name in given if name.endswith(".rst")]
    )


def pytest_runtest_teardown() -> None:
    """Pictures of one test are not open in the next; matplotlib warns of more than 20."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture(autouse=True, scope="module")
def short_maps(request: pytest.FixtureRequest) -> Iterator[None]:
    """Maps of rows in reports have 10 steps, not 250, which take a fifth of the time of a fit by
    the command; tests of reports do not look at where the rows are."""
    if request.path.relative_to(Path(__file__).parent).parts[0] not in ("cli", "plots"):
        yield
        return
    from mercer.learners.neighbours import NeighbourEmbedding
    from mercer.plots.report import kernel

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "NeighbourEmbedding", partial(NeighbourEmbedding, steps=10))
        yield
