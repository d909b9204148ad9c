"""Tensors of torch are read as the arrays that they hold, whatever their type and layout."""

import warnings

import numpy as np
import pytest

import mercer
from mercer import distances, kernels
from mercer.samples import read

torch = pytest.importorskip("torch")

N = 12
Y = np.arange(N) % 2
ROWS = np.round(np.random.default_rng(0).normal(size=(N, 3)) + Y[:, None], 3)
EIGHTHS = np.round(ROWS * 8) / 8  # which have few digits
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch says that compressed rows are new
    COMPRESSED = torch.tensor(EIGHTHS).to_sparse_csr()
FORMS = {
    "plain": torch.tensor(EIGHTHS),
    "gradient": torch.tensor(EIGHTHS, requires_grad=True),
    "bfloat16": torch.tensor(EIGHTHS, dtype=torch.bfloat16),
    "float16": torch.tensor(EIGHTHS, dtype=torch.float16),
    "sparse": torch.tensor(EIGHTHS).to_sparse(),
    "compressed": COMPRESSED,
    "list": list(torch.tensor(EIGHTHS)),
    "list of gradients": list(torch.tensor(EIGHTHS, requires_grad=True)),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("form", FORMS)
def test_vectors_are_read(form):
    X, kernel = FORMS[form], kernels.RBF(0.5)
    np.testing.assert_allclose(kernel(X), kernel(EIGHTHS), rtol=1e-5)
    np.testing.assert_allclose(read(X)[1] @ np.eye(3), EIGHTHS)
    for make in (
        mercer.SVC, mercer.LinearSVC, mercer.KNeighborsClassifier,
        lambda: mercer.KernelClassifier(trials=1, random_state=0),
    ):  # fmt: skip
        known = make().fit(EIGHTHS, Y).predict(EIGHTHS)
        np.testing.assert_array_equal(make().fit(X, Y).predict(X), known)
    ridge = mercer.KernelRidge(kernel=kernel, rank=4, random_state=0)
    made = ridge.fit_chunks(mercer.Chunks(X, ROWS[:, 0], rows=5)).predict(X)
    known = ridge.fit_chunks(mercer.Chunks(EIGHTHS, ROWS[:, 0], rows=5)).predict(EIGHTHS)
    np.testing.assert_allclose(made, known, rtol=1e-3)


def test_series_and_images_are_read():
    series = [EIGHTHS[: 5 + i % 3, 0] + c for i, c in enumerate(Y)]
    tensors = [torch.tensor(each, requires_grad=True) for each in series]
    np.testing.assert_allclose(distances.DTW()(tensors), distances.DTW()(series))
    images = np.stack([EIGHTHS[:3]] * N) + Y[:, None, None]
    np.testing.assert_allclose(
        kernels.RBF()(torch.tensor(images, requires_grad=True)), kernels.RBF()(images)
    )


def test_targets_are_read():
    for y in (ROWS[:, 0], torch.tensor(ROWS[:, 0])):
        made = mercer.KernelRidge().fit(EIGHTHS, y).predict(EIGHTHS)
        np.testing.assert_allclose(
            made, mercer.KernelRidge().fit(EIGHTHS, ROWS[:, 0]).predict(EIGHTHS)
        )
    y = torch.tensor(ROWS[:, 0], requires_grad=True)
    for regressor in (mercer.KernelRidge(), mercer.SVR(), mercer.KernelRegressor(trials=1)):
        known = regressor.fit(EIGHTHS, ROWS[:, 0]).predict(EIGHTHS)
        np.testing.assert_allclose(regressor.fit(EIGHTHS, y).predict(EIGHTHS), known)
