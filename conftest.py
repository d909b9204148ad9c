"""Examples that need an extra are left out where it is not installed; tests say so themselves."""

from importlib.util import find_spec
from pathlib import Path

import pytest

PAGES = [  # which pytest is given by name
    Path(__file__).parent / "docs" / page
    for page in ("attention.rst", "convolution.rst", "networks.rst", "book/networks.rst")
]
MODULES = [
    "src/mercer/deep/attention/attention_classifier.py",
    "src/mercer/deep/attention/features.py",
    "src/mercer/deep/attention/functional.py",
    "src/mercer/deep/attention/kernels.py",
    "src/mercer/deep/attention/multi_head.py",
    "src/mercer/deep/attention/tiles.py",
    "src/mercer/deep/attention/token_network.py",
    "src/mercer/deep/convolution.py",
    "src/mercer/deep/convolution_network.py",
    "src/mercer/deep/convolutional.py",
    "src/mercer/deep/networks/blocks.py",
    "src/mercer/deep/networks/deep_kernel_classifier.py",
    "src/mercer/deep/networks/deep_kernel_regressor.py",
    "src/mercer/deep/networks/feature_layers.py",
    "src/mercer/deep/networks/joint.py",
    "src/mercer/deep/networks/losses.py",
    "src/mercer/deep/networks/neural_kernel_classifier.py",
    "src/mercer/deep/networks/neural_kernel_regressor.py",
    "src/mercer/deep/networks/process.py",
    "src/mercer/deep/networks/torch_side.py",
    "src/mercer/deep/networks/training.py",
    "src/mercer/deep/torch_layers.py",
    "src/mercer/gram/on_torch",
    "tests/plug_ins/their_package/device.py",
]

collect_ignore = [] if find_spec("torch") else MODULES
if not find_spec("dask"):
    collect_ignore += ["docs/cluster.rst", "tests/cluster"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not find_spec("torch"):
        for item in items:
            if item.path in PAGES:
                item.add_marker(pytest.mark.skip(reason="torch is not installed"))
