"""The layer: attention by any kernel with several heads, for networks of torch.

This file is read where torch is installed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mercer.deep.attention.functional import (
    as_attention_kernel,
    attention_weights,
    kernel_attention,
)
from mercer.deep.torch_layers import checked
from mercer.kernels import QueryKey


class KernelAttention(nn.Module):
    r"""Attention by any kernel with several heads: a layer for networks of torch.

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
