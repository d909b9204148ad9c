"""The forms of cells in the documentation, from the tables by which Mercer reads them."""

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from mercer.tables.forms import clocks, dates, levels, numbers, spelled


def rows_of(table: str) -> list[tuple[str, str]]:
    """What cells of a table look like, and what they are read as."""
    if table == "dates":
        return [(form.cell, form.date.replace("T00:00:00", "").replace("T", " ") + (
            ", with --kind alone" if form.asked else "")) for form in dates.FORMS]  # fmt: skip
    if table == "times":
        return [(form.cell, f"{form.value:g} hours") for form in clocks.CLOCKS]
    if table == "lengths":
        return [(form.cell, f"{form.value:g} seconds") for form in clocks.SPANS]
    if table == "units":
        return [(", ".join(family), f"in {next(u for u in family if family[u] == 1)}")
                for family in numbers.FAMILIES]  # fmt: skip
    if table == "amounts":
        return [(word, f"{size:,.0f}") for word, size in numbers.MULTIPLES.items()]
    if table == "levels":
        return [(form.cell, form.said) for form in levels.ORDERED.values()]
    return [(", ".join(sorted(spelled.MISSING_TEXTS - {""})), "a missing number or date")]


class CellForms(Directive):
    """A list of cells, each with what it is read as."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        found = nodes.bullet_list()
        for cell, value in rows_of(self.arguments[0]):
            said = nodes.paragraph("", "", nodes.literal(cell, cell), nodes.Text(f": {value}"))
            found += nodes.list_item("", said)
        return [found]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("cell-forms", CellForms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
