"""The logistic loss, two-sided or one-sided by sense, summed in float64 in one sweep over the measurements."""

from math import exp, log, log1p, sinh, tanh
from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled

#: The least value of the sum of both one-sided losses, at scale 1; the two-sided loss is the sum without it.
LEAST_SUM = 2 * log(2)


@compiled
def logistic_at(error: Any, side: Any, scale: Any) -> Any:
    """Value, slope and curvature of the loss of one error, prediction - target, with a sense of 0, -1 or +1."""
    u = error / scale
    size = abs(u)
    decay = exp(-size)
    curvature = decay / ((1.0 + decay) * (1.0 + decay) * scale)
    if side != 0:
        margin = side * u
        # An error that is NaN gives NaN: the comparisons are false.
        value = log1p(decay) if margin >= 0 else log1p(decay) - margin
        return scale * value, -side * (decay if margin >= 0 else 1.0) / (1.0 + decay), curvature
    # cosh(x) = 1 + 2 sinh²(x/2): near 0 this form keeps all digits.
    if size < 1.0:
        half = sinh(0.25 * u)
        value = 2.0 * log1p(2.0 * half * half)
    else:
        value = size + 2.0 * log1p(decay) - LEAST_SUM
    return scale * value, tanh(0.5 * u), 2.0 * curvature


@compiled
def logistic_value_and_slopes(prediction: Any, target: Any, sense: Any, weight: Any, scale: Any) -> Any:
    """Total value, weighted slopes (m,), and Σ |slope · prediction|, the scale of the value's rounding error."""
    m = prediction.shape[0]
    slope = np.empty(m, prediction.dtype)
    total = 0.0
    rounding = 0.0
    for e in range(m):
        value, pull, _ = logistic_at(np.float64(prediction[e] - target[e]), sense[e], scale)
        pull *= np.float64(weight[e])
        slope[e] = pull
        total += np.float64(weight[e]) * value
        rounding += abs(pull * np.float64(prediction[e]))
    return total, slope, rounding


@compiled
def logistic_along(a: Any, b: Any, c: Any, target: Any, sense: Any, weight: Any, scale: Any, s: Any) -> Any:
    """Value, slope and curvature in s of the loss of the predictions a + b s + c s²."""
    total = 0.0
    slope = 0.0
    curvature = 0.0
    for e in range(a.shape[0]):
        error = np.float64(a[e]) - np.float64(target[e]) + s * (np.float64(b[e]) + s * np.float64(c[e]))
        speed = np.float64(b[e]) + 2.0 * s * np.float64(c[e])
        value, pull, bend = logistic_at(error, sense[e], scale)
        w = np.float64(weight[e])
        total += w * value
        slope += w * pull * speed
        curvature += w * (bend * speed * speed + 2.0 * pull * np.float64(c[e]))
    return total, slope, curvature
