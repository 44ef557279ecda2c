"""The squared loss, two-sided or one-sided by sense, summed in float64 in one sweep over the measurements."""

from typing import Any

import numpy as np

from gramian._kernels.compiled import compiled


@compiled
def squared_value_and_slopes(prediction: Any, target: Any, sense: Any, weight: Any) -> Any:
    """Total value, weighted slopes (m,), and Σ |slope · prediction|, the scale of the value's rounding error."""
    m = prediction.shape[0]
    slope = np.empty(m, prediction.dtype)
    value = 0.0
    scale = 0.0
    for e in range(m):
        error = prediction[e] - target[e]
        if sense[e] * error < 0 or sense[e] == 0:
            slope[e] = weight[e] * error
            value += 0.5 * np.float64(slope[e]) * np.float64(error)
            scale += abs(np.float64(slope[e]) * np.float64(prediction[e]))
        else:
            slope[e] = 0
            # A prediction that is not a number satisfies nothing.
            value += 0.0 * np.float64(error)
    return value, slope, scale


@compiled
def squared_along(a: Any, b: Any, c: Any, target: Any, sense: Any, weight: Any, s: Any) -> Any:
    """Value, slope and curvature in s of the loss of the predictions a + b s + c s²."""
    value = 0.0
    slope = 0.0
    curvature = 0.0
    for e in range(a.shape[0]):
        error = np.float64(a[e]) - np.float64(target[e]) + s * (np.float64(b[e]) + s * np.float64(c[e]))
        if sense[e] * error < 0 or sense[e] == 0:
            w = np.float64(weight[e])
            speed = np.float64(b[e]) + 2.0 * s * np.float64(c[e])
            value += 0.5 * w * error * error
            slope += w * error * speed
            curvature += w * (speed * speed + 2.0 * error * np.float64(c[e]))
        else:
            value += 0.0 * error
    return value, slope, curvature


@compiled
def squared_quartic(a: Any, b: Any, c: Any, target: Any, weight: Any) -> Any:
    """Coefficients (5,), constant first, of ½ Σ weight (a - target + b s + c s²)²."""
    constant, linear, square, cube, fourth = 0.0, 0.0, 0.0, 0.0, 0.0
    for e in range(a.shape[0]):
        w = np.float64(weight[e])
        u, v, x = np.float64(a[e]) - np.float64(target[e]), np.float64(b[e]), np.float64(c[e])
        constant += w * u * u
        linear += w * u * v
        square += w * (0.5 * v * v + u * x)
        cube += w * v * x
        fourth += w * x * x
    return np.array([0.5 * constant, linear, square, cube, 0.5 * fourth])
