"""The data of a regression: checked, measured, in columns of like size."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from gramian.checks import validate_sense, validate_weight
from gramian.coordinates import Coordinates, Units, column_spread
from gramian.estimators._base import make_whitened_geometry
from gramian.estimators._checks import validate_input
from gramian.estimators._rank import is_auto
from gramian.extremes import largest
from gramian.features import Identity
from gramian.geometries import Geometry, Scaled
from gramian.losses import Loss
from gramian.measurements import Dense, Each, Measurement
from gramian.objective import Problem
from gramian.solvers import Growing, Solver
from gramian.solvers.online import Schedule
from gramian.types import Vector
from gramian.warn import warn_user

__all__ = [
    "Data",
    "Stream",
    "balance_columns",
    "check_shape",
    "choose_geometry",
    "make_measurement",
    "read_data",
    "rescale_loss",
    "resolve_growing",
    "warn_if_zero_is_best",
]

# Columns that differ in size by more than this factor matter to geometries other than "scaled".
LARGEST_SPREAD = 100.0


class Data(NamedTuple):
    """Validated input: vectors (n, d) or matrices (n, d, d), targets (n,), senses (n,) and weights (n,) of sum 1."""

    X: Any
    y: Vector
    sense: Vector
    weight: Vector


class Stream(NamedTuple):
    """The state of a stream that `partial_fit` continues from, in addition to the factor."""

    units: Units
    schedule: Schedule
    geometry: Geometry


def read_data(estimator: Any, X: Any, y: Any, sample_weight: Any, sense: Any, *, reset: bool) -> Data:
    """Return the validated data of a fit, without the samples of weight 0."""
    X, y = validate_input(
        estimator,
        X,
        y,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        allow_nd=True,
        y_numeric=True,
    )
    check_shape(X)
    if reset and not largest(X.data if issparse(X) else X):
        raise ValueError("every entry of X is 0: no prediction depends on W. Give samples that are not all 0.")
    n = X.shape[0]
    weight = validate_weight(sample_weight, n, X.dtype)
    senses = validate_sense(sense, n)
    y = y.astype(np.float64)
    if not weight.all():
        kept = np.flatnonzero(weight)
        X, y, weight, senses = X[kept], y[kept], weight[kept], senses[kept]
    return Data(X, y, senses, weight / weight.sum(dtype=np.float64).astype(X.dtype))


def balance_columns(coordinates: Coordinates, geometry: Any, solver: Solver) -> Coordinates:
    """Return coordinates in which the columns of X are of like size, where the geometry does not depend on that."""
    if not solver.stops:
        return coordinates
    if isinstance(geometry, str) and geometry == "scaled":
        return coordinates.equilibrated()
    spread = column_spread(coordinates.features)
    if spread > LARGEST_SPREAD:
        warn_user(
            f"the columns of X differ in size by a factor of {spread:.0e}: with geometry={geometry!r} the fit "
            "may end far from its minimum. Standardise X, or choose geometry='scaled'.",
        )
    return coordinates


def check_shape(X: Any) -> None:
    """Raise a ValueError unless X holds vectors (n, d) or square matrices (n, d, d)."""
    if X.ndim != 2 and (X.ndim != 3 or X.shape[1] != X.shape[2]):
        raise ValueError(f"X has shape {X.shape}; expected vectors (n, d) or square matrices (n, d, d).")


def make_measurement(X: Any, coordinates: Coordinates) -> Measurement:
    """Return the n measurements by vectors (n, d) or matrices (n, d, d), in the solver's units."""
    if X.ndim == 2:
        return Each(X.shape[0])
    unit = coordinates.units.data**2
    return Dense(X if unit == 1 else X * X.dtype.type(unit))


def rescale_loss(loss: Loss, unit: float, dtype: np.dtype) -> Loss:
    """Return the loss for predictions times a unit; raise a ValueError if a parameter leaves the range of the dtype."""
    one, zero = np.ones(1, dtype), np.zeros(1, dtype)
    scaled, slope, value = loss, zero, zero
    with np.errstate(all="ignore"), suppress(ValueError):
        scaled = loss.rescaled(unit)
        value, slope, _ = scaled(one, zero, np.zeros(1, np.int8))
    if not (slope.any() and np.isfinite(slope).all() and np.isfinite(value).all()):
        raise ValueError(
            f"loss={loss!r} has a parameter outside the range of {dtype} numbers beside y, which is multiplied by "
            f"{unit:.3g}. Scale y, or give the loss a parameter near the size of y."
        )
    return scaled


def warn_if_zero_is_best(data: Data) -> None:
    """Warn if no sample asks for a prediction above 0, and some for one below 0, which vectors cannot give."""
    above, below = (data.y > 0) & (data.sense >= 0), (data.y < 0) & (data.sense <= 0)
    if data.X.ndim == 2 and not above.any() and below.any():
        warn_user(
            "no prediction should be above 0, but x' W x is never below 0: W = 0 is the best fit, and all "
            "predictions are near 0. Change the sign of y, or add a constant to it."
        )


def resolve_growing(estimator: Any, solver: Solver, rng: np.random.Generator) -> Growing | None:
    """Return the settings of growing subsets; None without them, or if the solver is online."""
    growing = estimator.growing
    if isinstance(growing, Growing):
        return growing if solver.stops else None
    if not isinstance(growing, bool | np.bool_):
        raise ValueError(f"growing={growing!r} is not valid. Give True, False, or a Growing.")
    wanted = growing and solver.stops and isinstance(estimator.init, str) and not is_auto(estimator.rank)
    return Growing(seed=int(rng.integers(2**31))) if wanted else None


def choose_geometry(estimator: Any, problem: Problem, stream: Stream | None) -> Geometry:
    """Return the geometry; "scaled" includes the second moment of the data, for a stream that of its first call."""
    if estimator.geometry != "scaled":
        return estimator._resolve_geometry()
    if stream is not None and isinstance(stream.geometry, Scaled):
        return stream.geometry
    features = problem.blocks[0].features
    return estimator._resolve_geometry() if isinstance(features, Identity) else make_whitened_geometry(features)
