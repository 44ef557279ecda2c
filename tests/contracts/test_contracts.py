"""Contracts find what is broken: each identity has a part that breaks it, and the message names the identity."""

from dataclasses import dataclass

import numpy as np
import pytest

from gramian.contracts import check_geometry, check_loss, check_measurement
from gramian.contracts.agreement import require_close
from gramian.contracts.builders import SHAPE
from gramian.contracts.geometry import (
    DATA_IDENTITIES,
    POINT_IDENTITIES,
    PROBLEM_IDENTITIES,
    SOLVER_IDENTITIES,
    list_checks,
)
from gramian.features import Array
from gramian.geometries import GEOMETRIES, Geometry, Polar, Scaled
from gramian.geometries.flat import FlatPoint
from gramian.geometries.frames import polar_decompose
from gramian.geometries.point import Straight
from gramian.losses import Huber, Loss, Squared
from gramian.measurements import Each, Pairs


class WrongSlope(Squared):
    def __call__(self, prediction, target, sense):
        value, slope, curvature = super().__call__(prediction, target, sense)
        return value, 2 * slope, curvature


class WrongCurvature(Squared):
    def __call__(self, prediction, target, sense):
        value, slope, curvature = super().__call__(prediction, target, sense)
        return value, slope, 2 * curvature


class WrongSums(Squared):
    def value_and_slopes(self, prediction, target, sense, weight):
        value, slopes, scale = super().value_and_slopes(prediction, target, sense, weight)
        return 2 * value, slopes, scale


class WrongAlong(Squared):
    def along(self, line, target, sense, weight, s):
        value, slope, _ = super().along(line, target, sense, weight, s)
        return value, slope, 0.0


class WrongQuartic(Squared):
    def quartic(self, line, target, sense, weight):
        return super().quartic(line, target, np.zeros_like(sense), weight)


class OneSense(Loss):
    """Takes every inequality for "at most"."""

    degree = 2.0

    def __call__(self, prediction, target, sense):
        return Squared()(prediction, target, -np.abs(sense))


@dataclass(frozen=True)
class FixedDelta(Huber):
    def rescaled(self, unit):
        return self


class NoDegree(Loss):
    def __call__(self, prediction, target, sense):
        return Squared()(prediction, target, sense)


class Promoted(Loss):
    degree = 2.0

    def __call__(self, prediction, target, sense):
        value, slope, curvature = Squared()(prediction, target, sense)
        return value, slope, curvature.astype(np.float64)


class HalfSquared(Squared):
    """Inherits `compiled`, with sums that agree with its own formula."""

    value_and_slopes, along, quartic = Loss.value_and_slopes, Loss.along, Loss.quartic

    def __call__(self, prediction, target, sense):
        value, slope, curvature = super().__call__(prediction, target, sense)
        return value / 2, slope / 2, curvature / 2


class NanSatisfies(Loss):
    degree = 2.0

    def __call__(self, prediction, target, sense):
        error = prediction - target
        active = (sense == 0) | (sense * error < 0)
        error = np.where(active, error, 0)
        return error**2 / 2, error, active.astype(error.dtype)


