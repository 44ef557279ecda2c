import os
import signal

import numpy as np
import pytest

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
