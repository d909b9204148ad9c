"""Convolutional deep kernel machines on torch: their layers against brute force over patches, their
objective against the definition, and what the estimator promises. ``make test-torch`` runs this."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch")

import mercer  # noqa: E402
from mercer.deep import ConvolutionalDeepKernelMachine, convolution_network  # noqa: E402
from mercer.deep.convolution_network import (  # noqa: E402
    Convolution,
    ConvolutionNetwork,
    Features,
    Window,
    divergence,
)
from mercer.deep.propagation import LayerPropagation, kernel_of  # noqa: E402
from mercer.deep.targets import ClassTargets  # noqa: E402
from mercer.deep.torch_layers import torch_layer  # noqa: E402
from mercer.gram.on_torch import torch_threads  # noqa: E402
from mercer.kernels import RBF, ArcCosine, Linear, NormalisedGaussian, Polynomial  # noqa: E402

RNG = np.random.default_rng(0)
LAYERS = [NormalisedGaussian(), ArcCosine(1), RBF(0.3), Linear()]
JITTER = 1e-9
DIGITS, LABELS = load_digits(return_X_y=True)
ORDER = np.random.RandomState(0).permutation(len(DIGITS))
DIGITS, LABELS = DIGITS[ORDER], LABELS[ORDER]


@pytest.fixture(autouse=True)
def one_thread():
    """Threads wait for each other on a busy machine, for longer than these tests compute."""
    with torch_threads(1):
        yield


def machine(**parameters):
    """Small, and quick to fit."""
    known = {"patch_size": 3, "stride": (1, 2), "epochs": 3, "random_state": 0, "n_jobs": 1}
    return ConvolutionalDeepKernelMachine(**{"n_inducing": (6, 9), **known, **parameters})


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def at_images(images):
    x = tensor(images)
    return Features(x, torch.zeros_like(x[:, :1]))


def layer_of(patches, layer, window, A=None):
    p = len(patches)
    A = np.eye(p) if A is None else A
    zero = torch.zeros(p, dtype=torch.float64)
    return Convolution(tensor(patches), tensor(A), zero, 1.0, window, torch_layer(layer))


def rows(values):
    """(n, p, rows, columns) as (n · rows · columns, p)."""
    return values.permute(0, 2, 3, 1).reshape(-1, values.shape[1]).numpy()


# --- layers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers_are_those_on_numpy(layer):
    X = RNG.normal(size=(14, 4))
    G = X @ X.T
    twin = torch_layer(layer)
    assert_allclose(twin.of_square(tensor(G)), kernel_of(layer, G), atol=1e-6, rtol=1e-6)
    g = G.diagonal()
    block = twin.of_gram(tensor(G[:9, 9:]), tensor(g[:9, None]), tensor(g[9:]))
    assert_allclose(block, layer.of_gram(G[:9, 9:].copy(), g[:9], g[9:]), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_gradients_are_finite_at_zero_and_equal_vectors(layer):
    x = tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [-1.0, -2.0]]).requires_grad_()
    torch_layer(layer).of_square(x @ x.T).sum().backward()
    assert torch.isfinite(x.grad).all()


def patch_means(K, shape, window):
    """Mean of K over pairs of positions of two patches, by loops; outside of an image is 0."""
    n, height, width = shape
    K = K.reshape(n, height, width, n, height, width)
    half = window.size // 2
    tops = [(r, c) for r in range(0, height, window.stride) for c in range(0, width, window.stride)]
    out = np.zeros((n, len(tops), n, len(tops)))
    for i in range(n):
        for j in range(n):
            for s, (r, c) in enumerate(tops):
                for t, (u, v) in enumerate(tops):
                    for dr in range(-half, half + 1):
                        for dc in range(-half, half + 1):
                            a, b, e, f = r + dr, c + dc, u + dr, v + dc
                            inside = 0 <= a < height and 0 <= b < width
                            if inside and 0 <= e < height and 0 <= f < width:
                                out[i, s, j, t] += K[i, a, b, j, e, f]
    total = n * len(tops)
    return out.reshape(total, total) / window.size**2


@pytest.mark.parametrize("layer", LAYERS, ids=str)
@pytest.mark.parametrize("strides", [(1, 2), (2, 1)])
def test_two_layers_are_the_infinite_network_by_brute_force(layer, strides):
    """All patches as inducing points, A = I."""
    images = RNG.normal(size=(2, 3, 4, 3))
    features, shape = at_images(images), (2, 4, 3)
    K = np.einsum("nchw,mcuv->nhwmuv", images, images).reshape(24, 24)
    for window in (Window(3, strides[0]), Window(3, strides[1])):
        step = layer_of(window.patches(features.phi).numpy(), layer, window)
        grams = step.grams(features, JITTER)
        G = patch_means(K, shape, window)
        assert_allclose(grams.G, G, atol=1e-4)
        assert_allclose(rows(grams.cross), G, atol=1e-4)
        assert_allclose(rows(grams.norms)[:, 0], G.diagonal(), atol=1e-4)
        features = step(features, JITTER)
        shape = (2, *features.phi.shape[2:])
        K = kernel_of(layer, G)
        phi = rows(features.phi)
        assert_allclose(phi @ phi.T, K, atol=1e-4)
        assert_allclose(rows(features.rest), 0, atol=1e-4)


def test_few_inducing_patches_leave_the_rest_of_the_variance():
    images, layer, window = RNG.normal(size=(3, 1, 5, 5)), NormalisedGaussian(), Window(3, 1)
    features = at_images(images)
    step = layer_of(window.patches(features.phi)[:4].numpy(), layer, window)
    found = step(features, JITTER)
    patches = window.patches(features.phi).flatten(1).numpy()
    norms = np.square(patches).sum(1) / 9
    assert_allclose(rows(found.phi.square().sum(1, keepdim=True) + found.rest)[:, 0], norms)
    assert rows(found.rest).min() >= 0
    assert rows(found.rest).max() > 0.1


def test_patches_of_one_pixel_are_samples_of_a_deep_kernel_machine():
    """`Propagation`, on numpy, has the same layers without convolutions."""
    first, second = NormalisedGaussian(), ArcCosine(1)
    Z, X = RNG.normal(size=(6, 4)), RNG.normal(size=(10, 4))
    A = np.tril(0.3 * RNG.normal(size=(6, 6))) + np.eye(6)
    L = np.linalg.cholesky(kernel_of(first, Z @ Z.T) + JITTER * np.eye(6))
    H = L @ A
    flow = LayerPropagation(Z @ Z.T, [H @ H.T], [first, second], JITTER)
    T, k = flow.outputs(X @ Z.T, np.square(X).sum(1))

    pixel = Window(1, 1)
    # a jitter is added to Z Zᵀ of rank 4 as well, which its own inducing patches do not have
    below = layer_of(Z[:, :, None, None], first, pixel)(at_images(X[:, :, None, None]), JITTER)
    found = layer_of(L[:, :, None, None], second, pixel, A)(below, JITTER)
    phi = rows(found.phi)
    assert_allclose(phi @ phi.T, T @ T.T, atol=1e-5)
    assert_allclose(np.square(phi).sum(1) + rows(found.rest)[:, 0], k, atol=1e-5)


def test_a_centre_and_a_scale_are_a_kernel_from_another_origin():
    images, window = RNG.normal(size=(3, 1, 4, 4)), Window(3, 1)
    features = at_images(images)
    step = layer_of(window.patches(features.phi)[::5].numpy(), RBF(0.3), window)
    plain = step(features, JITTER)
    m = RNG.normal(size=step.gram_factor.shape[0])
    moved = step._replace(centre=tensor(m), scale=2.5)(features, JITTER)
    phi = rows(plain.phi)
    assert_allclose(rows(moved.phi) @ rows(moved.phi).T, 2.5 * (phi - m) @ (phi - m).T)
    assert_allclose(moved.rest, 2.5 * plain.rest)


def test_draws_of_wishart_matrices_have_the_mean_g():
    patches = RNG.normal(size=(4, 1, 3, 3))
    A = np.tril(0.3 * RNG.normal(size=(4, 4))) + np.eye(4)
    step = layer_of(patches, NormalisedGaussian(), Window(3, 1), A)
    features = at_images(RNG.normal(size=(2, 1, 3, 3)))
    exact = step.grams(features, JITTER)
    draws = [step.grams(features, JITTER, tensor(RNG.normal(size=(4, 3)))) for _ in range(300)]
    for name in ("G", "cross", "norms"):
        values = np.stack([getattr(draw, name).numpy() for draw in draws])
        error = 5 * values.std(0) / np.sqrt(len(draws))
        assert (np.abs(values.mean(0) - getattr(exact, name).numpy()) <= error).all()
        assert values.std(0).max() > 0.1
    assert np.linalg.matrix_rank(draws[0].G.numpy()) == 3


# --- the objective -------------------------------------------------------------------------------


def test_divergences_by_their_definitions():
    L = np.linalg.cholesky(np.cov(RNG.normal(size=(5, 20))))
    A = np.tril(0.2 * RNG.normal(size=(5, 5))) + np.diag([1, -1, 1.5, 0.7, 1])
    Gamma, G = L @ L.T, L @ A @ A.T @ L.T
    ratio = np.linalg.solve(Gamma, G)
    wanted = (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 5) / 2
    above = tensor(A + np.triu(RNG.normal(size=(5, 5)), 1))  # the upper triangle does not count
    assert_allclose(divergence(above, taylor=False), wanted)
    s = np.linalg.eigvals(np.linalg.solve(G, Gamma)).real
    assert_allclose(divergence(above, taylor=True), np.square(s - 1).sum() / 4)


def test_the_expansion_is_of_second_order():
    """Near G = Γ, where many degrees of freedom hold it, the two differ in the third order."""
    E = np.tril(RNG.normal(size=(6, 6)))
    for size in (1e-2, 1e-3):
        A = tensor(np.eye(6) + size * E)
        exact, expanded = (float(divergence(A, taylor=t)) for t in (False, True))
        assert 0 < abs(expanded - exact) < 20 * size * exact


@pytest.mark.parametrize("taylor", [False, True])
def test_no_gram_matrix_is_nearer_than_its_kernel(taylor):
    A = torch.eye(4, dtype=torch.float64, requires_grad=True)
    value = divergence(A, taylor=taylor)
    value.backward()
    assert float(value.detach()) == 0
    assert_allclose(A.grad, 0, atol=1e-15)


def test_the_best_top_is_that_of_the_machine_on_numpy():
    """One layer whose patches are whole images: a Gaussian process, as `ClassTargets` solves it."""
    images, codes = RNG.normal(size=(9, 1, 3, 3)), np.arange(9) % 3
    window = Window(5, 3)  # one patch of each image, which holds all of it
    features = at_images(images)
    step = layer_of(window.patches(features.phi).numpy(), RBF(2.0), window)
    X = images.reshape(9, 9)
    K = kernel_of(RBF(2.0), X @ X.T / 25)
    top = [torch.zeros(9, 3), torch.eye(9), torch.zeros(3)]
    coef, R, intercept = (t.double().requires_grad_() for t in top)
    network = ConvolutionNetwork([step], coef, R, intercept, 1.7, JITTER)
    x, y = tensor(images), torch.from_numpy(codes)
    lbfgs = torch.optim.LBFGS(
        [coef, R], max_iter=300, tolerance_grad=1e-8, tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def loss():
        lbfgs.zero_grad()
        means, variances = network.outputs(x)
        likelihood = torch.log_softmax(means, 1)[torch.arange(9), y].sum() - variances.sum() / 2
        value = network.price([1.0], taylor=True) - likelihood
        value.backward()
        return value

    lbfgs.step(loss)
    targets = ClassTargets(np.eye(3)[codes])
    assert_allclose(-float(loss().detach()), targets.dense(1.7 * K, 0.0).value, rtol=1e-6)


# --- the estimator -------------------------------------------------------------------------------


@parametrize_with_checks(
    [machine(n_inducing=(8, 16), epochs=60, learning_rate=0.03, dtype="float64")]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_it_learns_digits():
    model = machine(
        n_inducing=(16, 32, 64), stride=(1, 2, 1), epochs=20, learning_rate=0.03, image_shape=(8, 8)
    )
    model.fit(DIGITS[:1200], LABELS[:1200])
    assert model.score(DIGITS[1200:], LABELS[1200:]) > 0.97
    assert model.objective_path_[-1] > model.objective_path_[0] + 1
    proba = model.predict_proba(DIGITS[1200:])
    assert_allclose(proba.sum(1), 1)
    assert proba[np.arange(len(proba)), LABELS[1200:]].mean() > 0.85


def fitted(**parameters):
    return machine(image_shape=(8, 8), **parameters).fit(DIGITS[:150], LABELS[:150])


def test_a_seed_gives_the_same_machine():
    first, second, other = fitted(), fitted(), fitted(random_state=1)
    assert_array_equal(first.predict_proba(DIGITS), second.predict_proba(DIGITS))
    for name in ("patches_", "gram_factors_", "centres_"):
        for a, b in zip(getattr(first, name), getattr(second, name)):
            assert_array_equal(a, b)
    assert not np.array_equal(first.coef_, other.coef_)


def test_noise_is_drawn_in_training_alone():
    model = fitted(wishart_dof=0.5)
    assert_array_equal(model.predict_proba(DIGITS), model.predict_proba(DIGITS))
    assert not np.allclose(model.coef_, fitted().coef_)
    assert_array_equal(model.coef_, fitted(wishart_dof=0.5).coef_)


def test_predictions_do_not_depend_on_batches_or_threads():
    model = fitted(dtype="float64")
    proba = model.predict_proba(DIGITS[:70])
    assert_allclose(model.set_params(batch_size=9).predict_proba(DIGITS[:70]), proba, rtol=1e-8)
    assert_allclose(model.set_params(n_jobs=2).predict_proba(DIGITS[:70]), proba, rtol=1e-8)


def test_precisions_agree():
    single, double = fitted(epochs=1), fitted(epochs=1, dtype="float64")
    assert {a.dtype for a in single.patches_} == {np.dtype(np.float32)}
    assert {a.dtype for a in double.patches_} == {np.dtype(np.float64)}
    assert_allclose(single.predict_proba(DIGITS[:50]), double.predict_proba(DIGITS[:50]), atol=0.02)


def test_shapes_of_the_same_images():
    flat = fitted()
    images = DIGITS.reshape(-1, 8, 8)
    deep = machine().fit(images[:150].astype(np.uint8), LABELS[:150])
    coloured = machine().fit(images[:150, None], LABELS[:150])
    assert deep.image_shape_ == coloured.image_shape_ == flat.image_shape_ == (1, 8, 8)
    proba = flat.predict_proba(DIGITS[:20])
    assert_allclose(deep.predict_proba(images[:20]), proba, atol=1e-5)
    assert_allclose(coloured.predict_proba(images[:20, None]), proba, atol=1e-5)
    with pytest.raises(ValueError, match=r"shape \(20, 7, 8\).*\(n, 8, 8\) or \(n, 64\)"):
        deep.predict(np.zeros((20, 7, 8)))


def test_units_of_pixels_do_not_matter():
    proba = fitted(dtype="float64").predict_proba(DIGITS[:50])
    model = machine(image_shape=(8, 8), dtype="float64").fit(1e6 + 300 * DIGITS[:150], LABELS[:150])
    assert_allclose(model.predict_proba(1e6 + 300 * DIGITS[:50]), proba, atol=1e-4)


@pytest.mark.parametrize("layer", [*LAYERS, [ArcCosine(1), RBF(0.3)]], ids=str)
@pytest.mark.parametrize("divergence", ["taylor", "exact"])
def test_every_layer_learns(layer, divergence):
    model = fitted(layer=layer, divergence=divergence, epochs=8, learning_rate=0.02, dof=[0.5, 2])
    assert model.objective_path_[-1] > model.objective_path_[0] + 0.1
    assert np.isfinite(model.objective_path_).all()


def test_many_degrees_of_freedom_hold_the_gram_matrices():
    model = fitted(dof=1e7, epochs=8)
    free = fitted(dof=1e-3, epochs=8)
    far = [
        max(np.abs(A @ A.T - np.eye(len(A))).max() for A in m.gram_factors_) for m in (model, free)
    ]
    assert far[0] < 0.03 < far[1]


@pytest.mark.parametrize(
    "X",
    [np.zeros((12, 5, 5)), np.ones((12, 5, 5)) * 1e30, np.eye(12).reshape(12, 12, 1),
     np.repeat(RNG.normal(size=(2, 3, 4, 4)), 6, axis=0), RNG.normal(size=(12, 1)),
     1e300 * RNG.normal(size=(12, 4, 4)), 1e-300 * RNG.normal(size=(12, 4, 4))],
    ids=["constant", "constant 1e30", "one column", "duplicates", "one pixel", "large", "small"],
)  # fmt: skip
def test_hostile_images(X):
    proba = machine().fit(X, np.arange(12) % 2).predict_proba(X)
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(1), 1)


def test_a_rate_that_is_too_high_is_named():
    with pytest.raises(ValueError, match=r"learning_rate=1e\+20.*smaller"):
        fitted(learning_rate=1e20, epochs=20)


@pytest.mark.parametrize("device", ["abacus", "cuda:77", 3.5])
def test_unknown_devices_are_named(device):
    with pytest.raises(ValueError, match="device="):
        fitted(device=device)


@pytest.mark.parametrize("layer", [ArcCosine(2), ArcCosine(0), Polynomial(2)])
def test_layers_without_a_twin_are_refused(layer):
    with pytest.raises((TypeError, ValueError), match=r"layer=|gamma="):
        fitted(layer=layer)


def test_files_hold_all_of_it(tmp_path):
    model = fitted()
    mercer.save(model, tmp_path / "digits.mercer")
    loaded = mercer.load(tmp_path / "digits.mercer")
    assert_array_equal(loaded.predict_proba(DIGITS[:30]), model.predict_proba(DIGITS[:30]))


@pytest.mark.parametrize(("batches", "epochs"), [(1, 0), (3, 1), (5, 2)])
def test_what_was_cut_is_the_last_whole_epoch(batches, epochs, monkeypatch):
    whole = fitted(epochs=3)  # an epoch has two batches
    model, calls = clone(whole), []

    def stop():
        calls.append(1)
        if len(calls) > batches:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(convolution_network, "raise_if_stopped", stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(DIGITS[:150], LABELS[:150])
    if epochs == 0:
        with pytest.raises(NotFittedError):
            model.predict(DIGITS[:5])
    else:
        assert model.n_iter_ == len(model.objective_path_) == epochs
        assert_array_equal(model.objective_path_, whole.objective_path_[:epochs])
        assert np.isfinite(model.predict_proba(DIGITS[:5])).all()


def test_progress_is_printed(capsys):
    model = fitted(verbose=True, epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"epoch 2 of 2: objective {model.objective_path_[1]:.4f}"


def test_threads_of_torch_are_given_back():
    with torch_threads(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 1
    with pytest.raises(KeyboardInterrupt), torch_threads(2):
        raise KeyboardInterrupt
    assert torch.get_num_threads() == 1


def test_a_layer_has_no_more_patches_than_there_are_different_ones():
    X = np.repeat(RNG.normal(size=(2, 3, 3)), 10, axis=0)
    model = machine(n_inducing=(50, 50), patch_size=1).fit(X, np.arange(20) // 10)
    assert len(model.patches_[0]) <= 18
