"""`Kind`: all facts about a kind of sample, in one object for each kind; and which kinds there are:
those of this library, and those that users register."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.samples.protocol import Samples, SamplesLike
from mercer.samples.ragged import Ragged, joined_rows
from mercer.samples.raw_data import as_objects, describe, describe_entry, first_known

if TYPE_CHECKING:
    from sklearn.utils import InputTags

#: scikit-learn's tags where each sample is one object
OBJECTS = {"two_d_array": False, "sparse": False}
#: name -> kind, the latest last
_KINDS: dict[str, Kind] = {}
#: type of encoded samples -> its kind
_ENCODED: dict[type, Kind] = {}


@dataclass(frozen=True)
class Drawing:
    """Nodes at places of a plane, with edges and labels.

    Attributes
    ----------
    places : ndarray of shape (n, 2)
        x to the right and y upwards. One unit is about the length of an edge, or where labels are
        ``written`` the width of a letter.
    edges : ndarray of shape (m, 2), int
    labels : list of str
        One for each node, or none at all.
    said : str
        The sample in words; without places the reason is among them.
    written : bool
        Whether labels stand at the nodes. Otherwise colours tell them.
    directed : bool
        Whether edges lead from their first node to the second one.
    """

    places: np.ndarray
    edges: np.ndarray
    labels: list[str]
    said: str
    written: bool = False
    directed: bool = False

    @classmethod
    def none(cls, said: str) -> Drawing:
        """The words alone, for a sample that is too large for a picture."""
        return cls(np.empty((0, 2)), np.empty((0, 2), np.int64), [], said)


class Kind(ABC):
    """Abstract: a kind of sample, and all that learners, tables and reports ask about it.

    A subclass defines `name`, `looks`, `encoded` and `encode`. `register_kind` makes it known; then
    every comparison (a distance or a kernel) that says ``kind = name`` gets samples of this kind.
    If each sample is one Python object, `holds` recognises it, in a list or in a column of a table.

    Attributes
    ----------
    name : str
        What comparisons write as their ``kind``: "strings", "graphs" ...
    looks : str
        What raw data of this kind look like, for error messages.
    encoded : tuple of types
        The types of encoded samples, each of which is of this kind alone.
    coordinates : bool
        Whether samples are points with coordinates, which can be scaled and rounded.
    pairwise : bool
        Whether samples are rows of a matrix that the user gives, of values between all pairs.
    of_columns : bool
        Whether samples are groups of columns of a table, each encoded by what reads it.
    coded : bool
        Whether encoded samples hold codes, whose precision is set by their method ``astype``.
    learns : bool
        Whether new samples are encoded by what the training samples have, such as their symbols.
    discrete : bool
        Whether samples consist of symbols that are equal or not, such as strings do.
    counted : bool
        Whether scikit-learn counts and names the columns of raw data.
    column : str
        What a table calls a column of such samples, one in each cell: "text", "graph"; empty if
        there are no such columns.
    judged : bool
        Whether it takes more than `holds` to tell a column of such samples: texts may be levels.
    empty : object
        The sample that a missing cell of a column counts as. None: missing cells are refused.
    distance : str or callable or None
        What makes the default distance: a class, or where it is found, "package.module:Class".
    kernels : tuple of str or callables
        What makes kernels that suit a column of such samples, the best first. k(x, x) should be 1.
    pictured : bool
        Whether reports show single samples by `picture`.
    size_of : str
        What `size` counts, in the plural: "characters".
    tags : dict
        scikit-learn's tags of an estimator that reads such samples, as far as they are not usual.
    forms : tuple of callables
        What reads data of other libraries: ``form(X)`` is the samples in a form that `rows` reads,
        or None if X has another form. ``kind_named("series").forms += (form,)`` adds one.

    Examples
    --------
    >>> from mercer.samples import kind_named
    >>> kind = kind_named("strings")
    >>> kind.holds("GATTACA"), kind.size("GATTACA"), kind.size_of
    (True, 7.0, 'characters')
    """

    name: ClassVar[str]
    looks: ClassVar[str]
    encoded: ClassVar[tuple[type, ...]]
    coordinates: ClassVar[bool] = False
    pairwise: ClassVar[bool] = False
    of_columns: ClassVar[bool] = False
    coded: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    discrete: ClassVar[bool] = False
    counted: ClassVar[bool] = False
    column: ClassVar[str] = ""
    judged: ClassVar[bool] = False
    empty: ClassVar[Any] = None
    distance: ClassVar[Any] = None
    kernels: ClassVar[tuple[Any, ...]] = ()
    pictured: ClassVar[bool] = False
    size_of: ClassVar[str] = ""
    tags: ClassVar[Mapping[str, bool]] = OBJECTS
    forms: tuple[Callable[[Any], Any], ...] = ()

    @abstractmethod
    def encode(self, X: SamplesLike, like: Any, reader: str) -> Any:
        """Encode raw data as samples: an object with ``shape``, ``dtype`` and rows (`Samples`).

        ``like`` are the encoded training samples, whose codes are used again, or None. ``reader``
        is the name of what compares the samples, for error messages.
        """

    def rows(self, X: Samples, reader: str) -> Any:
        """Raw data in the plainest form of this kind, which `mercer.samples.read` returns.

        The default is a list of the objects in X, each of which must be a sample.

        Raises
        ------
        TypeError, ValueError
            X is no list or column, or is empty, or has another object, which the message names.
        """
        rows = as_objects(X, self.name, reader)
        for i, row in enumerate(rows):
            if not self.holds(row):
                raise TypeError(
                    f"X[{i}] is {describe_entry(row)}, but {reader} compares {self.name}: give "
                    f"{self.looks}."
                )
        return rows

    def recognise(self, X: SamplesLike, items: list | None) -> list | None:
        """The samples of X if they are of this kind and no kind was given; else None.

        ``items`` are the objects in a list, an array or a column; None where X has none. The
        default looks whether the first known one is a sample.
        """
        return items if items is not None and self.holds(first_known(items)) else None

    def form_of(self, X: SamplesLike) -> Any:
        """X as one of `forms` reads it; None if none does."""
        return next((found for form in self.forms if (found := form(X)) is not None), None)

    def check_columns(self, X: SamplesLike, columns: Sequence, reader: str) -> None:
        """Raise an error if these columns of a table cannot be encoded, and name the columns."""
        return

    def is_encoded(self, X: SamplesLike) -> bool:
        """Whether X are encoded samples, which need not be encoded again."""
        return isinstance(X, self.encoded)

    def joined(self, X: Samples, more: Samples) -> Any:
        """The rows of encoded samples X, then those of ``more``, which were encoded like X.

        The default joins `Ragged` rows, and refuses others.
        """
        if isinstance(X, Ragged):
            return joined_rows(X, more)
        raise TypeError(
            f"{type(X).__name__} cannot be given more rows: fit again with all rows together."
        )

    def tag(self, tags: InputTags) -> None:
        """Set scikit-learn's tags of an estimator that reads such samples."""
        for name, value in self.tags.items():
            setattr(tags, name, value)

    # --- one sample that is a Python object -------------------------------------------------------

    def holds(self, item: object) -> bool:
        """Whether a Python object is one sample of this kind."""
        return False

    def size(self, item: Any) -> float:
        """How large a sample is, as a report shows it; see `size_of`."""
        return float(len(item))

    def fault(self, item: object) -> str | None:
        """Why a cell that looks like a sample is none; None if it is one."""
        return None

    def text(self, item: object) -> str:
        """A sample in words, as a report shows it."""
        return str(item)

    def drawing(self, item: object) -> Drawing | None:
        """A sample as nodes and edges, or None if it is nothing of the sort."""
        return None

    def picture(self, item: object, weights: Iterable[float] | None = None) -> str | None:
        """A sample as a picture in SVG, or None; ``weights`` colour its parts."""
        return None

    def curves(self, item: Any) -> np.ndarray | None:
        """A sample as values over time (T, d), or None if it is nothing of the sort."""
        return None

    def without_each_node(self, item: object) -> list | None:
        """A sample without its first node, without its second one, and so on; or None if its nodes
        cannot be left out one by one."""
        return None

    # --- what suits it ----------------------------------------------------------------------------

    def make_distance(self) -> Any:
        """The default distance, or None."""
        return None if self.distance is None else named(self.distance)()

    def make_kernels(self) -> list:
        """Kernels that suit such samples, the best first."""
        return [named(kernel)() for kernel in self.kernels]

    def remedy(self) -> str:
        """Advice for a user who gave such samples where vectors were needed."""
        suiting = [f"kernel={kernel!r}" for kernel in self.make_kernels()]
        suiting += [f"metric={self.make_distance()!r}"] if self.distance is not None else []
        such = f", such as {' or '.join(suiting)}" if suiting else ""
        return f"Give a kernel or a distance on {self.name}{such}."

    def ready(self, samples: Samples) -> None:
        """Compute what kernels read of encoded samples, once, before a search measures the time
        that each takes. The default does nothing."""
        return

    def counter(self, samples: Samples) -> Any:
        """A simple baseline for encoded training samples: an object whose ``features(samples)`` is
        a matrix of counts, one column for each part that samples may have. None: there is none."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def named(made_by: str | Callable) -> Callable:
    """The maker of a distance or a kernel, by name: rooms above this one are never imported."""
    if callable(made_by):
        return made_by
    module, _, name = made_by.partition(":")
    return getattr(import_module(module), name)


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

    Parameters
    ----------
    name : str
        The field ``name`` of a `Kind`, such as "strings", "sets", "series" or "graphs".

    Raises
    ------
    TypeError
        No kind has this name; the message lists all names.

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


def kind_that_holds(item: object) -> Kind | None:
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


def joined(X: Samples, more: Samples) -> Any:
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
