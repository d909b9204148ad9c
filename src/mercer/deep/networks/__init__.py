"""Networks whose layers are explicit features of kernels; their names are loaded on first use."""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec

from mercer.needs_torch import need_torch as _need_torch

_HOME = {
    "DeepKernelClassifier": "deep_kernel",
    "DeepKernelRegressor": "deep_kernel",
    "NeuralKernelClassifier": "neural_kernel_classifier",
    "NeuralKernelRegressor": "neural_kernel_classifier",
}

#: modules of torch
_LAYERS = {
    "ArcCosineFeatures": "feature_layers",
    "FourierFeatures": "feature_layers",
    "NeuralKernelBlock": "blocks",
    "NeuralKernelNetwork": "blocks",
    "NystroemFeatures": "feature_layers",
    "PooledScales": "blocks",
}

__all__ = sorted([*_HOME, *(_LAYERS if _find_spec("torch") else ())])


def __getattr__(name):
    home = _HOME.get(name) or _LAYERS.get(name)
    if home is None:
        raise AttributeError(f"module 'mercer.deep.networks' has no attribute {name!r}")
    if name in _LAYERS:
        _need_torch(f"mercer.deep.{name}")
    value = getattr(_import_module(f"mercer.deep.networks.{home}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
