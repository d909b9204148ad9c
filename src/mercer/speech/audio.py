"""Recordings: read from files, checked, and brought to one channel and one sampling rate; their
spectra and the features of each frame.

Frames of 32 ms start every 10 ms. Both ways they are multiplied by the root of a Hann window, and
overlapping frames are added and divided by the sum of the squared windows, so that frames that
nobody changed give the recording back to rounding. At 16,000 and at 8,000 samples a second the
same bins, of 31.25 Hz, are seen.

A feature of a frame is its loudness in one of 40 bands, relative to the recording. Bands of the mel
scale, which follow the ear, take the logarithm of their power. Subtracting a band's mean over time,
and dividing by its spread, removes the effect of microphone, room and level. The features include
the frame before and the frame after, and the recording's noise floor.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from math import gcd
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import lfilter, resample_poly

from mercer.persistence import write_whole

RATES = (16_000, 8_000)
BIN = 31.25  # Hz between two bins, at either rate
FRAMES = 100  # that start in a second


class Frames:
    """The transform at one sampling rate.

    Parameters
    ----------
    rate : {16000, 8000}
        Samples a second.

    Examples
    --------
    >>> frames, x = Frames(16_000), np.sin(np.arange(1000.0))
    >>> S = frames.spectra(x)
    >>> S.shape, bool(np.abs(frames.waveform(S, len(x)) - x).max() < 1e-12)
    ((9, 257), True)
    """

    def __init__(self, rate: int = 16_000):
        self.rate = rate
        self.hop = rate // FRAMES
        self.width = round(rate / BIN)
        n = np.arange(self.width)
        self.window = np.sqrt(0.5 - 0.5 * np.cos(2 * np.pi * n / self.width))
        self.pieces = -(-self.width // self.hop)  # frames that reach over one hop
        padded = np.zeros(self.pieces * self.hop)
        padded[: self.width] = self.window**2
        self.overlap = padded.reshape(self.pieces, self.hop).sum(axis=0)
        self.before = self.width - self.hop  # zeros in front, so that all samples are covered alike

    def count(self, samples: int) -> int:
        """The number of frames of so many samples."""
        return -(-(samples + self.before) // self.hop)

    def spectra(self, x: np.ndarray) -> np.ndarray:
        """Complex spectra (frames, bins) of samples (n,), in the precision of x."""
        count = self.count(len(x))
        padded = np.zeros((count - 1) * self.hop + self.width, x.dtype)
        padded[self.before : self.before + len(x)] = x
        return self.of_padded(padded)

    def of_padded(self, padded: np.ndarray) -> np.ndarray:
        """Spectra of the frames that lie whole within these samples."""
        pieces = sliding_window_view(padded, self.width)[:: self.hop]
        return np.fft.rfft(pieces * self.window.astype(padded.dtype), axis=1)

    def waveform(self, S: np.ndarray, samples: int) -> np.ndarray:
        """The first ``samples`` samples of spectra (frames, bins); the inverse of `spectra`."""
        return self.added(S).ravel()[self.before :][:samples]

    def added(self, S: np.ndarray) -> np.ndarray:
        """Overlapping frames, added: (frames + pieces - 1, hop) samples."""
        pieces = np.fft.irfft(S, self.width, axis=1)
        pieces *= self.window.astype(pieces.dtype)
        short = self.pieces * self.hop - self.width
        blocks = np.pad(pieces, ((0, 0), (0, short))).reshape(len(S), self.pieces, self.hop)
        out = np.zeros((len(S) + self.pieces - 1, self.hop), pieces.dtype)
        for k in range(self.pieces):
            out[k : k + len(S)] += blocks[:, k]
        return out / self.overlap.astype(out.dtype)


INSTALL = 'pip install "mercer[speech]"'
SUFFIXES = (".wav", ".flac", ".ogg", ".mp3", ".aiff", ".aif")
FINE = ("PCM_24", "PCM_32", "FLOAT", "DOUBLE")  # samples of more than 16 bits
UNKNOWN = 2**32 - 4096  # sizes from here on are those of programs that could not know them
LOUDEST = 1e9  # samples are in [-1, 1]; energies of larger ones overflow
FULL = 0.9999  # of the largest value of a file: such samples are clipped


class Recording(NamedTuple):
    """Samples in [-1, 1] of one channel, their rate, and how they were made from the file.

    Attributes
    ----------
    samples : ndarray of shape (n,), float32
    rate : int
        Samples a second.
    channels : int
        Channels of the file, of which ``samples`` is the mean.
    clipped : float
        Share of the samples that are as large as the format allows.
    subtype : str
        How the file holds a sample, as soundfile names it: "PCM_16", "PCM_24", "FLOAT" ...

    Examples
    --------
    >>> recording = Recording(np.zeros(8000, np.float32), 16_000, subtype="PCM_24")
    >>> len(recording.samples) / recording.rate, recording.bits
    (0.5, 24)
    """

    samples: np.ndarray
    rate: int
    channels: int = 1
    clipped: float = 0.0
    subtype: str = "PCM_16"

    @property
    def bits(self) -> int:
        """The bits of a sample in the file that keep what was read: 16 or 24."""
        return 24 if self.subtype in FINE else 16


def read_audio(path: str | os.PathLike) -> Recording:
    """A WAV, FLAC, Ogg, MP3 or AIFF file, as one channel. Needs the ``speech`` extra.

    Raises
    ------
    ImportError
        The extra is not installed; the message says what to install.
    FileNotFoundError, ValueError
        There is no such file, or it is not a recording, or it has no samples, or samples that are
        no finite numbers, or it ends before its header says.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_audio(Path(folder) / "a.wav", np.full(3, 0.5))
    ...     read_audio(Path(folder) / "a.wav").samples
    array([0.5, 0.5, 0.5], dtype=float32)
    """
    soundfile = _soundfile()
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        with soundfile.SoundFile(path) as file:
            samples = file.read(dtype="float32", always_2d=True)
            frames, rate, subtype = file.frames, file.samplerate, file.subtype
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise ValueError(f"{path} cannot be read as a recording: {error}") from None
    if not len(samples):
        raise ValueError(f"{path} has no samples.")
    if len(samples) < frames or _is_cut(Path(path)):
        raise ValueError(f"{path} is cut short: it ends before its header says. Copy it again.")
    if not np.isfinite(samples).all():
        at = int(np.argmin(np.isfinite(samples).all(axis=1)))
        raise ValueError(
            f"{path} has samples that are NaN or infinite, the first after {at / rate:.3g} s: "
            "write it again from its source."
        )
    clipped = float((np.abs(samples) >= FULL).mean())
    return Recording(samples.mean(axis=1), int(rate), samples.shape[1], clipped, subtype)


def _is_cut(path: Path) -> bool:
    """Whether a WAV or AIFF file has fewer bytes than its first chunk, which is all of it."""
    with path.open("rb") as file:
        name, size = file.read(4), file.read(4)
    orders: dict[bytes, Any] = {b"RIFF": "little", b"FORM": "big"}
    if name not in orders:
        return False
    told = int.from_bytes(size, orders[name])
    return told < UNKNOWN and 8 + told > path.stat().st_size + 1  # some count a last odd byte


def write_audio(
    path: str | os.PathLike, samples: np.ndarray, rate: int = RATES[0], *, bits: int = 16
) -> None:
    """Write samples in [-1, 1] as 16 or 24 bits, in the format of the suffix.

    Larger ones are clipped. The file is written whole or not at all. Needs the ``speech`` extra.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_audio(Path(folder) / "a.flac", np.array([0.5, 2.0]), bits=24)
    ...     read_audio(Path(folder) / "a.flac").samples.round(4)
    array([0.5, 1. ], dtype=float32)
    """
    import io

    soundfile, suffix = _soundfile(), Path(path).suffix.lower()
    if suffix not in (".wav", ".flac"):
        raise ValueError(f"{path}: give a name that ends in .wav or .flac.")
    if bits not in (16, 24):
        raise ValueError(f"bits={bits!r}: give 16 or 24.")
    buffer, kind = io.BytesIO(), suffix[1:].upper()
    samples = np.clip(check_samples(samples, "samples"), -1, 1)
    soundfile.write(buffer, samples, rate, subtype=f"PCM_{bits}", format=kind)
    write_whole(path, buffer.getvalue())


def find_recordings(folders: Iterable[str | os.PathLike]) -> list[Path]:
    """All recordings in folders and below, by name; a file stands for itself.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_audio(Path(folder) / "a.wav", np.zeros(160))
    ...     [path.name for path in find_recordings([folder])]
    ['a.wav']
    """
    found: list[Path] = []
    for folder in map(Path, folders):
        if not folder.exists():
            raise FileNotFoundError(f"There is no file or folder {folder}.")
        inside = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        here = [path for path in inside if path.suffix.lower() in SUFFIXES and path.is_file()]
        if not here:
            raise ValueError(
                f"{folder} has no recording: files end in {', '.join(SUFFIXES[:-1])} or "
                f"{SUFFIXES[-1]}."
            )
        found += here
    return found


def resampled(samples: np.ndarray, rate: int, new: int) -> np.ndarray:
    """The same sound at another rate, by a filter of its own band.

    Examples
    --------
    >>> resampled(np.zeros(441), 44_100, 16_000).shape
    (160,)
    """
    if rate == new:
        return samples
    shared = gcd(rate, new)
    up, down = new // shared, rate // shared
    return resample_poly(samples, up, down)[: max(1, round(len(samples) * new / rate))]


def own_rate(rate: int) -> int:
    """The rate at which a recording is worked on: 8,000 as it is, others at 16,000."""
    if isinstance(rate, bool) or not isinstance(rate, (int, np.integer)) or rate < 1000:
        raise ValueError(f"sample_rate={rate!r}: give a whole number of samples a second, >= 1000.")
    return int(rate) if rate in RATES else RATES[0]


def check_samples(x: object, name: str, empty: bool = False) -> np.ndarray:
    """One recording as an array (n,) of float32, or of float64 if it is of that.

    Several channels, numbers that are not finite, no samples and whole numbers are refused: of
    these it is not known what full scale is. ``empty`` says that there may be none.
    """
    if isinstance(x, (str, os.PathLike)):
        raise TypeError(f"{name} is {x!r}: give samples; mercer.speech.read_audio reads a file.")
    try:
        x = np.asarray(x)
    except (ValueError, TypeError):
        raise ValueError(
            f"{name} holds lists of different lengths: give one channel of samples, of shape (n,)."
        ) from None
    if x.ndim == 1 and not len(x) and empty:
        return np.zeros(0)
    if x.ndim != 1 or not len(x):
        raise ValueError(
            f"{name} has the shape {x.shape}: give one channel of samples, of shape (n,). The mean "
            "of several channels is x.mean(axis=1)."
        )
    if x.dtype.kind in "iu":
        raise ValueError(
            f"{name} holds whole numbers ({x.dtype}): give samples in [-1, 1], for 16 bits "
            "x / 32768."
        )
    if x.dtype.kind != "f":
        raise ValueError(f"{name} has the type {x.dtype}: give real numbers in [-1, 1].")
    if x.dtype != np.float64:
        x = x.astype(np.float32, copy=False)
    if not np.isfinite(x).all():
        where = int(np.argmin(np.isfinite(x)))
        raise ValueError(f"{name} is {x[where]} at sample {where}: mend or cut out such samples.")
    if np.abs(x).max() > LOUDEST:
        raise ValueError(f"{name} reaches {np.abs(x).max():.3g}: give samples in [-1, 1].")
    return x


def _soundfile() -> ModuleType:
    try:
        import soundfile
    except ImportError:
        raise ImportError(f"Reading and writing recordings needs soundfile: {INSTALL}") from None
    return soundfile


BANDS = 40
LOWEST, HIGHEST = 60.0, 4000.0  # Hz
USED = 129  # bins up to 4,000 Hz, which both rates have
FLOOR = 1e-7  # of the mean power: what silence has
SMOOTH = 0.7  # of the last frame that stays in the smoothed power of the noise
QUIET = 15  # percentile over time that is the noise floor
SPREAD = 0.3  # added to the spread, so that a steady band is not blown up
CONTEXT = 1  # frames before and after
REMEMBERED = 3 * FRAMES  # frames that a stream takes the noise floor from
WIDTH = (2 * CONTEXT + 2) * BANDS


@cache
def mel_bands() -> np.ndarray:
    """Weights (BANDS, USED) of triangular bands; each row has the sum 1."""
    lowest, highest = (2595 * np.log10(1 + hertz / 700) for hertz in (LOWEST, HIGHEST))
    mel = np.linspace(lowest, highest, BANDS + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    hertz = BIN * np.arange(USED)
    rise = (hertz - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - hertz) / np.diff(edges)[1:, None]
    weights = np.maximum(np.minimum(rise, fall), 0)
    return weights / weights.sum(axis=1, keepdims=True)


def band_powers(power: np.ndarray) -> np.ndarray:
    """Power of each band, (frames, BANDS), from that of the bins."""
    return power[:, :USED] @ mel_bands().T


def whole_features(power: np.ndarray) -> np.ndarray:
    """Features (frames, WIDTH) of a whole recording, float32, from the power of its bins.

    Examples
    --------
    >>> power = np.random.default_rng(0).random((50, USED))
    >>> whole_features(power).shape
    (50, 160)
    >>> bool(np.abs(whole_features(100 * power) - whole_features(power)).max() < 1e-5)
    True
    """
    mean = power[:, :USED].mean()
    E = band_powers(power / mean if mean > 0 else power) + FLOOR
    L = np.log(E)
    noise = np.log(np.percentile(_smoothed(E, E[0]), QUIET, axis=0))
    centred = (L - L.mean(axis=0)) / (L.std(axis=0) + SPREAD)
    return _spliced(centred, np.broadcast_to(noise, L.shape))


class RunningFeatures:
    """Features of a stream: each frame is compared with what came before it.

    Means, spreads and the level are those of all frames so far, and the noise floor that of the
    last three seconds; before the first frame it is taken to have lasted as long. However the
    frames are dealt out to calls, the features are the same.

    Examples
    --------
    >>> power = np.random.default_rng(0).random((50, USED))
    >>> stream = RunningFeatures()
    >>> parts = [stream.push(power[:20]), stream.push(power[20:]), stream.rest()]
    >>> [len(part) for part in parts]
    [19, 30, 1]
    """

    def __init__(self) -> None:
        self.frames = 0
        self.level = 0.0  # sum of the mean powers of all frames
        self.sums = np.zeros(BANDS)  # of the logarithms
        self.squares = np.zeros(BANDS)
        self.smooth = np.zeros((0, BANDS))  # smoothed powers of the last frames
        self.last = np.zeros((0, 2 * BANDS))  # two frames: the next one decides about the second

    def push(self, power: np.ndarray) -> np.ndarray:
        """The features of all frames whose next one is known, (frames, WIDTH)."""
        if not len(power):
            return np.zeros((0, WIDTH), np.float32)
        count = self.frames + np.arange(1.0, len(power) + 1)[:, None]
        levels = self.level + np.cumsum(power[:, :USED].mean(axis=1))[:, None]
        level = np.where(levels > 0, levels / count, 1)
        E = band_powers(power) + FLOOR * level
        L = np.log(E)
        sums, squares = self.sums + np.cumsum(L, axis=0), self.squares + np.cumsum(L * L, axis=0)
        mean = sums / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0))
        if not self.frames:
            self.smooth = np.repeat(E[:1], REMEMBERED - 1, axis=0)
        smooth = np.vstack([self.smooth, _smoothed(E, self.smooth[-1])])
        windows = sliding_window_view(smooth, REMEMBERED, axis=0)
        place = QUIET * REMEMBERED // 100
        noise = np.log(np.partition(windows, place, axis=-1)[..., place] / level)
        fresh = np.hstack([(L - mean) / (spread + SPREAD), noise])
        known = np.vstack([self.last if self.frames else fresh[:1], fresh])
        self.frames += len(power)
        self.level, self.sums, self.squares = float(levels[-1, 0]), sums[-1], squares[-1]
        self.smooth, self.last = smooth[1 - REMEMBERED :], known[-2:]
        return _spliced(known[:, :BANDS], known[:, BANDS:])[1:-1]

    def rest(self) -> np.ndarray:
        """The features of the last frame, which nothing follows."""
        known = np.vstack([self.last, self.last[-1:]])
        return _spliced(known[:, :BANDS], known[:, BANDS:])[1:-1]


def _smoothed(E: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Powers smoothed over time, after the smoothed power ``before``."""
    return lfilter([1 - SMOOTH], [1, -SMOOTH], E, axis=0, zi=SMOOTH * before[None])[0]


def _spliced(centred: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Frames with their neighbours in time, the first and the last repeated, and the noise."""
    padded = np.pad(centred, ((CONTEXT, CONTEXT), (0, 0)), mode="edge")
    seen = [padded[i : i + len(centred)] for i in range(2 * CONTEXT + 1)]
    return np.hstack([*seen, noise]).astype(np.float32)
