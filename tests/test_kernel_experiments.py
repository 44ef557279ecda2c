"""What the experiments on kernels share: who is learned from and who is judged, and how scores are compared."""

import numpy as np
import pytest
from experiments import gyrb
from experiments.kernel_learning import (
    FIXED,
    FLAT,
    HELD_OUT,
    KSR,
    METHODS,
    PCA,
    TRANSDUCTIVE,
    against_prototype,
    lead,
    listed,
    mean,
    measured,
    split,
    unsupervised,
)
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import linear_kernel


@pytest.fixture
def clusters(rng):
    y = np.repeat([0, 1], 30)
    return rng.standard_normal((60, 5)) + 4 * y[:, None], y


def row(method, pairs, score, seed=0):
    return {"method": method, "pairs": pairs, "score": score, "seed": seed}


def test_the_paper_judges_the_samples_learned_from(clusters):
    task = split(*clusters, linear_kernel, TRANSDUCTIVE, 0)
    assert task.rows is None
    assert task.labels is task.y
    assert np.allclose(np.trace(task.K), clusters[0].size)


def test_held_out_samples_are_a_half_that_nothing_is_learned_from(clusters):
    task = split(*clusters, linear_kernel, HELD_OUT, 0)
    assert task.K.shape == task.rows.shape == (30, 30)
    assert np.bincount(task.y).tolist() == np.bincount(task.labels).tolist() == [15, 15]
    # Standardised by the half learned from: its kernel has the trace of the correlation matrix, the other has not.
    assert np.allclose(np.trace(task.K), 30 * 5)
    assert not np.allclose(task.rows, task.K)


@pytest.mark.parametrize("protocol", [TRANSDUCTIVE, HELD_OUT])
@pytest.mark.parametrize("method", METHODS)
def test_methods_find_clusters_from_one_decomposition(method, protocol, clusters, monkeypatch):
    task = split(*clusters, linear_kernel, protocol, 0)
    monkeypatch.setattr("gramian.estimators.given_kernel.decomposed", forbidden)
    found = measured(task, method, 2, 200, 0.25, 0)
    assert found["score"] > 0.9
    assert (found["rank"], found["pairs"], found["seconds"] > 0) == (2, 200, True)


def forbidden(*arguments, **settings):
    raise AssertionError("decomposed once more")


def test_kernel_pca_is_that_of_scikit_learn(clusters):
    task = split(*clusters, linear_kernel, HELD_OUT, 0)
    theirs = KernelPCA(2, kernel="precomputed").fit(task.K).transform(task.rows)
    roots, vectors = np.sqrt(task.given.values[:2]), task.given.vectors[:, :2]
    ours = task.given.centerer.transform(task.rows) @ (vectors / roots)
    assert np.allclose(np.abs(ours), np.abs(theirs))
    assert unsupervised(task, 2, 0)["score"] > 0.9


def test_means_and_leads():
    records = [row(FLAT, 10, 0.5), row(FLAT, 10, 0.7, 1), row(FLAT, 20, 1.0), row(PCA, 0, 0.4), row(KSR, 20, 0.8)]
    assert mean(records, FLAT, pairs=10) == pytest.approx(0.6)
    assert mean(records, PCA, pairs=20) == 0.4
    assert np.isnan(mean(records, KSR, pairs=10))
    assert lead(records, (FLAT,), (KSR, PCA), pairs=20) == pytest.approx(0.2)
    assert lead(records, (FLAT,), (KSR, PCA), pairs=10) == pytest.approx(0.2)
    assert listed(records, (FLAT, FIXED), pairs=20) == "flat 1.00"


@pytest.mark.parametrize(
    ("expected", "status"),
    [
        ({(FLAT, 10): 0.62}, "holds"),
        ({(FLAT, 10): 0.62, (KSR, 10): 0.9}, "holds in part"),
        ({(FLAT, 10): 0.7}, "does not hold"),
        ({(FLAT, 20): 0.7}, "holds in part"),
    ],
)
def test_scores_against_a_prototype(expected, status):
    records = [row(FLAT, 10, 0.55), row(FLAT, 10, 0.65, 1), row(KSR, 10, 0.5)]
    verdict = against_prototype(records, expected)
    assert verdict.status == status
    assert ("graph" in verdict.why) == ((KSR, 10) in expected)


def test_distances_of_samples_without_pairs_are_seen_to_stay():
    Z = np.eye(5)
    assert gyrb.left_alone(Z, np.array([[0, 1]])) == {"untouched": 3, "moved": pytest.approx(0, abs=1e-12)}
    Z[4] *= 2
    assert gyrb.left_alone(Z, np.array([[0, 1]]))["moved"] == pytest.approx(3)
    assert gyrb.left_alone(Z, np.array([[0, 1], [2, 3]])) == {"untouched": 1, "moved": None}
