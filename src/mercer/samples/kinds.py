"""Which kinds of samples there are: those of this library, and those that users register."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mercer.samples.kind import Kind
from mercer.samples.raw_data import describe

#: name -> kind, the latest last
_KINDS: dict[str, Kind] = {}
#: type of encoded samples -> its kind
_ENCODED: dict[type, Kind] = {}


def register_kind(kind: Kind) -> Callable[[], None]:
    """Make a kind of sample known everywhere: to comparisons, learners, tables and reports.

    Parameters
    ----------
    kind : Kind

    Returns
    -------
    remove : callable
        A function without arguments, which makes the kind unknown again.

    Raises
    ------
    ValueError
        Another kind has this name, or this type of encoded samples, or this name of columns.

    Examples
    --------
    >>> from mercer.samples import as_samples
    >>> class Tunes(Kind):
    ...     name, looks, encoded = "tunes", "a list of tunes", ()
    ...     def encode(self, X, like, reader):
    ...         return as_samples(X, "objects")
    >>> remove = register_kind(Tunes())
    >>> kind_named("tunes")
    Tunes()
    >>> remove()
    """
    if not isinstance(kind, Kind):
        raise TypeError(f"kind={kind!r}: give an object of a class that is derived from Kind.")
    taken = [each.name for each in _KINDS.values() if each.column and each.column == kind.column]
    taken += [_ENCODED[each].name for each in kind.encoded if each in _ENCODED]
    taken += [kind.name] if kind.name in _KINDS else []
    if taken:
        raise ValueError(
            f"kind={kind!r}: the kind {taken[0]!r} has the same name, the same name of columns or "
            "the same type of encoded samples. Give others, or remove that kind first."
        )
    _KINDS[kind.name] = kind
    _ENCODED.update(dict.fromkeys(kind.encoded, kind))
    return partial(_remove, kind)


def _remove(kind: Kind) -> None:
    if _KINDS.get(kind.name) is kind:
        del _KINDS[kind.name]
        for each in kind.encoded:
            del _ENCODED[each]


def all_kinds() -> list[Kind]:
    """All kinds of samples, the latest first."""
    return list(reversed(_KINDS.values()))


def kind_named(name: str) -> Kind:
    """The kind of sample with this name.

    Raises
    ------
    TypeError
        There is none.

    Examples
    --------
    >>> kind_named("strings").looks
    'a list or column of strings (str, bytes, or lists of tokens)'
    """
    if name not in _KINDS:
        raise TypeError(
            f"there is no kind of sample {name!r}: give one of {sorted(_KINDS)}, or import the "
            "module that registers it (mercer.samples.register_kind)."
        )
    return _KINDS[name]


def kind_of(samples: Any) -> Kind | None:
    """The kind of encoded samples; None for everything else.

    Examples
    --------
    >>> from mercer.samples import as_samples
    >>> kind_of(as_samples(["a", "b"], "strings")).name, kind_of(["a", "b"])
    ('strings', None)
    """
    found = _ENCODED.get(type(samples))
    if found is None:
        bases = (_ENCODED[base] for base in type(samples).__mro__ if base in _ENCODED)
        found = next(bases, None)
    return found


def kind_that_holds(item: Any) -> Kind | None:
    """The kind that a Python object is a sample of, asking the latest kinds first; or None.

    Examples
    --------
    >>> kind_that_holds("anna").name, kind_that_holds({"tea"}).name, kind_that_holds(1.5)
    ('strings', 'sets', None)
    """
    return next((kind for kind in all_kinds() if kind.holds(item)), None)


def kind_in_cells(cells: list) -> Kind | None:
    """The registered kind that all cells of a column are samples of; None if there is none.

    Texts and sets are not looked for: what they are, more than their type has to tell.
    """
    registered = (kind for kind in all_kinds() if kind.column and not kind.judged)
    return next((kind for kind in registered if cells and all(map(kind.holds, cells))), None)


def joined(X: Any, more: Any) -> Any:
    """The rows of X, then those of ``more``, which were encoded like X; in the precision of X.

    Examples
    --------
    >>> from mercer.samples import as_samples
    >>> X = as_samples(["ab", "c"], "strings")
    >>> joined(X, as_samples(["cd"], "strings", like=X)).values
    array([0, 1, 2, 2, 3], dtype=uint8)
    """
    kind = kind_of(X)
    if kind is None:
        raise TypeError(f"X is {describe(X)}, and not encoded: encode the samples first.")
    return kind.joined(X, more)
