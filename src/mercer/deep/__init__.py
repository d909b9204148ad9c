"""Machines of several layers; their names are loaded on first use."""

from importlib import import_module as _import_module

_HOME = {
    "ConvolutionalDeepKernelMachine": "convolutional",
    "DeepKernelMachine": "deep_kernel_machine",
    "DeepKernelMachineClassifier": "deep_kernel_classifier",
    "DeepKernelMachineRegressor": "deep_kernel_regressor",
    "MultilayerKernelMachine": "multilayer",
    "UnsupervisedSum": "unsupervised_sum",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'mercer.deep' has no attribute {name!r}")
    value = getattr(_import_module(f"mercer.deep.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME])
