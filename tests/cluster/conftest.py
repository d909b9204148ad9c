"""A cluster of two workers, which are processes, for the tests of this folder that need one."""

from contextlib import suppress

import pytest


def started(**settings):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, **settings
    )
    return Client(cluster, set_as_default=False)


def shut_down(client):
    """Close the cluster and its client, whatever state their workers are in.

    Dask's cluster asks for the name of a worker that it may have forgotten already (KeyError in
    ``_update_worker_status``), and asserts that none is just being started again.
    """
    with suppress(KeyError, AssertionError):
        client.cluster.close()
    client.close()


@pytest.fixture(scope="session")
def client():
    client = started()
    yield client
    shut_down(client)


@pytest.fixture(scope="session")
def processes():
    from cluster.processes import ProcessEngine

    engine = ProcessEngine()
    yield engine
    engine.pool.shutdown()
