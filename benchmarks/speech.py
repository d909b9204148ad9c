"""Speech enhancement by kernel regression beside two classic filters and a neural network.

Training data are digits of the Free Spoken Digit Dataset with noise made by program. Tests are
speakers and real noises that no training saw: each of the three speakers left out in turn, and read
speech of another corpus. The network has the same features, targets and frames as the kernel
machine; how many epochs it trains is decided by a speaker of the training data who is held out.
PESQ is measured where the package of that name is installed. ``--kept FILE`` keeps what each seed
gives, which is not measured again, and ``--only 0 1`` measures some into it. Needs MERCER_DATA.
"""

import json
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

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
    pesq,
    read_audio,
    resampled,
    si_sdr,
    stoi,
    training_frames,
)
from mercer.speech.audio import whole_features

LEARNT = 122
EPOCHS = 6  # at most, of the network
SCENES, FRAMES = 250, 20_000  # of each speaker
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


def quality(methods, speech, noises, seed) -> dict[str, float]:
    """Mean PESQ of the noisy recordings at 0 dB, and of what each method makes of them."""
    frames, found = Frames(16_000), {name: [] for name in ("noisy", *methods)}
    for i, clean in enumerate(speech):
        for j, noise in enumerate(noises):
            x = mix(clean, noise, 0.0, random_state=1000 * seed + 10 * i + j)
            S = frames.spectra(x)
            found["noisy"].append(pesq(clean, x))
            for name, mask in methods.items():
                y = frames.waveform(S * mask(np.abs(S) ** 2), len(x))
                found[name].append(pesq(clean, y))
    return {name: float(np.mean(values)) for name, values in found.items()}


def trained(voices, speakers, seed):
    """The kernel machine and the network on the same mixtures, and the CPU seconds of both.

    Each speaker has scenes of their own, so that one can be held out.
    """
    seen = [
        make_scenes(
            [v for v, s in zip(voices, speakers) if s == name], sample_rate=8000,
            scenes=SCENES, seconds=4.0, random_state=seed,
        )
        for name in sorted(set(speakers))
    ]  # fmt: skip
    machine = SpeechEnhancer(max_frames=FRAMES * len(seen), random_state=seed)
    began, random = time.process_time(), np.random.RandomState(seed)
    machine.fit([x for m in seen for x in m.noisy], [x for m in seen for x in m.clean],
                sample_rate=8000)  # fmt: skip
    seconds = [time.process_time() - began]
    began = time.process_time()
    parts = [training_frames(m.noisy, m.clean, 8000, FRAMES, random) for m in seen]
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


class Recordings:
    """All speech and noise of the data folder."""

    def __init__(self, audio: Path):
        files = find_recordings([audio / "fsdd"])
        self.voices = [read_audio(file).samples for file in files]
        self.speakers = [file.stem.split("_")[1] for file in files]
        self.noises = []
        for file in find_recordings([audio / "noise", audio / "noise_freesound"]):
            recording = read_audio(file)
            self.noises.append(resampled(recording.samples, recording.rate, 16_000))
        reading = find_recordings([audio / "vctk_p287_clean"])
        self.read = [read_audio(file).samples for file in reading]
        noisy = [read_audio(audio / "vctk_p287_noisy" / file.name).samples for file in reading]
        self.also = np.concatenate([x - clean for x, clean in zip(noisy, self.read)])

    def of(self, wanted) -> tuple[list, list]:
        """Voices and names of the speakers whose names are wanted."""
        pairs = [(v, s) for v, s in zip(self.voices, self.speakers) if wanted(s)]
        return [v for v, _ in pairs], [s for _, s in pairs]


