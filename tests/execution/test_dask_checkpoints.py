"""A fit on workers goes on from its checkpoint; images are computed afresh, so that it is the same up to rounding."""

import numpy as np
import pytest
import scipy.sparse

from gramian import PSDRegressor
from gramian.execution import Dask

from helpers import regression

array = pytest.importorskip("dask.array")
delayed = pytest.importorskip("dask").delayed


class Stop(Exception):
    """Raised by a callback, as a power cut would."""


def stop_at_three(record):
    if record.iteration == 3:
        raise Stop


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_blocks_that_differ_in_one_entry_are_refused(rng, client, tmp_path, form):
    X = (rng.random((200, 6)) < 0.5).astype(float)
    y, path = X[:, 0] + rng.random(200), tmp_path / "state.npz"
    model = PSDRegressor(2, n_jobs=Dask(client), tol=1e-10, random_state=0, checkpoint=path, callback=stop_at_three)
    with pytest.raises(Stop):
        model.fit([delayed(form)(X[:100]), delayed(form)(X[100:])], y)
    X[150, 3] = 1 - X[150, 3]
    with pytest.raises(ValueError, match=r"another fit: data\.X was 'BlockedFeatures float64 \(200, 6\) \w+' and is"):
        model.fit([delayed(form)(X[:100]), delayed(form)(X[100:])], y)


def test_a_fit_on_workers_is_resumed(rng, client, tmp_path):
    X, y, _, _ = regression(rng, 200, 5, 2)
    y, path = y + 0.3 * rng.standard_normal(200), tmp_path / "state.npz"
    blocks = array.from_array(X, chunks=(50, 5))
    model = PSDRegressor(2, n_jobs=Dask(client), tol=1e-10, random_state=0, checkpoint=path, callback=stop_at_three)
    with pytest.raises(Stop):
        model.fit(blocks, y)
    with pytest.raises(ValueError, match=r"another fit: data\.X was 'BlockedFeatures float64 \(200, 5\)"):
        model.fit(array.from_array(2 * X, chunks=(50, 5)), y)
    records = []
    model.set_params(callback=records.append).fit(blocks, y)
    assert records[0].iteration == 3
    assert not path.exists()
    whole = PSDRegressor(2, n_jobs=Dask(client), tol=1e-10, random_state=0).fit(blocks, y)
    np.testing.assert_allclose(model.matrix(), whole.matrix(), rtol=1e-6, atol=1e-8)
