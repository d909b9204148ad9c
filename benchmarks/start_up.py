"""What ``import mercer`` adds to numpy's own import, and how long ``mercer --help`` takes."""

import subprocess
import sys
from pathlib import Path

from harness import Section, interleaved, options


def run(*arguments: str) -> None:
    subprocess.run(arguments, check=True, capture_output=True)


def main() -> None:
    args = options()
    command = str(Path(sys.executable).parent / "mercer")
    seconds = interleaved(
        {
            "python -c 'import numpy'": lambda: run(sys.executable, "-c", "import numpy"),
            "python -c 'import numpy, mercer'": lambda: run(
                sys.executable, "-c", "import numpy, mercer"
            ),
            "mercer --help": lambda: run(command, "--help"),
        },
        3 if args.quick else 11,
    )
    section = Section("start_up", "Whole processes, warm cache, median.", ["process", "seconds"])
    for name, value in seconds.items():
        section.row(f"`{name}`", f"{value:.3f}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
