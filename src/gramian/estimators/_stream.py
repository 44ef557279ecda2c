"""Samples and tuples of a stream: those that are too few to learn from are kept until more come."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse

from gramian.blocked import is_blocked
from gramian.checks import as_numbers, check_size, validate_weight
from gramian.estimators._blocks import close_own_cluster
from gramian.estimators._checks import (
    SAMPLE_OPTIONS,
    check_components,
    check_labels_given,
    check_metric_settings,
    check_solver_settings,
    restore_on_failure,
    validate_input,
)
from gramian.estimators._rounds import supervise_by_labels
from gramian.estimators._threshold import Calibration
from gramian.execution import one_blas_thread
from gramian.extremes import extremes_of
from gramian.supervision.checks import has_partner, read_labels
from gramian.supervision.tuples import TUPLES
from gramian.types import Matrix, Vector

if TYPE_CHECKING:
    from gramian.estimators.metric import MetricLearner

__all__ = ["Chunk", "TupleChunk", "continue_with_labels", "continue_with_tuples", "is_new"]

Learner = TypeVar("Learner", bound="MetricLearner")

#: The largest number of samples that are kept.
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
    def size(self) -> int:
        """The number of samples."""
        return len(self.y)

    def suffices(self, least: int = 0) -> bool:
        """Return True if a distance can be learned from these samples, and there are at least `least` of them.

        Those of positive weight must have two classes, one of them two samples.
        """
        used = self.y if self.sample_weight is None else self.y[self.sample_weight > 0]
        return len(self.y) >= least and len(np.unique(used)) > 1 and bool(has_partner(used).any())

    def own(self) -> Chunk:
        """Return a copy: the arrays of a chunk may be those of the caller, who may write to them."""
        return self._replace(X=self.X.copy(), y=np.array(self.y))

    def join(self, other: Chunk) -> Chunk:
        """Return the samples of both."""
        X = stack(self.X, other.X)
        y = np.asarray(read_labels(np.array([*self.y.tolist(), *other.y.tolist()], dtype=object)))
        y = y.astype(str) if y.dtype == object else y
        return Chunk(X, y, join_weights(self, other))


class TupleChunk(NamedTuple):
    """Pairs, triplets or quadruplets of a stream, validated.

    Attributes
    ----------
    X : array or CSR matrix, shape (n, d)
        The samples that occur in the tuples.
    tuples : array of int, shape (m, k)
        Row indices of X.
    sample_weight : array, shape (m,), or None
    y, target, sense : arrays, shape (m,), or None
        Signs of pairs; or squared distances and senses.
    """

    X: Any
    tuples: Matrix
    sample_weight: Vector | None = None
    y: Vector | None = None
    target: Vector | None = None
    sense: Vector | None = None

    @property
    def size(self) -> int:
        """The number of tuples."""
        return len(self.tuples)

    @property
    def name(self) -> str:
        """What the tuples are: pairs, triplets or quadruplets."""
        return TUPLES[self.tuples.shape[1]]

    def join(self, other: TupleChunk) -> TupleChunk:
        """Return the tuples of both; raise a ValueError if one has signs, and the other squared distances."""
        if (self.y is None) != (other.y is None):
            had, has = ("target", "y") if self.y is None else ("y", "target")
            raise ValueError(f"{has} is given, but the pairs that are kept have {had}. Call fit_pairs to start anew.")
        tuples = np.concatenate([self.tuples, other.tuples + self.X.shape[0]])
        joined = {name: join_arrays(getattr(self, name), getattr(other, name)) for name in ("y", "target", "sense")}
        return TupleChunk(stack(self.X, other.X), tuples, join_weights(self, other), **joined)

    def supervise(self, given: Any) -> Any:
        """Return a supervision by given tuples, with its tuples replaced by these."""
        parts = {"sample_weight": self.sample_weight, self.name: self.tuples}
        if self.name == "pairs":
            parts |= {"y": self.y, "target": self.target, "sense": self.sense}
        return replace(given, **parts)


def stack(first: Any, second: Any) -> Any:
    """Return the rows of two arrays or CSR matrices."""
    if scipy.sparse.issparse(first) or scipy.sparse.issparse(second):
        return scipy.sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])


def join_arrays(first: Vector | None, second: Vector | None) -> Vector | None:
    """Return the entries of both; None if one is None."""
    return None if first is None or second is None else np.concatenate([first, second])


def join_weights(*chunks: Chunk | TupleChunk) -> Vector | None:
    """Return the weights of chunks; 1 for those that have none, None if all have none."""
    if all(chunk.sample_weight is None for chunk in chunks):
        return None
    return np.concatenate([np.ones(each.size) if each.sample_weight is None else each.sample_weight for each in chunks])


def read_chunk(learner: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Chunk:
    """Return validated samples, class labels and weights; one sample is enough."""
    X, y = validate_input(learner, X, y=y, reset=reset, **SAMPLE_OPTIONS)
    return Chunk(X, y, keep_weight(sample_weight, len(y)))


def keep_weight(sample_weight: Any, count: int) -> Vector | None:
    """Return weights (m,) as they are given, since those of several chunks must be comparable; None for none."""
    if sample_weight is None:
        return None
    validate_weight(sample_weight, count, np.dtype(np.float64))
    return np.broadcast_to(as_numbers("sample_weight", sample_weight), (count,))


def is_new(learner: Any) -> bool:
    """Return True if a learner knows no features yet: it is not fitted, and keeps nothing."""
    return not (hasattr(learner, "components_") or learner.kept_ is not None or learner.kept_tuples_)


def least_samples(learner: Any) -> int:
    """Return the number of samples that a stream needs to begin: n centred samples have n - 1 directions."""
    rank = learner.n_components
    if hasattr(learner, "components_") or not isinstance(rank, Integral):
        return 0
    return int(rank) + 1


def join_chunk(learner: Any, X: Any, y: Any, sample_weight: Any) -> Chunk:
    """Return labelled samples of a stream together with those that the learner kept before."""
    if is_blocked(X):
        raise ValueError("X is in blocks: partial_fit takes one block at a time, in memory. Call fit for all of them.")
    kept = learner.kept_
    chunk = read_chunk(learner, X, y, sample_weight, reset=is_new(learner))
    return chunk if kept is None else kept.join(chunk)


def check_kept(learner: Any, X: Any, power: int) -> None:
    """Raise a ValueError if a learner cannot learn from samples (n, d) that it keeps, whatever batches follow.

    Learning takes entries of X to a power.
    """
    check_size("X", extremes_of(X).largest, power)
    check_metric_settings(learner)
    check_solver_settings(learner)
    check_components(learner.n_components, X.shape[1], learner._resolve_geometry())


def continue_with_labels(learner: Learner, X: Any, y: Any, sample_weight: Any) -> Learner:
    """Learn from labelled samples of a stream, and those kept before; or keep them all. Return the learner."""
    with restore_on_failure(learner), close_own_cluster(learner), one_blas_thread():
        check_labels_given(learner, y)
        chunk = join_chunk(learner, X, y, sample_weight)
        supervision = supervise_by_labels(learner, chunk.y, chunk.sample_weight)
        if not chunk.suffices(least_samples(learner)):
            check_kept(learner, chunk.X, 2)
            check_number_of_samples(chunk)
            learner.kept_ = chunk.own()
            return learner
        learner.kept_ = None
        check_metric_settings(learner)
        learned = learner._learn(chunk.X, supervision, streaming=True)
    return learner._end(learned)


def continue_with_tuples(learner: Any, X: Any, given: Any, calibration: Calibration | None = None) -> Any:
    """Learn from given tuples of a stream, and those kept before; or keep them all. Return the learner."""
    least = least_samples(learner)
    name = next(name for name in TUPLES.values() if hasattr(given, name))
    if is_blocked(X) or (name not in learner.kept_tuples_ and can_learn(given, count_rows(X), least)):
        return learner._fit(X, given, calibration, streaming=True)
    with restore_on_failure(learner), close_own_cluster(learner), one_blas_thread():
        chunk = read_tuple_chunk(learner, X, given, name)
        kept = dict(learner.kept_tuples_)
        chunk = kept.pop(name).join(chunk) if name in kept else chunk
        supervision = chunk.supervise(given)
        if not can_learn(supervision, chunk.X.shape[0], least):
            check_kept(learner, chunk.X, 4)
            check_number_of_tuples(chunk)
            learner.kept_tuples_ = {**kept, name: chunk}
            return learner
        learner.kept_tuples_ = kept
        check_metric_settings(learner)
        learned = learner._learn(chunk.X, supervision, calibration, streaming=True)
    return learner._end(learned)


def count_rows(X: Any) -> int:
    """Return the number of samples in X; 0 if it is not known."""
    shape = getattr(X, "shape", None)
    return shape[0] if shape else len(X) if hasattr(X, "__len__") else 0


def can_learn(given: Any, n_samples: int, least: int) -> bool:
    """Return True if a distance can be learned from tuples of `n_samples` samples; `least` are needed.

    Pairs with signs must be near and far ones, unless bounds are known. Their arrays need not be valid.
    """
    signs = getattr(given, "y", None)
    if n_samples < least or signs is None or given.bounds is not None or given.earlier is not None:
        return n_samples >= least
    signs = np.asarray(signs)
    if given.sample_weight is not None:
        weight = as_numbers("sample_weight", given.sample_weight)
        signs = signs[weight > 0] if weight.shape == signs.shape else signs
    return len({*signs.ravel().tolist()}) > 1


def read_tuple_chunk(learner: Any, X: Any, given: Any, name: str) -> TupleChunk:
    """Return validated tuples, with the samples that occur in them; those of weight 0 are left out."""
    X = validate_input(learner, X, reset=is_new(learner), **SAMPLE_OPTIONS)
    valid = (replace(given, one_kind=True) if name == "pairs" else given).validate(X.shape[0])
    weight = keep_weight(given.sample_weight, count_rows(getattr(given, name)))
    rows, tuples = np.unique(getattr(valid, name), return_inverse=True)
    tuples = tuples.reshape(len(valid), -1)
    rest = (valid.y, valid.target, valid.sense) if name == "pairs" else ()
    return TupleChunk(X[rows], tuples, None if weight is None else weight[weight > 0], *rest)


def check_number_of_samples(chunk: Chunk) -> None:
    """Raise a ValueError if more than MOST_KEPT samples would have to be kept."""
    if chunk.size > MOST_KEPT:
        raise ValueError(
            f"{chunk.size} samples of the stream would have to be kept, more than {MOST_KEPT}: they have one class "
            "only, or a single sample in every class. Shuffle the stream, so that a chunk has several classes."
        )


def check_number_of_tuples(chunk: TupleChunk) -> None:
    """Raise a ValueError if more than MOST_KEPT tuples would have to be kept."""
    if len(chunk.tuples) > MOST_KEPT:
        raise ValueError(
            f"{len(chunk.tuples)} {chunk.name} of the stream would have to be kept, more than {MOST_KEPT}: they have "
            "one sign only, or too few samples. Shuffle the stream, or give bounds."
        )
