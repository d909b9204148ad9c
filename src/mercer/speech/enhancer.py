"""Speech enhancement by kernel regression: each frame's mask from the sound of the frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import KW_ONLY, field
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import Seed, estimator
from mercer.kernels import ExponentialPower
from mercer.learners.ridge import KernelRidge
from mercer.persistence import fields
from mercer.samples import describe
from mercer.speech.audio import (
    USED,
    WIDTH,
    Frames,
    check_samples,
    own_rate,
    resampled,
    whole_features,
)
from mercer.threads import fitting

# γ and σ of the kernel by their error on mixtures that were left out, on a part of the frames.


POWERS = (0.5, 0.7, 1.0, 1.4, 2.0)
FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of the median distance to the power γ
USUAL = 2.0  # the factor of "median"
SOME = 500  # rows that the median distance is of
ROWS, RANK = 8000, 300  # of the machines that are compared


def best_kernel(
    F: np.ndarray,
    y: np.ndarray,
    owners: np.ndarray,
    power: float | str,
    scale: float | str,
    alpha: float,
    random: Any,
) -> ExponentialPower:
    """The kernel with the given γ and σ, or with those that predict left-out mixtures best.

    First γ is searched at the usual σ, then σ at the best γ.
    """
    middle = middle_distance(F, random)
    _check("power", power, "search")
    _check("scale", scale, "median", "search")
    powers = POWERS if power == "search" else (power,)

    def kernel(γ: Any, factor: float) -> ExponentialPower:
        return ExponentialPower(factor * middle**γ if isinstance(scale, str) else scale, γ)

    factors = FACTORS if scale == "search" else (USUAL,)
    if len(powers) == len(factors) == 1:
        return kernel(powers[0], USUAL)
    rows = random.choice(len(F), min(len(F), ROWS), replace=False)
    held = owners[rows] % 5 == 0 if len(np.unique(owners)) >= 5 else np.arange(len(rows)) % 5 == 0
    seed = random.randint(2**31)

    def error(γ: Any, factor: float) -> float:
        machine = KernelRidge(
            alpha * np.sum(~held), kernel=kernel(γ, factor), solver="low_rank",
            rank=min(RANK, len(rows)), random_state=seed,
        )  # fmt: skip
        machine.fit(F[rows[~held]], y[rows[~held]])
        return float(np.mean((machine.predict(F[rows[held]]) - y[rows[held]]) ** 2))

    γ = powers[0] if len(powers) == 1 else min(powers, key=lambda γ: error(γ, USUAL))
    factor = factors[0] if len(factors) == 1 else min(factors, key=lambda f: error(γ, f))
    return kernel(γ, factor)


def _check(name: str, value: float | str, *words: str) -> None:
    if isinstance(value, str) and value not in words:
        raise ValueError(f"{name}={value!r}: give a number or {' or '.join(map(repr, words))}.")


def middle_distance(F: np.ndarray, random: Any) -> float:
    """The median distance of some rows; 1 where all are equal."""
    rows = random.choice(len(F), min(len(F), SOME), replace=False)
    found = float(np.median(pdist(F[rows]))) if len(rows) > 1 else 0.0
    return found if found > 0 else 1.0


LEARNT = 122  # bins, up to 3,800 Hz: recordings at 8,000 samples a second end there
COPIED = slice(109, 122)  # their mean gain is that of all bins above
STRIP = 2048  # frames whose masks are computed at once


@fields()
class Band(NamedTuple):
    """The machine of neighbouring bins: f(x) = mean + k(x, centres) coef."""

    kernel: ExponentialPower
    centres: np.ndarray
    coef: np.ndarray
    mean: np.ndarray

    def mask(self, F: np.ndarray) -> np.ndarray:
        """Gains of some frames, before they are clipped."""
        return self.kernel(F, self.centres.astype(F.dtype)) @ self.coef.astype(F.dtype) + self.mean


class Enhanced(NamedTuple):
    """A recording before and after.

    Attributes
    ----------
    samples : ndarray of shape (n,)
        The enhanced samples, at the rate of the recording.
    mask : ndarray of shape (frames, bins)
        The gain of each frame and bin.
    before, after : ndarray of shape (frames, bins)
        Power of the recording, and of the result.
    hop : float
        Seconds from one frame to the next.
    bin : float
        Hz from one bin to the next.

    Examples
    --------
    >>> power = np.ones((100, 257))
    >>> found = Enhanced(np.zeros(16_000), np.sqrt(power / 4), power, power / 4)
    >>> len(found.mask) * found.hop, (found.mask.shape[1] - 1) * found.bin
    (1.0, 8000.0)
    """

    samples: np.ndarray
    mask: np.ndarray
    before: np.ndarray
    after: np.ndarray
    hop: float = 0.01
    bin: float = 31.25


@estimator
class SpeechEnhancer(TransformerMixin, BaseEstimator):
    r"""Removes noise from speech by a mask of gains, learnt by kernel regression.

    For each frame of 32 ms and each frequency bin the target is the ideal ratio mask
    :math:`\sqrt{S^2 / (S^2 + N^2)}` of speech S and noise N. It is learnt from the loudness of 40
    bands in the frame, its neighbours and the noise floor, with the exponential power kernel

    .. math:: k(x, z) = \exp(-\|x - z\|^γ / σ).

    A new recording's spectrum is multiplied by the mask and turned back into samples, with the
    phase that it has.

    Parameters
    ----------
    power : float in (0, 2] or "search"
        γ. "search" tries several on a tenth of the mixtures, and keeps the one of least error.
    scale : float > 0, "median" or "search"
        σ. "median" is twice the median distance of rows to the power γ; "search" tries several
        factors of it.
    alpha : float >= 0
        Penalty, for each training frame.
    rank : int
        Centres of the low-rank machine.
    solver : "low_rank" or solver value
        How the regression is solved. A value such as ``mercer.solvers.EigenProSolver(epochs=5)``
        keeps all training frames.
    bands : int
        Machines, each for a part of the frequencies and with its own searched kernel.
    floor : float in [0, 1)
        Least gain: a rest of the noise sounds more natural than silence.
    max_frames : int
        Training frames, which are drawn from those of all mixtures.
    random_state : int, RandomState or None
        Seed for drawing frames and centres.

    Attributes
    ----------
    powers_, scales_ : ndarray of shape (bands,)
        γ and σ of each machine.
    error_ : float
        Mean squared error of the mask on the training frames.
    n_features_in_ : int
        Features of a frame, 160.

    Notes
    -----
    Recordings at 8,000 samples a second are worked on as they are, others at 16,000; the mask is
    learnt up to 3,800 Hz, and bins above get the mean gain of those just below. One fit takes
    O(frames · rank²) operations. Statistics are of the whole recording; `stream` has those of what
    came before.

    References
    ----------
    Hui, Ma & Belkin, "Kernel machines beat deep neural networks on mask-based single-channel speech
    enhancement", Interspeech 2019.

    Examples
    --------
    >>> from mercer.speech import SpeechEnhancer, make_scenes, si_sdr
    >>> t = np.arange(8000) / 8000
    >>> voice = np.sin(600 * t + 9 * np.sin(20 * t)) * (np.sin(15 * t) > 0)
    >>> scenes = make_scenes([voice], scenes=6, seconds=1.0, sample_rate=8000)
    >>> model = SpeechEnhancer(rank=50, random_state=0)
    >>> model = model.fit(scenes.noisy, scenes.clean, sample_rate=8000)
    >>> noisy, clean = scenes.noisy[0], scenes.clean[0]
    >>> si_sdr(clean, model.enhance(noisy, 8000).samples) > si_sdr(clean, noisy)
    True
    """

    power: float | str = 1.4
    scale: float | str = "median"
    _: KW_ONLY
    alpha: float = 1e-6
    rank: int = 2000
    solver: Any = "low_rank"
    bands: int = 1
    floor: float = 0.05
    max_frames: int = 40_000
    n_jobs: int | None = None
    memory: int | str | None = None
    random_state: Seed = None

    machines_: list[Band] = field(init=False)

    @fitting
    def fit(self, X: Sequence[Any], y: Sequence[Any], *, sample_rate: int = 16_000) -> Self:
        """Fit to noisy recordings X and the clean speech y in them.

        Parameters
        ----------
        X, y : lists of arrays of shape (n_i,)
            Mixtures, and the clean speech of the same moments; `make_scenes` makes both.
        sample_rate : int
            Samples a second of all of them.
        """
        self._check()
        random = check_random_state(self.random_state)
        F, masks, owners = training_frames(X, y, sample_rate, self.max_frames, random)
        self.centre_ = F.mean(axis=0)
        self.spread_ = np.maximum(F.std(axis=0), 1e-6)
        F = (F - self.centre_) / self.spread_
        self.n_features_in_ = WIDTH
        self.machines_ = []
        for bins in np.array_split(np.arange(LEARNT), self.bands):
            self.machines_.append(self._fit_band(F, masks[:, bins], owners, random))
        self.powers_ = np.array([machine.kernel.power for machine in self.machines_])
        self.scales_ = np.array([machine.kernel.scale for machine in self.machines_])
        self.error_ = float(np.mean((self._gains(F) - masks) ** 2))
        return self

    def _fit_band(self, F: np.ndarray, masks: np.ndarray, owners: np.ndarray, random: Any) -> Band:
        """The ridge machine of one band."""
        # min Σ (m - mean - f(x))² + λ ‖f‖²  over f of the centres
        mean = masks.mean(axis=0)
        kernel = best_kernel(F, masks - mean, owners, self.power, self.scale, self.alpha, random)
        seed = random.randint(2**31)
        machine = KernelRidge(
            self.alpha * len(F), kernel=kernel, solver=self.solver, rank=self.rank,
            n_jobs=self.n_jobs, memory=self.memory, random_state=seed,
        ).fit(F, masks - mean)  # fmt: skip
        rows = machine.centres_ if machine.solver_ == "low_rank" else slice(None)
        return Band(kernel, F[rows], machine.dual_coef_.astype(F.dtype), mean.astype(F.dtype))

    def enhance(self, recording: Any, sample_rate: int = 16_000) -> Enhanced:
        """One recording before and after, with its mask."""
        check_is_fitted(self, "machines_")
        x = check_samples(recording, "recording")
        rate = own_rate(sample_rate)
        frames = Frames(rate)
        # a copy of the working rate, at most once up and once down
        inner = resampled(x, sample_rate, rate)
        S = frames.spectra(inner)
        power = np.abs(S) ** 2
        mask = self.mask_of(whole_features(power), S.shape[1])
        samples = resampled(frames.waveform(S * mask, len(inner)), rate, sample_rate)
        samples = np.pad(samples, (0, max(0, len(x) - len(samples))))[: len(x)]
        return Enhanced(samples.astype(x.dtype), mask, power, power * mask**2)

    def transform(self, X: Sequence[Any], sample_rate: int = 16_000) -> list[np.ndarray]:
        """Enhanced samples of each recording of a list."""
        if not isinstance(X, (Sequence, np.ndarray)) or isinstance(X, (str, bytes)):
            raise TypeError(f"X is {describe(X)}: give a list of recordings.")
        if isinstance(X, np.ndarray) and X.ndim < 2 and X.dtype != object:
            raise ValueError("X is one recording: give a list of recordings, or call enhance(X).")
        return [self.enhance(x, sample_rate).samples for x in X]

    def halved(self) -> SpeechEnhancer:
        """A copy whose arrays have half precision: half the size, and the same masks to .001."""
        check_is_fitted(self, "machines_")
        small = copy(self)
        small.machines_ = [
            band._replace(
                centres=band.centres.astype(np.float16), coef=band.coef.astype(np.float16)
            )
            for band in self.machines_
        ]
        return small

    @classmethod
    def pretrained(cls) -> SpeechEnhancer:
        """The model that comes with the package.

        It was made by ``benchmarks/speech_model.py`` from the Free Spoken Digit Dataset and from
        noise made by program; ``mercer/data/README.md`` has its licence.
        """
        from importlib.resources import as_file, files

        from mercer.persistence import load

        with as_file(files("mercer") / "data" / "speech.mercer") as path:
            return load(path)

    def _gains(self, F: np.ndarray) -> np.ndarray:
        """Gains (frames, LEARNT) of standardised features."""
        out = np.empty((len(F), LEARNT), F.dtype)
        for s in range(0, len(F), STRIP):
            parts = [band.mask(F[s : s + STRIP]) for band in self.machines_]
            out[s : s + STRIP] = np.hstack(parts)
        return np.clip(out, self.floor, 1, out=out)

    def mask_of(self, features: np.ndarray, bins: int) -> np.ndarray:
        """Gains (frames, bins) of features that are not standardised yet: (frames, 160)."""
        gains = self._gains((features - self.centre_) / self.spread_)
        above = gains[:, COPIED].mean(axis=1, keepdims=True)
        return np.hstack([gains, np.broadcast_to(above, (len(gains), bins - LEARNT))])

    def _check(self) -> None:
        """Refuse parameters out of their ranges."""
        if not 0 <= self.floor < 1:
            raise ValueError(f"floor={self.floor}: give a gain of at least 0 and less than 1.")
        for name, least in (("rank", 1), ("bands", 1), ("max_frames", 10)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ValueError(f"{name}={value!r}: give a whole number, at least {least}.")
        if self.bands > LEARNT:
            raise ValueError(f"bands={self.bands}: there are {LEARNT} bins to share among them.")


def training_frames(
    X: Iterable[Any], y: Iterable[Any], sample_rate: int, most: int, random: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, ideal masks and the number of the recording, of frames drawn from all mixtures."""
    X, y = list(X), list(y)
    if len(X) != len(y) or not X:
        raise ValueError(
            f"X has {len(X)} recordings and y {len(y)}: give the clean speech of each mixture."
        )
    rate = own_rate(sample_rate)
    frames = Frames(rate)
    features, masks, owners = [], [], []
    for i, (noisy, clean) in enumerate(zip(X, y)):
        noisy, clean = check_samples(noisy, f"X[{i}]"), check_samples(clean, f"y[{i}]")
        if len(noisy) != len(clean):
            raise ValueError(
                f"X[{i}] has {len(noisy)} samples and y[{i}] {len(clean)}: give the same moments."
            )
        noisy, clean = (resampled(x, sample_rate, rate) for x in (noisy, clean))
        F = whole_features(np.abs(frames.spectra(noisy)) ** 2)
        features.append(F)
        masks.append(ideal_mask(noisy, clean, frames)[:, :LEARNT])
        owners.append(np.full(len(F), i))
    F, M, owner = np.concatenate(features), np.concatenate(masks), np.concatenate(owners)
    if len(F) > most:
        rows = np.sort(random.choice(len(F), most, replace=False))
        F, M, owner = F[rows], M[rows], owner[rows]
    return F, M.astype(np.float32), owner


def ideal_mask(noisy: np.ndarray, clean: np.ndarray, frames: Frames) -> np.ndarray:
    """sqrt(S² / (S² + N²)) of each frame and bin up to 4,000 Hz, and 0 where both are silent."""
    S = np.abs(frames.spectra(clean))[:, :USED] ** 2
    N = np.abs(frames.spectra(noisy - clean))[:, :USED] ** 2
    both = S + N
    return np.sqrt(np.divide(S, both, out=np.zeros_like(S), where=both > 0))
