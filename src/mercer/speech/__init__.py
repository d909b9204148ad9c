"""Speech enhancement: removes noise from recordings by kernel regression."""

from mercer.speech.audio import (
    Frames,
    Recording,
    find_recordings,
    own_rate,
    read_audio,
    resampled,
    write_audio,
)
from mercer.speech.enhancer import Enhanced, SpeechEnhancer, ideal_mask, training_frames
from mercer.speech.measures import pesq, si_sdr, stoi
from mercer.speech.scenes import Scenes, make_scenes, mix
from mercer.speech.stream import EnhancerStream

__all__ = [
    "Enhanced", "EnhancerStream", "Recording", "Scenes", "SpeechEnhancer", "find_recordings",
    "make_scenes", "mix", "pesq", "read_audio", "si_sdr", "stoi", "write_audio",
]  # fmt: skip
