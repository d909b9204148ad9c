"""Noisy speech made of clean speech and noise: one mixture, or many scenes to learn from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import butter, sosfilt
from sklearn.utils import check_random_state

from mercer.estimator import Seed
from mercer.speech.audio import check_samples, own_rate, resampled

# Noise made by program: what a speech enhancer learns to take away, without any recording of it.
#
# Each kind is a function of a length, a rate and a random generator. All are scaled to mean square
# 1.


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
    """Noise whose spectrum falls with a slope, of unit power."""
    hertz = np.maximum(np.fft.rfftfreq(n, 1 / rate), 50)
    spectrum = np.fft.rfft(random.standard_normal(n)) * hertz ** (-slope / 2)
    x = np.fft.irfft(spectrum, n)
    return unit(coloured_by(x, rate, random.uniform(-spread, spread, 8)) if spread else x)


PACE = (0.85, 1.2)  # of a recording: faster is also higher
LOUDER = 4.0  # dB, up or down, from one piece to the next
ROOM, TILT, KNOTS = 3.0, 6.0, 6  # dB: of the random room of a scene


class Scenes(NamedTuple):
    """Mixtures and the clean speech in them.

    Attributes
    ----------
    noisy, clean : list of ndarray of shape (n,)
        What ``SpeechEnhancer.fit`` takes.
    sample_rate : int

    Examples
    --------
    >>> scenes = make_scenes([np.sin(np.arange(8000.0))], scenes=2, seconds=0.5, sample_rate=8000)
    >>> len(scenes.noisy), scenes.clean[0].shape
    (2, (4000,))
    """

    noisy: list[np.ndarray]
    clean: list[np.ndarray]
    sample_rate: int


def mix(clean: Any, noise: Any, snr: float, random_state: Seed = None) -> np.ndarray:
    r"""Clean speech s with noise v at a ratio of powers:

    .. math:: x = s + g v, \qquad 10 \log_{10} \frac{\sum_i s_i^2}{\sum_i (g v_i)^2} = \mathrm{snr}

    Parameters
    ----------
    clean, noise : array of shape (n,) and (m,)
        A longer noise is cut at a random place, a shorter one is repeated.
    snr : float
        Ratio of the powers in dB.
    random_state : int, RandomState or None
        Seed for the place where the noise begins.

    Examples
    --------
    >>> mix(np.ones(4), np.full(4, -0.5), snr=0.0)
    array([0., 0., 0., 0.])
    """
    clean, noise = check_samples(clean, "clean"), check_samples(noise, "noise")
    if not np.isfinite(snr):
        raise ValueError(f"snr={snr}: give a number of dB.")
    n = len(clean)
    start = check_random_state(random_state).randint(len(noise))
    noise = np.take(noise, np.arange(start, start + n), mode="wrap")
    power = np.mean(np.square(noise, dtype=np.float64))
    if power == 0:
        raise ValueError("noise is silent there: give noise with sound in it.")
    wanted = np.mean(np.square(clean, dtype=np.float64)) / 10 ** (snr / 10)
    return clean + np.sqrt(wanted / power).astype(clean.dtype) * noise


def make_scenes(
    clean: Sequence[Any],
    noises: Sequence[Any] = (),
    *,
    sample_rate: int = 16_000,
    speakers: Sequence[Hashable] | None = None,
    scenes: int = 400,
    seconds: float = 5.0,
    snr: tuple[float, float] = (-8.0, 15.0),
    random_state: Seed = 0,
) -> Scenes:
    """Scenes to learn from: pieces of one speaker in a row, in a random room, with noise.

    Parameters
    ----------
    clean : list of arrays of shape (n,)
        Recordings of clean speech, each of one speaker; short ones are joined.
    noises : list of arrays of shape (m,)
        Recordings of noise. Half of the scenes take one of these, if there are any; the others take
        noise that is made by program, such as hum, clatter and babble of ``clean``.
    sample_rate : {16000, 8000} or another rate
        The rate of all recordings. 8,000 is kept; all other rates are brought to 16,000.
    speakers : list of the length of clean, optional
        Who speaks. A scene has one speaker. None means the same one in all recordings.
    scenes : int
    seconds : float
        Length of a scene.
    snr : pair of float
        The least and the largest ratio of speech to noise in dB.
    random_state : int, RandomState or None
        Seed for all choices. Speaker and noise are drawn independently of each other.

    Examples
    --------
    >>> speech = [np.sin(np.arange(8000.0) ** 1.2)]
    >>> made = make_scenes(speech, scenes=2, seconds=1.0, sample_rate=8000)
    >>> [len(x) for x in made.noisy], made.sample_rate
    ([8000, 8000], 8000)
    """
    rate = own_rate(sample_rate)
    if not len(clean):
        raise ValueError("clean is empty: give recordings of clean speech.")
    voices = [resampled(check_samples(x, f"clean[{i}]"), sample_rate, rate)
              for i, x in enumerate(clean)]  # fmt: skip
    given = [resampled(check_samples(x, f"noises[{i}]"), sample_rate, rate)
             for i, x in enumerate(noises)]  # fmt: skip
    silent = [i for i, x in enumerate(voices) if not x.any()]
    if silent:
        raise ValueError(f"clean[{silent[0]}] is silent: leave it out.")
    if speakers is not None and len(speakers) != len(voices):
        raise ValueError(
            f"speakers has {len(speakers)} entries, but clean has {len(voices)}: give one each."
        )
    numbers = np.unique(np.zeros(len(voices)) if speakers is None else np.asarray(speakers),
                        return_inverse=True)[1]  # fmt: skip
    random = np.random.default_rng(check_random_state(random_state).randint(2**31))
    makers, n = kinds(voices, rate), round(seconds * rate)
    noisy, spoken = [], []
    for _ in range(scenes):
        own = np.flatnonzero(numbers == random.integers(numbers.max() + 1))
        speech = _speech([voices[i] for i in own], n, rate, random)
        if given and random.random() < 0.5:
            noise = given[random.integers(len(given))].astype(np.float64)
        else:
            noise = makers[random.integers(len(makers))](n, rate, random)
        noise = noise if noise.any() else random.standard_normal(n)
        seed = int(random.integers(2**31))
        noisy.append(mix(speech, noise, random.uniform(*snr), seed).astype(np.float32))
        spoken.append(speech.astype(np.float32))
    return Scenes(noisy, spoken, rate)


def _speech(voices: list[np.ndarray], n: int, rate: int, random: np.random.Generator) -> np.ndarray:
    """Pieces of one speaker with pauses between them, of random pace and loudness, in a room."""
    pace, parts, length = random.uniform(*PACE), [], 0
    while length < n:
        piece = voices[random.integers(len(voices))]
        times = np.arange(0, len(piece) - 1, pace)
        piece = np.interp(times, np.arange(len(piece)), piece)
        piece *= 10 ** (random.uniform(-LOUDER, LOUDER) / 20) / max(np.abs(piece).max(), 1e-9)
        pause = random.uniform(0.1, 0.8) if random.random() < 0.3 else random.uniform(0, 0.12)
        parts += [piece, np.zeros(round(pause * rate))]
        length += len(piece) + len(parts[-1])
    speech = np.concatenate(parts)[:n]
    room, tilt = random.normal(0, ROOM, KNOTS), random.uniform(-TILT, TILT)
    return 0.1 * unit(coloured_by(speech, rate, room, tilt))
