"""Scales: parts of a stream on another scale undo what was learned before; W may leave the range of numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gramian.mapped import is_map
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["Scale", "matrix_of", "note_scale"]

#: A part whose entries are larger or smaller than those before by this factor is warned of.
LARGEST_CHANGE = 5.0
#: Fewer samples do not tell their scale.
LEAST_SAMPLES = 20
#: The largest number of samples that the scale of a part is computed from.
MOST_SAMPLES = 4096


class Scale(NamedTuple):
    """The typical size of the entries of each feature, and of how many samples.

    It is the mean of |x| over the entries that are not 0: neither features that are mostly 0 nor a few large entries
    change it much from part to part.

    Attributes
    ----------
    total : array, shape (d,)
        Sums of |x|.
    present : array, shape (d,)
        The numbers of entries that are not 0.
    n_samples : int
    """

    total: Vector
    present: Vector
    n_samples: int

    @classmethod
    def of(cls, X: Any) -> Scale:
        """Return the scale of an array (n, d), (n, d, d) or a CSR matrix; of many samples, of evenly spaced ones."""
        n = X.shape[0]
        part = X[:: -(-n // MOST_SAMPLES)] if n > MOST_SAMPLES else X
        part = part if scipy.sparse.issparse(part) else part.reshape(len(part), -1)
        total = np.asarray(abs(part).sum(axis=0, dtype=np.float64)).ravel()
        present = np.asarray((part != 0).sum(axis=0), np.float64).ravel()
        return cls(total, present, n)

    def join(self, other: Scale) -> Scale:
        """Return the scale of the samples of both."""
        return Scale(self.total + other.total, self.present + other.present, self.n_samples + other.n_samples)

    def ratio(self, other: Scale) -> float:
        """Return how many times as large as another scale this one is: the median over the features; 1 if unknown."""
        known = (self.total > 0) & (other.total > 0)
        if not known.any() or min(self.n_samples, other.n_samples) < LEAST_SAMPLES:
            return 1.0
        sizes = [scale.total[known] / scale.present[known] for scale in (self, other)]
        return float(np.median(sizes[0] / sizes[1]))


def note_scale(estimator: Any, X: Any, *, resume: bool) -> None:
    """Store the scale of the samples that an estimator has learned from; warn if those of a later part differ much.

    `resume` is True for the second part of a stream and those after it. Data in files and on workers are left out.
    """
    before = getattr(estimator, "_scale", None) if resume else None
    vars(estimator).pop("_scale", None)
    if is_map(X) or not (isinstance(X, np.ndarray) or scipy.sparse.issparse(X)):
        return
    scale = Scale.of(X)
    if before is not None and before.total.shape == scale.total.shape:
        warn_of_change(scale.ratio(before))
        scale = before.join(scale)
    estimator._scale = scale


def warn_of_change(ratio: float) -> None:
    """Issue a warning if the samples of a part are larger or smaller than those before by a large factor."""
    if not 1 / LARGEST_CHANGE <= ratio <= LARGEST_CHANGE:
        warn_user(
            f"the samples of this part are {ratio:.2g} times as large as those of the stream before, by the median of "
            "the features: what was learned from those does not fit these. Scale all parts by one scaler."
        )


def matrix_of(factor: Matrix) -> Matrix:
    """Return W = G Gᵀ, shape (d, d); raise a ValueError if it is infinite, or 0 for a factor that is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        W = factor @ factor.T
    if not np.isfinite(W).all() or (not W.any() and factor.any()):
        size = float(np.abs(factor).max())
        raise ValueError(
            f"W is outside the range of {W.dtype}: its factor has entries up to {size:.1e}. Use factor_, or scale X."
        )
    return W
