"""``mercer denoise``: files in, files out, a model of one's own, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.runner import command, printed
from mercer.speech import mix, read_audio, si_sdr, write_audio

soundfile = pytest.importorskip("soundfile")


def voice(seconds=1.5, rate=16_000, pitch=120.0):
    t = np.arange(round(seconds * rate)) / rate
    tones = sum(np.sin(2 * np.pi * pitch * k * t) / k for k in range(1, 30))
    return 0.1 * tones * (np.sin(2 * np.pi * 1.5 * t) > 0)


NOISY = mix(voice(), np.random.default_rng(0).normal(size=24_000), 0.0, random_state=0)


@pytest.fixture(autouse=True)
def there(folder):
    write_audio("noisy.wav", NOISY)


def test_a_recording_loses_its_noise(capsys):
    code, said = printed(capsys, "denoise", "noisy.wav", "-o", "clean.wav")
    assert code == 0
    assert "1.5 s of noisy.wav, 16,000 Hz" in said
    after = read_audio("clean.wav")
    assert after.rate == 16_000
    assert si_sdr(voice(), after.samples) > si_sdr(voice(), NOISY) + 3


@pytest.mark.parametrize(("rate", "channels", "subtype"), [
    (8000, 1, "PCM_U8"), (44_100, 2, "PCM_16"), (48_000, 1, "FLOAT"), (22_050, 2, "PCM_24"),
])  # fmt: skip
def test_any_rate_channels_and_format(capsys, rate, channels, subtype):
    x = np.clip(3 * np.random.default_rng(0).normal(size=(rate, channels)), -1, 1)
    soundfile.write("given.wav", x, rate, subtype=subtype)
    code, said = printed(capsys, "denoise", "given.wav", "-o", "out.flac")
    assert code == 0
    samples, after = soundfile.read("out.flac")
    assert (after, samples.shape) == (rate, (rate,))
    fine = subtype in ("PCM_24", "FLOAT")
    assert soundfile.info("out.flac").subtype == ("PCM_24" if fine else "PCM_16")
    assert ("FLOAT, are written with 24 bits" in said) == (subtype == "FLOAT")
    assert ("Its 2 channels were taken together to one" in said) == (channels == 2)
    assert "of its samples are clipped" in said


@pytest.mark.parametrize("samples", [np.zeros(16_000), np.zeros(1), np.ones(1)])
def test_silence_and_single_samples(capsys, samples):
    write_audio("odd.wav", samples)
    code, said = printed(capsys, "denoise", "odd.wav", "-o", "out.wav")
    assert code == 0
    assert ("It is silent." in said) == (not samples.any())
    assert len(read_audio("out.wav").samples) == len(samples)


def test_several_recordings_go_to_a_folder(capsys, folder):
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    for name in ("a", "b"):
        write_audio(f"in/{name}.wav", NOISY[:4000])
    code, said = printed(capsys, "denoise", "in", "noisy.wav", "-o", "out", "--json")
    assert code == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.wav", "b.wav",
                                                                      "noisy.wav"]  # fmt: skip
    assert [file["sample_rate"] for file in json.loads(said)["files"]] == [16_000] * 3


@pytest.mark.full
def test_a_model_of_ones_own(capsys, folder):
    for name, pitch in (("anna", 210.0), ("bert", 110.0)):
        (folder / "clean" / name).mkdir(parents=True)
        write_audio(f"clean/{name}/1.wav", voice(pitch=pitch))
    (folder / "noise").mkdir()
    write_audio("noise/hiss.wav", 0.1 * np.random.default_rng(1).normal(size=16_000))
    code, said = printed(
        capsys, "denoise", "--train", "clean", "noise", "-o", "own.mercer", "--scenes", "5"
    )
    assert code == 0
    assert "2 recordings of speech in 2 folder(s)" in said
    assert command("denoise", "noisy.wav", "-o", "clean.wav", "--model", "own.mercer") == 0
    assert si_sdr(voice(), read_audio("clean.wav").samples) > si_sdr(voice(), NOISY)


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["missing.wav", "-o", "out.wav"], 3, "There is no file or folder missing.wav"),
    (["noisy.wav", "-o", "out.txt"], 2, "a name that ends in .wav or .flac"),
    (["noisy.wav", "-o", "noisy.wav"], 4, "would replace a file that is read"),
    (["words.wav", "-o", "out.wav"], 3, "words.wav cannot be read as a recording"),
    (["empty.wav", "-o", "out.wav"], 3, "empty.wav has no samples"),
    (["nothing", "-o", "out.wav"], 3, "nothing has no recording"),
    (["noisy.wav", "-o", "out.wav", "--model", "table.mercer"], 3, "not a SpeechEnhancer"),
    (["noisy.wav", "noisy.wav", "-o", "nothing"], 2, "would both be written to"),
    (["--train", "noisy.wav", "-o", "out.wav"], 2, "the file of a model"),
])  # fmt: skip
def test_what_is_refused(capsys, folder, arguments, code, words):
    import mercer

    (folder / "words.wav").write_text("not a recording")
    soundfile.write("empty.wav", np.zeros(0), 16_000)
    (folder / "nothing").mkdir()
    mercer.save(mercer.KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0]), "table.mercer")
    found, said = printed(capsys, "denoise", *arguments)
    assert found == code
    assert words in said


@pytest.mark.parametrize("name", ["cut.wav", "cut.aiff", "cut.flac"])
def test_a_recording_that_is_cut_short_is_refused(name, capsys):
    soundfile.write(name, NOISY, 16_000)
    content = Path(name).read_bytes()
    Path(name).write_bytes(content[: len(content) // 2])
    code, said = printed(capsys, "denoise", name, "-o", "out.wav")
    assert (code, f"{name} " in said) == (3, True)
    assert "cut short" in said or "cannot be read as a recording" in said


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_samples_that_are_no_numbers_are_refused(value, capsys):
    samples = NOISY.copy()
    samples[8000] = value
    soundfile.write("bad.wav", samples, 16_000, subtype="FLOAT")
    code, said = printed(capsys, "denoise", "bad.wav", "-o", "out.wav")
    assert (code, "NaN or infinite, the first after 0.5 s" in said) == (3, True)


def test_a_wav_of_a_pipe_does_not_know_its_size():
    soundfile.write("piped.wav", NOISY[:500], 16_000)
    content = bytearray(Path("piped.wav").read_bytes())
    content[4:8] = b"\xff" * 4
    Path("piped.wav").write_bytes(content)
    assert len(read_audio("piped.wav").samples) == 500


def test_an_existing_file_stays_unless_forced():
    write_audio("clean.wav", np.zeros(5))
    assert command("denoise", "noisy.wav", "-o", "clean.wav") == 4
    assert len(read_audio("clean.wav").samples) == 5
    assert command("denoise", "noisy.wav", "-o", "clean.wav", "--force") == 0
