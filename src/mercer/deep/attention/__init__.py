"""Attention by any kernel: functions, a layer, a classifier; names are loaded on first use."""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec

from mercer.needs_torch import need_torch as _need_torch

_HOME = {"AttentionClassifier": "attention_classifier"}

#: names that require torch
_LAYERS = {
    "FunctionKernel": "kernels",
    "KernelAttention": "multi_head",
    "PositiveFeatures": "functional",
    "attention_weights": "functional",
    "kernel_attention": "functional",
}

__all__ = sorted([*_HOME, *(_LAYERS if _find_spec("torch") else ())])


def __getattr__(name):
    home = _HOME.get(name) or _LAYERS.get(name)
    if home is None:
        raise AttributeError(f"module 'mercer.deep.attention' has no attribute {name!r}")
    if name in _LAYERS:
        _need_torch(f"mercer.deep.{name}")
    value = getattr(_import_module(f"mercer.deep.attention.{home}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
