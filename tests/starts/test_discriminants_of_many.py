"""Discriminants of many samples are computed from some of each class."""

import numpy as np
import pytest

from gramian.features import Array
from gramian.starts import discriminant, discriminants
from gramian.starts.discriminant import some_of_each_class


def test_few_samples_are_all_taken():
    assert some_of_each_class(np.zeros(39_999, int), 20_000) is None
    assert len(some_of_each_class(np.zeros(40_000, int), 20_000)) == pytest.approx(20_000, abs=64)


def test_many_classes_are_all_taken():
    assert some_of_each_class(np.arange(100_000) % 2000, 20_000) is None


def test_rare_classes_are_whole_and_others_spread_evenly(rng):
    labels = np.where(np.arange(30_000) % 1000 == 7, "rare", np.where(rng.random(30_000) < 0.3, "a", "b"))
    rows = some_of_each_class(labels, 3000)
    assert (np.diff(rows) > 0).all()
    assert (labels[rows] == "rare").sum() == (labels == "rare").sum() == 30
    for name in ("a", "b"):
        of_class = np.flatnonzero(labels == name)
        assert np.isin(of_class[::10], rows).all()
        assert (labels[rows] == name).sum() <= len(of_class) / 10 + 64


def test_the_discriminants_are_close_to_those_of_all_samples(rng, monkeypatch):
    labels = rng.integers(4, size=20_000)
    X = rng.standard_normal((20_000, 6)) + 3 * rng.standard_normal((4, 6))[labels]
    of_all = discriminants(Array(X), labels, 3, rng)
    monkeypatch.setattr(discriminant, "ENOUGH", 2000)
    of_some = discriminants(Array(X), labels, 3, rng)
    assert not np.array_equal(of_all, of_some)
    cosines = np.linalg.svd(np.linalg.qr(of_all)[0].T @ np.linalg.qr(of_some)[0])[1]
    assert cosines.min() > 0.99
