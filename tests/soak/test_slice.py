"""A few trials of each kind in every run of the tests; ``make soak`` goes on for minutes."""

import pytest

from soak.run import AREAS, all_trials, one_trial

#: trials that take long: one is enough here
SLOW = ("memory", "tables", "formats", "leaks", "automatic", "invariances", "model_files")


@pytest.mark.full
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("name", sorted(all_trials()))
def test_a_few_trials(name, number):
    if number and name.startswith(SLOW):
        pytest.skip("one of them is enough in every run")
    one_trial(all_trials()[name], 0, number)


def test_every_area_has_trials():
    assert {name.split(":")[0] for name in all_trials()} == set(AREAS)
