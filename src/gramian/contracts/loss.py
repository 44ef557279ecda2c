"""The contract of a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gramian.contracts.agreement import require, require_close
from gramian.losses import Loss, Squared
from gramian.losses.loss import Coefficients
from gramian.types import Vector

__all__ = ["LOSS_IDENTITIES", "check_loss"]

SEED = 20111
#: The step of finite differences.
STEP = 1e-6


class LossData(NamedTuple):
    """Predictions, targets, senses and weights, (m,) each."""

    prediction: Vector
    target: Vector
    sense: Vector
    weight: Vector


def check_loss(loss: Loss) -> None:
    """Raise an AssertionError unless the loss keeps every identity of `LOSS_IDENTITIES`.

    The identities: slope and curvature are derivatives, the sums agree with `__call__`, the quartic (where there is
    one) is the total along a line, the senses mirror each other, the value scales by `degree` and `rescaled`, float32
    stays float32, NaN is never a satisfied constraint, and only the squared loss is `compiled`. The random numbers have
    a fixed seed.

    Parameters
    ----------
    loss : Loss

    Raises
    ------
    AssertionError
        With the identity that is broken, the numbers, and what it means.

    Examples
    --------
    A loss that is defined outside the package, |error|³/3:

    >>> import numpy as np
    >>> from gramian.contracts import check_loss
    >>> from gramian.losses import Loss
    >>> class Cubic(Loss):
    ...     degree = 3.0
    ...
    ...     def __call__(self, prediction, target, sense):
    ...         error = prediction - target
    ...         error = np.where(sense * error > 0, 0, error)
    ...         size = np.abs(error)
    ...         return size**3 / 3, size * error, 2 * size
    >>> check_loss(Cubic())

    A wrong degree is found:

    >>> Cubic.degree = 2.0
    >>> check_loss(Cubic())
    Traceback (most recent call last):
    ...
    AssertionError: Identity broken: value of rescaled(4) at 4 times prediction and target = 4 ** degree times value...
    """
    for identity in LOSS_IDENTITIES:
        identity(loss, np.random.default_rng(SEED))


def check_slope(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless the slope is the derivative of the value, by finite differences."""
    p, t, sense, _ = smooth_data(rng)
    found = (loss(p + STEP, t, sense)[0] - loss(p - STEP, t, sense)[0]) / (2 * STEP)
    meaning = "The second array of __call__ must be d value / d prediction; solvers descend along it."
    require_close("slope = derivative of the value", loss(p, t, sense)[1], found, meaning, rtol=1e-6, atol=1e-7)


def check_curvature(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless the curvature is the derivative of the slope, by finite differences."""
    p, t, sense, _ = smooth_data(rng)
    found = (loss(p + STEP, t, sense)[1] - loss(p - STEP, t, sense)[1]) / (2 * STEP)
    meaning = "The third array of __call__ must be d slope / d prediction; Gauss-Newton steps are made of it."
    require_close("curvature = derivative of the slope", loss(p, t, sense)[2], found, meaning, rtol=1e-6, atol=1e-7)


def check_sums(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless `value_and_slopes` agrees with `__call__`, in float64 and float32."""
    meaning = "value_and_slopes is the weighted sum of what __call__ gives; a kernel that overrides it must agree."
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-5)):
        p, t, sense, weight = random_data(rng, dtype)
        value, slope, _ = (x.astype(np.float64) for x in loss(p, t, sense))
        total, slopes, scale = loss.value_and_slopes(p, t, sense, weight)
        terms = weight * value
        atol = rtol * float(np.sum(np.abs(terms)))
        require_close("total = Σ weight · value", total, np.sum(terms), meaning, atol=atol)
        require_close("slopes = weight · slope", slopes, weight * slope, meaning, rtol=rtol, atol=rtol)
        expected = np.sum(np.abs(weight * slope * p))
        require_close("scale = Σ |weight · slope · prediction|", scale, expected, meaning, rtol=10 * rtol)


