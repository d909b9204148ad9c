"""What needs an extra is left out where it is not installed, and long pages to the full lane.

Tests say both themselves.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).parent / "docs"
PAGES = [DOCS / "convolution.rst"]  # which pytest is given by name
LONG = [DOCS / f"{name}.rst" for name in ("automatic", "deployment", "multilayer", "ridge")]
MODULES = [
    "src/mercer/deep/convolution.py",
    "src/mercer/deep/convolution_network.py",
    "src/mercer/deep/convolutional.py",
    "src/mercer/deep/torch_device.py",
    "src/mercer/deep/torch_layers.py",
]

collect_ignore = [] if find_spec("torch") else MODULES


@pytest.hookimpl(tryfirst=True)  # before those of the other lane are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path in PAGES and not find_spec("torch"):
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))
        if item.path in LONG:
            item.add_marker(pytest.mark.full)
