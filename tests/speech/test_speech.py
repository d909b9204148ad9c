"""Speech enhancement: the transform, features, mixtures, the mask machine and its stream."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.kernels import ExponentialPower
from mercer.learners.ridge import KernelRidge
from mercer.solvers import EigenProSolver
from mercer.speech import (
    EnhancerStream,
    Frames,
    SpeechEnhancer,
    enhancer,
    ideal_mask,
    make_scenes,
    mix,
    pesq,
    si_sdr,
    training_frames,
)
from mercer.speech.audio import RunningFeatures, mel_bands, whole_features

RATES = (8000, 16_000)


def voice(seconds=1.0, rate=8000, pitch=120.0):
    """Vowels that come and go: overtones of a pitch, with pauses."""
    t = np.arange(round(seconds * rate)) / rate
    tones = sum(np.sin(2 * np.pi * pitch * k * t) / k for k in range(1, 20))
    return (tones * (np.sin(2 * np.pi * 1.5 * t) > 0)).astype(np.float32)


@pytest.fixture(scope="module")
def scenes():
    return make_scenes([voice(), voice(pitch=190.0)], speakers=["a", "b"], scenes=12, seconds=1.5,
                       sample_rate=8000, random_state=1)  # fmt: skip


@pytest.fixture(scope="module")
def model(scenes):
    return SpeechEnhancer(rank=60, random_state=0).fit(scenes.noisy, scenes.clean, sample_rate=8000)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("n", [1, 2, 159, 160, 161, 511, 512, 513, 4001])
def test_spectra_give_the_samples_back(n, rate):
    x = np.random.default_rng(n).normal(size=n)
    frames = Frames(rate)
    S = frames.spectra(x)
    assert S.shape == (frames.count(n), frames.width // 2 + 1)
    np.testing.assert_allclose(frames.waveform(S, n), x, atol=1e-12)


def test_a_frame_is_the_transform_of_its_window():
    x, frames = np.random.default_rng(0).normal(size=3000), Frames(16_000)
    begin = 4 * 160 - frames.before  # the fifth frame
    window = np.sqrt(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(512) / 512))
    angle = np.exp(-2j * np.pi * np.outer(np.arange(257), np.arange(512)) / 512)
    expected = angle @ (window * x[begin : begin + 512])
    np.testing.assert_allclose(frames.spectra(x)[4], expected, atol=1e-9)


def test_bands_cover_60_to_4000_hertz():
    bands = mel_bands()
    np.testing.assert_allclose(bands.sum(axis=1), 1)
    seen = np.flatnonzero(bands.sum(axis=0)) * 31.25
    assert seen[0] > 60
    assert 3950 < seen[-1] < 4000
    assert (np.diff(bands.argmax(axis=1)) >= 0).all()


def test_both_rates_see_the_same_features():
    """A sound below 3 kHz at 16,000 samples a second, and every second sample of it."""
    t = np.arange(16_000) / 16_000
    x = sum(np.sin(2 * np.pi * f * t + f) * (1 + np.sin(5 * t + f)) for f in (200, 700, 1500, 2600))
    x += 0.01 * np.sin(2 * np.pi * 3000 * t)
    seen = [whole_features(np.abs(Frames(rate).spectra(y)) ** 2)
            for rate, y in ((16_000, x), (8000, x[::2]))]  # fmt: skip
    n = min(map(len, seen))
    # windows of 512 and 256 samples have the same shape; what is left are foldings of the hann root
    difference = np.abs(seen[0][5 : n - 5] - seen[1][5 : n - 5])
    assert np.median(difference) < 0.02


def test_features_do_not_depend_on_the_level():
    power = np.random.default_rng(0).random((80, 129))
    np.testing.assert_allclose(whole_features(power), whole_features(1e6 * power), atol=2e-5)
    silent = whole_features(np.zeros((9, 129)))
    assert np.isfinite(silent).all()


@pytest.mark.parametrize("cuts", [(1,), (7, 8, 40), (100, 350)])
def test_a_stream_has_the_same_features_however_it_is_cut(cuts):
    power = np.random.default_rng(0).random((400, 129)) ** 3
    whole = RunningFeatures()
    expected = np.vstack([whole.push(power), whole.rest()])
    stream = RunningFeatures()
    parts = [stream.push(part) for part in np.split(power, cuts)]
    np.testing.assert_allclose(np.vstack([*parts, stream.rest()]), expected, atol=1e-5)
    assert len(expected) == 400


def test_a_stream_looks_one_frame_ahead_and_no_further():
    power = np.random.default_rng(0).random((50, 129))
    changed = power.copy()
    changed[31:] *= 9
    a, b = RunningFeatures().push(power), RunningFeatures().push(changed)
    np.testing.assert_array_equal(a[:30], b[:30])
    assert np.abs(a[30] - b[30]).max() > 0.1


@pytest.mark.parametrize("snr", [-5.0, 0.0, 12.0])
def test_a_mixture_has_the_ratio(snr):
    random = np.random.default_rng(0)
    clean, noise = random.normal(size=500), random.normal(size=90)
    noisy = mix(clean, noise, snr, random_state=0)
    assert 10 * np.log10(np.sum(clean**2) / np.sum((noisy - clean) ** 2)) == pytest.approx(snr)


def test_scenes_repeat_with_the_seed_and_have_the_lengths(scenes):
    again = make_scenes([voice(), voice(pitch=190.0)], speakers=["a", "b"], scenes=12, seconds=1.5,
                        sample_rate=8000, random_state=1)  # fmt: skip
    for a, b in zip(scenes.noisy, again.noisy):
        np.testing.assert_array_equal(a, b)
    assert {len(x) for x in scenes.noisy + scenes.clean} == {12_000}


def test_ideal_mask_is_one_without_noise_and_half_power_is_its_root(scenes):
    frames, clean = Frames(8000), scenes.clean[0]
    np.testing.assert_array_equal(ideal_mask(clean, clean, frames).round(6) % 1, 0)
    np.testing.assert_allclose(ideal_mask(2 * clean, clean, frames).max(), np.sqrt(0.5))


def test_the_mask_is_ridge_regression_on_the_features(scenes):
    """With all rows as centres and one band: KernelRidge on standardised features."""
    model = SpeechEnhancer(power=1.0, scale=20.0, rank=80, max_frames=80, alpha=1e-3,
                           random_state=3)  # fmt: skip
    model.fit(scenes.noisy, scenes.clean, sample_rate=8000)
    random = np.random.RandomState(3)
    F, M, _ = training_frames(scenes.noisy, scenes.clean, 8000, 80, random)
    F = (F - F.mean(axis=0)) / F.std(axis=0)
    exact = KernelRidge(0.08, kernel=ExponentialPower(20.0, 1.0)).fit(F, M - M.mean(axis=0))
    expected = np.clip(exact.predict(F) + M.mean(axis=0), 0.05, 1)
    assert model.error_ == pytest.approx(np.mean((expected - M) ** 2), rel=2e-2)


def test_noise_goes_and_speech_stays(model, scenes):
    gains = [si_sdr(c, model.enhance(x, 8000).samples) - si_sdr(c, x)
             for x, c in zip(scenes.noisy, scenes.clean)]  # fmt: skip
    assert np.mean(gains) > 2


def test_an_enhanced_recording_is_the_masked_spectrum(model, scenes):
    x = scenes.noisy[0]
    done, frames = model.enhance(x, 8000), Frames(8000)
    S = frames.spectra(x)
    np.testing.assert_allclose(done.samples, frames.waveform(S * done.mask, len(x)), atol=1e-5)
    np.testing.assert_allclose(done.after, done.before * done.mask**2, rtol=1e-5)
    assert done.mask.min() >= np.float32(0.05)
    assert done.mask.max() <= 1
    np.testing.assert_allclose(done.mask[:, 122:], done.mask[:, 109:122].mean(1)[:, None]
                               * np.ones(7), rtol=1e-6)  # fmt: skip


def test_masks_of_many_strips(model, scenes, monkeypatch):
    whole = model.enhance(scenes.noisy[0], 8000).mask
    monkeypatch.setattr(enhancer, "STRIP", 7)
    found = model.enhance(scenes.noisy[0], 8000).mask
    np.testing.assert_allclose(found, whole, rtol=0, atol=1e-4)  # of float32


def test_the_level_of_a_recording_does_not_matter(model, scenes):
    x = scenes.noisy[0].astype(np.float64)
    quiet = model.enhance(x / 512, 8000).samples
    np.testing.assert_allclose(512 * quiet, model.enhance(x, 8000).samples, atol=1e-4)


@pytest.mark.parametrize("rate", [8000, 11_025, 16_000, 44_100, 48_000])
@pytest.mark.parametrize("n", [1, 100, 5000])
def test_any_rate_and_length(model, n, rate):
    x = np.random.default_rng(0).normal(size=n)
    y = model.enhance(x, rate).samples
    assert y.shape == x.shape
    assert y.dtype == x.dtype
    assert np.isfinite(y).all()


def test_silence_stays_silent(model):
    np.testing.assert_array_equal(model.enhance(np.zeros(3000), 8000).samples, 0)


@pytest.mark.parametrize("cuts", [(1,), (100, 101, 3000), (2999,), ()])
def test_a_stream_gives_the_same_samples_however_it_is_cut(model, scenes, cuts):
    x = scenes.noisy[1][:6000]
    one = EnhancerStream(model, 8000)
    expected = np.concatenate([one.push(x), one.close()])
    assert len(expected) == len(x)
    many = EnhancerStream(model, 8000)
    parts = [many.push(part) for part in np.split(x, cuts)]
    np.testing.assert_allclose(np.concatenate([*parts, many.close()]), expected, atol=1e-6)


def test_a_stream_lags_by_its_latency(model, scenes):
    stream = EnhancerStream(model, 8000)
    given = given_back = 0
    for part in np.split(scenes.noisy[0], range(40, 12_000, 40)):
        given += len(part)
        given_back += len(stream.push(part))
        assert given - given_back <= stream.latency + 40
    assert len(EnhancerStream(model, 8000).close()) == 0


def test_a_stream_of_gains_of_one_gives_the_samples_back(model):
    class Open:
        def mask_of(self, features, bins):
            return np.ones((len(features), bins))

    x = np.random.default_rng(0).normal(size=1234)
    stream = EnhancerStream(Open(), 16_000)
    parts = [stream.push(x[:700]), stream.push(x[700:]), stream.close()]
    np.testing.assert_allclose(np.concatenate(parts), x, atol=1e-12)


def test_saved_and_halved(model, scenes, tmp_path):
    path, x = tmp_path / "speech.mercer", scenes.noisy[0]
    mercer.save(model, path)
    np.testing.assert_array_equal(
        mercer.load(path).enhance(x, 8000).samples, model.enhance(x, 8000).samples
    )
    half = tmp_path / "half.mercer"
    mercer.save(model.halved(), half)
    assert half.stat().st_size < 0.6 * path.stat().st_size
    mask = mercer.load(half).enhance(x, 8000).mask
    assert np.abs(mask - model.enhance(x, 8000).mask).max() < 0.01


def test_a_band_for_each_part_and_searched_kernels(scenes):
    model = SpeechEnhancer("search", "search", bands=3, rank=40, max_frames=400, random_state=0)
    model.fit(scenes.noisy, scenes.clean, sample_rate=8000)
    assert model.powers_.shape == model.scales_.shape == (3,)
    assert set(model.powers_) <= {0.5, 0.7, 1.0, 1.4, 2.0}
    assert model.enhance(scenes.noisy[0], 8000).mask.shape[1] == 129


def test_any_solver_value(scenes):
    model = SpeechEnhancer(solver=EigenProSolver(epochs=40, tol=0.05, random_state=0), alpha=1e-3,
                           max_frames=300, random_state=0)  # fmt: skip
    model.fit(scenes.noisy, scenes.clean, sample_rate=8000)
    exact = clone(model).set_params(solver="low_rank", rank=300)
    exact.fit(scenes.noisy, scenes.clean, sample_rate=8000)
    masks = [m.enhance(scenes.noisy[0], 8000).mask for m in (model, exact)]
    assert np.sqrt(np.mean((masks[0] - masks[1]) ** 2)) < 0.03


def test_the_model_that_comes_with_the_package():
    model = SpeechEnhancer.pretrained()
    clean = voice(2.0, 16_000)
    noisy = mix(clean, np.random.default_rng(0).normal(size=32_000), 0.0, random_state=0)
    assert si_sdr(clean, model.enhance(noisy).samples) > 3


BAD = [
    ("noise.wav", TypeError, "read_audio reads a file"),
    (np.zeros((5, 2)), ValueError, r"the shape \(5, 2\).*x.mean\(axis=1\)"),
    (np.zeros(0), ValueError, "shape"),
    (np.zeros(5, np.int16), ValueError, "x / 32768"),
    (np.array([0.0, np.nan]), ValueError, "nan at sample 1"),
    (np.array(["a"]), ValueError, "real numbers"),
]


@pytest.mark.parametrize(("x", "error", "words"), BAD)
def test_what_is_no_recording_is_refused(model, x, error, words):
    with pytest.raises(error, match=words):
        model.enhance(x)


def test_other_wrong_inputs(model, scenes):
    with pytest.raises(ValueError, match="sample_rate=0"):
        model.enhance(np.zeros(10), 0)
    with pytest.raises(ValueError, match="give a list of recordings"):
        model.transform(np.zeros(10))
    with pytest.raises(ValueError, match="X has 12 recordings and y 11"):
        SpeechEnhancer().fit(scenes.noisy, scenes.clean[1:])
    with pytest.raises(ValueError, match=r"X\[0\] has 12000 samples and y\[0\] 11999"):
        SpeechEnhancer().fit(scenes.noisy[:1], [scenes.clean[0][1:]])
    with pytest.raises(ValueError, match="floor=1"):
        SpeechEnhancer(floor=1).fit(scenes.noisy, scenes.clean)
    with pytest.raises(ValueError, match="power='find'"):
        SpeechEnhancer(power="find").fit(scenes.noisy, scenes.clean)
    with pytest.raises(ValueError, match="bands=123"):
        SpeechEnhancer(bands=123).fit(scenes.noisy, scenes.clean)
    with pytest.raises(ValueError, match=r"clean\[0\] is silent"):
        make_scenes([np.zeros(100)])
    with pytest.raises(ValueError, match="noise is silent"):
        mix(np.ones(4), np.zeros(4), 0.0)
    with pytest.raises(ValueError, match="sample_rate=44100"):
        EnhancerStream(model, 44_100)
    with pytest.raises(ValueError, match="clean has 3 samples and estimate 4"):
        si_sdr(np.ones(3), np.ones(4))


def test_pesq_is_that_of_its_package_at_16000_samples(monkeypatch):
    class PesqError(RuntimeError):
        pass

    def judged(rate, clean, estimate, band):
        if len(clean) < rate / 4:
            raise PesqError(b"Buffer needs to be at least 1/4 of a second long")
        assert (rate, len(clean), len(estimate), band) == (16_000, 8000, 8000, "wb")
        return 2.5

    package = SimpleNamespace(pesq=judged, PesqError=PesqError)
    monkeypatch.setitem(sys.modules, "pesq", package)
    x = voice(0.5)
    assert pesq(x, 0.5 * x, 8000) == 2.5
    with pytest.raises(ValueError, match="judge these recordings: Buffer needs to be"):
        pesq(x[1500:2000], x[1500:2000], 8000)
    with pytest.raises(ValueError, match="estimate is silent"):
        pesq(x, 0 * x, 8000)
    with pytest.raises(ValueError, match="sample_rate=0: give a whole number of samples"):
        pesq(x, x, 0)
    monkeypatch.setitem(sys.modules, "pesq", None)
    with pytest.raises(ImportError, match="pip install pesq"):
        pesq(x, x, 8000)
