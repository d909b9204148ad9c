"""Convolutional deep kernel machines as far as they need no torch: images, parameters, and what is
said where torch is not installed."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.deep import ConvolutionalDeepKernelMachine
from mercer.deep.convolutional import as_images, pixel_scales

RNG = np.random.default_rng(0)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    model = ConvolutionalDeepKernelMachine()
    with pytest.raises(ImportError, match=r'not installed: pip install "mercer\[torch\]"'):
        model.fit(RNG.normal(size=(8, 5, 5)), np.arange(8) % 2)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("shape", "image_shape", "wanted"),
    [
        ((5, 12), None, (5, 1, 1, 12)),
        ((5, 12), (3, 4), (5, 1, 3, 4)),
        ((5, 12), [3, 2, 2], (5, 3, 2, 2)),
        ((5, 3, 4), None, (5, 1, 3, 4)),
        ((5, 3, 4), (3, 4), (5, 1, 3, 4)),
        ((5, 3, 4), (1, 3, 4), (5, 1, 3, 4)),
        ((5, 2, 3, 4), None, (5, 2, 3, 4)),
        ((5, 2, 3, 4), (2, 3, 4), (5, 2, 3, 4)),
    ],
)
def test_shapes_of_images(shape, image_shape, wanted):
    X = RNG.normal(size=shape)
    images = as_images(X, image_shape)
    assert images.shape == wanted
    assert_allclose(images.ravel(), X.ravel())


@pytest.mark.parametrize(
    ("shape", "image_shape"),
    [
        ((5, 12), (3, 5)),
        ((5, 4, 3), (3, 4)),
        ((5, 3, 4), (2, 3, 4)),
        ((5, 1, 2, 3, 4), None),
        ((5, 2, 3, 4), (3, 4)),
    ],
)
def test_other_shapes_are_refused(shape, image_shape):
    with pytest.raises(ValueError, match="images of the shape"):
        as_images(np.zeros(shape), image_shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pixels_have_the_mean_zero_and_the_size_one(dtype):
    images = (RNG.normal(size=(30, 3, 4, 5)) * [[[[1.0]], [[9.0]], [[0.0]]]] + 4).astype(dtype)
    means, scales = pixel_scales(images)
    scaled = (images - means[:, None, None]) / scales[:, None, None]
    assert_allclose(scaled.mean((0, 2, 3)), 0, atol=1e-6)
    assert_allclose(np.square(scaled).mean((0, 2, 3)), [1 / 3, 1 / 3, 0], atol=1e-6)
    assert scales[2] == 1


@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e30, 1e307])
def test_units_of_pixels_neither_overflow_nor_vanish(unit):
    images = RNG.normal(size=(9, 2, 3, 3))
    means, scales = pixel_scales(images)
    found = pixel_scales(images * unit)
    assert_allclose(found[0] / unit, means, rtol=1e-10)
    assert_allclose(found[1] / unit, scales, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_inducing", [0, (), (4, 0), (4, 2.5), "many", None]),
        ("patch_size", [2, (3, 4, 3), (3, 3), -1, 3.0j, None]),
        ("stride", [0, (1, 2), "a"]),
        ("layer", ["rbf", [1, 2, 3], object()]),
        ("dof", [0, -1, (1, 2), np.nan, "a"]),
        ("divergence", ["kl", None, 1]),
        ("wishart_dof", [0, -1, np.inf, "a"]),
        ("image_shape", [5, (5,), (5, 0), (1, 1, 1, 1), "ab", (2.5, 2)]),
        ("epochs", [0, None, 1.5]),
        ("batch_size", [0, None, "a"]),
        ("learning_rate", [0, -1, np.nan, None]),
        ("jitter", [0, -1, None]),
        ("dtype", ["float16", None, 32]),
        ("random_state", [-1, "a"]),
        ("verbose", ["a", None, 3]),
    ],
)
def test_wrong_parameters_are_named(name, values):
    for value in values:
        model = ConvolutionalDeepKernelMachine(**{name: value})
        with pytest.raises((TypeError, ValueError), match=name):
            model.fit(RNG.normal(size=(8, 5, 5)), np.arange(8) % 2)


def test_labels_come_before_torch_computes_anything():
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="only one class"):
        ConvolutionalDeepKernelMachine().fit(RNG.normal(size=(8, 5, 5)), np.zeros(8))
