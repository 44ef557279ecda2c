"""The data of a regression: checked, measured, in columns of like size."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite

from gramian.checks import FLOATS, check_number, validate_sense, validate_weight
from gramian.columns import Columns
from gramian.coordinates import Coordinates, Units, column_spread, units_of_regression
from gramian.estimators._base import make_whitened_geometry
from gramian.estimators._checks import SAMPLE_OPTIONS, resolve_rank, validate_input
from gramian.estimators._rank import is_auto
from gramian.execution import execution_for
from gramian.extremes import Extremes, extremes_of
from gramian.features import Identity
from gramian.geometries import Geometry, Scaled
from gramian.losses import Loss
from gramian.mapped import is_map
from gramian.measurements import Dense, Each, Measurement
from gramian.objective import Problem
from gramian.solvers import Growing, Result, Solver
from gramian.solvers.online import Schedule
from gramian.types import Vector
from gramian.warn import warn_user

__all__ = [
    "Data",
    "Stream",
    "balance_columns",
    "check_shape",
    "choose_geometry",
    "leave_out_zeros",
    "make_measurement",
    "read_data",
    "rescale_loss",
    "resolve_growing",
    "warn_if_zero_is_best",
]

# Columns that differ in size by more than this factor matter to geometries other than "scaled".
LARGEST_SPREAD = 100.0
# With this number of measurements for each of the d r unknowns, the Hessian is near its expectation.
MEASUREMENTS_PER_UNKNOWN = 10


class Data(NamedTuple):
    """Validated input: vectors (n, d) or matrices (n, d, d), targets (n,), senses (n,) and weights (n,) of sum 1.

    `extremes` are those of the columns of X; None where a stream goes on in its units.
    """

    X: Any
    y: Vector
    sense: Vector
    weight: Vector
    extremes: Extremes | None

    @property
    def given(self) -> dict[str, Any]:
        """What the fit depends on, by name."""
        return {"X": self.X, "y": self.y, "sense": self.sense, "weight": self.weight}

    def units(self, *, scale_free: bool) -> Units:
        """Return the units in which X and y are near 1; `scale_free` as in `units_of_regression`."""
        size = None if self.extremes is None else self.extremes.largest
        return units_of_regression(self.X, self.y, scale_free=scale_free, size=size)


class Stream(NamedTuple):
    """The state of a stream that `partial_fit` continues from, in addition to the factor."""

    units: Units
    schedule: Schedule
    geometry: Geometry

    @classmethod
    def after(cls, result: Result, units: Units, geometry: Geometry) -> Stream | None:
        """Return the state after a fit in given units; None unless its solver is online."""
        schedule = getattr(result.memory, "schedule", None)
        return None if schedule is None else cls(units, schedule, geometry)


def read_data(estimator: Any, X: Any, y: Any, sample_weight: Any, sense: Any, *, reset: bool) -> Data:
    """Return the validated data of a fit, without the samples of weight 0."""
    # Entries of an array that are not finite are seen in its extremes: one pass over the data less.
    seen_later = reset and type(X) is np.ndarray and X.dtype in FLOATS and not is_map(X)
    X, y = validate_input(
        estimator,
        X,
        y,
        reset=reset,
        allow_nd=True,
        y_numeric=True,
        ensure_all_finite=not seen_later,
        **SAMPLE_OPTIONS,
    )
    check_shape(X)
    execution = execution_for(X, estimator._resolve_execution(X))
    extremes = extremes_of(X, execution) if reset else None
    if seen_later and extremes is not None and not extremes.finite:
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    n = X.shape[0]
    weight = validate_weight(sample_weight, n, X.dtype)
    senses = validate_sense(sense, n)
    y = y.astype(np.float64)
    if not weight.all():
        kept = np.flatnonzero(weight)
        X, y, weight, senses = X[kept], y[kept], weight[kept], senses[kept]
        extremes = None if extremes is None else extremes_of(X, execution)
    if extremes is not None and not extremes.largest:
        of_what = "X" if len(weight) == n else "the samples of positive weight"
        raise ValueError(f"every entry of {of_what} is 0: no prediction depends on W. Give samples that are not all 0.")
    return Data(X, y, senses, weight / weight.sum(dtype=np.float64).astype(X.dtype), extremes)


def balance_columns(coordinates: Coordinates, geometry: Any, solver: Solver, extremes: Extremes | None) -> Coordinates:
    """Return coordinates in which the columns of X are of like size, where the geometry does not depend on that.

    `extremes` are those of X in the user's units, if known.
    """
    if not solver.stops:
        return coordinates
    sizes = None if extremes is None else extremes.sizes * coordinates.units.data
    if sizes is not None and isinstance(coordinates.span, Columns):
        sizes = sizes[coordinates.span.indices]
    if isinstance(geometry, str) and geometry == "scaled":
        return coordinates.equilibrated(sizes)
    spread = column_spread(coordinates.features, sizes)
    if spread > LARGEST_SPREAD:
        warn_user(
            f"the columns of X differ in size by a factor of {spread:.0e}: with geometry={geometry!r} the fit "
            "may end far from its minimum. Standardise X, or choose geometry='scaled'.",
        )
    return coordinates


def leave_out_zeros(estimator: Any, coordinates: Coordinates, solver: Solver) -> Coordinates:
    """Return coordinates without features that are always 0, where no start, rank or certificate depends on them."""
    rank, init = estimator.rank, estimator.init
    if rank is not None and not is_auto(rank):
        check_number("rank", rank, least=1, integer=True, also=(None, "auto"))
    fixed = rank is None or is_auto(rank) or not isinstance(init, str) or estimator.certificate
    return coordinates if fixed or not solver.stops else coordinates.without_zero_columns(int(rank))


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


def choose_geometry(estimator: Any, problem: Problem, solver: Solver, stream: Stream | None) -> Geometry:
    """Return the geometry; "scaled" includes the second moment of the data, for a stream that of its first call.

    Batch solvers take the metric of Gaussian samples for losses whose Hessian it approximates, if there are many
    measurements per unknown.
    """
    if estimator.geometry != "scaled":
        return estimator._resolve_geometry()
    if stream is not None and isinstance(stream.geometry, Scaled):
        return stream.geometry
    features = problem.blocks[0].features
    if isinstance(features, Identity):
        return estimator._resolve_geometry()
    if is_auto(estimator.rank) or not solver.stops:
        return make_whitened_geometry(features, execution=problem.execution)
    term, d = problem.sampled, problem.n_features
    rank = resolve_rank(estimator.rank, d, Scaled())
    smooth = term.loss.quadratic_near_zero and not np.any(term.sense)
    gaussian = smooth and len(term.measurement) >= MEASUREMENTS_PER_UNKNOWN * d * rank
    rank = rank if gaussian else 0
    return make_whitened_geometry(features, rank=rank, gaussian=gaussian, execution=problem.execution)
