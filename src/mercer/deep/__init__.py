"""Machines of several layers; their names are loaded on first use."""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec

from mercer.needs_torch import need_torch as _need_torch

_HOME = {
    "AttentionClassifier": "attention.attention_classifier",
    "ConvolutionalDeepKernelMachine": "convolutional",
    "DeepKernelClassifier": "networks.deep_kernel",
    "DeepKernelMachine": "deep_kernel_machine",
    "DeepKernelMachineClassifier": "deep_kernel_regressor",
    "DeepKernelMachineRegressor": "deep_kernel_regressor",
    "DeepKernelRegressor": "networks.deep_kernel",
    "MultilayerKernelMachine": "multilayer",
    "NeuralKernelClassifier": "networks.neural_kernel_classifier",
    "NeuralKernelRegressor": "networks.neural_kernel_classifier",
    "UnsupervisedSum": "unsupervised_sum",
}

#: what is made of torch; asking for one says what to install where torch is not there
_LAYERS = {
    "ArcCosineFeatures": "networks.feature_layers",
    "attention_weights": "attention.functional",
    "FourierFeatures": "networks.feature_layers",
    "FunctionKernel": "attention.kernels",
    "kernel_attention": "attention.functional",
    "KernelAttention": "attention.token_network",
    "NeuralKernelBlock": "networks.blocks",
    "NeuralKernelNetwork": "networks.blocks",
    "NystroemFeatures": "networks.feature_layers",
    "PooledScales": "networks.blocks",
    "PositiveFeatures": "attention.functional",
}

__all__ = sorted([*_HOME, *(_LAYERS if _find_spec("torch") else ())])


def __getattr__(name):
    home = _HOME.get(name) or _LAYERS.get(name)
    if home is None:
        raise AttributeError(f"module 'mercer.deep' has no attribute {name!r}")
    if name in _LAYERS:
        _need_torch(f"mercer.deep.{name}")
    value = getattr(_import_module(f"mercer.deep.{home}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
