r"""Kernels of attention: functions of a query and a key, and how each one attends.

Attention by a kernel is the Nadaraya-Watson mean of the values, :math:`o_i = \sum_j k(q_i, s_j) v_j
/ \sum_j k(q_i, s_j)`. A `PairKernel` gives k, or its logarithm, for a tile of queries and keys, and
`mercer.deep.attention.tiles` does the rest. The dot product and RBF need no tiles where torch's own
routine can do it. Kernels with finitely many features are in `mercer.deep.attention.functional`.

This file requires torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mercer.deep.attention.tiles import Tile, TilePlan, attend_by_tiles, masked
from mercer.persistence import fields

#: the pull-back of a tile: gradients in q, k and the parameters from that in the values
PullBack = Callable[[Tensor], tuple[Tensor, ...]]
NEAR = 1e-3  # part of |q|² + |k|² below which a squared distance is computed from differences
EIGHT = 8  # torch's routine is fastest for columns in multiples of this


class Attention(NamedTuple):
    """What is attended to, and how: q (n, l, d), k (n, s, d) and v (n, s, e) of one precision.

    Attributes
    ----------
    query, key, value : Tensor
    mask : Tensor or None
        Of shape (m, l or 1, s or 1): True where a key takes part, or numbers that are added to the
        logarithm of the kernel.
    mask_rows : Tensor of shape (n,)
        The entry of the mask for each query.
    causal : bool
    dropout : float
    scale : float
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    mask_rows: Tensor
    causal: bool
    dropout: float
    scale: float


@fields()
class AttentionKernel(ABC):
    """Abstract: a kernel that attention can have."""

    #: whether ``scale`` is a factor of this kernel
    scaled: bool = True
    #: whether the matrix of weights is made, so that entries of it can be masked and dropped
    of_pairs: bool = True

    @abstractmethod
    def attend(self, a: Attention) -> Tensor:
        """The outputs, (n, l, e)."""

    @abstractmethod
    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """The kernel (n, l, s) for q (n, l, d) and k (n, s, d), or its logarithm."""

    #: whether `values` are logarithms
    exponentiated: bool = False

    def weights(self, a: Attention) -> Tensor:
        """The whole matrix of weights, (n, l, s), whose rows sum to 1, or to 0 without keys."""
        logs, (n, rows, _), columns = self.exponentiated, a.query.shape, a.key.shape[1]
        values = self.values(a.query, a.key, a.scale)
        whole = Tile(slice(0, n), slice(0, rows), slice(0, columns))
        values = masked(
            values, whole, mask=a.mask, mask_rows=a.mask_rows, causal=a.causal, logs=logs
        )
        if logs:
            empty = (values == -torch.inf).all(-1, keepdim=True)
            return values.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
        sums = values.sum(-1, keepdim=True)
        return values / torch.where(sums == 0, 1, sums)

    def modules(self) -> Sequence[nn.Module]:
        """Modules whose parameters the kernel has."""
        return ()

    def check(self, q: Tensor, k: Tensor) -> None:
        """Raise an error if the kernel cannot compare q and k; those with a name can."""
        return


class PairKernel(AttentionKernel):
    """Abstract: a kernel that is computed by tiles of queries and keys."""

    exponentiated = True

    def attend(self, a: Attention) -> Tensor:
        plan = TilePlan(self, a.mask_rows, a.causal, a.dropout, a.scale)
        return attend_by_tiles(a.query, a.key, a.value, a.mask, plan)

    def parameters(self) -> list[Tensor]:
        """Tensors beside q and k that have gradients."""
        return [p for module in self.modules() for p in module.parameters() if p.requires_grad]

    @abstractmethod
    def differentiated(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, PullBack]:
        """The values of a tile, and their pull-back."""


