"""Workers that are killed, and clusters that go away."""

import os
import signal
import threading
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from cluster.conftest import shut_down, started
from learners.test_signals import Clock
from mercer import AdditiveRegressor, KernelRidge
from mercer.distributed import ClusterLostError, DaskEngine, Distributed, Partition

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (800, 3))
y = np.sin(3 * X[:, 0]) + X[:, 1]
ADDITIVE = AdditiveRegressor(pairs=0, gamma=1.0)
EXACT = KernelRidge(0.1, kernel="rbf", solver="conjugate_gradient", tol=1e-11, random_state=0)


def rows_that_kill(folder, times):
    """Blocks of X that a task makes; the worker of block 2 dies in the middle, so many times."""

    def block(i):
        import os
        import signal
        from pathlib import Path

        import numpy as np

        flags = [Path(folder) / str(k) for k in range(times)]
        left = [flag for flag in flags if not flag.exists()]
        if i == 2 and left:
            left[0].touch()
            os.kill(os.getpid(), signal.SIGKILL)
        rng = np.random.default_rng(0)
        return rng.uniform(-1, 1, (800, 3))[200 * i : 200 * i + 200]

    made = [da.from_delayed(dask.delayed(block)(i), (200, 3), float) for i in range(4)]
    return da.concatenate(made)


def targets():
    return da.from_array(y, chunks=200)


@pytest.mark.full
def test_a_killed_worker_changes_no_count(tmp_path):
    client = started()
    try:
        model = Distributed(ADDITIVE, client).fit(rows_that_kill(tmp_path, 1), targets())
        assert (tmp_path / "0").exists()
        whole = clone(ADDITIVE).fit(X, y)
        for one, other in zip(model.to_local().shapes_, whole.shapes_, strict=True):
            assert_array_equal(one.counts, other.counts)
        assert_allclose(model.to_local().predict(X), whole.predict(X), atol=1e-9)
    finally:
        shut_down(client)


@pytest.mark.full
def test_workers_need_memory_for_a_few_partitions():
    """A table of 320 MB, in partitions of 13 MB that tasks make."""
    pytest.importorskip("resource")

    def most():
        import resource

        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def block(i):
        import numpy as np

        return np.random.default_rng(i).uniform(-1, 1, (400_000, 4))

    parts = [da.from_delayed(dask.delayed(block)(i), (400_000, 4), float) for i in range(25)]
    table = da.concatenate(parts)
    client = started()
    try:
        Distributed(ADDITIVE, client).fit(table[:800_000], table[:800_000, 0])
        before = client.run(most)
        Distributed(ADDITIVE, client).fit(table, table[:, 0])
        for address, after in client.run(most).items():
            assert after - before[address] < 100e6, (before, after)
    finally:
        shut_down(client)


@pytest.mark.full
def test_what_was_sent_is_sent_again():
    """Both workers die, and with them what was broadcast and what was kept."""
    client = started()
    try:
        engine = DaskEngine(client)
        shared = engine.broadcast(np.arange(3.0))
        parts = engine.put([lambda i=i: Partition(i, np.full(3, i)) for i in range(4)])

        def total(part, values):
            return (part.X * values).sum()

        def add(a, b):
            return a + b

        kept = engine.keep(engine.map(total, parts, shared))

        def work():
            found = engine.reduce(add, engine.map(total, parts, shared))
            assert engine.reduce(add, kept) == found
            return found

        assert work() == 18
        for worker in list(client.cluster.workers.values()):
            os.kill(worker.pid, signal.SIGKILL)
        assert work() == 18
    finally:
        shut_down(client)


@pytest.mark.full
def test_a_cluster_that_goes_away():
    client = started()

    def slow(i):
        import time

        import numpy as np

        time.sleep(1)
        return np.zeros((5, 3))

    made = [da.from_delayed(dask.delayed(slow)(i), (5, 3), float) for i in range(20)]
    model = Distributed(ADDITIVE, client)
    closing = threading.Timer(1.5, shut_down, [client])
    closing.start()
    with pytest.raises(ClusterLostError, match="has gone away"):
        model.fit(da.concatenate(made), da.zeros(100, chunks=5))
    assert not hasattr(model, "estimator_")
    closing.join()
    with pytest.raises(ClusterLostError, match="connect a new client"):
        model.fit(X, y)


@pytest.mark.full
def test_a_task_that_ends_each_worker(tmp_path):
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        client = started()
    try:
        model = Distributed(ADDITIVE, client)
        with pytest.raises(ClusterLostError, match=r"for want of memory: give smaller partitions"):
            model.fit(rows_that_kill(tmp_path, 9), targets())
        for path in tmp_path.iterdir():
            path.unlink()  # what counts the kills
        assert model.fit(X, y).predict(X[:3]).shape == (3,)  # with the same client
    finally:
        shut_down(client)


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="Windows has no os.kill of one signal")
def test_a_signal_to_the_client_leaves_the_cluster_usable(client):
    """Ctrl-C while the workers make rows, and again while they compute with them."""

    def slow(i):
        import time

        import numpy as np

        time.sleep(0.5)
        return np.ones((300, 3)) * np.arange(300)[:, None]

    made = [da.from_delayed(dask.delayed(slow)(i), (300, 3), float) for i in range(8)]
    cut = 0
    for seconds in (0.3, 1.0, 1.8):
        model = Distributed(ADDITIVE, client)
        work = partial(model.fit, da.concatenate(made), da.zeros(2400, chunks=300))
        if Clock().cuts(work, seconds):
            cut += 1
            assert not hasattr(model, "estimator_")
        assert model.fit(X, y).predict(X[:3]).shape == (3,)
    assert cut


def test_the_current_client_is_used():
    """In this process, as a quick test of all verbs."""
    from distributed import Client

    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0", silence_logs=50
    ) as client:
        seen = []
        scatter = client.scatter
        client.scatter = lambda *args, **named: seen.append(1) or scatter(*args, **named)
        for learner in (ADDITIVE, EXACT):
            model = Distributed(learner).fit(da.from_array(X, chunks=(300, 3)), y)
            assert seen
            seen.clear()
            whole = clone(learner).fit(X, y)
            assert_allclose(model.to_local().predict(X), whole.predict(X), atol=1e-8)
            found = model.predict(da.from_array(X, chunks=(300, 3))).compute()
            assert_allclose(found, whole.predict(X), atol=1e-8)
            assert clone(model).client is None
        with pytest.raises(ValueError, match="no partitions"):
            DaskEngine(client).reduce(max, [])
