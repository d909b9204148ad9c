"""Imports while a file is read or written: of what is installed, never from the current folder.

Python looks for a module in the current folder first, in most ways in which it is started. Whoever
loads a file there does not expect that a ``pickle.py`` or ``numpydoc.py`` beside it is run.
skops, which reads and writes model files, is imported so when it is first needed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock, get_ident
from typing import Any

from mercer.persistence.values import register_values

#: what skops asks for to write its models, which Mercer's files never hold
UNREAD = {"quantile_forest"}
#: whose folders stay searched, even where one is the current folder (as on some servers)
PACKAGES = ("mercer", "numpy", "scipy", "sklearn")


class _Finder:
    """What Python asks for a module before all others; it answers in `installed_only` alone."""

    def __init__(self) -> None:
        self.here = threading.local()  # other threads import what they like

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if path is not None or not getattr(self.here, "depth", 0):
            return None  # a part of a package is searched in the package
        others: list[Any] = [finder for finder in sys.meta_path if finder is not self]
        for finder in others if name not in UNREAD else ():
            folders = installed_folders() if finder is PathFinder else None
            spec = finder.find_spec(name, folders, target)
            if spec is not None:
                return spec
        raise ModuleNotFoundError(f"No module named {name!r} is installed", name=name)


FINDER = _Finder()


@contextmanager
def installed_only() -> Iterator[None]:
    """In this thread, find no module in the current folder, nor in one that is named from there."""
    if sys.meta_path[0] is not FINDER:  # a new list, because other threads may walk through the old
        sys.meta_path = [FINDER, *(finder for finder in sys.meta_path if finder is not FINDER)]
    here = FINDER.here
    here.depth = getattr(here, "depth", 0) + 1
    try:
        yield
    finally:
        here.depth -= 1


def installed_folders() -> list[str]:
    """The entries of ``sys.path`` that are whole paths of folders other than the current one."""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in PACKAGES]
    folders = {os.path.dirname(os.path.dirname(os.path.realpath(file))) for file in files if file}
    refused = {os.path.realpath(os.curdir)} - folders
    return [
        entry
        for entry in sys.path
        if isinstance(entry, str) and os.path.isabs(entry)
        if os.path.realpath(entry) not in refused
    ]


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
