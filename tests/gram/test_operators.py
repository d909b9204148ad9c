"""Every Gram operator against its dense twin; threads, order, memory and interruption."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

from mercer.gram import DenseGram, Gram, TiledGram, memory
from mercer.gram.memory import memory_budget
from mercer.gram.operator import require
from mercer.gram.schedule import count_jobs, ordered_map
from mercer.kernels import RBF, Laplacian, Linear, QueryKey, TableKernel

RNG = np.random.default_rng(0)


def vectors(n, dtype=np.float64):
    return RNG.normal(size=(n, 3)).astype(dtype)


X64, X32, Z64 = vectors(1100), vectors(1100, np.float32), vectors(70)
TABLE = pd.DataFrame({"a": RNG.normal(size=50), "b": list("xy") * 25})
QUERY = QueryKey(RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)))

OPERATORS = {
    "tiled, symmetric": lambda: (TiledGram(RBF(0.5), X64), RBF(0.5)(X64)),
    "tiled, float32": lambda: (TiledGram(RBF(0.5), X32), RBF(0.5)(X32)),
    "tiled, rectangular": lambda: (TiledGram(Laplacian(), X64, Z64), Laplacian()(X64, Z64)),
    "tiled, asymmetric": lambda: (TiledGram(QUERY, X64), QUERY(X64)),
    "tiled, one row": lambda: (TiledGram(Linear(), X64[:1]), Linear()(X64[:1])),
    "transposed": lambda: (TiledGram(QUERY, X64, Z64).T, QUERY(X64, Z64).T),
    "dense": lambda: (Gram(RBF(0.5), X64), RBF(0.5)(X64)),
    "dense, transposed": lambda: (Gram(QUERY, X64, Z64).T, QUERY(X64, Z64).T),
    "table": lambda: table_operator(),
}


def table_operator():
    kernel = TableKernel()
    X = kernel.encode(TABLE)
    kernel = kernel.bind(X)
    return TiledGram(kernel, X), kernel.block(X, X)


@pytest.fixture(params=OPERATORS, ids=str)
def pair(request):
    return OPERATORS[request.param]()


def test_agrees_with_its_dense_twin(pair):
    K, dense = pair
    tol = {"rtol": 2e-4, "atol": 1e-5} if K.dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-12}
    n, m = dense.shape
    assert K.shape == (n, m)
    assert K.dtype == dense.dtype
    assert_allclose(K.dense(), dense, **tol)
    assert_allclose(K.diag(), dense.diagonal(), **tol)
    i, j = RNG.integers(0, n, 7), RNG.integers(0, m, 5)
    assert_allclose(K.block(i, j), dense[np.ix_(i, j)], **tol)
    assert_allclose(K.block(slice(0, 3), j), dense[:3][:, j], **tol)
    assert_allclose(K.rows(i), dense[i], **tol)
    for V in (RNG.normal(size=m), RNG.normal(size=(m, 4))):
        V = V.astype(K.dtype)
        assert_allclose(K @ V, dense @ V, rtol=1e-3 if K.dtype == np.float32 else 1e-9, atol=1e-3)
        assert (K @ V).dtype == K.dtype
    assert_allclose(K.T.dense(), dense.T, **tol)
    assert_allclose(K.T @ np.ones(n, K.dtype), dense.sum(axis=0), rtol=1e-3)


def test_tiles_cover_the_matrix_once(pair):
    K, dense = pair
    counts, values = np.zeros(dense.shape), np.zeros(dense.shape)
    for i, j, tile in K.tiles():
        counts[i, j] += 1
        values[i, j] = tile
    upper = np.triu(np.ones(dense.shape, bool)) if K.symmetric else np.ones(dense.shape, bool)
    assert (counts[upper] == 1).all()
    assert_allclose(values[upper], dense[upper], rtol=2e-4, atol=1e-5)


def test_products_are_the_same_bit_for_bit_whatever_the_threads():
    V = RNG.normal(size=(1100, 3)).astype(np.float32)
    one, three = (TiledGram(RBF(0.5), X32, n_jobs=jobs) @ V for jobs in (1, 3))
    assert_array_equal(one, three)


def test_a_symmetric_matrix_is_filled_exactly_symmetric():
    K = Gram(RBF(0.5), X32).dense()
    assert_array_equal(K, K.T)
    assert_array_equal(K.diagonal(), 1)


def test_what_does_not_fit_is_streamed():
    assert isinstance(Gram(RBF(), X64, memory="1MB"), TiledGram)
    assert isinstance(Gram(RBF(), X64, memory="100MB"), DenseGram)


def test_a_solver_is_refused_what_is_not_cheap():
    with pytest.raises(TypeError, match=r"Cholesky needs dense .* TiledGram .* larger memory="):
        require(TiledGram(RBF(), X64), "dense", "Cholesky")


def test_peak_memory_of_a_streamed_product_is_a_few_tiles():
    code = """
import re
import numpy as np
from mercer.gram import TiledGram
from mercer.kernels import RBF
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
X = np.zeros((12_000, 4), np.float32)
TiledGram(RBF(), X[:1500]) @ X[:1500]
before = peak()
TiledGram(RBF(), X) @ X
print(peak() - before)
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("peak memory is read from /proc")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 60_000  # kB, where the whole matrix would take 576,000


def test_order_is_kept_and_few_are_in_flight():
    flying, most = [], []

    def items():
        for i in range(50):
            flying.append(i)
            yield i

    for i, result in enumerate(ordered_map(lambda i: i * i, items(), 3)):
        most.append(len(flying) - i)
        assert result == i * i
    assert max(most) <= 7


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interruption_restores_blas(error):
    def task(i):
        if i == 3:
            raise error
        return i

    before = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
    with pytest.raises(error):
        list(ordered_map(task, range(100), 2))
    assert [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"] == before


def test_numbers_of_jobs():
    cores = count_jobs(None)
    assert count_jobs(-1) == cores
    assert count_jobs(3) == 3
    with pytest.raises(ValueError, match="n_jobs=0"):
        count_jobs(0)


@pytest.mark.parametrize(
    ("given", "wanted"), [(1000, 1000), ("4GB", 4e9), ("1.5 MiB", 1.5 * 2**20), ("800k", 8e5)]
)
def test_budgets_as_users_write_them(given, wanted):
    assert memory_budget(given) == wanted


@pytest.mark.parametrize("given", ["lots", "4XB", "", 0, -5, "0GB"])
def test_budgets_that_are_none_are_named(given):
    with pytest.raises(ValueError, match="memory="):
        memory_budget(given)


def test_the_default_is_half_of_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    assert memory_budget(None) == 5000


def test_a_container_limits_what_is_free(tmp_path, monkeypatch):
    limit, used = tmp_path / "memory.max", tmp_path / "memory.current"
    limit.write_text("3000\n")
    used.write_text("1000\n")

    real = memory.Path
    places = {"/sys/fs/cgroup/memory.max": limit, "/sys/fs/cgroup/memory.current": used}
    monkeypatch.setattr(memory, "Path", lambda p: real(places.get(p, p)))
    assert memory.available_memory() <= 2000
    limit.write_text("max\n")
    assert memory.available_memory() > 2000
