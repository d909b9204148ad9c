"""scikit-learn's test modules, each in a process where the classes of this library are in place."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from yardstick.swap import PAGE, differences

ROOT = Path(__file__).parents[2]
MODULES = [
    "decomposition.tests.test_kernel_pca",
    "gaussian_process.tests.test_gpr",
    "linear_model.tests.test_perceptron",
    "model_selection.tests.test_search",
    "neighbors.tests.test_kde",
    "neighbors.tests.test_lof",
    "neighbors.tests.test_nca",
    "neighbors.tests.test_neighbors",
    "neighbors.tests.test_neighbors_pipeline",
    "svm.tests.test_bounds",
    "svm.tests.test_sparse",
    "svm.tests.test_svm",
    "tests.test_kernel_approximation",
    "tests.test_kernel_ridge",
]


@pytest.mark.full
@pytest.mark.skipif(
    f"scikit-learn=={version('scikit-learn')}\n" not in (ROOT / "constraints.txt").read_text(),
    reason="the list of differences is for the version that constraints.txt names",
)
@pytest.mark.parametrize("module", MODULES)
def test_scikit_learns_own_tests(module):
    """All pass but those that the page lists, which fail."""
    command = [sys.executable, "-m", "pytest", "-p", "yardstick.swap", "-p", "no:cacheprovider"]
    command += ["-c", str(Path(__file__).with_name("plain.ini")), "-q", "--tb=short", "-rfE"]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "tests"),
        "OPENBLAS_NUM_THREADS": "1",
        "SKLEARN_RUN_FLOAT32_TESTS": "1",
    }
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [*command, "--pyargs", f"sklearn.{module}"],
        env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_every_difference_has_a_reason_and_a_module_that_is_run():
    listed = list(differences())
    assert len(listed) == PAGE.read_text().count("::test_")
    for difference in listed:
        assert difference.reason.endswith("."), difference
        assert difference.pattern.partition("::")[0] in MODULES, difference
    patterns = [difference.pattern for difference in listed]
    assert len(set(patterns)) == len(patterns)
