"""
Speech in noise: what a mask keeps
==================================

A voice is loud at the overtones of its pitch and quiet between them, and noise fills what is
between. An enhancer turns down what is noise, frame by frame and frequency by frequency. Here the
voice is made by program: a pitch that rises and falls, through three resonances that move, as those
of a mouth do. So we know the clean speech, and can say how near we come.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter

from mercer.plots import SpectrogramDisplay
from mercer.speech import SpeechEnhancer, mix, si_sdr

RATE = 16_000
VOWELS = {
    "a": (750, 1200, 2500),
    "i": (300, 2300, 3000),
    "u": (320, 800, 2300),
    "e": (500, 1900, 2500),
}


def sung(vowels, seconds=0.35, pause=0.12):
    """Vowels of a voice whose pitch goes up and down."""
    parts = []
    for k, vowel in enumerate(vowels):
        t = np.arange(round(seconds * RATE)) / RATE
        pitch = 125 + 20 * np.sin(2 * np.pi * 1.3 * (t + k))
        phase = np.cumsum(pitch) / RATE
        sound = np.diff(np.floor(phase), prepend=0.0)  # one pulse a period
        for formant in VOWELS[vowel]:
            r = np.exp(-np.pi * 90 / RATE)
            sound = lfilter([1 - r], [1, -2 * r * np.cos(2 * np.pi * formant / RATE), r * r], sound)
        parts += [
            sound / np.abs(sound).max() * np.hanning(len(t)) ** 0.3,
            np.zeros(round(pause * RATE)),
        ]
    return 0.3 * np.concatenate(parts)


clean = sung("aiueaieu")
noise = np.cumsum(np.random.default_rng(0).normal(size=len(clean)))
noise = lfilter([1, -1], [1, -0.95], noise)  # no louder below 125 Hz
noisy = mix(clean, noise, snr=0.0, random_state=0)

# %%
# The model that comes with the package has never heard this voice, nor this noise:

model = SpeechEnhancer.pretrained()
after = model.enhance(noisy).samples
print(f"before {si_sdr(clean, noisy):5.1f} dB")
print(f"after  {si_sdr(clean, after):5.1f} dB")

# %%
# In the mask one sees what it takes for speech: the vowels, and within them the resonances.

display = SpectrogramDisplay.from_estimator(model, noisy)
for ax in display.axes_:
    ax.set_ylim(0, 4)
plt.show()
