"""Classification of texts and sequences of tokens by attention, with any of its kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer.deep.attention.tokens import known_tokens, read_tokens, token_codes
from mercer.deep.targets import GaussianOutputs
from mercer.estimator import Seed, estimator
from mercer.learners.base import (
    Classifier,
    check_count,
    check_flag,
    check_not_negative,
    check_positive,
    check_seed,
    check_weights,
    drawn_seed,
    encode_classes,
)
from mercer.needs_torch import need_torch
from mercer.samples import Samples, SamplesLike, is_number
from mercer.threads import fitting, forget


@estimator
class AttentionClassifier(Classifier, BaseEstimator, GaussianOutputs):
    r"""Texts by attention between their tokens:

    .. math:: o_i = \frac{\sum_j k(q_i, s_j)\, v_j}{\sum_j k(q_i, s_j)}

    q, s and v are linear maps of the tokens, for any kernel k.

    Each token has a vector, to which that of its place is added. Layers of `KernelAttention` add to
    each of these what it attends to. Their mean is the input of a linear classifier. Everything is
    learnt by Adam on the cross-entropy.

    Runs on torch, which ``pip install "mercer[torch]"`` installs; a fitted classifier can be saved
    and loaded without it.

    Parameters
    ----------
    kernel : str, callable, FunctionKernel or PositiveFeatures, default="rbf"
        "rbf", "dot_product", "distance", "quadratic", "intersection", "linear", "random_features",
        or a function of q and k, as in `kernel_attention`.
    scale : float > 0, optional
        The factor of the kernel; None means 1 / √(width / n_heads).
    width : int >= 1, default=64
        Numbers in the vector of a token; a multiple of ``n_heads``.
    n_heads : int >= 1, default=4
        Heads of a layer.
    n_layers : int >= 1, default=1
        Layers of attention.
    dropout : float in [0, 1), default=0.3
        Share of the embeddings, the weights and the outputs of a layer that are dropped in
        training. Kernels without a matrix, "linear" and "random_features", keep their weights.
    causal : bool, default=False
        Whether a token attends only to itself and to those before it.
    tokens : {"words", "characters"}, default="words"
        How texts are split. Words are in lower case, and other marks than letters are tokens of
        their own. Lists are sequences of tokens already, and bytes are tokens one by one.
    min_count : int >= 1, default=2
        Tokens that stand less often in the training samples count as unknown.
    max_length : int >= 1, default=256
        Tokens of a sample beyond so many are left out.
    epochs : int >= 1, default=10
        Passes over all samples.
    batch_size : int >= 1, default=64
        Samples of a step of Adam.
    learning_rate : float > 0, default=0.003
        The highest; it rises for a tenth of the steps and then falls to 0 along a cosine.
    weight_decay : float >= 0, default=0.01
        Part of the weights that a step of rate 1 would take away.
    device : str, default="auto"
        "auto" is a GPU with CUDA where torch has one, and else "cpu".
    n_jobs : int, optional
        Threads of torch; None or -1 means all cores.
    random_state : int, RandomState or None
        Seed for the first weights, the batches and what is dropped.
    verbose : bool, default=False
        Whether a line is printed for each epoch.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    vocabulary_ : list
        The known tokens, the most frequent first.
    form_ : {"text", "bytes", "tokens"}
        What the samples were.
    weights_ : dict of ndarray
        All weights of the network, by their names.
    objective_path_ : ndarray of shape (iterations,)
        The mean cross-entropy in each epoch, of samples with their weights.
    n_iter_ : int
        Whole epochs.

    Notes
    -----
    Adam has no certificate; the machine keeps the last epoch. Ctrl-C raises KeyboardInterrupt and
    leaves the last whole epoch. Files hold no functions: a model whose kernel is one can be pickled
    if the function can.

    References
    ----------
    Wright & Gonzalez, "Transformers are deep infinite-dimensional non-Mercer binary kernel
    machines", 2021.

    Examples
    --------
    >>> from mercer.deep import AttentionClassifier
    >>> texts = ["good and fine", "fine", "good fun", "very bad", "bad and dull", "dull"] * 4
    >>> kinds = ["+", "+", "+", "-", "-", "-"] * 4
    >>> model = AttentionClassifier(width=8, n_heads=2, epochs=60, n_jobs=1, random_state=0)
    >>> model.fit(texts, kinds).predict(["good, fine!", "so bad"])
    array(['+', '-'], dtype='<U1')

    How much each token attends to each other one, by two heads:

    >>> model.tokenise(["Good, fine!"])
    [['good', ',', 'fine', '!']]
    >>> model.attention(["Good, fine!"])[0].shape
    (2, 4, 4)
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    scale: Any = None
    width: int = 64
    n_heads: int = 4
    n_layers: int = 1
    dropout: float = 0.3
    causal: Any = False
    tokens: str = "words"
    min_count: int = 2
    max_length: int = 256
    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 3e-3
    weight_decay: float = 0.01
    device: str = "auto"
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Any = False

    @fitting
    def fit(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to texts or sequences of tokens X and classes y (n).

        ``sample_weight`` has one number >= 0 a sample, by which its loss counts.
        """
        self._check_parameters()
        torch_side = _torch_side()
        forget(self)
        tokens, form = read_tokens(X, self.tokens)
        y = column_or_1d(y, warn=True)
        check_consistent_length(tokens, y)
        weights = check_weights(np.empty(len(tokens)), sample_weight)
        if weights is not None:  # samples without weight bring no classes and no tokens
            there = np.flatnonzero(weights)
            tokens, y, weights = [tokens[i] for i in there], y[there], weights[there]
            weights /= weights.mean()
        classes, codes = encode_classes(y)
        tokens = [row[: self.max_length] for row in tokens]
        vocabulary = known_tokens(tokens, self.min_count)
        self.vocabulary_, self.form_ = vocabulary, form
        seed = drawn_seed(self.random_state)
        with torch_side.torch_threads(self.n_jobs):
            network = torch_side.begin(self._shape(vocabulary, classes), self.device, seed)
            training = torch_side.TokenTraining(
                self.epochs, self.batch_size, float(self.learning_rate), float(self.weight_decay)
            )
            path = []
            rows = token_codes(tokens, vocabulary)
            for loss, found in training.run(network, rows, codes, weights, seed):
                path.append(loss)
                if self.verbose:
                    print(f"epoch {len(path)} of {self.epochs}: loss {loss:.4f}", flush=True)
                # all at once: a fit that is cut leaves the classifier of its last whole epoch
                vars(self).update(
                    weights_=found, objective_path_=np.array(path), n_iter_=len(path),
                    classes_=classes,
                )  # fmt: skip
        return self

    def tokenise(self, X: Samples) -> list[list]:
        """The tokens of each sample that the network reads, whether it knows them or not."""
        check_is_fitted(self)
        rows, form = read_tokens(X, self.tokens)
        if form != self.form_:
            raise TypeError(
                f"X holds samples of the form {form!r}, but the classifier was fitted to "
                f"{self.form_!r}: give samples of the same type."
            )
        return [row[: self.max_length] for row in rows]

    def attention(self, X: Samples, layer: int = 0) -> list[np.ndarray]:
        """How much tokens attend to each other in a layer: (n_heads, l, l) for each sample.

        Rows are queries and sum to 1, columns are keys; ``tokenise`` tells the l tokens.
        """
        rows = token_codes(self.tokenise(X), self.vocabulary_)
        if not -self.n_layers <= layer < self.n_layers:
            raise ValueError(f"layer={layer!r}: give a number from 0 to {self.n_layers - 1}.")
        torch_side = _torch_side()
        with torch_side.torch_threads(self.n_jobs):
            network = self._network()
            return [torch_side.attention_of(network, row, layer % self.n_layers) for row in rows]

    def _outputs(self, X: Samples) -> tuple[np.ndarray, np.ndarray]:
        rows = token_codes(self.tokenise(X), self.vocabulary_)
        torch_side = _torch_side()
        with torch_side.torch_threads(self.n_jobs):
            return torch_side.outputs(self._network(), rows), np.zeros(len(rows))

    def _network(self) -> Any:
        shape = self._shape(self.vocabulary_, self.classes_)
        return _torch_side().restored(shape, self.device, vars(self)["weights_"])

    def _shape(self, vocabulary: list, classes: np.ndarray) -> Any:
        return _torch_side().NetworkShape(
            len(vocabulary) + 1, len(classes), self.kernel, self.scale, self.width, self.n_heads,
            self.n_layers, self.dropout, self.causal, self.max_length,
        )  # fmt: skip

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        names = ("width", "n_heads", "n_layers", "min_count", "max_length", "epochs", "batch_size")
        for name in names:
            check_count(name, getattr(self, name), optional=False)
        if self.width % self.n_heads:
            raise ValueError(
                f"width={self.width!r}, n_heads={self.n_heads!r}: give a width that is a multiple "
                "of n_heads."
            )
        if not (is_number(self.dropout) and 0 <= self.dropout < 1):
            raise ValueError(f"dropout={self.dropout!r}: give a number from 0 up to, but not, 1.")
        if self.scale is not None:
            check_positive("scale", self.scale)
        if self.tokens not in ("words", "characters"):
            raise ValueError(f'tokens={self.tokens!r}: give "words" or "characters".')
        check_positive("learning_rate", self.learning_rate)
        check_not_negative("weight_decay", self.weight_decay)
        check_flag("causal", self.causal)
        check_seed(self.random_state)
        check_flag("verbose", self.verbose)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "classes_" in vars(self)


def _torch_side() -> Any:
    """The part that runs on torch; ImportError with the remedy where there is none."""
    need_torch("AttentionClassifier")
    from mercer.deep.attention import token_network

    return token_network
