"""The step of a learnt neighbourhood against its twin in float64, and on hostile arguments."""

from threading import Thread

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1

from mercer import _native
from neighbourhood_twin import Twin, smoothed

SHAPES = [  # columns, extra, width, hidden, outputs, candidates, queries
    (3, 8, 16, 16, 2, 150, 70),
    (1, 0, 16, 0, 1, 64, 64),
    (0, 16, 32, 8, 1, 65, 1),
    (2, 0, 48, 24, 3, 7, 5),
]


class Case:
    """A step on random rows, of which the first and the last candidate are equal."""

    def __init__(self, shape, classes, workers=1):
        d, extra, width, hidden, outputs, candidates, self.queries = shape
        rng = np.random.default_rng(0)
        n = candidates + 9
        self.training = _native.NeighbourhoodTraining(
            d, extra, width, hidden, outputs, candidates, self.queries, classes, workers
        )
        self.numbers = rng.normal(size=(n, d)).astype(np.float32)
        self.extra = rng.normal(size=(n, extra)).astype(np.float32)
        self.targets = rng.normal(size=(n, outputs)).astype(np.float32)
        self.labels = rng.integers(0, 3, n).astype(np.int32)
        self.weights = rng.uniform(0.5, 2, n).astype(np.float32)
        self.rows = rng.permutation(n)[:candidates]
        self.parameters = (0.3 * rng.normal(size=self.training.size)).astype(np.float32)
        self.moments = np.zeros((2, self.training.size), np.float32)
        self.running = np.zeros((4, width), np.float32)
        self.running[1::2] = 1
        self.twin, self.classes = Twin(d, extra, width, hidden), classes

    def step(self, rate=0.0, dropout=0.0, seed=0, **other):
        given = {
            "parameters": self.parameters, "first": self.moments[0], "second": self.moments[1],
            "running": self.running.reshape(-1), "numbers": self.numbers, "extra": self.extra,
            "targets": self.targets, "labels": self.labels, "weights": self.weights,
            "rows": self.rows, "queries": self.queries, "rate": rate, "iteration": 1.0,
            "dropout": dropout, "seed": seed,
        }  # fmt: skip
        return self.training.run(**(given | other))

    def gradients(self):
        out = np.empty_like(self.parameters)
        self.training.gradients(out)
        return out.astype(float)

    def loss(self, w):
        y = self.labels if self.classes else self.targets.astype(float)
        X, more = self.numbers.astype(float), self.extra.astype(float)
        return self.twin.loss(w, X, more, y, self.weights.astype(float), self.rows, self.queries)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_are_those_of_finite_differences(shape, classes):
    case, rng = Case(shape, classes), np.random.default_rng(1)
    w = case.parameters.astype(float)
    assert case.step() == pytest.approx(case.loss(w), rel=2e-6, abs=1e-7)
    found, start = case.gradients(), 0
    largest = np.abs(found).max() + 1e-7
    for name, part in case.twin.split(w).items():
        v = np.zeros_like(w)
        v[start : start + part.size] = rng.normal(size=part.size)
        start += part.size
        slope = (case.loss(w + 1e-6 * v) - case.loss(w - 1e-6 * v)) / 2e-6
        assert found @ v == pytest.approx(slope, rel=1e-3, abs=3e-4 * largest), name


def test_gradients_are_those_of_torch():
    torch = pytest.importorskip("torch")
    for classes in (False, True):
        case = Case(SHAPES[0], classes)
        case.step()
        w = torch.tensor(case.parameters.astype(float), requires_grad=True)
        _torch_loss(torch, case, w).backward()
        assert_allclose(case.gradients(), w.grad.numpy(), atol=1e-6)


def _torch_loss(torch, case, w):
    sizes = {name: part.shape for name, part in case.twin.split(case.parameters).items()}
    parts = torch.split(w, [int(np.prod(shape)) for shape in sizes.values()])
    p = {name: part.reshape(shape) for (name, shape), part in zip(sizes.items(), parts)}
    rows, q = torch.tensor(case.rows), case.queries
    X, more = (torch.tensor(a.astype(float))[rows] for a in (case.numbers, case.extra))
    votes = torch.tensor(case.weights.astype(float))[rows]

    def normalised(x, gain, shift):
        return torch.nn.functional.batch_norm(x, None, None, p[gain], p[shift], True, 0.1, 1e-5)

    turns = 2 * np.pi * X[:, :, None] * p["frequencies"]
    features = torch.cat([turns.cos(), turns.sin(), X[:, :, None]], dim=2)
    values = torch.relu(features @ p["periodic"] + p["periodic_bias"]).flatten(1)
    u = torch.cat([values, more], dim=1) @ p["linear"] + p["linear_bias"]
    x = normalised(u, "gain1", "shift1")
    v = torch.relu(x @ p["into"].T + p["into_bias"]) @ p["out"] + p["out_bias"]
    z = normalised(v, "gain2", "shift2")
    own = torch.eye(q, len(z), dtype=bool)
    gaps = (z[:q, None] - z[None]).masked_fill(own[:, :, None], 1.0)
    P = torch.softmax((votes.log() - gaps.norm(dim=2)).masked_fill(own, -torch.inf), dim=1)
    if case.classes:
        y = torch.tensor(case.labels)[rows]
        losses = -(P * (y[:q, None] == y)).sum(dim=1).log()
    else:
        y = torch.tensor(case.targets.astype(float))[rows]
        losses = ((P @ y - y[:q]) ** 2).mean(dim=1)
    return (losses * votes[:q]).sum() / votes[:q].sum()


