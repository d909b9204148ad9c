"""Makes ``their_package`` importable, as a package is that a user has installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
