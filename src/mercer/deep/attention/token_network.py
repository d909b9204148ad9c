"""Attention by any kernel with several heads: the layer, a network of it, its training and answers.

This file requires torch.
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

from mercer.deep.attention.functional import (
    as_attention_kernel,
    attention_weights,
    kernel_attention,
)
from mercer.deep.attention.tokens import UNKNOWN
from mercer.deep.torch_layers import checked, one_cycle
from mercer.gram.on_torch import choose_device, torch_threads
from mercer.kernels import QueryKey
from mercer.threads import raise_if_stopped


class KernelAttention(nn.Module):
    r"""Attention by any kernel with several heads: a layer for networks of torch.

    .. math:: o_i = W_o\, [o_i^1; \ldots; o_i^H] + b, \qquad
              o_i^h =
              \frac{\sum_j k(W_q^h x_i, W_k^h z_j)\, W_v^h z_j}{\sum_j k(W_q^h x_i, W_k^h z_j)}

    H is the number of heads.

    Each head h compares :math:`W_q^h x` with :math:`W_k^h z` by the kernel, and takes the weighted
    mean of :math:`W_v^h z`. The heads side by side, after one more linear map, are the output. With
    ``kernel="dot_product"`` it is that of `torch.nn.MultiheadAttention`.

    Parameters
    ----------
    embed_dim : int
        Columns of the queries and of the outputs.
    num_heads : int, default=1
        Heads; each has ``embed_dim / num_heads`` columns.
    kernel : str, callable, FunctionKernel or PositiveFeatures, default="dot_product"
        What `kernel_attention` takes. The parameters of a function that is a `torch.nn.Module` are
        those of the layer, too.
    scale : float > 0, optional
        The scale of `kernel_attention`; None means 1 / √(embed_dim / num_heads).
    dropout : float, default=0.0
        Share of the weights that are dropped in training.
    bias : bool, default=False
        Whether the maps of queries, keys and values add a constant. That of the outputs always
        does.
    kdim, vdim : int, optional
        Columns of the keys and of the values, if these are not ``embed_dim``.
    device, dtype : optional
        Where the parameters are, and their precision, for every layer of torch alike.

    References
    ----------
    Vaswani et al., "Attention is all you need", NIPS 2017, section 3.2; Tsai, Bai, Yamada, Morency
    & Salakhutdinov, "Transformer dissection: a unified understanding of transformer's attention
    via the lens of kernel", EMNLP 2019.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import KernelAttention
    >>> layer = KernelAttention(16, 4, kernel="rbf")
    >>> x = torch.randn(2, 100, 16)
    >>> layer(x, is_causal=True).shape
    torch.Size([2, 100, 16])
    >>> layer.weights(x).shape
    torch.Size([2, 4, 100, 100])

    A head compares any two vectors, as a kernel in the rest of the library does:

    >>> X = x[0].numpy()
    >>> layer.query_key(head=0)(X, X).shape
    (100, 100)
    """

    def __init__(
        self, embed_dim: int, num_heads: int = 1, kernel: Any = "dot_product", *,
        scale: float | None = None, dropout: float = 0.0, bias: bool = False,
        kdim: int | None = None, vdim: int | None = None, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        if num_heads < 1 or embed_dim < 1 or embed_dim % num_heads:
            raise ValueError(
                f"embed_dim={embed_dim!r}, num_heads={num_heads!r}: give numbers of which the "
                "first is a multiple of the second."
            )
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout={dropout!r}: give a number from 0 up to, but not, 1.")
        like = {"device": device, "dtype": dtype}
        self.num_heads, self.scale, self.dropout, self.kernel = num_heads, scale, dropout, kernel
        self.similarity = as_attention_kernel(kernel)
        if dropout > 0 and not self.similarity.of_pairs:
            raise ValueError(
                f"dropout={dropout!r}: kernel={kernel!r} makes no matrix of weights. Give 0.0."
            )
        self.of_similarity = nn.ModuleList(self.similarity.modules())
        self.query = nn.Linear(embed_dim, embed_dim, bias, **like)
        self.key = nn.Linear(embed_dim if kdim is None else kdim, embed_dim, bias, **like)
        self.value = nn.Linear(embed_dim if vdim is None else vdim, embed_dim, bias, **like)
        self.output = nn.Linear(embed_dim, embed_dim, **like)
        for projection in (self.query, self.key, self.value):
            nn.init.xavier_uniform_(projection.weight)

    def forward(
        self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
        attn_mask: Tensor | None = None, is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Outputs (..., l, embed_dim).

        Parameters
        ----------
        query : Tensor of shape (..., l, embed_dim)
        key : Tensor of shape (..., s, kdim), optional
            None means the queries.
        value : Tensor of shape (..., s, vdim), optional
            None means the keys.
        attn_mask : Tensor that broadcasts to (..., num_heads, l, s), optional
            The mask of `kernel_attention`.
        is_causal : bool, default=False
        """
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (
            self._heads(project, name, part)
            for project, name, part in (
                (self.query, "query", query),
                (self.key, "key", key),
                (self.value, "value", value),
            )
        )
        out = kernel_attention(
            q, k, v, attn_mask, self.dropout if self.training else 0.0, is_causal,
            kernel=self.similarity, scale=self.scale,
        )  # fmt: skip
        return self.output(out.transpose(-2, -3).flatten(-2))

    @torch.no_grad()
    def weights(
        self, query: Tensor, key: Tensor | None = None, attn_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The weights of all heads, (..., num_heads, l, s), without dropout."""
        q = self._heads(self.query, "query", query)
        k = self._heads(self.key, "key", query if key is None else key)
        return attention_weights(
            q, k, attn_mask, is_causal, kernel=self.similarity, scale=self.scale
        )

    def query_key(self, head: int = 0) -> QueryKey:
        """The kernel of a head, for the rest of the library.

        Raises
        ------
        ValueError
            The kernel is none that `mercer.kernels.QueryKey` has, or the maps have a bias.
        """
        if not 0 <= head < self.num_heads:
            raise ValueError(f"head={head!r}: give a number from 0 to {self.num_heads - 1}.")
        if self.query.bias is not None:
            raise ValueError("bias=True: QueryKey has linear maps. Give the layer bias=False.")
        queries, keys = (
            self._split(linear.weight.detach().T)[head].mT.double().cpu().numpy()
            for linear in (self.query, self.key)
        )
        kernel = QueryKey(queries, keys, form=self.kernel, scale=self.scale)
        kernel.validate()
        return kernel

    def extra_repr(self) -> str:
        return f"heads={self.num_heads}, kernel={self.kernel!r}, scale={self.scale}"

    def _heads(self, project: nn.Linear, name: str, part: Tensor) -> Tensor:
        return self._split(project(checked(name, part, project.in_features, project.weight, 2)))

    def _split(self, values: Tensor) -> Tensor:
        """(..., l, embed_dim) as (..., num_heads, l, embed_dim / num_heads)."""
        return values.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)


__all__ = [
    "NetworkShape", "TokenTraining", "attention_of", "begin", "outputs", "restored",
    "torch_threads",
]  # fmt: skip

BATCH = 256  # samples that are answered at a time
SPREAD = 0.02  # standard deviation of the first embeddings: larger ones are learnt slowly


@dataclass(frozen=True)
class NetworkShape:
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

    def __init__(self, shape: NetworkShape):
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


def begin(shape: NetworkShape, device: Any, seed: int) -> TokenNetwork:
    """A new network."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TokenNetwork(shape).to(choose_device(device))


def restored(shape: NetworkShape, device: Any, weights: dict[str, np.ndarray]) -> TokenNetwork:
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
class TokenTraining:
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
