"""docs/install.rst and the recipe for conda-forge name the requirements of pyproject.toml."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PAGE = (ROOT / "docs" / "install.rst").read_text("utf-8")
RECIPE = (ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text("utf-8")
ELSEWHERE = {"matplotlib-base": "matplotlib"}  # as conda-forge calls it


def bounds(requirements):
    parts = (re.match(r"([\w.-]+)\s*>=([\w.]+)", each) for each in requirements)
    return {ELSEWHERE.get(found[1], found[1]): found[2] for found in parts if found}


def needed(part):
    """The lines of a part of the recipe's requirements."""
    block = re.search(rf"\n  {part}:\n((?:    .*\n)+)", RECIPE.split("\nrequirements:")[1])[1]
    return bounds(re.findall(r"- (.+)", block))


def test_the_recipe_has_the_requirements_of_the_package():
    project = PROJECT["project"]
    wanted = bounds(project["dependencies"] + project["optional-dependencies"]["cli"])
    assert needed("run") == {**wanted, "python": project["requires-python"].removeprefix(">=")}
    assert needed("host") == bounds(PROJECT["build-system"]["requires"])
    cmake = PROJECT["tool"]["scikit-build"]["cmake"]["version"]
    assert needed("build") == {"cmake": cmake.removeprefix(">=")}


def test_the_recipe_has_the_version_and_the_command():
    project = PROJECT["project"]
    assert f'version: "{project["version"]}"' in RECIPE
    ((name, target),) = project["scripts"].items()
    assert f"- {name} = {target}\n" in RECIPE
    assert project["description"] in RECIPE


def test_the_page_names_each_extra_and_the_oldest_versions():
    extras = PROJECT["project"]["optional-dependencies"]
    assert {name for name in extras if f"[{name}]``" not in PAGE} == set()
    oldest = bounds(PROJECT["project"]["dependencies"])
    assert f"{oldest['numpy']} and {oldest['scikit-learn']} or later" in PAGE
    assert f"Python {PROJECT['project']['requires-python'][2:]} or later" in PAGE
    assert f"mercer-{PROJECT['project']['version']}.tar.gz" in PAGE
