"""Gram matrices on another device, by torch: an operator, its factor, and a maker of operators."""

import numpy as np
import torch

from mercer.gram import GramFactor, GramOperator
from mercer.kernels import RBF

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class TorchGram(GramOperator):
    """K as a tensor that stays on its device; only products and rows leave it."""

    cheap = frozenset({"rows", "factorise"})

    def __init__(self, K, symmetric, place):
        self.K, self.symmetric, self.place = K, symmetric, place
        self.shape, self.dtype = tuple(K.shape), K.new_empty(0).cpu().numpy().dtype

    def block(self, i, j):
        return self.K[i][:, j].clone().cpu().numpy()

    def diag(self):
        return self.K.diagonal().clone().cpu().numpy()

    def __matmul__(self, V):
        V = torch.as_tensor(np.asarray(V), device=DEVICE)
        wide = torch.promote_types(self.K.dtype, V.dtype)
        return (self.K.to(wide) @ V.to(wide)).cpu().numpy()

    def part(self, i, j=None):
        K = self.K[i][:, i if j is None else j]
        return TorchGram(K, self.symmetric and (j is None or j is i), self.place)

    def scaled(self, factors):
        s = torch.as_tensor(factors, device=DEVICE).to(self.K.dtype)
        return TorchGram(s[:, None] * self.K * s, True, self.place)

    def factorise(self, shift=0.0, dtype=None):
        K = self.K.double() if dtype == np.float64 else self.K
        L, failed = torch.linalg.cholesky_ex(K + shift * torch.eye(len(K)).to(K))
        if failed:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        return TorchFactor(L)

    def eigenpairs(self, memory=None):
        values, Q = torch.linalg.eigh(self.K)
        return values.cpu().numpy(), Q.cpu().numpy()


class TorchFactor(GramFactor):
    """L of A = L Lᵀ, on its device."""

    def __init__(self, L):
        self.L = L

    def solve(self, B):
        B = torch.as_tensor(B, device=DEVICE).to(self.L.dtype)
        return torch.cholesky_solve(B, self.L).double().cpu().numpy()

    def inverse_diagonal(self):
        return torch.cholesky_inverse(self.L).diagonal().double().cpu().numpy()


def torch_gram(kernel, X, Z, place):
    """The maker: it serves Gaussian kernels of dense vectors, and leaves others to the others."""
    if not (isinstance(kernel, RBF) and isinstance(X, np.ndarray)):
        return None
    x, z = (torch.as_tensor(np.asarray(side), device=DEVICE) for side in (X, Z))
    exact = "donot_use_mm_for_euclid_dist"
    K = torch.exp(-kernel.gamma * torch.cdist(x, z, compute_mode=exact) ** 2)
    return TorchGram(K, Z is X, place)
