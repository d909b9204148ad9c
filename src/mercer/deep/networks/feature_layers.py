"""Explicit features of kernels as modules of torch, for networks of any kind.

This file requires torch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Tensor, nn

from mercer.deep.torch_layers import checked
from mercer.estimator import Seed
from mercer.gram import Place, PreparedSide, gram
from mercer.kernels import RBF, ArcCosine, Kernel
from mercer.learners.features import different_centres, frequencies, principal_axes
from mercer.samples import Samples

ROWS = 500  # rows of which the median distance is taken


class KernelFeatures(nn.Module):
    """Abstract: features of x / σ, with a length scale σ that may be learnt.

    Attributes
    ----------
    out_features : int
    log_scale : Parameter
        log σ.
    """

    out_features: int
    log_scale: nn.Parameter

    def __init__(self, length_scale: float, learn_scale: bool):
        super().__init__()
        value = torch.tensor(math.log(length_scale))
        self.log_scale = nn.Parameter(value, requires_grad=learn_scale)

    @torch.no_grad()
    def set_scale(self, x: Tensor) -> None:
        """Let σ be the median distance between some rows of x (n, d); 1 if that is 0."""
        distances = torch.pdist(x[:ROWS])
        median = float(distances.median()) if len(distances) else 0.0
        self.log_scale.fill_(math.log(median) if 0 < median < math.inf else 0.0)


class FourierFeatures(KernelFeatures):
    r"""Random Fourier features of a radial kernel:

    .. math:: \varphi(x) = \frac{1}{\sqrt D}
              [\cos(\Omega x / \sigma), \sin(\Omega x / \sigma)], \qquad
              \varphi(x)^\top \varphi(z) \approx k(x / \sigma, z / \sigma)

    Rows of shape (b, d) become features of shape (b, 2 D).

    Parameters
    ----------
    in_features : int
        d, the numbers of a row.
    kernel : Kernel, optional
        A radial kernel of a Minkowski distance with p <= 2, such as `RBF`, `Laplacian`, `Matern`,
        `RationalQuadratic` or `ExponentialPower`. None means ``RBF(0.5)``.
    n_features : int, default=128
        D, the number of frequencies; there are 2 D features.
    length_scale : float > 0, default=1.0
        σ at first.
    learn_scale : bool, default=True
        Whether σ is a parameter that training changes; the frequencies are not.
    random_state : int, RandomState or None
        Seed of the frequencies; None draws one from torch's generator.

    References
    ----------
    Rahimi & Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import FourierFeatures
    >>> layer = FourierFeatures(3, n_features=5000, random_state=0)
    >>> x = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> phi = layer(x)
    >>> phi.shape, bool(abs(phi[0] @ phi[1] - 0.6065) < 0.02)
    (torch.Size([2, 10000]), True)
    """

    def __init__(
        self, in_features: int, kernel: Kernel | None = None, n_features: int = 128, *,
        length_scale: float = 1.0, learn_scale: bool = True, random_state: Seed = None,
    ):  # fmt: skip
        super().__init__(length_scale, learn_scale)
        kernel = RBF(0.5) if kernel is None else kernel
        rng = seeded(random_state)
        W = frequencies(kernel, in_features, n_features, rng, "layer")
        self.register_buffer("frequencies", torch.tensor(W, dtype=torch.get_default_dtype()))
        self.out_features = 2 * n_features
        factor = 1.0 if kernel.formula is None else kernel.formula.factor
        self.amplitude = math.sqrt(factor / n_features)

    frequencies: Tensor

    def forward(self, x: Tensor) -> Tensor:
        x = checked("x", x, self.frequencies.shape[1], self.frequencies)
        angles = (x * torch.exp(-self.log_scale)) @ self.frequencies.T
        return self.amplitude * torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)


class ArcCosineFeatures(KernelFeatures):
    r"""Random features of the arc-cosine kernel of degree n:

    .. math:: \varphi(x) = \sqrt{2 / D}\, \max(0, W x / \sigma)^n

    Rows of shape (b, d) become features of shape (b, D); n = 0 is the step function.

    Parameters
    ----------
    in_features : int
        d, the numbers of a row.
    degree : {0, 1, 2}, default=1
        n. Steps (0) have no slope: what lies below such a layer does not learn through it.
    n_features : int, default=128
        D, the number of features.
    length_scale : float > 0, default=1.0
        σ at first.
    learn_scale : bool, default=True
        Whether σ is a parameter that training changes; the directions W are not.
    random_state : int, RandomState or None
        Seed of the directions; None draws one from torch's generator.

    References
    ----------
    Cho & Saul, "Kernel methods for deep learning", NIPS 2009.

    Examples
    --------
    >>> import torch
    >>> from mercer.deep import ArcCosineFeatures
    >>> layer = ArcCosineFeatures(2, degree=1, n_features=20_000, random_state=0)
    >>> phi = layer(torch.eye(2))
    >>> bool(abs(phi[0] @ phi[1] - 1 / torch.pi) < 0.02)
    True
    """

    def __init__(
        self, in_features: int, degree: int = 1, n_features: int = 128, *,
        length_scale: float = 1.0, learn_scale: bool = True, random_state: Seed = None,
    ):  # fmt: skip
        super().__init__(length_scale, learn_scale)
        ArcCosine(degree).validate()
        W = seeded(random_state).normal(size=(n_features, in_features))
        self.register_buffer("directions", torch.tensor(W, dtype=torch.get_default_dtype()))
        self.degree, self.out_features = int(degree), n_features

    directions: Tensor

    def forward(self, x: Tensor) -> Tensor:
        x = checked("x", x, self.directions.shape[1], self.directions)
        inner = (x * torch.exp(-self.log_scale)) @ self.directions.T
        factor = math.sqrt(2 / self.out_features)
        if self.degree == 0:
            return factor * (inner > 0).to(inner)
        units = inner.clamp_min(0)
        return factor * (units if self.degree == 1 else units * units)


class NystroemFeatures(nn.Module):
    r"""Features of samples of any kind by any kernel:

    .. math:: \varphi(x) = k(x, Z)\, P, \qquad P P^\top = k(Z, Z)^{+}

    At the centres Z it is exact: φ(z)ᵀ φ(z′) = k(z, z′).

    It is a first layer: it reads a list of samples, an array or a frame, and returns a tensor.

    Parameters
    ----------
    kernel : Kernel
        A positive semidefinite kernel on the samples.
    samples : list or array of n samples
        Samples among which the centres are drawn, and to which the kernel is bound.
    n_features : int, default=200
        The most centres, and so the most features.
    n_jobs : int or None
        Threads for the values of the kernel; None means all cores.
    random_state : int, RandomState or None
        Seed of the centres; None draws one from torch's generator.

    Notes
    -----
    No gradient passes to the samples. Features are those of the principal axes of the centres, the
    longest first.

    References
    ----------
    Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.

    Examples
    --------
    >>> from mercer.deep import NystroemFeatures
    >>> from mercer.kernels import Spectrum
    >>> words = ["abba", "baab", "cddc"]
    >>> layer = NystroemFeatures(Spectrum(2), words, random_state=0)
    >>> phi = layer(words)
    >>> phi.shape, (phi @ phi.T).round().tolist() == Spectrum(2)(words).tolist()
    (torch.Size([3, 3]), True)
    """

    def __init__(
        self, kernel: Kernel, samples: Samples, n_features: int = 200, *, n_jobs: int | None = None,
        random_state: Seed = None,
    ):  # fmt: skip
        super().__init__()
        kernel.validate()
        X = kernel.encode(plain(samples))
        self.kernel, self._place = kernel.bind(X), Place(n_jobs=n_jobs)
        n = X.shape[0]
        drawn = seeded(random_state).permutation(n)[:n_features]
        with np.errstate(all="ignore"):
            K = np.asarray(gram(self.kernel, X[drawn], place=self._place).dense(), np.float64)
        if not np.isfinite(K).all():
            raise ValueError(f"{self.kernel!r} is beyond the range of floats: scale the samples.")
        kept = different_centres(K)
        self._centres = PreparedSide(self.kernel, X[drawn[kept]])
        axes = principal_axes(K[np.ix_(kept, kept)])
        self.register_buffer("axes", torch.tensor(axes, dtype=torch.get_default_dtype()))
        self.out_features = axes.shape[1]

    axes: Tensor

    def forward(self, samples: Any) -> Tensor:
        if isinstance(samples, Tensor) and samples.ndim == 2 and not len(samples):
            return self.axes.new_zeros(0, self.out_features)  # kernels have no answer to no rows
        X = self.kernel.encode(plain(samples), self._centres.samples)
        K = gram(self.kernel, X, self._centres, place=self._place).dense()
        return torch.as_tensor(K).to(self.axes) @ self.axes


def plain(samples: Any) -> Any:
    """A tensor as an array, without its gradient; other samples as they are."""
    if not isinstance(samples, Tensor):
        return samples
    if samples.is_meta or samples.layout != torch.strided:
        raise TypeError(f"samples is a tensor of {samples.device}, {samples.layout}: give numbers.")
    samples = samples.detach().cpu()
    half = samples.dtype in (torch.bfloat16, torch.float16)
    return (samples.float() if half else samples).numpy()


def feature_layer(
    kernel: Kernel | None, in_features: int, n_features: int, random_state: Seed
) -> KernelFeatures:
    """The layer of a kernel: arc-cosine or random Fourier features."""
    if isinstance(kernel, ArcCosine) and kernel.layers == 1:
        return ArcCosineFeatures(in_features, kernel.degree, n_features, random_state=random_state)
    return FourierFeatures(in_features, kernel, n_features, random_state=random_state)


def seeded(random_state: Seed) -> np.random.RandomState:
    """A generator; without a seed, one that follows ``torch.manual_seed``."""
    if random_state is None:
        random_state = int(torch.randint(2**31 - 1, (1,)))
    return check_random_state(random_state)
