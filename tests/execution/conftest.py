"""One Dask cluster of two processes for all tests that need one."""

import pytest


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'gramian[dask]'")
    options = {"dashboard_address": None, "silence_logs": "CRITICAL"}
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options)
    with cluster, distributed.Client(cluster) as client:
        yield client
