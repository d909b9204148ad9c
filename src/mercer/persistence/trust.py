"""Which types a model file may name: those that are known to be safe, this library's own classes,
and the classes of other packages that the user names in ``trusted=``.

The module of such a class is imported because the user names it, never because a file does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from types import BuiltinFunctionType, FunctionType
from typing import Any

__all__ = [
    "JUDGED",
    "is_own_class",
    "may_be_trusted",
    "sorted_types",
    "trusted_names",
    "why_unloadable",
]

# skops does not know this one by itself; it is data: three arrays and a shape
ALSO_TRUSTED = {"scipy.sparse._csr.csr_array", "sklearn.metrics._scorer._PassthroughScorer"}
# of these, what is safe is on a list already; the rest (subprocess.Popen, functools.partial,
# scikit-learn's trees) is not, and no user has to know why
JUDGED = {"mercer", "numpy", "scipy", "sklearn", "skops", *sys.stdlib_module_names}
FUNCTIONS = (FunctionType, BuiltinFunctionType)


def sorted_types(content: bytes) -> tuple[list[str], list[str]]:
    """Names in a skops archive that skops does not trust: classes of this library, and others."""
    from skops.io import get_untrusted_types

    names = get_untrusted_types(data=content)
    own = [name for name in names if is_own_class(name)]
    return own, [name for name in names if name not in own]


def is_own_class(name: str) -> bool:
    """Whether a dotted name is a class defined in this library (not merely reachable from it)."""
    if name in ALSO_TRUSTED:
        return True
    module, _, attribute = name.rpartition(".")
    if module.split(".")[0] != "mercer":
        return False
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module


def may_be_trusted(name: str) -> bool:
    """Whether a name may be that of a class of another package; nothing is imported."""
    module = name.rpartition(".")[0]
    dotted = all(part.isidentifier() for part in name.split("."))
    return bool(module) and dotted and module.split(".")[0] not in JUDGED


def why_unloadable(name: str) -> str:
    """Why no user could load what stands in a model under this name; empty where one could."""
    module, _, attribute = name.rpartition(".")
    found = getattr(sys.modules.get(module), attribute, None)
    if attribute.startswith("<") or isinstance(found, FUNCTIONS):
        return "a function"
    if module.split(".")[0] in JUDGED:
        return "not one of the types that are known to be safe"
    return "" if _home(found) == name else "not defined at the top level of a module"


def _home(found: Any) -> str | None:
    """module.Name of a class that can be reached by it; None for everything else."""
    if not isinstance(found, type):
        return None
    module = sys.modules.get(found.__module__)
    reachable = getattr(module, found.__qualname__, None) is found
    return f"{found.__module__}.{found.__qualname__}" if reachable else None


def trusted_names(trusted: Any) -> list[str]:
    """The names that files have for the classes that the user trusts, which may be names too.

    Raises
    ------
    TypeError, ValueError
        As `mercer.load` does for its argument.
    """
    if isinstance(trusted, (str, bytes, type)) or not isinstance(trusted, Iterable):
        example = trusted if isinstance(trusted, str) else "their.module.Kernel"
        raise TypeError(
            f"trusted={trusted!r}: give a list of classes or of their names, such as "
            f"trusted=[{example!r}]."
        )
    return [_trusted_name(entry) for entry in trusted]


def _trusted_name(entry: Any) -> str:
    found = _imported(entry) if isinstance(entry, str) else entry
    if not isinstance(found, type):
        raise TypeError(
            f"trusted has {entry!r}, which is a {type(found).__name__}, not a class: give classes "
            'or their names, such as "their.module.Kernel". A file that needs a function cannot '
            "be loaded."
        )
    name = _home(found)
    if name is None:
        raise ValueError(
            f"trusted has {entry!r}, which is not defined at the top level of a module: files "
            "cannot hold its objects. Move the class there, and save the model again."
        )
    if not (may_be_trusted(name) or is_own_class(name)):
        raise ValueError(
            f"trusted has {entry!r}, which belongs to {name.split('.')[0]!r}: the types of that "
            "package that are safe to load are loaded without being named, and the others are "
            "never loaded. Give classes of other packages only."
        )
    return name


def _imported(name: str) -> Any:
    """What a dotted name that the user gave stands for."""
    module, _, attribute = name.rpartition(".")
    if not module or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(
            f"trusted has {name!r}: give the whole dotted name of a class, such as "
            '"their.module.Kernel".'
        )
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # importing runs their code, which may raise anything
        raise ValueError(
            f"trusted has {name!r}, which cannot be imported: {error}. Install the package that "
            "defines the class, or put its folder on sys.path; a class of a program that was run "
            "(__main__) has to be defined in this program too, or moved to a module."
        ) from error