def of_seed(seed: int, known: Recordings) -> dict:
    """What one seed gives: figures of each kind of speech, and what training took."""
    found: dict = {"rows": {}, "seconds": [], "epochs": []}
    by_speaker: dict = {}
    low = [resampled(n, 16_000, 8000) for n in known.noises]
    for name in sorted(set(known.speakers)):
        machine, network, took = trained(*known.of(lambda s, name=name: s != name), seed)
        found["seconds"].append(took)
        found["epochs"].append(network.epochs)
        own, _ = known.of(lambda s, name=name: s == name)
        test = make_scenes(own, sample_rate=8000, scenes=6, seconds=4.0, random_state=100 + seed)
        for snr in SNRS:
            values = tested(methods_of(machine, network), test.clean, low, 8000, snr, seed)
            by_speaker.setdefault(snr, []).append(values)
    for snr, values in by_speaker.items():
        mean = {m: np.mean([v[m] for v in values], axis=0).tolist() for m in values[0]}
        found["rows"][f"a speaker left out|{snr:+.0f} dB"] = mean
    machine, network, _ = trained(known.voices, known.speakers, seed)
    methods = methods_of(machine, network)
    for snr in SNRS:
        values = tested(methods, known.read, [*known.noises, known.also], 16_000, snr, seed)
        found["rows"][f"read, another corpus|{snr:+.0f} dB"] = {
            name: value.tolist() for name, value in values.items()
        }
    if find_spec("pesq"):
        found["pesq"] = quality(methods, known.read, known.noises, seed)
    gains = []
    for i, clean in enumerate(known.read):
        for j, noise in enumerate(known.noises):
            x = mix(clean, noise, 0.0, random_state=1000 * seed + 10 * i + j)
            stream = EnhancerStream(machine)
            y, whole = np.concatenate([stream.push(x), stream.close()]), machine.enhance(x).samples
            gains.append((si_sdr(clean, y) - si_sdr(clean, whole),
                          stoi(clean, y) - stoi(clean, whole)))  # fmt: skip
    found["stream"] = np.mean(gains, axis=0).tolist()
    return found


def main() -> None:
    chosen = options(
        ("--seeds", {"type": int, "default": 5}),
        ("--kept", {"default": "", "help": "file of seeds, which are not measured again"}),
        ("--only", {"type": int, "nargs": "*", "help": "seeds to measure into that file"}),
    )
    folder = data_folder()
    if folder is None:
        sys.exit("Set MERCER_DATA to the folder of the data sets.")
    seeds, known, kept = 1 if chosen.quick else chosen.seeds, Recordings(folder / "audio"), {}
    if chosen.kept and Path(chosen.kept).exists():
        lines = Path(chosen.kept).read_text().splitlines()
        kept = {line["seed"]: line for line in map(json.loads, lines)}
    for seed in range(seeds) if chosen.only is None else chosen.only:
        if seed not in kept:
            kept[seed] = {"seed": seed, **of_seed(seed, known)}
            if chosen.kept:
                with open(chosen.kept, "a") as file:
                    print(json.dumps(kept[seed]), file=file)
    if chosen.only is not None:
        return
    runs = [kept[seed] for seed in range(seeds)]
    section = Section(
        "speech",
        f"Gain of SI-SDR in dB / gain of STOI / squared error of the mask, mean (standard "
        f"deviation) of {seeds} seeds of training data and mixtures.",
        ["speech", "SNR", "kernel", "network", "Wiener", "subtraction"],
    )
    for row in runs[0]["rows"]:
        cells = []
        for method in ("kernel", "network", "Wiener", "subtraction"):
            values = np.array([run["rows"][row][method] for run in runs])
            mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1) if seeds > 1 else (0, 0, 0)
            cells.append(f"{mean[0]:.2f} ({sd[0]:.2f}) / {mean[1]:.3f} ({sd[1]:.3f}) / "
                         f"{mean[2]:.4f} ({sd[2]:.4f})")  # fmt: skip
        section.row(*row.split("|"), *cells)
    if all("pesq" in run for run in runs):
        mean = {name: np.mean([run["pesq"][name] for run in runs]) for name in runs[0]["pesq"]}
        section.note(
            "PESQ (wide band, of the package pesq) of read speech at +0 dB: "
            + ", ".join(f"{name} {value:.2f}" for name, value in mean.items())
        )
    ours, theirs = np.mean([took for run in runs for took in run["seconds"]], axis=0)
    epochs = np.mean([run["epochs"] for run in runs])
    section.note(
        f"training: kernel {ours:.1f} CPU s with features, network {theirs:.1f} with its features "
        f"and the choice of {epochs:.1f} of at most {EPOCHS} epochs"
    )
    pace(section, known, np.mean([run["stream"] for run in runs], axis=0))
    eigenpro(section, known.voices, known.speakers)
    section.finish(chosen.write)


def pace(section: Section, known: Recordings, streamed: np.ndarray) -> None:
    """Seconds for a second of a recording, whole and as a stream."""
    machine, long = SpeechEnhancer.pretrained(), np.concatenate(known.read)
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
