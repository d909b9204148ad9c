r"""Kernels of attention with finitely many features, at a cost linear in the number of keys.

With :math:`k(q, s) = φ(q)^\top φ(s)` the sums over the keys come first: :math:`\sum_j φ(s_j)
v_j^\top` has as many rows as there are features, and no matrix of weights is made. With ``causal``
these sums are kept at the end of each chunk, and the rest of a chunk is a small matrix.

This file is read where torch is installed.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mercer.deep.attention.kernels import Attention, AttentionKernel

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
    r"""Positive random features, :math:`φ(x) = \exp(ω_r^\top x - |x|^2 / 2)`, r = 1 ... m.

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
