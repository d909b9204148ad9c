r"""Attention by any kernel as a function, with the arguments of torch's own attention.

Kernels with finitely many features have a cost that is linear in the number of keys.
With :math:`k(q, s) = φ(q)^\top φ(s)` the sums over the keys come first: :math:`\sum_j φ(s_j)
v_j^\top` has as many rows as there are features, and no matrix of weights is made. With ``causal``
these sums are kept at the end of each chunk, and the rest of a chunk is a small matrix.

This file requires torch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mercer.deep.attention.kernels import (
    Attention,
    AttentionKernel,
    DistanceAttention,
    DotProduct,
    FunctionKernel,
    Gaussian,
    IntersectionAttention,
    Quadratic,
    summing,
)
from mercer.kernels import Kernel
from mercer.spoken import a_type

CHUNK = 128  # queries and keys whose causal part is a matrix


class FeatureKernel(AttentionKernel):
    """Abstract: the inner product of positive features."""

    of_pairs = False

    @abstractmethod
    def features(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        """φ of q (n, l, d) and of k (n, s, d), each with a factor that the weights do not see."""

    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        of_q, of_k = self.features(q, k, scale)
        return of_q @ of_k.mT

    def attend(self, a: Attention) -> Tensor:
        of_q, of_k = self.features(a.query, a.key, a.scale)
        if a.mask is not None:  # of keys alone: (m, 1, s)
            part = a.mask[a.mask_rows].mT
            of_k = of_k * (part if part.dtype == torch.bool else part.exp())
        values = F.pad(a.value, (0, 1), value=1.0)  # the last column sums the weights
        sums = _causal(of_q, of_k, values) if a.causal else of_q @ (of_k.mT @ values)
        weights = sums[..., -1:]
        return sums[..., :-1] / torch.where(weights == 0, 1, weights)


class EluFeatures(FeatureKernel):
    """φ(x) = elu(x) + 1: linear attention (Katharopoulos et al., ICML 2020)."""

    scaled = False

    def features(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        return F.elu(q) + 1, F.elu(k) + 1


class PositiveFeatures(FeatureKernel):
    r"""Positive random features of the exponentiated dot product:

    .. math:: \varphi_r(x) = \exp(\omega_r^\top x - \|x\|^2 / 2), \qquad
              E[\varphi_r(x)\, \varphi_r(z)] = \exp(x^\top z)

    r runs from 1 to m.

    The frequencies ω are normal. For many features the kernel tends to the exponentiated dot
    product, but slowly: for vectors of length 8 it is another kernel.

    Parameters
    ----------
    n_features : int >= 1, default=256
        The number m.
    random_state : int, default=0
        Seed for the frequencies.

    References
    ----------
    Choromanski et al., "Rethinking attention with Performers", ICLR 2021.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import PositiveFeatures, kernel_attention
    >>> x = torch.randn(2, 5, 3)
    >>> kernel_attention(x, x, x, kernel=PositiveFeatures(64)).shape
    torch.Size([2, 5, 3])
    """

    def __init__(self, n_features: int = 256, random_state: int = 0):
        self.n_features = n_features
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"PositiveFeatures({self.n_features!r}, random_state={self.random_state!r})"

    def features(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        omega = torch.from_numpy(_frequencies(q.shape[-1], self.n_features, self.random_state))
        q, k = (scale**0.5 * part for part in (q, k))
        of_q, of_k = (
            part @ omega.to(part) - part.square().sum(-1, keepdim=True) / 2 for part in (q, k)
        )
        # one factor for each query, and one for all keys, so that no sum overflows
        of_q = of_q - of_q.detach().amax(-1, keepdim=True)
        return of_q.exp(), (of_k - of_k.detach().amax((-1, -2), keepdim=True)).exp()


@lru_cache(maxsize=16)
def _frequencies(d: int, count: int, seed: int) -> np.ndarray:
    return np.random.RandomState(seed).normal(size=(d, count))


def _causal(of_q: Tensor, of_k: Tensor, values: Tensor) -> Tensor:
    """Σ_{j <= i} <φ(q_i), φ(k_j)> v_j, by chunks."""
    length = of_q.shape[1]
    # keys after the last query are seen by none, and keys that are lacking have no features
    pads = [(-length) % CHUNK, length + (-length) % CHUNK - of_k.shape[1]]
    of_q, of_k, values = (
        F.pad(part, (0, 0, 0, pad)).unflatten(1, (-1, CHUNK))
        for part, pad in ((of_q, pads[0]), (of_k, pads[1]), (values, pads[1]))
    )
    sums = (of_k.mT @ values).cumsum(1)
    before = F.pad(sums[:, :-1], (0, 0, 0, 0, 1, 0))
    within = (of_q @ of_k.mT).tril() @ values
    return (of_q @ before + within).flatten(1, 2)[:, :length]


NAMED: dict[str, Callable[[], AttentionKernel]] = {
    "dot_product": DotProduct,
    "rbf": Gaussian,
    "distance": DistanceAttention,
    "quadratic": Quadratic,
    "intersection": IntersectionAttention,
    "linear": EluFeatures,
    "random_features": PositiveFeatures,
}


def kernel_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, *, kernel: Any = "dot_product",
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    r"""Attention by any kernel:

    .. math:: o_i = \frac{\sum_j k(q_i, s_j)\, v_j}{\sum_j k(q_i, s_j)}

    o has the shape (..., l, e).

    Arguments are those of `torch.nn.functional.scaled_dot_product_attention`, which is the default
    kernel. Memory is linear in the number of queries and keys for every kernel, with gradients too.

    Parameters
    ----------
    query, key, value : Tensor of shape (..., l, d), (..., s, d) and (..., s, e)
        What stands before the last two axes, samples and heads, is equal or broadcasts.
    attn_mask : Tensor that broadcasts to (..., l, s), optional
        True where a key takes part in attention, or numbers that are added to the logarithm of the
        kernel: the logarithms of weights of keys. A query without keys has the output 0.
    dropout_p : float, default=0.0
        Share of the weights that are dropped; the others are divided by what remains.
    is_causal : bool, default=False
        Whether query i attends to keys 0 ... i only. A mask may be given beside it.
    kernel : str, callable, FunctionKernel or PositiveFeatures, default="dot_product"
        With s = ``scale``:

        - "dot_product": exp(s <q, k>).
        - "rbf": exp(-s ‖q - k‖²). "dot_product" is this kernel with s / 2 and weights
          exp(s ‖k‖² / 2) of the keys.
        - "distance": s ‖q - k‖, which favours keys that are far away.
        - "quadratic": s <q, k>².
        - "intersection": exp(s Σ min(q, k)).
        - "linear": the inner product of elu(q) + 1 and elu(k) + 1.
        - "random_features": `PositiveFeatures`.

        A callable of q (n, l, d) and k (n, s, d) returns the logarithm of a kernel, (n, l, s), as
        described in `FunctionKernel`.
    scale : float > 0, optional
        A factor; None means 1 / √d. "linear" and functions have none.
    enable_gqa : bool, default=False
        Whether several heads of queries, the third axis from the end, share a head of keys.

    Returns
    -------
    Tensor of shape (..., l, e)

    Notes
    -----
    "dot_product" and "rbf" go through torch's own routine, which has to compute in float32 or
    float64 for "rbf": it gets one more column, ‖k‖², of keys that are centred. Where that routine
    would make the whole matrix, and for the other kernels, tiles of the matrix are made and made
    again in the backward pass: O(l s (d + e)) operations. "intersection" is no product of matrices,
    and takes five times the seconds. "linear" and "random_features" cost O((l + s) m e) for m
    features, as kernels of their own: they take masks of keys alone, and no dropout. bfloat16 and
    float16 are computed in float32, but for "dot_product". Second derivatives are not available.

    References
    ----------
    Wright & Gonzalez, "Transformers are deep infinite-dimensional non-Mercer binary kernel
    machines", 2021; Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import kernel_attention
    >>> q, k, v = torch.randn(3, 2, 4, 100, 8)  # two samples, four heads
    >>> kernel_attention(q, k, v, is_causal=True, kernel="rbf").shape
    torch.Size([2, 4, 100, 8])
    """
    chosen = as_attention_kernel(kernel)
    a, lead = _flat(query, key, value, attn_mask, is_causal, chosen, scale, enable_gqa)
    if not (isinstance(dropout_p, (int, float)) and 0 <= dropout_p < 1):
        raise ValueError(f"dropout_p={dropout_p!r}: give a number from 0 up to, but not, 1.")
    if not chosen.of_pairs:
        if dropout_p > 0:
            raise ValueError(
                f"dropout_p={dropout_p!r}: kernel={kernel!r} makes no matrix of weights that could "
                "be dropped. Give 0, and drop entries of the outputs."
            )
        if a.mask is not None and a.mask.shape[1] > 1:
            raise ValueError(
                f"attn_mask has shape {tuple(attn_mask.shape)}, but kernel={kernel!r} makes no "  # type: ignore[union-attr]
                "matrix of weights: give a mask of keys, (..., 1, s), or is_causal=True."
            )
    if min(a.query.numel(), a.key.numel()) == 0:  # no queries, or no keys
        return value.new_zeros(*lead, a.query.shape[1], a.value.shape[2])
    out = chosen.attend(a._replace(dropout=float(dropout_p)))
    return out.to(value.dtype).view(*lead, *out.shape[1:])


def attention_weights(
    query: Tensor, key: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, *,
    kernel: Any = "dot_product", scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    r"""The matrix of weights of `kernel_attention`, to be looked at:

    .. math:: a_{ij} = \frac{k(q_i, s_j)}{\sum_t k(q_i, s_t)}

    Arguments are those of `kernel_attention`.

    Returns
    -------
    Tensor of shape (..., l, s)
        Rows sum to 1, or to 0 where a query has no keys.

    Notes
    -----
    O(l s d) operations, and memory for the whole matrix, unlike `kernel_attention`.

    References
    ----------
    Tsai, Bai, Yamada, Morency & Salakhutdinov, "Transformer dissection: a unified understanding of
    transformer's attention via the lens of kernel", EMNLP 2019.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import attention_weights
    >>> x = torch.tensor([[0.0], [1.0]])
    >>> attention_weights(x, x, kernel="rbf")
    tensor([[0.7311, 0.2689],
            [0.2689, 0.7311]])
    """
    chosen = as_attention_kernel(kernel)
    a, lead = _flat(query, key, key, attn_mask, is_causal, chosen, scale, enable_gqa)
    if min(a.query.numel(), a.key.numel()) == 0:
        return query.new_zeros(*lead, a.query.shape[1], a.key.shape[1])
    weights = chosen.weights(a)
    return weights.to(query.dtype).view(*lead, *weights.shape[1:])


def as_attention_kernel(kernel: Kernel) -> AttentionKernel:
    """The kernel of a name, a function or a kernel."""
    if isinstance(kernel, AttentionKernel):
        return kernel
    if isinstance(kernel, str) and kernel in NAMED:
        return NAMED[kernel]()
    if callable(kernel):
        return FunctionKernel(kernel)
    raise ValueError(
        f"kernel={kernel!r}: give one of {', '.join(map(repr, NAMED))}, a function of q and k, a "
        "FunctionKernel or PositiveFeatures."
    )


def _flat(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool,
    kernel: AttentionKernel, scale: float | None, shared: bool,
) -> tuple[Attention, torch.Size]:  # fmt: skip
    """The arguments with one axis for samples and heads, and the axes that it stands for."""
    _check_shapes(query, key, value)
    if scale is not None and not kernel.scaled:
        raise ValueError(f"scale={scale!r}: kernel={kernel!r} has no scale. Leave it out.")
    if scale is not None and not 0 < scale < math.inf:
        raise ValueError(f"scale={scale!r}: give a finite number > 0.")
    if shared:
        key, value = (_repeated(part, query.shape[-3]) for part in (key, value))
    try:
        lead = torch.broadcast_shapes(*(part.shape[:-2] for part in (query, key, value)))
    except RuntimeError as error:
        shapes = [tuple(part.shape) for part in (query, key, value)]
        raise ValueError(
            f"query, key and value have the shapes {shapes}: give samples and heads, the axes "
            "before the last two, that are equal or 1."
        ) from error
    dtype = query.dtype if isinstance(kernel, DotProduct) else summing(query.dtype)
    q, k, v = (
        part.to(dtype).expand(*lead, *part.shape[-2:]).reshape(lead.numel(), *part.shape[-2:])
        for part in (query, key, value)
    )
    given = torch.ones(1, 1, dtype=torch.bool, device=q.device) if mask is None else mask
    flat, entries = _flat_mask(given, (*lead, q.shape[1], k.shape[1]), dtype)
    if min(q.numel(), k.numel()) > 0:
        kernel.check(q, k)
    chosen = q.shape[-1] ** -0.5 if scale is None else float(scale)
    flat = None if mask is None else flat
    return Attention(q, k, v, flat, entries, causal, 0.0, chosen), lead


def _repeated(part: Tensor, heads: int) -> Tensor:
    """Keys or values of as many heads as the queries have."""
    if heads % part.shape[-3]:
        raise ValueError(
            f"enable_gqa=True: the queries have {heads} heads, and the keys or values "
            f"{part.shape[-3]}: give a number of heads that divides that of the queries."
        )
    return part.repeat_interleave(heads // part.shape[-3], -3)


def _flat_mask(mask: Tensor, wanted: tuple[int, ...], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """A mask (m, l or 1, s or 1), and which of its m entries each sample and head has."""
    try:
        mask.expand(wanted)
    except RuntimeError as error:
        raise ValueError(
            f"attn_mask has shape {tuple(mask.shape)}, which does not broadcast to {wanted}."
        ) from error
    mask = mask[(None,) * (2 - mask.ndim)]
    count = mask.shape[:-2].numel()
    entries = torch.arange(count, device=mask.device).view(mask.shape[:-2]).expand(wanted[:-2])
    flat = mask.reshape(count, *mask.shape[-2:])
    return flat if mask.dtype == torch.bool else flat.to(dtype), entries.reshape(-1)


def _check_shapes(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse tensors that do not fit together."""
    parts = {"query": query, "key": key, "value": value}
    for name, part in parts.items():
        if not isinstance(part, Tensor):
            raise TypeError(f"{name} is {a_type(part)}: give a tensor.")
        if part.is_meta or part.layout != torch.strided or part.device != query.device:
            raise TypeError(
                f"{name} is on {part.device}, {part.layout}, and query on {query.device}: give "
                "dense tensors with numbers, on one device."
            )
    shapes = {name: tuple(part.shape) for name, part in parts.items()}
    told = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    if min(map(len, shapes.values())) < 2:
        raise ValueError(f"The shapes are {told}: give (..., l, d), (..., s, d) and (..., s, e).")
    if query.shape[-1] != key.shape[-1] or not query.shape[-1]:
        raise ValueError(f"The shapes are {told}: give queries and keys of as many columns.")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"The shapes are {told}: give a value for each key.")
    if not query.dtype == key.dtype == value.dtype or not query.is_floating_point():
        raise TypeError(
            f"query, key and value are of {query.dtype}, {key.dtype} and {value.dtype}: give one "
            "floating precision for all."
        )
