import os

import numpy as np
import pytest

# No test waits for a network: sets that are not at hand are skipped.
os.environ["GRAMIAN_OFFLINE"] = "1"


@pytest.fixture
def rng():
    return np.random.default_rng(20111)


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return np.dtype(request.param)
