"""Noise made by program: what a speech enhancer learns to take away, without any recording of it.

Each kind is a function of a length, a rate and a random generator. All are scaled to mean square 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.signal import butter, sosfilt

Maker = Callable[[int, int, np.random.Generator], np.ndarray]


def white(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """Noise of equal power at all frequencies."""
    return unit(random.standard_normal(n))


def pink(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """Noise whose power falls as 1 / f."""
    return _shaped(n, rate, random, slope=1.0)


def coloured(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """Noise whose power falls as a random power of f, up to f⁻³, with up to 12 dB more or less."""
    return _shaped(n, rate, random, slope=random.uniform(0, 3), spread=12.0)


def modulated(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """Coloured noise that swells and fades, as traffic and wind do."""
    knots = np.arange(0, n / rate + 0.4, 0.4)  # seconds
    swell = np.interp(np.arange(n) / rate, knots, random.normal(0, 8, len(knots)))
    return unit(coloured(n, rate, random) * 10 ** (swell / 20))


def hum(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """The mains at 50 or 60 Hz with its overtones, over a little noise."""
    t, base = np.arange(n) / rate, random.choice([50.0, 60.0]) * random.uniform(0.99, 1.01)
    out = 0.1 * random.standard_normal(n)
    for k in range(1, 30):
        out += random.exponential(1 / k) * np.sin(2 * np.pi * (base * k * t + random.random()))
    return unit(out)


def engine(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """Overtones of a pitch that wanders between 40 and 200 Hz, over coloured noise."""
    knots = random.uniform(40, 200) * np.exp(np.cumsum(random.normal(0, 0.1, n // rate + 3)))
    pitch = np.interp(np.arange(n), np.arange(len(knots)) * rate, np.clip(knots, 30, 400))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    tones = [random.exponential(k**-0.5) * np.sin(k * phase) for k in range(1, 16)]
    return unit(unit(np.sum(tones, axis=0)) + 0.5 * coloured(n, rate, random))


def band(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """White noise within an octave or so."""
    centre = np.exp(random.uniform(np.log(200), np.log(0.3 * rate)))
    edges = np.clip(centre * np.array([0.7, 1.4]), 50, 0.49 * rate)
    sections = butter(2, edges, "bandpass", fs=rate, output="sos")
    return unit(np.asarray(sosfilt(sections, random.standard_normal(n))))


def clatter(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """Short ringing bursts, as of dishes and keys, over a little noise."""
    out = 0.03 * random.standard_normal(n)
    for start in random.integers(0, max(1, n - rate // 20), max(1, int(n / rate * 6))):
        t = np.arange(min(n - start, rate // 3)) / rate
        decay = np.exp(-t / random.uniform(0.01, 0.08))
        tones = sum(
            np.sin(2 * np.pi * random.uniform(400, 0.45 * rate) * t + random.uniform(0, 6))
            for _ in range(4)
        )
        out[start : start + len(t)] += random.exponential(1.0) * decay * tones
    return unit(out)


def babble_of(voices: Sequence[np.ndarray], rate: int) -> Maker:
    """A maker of noise from 4 to 12 voices at once, each of random pieces of the recordings."""

    def babble(n: int, _rate: int, random: np.random.Generator) -> np.ndarray:
        out = np.zeros(n)
        for _ in range(random.integers(4, 13)):
            parts, length = [], 0
            while length < n:
                parts.append(unit(voices[int(random.integers(len(voices)))]))
                length += len(parts[-1])
            out += np.roll(np.concatenate(parts)[:n], random.integers(n))
        return unit(out)

    return babble


def speech_shaped_of(voices: Sequence[np.ndarray]) -> Maker:
    """A maker of noise with the spectrum of one of the recordings, and no words."""

    def speech_shaped(n: int, rate: int, random: np.random.Generator) -> np.ndarray:
        size = np.abs(np.fft.rfft(unit(voices[int(random.integers(len(voices)))]), n))
        angle = np.exp(2j * np.pi * random.random(len(size)))
        return unit(np.fft.irfft(size * angle, n))

    return speech_shaped


def kinds(voices: Sequence[np.ndarray], rate: int) -> list[Maker]:
    """The makers that training scenes choose from; those that vary most are there twice."""
    varied = [coloured, modulated, clatter, babble_of(voices, rate)]
    return [*varied, *varied, white, pink, hum, engine, band, speech_shaped_of(voices)]


def unit(x: np.ndarray) -> np.ndarray:
    """The same sound with mean square 1; silence stays silent."""
    size = np.sqrt(np.mean(np.square(x, dtype=np.float64)))
    return x / size if size > 0 else np.array(x)


def coloured_by(x: np.ndarray, rate: int, decibels: np.ndarray, tilt: float = 0.0) -> np.ndarray:
    """A sound with gains in dB at knots spread evenly over the logarithm of the frequency, and a
    tilt in dB from the lowest knot to the highest."""
    spectrum = np.fft.rfft(x)
    hertz = np.maximum(np.fft.rfftfreq(len(x), 1 / rate), 50)
    where = np.log(hertz / 50) / np.log(0.5 * rate / 50)
    gains = np.interp(where, np.linspace(0, 1, len(decibels)), decibels) + tilt * where
    return np.fft.irfft(spectrum * 10 ** (gains / 20), len(x))


def _shaped(
    n: int, rate: int, random: np.random.Generator, slope: float, spread: float = 0.0
) -> np.ndarray:
    hertz = np.maximum(np.fft.rfftfreq(n, 1 / rate), 50)
    spectrum = np.fft.rfft(random.standard_normal(n)) * hertz ** (-slope / 2)
    x = np.fft.irfft(spectrum, n)
    return unit(coloured_by(x, rate, random.uniform(-spread, spread, 8)) if spread else x)
