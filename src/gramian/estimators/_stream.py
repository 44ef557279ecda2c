"""Labelled samples of a stream that are too few to learn from, and are kept until more come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gramian.blocked import is_blocked
from gramian.checks import as_numbers, check_size, validate_weight
from gramian.estimators._checks import validate_input
from gramian.extremes import extremes_of
from gramian.supervision.checks import has_partner, read_labels
from gramian.types import Vector

__all__ = ["Chunk", "join_chunk"]

#: So many samples are kept at the most.
MOST_KEPT = 10_000


class Chunk(NamedTuple):
    """Labelled samples of a stream, validated.

    Attributes
    ----------
    X : array or CSR matrix, shape (n, d)
    y : array, shape (n,)
        Class labels.
    sample_weight : array, shape (n,), or None
    """

    X: Any
    y: Vector
    sample_weight: Vector | None

    @property
    def sufficient(self) -> bool:
        """True if a distance can be learned: samples of positive weight have two classes, one of them two samples."""
        used = self.y if self.sample_weight is None else self.y[self.sample_weight > 0]
        return len(np.unique(used)) > 1 and bool(has_partner(used).any())

    def join(self, other: Chunk) -> Chunk:
        """Return the samples of both."""
        sparse = scipy.sparse.issparse(self.X) or scipy.sparse.issparse(other.X)
        X = scipy.sparse.vstack([self.X, other.X], format="csr") if sparse else np.concatenate([self.X, other.X])
        y = np.asarray(read_labels(np.array([*self.y.tolist(), *other.y.tolist()], dtype=object)))
        y = y.astype(str) if y.dtype == object else y
        if self.sample_weight is None and other.sample_weight is None:
            return Chunk(X, y, None)
        weights = [np.ones(len(part.y)) if part.sample_weight is None else part.sample_weight for part in (self, other)]
        return Chunk(X, y, np.concatenate(weights))


def read_chunk(learner: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Chunk:
    """Return validated samples, class labels and weights; one sample is enough."""
    kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
    X, y = validate_input(learner, X, y=y, reset=reset, **kinds)
    check_size("X", extremes_of(X).largest, 2)
    if sample_weight is None:
        return Chunk(X, y, None)
    validate_weight(sample_weight, len(y), np.dtype(np.float64))
    # As they are given: those of several chunks must be comparable.
    return Chunk(X, y, np.broadcast_to(as_numbers("sample_weight", sample_weight), (len(y),)))


def join_chunk(learner: Any, X: Any, y: Any, sample_weight: Any) -> Chunk:
    """Return labelled samples of a stream together with those that the learner kept before.

    Raises a ValueError if these would have to be kept, and are too many.
    """
    if is_blocked(X):
        raise ValueError("X is in blocks: partial_fit takes one block at a time, in memory. Call fit for all of them.")
    kept = learner.kept_
    chunk = read_chunk(learner, X, y, sample_weight, reset=kept is None and not hasattr(learner, "components_"))
    chunk = chunk if kept is None else kept.join(chunk)
    n = chunk.X.shape[0]
    if not chunk.sufficient and n > MOST_KEPT:
        raise ValueError(
            f"{n} samples of the stream would have to be kept, more than {MOST_KEPT}: they have one class only, or a "
            "single sample in every class. Shuffle the stream, so that a chunk has several classes."
        )
    return chunk
