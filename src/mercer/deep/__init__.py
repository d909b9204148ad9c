"""Machines of several layers; their names are loaded on first use."""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec

_HOME = {
    "AttentionClassifier": "attention",
    "ConvolutionalDeepKernelMachine": "convolutional",
    "DeepKernelClassifier": "networks",
    "DeepKernelMachine": "deep_kernel_machine",
    "DeepKernelMachineClassifier": "deep_kernel_regressor",
    "DeepKernelMachineRegressor": "deep_kernel_regressor",
    "DeepKernelRegressor": "networks",
    "MultilayerKernelMachine": "multilayer",
    "NeuralKernelClassifier": "networks",
    "NeuralKernelRegressor": "networks",
    "UnsupervisedSum": "unsupervised_sum",
}

#: modules of torch; asking for one says what to install where torch is not there
_LAYERS = {
    "ArcCosineFeatures": "networks",
    "attention_weights": "attention",
    "FourierFeatures": "networks",
    "FunctionKernel": "attention",
    "kernel_attention": "attention",
    "KernelAttention": "attention",
    "NeuralKernelBlock": "networks",
    "NeuralKernelNetwork": "networks",
    "NystroemFeatures": "networks",
    "PooledScales": "networks",
    "PositiveFeatures": "attention",
}

__all__ = sorted([*_HOME, *(_LAYERS if _find_spec("torch") else ())])


def __getattr__(name):
    home = _HOME.get(name) or _LAYERS.get(name)
    if home is None:
        raise AttributeError(f"module 'mercer.deep' has no attribute {name!r}")
    value = getattr(_import_module(f"mercer.deep.{home}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
