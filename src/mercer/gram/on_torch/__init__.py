"""Gram matrices by torch, on a GPU or the CPU. This room is entered where torch is wanted."""

from mercer.gram.on_torch.operator import (
    PROFILES,
    TorchGram,
    check_formula,
    choose_device,
    kernel_values,
    on_device,
    torch_gram,
    torch_threads,
)

__all__ = [
    "PROFILES", "TorchGram", "check_formula", "choose_device", "kernel_values", "on_device",
    "torch_gram", "torch_threads",
]  # fmt: skip
