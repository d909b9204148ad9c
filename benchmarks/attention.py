"""Attention by kernels: seconds and memory beside torch's own, and accuracy on news by kernel.

Needs torch (``make test-torch`` installs it) and MERCER_DATA; not part of ``make bench``.

``--part cost`` and ``--part news`` run one section alone.
"""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from harness import Section, data_folder, options, peak_memory
from mercer.deep import AttentionClassifier, attention_weights, kernel_attention

LENGTHS = (1024, 4096, 16384)
COLUMNS = 64
KERNELS = (
    "dot_product",
    "rbf",
    "distance",
    "quadratic",
    "intersection",
    "linear",
    "random_features",
)
LINEAR = ("linear", "linear, causal", "random_features", "random_features, causal")


def cauchy(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """log 1 / (1 + |q - k|² / d): a user's function."""
    squares = q.square().sum(-1)[..., None] + k.square().sum(-1)[..., None, :] - 2 * (q @ k.mT)
    return -torch.log1p(squares / q.shape[-1])


def cosine(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """8 cos(q, k): a user's function."""
    return 8 * F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT


def forms() -> dict[str, Callable]:
    """Attention as a function of q, k and v."""
    found: dict[str, Callable] = {
        "torch, dot product": F.scaled_dot_product_attention,
        "torch, dot product, causal": lambda *qkv: F.scaled_dot_product_attention(
            *qkv, is_causal=True
        ),
    }
    for name in KERNELS[1:]:
        found[name] = lambda *qkv, name=name: kernel_attention(*qkv, kernel=name)
    for name in ("rbf", "quadratic", "linear", "random_features"):
        found[f"{name}, causal"] = lambda *qkv, name=name: kernel_attention(
            *qkv, is_causal=True, kernel=name
        )
    found["a user's function: 8 cos"] = lambda *qkv: kernel_attention(*qkv, kernel=cosine)
    found["a user's function: Cauchy"] = lambda *qkv: kernel_attention(*qkv, kernel=cauchy)
    found["rbf, whole matrix"] = lambda q, k, v: attention_weights(q, k, kernel="rbf") @ v
    return found


def inputs(length: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(1, 1, length, COLUMNS, requires_grad=True) for _ in range(3)]


def both_passes(form: Callable, qkv: list[torch.Tensor]) -> float:
    """CPU seconds of the outputs and all gradients."""
    began = time.process_time()
    out = form(*qkv)
    torch.autograd.grad(out, qkv, torch.ones_like(out))
    return time.process_time() - began


def beyond(name: str, length: int) -> float:
    """Peak MB of both passes beyond inputs, outputs and gradients."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import torch, attention\n"
        "torch.set_num_threads(1)\n"
        f"form, small = attention.forms()[{name!r}], attention.inputs(64)\n"
        "attention.both_passes(form, small)\n"
        "# measured\n"
        f"attention.both_passes(form, attention.inputs({length}))"
    )
    kept = 8 * length * COLUMNS * 4 / 2**20  # q, k, v, their gradients, the outputs, and theirs
    return peak_memory(code) - kept


def takes(name: str, length: int) -> bool:
    """The matrix and the intersection are measured where they fit and end soon."""
    return length <= 4096 or name not in ("rbf, whole matrix", "intersection")


def cost(quick: bool) -> Section:
    lengths = LENGTHS[:2] if quick else LENGTHS
    repeats = {1024: 7, 4096: 3, 16384: 3}
    section = Section(
        "attention",
        f"Outputs and gradients of attention, one head, d = {COLUMNS}, float32: CPU seconds on one "
        f"thread, the least of interleaved runs, and times torch {version('torch')}'s dot product "
        "(causal ones: times its causal one). Peak MB beyond inputs, outputs and gradients, at the "
        "largest length measured.",
        ["form", *(f"L = {length:,}" for length in lengths), "times torch", "peak MB"],
    )
    torch.set_num_threads(1)
    found: dict[str, list[float]] = {name: [] for name in forms()}
    for length in lengths:
        qkv = inputs(length)
        chosen = [name for name in found if takes(name, length)]
        seconds = dict.fromkeys(chosen, np.inf)
        for _ in range(2 if quick else repeats[length]):
            for name in chosen:
                seconds[name] = min(seconds[name], both_passes(forms()[name], qkv))
                print(length, name, seconds[name], flush=True)
        for name in chosen:
            found[name].append(seconds[name])
    for name, seconds in found.items():
        plain = found["torch, dot product" + ", causal" * name.endswith("causal")]
        cells = [f"{s:.3f}" for s in seconds] + [""] * (len(lengths) - len(seconds))
        last = len(seconds) - 1
        times = f"{seconds[last] / plain[last]:.2f}"
        section.row(name, *cells, times, f"{beyond(name, lengths[last]):.0f}")
    for name in LINEAR:
        slope = np.polyfit(np.log(lengths), np.log(found[name]), 1)[0]
        section.note(f"{name}: seconds grow as L to the power {slope:.2f}")
    return section


def news(folder: Path) -> tuple[list[str], np.ndarray]:
    with gzip.open(folder / "strings/ag_news_sub.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], np.array([row["label"] for row in rows])


def accuracy(quick: bool) -> Section:
    seeds = range(2 if quick else 5)
    settings = {"width": 32, "max_length": 48, "epochs": 5}
    section = Section(
        "attention, news",
        "AttentionClassifier on 2,000 of 4,000 news in four classes, the others are new: share of "
        f"right answers over {len(seeds)} seeds, of the split and of the network, with their "
        f"standard deviation. {', '.join(f'{name} = {v}' for name, v in settings.items())}.",
        ["kernel", "right", "standard deviation", "CPU seconds of a fit"],
    )
    folder = data_folder()
    if folder is None:
        section.note("left out: set MERCER_DATA to the folder of the data")
        return section
    texts, y = news(folder)
    scores: dict[str, list[float]] = {name: [] for name in KERNELS}
    seconds: dict[str, list[float]] = {name: [] for name in KERNELS}
    for seed in seeds:
        order = np.random.RandomState(seed).permutation(len(texts))
        learnt, asked = order[:2000], order[2000:]
        for name in KERNELS:
            model = AttentionClassifier(name, random_state=seed, n_jobs=1, **settings)
            began = time.process_time()
            model.fit([texts[i] for i in learnt], y[learnt])
            seconds[name].append(time.process_time() - began)
            scores[name].append(model.score([texts[i] for i in asked], y[asked]))
            print(seed, name, scores[name][-1], flush=True)
    for name in KERNELS:
        section.row(
            name, f"{100 * np.mean(scores[name]):.2f}%",
            f"{100 * np.std(scores[name], ddof=1):.2f}%", f"{np.median(seconds[name]):.1f}",
        )  # fmt: skip
    differences = np.array([scores[name] for name in KERNELS])
    paired = differences - differences.mean(axis=0)
    section.note(
        "within a seed, a kernel differs from the mean of all by "
        f"{100 * np.std(paired):.2f} points (standard deviation)"
    )
    return section


if __name__ == "__main__":
    arguments = options(("--part", {"choices": ["cost", "news"]}))
    if arguments.part != "news":
        cost(arguments.quick).finish(arguments.write)
    if arguments.part != "cost":
        accuracy(arguments.quick).finish(arguments.write)
