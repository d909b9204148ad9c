"""Examples that need an extra are left out where it is not installed; tests say so themselves."""

from importlib.util import find_spec

NEED_TORCH = [
    "docs/convolution.rst",
    "src/mercer/deep/convolution.py",
    "src/mercer/deep/convolution_network.py",
    "src/mercer/deep/convolutional.py",
    "src/mercer/deep/torch_device.py",
    "src/mercer/deep/torch_layers.py",
]

collect_ignore = [] if find_spec("torch") else NEED_TORCH
