"""Examples that need an extra are left out where it is not installed; tests say so themselves."""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
PAGES = {  # which pytest is given by name, and the module that each needs
    "docs/attention.rst": "torch",
    "docs/convolution.rst": "torch",
    "docs/networks.rst": "torch",
    "docs/book/networks.rst": "torch",
    "docs/kinds/molecules.rst": "rdkit",
    "docs/coming_from/faiss.rst": "faiss",
    "docs/coming_from/gpytorch.rst": "gpytorch",
    "docs/coming_from/mklpy.rst": "MKLpy",
    "docs/coming_from/series.rst": "tslearn",
}
MODULES = [
    "src/mercer/deep/attention/attention_classifier.py",
    "src/mercer/deep/attention/functional.py",
    "src/mercer/deep/attention/kernels.py",
    "src/mercer/deep/attention/token_network.py",
    "src/mercer/deep/attention/tiles.py",
    "src/mercer/deep/convolution_network.py",
    "src/mercer/deep/convolutional.py",
    "src/mercer/deep/networks/blocks.py",
    "src/mercer/deep/networks/deep_kernel.py",
    "src/mercer/deep/networks/feature_layers.py",
    "src/mercer/deep/networks/neural_kernel_classifier.py",
    "src/mercer/deep/networks/process.py",
    "src/mercer/deep/networks/training.py",
    "src/mercer/deep/torch_layers.py",
    "src/mercer/gram/on_torch",
    "tests/plug_ins/their_package/device.py",
]

assert all((ROOT / each).exists() for each in MODULES)
collect_ignore = [] if find_spec("torch") else MODULES
if not find_spec("rdkit"):
    collect_ignore += ["src/mercer/kernels/molecules.py", "src/mercer/dedup/signing.py"]
if not find_spec("soundfile"):
    collect_ignore += ["src/mercer/speech/audio.py"]
if not find_spec("pystoi"):
    collect_ignore += ["src/mercer/speech/measures.py"]
if not find_spec("onnx"):
    collect_ignore += ["src/mercer/learners/onnx_graphs.py"]
if not find_spec("dask"):
    collect_ignore += ["docs/cluster.rst", "tests/cluster"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    left_out = {ROOT / page: name for page, name in PAGES.items() if not find_spec(name)}
    for item in items:
        if item.path in left_out:
            item.add_marker(pytest.mark.skip(reason=f"{left_out[item.path]} is not installed"))
