"""Draw how much each token of a text attends to each other one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer.plots.displays.display import Display, drawable

SHOWN = 40  # tokens, beyond which their names would cover each other


class AttentionDisplay(Display):
    """The weights of attention as a picture: queries are rows, and keys are columns.

    Parameters
    ----------
    weights : array-like of shape (l, s)
        The rows sum to 1.
    queries, keys : list of tokens, optional
        The tokens of the rows and of the columns; ``keys=None`` means the queries where these are
        as many.
    name : str, default=""
        What stands above the picture.

    Attributes
    ----------
    ax_, figure_, image_
        The matplotlib objects that `plot` drew.

    Examples
    --------
    >>> display = AttentionDisplay([[0.75, 0.25], [0.5, 0.5]], ["good", "fun"])
    >>> display.keys, display.weights.sum(axis=1)
    (['good', 'fun'], array([1., 1.]))
    """

    def __init__(
        self, weights: Any, queries: Sequence | None = None, keys: Sequence | None = None,
        name: str = "",
    ):  # fmt: skip
        shape = getattr(weights, "shape", (0, 0))
        if len(shape) != 2:
            raise ValueError(f"weights has shape {shape}: give those of one head, (queries, keys).")
        self.weights = drawable("weights", weights, 2)
        rows, columns = self.weights.shape
        if keys is None and rows == columns:
            keys = queries
        self.queries = None if queries is None else [str(token) for token in queries]
        self.keys = None if keys is None else [str(token) for token in keys]
        for side, tokens, count in (("queries", queries, rows), ("keys", keys, columns)):
            if tokens is not None and len(tokens) != count:
                raise ValueError(
                    f"{side} has {len(tokens)} tokens, and weights has shape {rows, columns}: give "
                    "one for each row of weights (queries) and for each column (keys)."
                )
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, text: Any, *, head: int | None = None, layer: int = 0, ax: Any = None
    ) -> AttentionDisplay:
        """Draw a layer of a fitted `mercer.deep.AttentionClassifier` for one text.

        Parameters
        ----------
        estimator : AttentionClassifier
        text : str, bytes or list of tokens
            One sample of the form that the classifier was fitted to.
        head : int, optional
            None is the mean of all heads.
        layer : int, default=0
        ax : matplotlib axes, optional
        """
        tokens, found = estimator.tokenise([text])[0], estimator.attention([text], layer)[0]
        if head is not None and not 0 <= head < len(found):
            raise ValueError(f"head={head!r}: give a number from 0 to {len(found) - 1}.")
        weights = found.mean(axis=0) if head is None else found[head]
        kernel = estimator.kernel
        name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", repr(kernel))
        return cls(weights, tokens, name=name.replace("_", " ")).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> AttentionDisplay:
        """Draw the weights from 0 to the largest. ``kwargs`` are passed to ``ax.imshow``."""
        ax = self._draw_on(ax, figsize=(5, 4.6), layout="constrained")
        style = {"cmap": "cividis", "vmin": 0, "interpolation": "nearest"}
        self.image_ = ax.imshow(self.weights, **{**style, **kwargs})
        self.figure_.colorbar(self.image_, ax=ax, label="weight", shrink=0.8)
        ax.set(title=self.name, xticks=[], yticks=[])
        if self.queries is not None and len(self.queries) <= SHOWN:
            ax.set_yticks(range(len(self.queries)), self.queries, fontsize="small")
        if self.keys is not None and len(self.keys) <= SHOWN:
            ax.set_xticks(range(len(self.keys)), self.keys, rotation=90, fontsize="small")
        return self
