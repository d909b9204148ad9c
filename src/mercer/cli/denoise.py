"""``mercer denoise``: speech without its noise, and the model that takes it out."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mercer.cli.options import check_paths, check_seed
from mercer.cli.terminal import OptionError, Terminal, line
from mercer.persistence import ModelFileError, load, save
from mercer.speech import (
    Recording,
    SpeechEnhancer,
    find_recordings,
    make_scenes,
    read_audio,
    resampled,
    write_audio,
)
from mercer.spoken import a_type

AUDIO = (".wav", ".flac")  # that can be written
CLIPPED = 0.001  # share of samples above which it is said
MOST_SCENES = 100_000  # of 5 seconds
DECIBELS = 1e-12  # of full power, which stands for silence


def denoise_files(
    given: Sequence[Path], *, output: Path, model: Path | None, force: bool, json: bool, quiet: bool
) -> int:
    """Write each recording without noise: to a file, or many to a folder under their own names."""
    sources = find_recordings(given)
    single = len(sources) == 1 and output.suffix.lower() in AUDIO
    if not single and not output.is_dir():
        raise OptionError(
            f"--output {output}: give a name that ends in {' or '.join(AUDIO)}"
            + (", for one recording; for several give a folder that exists." if
               len(sources) > 1 else ", or a folder that exists.")
        )  # fmt: skip
    targets = [output] if single else [output / f"{source.stem}.wav" for source in sources]
    names = ["--output" if single else f"the speech of {source}" for source in sources]
    read = sources if model is None else [*sources, model]
    check_paths(list(zip(names, targets)), read, force=force)
    enhancer = SpeechEnhancer.pretrained() if model is None else _loaded(model)
    screen, done = Terminal(quiet=quiet or json), []
    for source, target in zip(sources, targets):
        recording = read_audio(source)
        after = enhancer.enhance(recording.samples, recording.rate)
        write_audio(target, after.samples, recording.rate, bits=recording.bits)
        taken = _level(recording.samples) - _level(after.samples)
        screen.print(line((f"{target}", "bold"), f"  {_about(source, recording)}"), soft_wrap=True)
        screen.print(f"  What was taken out makes it {taken:.1f} dB less loud.")
        for note in _notes(recording):
            screen.print(f"  {note}")
        done.append({
            "input": str(source), "output": str(target), "sample_rate": recording.rate,
            "channels": recording.channels, "bits": recording.bits,
            "seconds": len(recording.samples) / recording.rate, "clipped": recording.clipped,
            "decibels_taken_out": round(taken, 2),
        })  # fmt: skip
    if json:
        print(json_text.dumps({"files": done}, indent=2))
    return 0


def train_enhancer(
    given: Sequence[Path], *, output: Path, scenes: int, seed: int, force: bool, json: bool,
    quiet: bool,
) -> int:  # fmt: skip
    """Fit a model to clean speech (the first folder) with noise (the others), and write it."""
    if output.suffix.lower() in AUDIO:
        raise OptionError(
            f"--output {output}: with --train give the file of a model, speech.mercer."
        )
    if not 1 <= scenes <= MOST_SCENES:
        raise OptionError(f"--scenes {scenes}: give a number from 1 to {MOST_SCENES:,}.")
    check_seed(seed)
    clean, noise = find_recordings(given[:1]), find_recordings(given[1:])
    check_paths([("--output", output)], [*clean, *noise], force=force)
    screen = Terminal(quiet=quiet or json)
    spoken, noises = [read_audio(path) for path in clean], [read_audio(path) for path in noise]
    rate = 16_000 if any(recording.rate > 8000 for recording in spoken) else 8000
    speakers = [str(path.parent) for path in clean]
    screen.print(
        f"{len(clean)} recordings of speech in {len(set(speakers))} folder(s), which count as one "
        f"speaker each; {len(noise)} of noise, beside noise made by program."
    )
    made = make_scenes(
        [_at(recording, rate) for recording in spoken],
        [_at(recording, rate) for recording in noises],
        speakers=speakers, sample_rate=rate, scenes=scenes, random_state=seed,
    )  # fmt: skip
    enhancer = SpeechEnhancer(random_state=seed)
    enhancer.fit(made.noisy, made.clean, sample_rate=rate)
    save(enhancer.halved(), output)
    screen.print(line((f"{output}", "bold"), f"  {output.stat().st_size / 1e6:.1f} MB"))
    screen.print(f"  Mean squared error of the mask on the mixtures: {enhancer.error_:.3f}.")
    screen.print(f"Use it: mercer denoise noisy.wav -o clean.wav --model {output}", soft_wrap=True)
    if json:
        said = {"model": str(output), "speech": len(clean), "noise": len(noise), "scenes": scenes,
                "sample_rate": rate, "training_error": enhancer.error_}  # fmt: skip
        print(json_text.dumps(said, indent=2))
    return 0


def _loaded(path: Path) -> SpeechEnhancer:
    """The enhancer that a file holds."""
    model = load(path)
    if not isinstance(model, SpeechEnhancer):
        raise ModelFileError(
            f"{str(path)!r} holds {a_type(model)}, not a SpeechEnhancer. Make one by "
            "mercer denoise --train clean/ noise/ -o speech.mercer."
        )
    return model


def _at(recording: Recording, rate: int) -> np.ndarray:
    return resampled(recording.samples, recording.rate, rate)


def _about(source: Path, recording: Recording) -> str:
    return f"{len(recording.samples) / recording.rate:.1f} s of {source}, {recording.rate:,} Hz"


def _notes(recording: Recording) -> list[str]:
    """What a listener should know of a recording."""
    notes = []
    if recording.channels > 1:
        notes.append(f"Its {recording.channels} channels were taken together to one.")
    if recording.bits == 24 and recording.subtype != "PCM_24":
        notes.append(f"Its samples, {recording.subtype}, are written with 24 bits.")
    if recording.clipped > CLIPPED:
        notes.append(f"{recording.clipped:.1%} of its samples are clipped, which stays audible.")
    if not recording.samples.any():
        notes.append("It is silent.")
    return notes


def _level(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(np.square(samples, dtype=np.float64)) + DECIBELS))
