"""One Dask cluster of two processes for all tests that need one."""

import pytest

MISSING = "dask is not installed: pip install 'gramian[dask]'"


@pytest.fixture(scope="session")
def client():
    dask = pytest.importorskip("dask", reason=MISSING)
    distributed = pytest.importorskip("distributed", reason=MISSING)
    options = {"dashboard_address": ":0", "silence_logs": "CRITICAL"}
    # A busy machine may take long to start processes. But a worker that calls one that died waits as long.
    dask.config.set({"distributed.comm.timeouts.connect": "45s"})
    # And a local cluster gives a worker up that takes longer than 15 s to come back.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options)
    with cluster, distributed.Client(cluster) as client:
        yield client
