"""A part of a stream on another scale is warned of; honest streams are not."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gramian
from gramian import MetricLearner, PSDRegressor
from gramian.estimators._scale import Scale

pytestmark = pytest.mark.filterwarnings("ignore:not converged", "ignore:the cost rose")
SAID = "times as large as those of the stream before"


def make_parts(rng, sizes=(60, 60), factor=1.0):
    """Parts of samples of three classes; the last one is multiplied by a factor."""
    for index, n in enumerate(sizes):
        y = rng.permutation(np.arange(n) % 3)
        X = rng.standard_normal((n, 4)) + 2 * y[:, None]
        yield X * (factor if index == len(sizes) - 1 else 1.0), y


def learners():
    metric = MetricLearner(2, constraints="triplets", max_iter=3, random_state=0)
    return [metric, PSDRegressor(1, solver="online", random_state=0)]


@pytest.mark.parametrize("kind", [0, 1], ids=["metric", "regressor"])
@pytest.mark.parametrize("factor", [10.0, 1000.0, 0.001])
def test_a_part_on_another_scale_is_warned_of_once(kind, factor, rng):
    learner = learners()[kind]
    (X, y), (other, labels) = make_parts(rng, factor=factor)
    learner.partial_fit(X, y)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", UserWarning)
        learner.partial_fit(other, labels)
    assert sum(SAID in str(each.message) for each in seen) == 1


def test_a_stream_goes_on_from_a_fit_and_from_a_file(rng, tmp_path):
    (X, y), (other, labels) = make_parts(rng, factor=10)
    learner = learners()[0].fit(X, y)
    gramian.save(learner, tmp_path / "m.skops")
    with pytest.warns(UserWarning, match=SAID):
        gramian.load(tmp_path / "m.skops").partial_fit(other, labels)


def test_a_part_that_is_refused_by_the_warning_changes_nothing(rng):
    (X, y), (other, labels) = make_parts(rng, factor=10)
    learner = learners()[0].partial_fit(X, y)
    before = dict(vars(learner))
    with pytest.raises(UserWarning, match=SAID):
        learner.partial_fit(other, labels)
    assert vars(learner) == before


@pytest.mark.parametrize("kind", [0, 1], ids=["metric", "regressor"])
def test_small_parts_are_not_warned_of(kind, rng):
    learner = learners()[kind]
    for X, y in make_parts(rng, sizes=(60, 6, 19), factor=10):
        learner.partial_fit(X, y)


def test_sparse_parts(rng):
    (X, y), (other, labels) = make_parts(rng, factor=10)
    learner = learners()[0].partial_fit(scipy.sparse.csr_matrix(X), y)
    with pytest.warns(UserWarning, match=SAID):
        learner.partial_fit(scipy.sparse.csr_matrix(other), labels)


def honest_streams(rng):
    """Samples whose parts differ only by chance: heavy tails, rare categories, rare words, few features."""
    n = 4000
    yield "heavy tails", rng.lognormal(0, 1.5, size=(n, 3))
    yield "one feature", rng.standard_normal((n, 1))
    categories = rng.zipf(1.5, size=(n, 2)).clip(max=200)
    yield "categories", StandardScaler().fit_transform(OneHotEncoder(sparse_output=False).fit_transform(categories))
    words = rng.poisson(1 / np.arange(1, 2000) ** 1.1, size=(n, 1999))
    yield "words", scipy.sparse.csr_matrix(words.astype(float))
    classes = np.repeat([0, 1, 2, 3], n // 4)
    yield "sorted by class", rng.standard_normal((n, 5)) + 3 * rng.standard_normal((4, 5))[classes]


def test_honest_parts_of_one_stream_have_one_scale(rng):
    for name, X in honest_streams(rng):
        seen = Scale.of(X[:20])
        for start in range(20, 4000, 20):
            part = Scale.of(X[start : start + 20])
            assert 1 / 5 <= part.ratio(seen) <= 5, (name, start)
            seen = seen.join(part)
