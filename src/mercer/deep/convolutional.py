"""Classification of images by a deep kernel machine whose layers are convolutions."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.validation import validate_data

from mercer.deep.targets import GaussianOutputs
from mercer.estimator import Seed, estimator
from mercer.kernels import Layer, NormalisedGaussian
from mercer.learners.base import (
    Classifier,
    check_count,
    check_flag,
    check_positive,
    check_seed,
    encode_classes,
    finite_fit,
)
from mercer.needs_torch import need_torch
from mercer.samples import Samples, is_whole
from mercer.threads import forget

# Images as arrays: what shapes samples may have, and pixels of mean 0 and size 1.


def check_image_shape(value: Any) -> None:
    """Raise an error if ``image_shape`` is neither None nor two or three counts."""
    known = isinstance(value, (tuple, list)) and len(value) in (2, 3)
    if value is not None and not (known and all(is_whole(v) and v >= 1 for v in value)):
        raise ValueError(
            f"image_shape={value!r}: give (rows, columns), (channels, rows, columns) or None."
        )


def as_images(X: np.ndarray, image_shape: Any) -> np.ndarray:
    """Samples as (n, channels, rows, columns).

    Examples
    --------
    >>> as_images(np.zeros((5, 64)), (8, 8)).shape, as_images(np.zeros((5, 64)), None).shape
    ((5, 1, 8, 8), (5, 1, 1, 64))
    """
    if image_shape is None:
        if not 2 <= X.ndim <= 4:
            raise ValueError(
                f"X has the shape {X.shape}: give images of the shape (n, rows, columns) or "
                "(n, channels, rows, columns)."
            )
        image_shape = X.shape[1:]
    shape = (1,) * (3 - len(image_shape)) + tuple(image_shape)
    bare = shape[1:] if shape[0] == 1 else shape
    if X.shape[1:] not in (shape, bare, (math.prod(shape),)):
        raise ValueError(
            f"X has the shape {X.shape}: give images of the shape (n, {', '.join(map(str, bare))}) "
            f"or (n, {math.prod(shape)})."
        )
    return X.reshape(len(X), *shape)


def pixel_scales(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each channel, and what to divide it by, (channels,) each: then the squares of all
    channels at a position have the sum 1 on average. A channel that is constant is divided by 1.

    Examples
    --------
    >>> pixel_scales(np.array([[[[1.0, 5.0]], [[7.0, 7.0]]]]))
    (array([3., 7.]), array([2.8284271..., 1.        ]))
    """
    largest = np.abs(images).max((0, 2, 3)).astype(np.float64)
    largest[largest == 0] = 1.0
    near_one = images / largest[:, None, None]  # squares of these neither overflow nor vanish
    means, sizes = near_one.mean((0, 2, 3)), near_one.std((0, 2, 3))
    varied = sizes > 10 * np.finfo(images.dtype).eps
    return means * largest, np.where(varied, sizes * largest * np.sqrt(images.shape[1]), 1.0)


FLOATS: Any = [np.float64, np.float32]


