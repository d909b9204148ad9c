"""Make the model of ``SpeechEnhancer.pretrained()``: ``python benchmarks/speech_model.py [FILE]``.

It learns from the Free Spoken Digit Dataset (CC BY-SA 4.0) and from noise made by program, in about
half a minute. Needs MERCER_DATA, in which audio/fsdd holds the recordings.
"""

import os
import sys
from pathlib import Path

import mercer
from mercer.speech import SpeechEnhancer, find_recordings, make_scenes, read_audio

folder = Path(os.environ["MERCER_DATA"]) / "audio/fsdd"
files = find_recordings([folder])
scenes = make_scenes(
    [read_audio(file).samples for file in files],
    speakers=[file.stem.split("_")[1] for file in files],
    sample_rate=8000, scenes=750, seconds=4.0, random_state=0,
)  # fmt: skip
model = SpeechEnhancer(max_frames=60_000, random_state=0)
model.fit(scenes.noisy, scenes.clean, sample_rate=8000)
target = Path(sys.argv[1] if len(sys.argv) > 1 else "src/mercer/data/speech.mercer")
mercer.save(model.halved(), target)
print(f"{target}: {target.stat().st_size:,} bytes; error of the mask {model.error_:.4f}")
