"""skops, which reads and writes model files, imported when it is first needed."""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any

#: modules of scikit-learn that have no estimators, and import a large library if it is installed
LARGE = tuple(f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "cupy", "dask"))
LOCK = RLock()


def skops_io() -> Any:
    """The module `skops.io`.

    To know all estimators, skops imports the whole of scikit-learn. With it would come torch, if it
    is there: 190 MB and more than a second for nothing. A module whose entry is None cannot be
    imported, which the search for estimators passes over.
    """
    with LOCK:
        modules: dict[str, Any] = sys.modules
        hidden = [] if "skops.io" in modules else [name for name in LARGE if name not in modules]
        modules.update(dict.fromkeys(hidden))
        try:
            import skops.io
        finally:
            for name in hidden:
                del modules[name]
    return skops.io
