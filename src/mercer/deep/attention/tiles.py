r"""Attention by tiles: outputs of any kernel of pairs, in memory that is linear in their number.

For a tile of queries, the keys come in tiles. Running sums :math:`z = \sum_j k_j` and
:math:`\sum_j k_j v_j` are enough; of logarithms a running maximum is subtracted, so that nothing
overflows. Only the outputs o and z (or log z) are kept. The backward pass computes each tile again:
with the gradient g of the outputs, that of k is :math:`(g_i^\top v_j - g_i^\top o_i) / z_i`, and
that of its logarithm k times as much.

This file requires torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS, COLUMNS = 512, 512  # of a tile: smaller ones are slower, and larger ones no faster
CAUSAL_ROWS = 256  # of a tile, half of which may be masked


class TilePlan(NamedTuple):
    """How a kernel attends.

    Attributes
    ----------
    kernel : PairKernel
    mask_rows : Tensor of shape (n,)
        The entry of the mask for each query.
    causal : bool
    dropout : float
    scale : float
    """

    kernel: Any
    mask_rows: Tensor
    causal: bool
    dropout: float
    scale: float


class Tile(NamedTuple):
    """A part of the samples, and of their queries and keys."""

    samples: slice
    rows: slice
    columns: slice


def attend_by_tiles(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, plan: TilePlan
) -> Tensor:
    """Outputs (n, l, e) for q (n, l, d), k (n, s, d), v (n, s, e) and a mask (m, l or 1, s or 1).

    Gradients reach q, k, v, a mask of numbers, and the parameters of the kernel.
    """
    seed = int(torch.randint(2**32, ())) if plan.dropout > 0 else 0
    return _Tiles.apply(query, key, value, mask, plan, seed, *plan.kernel.parameters())


class _Tiles(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, plan: TilePlan,
        seed: int, *parameters: Tensor,
    ) -> Tensor:  # fmt: skip
        out = query.new_empty(*query.shape[:2], value.shape[-1])
        norms = query.new_empty(*query.shape[:2], 1)
        drop, logs = _Drop(plan.dropout, seed, query.device), plan.kernel.exponentiated
        after_mask = partial(masked, mask=mask, mask_rows=plan.mask_rows, causal=plan.causal)
        for samples, rows, tiles in _strips(query, key, plan.causal):
            q = query[samples, rows]
            total = torch.zeros_like(out[samples, rows])
            z = torch.zeros_like(norms[samples, rows])
            top = torch.full_like(z, -torch.inf) if logs else None
            for tile in tiles:
                s = plan.kernel.values(q, key[samples, tile.columns], plan.scale)
                s = after_mask(s, tile, logs=logs)
                if top is not None:
                    before, top = top, torch.maximum(top, s.amax(-1, keepdim=True))
                    shift = torch.where(top == -torch.inf, 0, top)  # of a row without keys so far
                    s = torch.sub(s, shift).exp_()
                    shrink = torch.exp(before - shift)
                    total.mul_(shrink)
                    z.mul_(shrink)
                z += s.sum(-1, keepdim=True)
                total.baddbmm_(drop(s, tile), value[samples, tile.columns])
            out[samples, rows] = total / torch.where(z == 0, 1, z)
            if top is None:
                norms[samples, rows] = torch.where(z == 0, torch.inf, z)
            else:  # exp(s - inf) = 0 for a row without keys
                norms[samples, rows] = torch.where(z == 0, torch.inf, top + z.log())
        ctx.plan, ctx.seed = plan, seed
        ctx.save_for_backward(query, key, value, mask, out, norms)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        query, key, value, mask, out, norms = ctx.saved_tensors
        plan, kernel = ctx.plan, ctx.plan.kernel
        of_query, of_key, of_value = map(torch.zeros_like, (query, key, value))
        of_mask = torch.zeros_like(mask) if ctx.needs_input_grad[3] else None
        of_parameters = [torch.zeros_like(p) for p in kernel.parameters()]
        means = (gradient * out).sum(-1, keepdim=True)
        drop, logs = _Drop(plan.dropout, ctx.seed, query.device), kernel.exponentiated
        after_mask = partial(masked, mask=mask, mask_rows=plan.mask_rows, causal=plan.causal)
        # g v - mean is one product where nothing is dropped from g v
        ones = None if plan.dropout > 0 else F.pad(value, (0, 1), value=-1.0)
        for samples, rows, tiles in _strips(query, key, plan.causal):
            q, g, mean = (part[samples, rows] for part in (query, gradient, means))
            norm = norms[samples, rows]
            if not logs:
                g, mean = g / norm, mean / norm
            both = torch.cat([g, mean], -1)
            for tile in tiles:
                columns = tile.columns
                k, v = key[samples, columns], value[samples, columns]
                s, pull_back = kernel.differentiated(q, k, plan.scale)
                s = after_mask(s, tile, logs=logs)
                p = torch.sub(s, norm).exp_() if logs else s
                of_value[samples, columns].baddbmm_(drop(p, tile).mT, g)
                if ones is None:
                    slope = drop(g @ v.mT, tile).sub_(mean)
                else:
                    slope = both @ ones[samples, columns].mT
                if of_mask is not None:
                    _add_to_mask(of_mask, slope * p, tile, plan.mask_rows)
                if logs:
                    slope.mul_(p)
                else:
                    slope = after_mask(slope, tile, logs=False)
                of_q, of_k, *others = pull_back(slope)
                of_query[samples, rows] += of_q
                of_key[samples, columns] += of_k
                for total, part in zip(of_parameters, others):
                    total += part
        return of_query, of_key, of_value, of_mask, None, None, *of_parameters


def _strips(
    query: Tensor, key: Tensor, causal: bool
) -> Iterator[tuple[slice, slice, Iterator[Tile]]]:
    """Samples and rows, each with its tiles; short sequences share a tile."""
    (n, length, _), count = query.shape, key.shape[1]
    step = min(CAUSAL_ROWS, ROWS) if causal else ROWS
    rows, columns = min(step, length), min(COLUMNS, count)
    together = max(1, ROWS * COLUMNS // max(1, rows * columns))
    for first in range(0, n, together):
        samples = slice(first, min(first + together, n))
        for i in range(0, length, step):
            these = slice(i, min(i + step, length))
            end = min(count, these.stop) if causal else count
            yield samples, these, (
                Tile(samples, these, slice(j, min(j + COLUMNS, end)))
                for j in range(0, end, COLUMNS)
            )  # fmt: skip


def masked(
    values: Tensor, tile: Tile, *, mask: Tensor | None, mask_rows: Tensor, causal: bool, logs: bool
) -> Tensor:
    """The values of a tile, or their logarithms, after the mask."""
    nothing = -torch.inf if logs else 0.0
    if mask is not None:
        part = _part(mask, tile)[mask_rows[tile.samples]]
        if mask.dtype == torch.bool:
            values = values.masked_fill(~part, nothing)
        else:
            values = values + part if logs else values * part.exp()
    if causal and tile.columns.stop - 1 > tile.rows.start:
        i = torch.arange(tile.rows.start, tile.rows.stop, device=values.device)
        j = torch.arange(tile.columns.start, tile.columns.stop, device=values.device)
        values = values.masked_fill(j > i[:, None], nothing)
    return values


def _part(mask: Tensor, tile: Tile) -> Tensor:
    """The rows and columns of a mask at a tile, for all of its entries; a view."""
    everything = slice(None)
    rows = tile.rows if mask.shape[1] > 1 else everything
    return mask[:, rows, tile.columns if mask.shape[2] > 1 else everything]


def _add_to_mask(of_mask: Tensor, gradient: Tensor, tile: Tile, mask_rows: Tensor) -> None:
    part = _part(of_mask, tile)
    for axis in (1, 2):
        if part.shape[axis] == 1:
            gradient = gradient.sum(axis, keepdim=True)
    part.index_add_(0, mask_rows[tile.samples], gradient)


class _Drop:
    """Dropout whose draws are the same in each pass over a tile."""

    def __init__(self, share: float, seed: int, device: torch.device):
        self.share, self.seed = share, seed
        self.generator = torch.Generator(device) if share > 0 else None

    def __call__(self, values: Tensor, tile: Tile) -> Tensor:
        if self.generator is None:
            return values
        place = self.seed, tile.samples.start, tile.rows.start, tile.columns.start
        self.generator.manual_seed(hash(place) % 2**32)
        draws = torch.rand(values.shape, generator=self.generator, device=values.device)
        return values * (draws >= self.share) / (1 - self.share)
