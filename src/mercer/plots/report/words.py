"""Kernels in words and in mathematical notation, for readers who do not know kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.distances import MappedMinkowski
from mercer.kernels import Kernel, TableKernel

__all__ = ["KernelWords", "kernel_words"]

#: class -> (formula, words); braces are parameters, filled in by name
ATOMS = {
    "Linear": ("⟨x, z⟩", "the inner product: a linear model"),
    "Polynomial": ("(γ⟨x, z⟩ + c)^{degree}", "products of up to {degree} columns"),
    "Sigmoid": ("tanh(γ⟨x, z⟩ + c)", "the hyperbolic tangent of the inner product"),
    "Cosine": ("⟨x, z⟩ / (‖x‖ ‖z‖)", "the cosine of the angle between two rows"),
    "ArcCosine": (
        "arc-cosine of degree {degree}, layers: {layers}",
        "what layers of infinitely many random units have in common for two rows",
    ),
    "NormalisedGaussian": (
        "‖x‖ ‖z‖ exp(cos θ − 1)",
        "a bell curve of the angle between two rows, times their lengths",
    ),
    "NeuralNetworkGP": (
        "ReLU network of infinite width, hidden layers: {layers}",
        "the covariance of the outputs of random networks",
    ),
    "NeuralTangent": (
        "neural tangent kernel, hidden layers: {layers}",
        "how much a step of training on one row changes the output of the other",
    ),
    "RBF": ("exp(−γ ‖x − z‖²)", "1 for equal rows, falling as a bell curve with their distance"),
    "Laplacian": (
        "exp(−γ ‖x − z‖₁)",
        "1 for equal rows, falling exponentially with the sum of their absolute differences",
    ),
    "ExponentialPower": (
        "exp(−‖x − z‖^{power} / σ)",
        "1 for equal rows, falling exponentially with a power of their distance",
    ),
    "LpqLaplace": (
        "exp(−‖x − z‖_q^p / L^p)",
        "1 for equal rows, falling exponentially with a power of their q-norm distance",
    ),
    "Matern": (
        "Matérn, ν = {nu}, of ‖x − z‖ / ℓ",
        "1 for equal rows, falling with their distance; the functions learnt are smooth to order ν",
    ),
    "RationalQuadratic": (
        "(1 + ‖x − z‖² / (2αℓ²))^−α",
        "a mixture of bell curves of all widths around ℓ",
    ),
    "AllSubsets": ("∏ⱼ (1 + xⱼ zⱼ)", "products of every subset of the columns"),
    "ANOVA": ("Σ over {degree} columns of ∏ xⱼ zⱼ", "products of {degree} different columns"),
    "ChiSquared": ("exp(−γ Σⱼ (xⱼ − zⱼ)² / (xⱼ + zⱼ))", "how alike two histograms are"),
    "HistogramIntersection": ("Σⱼ min(xⱼ, zⱼ)", "the overlap of two histograms"),
    "Intersection": ("#(A ∩ B)", "how many items two sets share"),
    "DerivedSubsets": ("2^#(A ∩ B)", "how many subsets of items two sets share"),
    "Spectrum": (
        "Σᵤ #ᵤ(x) #ᵤ(z), u of {k} symbols",
        "how many substrings of {k} symbols two strings share",
    ),
    "BlendedSpectrum": (
        "Σᵤ λ^(2|u|) #ᵤ(x) #ᵤ(z), u of 1 to {k} symbols",
        "how many substrings of up to {k} symbols two strings share, by length",
    ),
    "Jaccard": ("#(A ∩ B) / #(A ∪ B)", "the share of items that two sets have in common"),
    "Dice": ("2 #(A ∩ B) / (#A + #B)", "the items in common, against the mean size of two sets"),
    "EditRBF": (
        "exp(−γ edit(s, t))",
        "1 for equal strings, falling exponentially with the edits from one to the other",
    ),
    "Precomputed": ("K given as a matrix", "a number that was computed elsewhere"),
    "Match": ("share of j with xⱼ = zⱼ", "the share of columns in which two rows agree"),
    "FromDistance": (
        "exp(−γ ρ(x, z)^{power})",
        "1 for equal rows, falling exponentially with their distance",
    ),
}

SYMBOLS = {"gamma": "γ", "coef0": "c", "length_scale": "ℓ", "scale": "σ", "nu": "ν", "alpha": "α",
           "decay": "λ"}  # fmt: skip

TABLES = {
    "product": ("∏ⱼ kⱼ(x, z)", "Two rows are alike when they are alike in every group of columns."),
    "sum": (
        "Σⱼ wⱼ kⱼ(x, z)",
        "Rows are alike as far as they are alike in groups of columns; each group adds its own "
        "effect.",
    ),
    "interactions": (
        "∏ⱼ (1 + wⱼ kⱼ(x, z)) / (1 + wⱼ)",
        "Every column acts by itself and together with every set of other columns; a column of "
        "greater weight matters more.",
    ),
}
ADDITIVE = "Every column adds its own effect; columns do not act on one another."
MOST_SHARES = 6  # columns whose shares of a learnt map are named


@dataclass(frozen=True)
class KernelWords:
    """The explanation of a kernel.

    Attributes
    ----------
    formula : str
        k(x, z) in Unicode mathematics.
    meaning : str
        One or two sentences.
    parameters : list of (symbol or name, value)
    parts : list of dict
        For a table: ``columns``, ``formula``, ``weight`` (None if parts have no weights), and
        ``map``, a sentence about the learnt map of these columns, or "".
    code : str
        The kernel as Python code.
    """

    formula: str
    meaning: str
    parameters: list[tuple[str, str]] = field(default_factory=list)
    parts: list[dict] = field(default_factory=list)
    code: str = ""


def kernel_words(kernel: Kernel, label: Callable[[Any], str] = str) -> KernelWords:
    """Explain a bound kernel.

    Parameters
    ----------
    kernel : Kernel
    label : callable
        Gives the name of a column for the reader, from its name in the kernel.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> words = kernel_words(RBF(0.5))
    >>> words.formula, words.parameters
    ('exp(−γ ‖x − z‖²)', [('γ', '0.5')])
    """
    code = repr(kernel) if len(repr(kernel)) <= 2000 else ""
    given = (kernel.parts or []) if isinstance(kernel, TableKernel) else []
    if isinstance(kernel, TableKernel) and kernel.combine == "product" and len(given) == 1:
        part, columns = given[0]
        words, names = kernel_words(part), [label(c) for c in columns]
        reads = (
            f"It reads {len(names)} columns together" if len(names) > 1 else "It reads one column"
        )
        named = names if len(names) <= 12 else [*names[:12], f"{len(names) - 12} more"]
        meaning = f"{words.meaning} {reads}: {', '.join(named)}. {_map_words(part, names)}".strip()
        return replace(words, meaning=meaning, code=code)
    if isinstance(kernel, TableKernel) and kernel.parts:
        formula, meaning = TABLES[kernel.combine]
        if kernel.combine == "sum" and all(len(columns) == 1 for _, columns in kernel.parts):
            meaning = ADDITIVE
        weights = [None] * len(kernel.parts)
        if kernel.combine != "product":
            given = kernel.weights
            weights = np.ones(len(kernel.parts)) if given is None else np.asarray(given, float)
        parts = [
            {
                "columns": [label(c) for c in columns],
                "formula": _with_values(part) if len(columns) > 1 else _of_one(_with_values(part)),
                "weight": None if weight is None else float(weight),
                "map": _map_words(part, [label(c) for c in columns]),
            }
            for (part, columns), weight in zip(kernel.parts, weights)
        ]
        if kernel.combine != "product":
            parts.sort(key=lambda part: -part["weight"])
        return KernelWords(formula, meaning, [], parts, code)
    formula, meaning = _formula(kernel), _meaning(kernel)
    return KernelWords(formula, meaning, _parameters(kernel), [], code)


def _formula(kernel: Any) -> str:
    name, get = type(kernel).__name__, kernel.get_params(deep=False)
    if name in ATOMS:
        formula = _fill(ATOMS[name][0], get)
        metric = _learnt_map(kernel)
        return formula if metric is None else formula.replace("‖x − z‖", _mapped_norm(metric))
    if name == "Convex":
        first, last = _formula(kernel.kernels[0]), _formula(kernel.kernels[-1])
        return f"mean of {len(kernel.kernels)} kernels, from {first} to {last}"
    if name in ("Sum", "Product"):
        left, right = _formula(kernel.left), _formula(kernel.right)
        return f"{left} + {right}" if name == "Sum" else f"[{left}] · [{right}]"
    if name == "Layered":
        layers = kernel.kernel if isinstance(kernel.kernel, list) else [kernel.kernel]
        names = ", then ".join(_formula(layer) for layer in layers)
        base = "⟨x, z⟩" if kernel.base is None else _formula(kernel.base)
        return f"layers of [{names}] on the features of {base}"
    inner = get.get("kernel")
    if isinstance(inner, Kernel):
        k = _formula(inner)
        return {
            "Scaled": f"{get.get('factor')} · [{k}]",
            "Power": f"[{k}]^{get.get('exponent')}",
            "Exponential": f"exp[{k}]",
            "Normalised": f"k₀(x, z) / √(k₀(x, x) k₀(z, z)), k₀ = {k}",
            "On": f"{k}, on {', '.join(map(str, get.get('columns', ())))}",
        }.get(name, f"{name} of {k}")
    return name


def _meaning(kernel: Any) -> str:
    name, get = type(kernel).__name__, kernel.get_params(deep=False)
    if name in ATOMS:
        return f"Similarity is {_fill(ATOMS[name][1], get)}."
    if name == "Sum":
        return "Similarity is the sum of two kernels: either may make rows alike."
    if name == "Product":
        return "Similarity is the product of two kernels: rows must be alike in both."
    if name == "Convex":
        return "Similarity is the mean of several kernels."
    if name == "Layered":
        return "Similarity is that of a kernel, after layers of other kernels on its features."
    inner = get.get("kernel")
    return _meaning(inner) if isinstance(inner, Kernel) else ""


def _parameters(kernel: Any, prefix: str = "") -> list[tuple[str, str]]:
    out = []
    in_formulas = ("power", "degree", "nu", "k", "layers")
    shown = in_formulas if type(kernel).__name__ in ATOMS else ()
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            out += _parameters(value, f"{prefix}{name} ")
        elif isinstance(value, (int, float, np.number)) and name not in shown:
            out.append((f"{prefix}{SYMBOLS.get(name, name)}", f"{float(value):.6g}"))
    return out


def _with_values(kernel: Any) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in _parameters(kernel))
    return _formula(kernel) + (f", {values}" if values else "")


def _learnt_map(kernel: Any) -> MappedMinkowski | None:
    """The metric of a kernel that maps the columns first; None without one."""
    metric = kernel.get_params(deep=False).get("metric")
    return metric if isinstance(metric, MappedMinkowski) else None


def _mapped_norm(metric: MappedMinkowski) -> str:
    return "‖W (x − z)‖" + {1.0: "₁", 2.0: ""}.get(metric.p, f"_{metric.p:g}")


def _map_words(kernel: Any, names: list[str]) -> str:
    """What the learnt map W of a kernel does with its columns, in one or two sentences."""
    metric = _learnt_map(kernel)
    if metric is None or len(names) == 1:
        return ""
    A = np.asarray(metric.linear_map, np.float64)
    G = A.T @ A if A.ndim == 2 else np.square(A)
    shares = (G.diagonal() if A.ndim == 2 else G) / (np.square(A).sum() or 1.0)
    if A.ndim == 2 and np.array_equal(G, np.diag(G.diagonal())) and not np.ptp(G.diagonal()):
        return "W stretches all directions alike."
    order = np.argsort(-shares, kind="stable")
    named = [f"{names[j]} {100 * shares[j]:.2g}%" for j in order[:MOST_SHARES]]
    what = (
        "W is a matrix that turns and stretches the columns"
        if A.ndim == 2
        else "W multiplies each column by its own factor"
    )
    first = "" if len(names) <= MOST_SHARES else "most of all "
    return f"{what}; it was learnt. Of its squares belong {first}to: {', '.join(named)}."


def _of_one(formula: str) -> str:
    """The formula for a single column, where the norm is an absolute value."""
    for norm, plain in (
        ("‖x − z‖₁", "|x − z|"),
        ("‖x − z‖", "|x − z|"),
        ("‖W (x − z)‖₁", "|W (x − z)|"),
        ("‖W (x − z)‖", "|W (x − z)|"),
        ("share of j with xⱼ = zⱼ", "1 if x = z, else 0"),
    ):
        formula = formula.replace(norm, plain)
    return formula


def _fill(text: str, parameters: dict) -> str:
    for name, value in parameters.items():
        if isinstance(value, (int, float, np.number)):
            text = text.replace(f"{{{name}}}", f"{float(value):g}")
    return text.replace("^1 ", " ").replace("^1)", ")").replace("^2", "²").replace("^3", "³")
