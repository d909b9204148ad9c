"""Print constraints with the oldest versions that pyproject.toml allows: ``make test-oldest``.

What Mercer needs is pinned to the series of its lower bound (the first of a series may have no
wheel), and what the tests need besides to its version in constraints.txt. The parser under
matplotlib, whose new versions warn about names that the old matplotlib uses, is as old as that.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[.*?\])?(?:>=([\w.]+))?")


def parts(requirements: list[str]) -> dict[str, str]:
    """The name of each package, as PyPI compares names, with its lower bound."""
    found = [REQUIREMENT.match(each).groups() for each in requirements]  # type: ignore[union-attr]
    return {canonical(name): bound for name, bound in found}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, tools = settings["project"], parts(settings["dependency-groups"]["test"])
    extras = project["optional-dependencies"]
    needed = list(project["dependencies"])
    for extra in ("cli", "formats", "graph", "objects"):
        needed += extras[extra]
    bounds = parts(needed)
    for name, bound in bounds.items():
        print(f"{name}=={bound}.*")
    print("pyparsing==3.1.*")
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        name = canonical(line.partition("==")[0])
        if name in tools and name not in bounds:
            print(line)


if __name__ == "__main__":
    main()
