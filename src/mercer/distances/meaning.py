"""What a kernel or a distance says about itself, for readers who know neither."""

from __future__ import annotations

import inspect
from dataclasses import dataclass


@dataclass(frozen=True)
class Meaning:
    """A kernel or a distance in mathematics and in words, as reports show it.

    Braces hold the name of an attribute: ``{degree}`` stands for its number, ``{kernel}`` for the
    mathematics, or the words, of the kernel that it holds.

    Parameters
    ----------
    formula : str
        The value for samples x and z, in Unicode mathematics.
    words : str
        What it is in plain words; the sentence begins with "Similarity is" or "Distance is".
    alone : str, default=""
        The formula for a single column. "" means that it is the same as for many.

    Examples
    --------
    >>> Meaning("exp(−γ |x − z|)", "1 for equal numbers, falling with their difference").formula
    'exp(−γ |x − z|)'
    """

    formula: str
    words: str
    alone: str = ""

    @classmethod
    def of_class(cls, of: type) -> Meaning:
        """What the name of a class and the first line of its docstring tell."""
        first = inspect.cleandoc(of.__doc__ or "").split("\n\n")[0]
        told = " ".join(first.replace(":math:", "").replace("`", "").split()).rstrip(".")
        words = f"what {of.__name__} computes"
        return cls(f"{of.__name__}(x, z)", f"{words}: {told}" if told else words)