class FunctionKernel(PairKernel):
    r"""A kernel that is a function of the user's.

    .. math:: k(q, s) = \exp(f(q, s)) \quad \text{or} \quad k(q, s) = f(q, s)

    f is ``function``; the first one holds with ``exponentiated=True``.

    Parameters
    ----------
    function : callable
        Takes tensors q (n, l, d) and k (n, s, d), and returns (n, l, s). It is called for parts of
        the queries and keys, and again in the backward pass. Parameters that are to be learnt make
        it a `torch.nn.Module`.
    exponentiated : bool, default=True
        Whether the kernel is the exponential of the function. Otherwise it is the function itself,
        which then must not be negative.

    References
    ----------
    Tsai, Bai, Yamada, Morency & Salakhutdinov, "Transformer dissection: a unified understanding of
    transformer's attention via the lens of kernel", EMNLP 2019.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import FunctionKernel, kernel_attention
    >>> def laplacian(q, k):
    ...     return -torch.cdist(q, k, p=1)
    >>> x = torch.randn(2, 5, 3)
    >>> kernel_attention(x, x, x, kernel=FunctionKernel(laplacian)).shape
    torch.Size([2, 5, 3])
    """

    scaled = False

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor], exponentiated: bool = True):
        self.function = function
        self.exponentiated = exponentiated

    def __repr__(self) -> str:
        return f"FunctionKernel({self.function!r}, exponentiated={self.exponentiated!r})"

    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        return self.function(q, k)

    def differentiated(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, PullBack]:
        with torch.enable_grad():
            inputs = [q.detach().requires_grad_(), k.detach().requires_grad_(), *self.parameters()]
            values = self.values(inputs[0], inputs[1], scale)

        def pull_back(gradient: Tensor) -> tuple[Tensor, ...]:
            if not values.requires_grad:
                return tuple(map(torch.zeros_like, inputs))
            return torch.autograd.grad(values, inputs, gradient, materialize_grads=True)

        return values.detach(), pull_back

    def modules(self) -> Sequence[nn.Module]:
        return (self.function,) if isinstance(self.function, nn.Module) else ()

    def check(self, q: Tensor, k: Tensor) -> None:
        with torch.enable_grad():
            found = self.function(q[:1, :1].detach(), k[:1, :2].detach())
        wanted = (1, 1, k[:1, :2].shape[1])
        if not isinstance(found, Tensor) or found.shape != wanted:
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(
                f"kernel={self.function!r}: for q of shape (1, 1, {q.shape[-1]}) and k of shape "
                f"(1, {wanted[2]}, {k.shape[-1]}) it returned {shape}: return a tensor of shape "
                f"{wanted}."
            )
        own = {id(p) for p in self.parameters()}
        if any(id(leaf) not in own for leaf in _leaves(found)):
            raise ValueError(
                f"kernel={self.function!r}: it reads a tensor with requires_grad=True that is no "
                "parameter of its own, and would not be learnt. Give a torch.nn.Module that has it "
                "as a parameter."
            )


def _leaves(tensor: Tensor) -> list[Tensor]:
    """Tensors that a result depends on, and that have gradients."""
    found, seen, waiting = [], set(), [tensor.grad_fn]
    if tensor.requires_grad and tensor.is_leaf:
        return [tensor]
    while waiting:
        node: Any = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        found += [node.variable] if hasattr(node, "variable") else []
        waiting += [before for before, _ in node.next_functions]
    return found


# --- kernels with a name -------------------------------------------------------------------------


class DotProduct(PairKernel):
    """exp(scale <q, k>)."""

    def attend(self, a: Attention) -> Tensor:
        if _torch_can(a):
            return _by_torch(a.query, a.key, a, a.scale)
        q, k, v = (p.to(summing(p.dtype)) for p in (a.query, a.key, a.value))
        mask = a.mask
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.to(q.dtype)
        return super().attend(a._replace(query=q, key=k, value=v, mask=mask))

    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        return (scale * q) @ k.mT

    def differentiated(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, PullBack]:
        def pull_back(gradient: Tensor) -> tuple[Tensor, ...]:
            return (scale * gradient) @ k, gradient.mT @ (scale * q)

        return self.values(q, k, scale), pull_back


