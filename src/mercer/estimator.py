"""Estimators whose fields are their parameters, and the documentation of those that many share."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, dataclass_transform

import numpy as np

#: what draws random numbers: a seed, a generator, or None for another one each time
Seed: TypeAlias = int | np.random.RandomState | None

#: What a parameter means wherever a class and its parents do not say it; the default is added.
SHARED = """
kernel : kernel object, name, "precomputed" or callable
    A kernel object of `mercer.kernels` compares samples of any kind. A callable takes two arrays
    of samples, and returns the matrix of their values.
gamma : float > 0, "scale", "auto", "median" or None
    Factor of a named kernel, as in `mercer.kernels.RBF`; None means 1 / n_features. Beside a kernel
    object, gamma, degree and coef0 raise an error.
degree : float
    Degree of the polynomial kernel.
coef0 : float
    Constant of the polynomial and sigmoid kernels.
kernel_params : dict, optional
    Further arguments of a callable kernel.
fit_intercept : bool
    Add a constant to f that is not penalised.
p : float >= 0
    The power of "minkowski": 1 is "manhattan", 2 "euclidean".
class_weight : dict or "balanced", optional
    Weight of each class, a factor of its rows' weights. "balanced" gives all classes the same total
    weight.
rank : int, optional
    Centres of "low_rank"; None means 1000, or fewer if ``memory`` is too small.
memory : int, str or None
    Budget in bytes or as "4GB"; None means half of what is free.
n_jobs : int or None
    Threads; None means all cores.
device : str or None
    Where Gram matrices are computed. None and "cpu" mean Mercer's own code; "cuda", "cuda:1" or
    "cpu:torch" compute kernels that have a formula by torch, and refuse others.
random_state : int, RandomState or None
    Seed for choosing the centres.
"""

_NEXT_HEADING = re.compile(r"^(?=[^\n]+\n-{3,}$)", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)

_C = TypeVar("_C", bound=type)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def estimator(cls: _C) -> _C:
    """Class decorator: the annotated fields of the class are its parameters, which it stores.

    The constructor is a dataclass's, and `documented` completes the docstring. As in every
    estimator of scikit-learn, nothing is checked before a fit. An abstract class that is decorated
    too hands its parameters on to its subclasses, whose own parameters come first.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> @estimator
    ... class Mean(BaseEstimator):
    ...     '''The mean.
    ...
    ...     Parameters
    ...     ----------
    ...     trimmed : float
    ...         Part of the rows that is left out.
    ...     '''
    ...     trimmed: float = 0.1
    ...     n_jobs: int | None = None
    >>> Mean(trimmed=0.2)
    Mean(trimmed=0.2)
    >>> print(Mean.__doc__)
    The mean.
    <BLANKLINE>
    Parameters
    ----------
    trimmed : float
        Part of the rows that is left out.
    n_jobs : int or None
        Threads; None means all cores.
    """
    made = dataclass(eq=False, repr=False)(cls)
    made.__init__.__annotations__ = {}  # help shows names and defaults; types are in the docstring
    made.__init__.__signature__ = _own_first(made)
    return documented(made)


def _own_first(cls: type) -> inspect.Signature:
    """The signature of the constructor, with a class's own keywords before those of its parents."""
    names = [name for parent in cls.__mro__ for name in inspect.get_annotations(parent)]

    def place(parameter: inspect.Parameter) -> tuple[int, int]:
        keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        return parameter.kind, names.index(parameter.name) if keyword else 0

    signature = inspect.signature(cls.__init__)
    return signature.replace(parameters=sorted(signature.parameters.values(), key=place))


def documented(cls: _C) -> _C:
    """Class decorator: complete the sections "Parameters" and "Attributes".

    A parameter that the docstring leaves out is documented as in the nearest parent that
    documents it, else as in `SHARED`, in the order of the signature. The section may be absent
    before other sections; a class without any stays as it is, as do all classes in Python's mode
    ``-OO``, which has no docstrings. Attributes of the parents that the docstring
    leaves out stand after its own.
    """
    before, own, after = parameter_sections(cls)
    if own is None:
        return cls
    parameters = inspect.signature(cls).parameters
    parents = [parameter_sections(parent)[1] or {} for parent in reversed(cls.__mro__[1:])]
    told = {name: text for shared in (_entries(SHARED), *parents) for name, text in shared.items()}
    wrong = (own.keys() - parameters.keys()) | (parameters.keys() - told.keys() - own.keys())
    if wrong:
        raise TypeError(f"{cls.__name__}: no parameter, or not documented: {', '.join(wrong)}.")
    entries = [
        own.get(name) or _with_default(told[name], parameter.default)
        for name, parameter in parameters.items()
    ]
    after = _with_attributes(cls, after)
    cls.__doc__ = (before + "".join(dict.fromkeys(entries)) + after).rstrip()
    return cls


def _with_attributes(cls: type, text: str) -> str:
    """What follows the parameters of a class, with the attributes of its parents."""
    before, own, after = _section(text, "Attributes")
    told: dict[str, str] = {}
    for parent in cls.__mro__[1:]:
        doc = inspect.cleandoc(parent.__dict__.get("__doc__") or "")
        found = _section(doc, "Attributes")[1] or {}
        told |= {name: entry for name, entry in found.items() if name not in told}
    if own is None:
        if not told:
            return text
        before, own, after = "\nAttributes\n----------\n", {}, text
    parts = list(dict.fromkeys(own.values()))
    for entry in dict.fromkeys(told.values()):
        names, colon, rest = entry.partition(" : ")  # without those that the class documents
        kept = [each for each in names.split(", ") if each not in own and told[each] == entry]
        parts += [", ".join(kept) + colon + rest] * bool(kept)
    return before + "".join(parts) + after


def parameter_sections(cls: type) -> tuple[str, dict[str, str] | None, str]:
    """A docstring up to its parameters, the entry of each parameter (None without such a section),
    and the rest of it."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    found = _section(text, "Parameters")
    if found[1] is None:  # a class with other sections documents no parameters of its own
        parts = _NEXT_HEADING.split(text, maxsplit=1)
        found = _section("Parameters\n----------\n\n".join(parts), "Parameters")
    return found


def _section(text: str, title: str) -> tuple[str, dict[str, str] | None, str]:
    """A text up to the entries of a section, these (None without it), and the rest of the text."""
    before, *found = re.split(rf"^({title}\n-{{3,}}\n)", text, maxsplit=1, flags=re.MULTILINE)
    if not found:
        return text, None, ""
    heading, rest = found
    section, *after = _NEXT_HEADING.split(rest, maxsplit=1)
    return before + heading, _entries(section), "\n".join(["", *after])


def _entries(section: str) -> dict[str, str]:
    """The entry of each name; one that documents several names stands at each of them."""
    entries = {}
    for entry in _ENTRY.split(section.strip() + "\n"):
        names = entry.partition("\n")[0].partition(" : ")[0]
        entries |= dict.fromkeys(names.split(", "), entry)
    entries.pop("", None)
    return entries


def _with_default(entry: str, default: object) -> str:
    """The entry with this default in its first line, unless that is None."""
    head, _, rest = entry.partition("\n")
    head = head.partition(", default=")[0]
    if default is not None and default is not inspect.Parameter.empty:
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        head += f", default={shown}"
    return f"{head}\n{rest}"
