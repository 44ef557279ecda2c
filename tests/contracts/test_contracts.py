"""Contracts detect broken parts: for every identity, a part that breaks it raises an error that names it."""

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
    """A loss that treats "at least" as "at most"."""

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
    """A loss that inherits `compiled` from Squared but has another formula; its sums agree with that formula."""

    value_and_slopes, along, quartic = Loss.value_and_slopes, Loss.along, Loss.quartic

    def __call__(self, prediction, target, sense):
        value, slope, curvature = super().__call__(prediction, target, sense)
        return value / 2, slope / 2, curvature / 2


class NanSatisfies(Loss):
    """A loss that treats an inequality with a NaN prediction as satisfied."""

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
def test_a_loss_that_breaks_an_identity_raises_an_error(loss, identity):
    with pytest.raises(AssertionError, match=f"Identity broken: {identity}"):
        check_loss(loss)


def make_pairs(rng):
    """Return pairs of samples, their features, and the explicit matrices of the pairs."""
    X, index = rng.standard_normal((9, 4)), rng.integers(9, size=(20, 2))
    V = X[index[:, 0]] - X[index[:, 1]]
    return index, Array(X), V[:, :, None] * V[:, None, :]


def make_broken(base=Pairs, **methods):
    return type("Broken", (base,), methods)


def predict_and_double(self, Z):
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
        ({"predict": predict_and_double}, "predict|Z is not changed in place"),
    ],
    ids=lambda x: x if isinstance(x, str) else " ".join(x),
)
def test_a_measurement_that_breaks_an_identity_raises_an_error(methods, identity, rng):
    index, features, matrices = make_pairs(rng)
    check_measurement(Pairs(index), features, matrices)
    with pytest.raises(AssertionError, match=f"Identity broken: ({identity})"):
        check_measurement(make_broken(**methods)(index), features, matrices)


def test_a_measurement_of_the_wrong_dtype_raises_an_error(rng):
    X = rng.standard_normal((6, 3)).astype(np.float32)
    kind = make_broken(Each, predict=lambda self, Z: Each.predict(self, Z).astype(np.float64))
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


class Curved(Straight):
    """A curve that claims to be straight but is not."""

    def point(self, s):
        return self.start.at(self.start.frame + (s + s * s) * self.direction)


class NotMarkedStraight(Straight):
    """A straight line that is treated as a curve."""

    straight = False


def asymmetric_inner(self, a, b):
    return FlatPoint.inner(self, a, b + np.roll(b, 1, axis=0))


AXES = np.arange(1.0, 6.0)[:, None]


@pytest.mark.parametrize(
    ("geometry", "identity"),
    [
        (Variant(inner=asymmetric_inner), "inner\\(a, b\\) = inner\\(b, a\\)"),
        (Variant(inner=lambda self, a, b: -FlatPoint.inner(self, a, b)), "inner\\(a, a\\) > 0"),
        (Variant(frame_velocity=lambda self, t: 2 * t), "G\\(s\\) = G \\+ s velocity on a straight curve"),
        (Variant(curve=lambda self, t: Curved(self, t)), "G\\(s\\) = G \\+ s velocity on a straight curve"),
        (Variant(curve=lambda self, t: NotMarkedStraight(self, 2 * t)), "order of"),
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
def test_a_geometry_that_breaks_an_identity_raises_an_error(geometry, identity):
    with pytest.raises(AssertionError, match=f"Identity broken: {identity}"):
        check_geometry(geometry)


class Limited(Straight):
    """A straight line with a fixed limit, which has units."""

    limit = 1e-2


def test_a_frame_that_does_not_stay_orthonormal_raises_an_error():
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
def test_every_registered_geometry_passes_check_geometry(geometry):
    is_polar_qf = getattr(geometry, "retraction", None) == "qf" and isinstance(geometry, Polar)
    check_geometry(geometry, n_features=6, rank=3, without=["check_factor_rotation"] if is_polar_qf else [])


def test_a_geometry_with_a_fixed_number_of_features_can_be_checked(rng):
    root = rng.standard_normal((4, 4))
    check_geometry(Scaled(np.eye(4) + root @ root.T), n_features=4, without=["check_data_rotation"])


def test_an_unknown_identity_raises_an_error():
    with pytest.raises(ValueError, match=r"without names 'check_everything', which is no identity. Choose among"):
        check_geometry(Polar(), without=["check_everything"])


def test_check_geometry_runs_every_identity():
    identities = [*POINT_IDENTITIES, *PROBLEM_IDENTITIES, *DATA_IDENTITIES, *SOLVER_IDENTITIES]
    assert {name for name, _ in list_checks(Polar(), SHAPE)} == {f.__name__ for f in identities}


def test_the_error_names_the_worst_entry():
    with pytest.raises(AssertionError) as failure:
        require_close("a = b", [1.0, 2.0, np.nan], [1.0, 2.5, 3.0], "They are equal.", atol=0.1)
    lines = str(failure.value).splitlines()
    assert lines[0] == "Identity broken: a = b."
    assert lines[1] == "Numbers: found nan, expected 3, rtol 0.0e+00, atol 1.0e-01 at (2,), 2 of 3 entries wrong."
    assert lines[2] == "Meaning: They are equal."
    with pytest.raises(AssertionError, match=r"found shape \(2,\), expected shape \(3,\)"):
        require_close("a = b", np.ones(2), np.ones(3), "They are equal.")