def test_a_helper_changes_nothing():
    alone, shared = (Case((8, 8, 32, 64, 1, 700, 200), False, workers) for workers in (1, 2))
    shared.training.open()
    helper = Thread(target=shared.training.help, args=(1,))
    helper.start()
    try:
        for case in (alone, shared):
            losses = [
                case.step(rate=0.01, dropout=0.2, seed=i, iteration=i + 1.0) for i in range(9)
            ]
            assert losses[-1] < losses[0]
    finally:
        shared.training.close()
        helper.join()
    assert_array_equal(alone.parameters, shared.parameters)
    assert_array_equal(alone.running, shared.running)


def test_steps_learn_and_moments_are_adams():
    case = Case(SHAPES[0], False)
    before = case.parameters.copy()
    case.step(rate=0.01)
    g = case.gradients()
    moved = np.abs(g) > 1e-5
    assert_allclose((before - case.parameters)[moved], 0.01 * np.sign(g[moved]), rtol=0.01)
    assert_allclose(case.moments[0], 0.1 * g, rtol=1e-4, atol=1e-9)


def test_many_steps_are_adams():
    """With the gradients that a step leaves, and β = (0.9, 0.999)."""
    case = Case(SHAPES[0], True)
    w = case.parameters.astype(float)
    first, second = np.zeros_like(w), np.zeros_like(w)
    for t in range(1, 7):
        case.step(rate=0.01 / t, iteration=float(t))
        g = case.gradients()
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
        step = first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        w -= 0.01 / t * step
        assert_allclose(case.moments, [first, second], rtol=1e-3, atol=1e-9)
        assert_allclose(case.parameters, w, atol=2e-5)


def test_running_means_and_embedded_rows():
    case = Case(SHAPES[0], False)
    for _ in range(3):
        case.step()
    Z = np.empty((len(case.numbers), 16), np.float32)
    args = case.numbers, case.extra, case.parameters, case.running.reshape(-1), 16, 16
    _native.neighbourhood_embed(*args, Z)
    X, more, w = (a.astype(float) for a in (case.numbers, case.extra, case.parameters))
    assert_allclose(Z, case.twin.embed(w, X, more, case.running.astype(float)), atol=2e-5)
    for start in (0, 60, 64, 100):  # a row has the same z alone as among others
        part = np.empty((2, 16), np.float32)
        some = slice(start, start + 2)
        _native.neighbourhood_embed(case.numbers[some], case.extra[some], *args[2:], part)
        assert_array_equal(part, Z[some])


def test_dropped_units_are_as_many_as_asked_for():
    X = make_friedman1(500, random_state=0)[0]
    case = Case((10, 0, 16, 256, 1, 400, 100), False)
    case.numbers[:400] = X[:400, :10]
    losses = [case.step(dropout=0.5, seed=s) for s in range(4)]
    assert len(set(losses)) == 4
    assert case.step(dropout=0.5, seed=2) == losses[2]
    assert case.step(dropout=1e-6) == pytest.approx(case.step(), rel=1e-3)


def test_equal_rows_pull_nothing():
    case = Case(SHAPES[0], False)
    case.numbers[:], case.extra[:] = case.numbers[0], case.extra[0]
    assert np.isfinite(case.step(rate=0.1))
    assert np.isfinite(case.parameters).all()
    assert np.abs(case.gradients()).max() < 1e-3


@pytest.mark.parametrize("n", [1, 63, 64, 65])
@pytest.mark.parametrize("m", [1, 5, 255, 256, 600])
def test_smoothed_values(n, m):
    rng = np.random.default_rng(0)
    Zq, Zc = (rng.normal(size=(s, 5)).astype(np.float32) for s in (n, m))
    Y, w = rng.normal(size=(m, 3)).astype(np.float32), rng.uniform(0.1, 3, m).astype(np.float32)
    Zc[-1] += 1000  # far away
    taus = np.array([0.5, 8.0], np.float32)
    out = np.empty((2, n, 3), np.float32)
    _native.neighbourhood_smooth(Zq, Zc, Y, w, taus, out)
    for tau, values in zip(taus, out):
        expected = smoothed(*(a.astype(float) for a in (Zq, Zc, Y, w)), float(tau))
        assert_allclose(values, expected, atol=3e-5)


def test_far_queries_have_the_nearest_rows():
    Zc, Y = np.zeros((300, 4), np.float32), np.arange(600, dtype=np.float32).reshape(300, 2)
    Zc[:, 0] = np.arange(300)
    out = np.empty((1, 2, 2), np.float32)
    queries = np.array([[1e4, 0, 0, 0], [-1e4, 0, 0, 0]], np.float32)
    _native.neighbourhood_smooth(queries, Zc, Y, np.ones(300, np.float32), np.float32([8]), out)
    assert_allclose(out[0], [Y[299], Y[0]], atol=1)


def test_wrong_shapes_and_rows_are_refused():
    case = Case(SHAPES[0], False)
    for wrong in (
        {"rows": np.append(case.rows[1:], len(case.numbers))},
        {"rows": -case.rows},
        {"rows": case.rows[:1]},
        {"queries": 71},
        {"parameters": case.parameters[1:].copy()},
        {"numbers": case.numbers[:, :2].copy()},
        {"targets": case.targets[:5]},
        {"weights": case.weights[:5]},
        {"dropout": 1.0},
        {"weights": np.zeros_like(case.weights)},
    ):
        with pytest.raises(ValueError, match="must"):
            case.step(**wrong)
    huge = 3, 0, 16, 2**60
    for shape in ((3, 1, 16, 16), (3, 0, 8, 16), (3, 0, 16, 3), (0, 0, 16, 16), huge):
        with pytest.raises(ValueError, match="must"):
            _native.NeighbourhoodTraining(*shape, 1, 10, 5, False, 1)
    with pytest.raises(ValueError, match="must"):
        case.training.help(1)
