"""Displays of curves: how solvers converge, and what choices and mistakes cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.learners.perceptrons import Proof
from mercer.plots.displays.display import Display, Panels, display, drawable
from mercer.plots.marks import colour, logarithmic, ring
from mercer.solvers import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from mercer.deep import MultilayerKernelMachine

LIMITS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@display
class ConvergenceDisplay(Display):
    """Certificates (duality gaps, relative residuals) by the number of iterations, for one or more
    solvers of one problem.

    Parameters
    ----------
    results : dict of str to sequence of Result
        For each solver its results after ever more iterations.

    Attributes
    ----------
    curves : dict of str to ndarray of shape (2, results)
        Iterations and certificates.
    certificate : str
        What the certificates are.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import ConjugateGradientSolver
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> K = DenseGram(X @ X.T, symmetric=True)
    >>> display = ConvergenceDisplay.from_solvers(
    ...     {"plain": ConjugateGradientSolver(0.1, preconditioner=None)}, K, X[:, 0])
    >>> bool(display.curves["plain"][1, -1] < 1e-6)
    True
    """

    results: InitVar[Mapping[str, Sequence[Result]]]

    def __post_init__(self, results: Mapping[str, Sequence[Result]]) -> None:
        if not results or not all(len(each) for each in results.values()):
            raise ValueError("results has none: give at least one for each solver.")
        self.curves = {
            name: np.array(
                [[each.iterations for each in found], [float(each.gap) for each in found]]
            )
            for name, found in results.items()
        }
        said = {each.certificate for found in results.values() for each in found}
        self.certificate = said.pop() if len(said) == 1 else "certificate"

    @classmethod
    def from_solvers(
        cls,
        solvers: Mapping[str, Any],
        K: Any,
        y: Any,
        weights: ArrayLike | None = None,
        limits: Iterable[int] = LIMITS,
    ) -> ConvergenceDisplay:
        """Solve one problem with ever larger ``max_iter``, and keep each result.

        Every solver with a field ``max_iter`` will do. It begins anew for each limit, and no
        further limit is tried once it has converged.
        """
        y, found = drawable("y", y, 1, 2), {}
        if len(y) != K.shape[0]:
            raise ValueError(f"y has {len(y)} targets, but K has {K.shape[0]} rows: give one each.")
        for name, solver in solvers.items():
            if not hasattr(solver, "max_iter"):
                raise TypeError(f"{name}: {solver!r} has no max_iter: give an iterative solver.")
            found[name] = []
            for limit in limits:
                result = replace(solver, max_iter=limit).solve(K, y, weights)
                found[name].append(result)
                if result.converged:
                    break
        return cls(found)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw ``lines_``, one for each solver. ``kwargs`` are passed to ``ax.semilogy``."""
        from matplotlib.ticker import MaxNLocator

        ax, self.lines_ = self._draw_on(ax), []
        for c, (name, (steps, gaps)) in enumerate(self.curves.items()):
            shown = gaps > 0
            look = {"color": colour(c), "marker": "o", "markersize": 3.5, "label": name, **kwargs}
            self.lines_ += ax.semilogy(steps[shown], gaps[shown], **look)
        label = self.certificate[:1].upper() + self.certificate[1:]
        ax.set(xlabel="Iterations", ylabel=label)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if len(self.curves) > 1:
            ax.legend(frameon=False)
        return self


