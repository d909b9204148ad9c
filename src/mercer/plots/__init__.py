"""Display classes, which draw computed arrays with matplotlib, and the report.

Each is imported on first use, so that a report imports only the displays that it shows.
"""

from typing import Any

from mercer.plots import displays

__all__ = [name for name in displays.__all__ if name.endswith("Display")]
__all__ += ["half_axes", "save_report"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "save_report":
        from mercer.plots.report import save_report

        return save_report
    return getattr(displays, name)
