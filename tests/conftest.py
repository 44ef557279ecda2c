import os
import signal

import numpy as np
import pytest

MISSING = "dask is not installed: pip install 'gramian[dask]'"

# No test waits for a network: sets that are not at hand are skipped.
os.environ["GRAMIAN_OFFLINE"] = "1"
# A shell that runs the tests in the background ignores Ctrl-C, and so would all processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng():
    return np.random.default_rng(20111)


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture(scope="session")
def client():
    """One Dask cluster of two processes for all tests that need one."""
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
