"""Forms of cells: how numbers, dates and times are written, and which form a column has.

grammar.py decides for a column, and has the table of the forms which polars reads in a whole
column; spelled.py, numbers.py, dates.py, clocks.py and levels.py are the other tables.
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
    GROUPED,
    WHOLE,
    ZONE,
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
from mercer.tables.forms.numbers import (
    UNITS,
    NumberColumn,
    degrees_in,
    numbers_of,
    unit_of,
    units_in,
)
from mercer.tables.forms.spelled import (
    COMMA_NUMBER,
    LEVELS,
    MISSING_TEXTS,
    POINT_NUMBER,
    decimal_of,
    is_missing_mark,
    signs_of,
    spelled_number,
)

__all__ = [
    "COMMA_NUMBER", "GROUPED", "LEVELS", "MISSING_TEXTS", "ORDERED", "ORDERS", "POINT_NUMBER",
    "SAID", "UNITS", "WHOLE", "ZONE", "Doubt", "Hints", "NumberColumn", "Read", "clock_hours",
    "decimal_of", "degrees_in", "families_of", "form_of", "is_missing_mark", "is_one_zone",
    "misfits", "numbers_of", "order_in", "order_of", "order_of_steps", "said_of_misfits",
    "signs_of", "simple_numbers", "some_of", "spelled_date", "spelled_number", "unit_of",
    "units_in", "utc", "words_in_order", "zones_of",
]  # fmt: skip
