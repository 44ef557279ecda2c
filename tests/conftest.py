import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20111)


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return np.dtype(request.param)
