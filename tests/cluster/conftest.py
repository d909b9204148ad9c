"""A cluster of two workers, which are processes, for the tests of this folder that need one."""

import pytest


def started(**settings):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, **settings
    )
    return Client(cluster, set_as_default=False)


@pytest.fixture(scope="session")
def client():
    client = started()
    yield client
    client.cluster.close()
    client.close()


@pytest.fixture(scope="session")
def processes():
    from cluster.processes import ProcessEngine

    engine = ProcessEngine()
    yield engine
    engine.pool.shutdown()
