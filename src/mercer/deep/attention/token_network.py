"""A network that reads tokens by attention, its training, and what it answers.

This file is read where torch is installed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mercer.deep.attention.functional import as_attention_kernel
from mercer.deep.attention.multi_head import KernelAttention
from mercer.deep.attention.tokens import UNKNOWN
from mercer.deep.torch_layers import one_cycle
from mercer.gram.on_torch import choose_device, torch_threads
from mercer.threads import raise_if_stopped

__all__ = ["Shape", "Training", "attention_of", "begin", "outputs", "restored", "torch_threads"]

BATCH = 256  # samples that are answered at a time
SPREAD = 0.02  # standard deviation of the first embeddings: larger ones are learnt slowly


@dataclass(frozen=True)
class Shape:
    """What a network is made of; each field is a parameter of `AttentionClassifier`."""

    tokens: int
    classes: int
    kernel: Any
    scale: float | None
    width: int
    n_heads: int
    n_layers: int
    dropout: float
    causal: bool
    max_length: int


class TokenNetwork(nn.Module):
    """Embeddings of tokens and positions, layers of attention, and the mean over the tokens."""

    def __init__(self, shape: Shape):
        super().__init__()
        width, similarity = shape.width, as_attention_kernel(shape.kernel)
        self.causal = shape.causal
        self.tokens = nn.Embedding(shape.tokens, width)
        self.positions = nn.Embedding(shape.max_length, width)
        self.drop = nn.Dropout(shape.dropout)
        self.before = nn.ModuleList(nn.LayerNorm(width) for _ in range(shape.n_layers))
        self.attention = nn.ModuleList(
            KernelAttention(
                width, shape.n_heads, copy.deepcopy(shape.kernel), scale=shape.scale,
                dropout=shape.dropout if similarity.of_pairs else 0.0,
            )
            for _ in range(shape.n_layers)
        )  # fmt: skip
        self.after = nn.LayerNorm(width)
        self.head = nn.Linear(width, shape.classes)
        nn.init.normal_(self.tokens.weight, std=SPREAD)
        nn.init.normal_(self.positions.weight, std=SPREAD)

    def forward(self, codes: Tensor, lengths: Tensor) -> Tensor:
        """Outputs (n, C) for codes (n, l), of which only the first ones of each sample count."""
        there = torch.arange(codes.shape[1], device=codes.device) < lengths[:, None]
        x = self.drop(self._embedded(codes))
        for before, attention in zip(self.before, self.attention):
            there_of_heads = there[:, None, None]
            x = x + self.drop(attention(before(x), attn_mask=there_of_heads, is_causal=self.causal))
        x = self.after(x) * there[..., None]
        return self.head(x.sum(1) / lengths.clamp_min(1)[:, None])

    def weights(self, codes: Tensor, layer: int) -> Tensor:
        """The weights of a layer for one sample of codes (l,), (heads, l, l)."""
        x = self._embedded(codes[None])
        for before, attention in zip(self.before[:layer], self.attention[:layer]):
            x = x + attention(before(x), is_causal=self.causal)
        asked: Any = self.attention[layer]
        return asked.weights(self.before[layer](x), is_causal=self.causal)[0]

    def _embedded(self, codes: Tensor) -> Tensor:
        return self.tokens(codes) + self.positions.weight[: codes.shape[1]]


def begin(shape: Shape, device: Any, seed: int) -> TokenNetwork:
    """A new network."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TokenNetwork(shape).to(choose_device(device))


def restored(shape: Shape, device: Any, weights: dict[str, np.ndarray]) -> TokenNetwork:
    """A network with the weights that training found."""
    network = begin(shape, device, 0)
    network.load_state_dict({name: torch.from_numpy(a.copy()) for name, a in weights.items()})
    return network.eval()


def arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Copies of all weights, by name."""
    return {name: t.detach().cpu().numpy().copy() for name, t in network.state_dict().items()}


@torch.inference_mode()
def outputs(network: TokenNetwork, rows: Sequence[np.ndarray]) -> np.ndarray:
    """Outputs of all samples, (n, C) in float64; those of a batch are about equally long."""
    order = np.argsort([len(row) for row in rows], kind="stable")
    found = np.empty((len(rows), network.head.out_features))
    for start in range(0, len(rows), BATCH):
        raise_if_stopped()
        chosen = order[start : start + BATCH]
        found[chosen] = network(*_padded([rows[i] for i in chosen], network)).double().cpu().numpy()
    return found


@torch.inference_mode()
def attention_of(network: TokenNetwork, codes: np.ndarray, layer: int) -> np.ndarray:
    """The weights of all heads of a layer for one sample, (heads, l, l)."""
    device = network.head.weight.device
    return network.weights(torch.from_numpy(codes).to(device), layer).double().cpu().numpy()


@dataclass(frozen=True)
class Training:
    """Adam on the cross-entropy, by batches, with a rate that rises and then falls to 0."""

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float

    def run(
        self,
        network: TokenNetwork,
        rows: Sequence[np.ndarray],
        classes: np.ndarray,
        weights: np.ndarray | None,
        seed: int,
    ) -> Iterator[tuple[float, dict[str, np.ndarray]]]:
        """Change the network; yield the mean loss of each epoch, and the weights after it.

        ``weights`` of the samples have the mean 1; None means all 1.
        """
        device = network.head.weight.device
        labels = torch.from_numpy(classes).to(device)
        shares = torch.ones(len(rows)) if weights is None else torch.from_numpy(weights).float()
        step, steps = 0, self.epochs * math.ceil(len(rows) / self.batch_size)
        adam = torch.optim.AdamW(
            network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
        )
        network.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + 1)  # other draws than those of the first weights
            for _ in range(self.epochs):
                total = 0.0
                for chosen in torch.randperm(len(rows)).split(self.batch_size):
                    raise_if_stopped()
                    step += 1
                    for group in adam.param_groups:
                        group["lr"] = self.learning_rate * one_cycle(step / steps)
                    adam.zero_grad(set_to_none=True)
                    batch = _padded([rows[i] for i in chosen.tolist()], network)
                    own = F.cross_entropy(
                        network(*batch), labels[chosen.to(device)], reduction="none"
                    )
                    loss = (shares[chosen].to(device) * own).mean()
                    loss.backward()
                    adam.step()
                    total += float(loss.detach()) * len(chosen)
                yield total / len(rows), arrays(network)


def _padded(rows: Sequence[np.ndarray], network: TokenNetwork) -> tuple[Tensor, Tensor]:
    """Codes (n, l), filled up with unknown tokens, and lengths (n,)."""
    lengths = np.array([len(row) for row in rows], np.int64)
    codes = np.full((len(rows), max(1, lengths.max())), UNKNOWN, np.int64)
    for filled, row in zip(codes, rows):
        filled[: len(row)] = row
    device = network.head.weight.device
    return torch.from_numpy(codes).to(device), torch.from_numpy(lengths).to(device)
