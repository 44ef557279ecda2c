"""Every estimator and baseline says in `message_` why its fit ended."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gramian import baselines, estimators

SETTINGS = {"SStressMDS": {"metric": "euclidean"}, "MaximumVarianceUnfolding": {"n_neighbors": 4}}
PUBLIC = {name: getattr(package, name) for package in (estimators, baselines) for name in package.__all__}
KINDS = {name: kind for name, kind in PUBLIC.items() if issubclass(kind, BaseEstimator)}
EXPECTED = {
    "SubspaceTracker": "n_epochs=3 passes done",
    "MaximumVarianceUnfolding": "optimal",
    "KernelSpectralRegression": "solved in closed form",
    "LEGO": "n_epochs=1 done",
    "POLA": "n_epochs=1 done",
}


@pytest.fixture
def data(rng):
    """Return samples (24, 4) and labels of two overlapping classes."""
    y = np.repeat([0, 1], 12)
    return rng.standard_normal((24, 4)) + y[:, None], y


def make_model(name):
    """Return an unfitted estimator with a fixed seed, if it has one."""
    model = KINDS[name](**SETTINGS.get(name, {}))
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_fit_has_a_message(name, data):
    if name == "MaximumVarianceUnfolding":
        pytest.importorskip("cvxpy")
    X, y = data
    model = make_model(name)
    assert not hasattr(model, "message_")
    model.fit(X, y.astype(float) if name == "PSDRegressor" else y)
    assert isinstance(model.message_, str)
    assert model.message_
    # A programme may also be "optimal_inaccurate".
    assert model.message_.startswith(EXPECTED.get(name, ""))
    assert "message_ : str" in type(model).__doc__


@pytest.mark.parametrize("name", [name for name in KINDS if "max_iter" in make_model(name).get_params()])
def test_a_fit_that_is_stopped_by_max_iter_says_so(name, data):
    X, y = data
    model = make_model(name).set_params(max_iter=1, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y.astype(float) if name == "PSDRegressor" else y)
    assert "max_iter=1" in model.message_


def test_advice_names_features_only_where_there_are_any(data):
    X, y = data
    kernel = X @ X.T
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    stopped = {"max_iter": 1, "tol": 0.0}
    for model, inputs, has_features in (
        (estimators.PSDRegressor(**stopped, random_state=0), (X, y.astype(float)), True),
        (estimators.KernelLearner(**stopped, random_state=0), (X, y), True),
        (estimators.KernelLearner(kernel="precomputed", **stopped, random_state=0), (kernel, y), False),
        (estimators.SStressMDS(**stopped, random_state=0), (distances,), False),
        (estimators.SStressMDS(metric="euclidean", **stopped, random_state=0), (X,), False),
    ):
        with pytest.warns(ConvergenceWarning, match="Raise max_iter or tol") as caught:
            model.fit(*inputs)
        assert ("features of X" in str(caught[0].message)) is has_features


@pytest.mark.parametrize("random_state", ["abc", -1, 1.5, 2**32])
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if "random_state" in kind().get_params()])
def test_a_random_state_that_is_none_is_named(name, random_state, data):
    X, y = data
    arguments = (X,) if name in ("SStressMDS", "SubspaceTracker") else (X, y)
    model = make_model(name).set_params(random_state=random_state)
    with pytest.raises(ValueError, match=rf"random_state={random_state!r} is not valid. Give an integer"):
        model.fit(*arguments)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if "random_state" in kind().get_params()])
@pytest.mark.filterwarnings("ignore")
def test_generators_are_taken_as_random_states(name, data):
    X, y = data
    arguments = (X,) if name in ("SStressMDS", "SubspaceTracker") else (X, y)
    model = make_model(name).set_params(random_state=np.random.default_rng(0))
    assert hasattr(model.fit(*arguments), "message_")
