"""Speech enhancement by kernel regression beside two classic filters and a neural network.

Training data are digits of the Free Spoken Digit Dataset with noise made by program. Tests are
speakers and real noises that no training saw: each of the three speakers left out in turn, and read
speech of another corpus. The network has the same features, targets and frames as the kernel
machine; how many epochs it trains is decided by a speaker of the training data who is held out.
Needs MERCER_DATA.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from harness import Section, data_folder, options
from mercer.learners.ridge import KernelRidge
from mercer.solvers import EigenProSolver
from mercer.speech import (
    EnhancerStream,
    Frames,
    SpeechEnhancer,
    find_recordings,
    ideal_mask,
    make_scenes,
    mix,
    read_audio,
    resampled,
    si_sdr,
    stoi,
    training_frames,
)
from mercer.speech.features import whole_features

LEARNT = 122
EPOCHS = 6  # at most, of the network
SNRS = (-5.0, 0.0, 5.0)
FLOOR = 0.05


def noise_power(power: np.ndarray) -> np.ndarray:
    """Power of the noise by the probability of speech (Gerkmann & Hendriks, 2012)."""
    noise = power[:5].mean(axis=0)
    out, mean_presence = np.empty_like(power), np.full(power.shape[1], 0.5)
    snr = 10**1.5
    for t, frame in enumerate(power):
        post = frame / np.maximum(noise, 1e-12)
        likelihood = (1 + snr) * np.exp(-np.minimum(post * snr / (1 + snr), 200))
        presence = 1 / (1 + likelihood)
        mean_presence = 0.9 * mean_presence + 0.1 * presence
        presence = np.where(mean_presence > 0.99, np.minimum(presence, 0.99), presence)
        noise = 0.8 * noise + 0.2 * (presence * noise + (1 - presence) * frame)
        out[t] = noise
    return out


def wiener(power: np.ndarray) -> np.ndarray:
    """Decision-directed Wiener gains (Ephraim & Malah, 1984; Scalart & Filho, 1996)."""
    noise, gains, before = noise_power(power), np.empty_like(power), None
    for t, frame in enumerate(power):
        post = frame / np.maximum(noise[t], 1e-12)
        prior = np.maximum(post - 1, 0)
        if before is not None:
            prior = 0.98 * before + 0.02 * prior
        gains[t] = np.maximum(prior / (1 + prior), FLOOR)
        before = gains[t] ** 2 * post
    return gains


def subtraction(power: np.ndarray) -> np.ndarray:
    """Spectral subtraction of magnitudes (Boll, 1979)."""
    ratio = np.sqrt(noise_power(power) / np.maximum(power, 1e-12))
    return np.maximum(1 - ratio, FLOOR)


class Network:
    """Two hidden layers of 512 units on the features of the kernel machine."""

    def __init__(self, seed: int):
        self.seed = seed

    def fit(self, F, masks, owners) -> "Network":
        self.centre, self.spread = F.mean(axis=0), np.maximum(F.std(axis=0), 1e-6)
        F = (F - self.centre) / self.spread
        held = owners == owners.max()
        errors, model = [], self._new()
        for _ in range(EPOCHS):
            model.partial_fit(F[~held], masks[~held])
            errors.append(np.mean((model.predict(F[held]) - masks[held]) ** 2))
        self.epochs = int(np.argmin(errors)) + 1
        self.model = self._new()
        for _ in range(self.epochs):
            self.model.partial_fit(F, masks)
        return self

    def _new(self):
        return MLPRegressor(hidden_layer_sizes=(512, 512), batch_size=256, random_state=self.seed)

    def mask(self, power: np.ndarray) -> np.ndarray:
        F = (whole_features(power) - self.centre) / self.spread
        gains = np.clip(self.model.predict(F), FLOOR, 1)
        above = gains[:, 109:].mean(axis=1, keepdims=True)
        return np.hstack([gains, np.repeat(above, power.shape[1] - LEARNT, axis=1)])


def judge(x, clean, mask, frames) -> tuple[float, float, float]:
    """Gains of SI-SDR and STOI over the noisy recording, and the squared error of the mask."""
    y = frames.waveform(frames.spectra(x) * mask, len(x))
    ideal = ideal_mask(x, clean, frames)[:, :LEARNT]
    return (
        si_sdr(clean, y) - si_sdr(clean, x),
        stoi(clean, y, frames.rate) - stoi(clean, x, frames.rate),
        float(np.mean((mask[:, :LEARNT] - ideal) ** 2)),
    )


def tested(methods, speech, noises, rate, snr, seed) -> dict[str, np.ndarray]:
    """Mean of `judge` over all pairs of speech and noise, for each method."""
    frames, found = Frames(rate), {name: [] for name in methods}
    for i, clean in enumerate(speech):
        for j, noise in enumerate(noises):
            x = mix(clean, noise, snr, random_state=1000 * seed + 10 * i + j)
            power = np.abs(frames.spectra(x)) ** 2
            for name, mask in methods.items():
                found[name].append(judge(x, clean, mask(power), frames))
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def trained(voices, speakers, seed):
    """The kernel machine and the network on the same mixtures, and the CPU seconds of both."""
    made = make_scenes(
        voices, speakers=speakers, sample_rate=8000, scenes=500, seconds=4.0, random_state=seed
    )
    machine, began = SpeechEnhancer(random_state=seed), time.process_time()
    machine.fit(made.noisy, made.clean, sample_rate=8000)
    seconds = [time.process_time() - began]
    began, random = time.process_time(), np.random.RandomState(seed)
    # scenes of one speaker each, so that one can be held out
    seen = [
        make_scenes(
            [v for v, s in zip(voices, speakers) if s == name],
            sample_rate=8000,
            scenes=250,
            seconds=4.0,
            random_state=seed,
        )
        for name in set(speakers)
    ]
    parts = [training_frames(m.noisy, m.clean, 8000, 20_000, random) for m in seen]
    F = np.concatenate([part[0] for part in parts])
    masks = np.concatenate([part[1] for part in parts])
    who = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    network = Network(seed).fit(F, masks, who)
    seconds.append(time.process_time() - began)
    return machine, network, seconds


def methods_of(machine, network):
    return {
        "kernel": lambda power: machine.mask_of(whole_features(power), power.shape[1]),
        "network": network.mask,
        "Wiener": wiener,
        "subtraction": subtraction,
    }


def main() -> None:
    chosen = options(("--seeds", {"type": int, "default": 5}))
    folder = data_folder()
    if folder is None:
        sys.exit("Set MERCER_DATA to the folder of the data sets.")
    seeds = 1 if chosen.quick else chosen.seeds
    audio = folder / "audio"
    files = find_recordings([audio / "fsdd"])
    voices = [read_audio(file).samples for file in files]
    speakers = [file.stem.split("_")[1] for file in files]
    noises = []
    for file in find_recordings([audio / "noise", audio / "noise_freesound"]):
        recording = read_audio(file)
        noises.append(resampled(recording.samples, recording.rate, 16_000))
    reading = find_recordings([audio / "vctk_p287_clean"])
    read = [read_audio(file).samples for file in reading]
    noisy = [read_audio(audio / "vctk_p287_noisy" / file.name).samples for file in reading]
    also = [x - clean for x, clean in zip(noisy, read)]
    section = Section(
        "speech",
        f"Gain of SI-SDR in dB / gain of STOI / squared error of the mask, mean (standard "
        f"deviation) of {seeds} seeds of training data and mixtures.",
        ["speech", "SNR", "kernel", "network", "Wiener", "subtraction"],
    )
    found: dict = {}
    seconds, epochs = [], []
    for seed in range(seeds):
        by_speaker: dict = {}
        for name in sorted(set(speakers)):
            kept = [i for i, s in enumerate(speakers) if s != name]
            machine, network, took = trained(
                [voices[i] for i in kept], [speakers[i] for i in kept], seed
            )
            seconds.append(took)
            epochs.append(network.epochs)
            own = [v for v, s in zip(voices, speakers) if s == name]
            test = make_scenes(
                own, sample_rate=8000, scenes=6, seconds=4.0, random_state=100 + seed
            )
            low = [resampled(n, 16_000, 8000) for n in noises]
            for snr in SNRS:
                values = tested(methods_of(machine, network), test.clean, low, 8000, snr, seed)
                by_speaker.setdefault(snr, []).append(values)
        for snr, values in by_speaker.items():
            mean = {m: np.mean([v[m] for v in values], axis=0) for m in values[0]}
            found.setdefault(("a speaker left out", snr), []).append(mean)
        machine, network, _ = trained(voices, speakers, seed)
        for snr in SNRS:
            values = tested(methods_of(machine, network), read, [*noises, np.concatenate(also)],
                            16_000, snr, seed)  # fmt: skip
            found.setdefault(("read, another corpus", snr), []).append(values)
            if snr == 0:
                gains = []
                for i, clean in enumerate(read):
                    for j, noise in enumerate(noises):
                        x = mix(clean, noise, snr, random_state=1000 * seed + 10 * i + j)
                        stream = EnhancerStream(machine)
                        y = np.concatenate([stream.push(x), stream.close()])
                        whole = machine.enhance(x).samples
                        gains.append((si_sdr(clean, y) - si_sdr(clean, whole),
                                      stoi(clean, y) - stoi(clean, whole)))  # fmt: skip
                found.setdefault("stream", []).append(np.mean(gains, axis=0))
    streamed = np.mean(found.pop("stream"), axis=0)
    for (speech, snr), runs in found.items():
        cells = []
        for method in ("kernel", "network", "Wiener", "subtraction"):
            values = np.array([run[method] for run in runs])
            mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1) if seeds > 1 else (0, 0, 0)
            cells.append(f"{mean[0]:.2f} ({sd[0]:.2f}) / {mean[1]:.3f} ({sd[1]:.3f}) / "
                         f"{mean[2]:.4f} ({sd[2]:.4f})")  # fmt: skip
        section.row(speech, f"{snr:+.0f} dB", *cells)
    ours, theirs = np.mean(seconds, axis=0)
    section.note(
        f"training: kernel {ours:.1f} CPU s with features, network {theirs:.1f} with its features "
        f"and the choice of {np.mean(epochs):.1f} of at most {EPOCHS} epochs"
    )
    long = np.concatenate(read)
    began = time.process_time()
    machine.enhance(long)
    whole = (time.process_time() - began) / (len(long) / 16_000)
    stream, began = EnhancerStream(machine), time.process_time()
    for part in np.array_split(long, len(long) // 160):
        stream.push(part)
    part_by_part = (time.process_time() - began) / (len(long) / 16_000)
    section.note(
        f"real-time factor on one core {whole:.4f}; as a stream of 10 ms {part_by_part:.3f}, "
        f"{stream.latency / 16:.0f} ms late, {streamed[0]:+.2f} dB and {streamed[1]:+.3f} STOI "
        "against the whole recording at 0 dB"
    )
    eigenpro(section, voices, speakers)
    section.finish(chosen.write)


def eigenpro(section: Section, voices, speakers) -> None:
    """Error on held-out mixtures over CPU seconds, of the low-rank fit and of EigenPro."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # epochs are what is compared
    made = [make_scenes(voices, speakers=speakers, sample_rate=8000, scenes=k, seconds=4.0,
                        random_state=s) for k, s in ((200, 0), (40, 1))]  # fmt: skip
    random = np.random.RandomState(0)
    F, M, _ = training_frames(made[0].noisy, made[0].clean, 8000, 16_000, random)
    T, N, _ = training_frames(made[1].noisy, made[1].clean, 8000, 8000, random)
    centre, spread, mean = F.mean(axis=0), F.std(axis=0), M.mean(axis=0)
    F, T = (F - centre) / spread, (T - centre) / spread
    kernel = SpeechEnhancer(max_frames=16_000, random_state=0)
    kernel.fit(made[0].noisy, made[0].clean, sample_rate=8000)
    kernel = kernel.machines_[0].kernel
    for label, settings in [
        *((f"low rank {m}", {"alpha": 1e-6 * len(F), "solver": "low_rank", "rank": m})
          for m in (300, 1000, 2000)),
        *((f"EigenPro {e} epochs",
           {"alpha": 0.0, "solver": EigenProSolver(epochs=e, tol=0.0, random_state=0)})
          for e in (1, 2, 4, 8)),
    ]:  # fmt: skip
        began = time.process_time()
        model = KernelRidge(kernel=kernel, random_state=0, **settings).fit(F, M - mean)
        took = time.process_time() - began
        error = np.mean((np.clip(model.predict(T) + mean, FLOOR, 1) - N) ** 2)
        section.note(f"16,000 frames, {label}: {took:.1f} CPU s, error of the mask {error:.4f}")


if __name__ == "__main__":
    main()
