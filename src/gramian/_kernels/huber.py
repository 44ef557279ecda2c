"""The Huber loss, two-sided or one-sided by sense, summed in float64 in one sweep over the measurements."""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def huber_value_and_slopes(prediction: Any, target: Any, sense: Any, weight: Any, delta: Any) -> Any:
    """Total value, weighted slopes (m,), and Σ |slope · prediction|, the scale of the value's rounding error."""
    m = prediction.shape[0]
    slope = np.empty(m, prediction.dtype)
    value = 0.0
    scale = 0.0
    for e in range(m):
        error: Any = np.float64(prediction[e] - target[e])
        # A prediction that is not a number satisfies nothing.
        if sense[e] * error > 0:
            error = 0.0
        clipped = min(max(error, -delta), delta) if error == error else error
        pull = np.float64(weight[e]) * clipped
        slope[e] = pull
        value += pull * (error - 0.5 * clipped)
        scale += abs(pull * np.float64(prediction[e]))
    return value, slope, scale


@compiled
def huber_along(a: Any, b: Any, c: Any, target: Any, sense: Any, weight: Any, delta: Any, s: Any) -> Any:
    """Value, slope and curvature in s of the loss of the predictions a + b s + c s²."""
    value = 0.0
    slope = 0.0
    curvature = 0.0
    for e in range(a.shape[0]):
        error = np.float64(a[e]) - np.float64(target[e]) + s * (np.float64(b[e]) + s * np.float64(c[e]))
        if sense[e] * error > 0 or (error == 0 and sense[e] != 0):
            continue
        w = np.float64(weight[e])
        speed = np.float64(b[e]) + 2.0 * s * np.float64(c[e])
        clipped = min(max(error, -delta), delta) if error == error else error
        value += w * clipped * (error - 0.5 * clipped)
        slope += w * clipped * speed
        curvature += w * 2.0 * clipped * np.float64(c[e])
        if abs(error) < delta:
            curvature += w * speed * speed
    return value, slope, curvature
