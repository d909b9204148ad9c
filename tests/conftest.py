"""For all tests: the lanes, and the number of examples of generated tests in each.

Generated tests have no deadline, since a busy machine may take long for a step.
"""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

from lanes import QUICK, leave_to_the_full_lane

settings.register_profile("quick", deadline=None, max_examples=20)
settings.register_profile("full", deadline=None)
settings.load_profile("quick")


def pytest_configure(config):
    """Tests that are named one by one run, whatever their lane; so do those that failed last."""
    named = any("::" in argument for argument in config.args)
    failed = config.getoption("lf", False) and config.cache.get("cache/lastfailed", {})
    if config.option.markexpr == QUICK and (named or failed):
        config.option.markexpr = ""


@pytest.hookimpl(tryfirst=True)  # before those of the other lane are left out
def pytest_collection_modifyitems(config, items):
    given = getattr(config, "workerinput", {}).get("mainargv", sys.argv)
    leave_to_the_full_lane(
        items, [Path(name).absolute() for name in given if name.endswith(".rst")]
    )
