"""The table of README that compares libraries: what it says of Gramian is done, and names that it has exist."""

import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.manifold import MDS
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import MetricLearner, MetricLearnerCV, PSDRegressor, SStressMDS, SubspaceTracker, baselines

README = (Path(__file__).parent.parent / "README.md").read_text()


def read_table(heading):
    """Return the first table below a heading: a list of cells for each row, the headings first."""
    lines = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [rows[0], *rows[2:]]


TITLES, *ROWS = read_table("Beside other libraries")
OURS = {row[0]: row[TITLES.index("Gramian")] for row in ROWS}
SKLEARN = {row[0]: row[TITLES.index("scikit-learn")] for row in ROWS}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    return X, (X[:, 0] > 0).astype(int), rng


def pairs_of(labels):
    """Return 30 pairs of samples that have no sample in common, and their signs."""
    pairs = np.arange(60).reshape(30, 2)
    return pairs, np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1)


def learn_from_labels(X, y, rank):
    yield MetricLearner(rank, constraints="triplets", random_state=0).fit(X, y)


def learn_from_tuples(X, y, rank):
    yield MetricLearner(rank, random_state=0).fit_pairs(X, *pairs_of(y))
    yield MetricLearner(rank, random_state=0).fit_triplets(X, np.arange(60).reshape(20, 3))
    yield MetricLearner(rank, random_state=0).fit_quadruplets(X, np.arange(60).reshape(15, 4))


def learn_from_targets(X, y, rank):
    yield MetricLearner(rank, random_state=0).fit_targets(X, np.sin(X[:, 0]))


LEARNERS = {
    "a distance from class labels": learn_from_labels,
    "from pairs, triplets, quadruplets": learn_from_tuples,
    "from continuous targets (MLKR)": learn_from_targets,
}


def check_distance(claim, data):
    X, y, _ = data
    for learner in LEARNERS[claim](X, y, None):
        distances = learner.pair_distance(X, [[0, 1], [2, 3]])
        assert distances.shape == (2,)
        assert (distances > 0).all()


def check_pairs(claim, data):
    check_distance(claim, data)
    judge = next(learn_from_tuples(*data[:2], None))
    assert judge.threshold_ > 0
    assert set(judge.predict(data[0], [[0, 1], [2, 3], [4, 5]])) <= {-1, 1}


def check_low_rank(claim, data):
    for learn in LEARNERS.values():
        for learner in learn(*data[:2], 1):
            assert np.linalg.matrix_rank(learner.get_mahalanobis_matrix()) == 1


def quadratic(data, rank):
    """Return samples, and targets xᵀWx with W of some rank."""
    _, _, rng = data
    X, truth = rng.standard_normal((200, 5)), rng.standard_normal((5, rank))
    return X, np.sum((X @ truth) ** 2, axis=1), truth @ truth.T


def check_rank(claim, data):
    X, y, _ = data
    search = MetricLearnerCV([1, 2], estimator=MetricLearner(constraints="triplets"), cv=2, random_state=0).fit(X, y)
    assert search.n_components_ in (1, 2)
    samples, targets, _ = quadratic(data, 2)
    assert PSDRegressor("auto", random_state=0).fit(samples, targets).rank_ == 2


def check_regression(claim, data):
    X, y, W = quadratic(data, 2)
    np.testing.assert_allclose(PSDRegressor(2, random_state=0).fit(X, y).matrix(), W, atol=1e-2)