def check_sums_along(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless `along` agrees with `__call__` at a + b s + c s², in float64 and float32."""
    meaning = "along gives the total and its derivatives in s where predictions are a + b s + c s²."
    for dtype, rtol in ((np.float64, 1e-11), (np.float32, 1e-4)):
        data, line = random_data(rng, dtype), random_line(rng, dtype)
        t, weight, a, b, c = (x.astype(np.float64) for x in (data.target, data.weight, *line))
        for s in (0.0, 0.7, 3.0):
            value, slope, curvature = loss(a + b * s + c * s * s, t, data.sense)
            speed = b + 2 * c * s
            parts = (value, slope * speed, curvature * speed**2 + 2 * slope * c)
            found = loss.along(line, *data[1:], s)
            for name, x, part in zip(("value", "slope", "curvature"), found, parts, strict=True):
                atol = rtol * float(np.sum(weight * np.abs(part)))
                require_close(f"{name} along a line at s = {s}", x, np.sum(weight * part), meaning, atol=atol)


def check_quartic(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless the quartic, where one is given, is the total along a line."""
    meaning = "quartic must be None unless the total is one polynomial of degree 4 in s, constant first."
    data, line = random_data(rng), random_line(rng)
    for senses in (np.zeros_like(data.sense), data.sense):
        coefficients = loss.quartic(line, data.target, senses, data.weight)
        if coefficients is None:
            continue
        for s in (0.0, 0.4, -2.0):
            total = loss.along(line, data.target, senses, data.weight, s)[0]
            found = np.polynomial.polynomial.polyval(s, coefficients)
            require_close(f"quartic at s = {s} = total along the line", found, total, meaning, rtol=1e-11)


def check_senses(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless senses -1 and +1 mirror each other and push the prediction one way only."""
    p, t, sense, _ = random_data(rng, senses=(-1, 1))
    signs = (1, -1, 1)
    meaning = "'at most t' for p is 'at least -t' for -p: values and curvatures are equal, slopes opposite."
    mirrored = loss(-p, -t, -sense)
    for name, x, y, sign in zip(("value", "slope", "curvature"), loss(p, t, sense), mirrored, signs, strict=True):
        require_close(f"{name} is mirrored with the sense", x, sign * y, meaning, rtol=1e-12, atol=1e-12)
    pushed = sense * loss(p, t, sense)[1]
    meaning = "Sense -1 asks for a small prediction, so the slope is at least 0; sense +1 for a large one, at most 0."
    require(np.all(pushed <= 0), "sense · slope <= 0", f"largest sense · slope {pushed.max():.8g}", meaning)


def check_scaling(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless the value scales by the loss's `degree`, its parameters by `rescaled`."""
    p, t, sense, _ = random_data(rng)
    meaning = (
        "Estimators solve in other units. Set degree, and let rescaled(unit) multiply every parameter that has the "
        "units of a prediction."
    )
    require(hasattr(loss, "degree"), "every loss has a degree", f"{loss!r} has none", meaning)
    for unit in (4.0, 0.3):
        scaled = loss.rescaled(unit)(unit * p, unit * t, sense)
        for order, name in enumerate(("value", "slope", "curvature")):
            exponent = f"degree - {order}" if order else "degree"
            identity = f"{name} of rescaled({unit:g}) at {unit:g} times prediction and target = {unit:g} ** "
            expected = unit ** (loss.degree - order) * loss(p, t, sense)[order]
            full = f"{identity}{f'({exponent})' if order else exponent} times {name}"
            require_close(full, scaled[order], expected, meaning, rtol=1e-9, atol=1e-12)


def check_dtype(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless float32 predictions give float32 arrays, and sums are Python floats."""
    meaning = "A float64 constant or an integer array promotes float32 data, which doubles its memory."
    for dtype in (np.float32, np.float64):
        data, line = random_data(rng, dtype), random_line(rng, dtype)
        value, slopes, scale = loss.value_and_slopes(*data)
        for name, x in zip(("value", "slope", "curvature", "slopes"), (*loss(*data[:3]), slopes), strict=True):
            numbers = f"{x.dtype}, not {np.dtype(dtype)}"
            require(x.dtype == dtype, f"{name} has the dtype of the predictions", numbers, meaning)
        for each in (value, scale, *loss.along(line, *data[1:], 0.7)):
            require(type(each) is float, "sums are Python floats", f"{each!r} is a {type(each).__name__}", meaning)


def check_nan(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless a prediction that is NaN gives the value NaN, for every sense."""
    meaning = "A step that overflows predicts NaN; a value that is finite there would accept the step."
    one, bad = np.ones(1), np.array([np.nan])
    for sign in (-1, 0, 1):
        sense = np.array([sign], np.int8)
        # As solvers do at trial steps.
        with np.errstate(invalid="ignore"):
            values = {
                "__call__": loss(bad, one, sense)[0][0],
                "value_and_slopes": loss.value_and_slopes(bad, one, sense, one)[0],
                "along": loss.along(Coefficients(bad, one, one), one, sense, one, 1.0)[0],
            }
        for name, value in values.items():
            require(np.isnan(value), f"{name} of NaN with sense {sign} is NaN", f"value {value}", meaning)


def check_compiled(loss: Loss, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless a loss that is `compiled` has the slopes that the online kernels have."""
    if not loss.compiled:
        return
    p, t, sense, _ = random_data(rng)
    meaning = "compiled = True, which subclasses inherit, lets online solvers use the squared loss instead."
    expected = Squared()(p, t, sense)[1]
    require_close("slope of a compiled loss = slope of Squared", loss(p, t, sense)[1], expected, meaning, rtol=1e-12)


#: The identities of a loss, each a function of the loss and a generator.
LOSS_IDENTITIES: tuple[Callable[[Loss, np.random.Generator], None], ...] = (
    check_slope,
    check_curvature,
    check_sums,
    check_sums_along,
    check_quartic,
    check_senses,
    check_scaling,
    check_dtype,
    check_nan,
    check_compiled,
)


def random_data(
    rng: np.random.Generator, dtype: Any = np.float64, m: int = 200, senses: tuple[int, ...] = (-1, 0, 1)
) -> LossData:
    """Return m random predictions whose errors span three orders of magnitude, with targets, senses and weights."""
    target = rng.standard_normal(m)
    prediction = target + rng.standard_normal(m) * 10 ** rng.uniform(-2, 1, m)
    sense = rng.choice(senses, size=m).astype(np.int8)
    return LossData(prediction.astype(dtype), target.astype(dtype), sense, rng.random(m).astype(dtype))


def smooth_data(rng: np.random.Generator) -> LossData:
    """Return random data without errors so near 0 that finite differences cross a kink there."""
    data = random_data(rng)
    away = np.abs(data.prediction - data.target) > 10 * STEP
    return LossData(*(x[away] for x in data))


def random_line(rng: np.random.Generator, dtype: Any = np.float64, m: int = 200) -> Coefficients:
    """Return random coefficients a, b, c, (m,) each."""
    return Coefficients(*rng.standard_normal((3, m)).astype(dtype))
