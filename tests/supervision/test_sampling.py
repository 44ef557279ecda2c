import numpy as np
import pytest

from gramian.supervision import labelled_pairs, nearest_triplets, random_pairs


def test_random_pairs_are_uniform_over_different_samples():
    pairs = random_pairs(5, 40000, random_state=0)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert (np.diff(pairs[:, 0]) >= 0).all()
    counts = np.zeros((5, 5))
    np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    assert counts[~np.eye(5, dtype=bool)] == pytest.approx(2000, rel=0.15)


def test_labelled_pairs_have_the_right_labels(rng):
    labels = rng.integers(4, size=60)
    for balanced in (False, True):
        pairs, same = labelled_pairs(labels, 500, balanced=balanced, random_state=1)
        assert pairs.shape == (500, 2)
        assert (pairs[:, 0] != pairs[:, 1]).all()
        np.testing.assert_array_equal(same, labels[pairs[:, 0]] == labels[pairs[:, 1]])
        again, _ = labelled_pairs(labels, 500, balanced=balanced, random_state=1)
        np.testing.assert_array_equal(pairs, again)
    assert same.sum() == 250


def test_balanced_pairs_are_uniform_over_each_kind():
    labels = np.array([0, 0, 0, 1, 1, 2])
    pairs, same = labelled_pairs(labels, 60000, balanced=True, random_state=0)
    for kind in (True, False):
        keys = np.sort(pairs[same == kind], axis=1) @ [10, 1]
        _, counts = np.unique(keys, return_counts=True)
        assert len(counts) == (4 if kind else 11)
        assert counts == pytest.approx(counts.mean(), rel=0.1)


@pytest.mark.parametrize(("labels", "message"), [([0, 0, 0], "all the same"), ([0, 1, 2], "single sample")])
def test_labels_without_pairs_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        labelled_pairs(labels, 4, balanced=True)
    with pytest.raises(ValueError, match="a pair needs at least 2 samples"):
        random_pairs(1, 3)


def test_triplets_are_the_nearest(rng):
    Z, labels = rng.standard_normal((40, 3)), rng.integers(3, size=40)
    triplets = nearest_triplets(Z, labels, n_targets=2, n_impostors=3)
    distance = np.linalg.norm(Z[:, None] - Z, axis=2)
    np.fill_diagonal(distance, np.inf)
    assert len(triplets) == 40 * 6
    assert (np.diff(triplets[:, 0]) >= 0).all()
    for anchor in range(40):
        rows = triplets[triplets[:, 0] == anchor]
        own, others = labels == labels[anchor], labels != labels[anchor]
        near = np.argsort(np.where(own, distance[anchor], np.inf))[:2]
        far = np.argsort(np.where(others, distance[anchor], np.inf))[:3]
        assert {tuple(r) for r in rows[:, 1:]} == {(a, b) for a in near for b in far}


def test_duplicates_are_not_their_own_targets():
    Z = np.array([[0.0], [0.0], [0.0], [0.0], [5.0]])
    triplets = nearest_triplets(Z, [0, 0, 0, 1, 1], n_targets=2, n_impostors=1)
    assert (triplets[:, 0] != triplets[:, 1]).all()


def test_small_classes_give_fewer_triplets():
    Z = np.arange(5.0)[:, None]
    triplets = nearest_triplets(Z, [0, 0, 1, 1, 2], n_targets=3, n_impostors=10)
    assert set(triplets[:, 0]) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="no triplets"):
        nearest_triplets(Z, [0, 1, 2, 3, 4])
    only = nearest_triplets(Z, [0, 0, 1, 1, 2], anchors=np.array([1]))
    assert set(only[:, 0]) == {1}


def test_near_samples_far_from_the_rest_are_distinguished_in_float32(rng):
    centres = 100 * rng.standard_normal((4, 3))
    labels = np.repeat(np.arange(4), 30)
    Z = (centres[labels] + 0.05 * rng.standard_normal((120, 3))).astype(np.float32)
    found = nearest_triplets(Z, labels, n_targets=1, n_impostors=1)
    distances = np.linalg.norm(Z[:, None].astype(float) - Z, axis=2)
    distances[(labels[:, None] != labels) | np.eye(120, dtype=bool)] = np.inf
    np.testing.assert_array_equal(found[:, 1], distances.argmin(axis=1))


def test_all_neighbours_are_used_if_more_are_requested():
    Z, labels = np.arange(12.0)[:, None], np.repeat([0, 1, 2], [3, 4, 5])
    triplets = nearest_triplets(Z, labels, n_targets=10**7, n_impostors=10**7)
    assert len(triplets) == sum(c * (c - 1) * (12 - c) for c in (3, 4, 5))


def test_samples_with_nan_are_refused():
    with pytest.raises(ValueError, match="Z contains NaN"):
        nearest_triplets([[0.0], [np.nan], [1.0]], [0, 0, 1])
