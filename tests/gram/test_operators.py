"""Every Gram operator against its dense twin; threads, order, memory and interruption."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

from mercer.distances.products import inner_products
from mercer.gram import (
    CentredGram,
    CombinedGram,
    DenseGram,
    Place,
    ScaledGram,
    ShiftedGram,
    TiledGram,
    TriangleGram,
    build,
    gram,
    held_for_products,
    pivoted_cholesky,
    place,
)
from mercer.gram.operator import require
from mercer.kernels import RBF, FromFunction, Laplacian, Linear, Precomputed, QueryKey, TableKernel
from mercer.samples import MatrixRows
from mercer.solvers.rows import PairGram
from mercer.testing import GramContract
from mercer.threads import count_jobs, ordered_map

RNG = np.random.default_rng(0)


def vectors(n, dtype=np.float64):
    return RNG.normal(size=(n, 3)).astype(dtype)


X64, X32, Z64 = vectors(1100), vectors(1100, np.float32), vectors(70)
TABLE = pd.DataFrame({"a": RNG.normal(size=50), "b": list("xy") * 25})
QUERY = QueryKey(RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)))

K64 = RBF(0.5)(X64[:90])
CENTRE = np.eye(90) - 1 / 90


def table_operator():
    kernel = TableKernel()
    X = kernel.encode(TABLE)
    kernel = kernel.bind(X)
    return TiledGram(kernel, X), kernel.block(X, X)


def centred_new_samples():
    means = CentredGram(TiledGram(RBF(0.5), X64[:90])).means
    K = RBF(0.5)(Z64, X64[:90])
    dense = (K - K64.mean(axis=0)) @ CENTRE
    return CentredGram(TiledGram(RBF(0.5), Z64, X64[:90]), means), dense


def low_rank():
    factor = RNG.normal(size=(60, 4))
    K = pivoted_cholesky(DenseGram(factor @ factor.T, symmetric=True), 4, random_state=0)
    return K, factor @ factor.T


SOME, OTHERS = RNG.permutation(90)[:33], np.r_[3:40, 50:80]
SPARSE = sp.csr_array(np.where(X64 > 0.5, X64, 0))
SHIFTED = X64[:90] + 1
SHIFT = RNG.uniform(size=90)
SCALE = np.random.default_rng(2).uniform(0.1, 3, 90)
LONG32 = np.random.default_rng(3).normal(size=(1000, 3)).astype(np.float32)
OPERATORS = {
    "tiled, symmetric": lambda: (TiledGram(RBF(0.5), X64), RBF(0.5)(X64)),
    "tiled, float32": lambda: (TiledGram(RBF(0.5), X32), RBF(0.5)(X32)),
    "tiled, rectangular": lambda: (TiledGram(Laplacian(), X64, Z64), Laplacian()(X64, Z64)),
    "tiled, asymmetric": lambda: (TiledGram(QUERY, X64), QUERY(X64)),
    "tiled, one row": lambda: (TiledGram(Linear(), X64[:1]), Linear()(X64[:1])),
    "transposed": lambda: (TiledGram(QUERY, X64, Z64).T, QUERY(X64, Z64).T),
    "held": lambda: (gram(RBF(0.5), X64).held(), RBF(0.5)(X64)),
    "held, transposed": lambda: (gram(QUERY, X64, Z64).held().T, QUERY(X64, Z64).T),
    "precomputed": lambda: (gram(Precomputed(), MatrixRows.of(K64)), K64),
    "precomputed, some rows": lambda: (
        gram(Precomputed(), MatrixRows.of(K64)[SOME], MatrixRows.of(K64)[OTHERS]),
        K64[np.ix_(SOME, OTHERS)],
    ),
    "part of an array": lambda: (DenseGram(K64, symmetric=True).part(SOME), K64[SOME][:, SOME]),
    "linear": lambda: (gram(Linear(), X64), X64 @ X64.T),
    "linear, new samples": lambda: (gram(Linear(), Z64, X64), Z64 @ X64.T),
    "linear, sparse": lambda: (
        gram(Linear(), SPARSE, SPARSE[:9]),
        (SPARSE @ SPARSE[:9].T).toarray(),
    ),
    "one call": lambda: (gram(FromFunction(inner_products, at_once=True), X64, Z64), X64 @ Z64.T),
    "pair of classes": lambda: (
        PairGram(K64[:40, :40].copy(), K64[:40, 40:].copy(), K64[40:, 40:].copy()),
        K64,
    ),
    "table": table_operator,
    "low rank": low_rank,
    "centred": lambda: (CentredGram(TiledGram(RBF(0.5), X64[:90])), CENTRE @ K64 @ CENTRE),
    "centred, float32": lambda: (
        CentredGram(DenseGram(K64.astype(np.float32), symmetric=True)),
        (CENTRE @ K64 @ CENTRE).astype(np.float32),
    ),
    "centred, new samples": centred_new_samples,
    "shifted": lambda: (ShiftedGram(TiledGram(RBF(0.5), X64[:90]), 0.7), K64 + 0.7 * np.eye(90)),
    "scaled": lambda: (
        ScaledGram(TiledGram(RBF(0.5), X64[:90]), SCALE),
        SCALE[:, None] * K64 * SCALE,
    ),
    "combined": lambda: (
        CombinedGram(
            [
                TiledGram(RBF(0.5), X64[:90]),
                DenseGram(K64, symmetric=True),
                gram(Linear(), SHIFTED),
            ],
            np.array([0.5, 2.0, 0.25]),
            Place(10**6),
        ),
        2.5 * K64 + 0.25 * SHIFTED @ SHIFTED.T,
    ),
    "combined, float32, of weight 0": lambda: (
        CombinedGram([TiledGram(RBF(0.5), X32), TiledGram(RBF(9.0), X32)], np.array([2.0, 0.0])),
        2 * RBF(0.5)(X32),
    ),
    "triangle": lambda: (TriangleGram(TiledGram(RBF(0.5), X32)), RBF(0.5)(X32)),
    "triangle of one row": lambda: (TriangleGram(TiledGram(RBF(), X32[:1])), RBF()(X32[:1])),
    "triangle of several strips": lambda: (
        TriangleGram(TiledGram(RBF(0.1), LONG32, place=Place(n_jobs=2))),
        RBF(0.1)(LONG32),
    ),
    "shifted, by row": lambda: (
        ShiftedGram(DenseGram(QUERY(X64[:90])), SHIFT),
        QUERY(X64[:90]) + np.diag(SHIFT),
    ),
}


class TestOperators(GramContract):
    @pytest.fixture(params=OPERATORS, ids=str)
    def pair(self, request):
        return OPERATORS[request.param]()


def test_centred_and_shifted_refuse_what_does_not_fit():
    rectangular = TiledGram(RBF(), X64, Z64)
    with pytest.raises(ValueError, match=r"\(1100, 70\) is not symmetric: .*give means="):
        CentredGram(rectangular)
    with pytest.raises(
        ValueError, match="K has 70 columns, but means= is of 1100 training samples"
    ):
        CentredGram(rectangular, CentredGram(TiledGram(RBF(), X64)).means)
    with pytest.raises(ValueError, match="give a square K"):
        ShiftedGram(rectangular, 1.0)
    with pytest.raises(ValueError, match=r"shift has shape \(3,\)"):
        ShiftedGram(TiledGram(RBF(), X64), np.ones(3))
    square = TiledGram(RBF(), X64)
    for K in (rectangular, TiledGram(RBF(), X64[:9])):
        with pytest.raises(ValueError, match="symmetric operators of one shape"):
            CombinedGram([square, K], np.ones(2))
    with pytest.raises(ValueError, match="one number for each of the 1 operators"):
        CombinedGram([square], np.ones(2))
    with pytest.raises(ValueError, match="one number for each row"):
        ScaledGram(TiledGram(RBF(), X64), np.ones(3))


@pytest.mark.parametrize("held", [False, True])
def test_a_centred_matrix_keeps_means_and_no_second_matrix(held):
    K = TiledGram(RBF(0.5), X64)
    K = K.held() if held else K
    tracemalloc.start()
    training = CentredGram(K)
    new = CentredGram(TiledGram(RBF(0.5), Z64, X64), training.means)
    assert training.diag().shape == (1100,)
    assert (new @ np.ones(1100)).shape == (70,)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 200_000  # bytes, where K takes 9,680,000 and that of the new rows 616,000
    assert [part.shape for part in map(np.asarray, training.means)] == [(1100,), ()]
    assert not any(part is K for part in vars(new).values())


def test_the_first_product_of_a_centred_matrix_finds_its_means_on_the_way(monkeypatch):
    widths, product = [], TiledGram.__matmul__

    def counted(self, V):
        widths.append(np.shape(V)[1:])
        return product(self, V)

    monkeypatch.setattr(TiledGram, "__matmul__", counted)
    centred = CentredGram(TiledGram(RBF(0.5), X64[:90]))
    V = RNG.normal(size=(90, 3))
    assert_allclose(centred @ V, CENTRE @ K64 @ CENTRE @ V, atol=1e-12)
    assert widths == [(4,)]


def test_products_are_the_same_bit_for_bit_whatever_the_threads():
    V = RNG.normal(size=(1100, 3)).astype(np.float32)
    one, three = (TiledGram(RBF(0.5), X32, place=Place(n_jobs=jobs)) @ V for jobs in (1, 3))
    assert_array_equal(one, three)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 33, 48, 100])
def test_a_triangle_has_the_products_of_the_matrix(columns):
    """Strips of 384 rows, tiles at their right end that are short, any number of columns."""
    K = TriangleGram(gram(RBF(0.1), LONG32))
    V = np.random.default_rng(columns).normal(size=(len(LONG32), columns)).astype(np.float32)
    wanted = RBF(0.1)(LONG32).astype(np.float64) @ V
    assert_allclose(K @ V, wanted, atol=2e-6 * np.abs(wanted).max())
    one = TriangleGram(gram(RBF(0.1), LONG32, place=Place(n_jobs=1)))
    assert_array_equal(one @ V, TriangleGram(gram(RBF(0.1), LONG32, place=Place(n_jobs=3))) @ V)


def test_short_strips_of_a_triangle_are_as_good(monkeypatch):
    V = np.random.default_rng(0).normal(size=(len(LONG32), 5)).astype(np.float32)
    whole = TriangleGram(gram(RBF(0.1), LONG32))
    monkeypatch.setattr(build, "PANEL", 7)
    short = TriangleGram(gram(RBF(0.1), LONG32, place=Place(n_jobs=2)))
    assert_array_equal(short.dense(), whole.dense())
    assert_allclose(short @ V, whole @ V, atol=1e-4)


def test_only_what_can_be_halved_is_halved():
    half = held_for_products(gram(RBF(0.1), LONG32))
    assert isinstance(half, TriangleGram)
    assert half.held_bytes < 0.75 * LONG32.shape[0] ** 2 * 4
    X = LONG32.astype(np.float64)
    assert isinstance(held_for_products(gram(RBF(0.1), X)), DenseGram)
    assert isinstance(held_for_products(gram(RBF(0.1), LONG32, LONG32[:9])), DenseGram)
    streamed = gram(RBF(0.1), LONG32, place=Place("1MB"))
    assert held_for_products(streamed) is streamed
    given = DenseGram(RBF(0.1)(LONG32), symmetric=True)
    assert held_for_products(given) is given


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_of_a_large_array_are_shared_and_right(order):
    """Strips of rows, the last of them short, of an array in either order."""
    A = np.asarray(np.random.default_rng(0).normal(size=(2100, 2000)), order=order)
    V = np.random.default_rng(1).normal(size=(2000, 3))
    for threads in (1, 3):
        K = DenseGram(A, place=Place(n_jobs=threads))
        np.testing.assert_allclose(K @ V, A @ V, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(K.T @ np.ones((2100, 1)), A.T @ np.ones((2100, 1)), atol=1e-9)
        assert (K @ V.astype(np.float32)).dtype == np.float64
        assert (K @ V[:, 0]).shape == (2100,)


def test_a_symmetric_matrix_is_filled_exactly_symmetric():
    K = gram(RBF(0.5), X32).held().dense()
    assert_array_equal(K, K.T)
    assert_array_equal(K.diagonal(), 1)


def test_what_does_not_fit_is_streamed():
    small, large = (gram(RBF(), X64, place=Place(memory)) for memory in ("1MB", "100MB"))
    assert small.held() is small
    assert isinstance(large.held(), DenseGram)
    assert small.cheap == {"rows"}
    assert large.cheap == {"rows", "dense", "factorise"}


def test_a_solver_is_refused_what_is_not_cheap():
    with pytest.raises(TypeError, match=r"Cholesky needs '?dense.* TiledGram .* larger memory="):
        require(gram(RBF(), X64, place=Place("1MB")), "dense", "Cholesky")


def test_peak_memory_of_a_streamed_product_is_a_few_tiles():
    code = """
