"""The threshold of a distance: the one that best classifies pairs as similar or dissimilar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from gramian.checks import check_number
from gramian.types import Vector

__all__ = ["Calibration", "best_threshold", "check_no_calibration", "resolve_calibration"]

STRATEGIES = ("accuracy", "balanced", "f_beta", "max_tpr", "max_tnr")
#: The relative difference up to which values of F_beta in floating point are compared again, exactly.
NEAR_TIE = 1e-9


@dataclass(frozen=True)
class Calibration:
    """What a threshold should be best at; similar pairs are the positive ones.

    Parameters
    ----------
    strategy : {"accuracy", "balanced", "f_beta", "max_tpr", "max_tnr"}
    beta : float
        The weight of the recall in F_beta, for "f_beta".
    min_rate : float or None
        The least true negative rate for "max_tpr", the least true positive rate for "max_tnr".
    """

    strategy: Any = "accuracy"
    beta: Any = 1.0
    min_rate: Any = None

    def __post_init__(self) -> None:
        """Raise a ValueError that names the first argument that is not valid."""
        if not isinstance(self.strategy, str) or self.strategy not in STRATEGIES:
            names = ", ".join(repr(name) for name in STRATEGIES)
            raise ValueError(f"strategy={self.strategy!r} is unknown. Choose one of {names}.")
        check_number("beta", self.beta, least=0)
        needed = self.strategy in ("max_tpr", "max_tnr")
        if self.min_rate is None and needed:
            raise ValueError(f"min_rate is missing; strategy={self.strategy!r} needs it. Give a number from 0 to 1.")
        if self.min_rate is not None and not is_rate(self.min_rate):
            raise ValueError(f"min_rate={self.min_rate!r} is not valid. Choose a number from 0 to 1.")


def is_rate(value: Any) -> bool:
    """Return True for a number from 0 to 1."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) <= 1


def check_no_calibration(params: Any) -> None:
    """Raise a ValueError if `calibration_params` asks for a calibration, but X holds samples."""
    if params is not None:
        raise ValueError("calibration_params is given, but X holds samples: a threshold is calibrated on pairs.")


def resolve_calibration(params: Any, y: Any) -> Calibration:
    """Return the calibration that `calibration_params` of a fit asks for; None stands for the highest accuracy.

    Raises a ValueError if the parameters are not valid, or if there are no signs y to calibrate on.
    """
    if params is None:
        return Calibration()
    known = [field.name for field in fields(Calibration)]
    if not isinstance(params, Mapping):
        raise ValueError(f"calibration_params={params!r} is not valid. Give a dict with any of {known}.")
    unknown = [name for name in params if name not in known]
    if unknown:
        raise ValueError(f"calibration_params has the key {unknown[0]!r}, which is unknown. Choose from {known}.")
    if y is None:
        raise ValueError("calibration_params is given without y: a threshold is calibrated on signs of pairs. Give y.")
    return Calibration(**params)


class Counts(NamedTuple):
    """True and false positives, if the pairs at the k smallest distances are called similar, for k = 0, 1, ..."""

    true: Vector
    false: Vector


def best_threshold(distance: Vector, y: Vector, calibration: Calibration) -> float:
    """Return the threshold that is best on distances (m,) with signs (m,); the lowest of several.

    It lies halfway between two distances, or beyond all of them. Ties are exact.
    """
    values, rank = np.unique(distance, return_inverse=True)
    similar, dissimilar = (np.bincount(rank[y == sign], minlength=len(values)) for sign in (1, -1))
    counts = Counts(*(np.cumsum(np.concatenate([[0], kind])) for kind in (similar, dissimilar)))
    return threshold_after(values, best_cut(counts, calibration))


def best_cut(counts: Counts, calibration: Calibration) -> int:
    """Return the number of smallest distances that are best called similar; the lowest of several."""
    true, false = counts
    n_similar, n_dissimilar = int(true[-1]), int(false[-1])
    if calibration.strategy == "accuracy":
        return int(np.argmax(true - false))
    if calibration.strategy == "balanced":
        return int(np.argmax(n_dissimilar * true - n_similar * false))
    if calibration.strategy == "f_beta":
        return best_cut_of_f_beta(counts, float(calibration.beta))
    # Of equal rates, the one with the better other rate. A rate is rounded once, as the decimal number min_rate is.
    rejected = n_dissimilar - false
    if calibration.strategy == "max_tpr":
        allowed, gain = rejected / n_dissimilar >= calibration.min_rate, true * (n_dissimilar + 1) + rejected
    else:
        allowed, gain = true / n_similar >= calibration.min_rate, rejected * (n_similar + 1) + true
    return int(np.argmax(np.where(allowed, gain, -1)))


def best_cut_of_f_beta(counts: Counts, beta: float) -> int:
    """Return the cut with the highest F_beta = (1 + β²) TP / (β² (TP + FN) + TP + FP); the lowest of several."""
    true, called = counts.true, counts.true + counts.false
    share = 1 / (1 + beta * beta)
    below = (1 - share) * true[-1] + share * called
    score = np.divide(true, below, out=np.zeros(len(true)), where=true > 0)
    near = np.flatnonzero(score >= (1 - NEAR_TIE) * score.max())
    weighted = Fraction(beta) ** 2 * int(true[-1])
    exact = [int(true[k]) / (weighted + int(called[k])) for k in near]
    return int(near[exact.index(max(exact))])


def threshold_after(values: Vector, k: int) -> float:
    """Return a number between the k-th and the next of different sorted distances, in their own precision.

    It is at least the former, and below the latter.
    """
    half = values.dtype.type(0.5)
    if k == 0:
        below = half * values[0]
        # Half of the smallest positive numbers is rounded up, or to 0.
        return float(below) if below < values[0] else float(-half * values[-1]) or -1.0
    last = values[k - 1]
    if k == len(values):
        return float(last + half * last) if last < half * np.finfo(values.dtype).max else float(last)
    middle = last + half * (values[k] - last)
    return float(middle if middle < values[k] else last)
