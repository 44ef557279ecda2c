"""Numbers that are rather targets than classes: `fit` warns of them, once, in words of its own."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from gramian import MetricLearner

SAID = r"y has \d+ different numbers in \d+ samples, and each of them is taken as a class"


def make_learner():
    return MetricLearner(1, constraints="triplets", max_iter=1, random_state=0)


def warnings_of(X, y):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        make_learner().fit(X, y)
    return [str(each.message) for each in seen if "not converged" not in str(each.message)]


def test_targets_of_a_regression_are_warned_of():
    X, y = load_diabetes(return_X_y=True)
    for targets in (y, y.tolist()):
        (text,) = warnings_of(X, targets)
        assert "fit_targets(X, y)" in text
    assert warnings_of(X, y.astype(str)) == []


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.arange(100) // 2 + (np.arange(100) == 99), 1),
        (np.arange(100) // 2, 0),
        (np.arange(100) // 2.0, 1),
        (np.arange(100) // 4.0, 0),
        (np.arange(30) // 1.5 // 1, 0),
    ],
    ids=["more than half, integers", "half, integers", "half, floats", "a quarter, floats", "few"],
)
def test_what_is_taken_for_targets(y, expected, rng):
    found = warnings_of(rng.standard_normal((len(y), 2)), y)
    assert len(found) == expected
    assert all("is taken as a class" in text for text in found)


def test_the_warning_comes_before_the_fit(rng):
    learner = make_learner()
    with pytest.raises(UserWarning, match=SAID):
        learner.fit(rng.standard_normal((100, 2)), np.arange(100) // 2.0)
    assert not hasattr(learner, "components_")