import re
import numpy as np
from mercer.gram import TiledGram
from mercer.kernels import RBF
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
X = np.zeros((6_000, 4), np.float32)
TiledGram(RBF(), X[:1500]) @ X[:1500]
before = peak()
TiledGram(RBF(), X) @ X
print(peak() - before)
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("peak memory is read from /proc")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 60_000  # kB, where the whole matrix would take 144,000


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


def test_tasks_may_have_tasks_and_children_threads_of_their_own():
    """Neither waits for ever: threads that wait for each other, or that a fork left behind."""
    code = """
import os
from mercer.threads import ordered_map
def outer(i):
    return sum(ordered_map(lambda j: i * j, range(5), 2))
assert list(ordered_map(outer, range(6), 2)) == [10 * i for i in range(6)]
if hasattr(os, "fork"):
    child = os.fork()
    if not child:
        os._exit(list(ordered_map(outer, range(3), 2)) != [0, 10, 20])
    assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


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
    assert Place(given).budget() == wanted


@pytest.mark.parametrize("given", ["lots", "4XB", "", 0, -5, "0GB"])
def test_budgets_that_are_none_are_named(given):
    with pytest.raises(ValueError, match="memory="):
        Place(given).budget()


def test_the_default_is_half_of_what_is_free(monkeypatch):
    monkeypatch.setattr(place, "available_memory", lambda: 10_000)
    assert Place().budget() == 5000


@pytest.mark.parametrize(
    ("line", "limit", "used"),
    [
        ("0::/", "memory.max", "memory.current"),
        ("0::/user.slice/job", "user.slice/job/memory.max", "user.slice/job/memory.current"),
        ("0::/user.slice/job", "user.slice/memory.max", "user.slice/memory.current"),
        ("4:cpu,memory:/box", "memory/box/memory.limit_in_bytes",
         "memory/box/memory.usage_in_bytes"),
    ],
)  # fmt: skip
def test_a_container_limits_what_is_free(tmp_path, monkeypatch, line, limit, used):
    """The cgroup of the process, and those that it lies in."""
    files = {"/proc/self/cgroup": tmp_path / "lines"}
    for name in (limit, used):
        files[f"/sys/fs/cgroup/{name}"] = tmp_path / name.replace("/", "-")
    for file, text in zip(files.values(), (f"9:pids:/x\n{line}\n", "3000\n", "1000\n")):
        file.write_text(text)
    read = place.Path.read_text
    monkeypatch.setattr(place.Path, "read_text", lambda p: read(files.get(str(p), p)))
    assert place.available_memory() == 2000
    files[f"/sys/fs/cgroup/{limit}"].write_text("max\n")
    assert place.available_memory() > 2000
    files[f"/sys/fs/cgroup/{limit}"].write_text("500\n")
    assert place.available_memory() == 0
    stat = tmp_path / "stat"
    stat.write_text("anon 7\ninactive_file 600\n")
    files[f"/sys/fs/cgroup/{limit.rpartition('/')[0]}/memory.stat".replace("//", "/")] = stat
    assert place.available_memory() == 100


def test_no_columns():
    """A machine without support vectors predicts: sums of nothing are 0."""
    for kernel in (RBF(0.5), Linear(), QUERY):
        K = gram(kernel, X64, X64[:0])
        assert_array_equal(K @ np.empty((0, 2)), np.zeros((len(X64), 2)))
        assert_array_equal(K @ np.empty(0), np.zeros(len(X64)))


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Precomputed()], ids=repr)
def test_no_threads_are_refused(kernel):
    with pytest.raises(ValueError, match="n_jobs=0"):
        gram(
            kernel,
            MatrixRows.of(K64) if kernel.kind == "precomputed" else X64,
            place=Place(n_jobs=0),
        )


def test_a_wide_product_of_many_threads_needs_little_beside_its_result():
    K = TiledGram(Linear(), vectors(6000), place=Place(n_jobs=8))
    V = RNG.normal(size=(6000, 600))
    assert_allclose(K @ V, K.X @ (K.X.T @ V), atol=1e-9)
    tracemalloc.start()
    K @ V
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * V.nbytes  # eight threads with sums for all columns take more