class Gaussian(PairKernel):
    """exp(-scale |q - k|²), whose factor exp(-scale |q|²) does not change the weights."""

    def attend(self, a: Attention) -> Tensor:
        # a common shift changes nothing but rounding: products of large numbers lose digits
        centre = a.key.detach().mean(1, keepdim=True)
        a = a._replace(query=a.query - centre, key=a.key - centre)
        if not _torch_can(a):
            return super().attend(a)
        # 2c <q, k> - c |k|² = <[2c q, -c], [k, |k|²]>
        ones = a.query.new_full((*a.query.shape[:2], 1), -a.scale)
        squares = a.key.square().sum(-1, keepdim=True)
        query = torch.cat([2 * a.scale * a.query, ones], -1)
        return _by_torch(query, torch.cat([a.key, squares], -1), a, 1.0)

    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        squares = -scale * k.square().sum(-1).unsqueeze(-2)
        return torch.baddbmm(squares, 2 * scale * q, k.mT)

    def differentiated(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, PullBack]:
        def pull_back(gradient: Tensor) -> tuple[Tensor, ...]:
            sums = gradient.sum(-2).unsqueeze(-1)
            return (2 * scale * gradient) @ k, 2 * scale * (gradient.mT @ q - sums * k)

        return self.values(q, k, scale), pull_back


class DistanceAttention(PairKernel):
    """scale |q - k|, which favours keys that are far away."""

    exponentiated = False

    def attend(self, a: Attention) -> Tensor:
        centre = a.key.detach().mean(1, keepdim=True)
        q, k = _sides(a.scale * (a.query - centre), a.scale * (a.key - centre))
        return _RootOfSides().attend(a._replace(query=q, key=k, scale=1.0))

    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        return _RootOfSides().values(*_sides(scale * q, scale * k), 1.0)

    def differentiated(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, PullBack]:
        return _RootOfSides().differentiated(*_sides(scale * q, scale * k), 1.0)


class _RootOfSides(PairKernel):
    """√<q, k>, for sides whose inner products are squared distances."""

    exponentiated = False

    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        squares, near = _squares(q, k)
        if near:  # the root has no slope at 0
            apart = squares > 0
            return torch.where(apart, squares.masked_fill(~apart, 1).sqrt(), 0)
        return squares.sqrt()

    def differentiated(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, PullBack]:
        squares, near = _squares(q, k)
        roots = squares.sqrt_()

        def pull_back(gradient: Tensor) -> tuple[Tensor, ...]:
            w = gradient / roots
            if near:
                w.masked_fill_(roots == 0, 0)
            return (w @ k).div_(2), (w.mT @ q).div_(2)

        return roots, pull_back


