"""STOI is that of the paper, written out frame by frame; what it cannot judge is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import resample

from mercer.speech import stoi

RATE = 10_000


def voice(random, seconds=1.5, rate=RATE):
    """A gliding pitch with 20 overtones, in syllables with pauses, and a little noise."""
    t = np.arange(int(seconds * rate)) / rate
    pitch = 110 + 30 * np.sin(2 * np.pi * 0.7 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    tones = sum(np.sin(k * phase) / k for k in range(1, 21))
    syllables = np.maximum(0, np.sin(2 * np.pi * 2.5 * t)) ** 2
    return tones * syllables + 1e-4 * random.normal(size=len(t))


def stoi_of_the_paper(x, y):
    """Taal et al. 2011, section II, of sounds of 10,000 samples a second."""
    width, step, N, clip = 256, 128, 30, 10 ** (15 / 20)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(1, width + 1) / (width + 1))
    starts = range(0, len(x) - width, step)
    # the frames of the clean speech that are 40 dB below its loudest one are left out of both
    size = [np.linalg.norm(window * x[s : s + width]) for s in starts]
    loud = [s for s, e in zip(starts, size) if 20 * np.log10(e / max(size)) > -40]
    parts = []
    for sound in (x, y):
        kept = np.zeros(width + step * (len(loud) - 1))
        for place, s in enumerate(loud):
            kept[step * place : step * place + width] += window * sound[s : s + width]
        parts.append(kept)
    # one-third octave bands of the transform of 512 points, the lowest one around 150 Hz
    bins = np.arange(257) * RATE / 512
    angle = np.exp(-2j * np.pi * np.outer(np.arange(257), np.arange(width)) / 512)
    bands = []
    for sound in parts:
        frames = range(0, len(sound) - width, step)
        power = [np.abs(angle @ (window * sound[s : s + width])) ** 2 for s in frames]
        band = np.empty((15, len(frames)))
        for j in range(15):
            low, high = (
                np.argmin(np.abs(bins - 150 * 2 ** ((2 * j + side) / 6))) for side in (-1, 1)
            )
            for m, each in enumerate(power):
                band[j, m] = np.sqrt(each[low:high].sum())
        bands.append(band)
    X, Y = bands
    found = []
    for m in range(N, X.shape[1] + 1):
        for j in range(15):
            a, b = X[j, m - N : m], Y[j, m - N : m]
            b = np.minimum(b * np.sqrt((a @ a) / (b @ b)), a * (1 + clip))  # (3)
            found.append(np.corrcoef(a, b)[0, 1])  # (5)
    return np.mean(found)  # (6)


@pytest.mark.parametrize("snr", [20, 5, -5, -15])
def test_stoi_is_that_of_the_paper(snr):
    random = np.random.default_rng(snr + 100)
    x = voice(random)
    noise = random.normal(size=len(x))
    y = x + noise * np.sqrt((x @ x) / (noise @ noise) / 10 ** (snr / 10))
    y[4000:6000] *= np.linspace(1, 0.1, 2000)  # and a part of it is quiet
    expected = stoi_of_the_paper(x, y)
    assert 0.1 < expected < 0.999
    assert_allclose(stoi(x, y, RATE), expected, rtol=1e-9)
    assert_allclose(stoi(x, 0.01 * y, RATE), expected, rtol=1e-9)
    high = [resample(part, len(x) * 8 // 5) for part in (x, y)]
    assert_allclose(stoi(*high, 16_000), expected, atol=0.02)  # another filter


def test_stoi_is_1_of_the_same_speech_and_less_of_more_noise():
    random = np.random.default_rng(0)
    x = voice(random)
    noise = random.normal(size=len(x))
    found = [stoi(x, x + size * noise, RATE) for size in (0, 0.1, 0.5, 2, 10)]
    assert_allclose(found[0], 1)
    assert (np.diff(found) < 0).all()


def test_what_stoi_cannot_judge_is_refused():
    random = np.random.default_rng(0)
    x = voice(random)
    for part in (x[:1], x[:200], x[:4000]):
        with pytest.raises(ValueError, match=r"clean has too little speech.* 0.4 seconds"):
            stoi(part, part, RATE)
    pause = np.r_[x[:3000], np.zeros(20_000)]  # long, but hardly any of it is speech
    with pytest.raises(ValueError, match="clean has too little speech"):
        stoi(pause, pause, RATE)
    with pytest.raises(ValueError, match="clean is silent: STOI is not defined"):
        stoi(0 * x, x, RATE)
    assert stoi(x, 0 * x, RATE) == 0  # nothing is understood
    with pytest.raises(ValueError, match="clean has 15000 samples and estimate 14999"):
        stoi(x, x[1:], RATE)


@pytest.mark.parametrize("rate", [0, -8000, 16_000.5, "16000", None, True, np.nan])
def test_rates_that_are_none_are_named(rate):
    x = voice(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"sample_rate=.*: give a whole number of samples a sec"):
        stoi(x, x, rate)
