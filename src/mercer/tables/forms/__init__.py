"""Forms of cells: how numbers, dates and times are written, and which form a column has.

grammar.py decides for a column; spelled.py, numbers.py, dates.py, clocks.py, levels.py and marks.py
are the tables; whole.py is that of the forms which polars reads in a whole column.
"""

from mercer.tables.forms.clocks import clock_hours
from mercer.tables.forms.dates import (
    ORDERS,
    SAID,
    is_one_zone,
    order_of,
    order_of_steps,
    spelled_date,
    utc,
    zones_of,
)
from mercer.tables.forms.grammar import (
    Doubt,
    Hints,
    Read,
    families_of,
    form_of,
    misfits,
    said_of_misfits,
    simple_numbers,
    some_of,
)
from mercer.tables.forms.levels import ORDERED, order_in, words_in_order
from mercer.tables.forms.marks import LEVELS, MISSING_TEXTS, is_missing_mark
from mercer.tables.forms.numbers import (
    UNITS,
    Numbers,
    degrees_in,
    numbers_of,
    unit_of,
    units_in,
)
from mercer.tables.forms.spelled import (
    COMMA_NUMBER,
    POINT_NUMBER,
    decimal_of,
    signs_of,
    spelled_number,
)
from mercer.tables.forms.whole import GROUPED, WHOLE, ZONE

__all__ = [
    "COMMA_NUMBER", "GROUPED", "LEVELS", "MISSING_TEXTS", "ORDERED", "ORDERS", "POINT_NUMBER",
    "SAID", "UNITS", "WHOLE", "ZONE", "Doubt", "Hints", "Numbers", "Read", "clock_hours",
    "decimal_of", "degrees_in", "families_of", "form_of", "is_missing_mark", "is_one_zone",
    "misfits", "numbers_of", "order_in", "order_of", "order_of_steps", "said_of_misfits",
    "signs_of", "simple_numbers", "some_of", "spelled_date", "spelled_number", "unit_of",
    "units_in", "utc", "words_in_order", "zones_of",
]  # fmt: skip
