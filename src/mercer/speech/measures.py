"""How good enhanced speech is: by its samples, by its mask, and by models of what people hear."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mercer.speech.audio import INSTALL, RATES, check_samples, own_rate, resampled

STRETCH = 0.4  # seconds of one comparison: 30 frames


def si_sdr(clean: Any, estimate: Any) -> float:
    r"""Scale-invariant signal-to-distortion ratio in dB; larger is better.

    .. math:: 10 \log_{10} \frac{\|c s\|^2}{\|c s - x\|^2}, \qquad c = \frac{s^\top x}{\|s\|^2}

    The speech s and an estimate x of it have the shape (n,).

    References
    ----------
    Le Roux, Wisdom, Erdogan & Hershey, "SDR - half-baked or well done?", ICASSP 2019.

    Examples
    --------
    >>> s = np.array([1.0, -1.0, 1.0, -1.0])
    >>> round(si_sdr(s, 3 * s + np.array([0.3, 0.3, -0.3, -0.3])), 2)
    20.0
    """
    s, x = _alike(clean, estimate)
    energy = float(s @ s)
    if energy == 0:
        raise ValueError("clean is silent: the ratio is not defined.")
    target = (float(s @ x) / energy) * s
    error = float(np.sum((target - x) ** 2))
    size = float(target @ target)
    if size == 0:
        return -np.inf
    return np.inf if error == 0 else float(10 * np.log10(size / error))


def stoi(clean: Any, estimate: Any, sample_rate: int = 16_000) -> float:
    """Short-time objective intelligibility, about 0 to 1; larger is better.

    The package pystoi computes it, which the ``speech`` extra installs.

    Raises
    ------
    ImportError
        The package is not installed; the message says what to install.
    ValueError
        The clean speech is silent, or there are less than about 0.4 seconds of it.

    References
    ----------
    Taal, Hendriks, Heusdens & Jensen, "An algorithm for intelligibility prediction of
    time-frequency weighted noisy speech", IEEE TASLP 19, 2011.

    Examples
    --------
    >>> speech = np.random.default_rng(0).normal(size=16_000)
    >>> round(stoi(speech, speech), 2)
    1.0
    """
    try:
        from pystoi import stoi as measured
    except ImportError:
        raise ImportError(f"stoi needs pystoi: {INSTALL}") from None
    s, x = _alike(clean, estimate, sample_rate)
    if not s.any():
        raise ValueError("clean is silent: STOI is not defined.")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Not enough STFT frames")
            if len(s) >= STRETCH * sample_rate:
                return float(measured(s, x, sample_rate))
    except RuntimeWarning:  # what is left without the pauses
        pass
    raise ValueError(
        f"clean has too little speech: STOI compares stretches of {STRETCH} seconds without "
        "pauses. Give a longer recording."
    )


def pesq(clean: Any, estimate: Any, sample_rate: int = 16_000) -> float:
    """Perceptual evaluation of speech quality (wide band), 1 to 4.6; larger is better.

    The package pesq computes it, which has to be compiled and is not part of the extra:
    ``pip install pesq``.

    Raises
    ------
    ImportError
        The package is not installed; the message says what to install.
    ValueError
        It cannot judge these: one is silent, has no speech, or is shorter than a quarter second.

    References
    ----------
    ITU-T Recommendations P.862, 2001, and P.862.2, 2007.
    """
    try:
        import pesq as package
    except ImportError:
        raise ImportError("pesq needs the package of that name: pip install pesq") from None
    s, x = (resampled(part, sample_rate, 16_000) for part in _alike(clean, estimate, sample_rate))
    for name, part in (("clean", s), ("estimate", x)):
        if not part.any():
            raise ValueError(f"{name} is silent: PESQ is not defined.")
    try:
        return float(package.pesq(16_000, s, x, "wb"))
    except package.PesqError as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"PESQ cannot judge these recordings: {reason}.") from None


def _alike(
    clean: np.ndarray, estimate: np.ndarray, sample_rate: int = RATES[0]
) -> tuple[np.ndarray, np.ndarray]:
    """Two recordings of as many samples, checked."""
    own_rate(sample_rate)  # refuses what is no rate
    s = check_samples(clean, "clean").astype(np.float64)
    x = check_samples(estimate, "estimate").astype(np.float64)
    if len(s) != len(x):
        raise ValueError(
            f"clean has {len(s)} samples and estimate {len(x)}: give the same moments of both."
        )
    return s, x