@estimator
class ConvolutionalDeepKernelMachine(Classifier, BaseEstimator, GaussianOutputs):
    r"""Images by their patches: layers of learnt Gram matrices :math:`G_l` that maximise

    .. math:: \sum_i \left( \log softmax(μ_i)_{y_i} - \tfrac12 v_i \right)
              - \sum_{l=1}^{L} ν_l\, KL(N(0, G_l) \,\|\, N(0, Γ_l))
              - \sum_c KL(q(u_c) \,\|\, N(0, I)),

    where :math:`Γ_l` is the mean over a patch of the kernel :math:`f(G_{l-1})` at its positions.
    The mean over all positions of the last layer is the kernel of a Gaussian process for each
    class, with means μ and variance v; u are its values at inducing points. With ν → ∞ it is the
    Gaussian process of a convolutional network with infinitely many channels.

    Runs on torch, which ``pip install "mercer[torch]"`` installs; a fitted machine can be saved and
    loaded without it.

    Parameters
    ----------
    n_inducing : int or list of int, default=(32, 64, 128)
        Inducing patches of each layer, of which there are as many as entries. Layers with fewer
        different patches in the first batch have fewer.
    patch_size : odd int or list of L of these, default=(5, 3, 3)
        Rows and columns of a patch. What lies outside of the image is 0.
    stride : int or list of L of these, default=(2, 2, 1)
        Steps from one patch to the next: a layer has 1 / stride of the rows and columns below.
    layer : Layer or list of L of these, optional
        The kernel f: `NormalisedGaussian()` (None), ``ArcCosine(1)``, `RBF` or `Linear`.
    dof : float > 0 or list of L of these, default=1.0
        ν, how strongly a layer is held to its kernel; compare it with the number of images.
    divergence : {"taylor", "exact"}, default="taylor"
        "taylor" is the divergence to second order in :math:`G^{-1} Γ - I`, which grows faster where
        G becomes singular.
    wishart_dof : float > 0, optional
        Stochastic kernel regularisation: in training each :math:`G_l` is replaced by a draw from
        the Wishart distribution whose mean it is, with ``wishart_dof`` times as many degrees of
        freedom as there are inducing patches. Fewer degrees are more noise; None means no noise.
    image_shape : (rows, columns) or (channels, rows, columns), optional
        Shape of images that are given as rows of numbers. None takes that of X; a row of d numbers
        then is an image of one row, such as a signal.
    epochs : int >= 1, default=30
        Passes over all images.
    batch_size : int >= 1, default=128
        Images of a step of Adam, and images that are predicted at a time.
    learning_rate : float > 0, default=0.02
        The highest; it rises for a tenth of the steps and then falls to 0 along a cosine.
    jitter : float > 0, default=1e-3
        Part of its mean diagonal that is added to the diagonal of each matrix that is factorised.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the computations.
    device : str, default="auto"
        "auto" is a GPU with CUDA where torch has one, and else "cpu".
    n_jobs : int, optional
        Threads of torch; None or -1 means all cores.
    random_state : int, RandomState or None
        Seed for the first inducing patches, the batches and the Wishart draws.
    verbose : bool, default=False
        Whether a line is printed for each epoch.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    patches_ : list of L ndarray of shape (p, channels, size, size)
        The inducing patches: pixels in the first layer, whitened features in the others.
    gram_factors_ : list of L ndarray of shape (p, p)
        A, with :math:`G = L A A^\top L^\top` for the Cholesky factor L of Γ at the inducing points.
    centres_ : list of L ndarray of shape (p,)
        The point from which the features of a layer are measured.
    scales_ : ndarray of shape (L + 1,)
        Factors of the kernels of the layers and of the top.
    coef_ : ndarray of shape (p, C)
    covariance_factor_ : ndarray of shape (p, p)
        q(u_c) = N(``coef_[:, c]``, R Rᵀ) with R = ``covariance_factor_``.
    intercept_ : ndarray of shape (C,)
    image_shape_ : tuple
        Channels, rows and columns.
    pixel_mean_, pixel_scale_ : ndarray of shape (channels,)
        Subtracted from pixels, which are then divided by the other.
    objective_path_ : ndarray of shape (iterations,)
        The objective in each epoch, as a mean over its batches, for one image.
    n_iter_ : int
        Whole epochs.

    Notes
    -----
    Inducing patches are free parameters in the space of whitened features, as `mercer.deep` derives
    them in its file ``convolution``. They begin as patches of the first images, chosen to differ
    (pivots of a Cholesky factorisation), so that training begins at the infinite network, seen
    through them. Kernels of layers are measured from a learnt point: k(x, z) - k(x, m) - k(m, z) +
    k(m, m). The top is the kernel of the inducing points alone.

    :math:`v_i / 2` bounds the expected log-probability by Jensen's inequality, as in
    `DeepKernelMachineClassifier`. Adam climbs a noisy objective: there is no certificate, and the
    machine keeps the last epoch. Ctrl-C raises KeyboardInterrupt and leaves the last whole epoch.

    A step costs O(b R p (p' s² + 3 p) + p³) operations in a layer, for b images of R positions, p
    inducing patches of side s and p' of the layer below; memory is O(b R p) for all layers.

    References
    ----------
    Milsom, Anson & Aitchison, "Convolutional deep kernel machines", ICLR 2024.
    Milsom, Anson & Aitchison, "Stochastic kernel regularisation improves generalisation in deep
    kernel machines", NeurIPS 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer.deep import ConvolutionalDeepKernelMachine
    >>> images, y = load_digits(return_X_y=True)
    >>> model = ConvolutionalDeepKernelMachine(
    ...     (8, 16), patch_size=3, stride=(1, 2), image_shape=(8, 8), epochs=15,
    ...     learning_rate=0.03, n_jobs=1, random_state=0,
    ... ).fit(images[:900], y[:900])
    >>> bool(model.score(images[900:], y[900:]) > 0.7), model.patches_[1].shape
    (True, (16, 8, 3, 3))
    """

    n_inducing: Any = (32, 64, 128)
    _: KW_ONLY
    patch_size: Any = (5, 3, 3)
    stride: Any = (2, 2, 1)
    layer: Any = None
    dof: Any = 1.0
    divergence: str = "taylor"
    wishart_dof: Any = None
    image_shape: Any = None
    epochs: int = 30
    batch_size: int = 128
    learning_rate: float = 0.02
    jitter: float = 1e-3
    dtype: str = "float32"
    device: str = "auto"
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Any = False

    @finite_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to images X and classes y (n)."""
        self._check_parameters()
        torch_side = _torch_side()
        forget(self)
        X, y = validate_data(self, X, y, allow_nd=True, dtype=FLOATS)
        classes, codes = encode_classes(column_or_1d(y, warn=True))
        images = as_images(X, self.image_shape)
        self.image_shape_, self.n_features_in_ = images.shape[1:], images[0].size
        self.pixel_mean_, self.pixel_scale_ = pixel_scales(images)
        rng = check_random_state(self.random_state)
        try:
            with torch_side.torch_threads(self.n_jobs):
                self._train(self._standardised(images), codes, classes, rng)
        except torch_side.LinAlgError as error:
            raise ValueError(
                f"learning_rate={self.learning_rate!r}, jitter={self.jitter!r}: a matrix of the "
                f"layers has no Cholesky factor ({error}). Give a smaller learning_rate, or a "
                "larger jitter."
            ) from error
        return self

    def _train(
        self, pixels: np.ndarray, codes: np.ndarray, classes: np.ndarray, rng: np.random.RandomState
    ) -> None:
        """Adam, from the infinite network seen through patches of some images."""
        torch_side = _torch_side()
        images, labels = (torch_side.on_device(part, self.device) for part in (pixels, codes))
        network = torch_side.begin(
            images[rng.permutation(len(images))[: self.batch_size]], len(classes), self._counts(),
            self._windows(), self._layers(), float(self.jitter), rng,
        )  # fmt: skip
        training = torch_side.ConvolutionTraining(
            self.epochs, self.batch_size, float(self.learning_rate),
            self._for_each_layer("dof", self.dof), self.divergence == "taylor", self.wishart_dof,
        )  # fmt: skip
        path = []
        for bound in training.run(network, images, labels, rng):
            path.append(bound)
            if self.verbose:
                print(f"epoch {len(path)} of {self.epochs}: objective {bound:.4f}", flush=True)
            self._keep(network.arrays(), path, classes)

    def _keep(self, found: dict[str, Any], path: list[float], classes: np.ndarray) -> None:
        """All at once: a fit that is cut leaves the machine of its last whole epoch."""
        path_found = {"objective_path_": np.array(path), "n_iter_": len(path), "classes_": classes}
        vars(self).update(found | path_found)

    def _outputs(self, X: Samples) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the variance of f for images."""
        torch_side = _torch_side()
        images = self._standardised(self._new_images(X))
        network = torch_side.restored(
            vars(self), self._windows(), self._layers(), float(self.jitter), self.device
        )
        with torch_side.torch_threads(self.n_jobs):
            return torch_side.outputs(network, images, self.batch_size)

    def _new_images(self, X: Any) -> np.ndarray:
        """Images of the shape that the fit had, (q, channels, rows, columns)."""
        values: Any = np.asarray(X) if isinstance(X, (list, tuple)) else X
        if getattr(values, "ndim", 2) > 2:  # the count of features is that of rows of pixels
            X = check_array(X, allow_nd=True, dtype=FLOATS)
        else:
            X = validate_data(self, values, reset=False, dtype=FLOATS)
        return as_images(X, self.image_shape_)

    def _standardised(self, images: np.ndarray) -> np.ndarray:
        means, scales = self.pixel_mean_[:, None, None], self.pixel_scale_[:, None, None]
        return (images / scales - means / scales).astype(self.dtype)  # no difference overflows

    def _windows(self) -> list[tuple[int, int]]:
        """The side of each layer's patches, and the step between them."""
        sizes = self._for_each_layer("patch_size", self.patch_size)
        return list(zip(sizes, self._for_each_layer("stride", self.stride)))

    def _layers(self) -> list[Layer]:
        given = NormalisedGaussian() if self.layer is None else self.layer
        return self._for_each_layer("layer", given)

    def _for_each_layer(self, name: str, value: object) -> list:
        """A value for each layer, where one may be given for all."""
        depth = len(self._counts())
        values = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] * depth
        if len(values) != depth:
            raise ValueError(
                f"{name}={value!r} has {len(values)} entries, but n_inducing={self.n_inducing!r} "
                f"{depth}: give one for all layers, or one for each."
            )
        return values

    def _counts(self) -> list[int]:
        several = isinstance(self.n_inducing, (list, tuple, np.ndarray))
        return list(self.n_inducing) if several else [self.n_inducing]

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        counts = self._counts()
        if not counts:
            raise ValueError("n_inducing is empty: give the inducing patches of each layer.")
        for count in counts:
            check_count("n_inducing", count, optional=False)
        for size, stride in self._windows():
            if not (is_whole(size) and size >= 1 and size % 2):
                raise ValueError(f"patch_size={size!r}: give an odd whole number >= 1.")
            check_count("stride", stride, optional=False)
        for layer in self._layers():
            if not isinstance(layer, Layer):
                raise TypeError(
                    f"layer={layer!r}: give a kernel that is a function of inner products, such as "
                    "NormalisedGaussian(), or a list of these."
                )
        for nu in self._for_each_layer("dof", self.dof):
            check_positive("dof", nu)
        if self.divergence not in ("taylor", "exact"):
            raise ValueError(f'divergence={self.divergence!r}: give "taylor" or "exact".')
        if self.wishart_dof is not None:
            check_positive("wishart_dof", self.wishart_dof)
        check_image_shape(self.image_shape)
        check_count("epochs", self.epochs, optional=False)
        check_count("batch_size", self.batch_size, optional=False)
        check_positive("learning_rate", self.learning_rate)
        check_positive("jitter", self.jitter)
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f'dtype={self.dtype!r}: give "float32" or "float64".')
        check_seed(self.random_state)
        check_flag("verbose", self.verbose)

    def __sklearn_is_fitted__(self) -> bool:
        return "classes_" in vars(self)


def _torch_side() -> Any:
    """The part that runs on torch; ImportError with the remedy where there is none."""
    need_torch("ConvolutionalDeepKernelMachine")
    from mercer.deep import convolution_network

    return convolution_network
