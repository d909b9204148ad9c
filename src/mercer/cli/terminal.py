"""The terminal: what comes from data or the command line is printed as it is, and controls nothing.

Left to itself, rich reads ``[red]`` in a file name as markup and ``:smile:`` as an emoji, and lets
escape sequences through.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from mercer.visible import visible


class Terminal(Console):
    """Standard output, or standard error, where strings have no markup and do no harm.

    Styles are given by `line`. If nobody reads the output any more, as after ``| head``, nothing is
    printed, and the work goes on.
    """

    def __init__(self, *, stderr: bool = False, quiet: bool = False):
        super().__init__(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every string that is printed, also those in tables, comes along here."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """Rich would end the process here."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def line(*parts: str | tuple[str, str]) -> Text:
    """A line of texts, some with a style: ``line("Winner: ", (name, "bold"))``."""
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    return Text.assemble(*((visible(text), style) for text, style in pairs))
