"""skops, which reads and writes model files, imported when it is first needed."""

from __future__ import annotations

import sys
from threading import RLock, get_ident
from typing import Any

from mercer.persistence.installed import installed_only
from mercer.persistence.values import register_values

LOCK = RLock()
#: packages whose functions in compiled code do not say where they are from
SILENT = ("numpy", "scipy")


def skops_io() -> Any:
    """The module `skops.io`.

    To know all estimators, skops would import the whole of scikit-learn, and all that this tries to
    import. Here it learns of none: `mercer.persistence.trust` knows them by name.
    """
    with LOCK, installed_only():
        if "skops.io" not in sys.modules:
            _import_skops()
        import skops.io

        register_values()
    return skops.io


def _import_skops() -> None:
    import sklearn.utils

    importing, all_estimators = get_ident(), sklearn.utils.all_estimators

    def none_of_them(*args: Any, **kwargs: Any) -> list:
        if get_ident() != importing:
            return all_estimators(*args, **kwargs)
        # skops asks for functions next
        sys.modules["skops.io._utils"].whichmodule = module_of  # type: ignore[attr-defined]
        return []

    sklearn.utils.all_estimators = none_of_them
    try:
        import skops.io  # noqa: F401
    finally:
        sklearn.utils.all_estimators = all_estimators


def module_of(found: Any, name: str) -> str:
    """The module that a class or a function belongs to.

    skops asks every module that is loaded, and those that import their parts when they are asked
    for would import what has the name.
    """
    module = getattr(found, "__module__", None)
    if module is not None:
        return module
    for module, content in sys.modules.copy().items():
        known = module.partition(".")[0] in SILENT and content is not None
        if known and vars(content).get(name) is found:
            return module
    return "__main__"
