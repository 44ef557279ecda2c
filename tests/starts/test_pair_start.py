"""Starts from signed pairs: the directions in which far pairs differ more than near ones."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.metrics import roc_auc_score

from gramian import MetricLearner
from gramian.features import Array
from gramian.situation import SignedPairs
from gramian.starts import pair_discriminant
from gramian.starts.pair_discriminant import RIDGE, pair_discriminants


def make_signed(rng, n=60, d=6, m=80):
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    return X, SignedPairs(pairs, np.repeat([1, -1], m // 2), rng.uniform(0.5, 2, m))


def test_pair_discriminants_are_generalised_eigenvectors_of_far_and_near_moments(rng):
    X, signed = make_signed(rng)
    G = pair_discriminants(Array(X), signed, 2, rng)
    difference = X[signed.pairs[:, 0]] - X[signed.pairs[:, 1]]
    moments = []
    for sign in (1, -1):
        kept = signed.signs == sign
        weight = signed.weight[kept] / signed.weight[kept].sum()
        moments.append(np.einsum("m,mi,mj->ij", weight, difference[kept], difference[kept]))
    near = (1 - RIDGE) * moments[0] + RIDGE * np.trace(moments[0]) / 6 * np.eye(6)
    expected = scipy.linalg.eigh(moments[1], near)[1][:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(G), np.abs(expected), rtol=1e-8, atol=1e-10)


def test_many_features_are_reduced_to_principal_directions_first(rng, monkeypatch):
    X, signed = make_signed(rng)
    whole = pair_discriminants(Array(X), signed, 2, np.random.default_rng(0))
    monkeypatch.setattr(pair_discriminant, "LARGEST_MOMENT", 5)
    monkeypatch.setattr(pair_discriminant, "PRINCIPAL", 6)
    # Six principal directions span all features; the ridge is invariant under their rotation.
    reduced = []
    original = pair_discriminants

    def lift_limit(features, *arguments):
        monkeypatch.setattr(pair_discriminant, "LARGEST_MOMENT", 2000)
        reduced.append(features.shape)
        return original(features, *arguments)

    monkeypatch.setattr(pair_discriminant, "pair_discriminants", lift_limit)
    found = original(Array(X), signed, 2, np.random.default_rng(0))
    assert reduced == [(60, 6)]
    np.testing.assert_allclose(np.abs(found), np.abs(whole), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rank", [5, 20])
def test_few_pairs_of_many_features_find_what_is_asked_not_what_is_loud(rank, rng):
    subject, tone = rng.integers(12, size=500), rng.integers(4, size=500)
    X = 0.6 * rng.standard_normal((12, 200))[subject] + 2.0 * rng.standard_normal((4, 200))[tone]
    X += rng.standard_normal((500, 200))

    def draw(samples, m):
        pairs = np.column_stack([rng.choice(samples, 40 * m), rng.choice(samples, 40 * m)])
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        pairs = pairs[np.sort(np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)[1])]
        same = subject[pairs[:, 0]] == subject[pairs[:, 1]]
        return np.concatenate([pairs[same][: m // 2], pairs[~same][: m // 2]]), np.repeat([1, -1], m // 2)

    known, new = draw(np.arange(300), 600), draw(np.arange(300, 500), 600)
    plain = roc_auc_score(new[1], -np.linalg.norm(X[new[0][:, 0]] - X[new[0][:, 1]], axis=1))
    learner = MetricLearner(rank, random_state=0).fit_pairs(X, *known)
    assert learner.score(X, *new) > max(0.85, plain + 0.1)
    assert MetricLearner(rank, init="pca", random_state=0).fit_pairs(X, *known).score(X, *new) < 0.8


def test_the_name_needs_signs(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="init='pairs' needs pairs with signs"):
        MetricLearner(1, init="pairs").fit_triplets(X, [[0, 1, 2], [3, 4, 5]])
