"""What `make quick` runs for a changed file. What reads all imports is left to the full lane."""

import subprocess
import sys

import pytest

from touched import PACKAGE, ROOT, TESTS, main, touched


def names(*paths):
    return [str(path.relative_to(ROOT)) for path in touched(ROOT / path for path in paths)]


@pytest.mark.full
def test_a_file_touches_its_examples_and_whatever_imports_what_it_defines():
    found = names("src/mercer/learners/ridge/kernel_ridge.py")
    assert found[0] == "src/mercer/learners/ridge/kernel_ridge.py"
    assert "tests/learners/ridge/test_ridge.py" in found  # by the package's own face
    assert "docs/ridge.rst" in found
    assert "tests/search/test_kd_tree.py" not in found


@pytest.mark.full
def test_what_one_file_uses_is_tested_through_that_file_and_by_its_name_first():
    found = names("src/mercer/tables/level_effects.py")
    assert found[:2].count("tests/tables/test_level_effects.py") == 1
    assert all(path.startswith(("src/", "tests/", "docs/")) for path in found)
    assert "tests/gram/test_lapack.py" in names("src/mercer/gram/lapack.py")


@pytest.mark.full
def test_files_that_tests_share_touch_what_imports_them():
    found = names("tests/oracles.py")
    assert "tests/kernels/test_contract.py" in found
    assert set(found) < {str(path.relative_to(ROOT)) for path in TESTS.rglob("test_*.py")}


def test_tests_and_pages_touch_themselves_and_each_is_said_once():
    given = ["docs/ridge.rst", "tests/test_lanes.py", "docs/ridge.rst"]
    assert names(*given) == given[:2]


@pytest.mark.full
def test_native_sources_touch_what_calls_them():
    found = names("src/native/smo.cpp")
    assert found[0] == "tests/native"
    assert "tests/solvers/smo/test_smo.py" in found


@pytest.mark.parametrize("name", ["src/mercer/absent.py", "README.md"])
def test_files_without_tests_are_named(name, capsys):
    assert main([name]) == 1
    assert capsys.readouterr().err


def test_the_command_prints_paths_for_pytest():
    command = [sys.executable, "tests/touched.py", "tests/test_lanes.py"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "tests/test_lanes.py\n"


@pytest.mark.full
def test_every_file_of_the_package_touches_a_few_tests_of_its_own():
    found = {path: touched([path]) for path in PACKAGE.rglob("*.py")}
    whole = {path for path, tests in found.items() if TESTS in tests}
    assert whole <= {PACKAGE / "distributed/__init__.py"}  # whose tests are those of the cluster
    assert (
        sum(any(test.is_dir() for test in tests) for tests in found.values()) < 70
    )  # mostly faces