@display
class LeaveOneOutDisplay(Display):
    """The leave-one-out score over the number of neighbours, the width of the window, or both.

    Parameters
    ----------
    scores : dict of k, of width or of (k, width) -> score
    chosen : the key of ``scores`` that was chosen
    label : str, default="score"
        What is scored, as the label of its axis.
    by : {"n_neighbors", "width"}, default="n_neighbors"
        What single keys are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KNeighborsClassifier
    >>> model = KNeighborsClassifier("auto").fit(*load_iris(return_X_y=True))
    >>> display = LeaveOneOutDisplay(model.loo_scores_, model.n_neighbors_)
    >>> len(display.scores), round(display.scores[display.chosen], 2)
    (24, 0.98)
    """

    scores: Mapping
    chosen: Any
    _: KW_ONLY
    label: str = "score"
    by: str = "n_neighbors"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> LeaveOneOutDisplay:
        """Draw the scores of a fitted learner that has ``loo_scores_``.

        Raises
        ------
        ValueError
            It chose nothing.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "loo_scores_"):
            raise ValueError(
                f"{type(estimator).__name__} chose nothing by leaving rows out: give it "
                'n_neighbors="auto" or width="auto".'
            )
        scores = estimator.loo_scores_
        pair = estimator.n_neighbors_, estimator.width_
        both = isinstance(next(iter(scores)), tuple)
        by = "n_neighbors" if pair[0] in scores else "width"
        chosen = pair if both else pair[0] if by == "n_neighbors" else pair[1]
        what = "accuracy" if is_classifier(estimator) else "R²"
        return cls(scores, chosen, label=f"leave-one-out {what}", by=by).plot(ax)

    def plot(self, ax: Axes | None = None) -> LeaveOneOutDisplay:
        """Draw ``line_``, or ``image_`` for pairs; ``chosen_`` marks what was chosen."""
        ax = self._draw_on(ax, figsize=(5.6, 3.6))
        self.line_ = self.image_ = None
        names = {"n_neighbors": "neighbours k", "width": "width h of the window"}
        if isinstance(self.chosen, tuple):
            self._draw_map(ax, names)
            return self
        values = np.array(list(self.scores.values()))
        (self.line_,) = ax.plot(list(self.scores), values, color=colour(1), marker=".", ms=5)
        look = {"color": "#d55e00", "label": f"chosen: {self.chosen:.3g}"}
        self.chosen_ = ring(ax, self.chosen, self.scores[self.chosen], **look)
        ax.set(xlabel=names[self.by], ylabel=self.label)
        logarithmic(ax)
        ax.legend(frameon=False)
        return self

    def _draw_map(self, ax: Axes, names: dict[str, str]) -> None:
        """Draw the scores of pairs of two parameters as a map."""
        numbers, widths = (sorted({pair[i] for pair in self.scores}) for i in (0, 1))
        values = np.array([[self.scores[k, h] for k in numbers] for h in widths])
        self.image_ = ax.pcolormesh(
            np.arange(len(numbers)), np.arange(len(widths)), values, cmap="cividis"
        )
        ax.figure.colorbar(self.image_, ax=ax, label=self.label)
        place = numbers.index(self.chosen[0]), widths.index(self.chosen[1])
        said = f"chosen: k = {self.chosen[0]}, h = {self.chosen[1]:.3g}"
        self.chosen_ = ring(ax, *place, color="#d55e00", label=said)
        for axis, ticks in ((ax.xaxis, numbers), (ax.yaxis, widths)):
            at = np.unique(np.linspace(0, len(ticks) - 1, 6).round().astype(int))
            axis.set_ticks(at, [f"{ticks[i]:.3g}" for i in at])
        ax.set(xlabel=names["n_neighbors"], ylabel=names["width"])
        ax.set_title(said, fontsize="medium")


DASHES = ("-", "--", ":", "-.")


@display
class LayerDisplay(Display):
    """The share of errors on rows held back over the width of a layer, for each layer.

    Parameters
    ----------
    errors : list of dict
        One dict for each layer, ranking -> (width -> share of errors); empty if nothing was chosen.
    chosen : list of (str, int)
        The ranking and the width of each layer.

    Examples
    --------
    >>> errors = [{"variance": {1: 0.5, 2: 0.25, 4: 0.375}}, {"variance": {1: 0.5, 2: 0.125}}]
    >>> display = LayerDisplay(errors, [("variance", 2), ("variance", 2)])
    >>> [display.errors[layer]["variance"][2] for layer in (0, 1)]
    [0.25, 0.125]
    """

    errors: Sequence[dict[str, dict[int, float]]]
    chosen: Sequence[tuple[str, int]]

    def __post_init__(self) -> None:
        if len(self.errors) != len(self.chosen):
            raise ValueError(
                f"errors has {len(self.errors)} layers, and chosen {len(self.chosen)}: give both "
                "for each layer."
            )

    @classmethod
    def from_estimator(
        cls, estimator: MultilayerKernelMachine, *, ax: Axes | None = None
    ) -> LayerDisplay:
        """Draw the errors of a fitted `mercer.deep.MultilayerKernelMachine`.

        Raises
        ------
        ValueError
            It chose no width.
        """
        check_is_fitted(estimator)
        errors = [layer.validation_errors for layer in estimator.layers_]
        if not any(errors):
            raise ValueError(
                "The machine chose no width, so that there are no errors to draw: give it "
                'width="auto", and 10 rows or more.'
            )
        return cls(errors, [(layer.ranking, layer.width) for layer in estimator.layers_]).plot(ax)

    def plot(self, ax: Axes | None = None) -> LayerDisplay:
        """Draw ``lines_``, one for each layer and ranking; ``chosen_`` mark what was chosen."""
        ax = self._draw_on(ax, figsize=(6.4, 4))
        self.lines_, self.chosen_ = [], []
        rankings = list(dict.fromkeys(name for by in self.errors for name in by))
        for layer, (by, (ranking, width)) in enumerate(zip(self.errors, self.chosen)):
            for name, found in by.items():
                dashes = DASHES[rankings.index(name) % len(DASHES)]
                label = f"layer {layer + 1}, by {name.replace('_', ' ')}"
                self.lines_ += ax.plot(
                    list(found), list(found.values()), color=colour(layer), ls=dashes, label=label
                )
            if by:
                self.chosen_.append(ring(ax, width, by[ranking][width], color=colour(layer)))
        ax.set(xlabel="width of the layer", ylabel="errors on rows held back")
        logarithmic(ax)
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        ax.legend(frameon=False, fontsize="small")
        return self


@display
class MistakeDisplay(Panels):
    r"""Novikoff's proof along the mistakes t of a perceptron from 0 with η = 1.

    .. math:: t M \le \langle \theta^*, \theta_t \rangle \le \|\theta_t\| \le \sqrt t R

    With the unit normal θ* of a plane with margin M, and all samples within R: each mistake adds at
    least M to the product, and at most R² to the square of the length of θₜ, so that the cosine
    between the two is at least √t M / R. It is at most 1, hence t <= (R/M)².

    Parameters
    ----------
    proof : Proof
        The proof of one machine, as in ``margin_report(X, y).proofs``.

    Attributes
    ----------
    bound : float
        (R/M)².
    ax_
        The three axes.

    References
    ----------
    Novikoff, "On convergence proofs for perceptrons", Symposium on the Mathematical Theory of
    Automata 12, 1962.

    Examples
    --------
    >>> from mercer import Perceptron
    >>> X, y = np.array([[1.0, 0.2], [2.0, -1.0], [-1.0, 0.3], [-2.0, 1.0]]), [1, 1, 0, 0]
    >>> display = MistakeDisplay(Perceptron().fit(X, y).margin_report(X, y).proofs[0])
    >>> bool(len(display.proof.cosines) <= display.bound)
    True
    """

    proof: Proof

    @property
    def bound(self) -> float:
        """(R/M)², or infinity without a margin."""
        proof = self.proof
        return (proof.radius / proof.margin) ** 2 if proof.margin > 0 else np.inf

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        machine: int = 0,
        ax: Axes | None = None,
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

    def plot(self, ax: Axes | None = None) -> MistakeDisplay:
        """Draw the three quantities over the number of mistakes, each with its bound."""
        self.ax_ = self._draw_in(ax, 3, 3, (3.7, 3.4))
        proof, t = self.proof, np.arange(1, len(self.proof.along) + 1)
        rows = (
            ("⟨θ*, θₜ⟩", proof.along, t * proof.margin, "at least t M"),
            ("|θₜ|²", proof.squares, t * proof.radius**2, "at most t R²"),
            ("cos(θ*, θₜ)", proof.cosines, np.sqrt(t) * proof.margin / proof.radius, "≥ √t M / R"),
        )
        for axes, (name, values, limit, words) in zip(self.ax_, rows):
            dot = "o" if len(t) == 1 else None  # a line of one point is not seen
            axes.plot(t, values, marker=dot, color=colour(1), label=name)
            axes.plot(t, limit, marker=dot, color=colour(5), label=words, ls="--", mfc="none")
            axes.set(xlabel="mistake t", title=name)
            axes.legend(frameon=False)
        self.ax_[2].axhline(1, color=self.ax_[2].xaxis.label.get_color(), lw=0.8)
        self.ax_[2].set_ylim(0, 1.05)
        self.figure_.suptitle(
            f"{len(t):,} mistake{'s' * (len(t) != 1)}; the bound (R/M)² is {self.bound:,.0f}"
        )
        return self