def check_maps(claim, data):
    _, _, rng = data
    points = rng.random((30, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    unknown = np.triu(rng.random((30, 30)) < 0.3, 1)
    distances[unknown | unknown.T] = np.nan
    assert SStressMDS(2).fit(distances).stress_ < 1e-3


def check_sparse(claim, data):
    _, _, rng = data
    samples = sparse.csr_array(np.where(rng.random((5000, 8)) < 0.3, rng.random((5000, 8)), 0))
    y = (np.arange(5000) % 2).astype(int)
    with pytest.MonkeyPatch.context() as patch:
        for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix):
            patch.setattr(kind, "toarray", refuse_whole(kind.toarray, samples.shape))
        with pytest.raises(AssertionError, match="made dense"):
            samples.toarray()
        learner = MetricLearner(2, constraints="triplets", n_rounds=1, random_state=0).fit(samples, y)
        assert learner.transform(samples).shape == (5000, 2)
        assert PSDRegressor(2, random_state=0).fit(samples, samples.sum(axis=1) ** 2).predict(samples).shape == (5000,)


def refuse_whole(toarray, shape):
    """Return the method that makes a matrix dense, but fails if the matrix is as large as a shape."""

    def refusing(self, *values, **options):
        assert np.prod(self.shape) < np.prod(shape), "the samples were made dense"
        return toarray(self, *values, **options)

    return refusing


def check_streams(claim, data):
    X, y, rng = data
    online = PSDRegressor(2, solver="online", random_state=0)
    learner, tracker = MetricLearner(2, constraints="triplets", random_state=0), SubspaceTracker(2, random_state=0)
    for part in np.array_split(rng.permutation(60), 2):
        learner.partial_fit(X[part], y[part])
        online.partial_fit(X[part], X[part, 0] ** 2)
        tracker.partial_fit(X[part])
    assert learner.n_seen_ == 60
    assert hasattr(SStressMDS, "partial_fit")


def check_weights(claim, data):
    X, y, _ = data
    pairs, signs = pairs_of(y)
    learner, weight = MetricLearner(2, constraints="triplets", random_state=0), np.linspace(0.1, 1, 60)
    plain, weighted = (learner.fit(X, y, sample_weight=w).get_mahalanobis_matrix() for w in (None, weight))
    assert not np.allclose(plain, weighted)
    plain, weighted = (
        learner.fit_pairs(X, pairs, signs, sample_weight=w).get_mahalanobis_matrix() for w in (None, weight[:30])
    )
    assert not np.allclose(plain, weighted)


def check_scikit_learn(claim, data):
    X, y, _ = data
    pipeline = make_pipeline(
        StandardScaler(), MetricLearner(constraints="triplets", random_state=0), KNeighborsClassifier()
    )
    search = GridSearchCV(pipeline, {"metriclearner__n_components": [1, 2]}, cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def check_algorithms(claim, data):
    assert OURS[claim].split(", ")
    for name in OURS[claim].split(", "):
        assert hasattr(getattr(baselines, name), "fit"), name


CHECKS = {
    "a distance from class labels": check_distance,
    "from pairs, triplets, quadruplets": check_pairs,
    "from continuous targets (MLKR)": check_distance,
    "low rank in all of these": check_low_rank,
    "the rank found or cross-validated": check_rank,
    "regression `y = xᵀWx`": check_regression,
    "maps from incomplete distances": check_maps,
    "sparse samples": check_sparse,
    "streams (`partial_fit`)": check_streams,
    "weights of samples and pairs": check_weights,
    "pipelines, grid search, pickle": check_scikit_learn,
    "more algorithms of metric learning": check_algorithms,
}


def test_every_claim_has_a_check():
    claimed = {claim for claim, cell in OURS.items() if cell != "no"}
    assert claimed == set(CHECKS)
    assert all(OURS[claim].startswith("yes") for claim in claimed - {"more algorithms of metric learning"})


@pytest.mark.parametrize("claim", CHECKS)
def test_gramian_does_what_the_table_says(claim, data):
    CHECKS[claim](claim, data)


def test_what_the_table_says_of_scikit_learn(data):
    X, y, _ = data
    assert {SKLEARN[claim] for claim in ("sparse samples", "weights of samples and pairs")} == {"not in NCA"}
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        NeighborhoodComponentsAnalysis().fit(sparse.csr_array(X), y)
    assert "sample_weight" not in inspect.signature(NeighborhoodComponentsAnalysis.fit).parameters
    assert SKLEARN["streams (`partial_fit`)"] == "not in NCA or MDS"
    assert not hasattr(NeighborhoodComponentsAnalysis, "partial_fit")
    assert not hasattr(MDS, "partial_fit")
    assert "n_components" in NeighborhoodComponentsAnalysis().get_params()


def test_names_in_the_table_of_uses_exist():
    titles, *rows = read_table("In ten lines")
    names = [name for row in rows for name in re.findall(r"`(\w+)(?:\(\)\.(\w+))?`", row[titles.index("use")])]
    assert len(names) >= 8
    for estimator, method in names:
        if estimator == "gramian":  # the command
            continue
        assert estimator in gramian.__all__
        assert not method or callable(getattr(getattr(gramian, estimator), method))
