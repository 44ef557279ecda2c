"""Messages about invalid arguments name all that is valid, and what to do."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from gramian import KernelLearner, MetricLearner, PSDRegressor, SStressMDS
from gramian.baselines import ITML


@pytest.fixture
def data(rng):
    """Return samples (30, 4) and labels of two classes."""
    return rng.standard_normal((30, 4)), np.arange(30) % 2


TRIPLETS = {"constraints": "triplets", "random_state": 0}
NUMBERS = {
    "an integer of at least 1, None or 'auto'": (PSDRegressor("many"), KernelLearner("many")),
    "an integer of at least 1 or 'auto'": (SStressMDS("many", metric="euclidean"),),
    "an integer of at least 1 or None": (
        MetricLearner("many"),
        MetricLearner(2, n_constraints="x"),
        ITML(n_constraints="x"),
    ),
    "a number of at least 0 or 'auto'": (
        KernelLearner(2, ridge="some"),
        MetricLearner(2, shrinkage="some"),
        MetricLearner(2, pull=-1.0),
    ),
    "a number above 0 or None": (KernelLearner(2, kernel="rbf", gamma=-1.0),),
    "a number above 0": (KernelLearner(2, kernel="poly", degree=0),),
    "a number, or None. MetricLearnerCV chooses one": (MetricLearner("auto"),),
}


@pytest.mark.parametrize(("words", "model"), [(words, model) for words, models in NUMBERS.items() for model in models])
def test_a_message_names_every_kind_of_value_that_is_valid(words, model, data):
    with pytest.raises(ValueError, match=rf" is not valid\. Choose {words}\.$"):
        model.fit(*data)


def test_an_unknown_loss_is_answered_by_those_that_are_taken(data):
    with pytest.raises(ValueError, match=r"^loss='hingee' is unknown") as caught:
        MetricLearner(2, loss="hingee", **TRIPLETS).fit(*data)
    assert "'hinge'" in str(caught.value)
    assert "'linear'" not in str(caught.value)


def test_a_stream_of_one_class_says_that_its_samples_are_kept(data):
    X, y = data
    model = MetricLearner(2, **TRIPLETS).partial_fit(X[y == 0], y[y == 0])
    with pytest.raises(NotFittedError, match=r"^This MetricLearner has learned nothing yet\. It keeps the 15 samples"):
        model.transform(X)
    assert model.partial_fit(X[y == 1], y[y == 1]).transform(X).shape == (30, 2)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        MetricLearner(2).transform(X)


def test_signs_of_triplets_are_not_taken_as_weights(data):
    with pytest.raises(ValueError, match="exchange near and far where the sign is -1"):
        MetricLearner(1).fit_triplets(data[0], [[0, 1, 2], [3, 4, 5]], [1, -1])


def test_weights_are_counted_in_what_they_weigh(data):
    X = data[0]
    with pytest.raises(ValueError, match=r"expected \(2,\), one for each pair"):
        MetricLearner(1).fit_pairs(X, [[0, 1], [2, 3]], [1, -1], sample_weight=[1.0])
    with pytest.raises(ValueError, match=r"expected \(2,\), one for each triplet"):
        MetricLearner(1).fit_triplets(X, [[0, 1, 2], [3, 4, 5]], sample_weight=[1.0])


@pytest.mark.parametrize("order", [1, -1])
def test_both_of_two_contradictory_pairs_are_named(order, data):
    pairs, target, sense = [[2, 3], [0, 1], [1, 0]][::order], [9.0, 1.0, 4.0][::order], [-1, -1, 1][::order]
    first = {1: r"pairs\[1\] = \(0, 1\) .* pairs\[2\], of the same samples: at most 1, against at least 4"}
    first[-1] = r"pairs\[0\] = \(1, 0\) .* pairs\[1\], of the same samples: at least 4, against at most 1"
    with pytest.raises(ValueError, match=first[order]):
        MetricLearner(1).fit_pairs(data[0], pairs, target=target, sense=sense)


def test_distances_in_place_of_a_kernel_are_told_where_they_belong(data):
    X, y = data
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    with pytest.raises(ValueError, match="SStressMDS takes them"):
        KernelLearner(2, kernel="precomputed").fit(distances, y)
