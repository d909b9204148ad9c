"""What the kernel of convolutions learns from its training series."""

import numpy as np

from mercer import SVC
from mercer.kernels import Convolutions


def test_shares_that_no_training_series_tells_apart_do_not_outweigh_the_others():
    """The spread of equal shares is a rounding error, and not a unit for new series."""
    rng = np.random.default_rng(0)
    fast = np.arange(60) % 2
    waves = np.sin(np.arange(30) * np.where(fast, 1.5, 0.5)[:, None])
    X = list(waves + rng.normal(size=(60, 30)) / 10)
    model = SVC(kernel=Convolutions()).fit(X[:48], fast[:48])
    assert np.abs(model.decision_function(X[48:])).min() > 0.5