def _sides(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """[q, 0, |q|², 1] and [-2 k, 0, 1, |k|²], whose inner product is |q - k|².

    Zeros make the number of columns a multiple of 8.
    """
    sides = []
    for part, factor, square in ((q, 1, -2), (k, -2, -1)):
        columns = F.pad(factor * part, (0, -(part.shape[-1] + 2) % EIGHT + 2))
        columns[..., -2:] = 1
        columns[..., square] = part.square().sum(-1)
        sides.append(columns)
    return sides[0], sides[1]


def _squares(q: Tensor, k: Tensor) -> tuple[Tensor, bool]:
    """Inner products of `_sides`, and from differences where these would lose their digits.

    The second value is whether there were any of these; no other distance is 0.
    """
    squares = q @ k.mT
    a, b = q[..., -2, None], k[..., None, :, -1]
    with torch.no_grad():
        if squares.amin(-1).min() > NEAR * (a.max() + b.max()):
            return squares, False
        n, i, j = (squares <= NEAR * (a + b)).nonzero(as_tuple=True)
    exact = (q[n, i, :-2] + k[n, j, :-2] / 2).square().sum(-1)
    return squares.index_put_((n, i, j), exact), True


class Quadratic(PairKernel):
    """scale <q, k>²."""

    exponentiated = False

    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        return scale * (q @ k.mT).square()

    def differentiated(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, PullBack]:
        products = q @ k.mT

        def pull_back(gradient: Tensor) -> tuple[Tensor, ...]:
            w = 2 * scale * gradient * products
            return w @ k, w.mT @ q

        return scale * products.square(), pull_back


class IntersectionAttention(PairKernel):
    """exp(scale Σ_a min(q_a, k_a)), by a loop over the columns a."""

    def values(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        if torch.is_grad_enabled():
            apart = torch.cdist(q, k, 1)  # min(q, k) = (q + k - |q - k|) / 2
            return scale / 2 * (q.sum(-1)[..., None] + k.sum(-1)[..., None, :] - apart)
        total = q.new_zeros(len(q), q.shape[1], k.shape[1])
        room = torch.empty_like(total)
        for x, z in _columns(scale * q, scale * k):
            total += torch.minimum(x, z, out=room)
        return total

    def differentiated(self, q: Tensor, k: Tensor, scale: float) -> tuple[Tensor, PullBack]:
        def pull_back(gradient: Tensor) -> tuple[Tensor, ...]:
            # d min(q, k) / dq = (1 + sign(k - q)) / 2, and (1 - sign(k - q)) / 2 in k
            room = torch.empty_like(gradient)
            of_q, of_k = torch.empty_like(q.mT), torch.empty_like(k.mT)
            for a, (x, z) in enumerate(_columns(q, k)):
                torch.sub(z, x, out=room).sign_().mul_(gradient)
                torch.sum(room, -1, out=of_q.select(-2, a))
                torch.sum(room, -2, out=of_k.select(-2, a))
            of_q += gradient.sum(-1)[..., None, :]
            of_k.neg_().add_(gradient.sum(-2)[..., None, :])
            return scale / 2 * of_q.mT, scale / 2 * of_k.mT

        return self.values(q, k, scale), pull_back


def _columns(q: Tensor, k: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Each column of q as (n, l, 1), and of k as (n, 1, s)."""
    q, k = q.mT.contiguous(), k.mT.contiguous()
    for a in range(q.shape[1]):
        yield q[:, a, :, None], k[:, a, None, :]


def summing(dtype: torch.dtype) -> torch.dtype:
    """The precision in which tiles of a precision are summed."""
    return torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype


# --- torch's own routine -------------------------------------------------------------------------


def _torch_can(a: Attention) -> bool:
    """Whether torch's routine does without the whole matrix, and with enough digits.

    On a CPU it makes the matrix for dropout and for masks with gradients, and it takes no mask
    beside ``causal``.
    """
    masked = a.mask is not None and (a.causal or a.mask.requires_grad)
    return not (masked or (a.dropout > 0 and a.query.device.type == "cpu"))


def _by_torch(query: Tensor, key: Tensor, a: Attention, scale: float) -> Tensor:
    """Scaled dot-product attention of columns that zeros make equally many, and a multiple of 8."""
    width = max(query.shape[-1], a.value.shape[-1])
    width += -width % EIGHT
    parts = [F.pad(part, (0, width - part.shape[-1])) for part in (query, key, a.value)]
    mask, n = a.mask, len(query)
    if mask is not None:
        heads = torch.arange(len(mask), device=mask.device).repeat_interleave(n // len(mask))
        if not torch.equal(heads, a.mask_rows):  # else the heads of a sample share its mask
            mask = mask[a.mask_rows]
    groups = 1 if mask is None else len(mask)
    out = F.scaled_dot_product_attention(
        *(part.view(groups, n // max(groups, 1), *part.shape[1:]) for part in parts),
        attn_mask=None if mask is None else mask[:, None], dropout_p=a.dropout,
        is_causal=a.causal, scale=scale,
    )  # fmt: skip
    return out.reshape(n, *out.shape[2:])[..., : a.value.shape[-1]]
