"""Hybrid neural-kernel networks: their objective, what the estimators promise, and that they learn.
``make test-torch`` runs this."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch")

import mercer  # noqa: E402
from mercer.deep import NeuralKernelClassifier, NeuralKernelRegressor  # noqa: E402
from mercer.deep.networks import training  # noqa: E402
from mercer.deep.networks.inputs import Ranked, Standardised  # noqa: E402
from mercer.deep.networks.training import LOSSES, objective  # noqa: E402
from mercer.gram.on_torch import torch_threads  # noqa: E402
from mercer.kernels import RBF, ArcCosine, Laplacian, Polynomial, Spectrum  # noqa: E402
from mercer.testing import parametrize_with_object_checks  # noqa: E402

RNG = np.random.default_rng(0)
X, Y = make_friedman1(150, noise=0.1, random_state=0)
CLASSES = (Y > 14).astype(int) + (Y > 18)


@pytest.fixture(autouse=True)
def one_thread():
    with torch_threads(1):
        yield


def settings(**parameters):
    known = {"width": 12, "n_features": 10, "epochs": 4, "random_state": 0, "n_jobs": 1}
    return {**known, **parameters}


def classifier(**parameters):
    return NeuralKernelClassifier(**settings(**parameters))


def regressor(**parameters):
    return NeuralKernelRegressor(**settings(**parameters))


# --- the objective -------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, RNG.integers(0, 3, 150).astype(float)])
def test_the_last_layer_alone_is_ridge_on_the_features(weights):
    alpha = 1e-3
    model = regressor(trained="last", alpha=alpha, dtype="float64").fit(X, Y, weights)
    phi = model.layer_outputs(X)[-1]
    total = len(X) if weights is None else weights.sum()
    y = (Y - model.y_mean_) / model.y_scale_
    ridge = Ridge(alpha=alpha * total, solver="cholesky").fit(phi, y, weights)
    assert_allclose(model.weights_["head.weight"][0], ridge.coef_, rtol=1e-6, atol=1e-9)
    predicted = model.y_mean_ + model.y_scale_ * ridge.predict(phi)
    assert_allclose(model.predict(X), predicted, rtol=1e-7)


def test_the_ridge_solution_is_where_the_objective_of_training_is_least():
    alpha = 1e-2
    model = regressor(trained="last", alpha=alpha, dtype="float64").fit(X, Y)
    network = model.to_torch()
    x = torch.tensor(model.network_inputs(X))
    y = torch.tensor((Y - model.y_mean_) / model.y_scale_)[:, None]
    objective(network, LOSSES["squared"], alpha, x, y, torch.ones(150)).backward()
    assert float(network.head.weight.grad.abs().max()) < 1e-12
    assert float(network.head.bias.grad.abs().max()) < 1e-12
    assert float(network.blocks[0].linear.weight.grad.abs().max()) > 1e-6


@pytest.mark.parametrize("outputs", [1, 3])
def test_losses_by_their_definitions(outputs):
    f = RNG.normal(size=(7, outputs))
    codes = np.arange(7) % max(outputs, 2)
    Y = np.where(codes[:, None] == ([1] if outputs == 1 else np.arange(3)), 1.0, -1.0)
    found = {name: loss(torch.tensor(f), torch.tensor(Y)).numpy() for name, loss in LOSSES.items()}
    assert_allclose(found["squared"], ((f - Y) ** 2).sum(1) / 2)
    assert_allclose(found["hinge"], np.maximum(0, 1 - Y * f).sum(1))
    g = np.column_stack([np.zeros(7), f]) if outputs == 1 else f
    log_p = g - np.log(np.exp(g).sum(1, keepdims=True))
    assert_allclose(found["cross_entropy"], -log_p[np.arange(7), codes])


def test_the_penalty_is_of_weights_and_not_of_biases():
    network = regressor().fit(X, Y).to_torch()
    weights = [block.linear.weight for block in network.blocks] + [network.head.weight]
    wanted = sum(float(w.detach().square().sum()) for w in weights)
    assert_allclose(float(network.squared_weights().detach()), wanted, rtol=1e-6)
    small = regressor(alpha=10.0, epochs=30, learning_rate=0.05).fit(X, Y).to_torch()
    assert float(small.squared_weights().detach()) < 0.5 * wanted


# --- what it reads -------------------------------------------------------------------------------


def test_scales_of_inputs():
    w = np.array([1.0, 2.0, 1.0, 0.5])
    Z = np.array([[1e300, 5.0], [2e300, 5.0], [-1e300, 5.0], [0.0, 5.0]])
    scaled = Standardised.of(Z, w)(Z)
    assert_allclose(w @ scaled, 0, atol=1e-12)
    assert_allclose(w @ scaled**2 / w.sum(), [1, 0], atol=1e-12)
    ranked = Ranked.of(Z, w)
    assert_allclose(
        ranked(Z)[:, 0] / np.sqrt(12) + 0.5, [2 / 4.5, 3.5 / 4.5, 0.5 / 4.5, 1.25 / 4.5]
    )
    assert_allclose(ranked(Z)[:, 1], 0)
    many = RNG.lognormal(size=(5000, 1))
    ranks = Ranked.of(many, np.ones(5000))
    assert len(ranks.values[0]) <= 1000
    assert_allclose(
        np.sort(ranks(many)[:, 0]), np.linspace(-np.sqrt(3), np.sqrt(3), 5000), atol=5e-3
    )


def test_weights_are_copies_and_the_order_of_rows_means_nothing():
    times = RNG.integers(0, 3, len(X))
    rows = RNG.permutation(np.repeat(np.arange(len(X)), times))
    for make, y in ((regressor, Y), (classifier, CLASSES)):
        weighed = make(dtype="float64").fit(X, y, times.astype(float))
        copied = make(dtype="float64").fit(X[rows], y[rows])
        for name, values in weighed.weights_.items():
            assert_allclose(copied.weights_[name], values, atol=1e-7, err_msg=name)


def test_a_kernel_on_vectors_is_read_by_its_nystroem_features():
    model = regressor(kernel=RBF(0.1), rank=40, trained="last", alpha=1e-6, dtype="float64")
    model.fit(X, Y)
    F = mercer.kernels.RBF(0.1)(X, model.X_fit_) @ model.axes_
    assert F.shape[1] <= 40
    assert_allclose(model.network_inputs(X), (F - F.mean(0)) / np.sqrt(F.var(0).mean()), atol=1e-8)


@pytest.mark.parametrize("inputs", ["standard", "ranks", None])
def test_sparse_rows_are_the_same_rows(inputs):
    Z = np.where(X > 0.5, X, 0.0)
    dense = regressor(inputs=inputs).fit(Z, Y).predict(Z)
    assert_allclose(
        regressor(inputs=inputs).fit(sp.csr_array(Z), Y).predict(sp.csr_array(Z)), dense
    )


# --- the estimators ------------------------------------------------------------------------------


@parametrize_with_checks([
    NeuralKernelClassifier(random_state=0, n_jobs=1, dtype="float64", width=32, n_features=32),
    NeuralKernelRegressor(random_state=0, n_jobs=1, dtype="float64", width=32, n_features=32),
])  # fmt: skip
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@parametrize_with_object_checks([
    (classifier(kernel=Spectrum(2), dtype="float64", epochs=30), "strings"),
    (regressor(kernel=Spectrum(2), dtype="float64", epochs=30), "strings"),
    (classifier(kernel=Spectrum(2), loss="hinge", trained="last", dtype="float64"), "strings"),
])  # fmt: skip
def test_strings(check):
    check()


def test_defaults_learn_classes_that_no_plane_divides():
    Z, y = make_moons(400, noise=0.1, random_state=0)
    for loss in ("cross_entropy", "hinge", "squared"):
        model = NeuralKernelClassifier(
            width=32, n_features=32, loss=loss, n_jobs=1, epochs=60, random_state=0
        ).fit(Z[:200], y[:200])
        assert model.score(Z[200:], y[200:]) > 0.97, loss
        assert hasattr(model, "predict_proba") == (loss == "cross_entropy")


def test_defaults_learn_numbers():
    A, b = make_friedman1(500, random_state=1)
    model = NeuralKernelRegressor(width=48, n_features=48, n_jobs=1, random_state=0)
    assert model.fit(A[:350], b[:350]).score(A[350:], b[350:]) > 0.93


def test_several_classes_and_several_targets():
    Z, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = classifier(epochs=40).fit(Z[::2], names[::2])
    assert model.score(Z[1::2], names[1::2]) > 0.9
    proba = model.predict_proba(Z)
    assert_allclose(proba.sum(1), 1)
    assert_array_equal(model.classes_[proba.argmax(1)], model.predict(Z))
    both = regressor(epochs=60, width=24, n_features=24).fit(X, np.column_stack([Y, -3 * Y + 7]))
    f = both.predict(X)
    assert f.shape == (150, 2)
    assert np.corrcoef(f[:, 1], Y)[0, 1] < -0.8


@pytest.mark.parametrize("layer", [Laplacian(0.1), ArcCosine(1), ArcCosine(0), RBF(0.5)], ids=str)
@pytest.mark.parametrize("pooling", [None, "average", "maxout", "convolution"])
def test_every_layer_and_pooling_learns(layer, pooling):
    model = regressor(layer=layer, pooling=pooling, epochs=40, learning_rate=0.01).fit(X, Y)
    assert model.score(X, Y) > 0.5
    assert len(model.layer_outputs(X)) == 2


def test_without_skip_and_of_any_depth():
    for depth in (1, 3):
        model = regressor(depth=depth, skip=False, epochs=40, learning_rate=0.01).fit(X, Y)
        assert [f.shape[1] for f in model.layer_outputs(X)] == [20] * depth
        assert model.score(X, Y) > 0.6


def test_class_weights():
    heavy = classifier(class_weight={0: 100.0}, epochs=30).fit(X, CLASSES)
    light = classifier(class_weight={0: 0.01}, epochs=30).fit(X, CLASSES)
    assert (heavy.predict(X) == 0).mean() > (light.predict(X) == 0).mean()
    with pytest.raises(ValueError, match="class_weight="):
        classifier(class_weight="heavy").fit(X, CLASSES)


def test_a_seed_gives_the_same_network():
    first, second, other = (regressor(random_state=s).fit(X, Y) for s in (0, 0, 1))
    for name, values in first.weights_.items():
        assert_array_equal(second.weights_[name], values)
    assert not np.allclose(other.predict(X), first.predict(X))


def test_answers_do_not_depend_on_batches_or_threads(monkeypatch):
    model = regressor(dtype="float64").fit(X, Y)
    wanted = model.predict(X)
    with torch_threads(2):
        assert_allclose(model.set_params(n_jobs=2).predict(X), wanted, rtol=1e-9)
    monkeypatch.setattr(training, "ROWS", 7)
    assert_allclose(model.predict(X), wanted, rtol=1e-9)


def test_parameters_set_after_a_fit_leave_the_network_as_it_is():
    model = regressor().fit(X, Y)
    wanted = model.predict(X)
    model.set_params(width=99, n_features=99, depth=4, layer=ArcCosine(1), skip=False)
    assert_array_equal(model.predict(X), wanted)


def test_precisions():
    rows = X.astype(np.float32)
    assert regressor().fit(rows, Y).predict(rows).dtype == np.float32
    single = regressor().fit(X, Y)
    assert {a.dtype for a in single.weights_.values()} == {np.dtype(np.float32)}
    double = regressor(dtype="float64").fit(X, Y)
    assert {a.dtype for a in double.weights_.values()} == {np.dtype(np.float64)}
    assert_allclose(single.predict(X), double.predict(X), rtol=1e-3)


@pytest.mark.parametrize(
    "Z",
    [np.zeros((60, 2)), np.full((60, 2), 1e30), np.repeat(RNG.normal(size=(3, 4)), 20, axis=0),
     RNG.normal(size=(60, 1)), 1e300 * RNG.normal(size=(60, 3)), 1e-140 * RNG.normal(size=(60, 3)),
     1e6 + RNG.normal(size=(60, 2)), np.asfortranarray(RNG.normal(size=(60, 3))),
     RNG.normal(size=(2, 3))],
    ids=["zeros", "constant", "duplicates", "a column", "large", "small", "far", "Fortran", "two"],
)  # fmt: skip
@pytest.mark.parametrize("inputs", ["standard", "ranks"])
def test_hostile_rows(Z, inputs):
    y = np.arange(len(Z)) % 2
    proba = classifier(inputs=inputs).fit(Z, y).predict_proba(Z)
    assert np.isfinite(proba).all()
    assert np.isfinite(regressor(inputs=inputs).fit(Z, 1e200 * y).predict(Z)).all()


def test_a_rate_that_is_too_high_is_an_error_with_a_remedy():
    for fraction in (0.0, 0.2):
        with pytest.raises(ValueError, match=r"learning_rate=1e\+30.*lower"):
            regressor(learning_rate=1e30, validation_fraction=fraction).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [({"depth": 0}, "depth=0"), ({"width": 1.5}, "width=1.5"), ({"alpha": -1}, "alpha=-1"),
     ({"inputs": "log"}, 'inputs=.*"ranks"'), ({"trained": "first"}, "trained="),
     ({"dtype": "float16"}, "dtype="), ({"pooling": "sum"}, "pooling="),
     ({"scales": (1, 2)}, "scales=.*pooling="), ({"pooling": "average", "scales": (0,)}, "scales="),
     ({"validation_fraction": 1.0}, "validation_fraction="), ({"device": "abacus"}, "device="),
     ({"learning_rate": 0}, "learning_rate="), ({"layer": Polynomial(2)}, "layer="),
     ({"layer": RBF("scale")}, "gamma="), ({"rank": 0}, "rank=0"), ({"epochs": 0}, "epochs=0")],
)  # fmt: skip
def test_wrong_parameters_are_named(parameters, says):
    with pytest.raises(ValueError, match=says):
        regressor(**parameters).fit(X, Y)


def test_wrong_layers_and_losses_are_named():
    with pytest.raises(TypeError, match="layer='rbf'"):
        regressor(layer="rbf").fit(X, Y)
    with pytest.raises(ValueError, match="loss='absolute'"):
        classifier(loss="absolute").fit(X, CLASSES)


def test_too_little_memory_is_said():
    with pytest.raises(MemoryError, match="memory="):
        regressor(memory=1000).fit(X, Y)


def test_files_hold_all_of_it(tmp_path):
    words = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"]
    models = [
        (classifier(pooling="convolution").fit(X, CLASSES), X),
        (regressor(inputs="ranks", layer=Laplacian(0.2)).fit(X, Y), X),
        (classifier(kernel=Spectrum(2)).fit(words, [0, 0, 0, 1, 1, 1]), words),
    ]
    for model, Z in models:
        mercer.save(model, tmp_path / "network.mercer")
        loaded = mercer.load(tmp_path / "network.mercer")
        assert_array_equal(loaded.predict(Z), model.predict(Z))


@pytest.mark.parametrize(("batches", "epochs"), [(2, 0), (6, 1), (13, 2)])
def test_what_was_cut_is_the_best_epoch_so_far(batches, epochs, monkeypatch):
    whole = regressor(batch_size=32, epochs=5).fit(X, Y)  # an epoch has five batches
    model, calls = clone(whole), []

    def stop():
        calls.append(1)
        if len(calls) > batches:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "raise_if_stopped", stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
    if epochs == 0:
        with pytest.raises(NotFittedError):
            model.predict(X)
    else:
        done = batches // 5
        assert_array_equal(model.validation_path_, whole.validation_path_[:done])
        assert model.n_iter_ == np.argmin(whole.validation_path_[:done]) + 1
        assert np.isfinite(model.predict(X)).all()


def test_the_best_epoch_is_kept_and_training_ends_early():
    model = regressor(epochs=300, patience=3, learning_rate=0.05).fit(X, RNG.normal(size=150))
    path = model.validation_path_
    assert len(path) == len(model.objective_path_) == model.n_iter_ + 3 < 300
    assert path.argmin() + 1 == model.n_iter_
    never = regressor(validation_fraction=0.0).fit(X, Y)
    assert never.validation_path_.size == 0
    assert never.n_iter_ == 4


def test_progress_is_printed(capsys):
    model = regressor(verbose=True, epochs=2).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    held, value = model.validation_path_[1], model.objective_path_[1]
    assert lines[1] == f"epoch 2 of 2: objective {value:.4f}, loss of held rows {held:.4f}"


def test_without_torch_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'NeuralKernelRegressor needs torch.*"mercer\[torch\]"'):
        regressor().fit(X, Y)
