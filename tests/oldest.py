"""Print constraints with the oldest versions that pyproject.toml allows: ``make test-oldest``.

What has a lower bound there is pinned to it; everything else stays as in constraints.txt.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOUND = re.compile(r"([\w.-]+)>=([\w.]+)")


def oldest() -> dict[str, str]:
    """The lower bound of each package that Mercer needs, with all of its extras but torch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["cli"], *extras["formats"], *extras["graph"]]
    return dict(BOUND.match(line).groups() for line in wanted)  # type: ignore[union-attr]


def main() -> None:
    bounds = oldest()
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line.partition("==")[0] not in bounds:
            print(line)
    for name, version in bounds.items():
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
