"""Draw the proof that a perceptron makes few mistakes: three quantities, and their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.learners.perceptrons import Proof


class MistakeDisplay:
    r"""Novikoff's proof along the mistakes k of a perceptron from 0 with η = 1.

    With the unit normal θ* of a plane with margin γ, and all samples within R: each mistake adds at
    least γ to ``<θ*, θₖ>`` and at most R² to the square of the length of θₖ, so that the cosine
    between the two is at least √k γ / R. It is at most 1, hence k <= (R/γ)².

    Parameters
    ----------
    proof : Proof
        The proof of one machine, as in ``margin_report(X, y).proofs``.

    Attributes
    ----------
    bound : float
        (R/γ)².
    ax_, figure_
        The axes that `plot` drew, an array of 3, and their figure.

    Examples
    --------
    >>> from mercer import Perceptron
    >>> X, y = np.array([[1.0, 0.2], [2.0, -1.0], [-1.0, 0.3], [-2.0, 1.0]]), [1, 1, 0, 0]
    >>> display = MistakeDisplay(Perceptron().fit(X, y).margin_report(X, y).proofs[0])
    >>> bool(len(display.proof.cosines) <= display.bound)
    True
    """

    def __init__(self, proof: Proof):
        self.proof = proof
        self.bound = (proof.radius / proof.margin) ** 2 if proof.margin > 0 else np.inf

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, machine: int = 0, ax: Any = None
    ) -> MistakeDisplay:
        """Draw the proof for one machine of a fitted perceptron.

        Parameters
        ----------
        estimator : fitted Perceptron or KernelPerceptron
        X, y : the samples of the fit, and their classes
        machine : int, default=0
            The number of the machine, if there are more than two classes.
        ax : array of 3 matplotlib axes, optional

        Raises
        ------
        ValueError
            The classes are not separable, so that nothing bounds the mistakes.
        """
        if not hasattr(estimator, "margin_report"):
            raise TypeError(
                f"{type(estimator).__name__} has no margin_report: give a Perceptron or a "
                "KernelPerceptron."
            )
        check_is_fitted(estimator)
        report = estimator.margin_report(X, y)
        if not report.separable[machine]:
            raise ValueError(
                "The classes are not separable by this kernel, so that nothing bounds the "
                "mistakes: give another kernel, or a larger gamma."
            )
        return cls(report.proofs[machine]).plot(ax)

    def plot(self, ax: Any = None) -> MistakeDisplay:
        """Draw the three quantities over the number of mistakes, each with its bound."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")[1]
        self.ax_ = np.asarray(ax)
        self.figure_ = self.ax_[0].figure
        proof, k = self.proof, np.arange(1, len(self.proof.along) + 1)
        rows = (
            ("⟨θ*, θₖ⟩", proof.along, k * proof.margin, "at least k γ"),
            ("|θₖ|²", proof.squares, k * proof.radius**2, "at most k R²"),
            ("cos(θ*, θₖ)", proof.cosines, np.sqrt(k) * proof.margin / proof.radius, "≥ √k γ / R"),
        )
        for axes, (name, values, limit, words) in zip(self.ax_, rows):
            axes.plot(k, values, color="#0072b2", label=name)
            axes.plot(k, limit, color="#d55e00", ls="--", label=words)
            axes.set(xlabel="mistake k", title=name)
            axes.legend(frameon=False)
        self.ax_[2].axhline(1, color=self.ax_[2].xaxis.label.get_color(), lw=0.8)
        self.ax_[2].set_ylim(0, 1.05)
        self.figure_.suptitle(f"{len(k):,} mistakes; the bound (R/γ)² is {self.bound:,.0f}")
        return self