@pytest.mark.parametrize(
    ("loss", "identity"),
    [
        (WrongSlope(), "slope = derivative of the value"),
        (WrongCurvature(), "curvature = derivative of the slope"),
        (WrongSums(), "total = Σ weight · value"),
        (WrongAlong(), "curvature along a line at s = 0.0"),
        (WrongQuartic(), "quartic at s = "),
        (OneSense(), "value is mirrored with the sense"),
        (FixedDelta(), "value of rescaled\\(4\\)"),
        (NoDegree(), "every loss has a degree"),
        (Promoted(), "curvature has the dtype of the predictions"),
        (HalfSquared(), "slope of a compiled loss = slope of Squared"),
        (NanSatisfies(), "__call__ of NaN with sense -1 is NaN"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_loss_that_breaks_an_identity_is_found(loss, identity):
    with pytest.raises(AssertionError, match=f"Identity broken: {identity}"):
        check_loss(loss)


def measured(rng):
    X, index = rng.standard_normal((9, 4)), rng.integers(9, size=(20, 2))
    V = X[index[:, 0]] - X[index[:, 1]]
    return index, Array(X), V[:, :, None] * V[:, None, :]


def broken(base=Pairs, **methods):
    return type("Broken", (base,), methods)


def written_in_place(self, Z):
    prediction = Pairs.predict(self, Z)
    Z *= 2
    return prediction


@pytest.mark.parametrize(
    ("methods", "identity"),
    [
        ({"__len__": lambda self: 3}, "len = predictions = matrices"),
        ({"predict": lambda self, Z: 2 * Pairs.predict(self, Z)}, "predict\\(X G\\) = trace"),
        ({"predict": lambda self, Z: Pairs.predict(self, Z).astype(np.float32)}, "predict"),
        ({"along": lambda self, Z, T: Pairs.along(self, Z, T)[::-1]}, "predict\\(Z\\) \\+ b s \\+ c s²"),
        ({"weigh": lambda self, w, Z: 2 * Pairs.weigh(self, w, Z)}, "Xᵀ weigh"),
        ({"take": lambda self, rows: (Pairs(self.pairs[rows]), np.arange(9)[::-1])}, "take\\(rows\\) predicts rows"),
        ({"take": lambda self, rows: (self, None)}, "len\\(take\\(rows\\)\\) = rows"),
        ({"separable": True}, "take\\(rows\\) predicts from rows of Z"),
        ({"check": lambda self, n_samples: None}, "check refuses too few samples"),
        ({"predict": written_in_place}, "predict|Z is not changed in place"),
    ],
    ids=str,
)
def test_a_measurement_that_breaks_an_identity_is_found(methods, identity, rng):
    index, features, matrices = measured(rng)
    check_measurement(Pairs(index), features, matrices)
    with pytest.raises(AssertionError, match=f"Identity broken: ({identity})"):
        check_measurement(broken(**methods)(index), features, matrices)


def test_a_measurement_of_the_wrong_precision_is_found(rng):
    X = rng.standard_normal((6, 3)).astype(np.float32)
    kind = broken(Each, predict=lambda self, Z: Each.predict(self, Z).astype(np.float64))
    with pytest.raises(AssertionError, match="predict keeps the dtype"):
        check_measurement(kind(6), Array(X), X[:, :, None] * X[:, None, :])


class Variant(Geometry):
    """The flat geometry with some methods of its points replaced."""

    def __init__(self, **methods):
        self.kind = type("VariantPoint", (FlatPoint,), methods)

    def __repr__(self):
        return ", ".join(name for name in vars(self.kind) if not name.startswith("_"))

    def point(self, G):
        return self.kind(G)


class Bent(Straight):
    """Not the line that it says it is."""

    def point(self, s):
        return self.start.at(self.start.frame + (s + s * s) * self.direction)


class Halved(Straight):
    straight = False


def lopsided(self, a, b):
    return FlatPoint.inner(self, a, b + np.roll(b, 1, axis=0))


AXES = np.arange(1.0, 6.0)[:, None]


@pytest.mark.parametrize(
    ("geometry", "identity"),
    [
        (Variant(inner=lopsided), "inner\\(a, b\\) = inner\\(b, a\\)"),
        (Variant(inner=lambda self, a, b: -FlatPoint.inner(self, a, b)), "inner\\(a, a\\) > 0"),
        (Variant(frame_velocity=lambda self, t: 2 * t), "G\\(s\\) = G \\+ s velocity on a straight curve"),
        (Variant(curve=lambda self, t: Bent(self, t)), "G\\(s\\) = G \\+ s velocity on a straight curve"),
        (Variant(curve=lambda self, t: Halved(self, 2 * t)), "order of"),
        (Variant(gradient=lambda self, MF: MF), "inner\\(gradient, ξ\\) = 2 <M G, velocity\\(ξ\\)>"),
        (Polar(retraction="qf"), "W after a step of G O = W after a step of G"),
        (
            Variant(
                gradient=lambda self, MF: 2 * MF / AXES, inner=lambda self, a, b: FlatPoint.inner(self, a * AXES, b)
            ),
            "value of rotated data = value",
        ),
        (
            Variant(
                gradient=lambda self, MF: 2 * MF / (1 + np.sum(self.frame**2)),
                inner=lambda self, a, b: FlatPoint.inner(self, a, b) * (1 + np.sum(self.frame**2)),
                curve=lambda self, t: Limited(self, t),
            ),
            "costs of μ y = μ² costs of y",
        ),
        (Variant(gradient=lambda self, MF: 2.0 * MF.astype(np.float64)), "gradient of float32 data is float32"),
    ],
    ids=str,
)
def test_a_geometry_that_breaks_an_identity_is_found(geometry, identity):
    with pytest.raises(AssertionError, match=f"Identity broken: {identity}"):
        check_geometry(geometry)


class Limited(Straight):
    """Steps of a length that has units."""

    limit = 1e-2


def test_a_frame_that_drifts_is_found():
    class Drifting(Straight):
        straight = False

        def blend(self, s, F, T):
            return F + s * T

    class Loose(FlatPoint):
        def gradient(self, MF):
            return 2 * (MF - self.frame @ (self.frame.T @ MF))

        def curve(self, tangent):
            return Drifting(self, tangent)

    class Orthonormal(Geometry):
        bounded = True

        def point(self, G):
            return Loose(polar_decompose(G)[0])

    with pytest.raises(AssertionError, match="FᵀF = I along 500 steps"):
        check_geometry(Orthonormal(), without=["check_curve_velocity"])


@pytest.mark.parametrize("geometry", [g for kind in GEOMETRIES.values() for g in kind.examples], ids=repr)
def test_every_geometry_passes_as_a_whole(geometry):
    depends = getattr(geometry, "retraction", None) == "qf" and isinstance(geometry, Polar)
    check_geometry(geometry, n_features=6, rank=3, without=["check_factor_rotation"] if depends else [])


def test_a_geometry_whose_settings_fix_the_features_is_checked_on_as_many(rng):
    root = rng.standard_normal((4, 4))
    check_geometry(Scaled(np.eye(4) + root @ root.T), n_features=4, without=["check_data_rotation"])


def test_an_unknown_identity_is_refused():
    with pytest.raises(ValueError, match=r"without names 'check_everything', which is no identity. Choose among"):
        check_geometry(Polar(), without=["check_everything"])


def test_every_identity_of_a_geometry_is_run():
    identities = [*POINT_IDENTITIES, *PROBLEM_IDENTITIES, *DATA_IDENTITIES, *SOLVER_IDENTITIES]
    assert {name for name, _ in list_checks(Polar(), SHAPE)} == {f.__name__ for f in identities}


def test_a_failure_tells_the_worst_entry():
    with pytest.raises(AssertionError) as failure:
        require_close("a = b", [1.0, 2.0, np.nan], [1.0, 2.5, 3.0], "They are equal.", atol=0.1)
    lines = str(failure.value).splitlines()
    assert lines[0] == "Identity broken: a = b."
    assert lines[1] == "Numbers: found nan, expected 3, rtol 0.0e+00, atol 1.0e-01 at (2,), 2 of 3 entries wrong."
    assert lines[2] == "Meaning: They are equal."
    with pytest.raises(AssertionError, match=r"found shape \(2,\), expected shape \(3,\)"):
        require_close("a = b", np.ones(2), np.ones(3), "They are equal.")
