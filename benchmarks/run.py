"""``make bench``: every benchmark in a process of its own, and RESULTS.md written anew.

A benchmark is a script of this folder that writes a section. Each section says its date, its
commit, and the load before and after. All are of one commit, so the sources may not have changes
that are not committed. With ``--quick`` all are run on less, and nothing is written.
"""

import subprocess
import sys
from pathlib import Path

from harness import changed_sources

HERE = Path(__file__).parent
BENCHMARKS = sorted(
    path.stem
    for path in HERE.glob("*.py")
    if ".finish(" in path.read_text(encoding="utf-8") and path != Path(__file__)
)


def main() -> None:
    quick = "--quick" in sys.argv
    changed = changed_sources()
    if changed and not quick:
        sys.exit(f"Commit these first, since results are of one commit:\n{changed}")
    failed = []
    for name in BENCHMARKS:
        print(f"\n--- {name}", flush=True)
        script = HERE / f"{name}.py"
        more = sys.argv[1:] if quick else ["--write", *sys.argv[1:]]
        if subprocess.run([sys.executable, str(script), *more]).returncode:
            failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
