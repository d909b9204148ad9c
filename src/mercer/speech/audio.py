"""Recordings: read from files, checked, and brought to one channel and one sampling rate.

Short pieces of a recording and their spectra, and back: the analysis that masks work on.

Frames of 32 ms start every 10 ms. Both ways they are multiplied by the root of a Hann window, and
overlapping frames are added and divided by the sum of the squared windows, so that frames that
nobody changed give the recording back to rounding. At 16,000 and at 8,000 samples a second the
same bins, of 31.25 Hz, are seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import gcd
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import resample_poly

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
    """All recordings in folders and below, by name; a file stands for itself."""
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
