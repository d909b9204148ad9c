"""A slow, readable twin of the native step of a learnt neighbourhood, in float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Twin:
    """The network f with softmax over distances in z = f(x), and its loss."""

    columns: int
    extra: int
    width: int
    hidden: int

    def split(self, w: np.ndarray) -> dict[str, np.ndarray]:
        """The arrays of one vector of parameters, in the order in which they stand in it."""
        d, k, h = self.columns, self.width, self.hidden
        shapes = {
            "frequencies": (d, 16), "periodic": (33, 8), "periodic_bias": (8,),
            "linear": (8 * d + self.extra, k), "linear_bias": (k,),
        }  # fmt: skip
        if h:
            shapes |= {
                "gain1": (k,), "shift1": (k,), "into": (h, k), "into_bias": (h,),
                "out": (h, k), "out_bias": (k,), "gain2": (k,), "shift2": (k,),
            }  # fmt: skip
        parts, start = {}, 0
        for name, shape in shapes.items():
            parts[name] = w[start : start + int(np.prod(shape))].reshape(shape)
            start += int(np.prod(shape))
        assert start == len(w)
        return parts

    def embed(self, w: np.ndarray, X: np.ndarray, more: np.ndarray, running=None) -> np.ndarray:
        """z of each row; batch norm by these rows, or by running means and variances."""
        p = self.split(w)
        turns = 2 * np.pi * X[:, :, None] * p["frequencies"]
        features = np.concatenate([np.cos(turns), np.sin(turns), X[:, :, None]], axis=2)
        values = np.maximum(features @ p["periodic"] + p["periodic_bias"], 0)
        encoded = np.hstack([values.reshape(len(X), -1), more])
        u = encoded @ p["linear"] + p["linear_bias"]
        if not self.hidden:
            return u
        x = _normalised(u, None if running is None else running[:2]) * p["gain1"] + p["shift1"]
        v = np.maximum(x @ p["into"].T + p["into_bias"], 0) @ p["out"] + p["out_bias"]
        return _normalised(v, None if running is None else running[2:]) * p["gain2"] + p["shift2"]

    def loss(self, w, X, more, y, weights, rows, queries: int) -> float:
        """The mean loss of the first rows, each predicted by all others; y are codes or numbers."""
        z, votes, y = self.embed(w, X[rows], more[rows]), weights[rows], y[rows]
        squares = ((z[:queries, None] - z[None]) ** 2).sum(axis=2)
        np.fill_diagonal(squares, np.inf)
        d = np.sqrt(squares)
        e = np.exp(d.min(axis=1, keepdims=True) - d) * votes
        P = e / e.sum(axis=1, keepdims=True)
        if y.dtype.kind == "i":
            right = (P * (y[:queries, None] == y)).sum(axis=1)
            losses = -np.log(np.maximum(right, 1e-7))
        else:
            losses = ((P @ y - y[:queries]) ** 2).mean(axis=1)
        return float(np.average(losses, weights=votes[:queries]))


def _normalised(x, running):
    mean, variance = (x.mean(axis=0), x.var(axis=0)) if running is None else running
    return (x - mean) / np.sqrt(variance + 1e-5)


def smoothed(Zq, Zc, Y, weights, tau: float) -> np.ndarray:
    """The means of Y with weights w_j exp(-tau |z_i - z_j|)."""
    d = np.sqrt(((Zq[:, None] - Zc[None]) ** 2).sum(axis=2))
    e = np.exp(tau * (d.min(axis=1, keepdims=True) - d)) * weights
    return e @ Y / e.sum(axis=1, keepdims=True)
