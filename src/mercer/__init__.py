"""Mercer: learning from similarity. Any data, any kernel, any learner, any size.

The public names are loaded on first use, so that ``import mercer`` costs almost nothing.
"""

from importlib import import_module as _import_module
from pathlib import Path as _Path

__version__ = "0.1.0"

_import_module("mercer._native")  # an ImportError at once where it cannot work: it takes 2 ms


def _homes() -> dict[str, str]:
    """The module of each name, as `__init__.pyi` says it, which type checkers read as well."""
    homes, home = {}, ""
    for line in _Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines():
        if line.startswith("from "):
            _, home, _, line = line.split(" ", 3)
        names = line.strip(" (),").split(", ") if home else []
        homes |= {name.split(" as ")[0]: home for name in names if " as " in name}
    return homes


_HOME = _homes()

# `mercer.testing` needs pytest, which a plain installation lacks
__all__ = sorted(name for name in _HOME if name != "testing")


def __getattr__(name):
    if name not in _HOME:
        return _import_module("mercer.renamed").old_name("mercer", name)
    home = _HOME[name]
    value = _import_module(f"mercer.{name}" if home == "mercer" else home)
    value = value if home == "mercer" else getattr(value, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME])
