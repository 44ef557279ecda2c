"""Checks of the parameters of estimators. Errors name the argument, its value, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.blocked import BlockedFeatures, is_in_files
from gramian.checks import FLOATS, as_canonical, as_numbers, check_kind, check_number, check_sparse
from gramian.estimators._blocks import validate_blocked
from gramian.geometries import GEOMETRIES, Geometry
from gramian.mapped import check_map, is_large_map, is_map
from gramian.supervision.checks import read_labels
from gramian.warn import warn_user

__all__ = [
    "LARGEST_FULL",
    "SAMPLE_OPTIONS",
    "check_callback",
    "check_components",
    "check_flag",
    "check_labels_given",
    "check_metric_settings",
    "check_n_constraints",
    "check_scale",
    "check_solver_settings",
    "resolve_part",
    "resolve_rank",
    "resolve_regularisation",
    "restore_on_failure",
    "validate_input",
]

Kind = TypeVar("Kind")
#: The largest number of features for which a full-rank factor is learned.
LARGEST_FULL = 5000
#: Arguments for `validate_input` of samples that are learned from.
SAMPLE_OPTIONS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


def validate_input(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """Return X, and y if given, as scikit-learn's `validate_data` does with these options.

    In addition, sparse matrices are checked fully, and masked entries and dates are refused. Bad entries of a
    memory-mapped file are named. y of objects is read: as numbers if `y_numeric` is True, else as class labels.
    """
    if isinstance(X, BlockedFeatures):
        return validate_blocked(estimator, X, y, options)
    if is_in_files(X):
        raise ValueError(
            f"X is {'a table' if hasattr(X, 'to_npy') else 'a list of files'}, which {type(estimator).__name__} does "
            "not read here. Give arrays: X, y = open_table(...).to_npy(folder) copies a table to files that are mapped "
            "into memory. fit_stream, where there is one, learns from its batches."
        )
    if isinstance(X, str | PathLike):
        raise ValueError(
            f"X is a path, {str(X)!r}; expected samples. Load them, for example by np.load(path, mmap_mode='r'), or "
            f"give a list of files, [{str(X)!r}], where an estimator reads them."
        )
    check_kind("X", X)
    if scipy.sparse.issparse(X):
        check_sparse(X)
        X = as_canonical(X)
    if is_large_map(X) and (X.dtype not in FLOATS or not X.flags.c_contiguous):
        warn_user(
            f"X is memory-mapped as {X.dtype}{'' if X.flags.c_contiguous else ', not in C order'}, and is copied whole "
            f"into memory: {X.size * 8 / 1e9:.2g} GB. Save it as float32 or float64, in C order."
        )
    finite = options.get("ensure_all_finite", True)
    if finite is not False and is_map(X) and X.ndim == 2 and X.dtype in FLOATS:
        check_map(X, allow_missing=finite == "allow-nan")
        # They need not be read twice.
        options["ensure_all_finite"] = False
    if not (y is None or isinstance(y, str)):
        check_kind("y", y, labels=not options.get("y_numeric", False))
        if not options.get("y_numeric", False):
            y = read_labels(y)
        elif getattr(getattr(y, "dtype", None), "kind", "O") == "O":
            y = as_numbers("y", y)
    # The sum of inf and -inf, by which scikit-learn looks for both, is not worth a warning before its error.
    with np.errstate(invalid="ignore"):
        return validate_data(estimator, X, y, **options)


def resolve_part(name: str, value: Any, registry: Mapping[str, type[Kind]], kind: type[Kind]) -> Kind:
    """Return the object itself, or a new object of the class that the registry has under this name."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in registry:
        return registry[value]()
    if isinstance(value, type) and issubclass(value, kind):
        raise ValueError(f"{name}={value.__name__} is a class. Give an object: {value.__name__}().")
    names = ", ".join(repr(known) for known in registry)
    raise ValueError(f"{name}={value!r} is unknown. Choose one of {names}, or a {kind.__name__} object.")


def check_scale(geometry: Geometry) -> None:
    """Raise a ValueError if the matrices of the geometry have no scale, which distances need."""
    if geometry.bounded:
        raise ValueError(f"geometry={geometry!r} has no scale. Choose 'scaled', 'flat' or 'polar'.")


def check_verbose(verbose: Any) -> None:
    """Raise a ValueError unless the level of messages is True, False, or an integer of at least 0."""
    check_number("verbose", int(verbose) if isinstance(verbose, bool) else verbose, least=0, integer=True)


def check_callback(callback: Any) -> None:
    """Raise a ValueError unless the callback is callable or None."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r} cannot be called. Give a function of one argument, or None.")


def resolve_rank(rank: Any, n_features: int, geometry: Geometry, rows: str = "n_features") -> int:
    """Return the rank as an integer: n_features if None; raise a ValueError if the geometry cannot have it.

    `rows` is the name of n_features in errors.
    """
    if rank is None:
        return n_features
    check_number("rank", rank, least=1, integer=True, also=(None, "auto"))
    if rank > n_features:
        raise ValueError(f"rank={rank} exceeds {rows}={n_features}. Choose rank <= {n_features}.")
    if geometry.full_rank and rank != n_features:
        name = next((key for key, known in GEOMETRIES.items() if type(geometry) is known), repr(geometry))
        raise ValueError(
            f"geometry={name!r} learns full-rank matrices, but rank={rank} and {rows}={n_features}. "
            "Choose rank=None, or geometry='scaled', 'flat' or 'polar'."
        )
    return int(rank)


def check_components(n_components: Any, n_features: int, geometry: Geometry) -> None:
    """Raise a ValueError unless the geometry has distances of rank n_components on n_features features."""
    check_scale(geometry)
    if n_components is None and n_features > LARGEST_FULL:
        raise ValueError(
            f"n_components=None would learn a {n_features} x {n_features} matrix. Choose a number of components."
        )
    if n_components is None:
        return
    if n_components == "auto":
        raise ValueError("n_components='auto' is not valid. Choose a number, or None. MetricLearnerCV chooses one.")
    check_number("n_components", n_components, least=1, integer=True, also=(None,))
    if n_components > n_features:
        raise ValueError(
            f"n_components={n_components} exceeds n_features={n_features}. Choose n_components <= {n_features}."
        )
    if geometry.full_rank and n_components < n_features:
        raise ValueError(f"geometry={geometry!r} learns full-rank distances. Choose n_components=None.")


def check_learned(learner: Any) -> None:
    """Raise a NotFittedError unless a learner of distances is fitted; it says if samples of a stream are kept."""
    chunks = [getattr(learner, "kept_", None), *getattr(learner, "kept_tuples_", {}).values()]
    count = sum(chunk.X.shape[0] for chunk in chunks if chunk is not None)
    waiting = (
        f"This %(name)s has learned nothing yet. It keeps the {count} samples that came: they are too few, or of one "
        "class, or their pairs of one sign. Give more of the stream."
    )
    check_is_fitted(learner, **({"msg": waiting} if count else {}))


def check_flag(name: str, value: Any) -> None:
    """Raise a ValueError unless a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} is not valid. Choose True or False.")


def check_solver_settings(estimator: Any) -> None:
    """Raise a ValueError that names the first invalid parameter among those of the solver."""
    for name in ("max_iter", "n_epochs"):
        check_number(name, getattr(estimator, name), least=0, integer=True)
    check_number("batch_size", estimator.batch_size, least=1, integer=True)
    check_number("tol", estimator.tol, least=0)


def check_metric_settings(learner: Any) -> None:
    """Raise a ValueError that names the first invalid parameter of a MetricLearner."""
    for name in ("n_targets", "n_impostors", "n_rounds"):
        check_number(name, getattr(learner, name), least=1, integer=True)
    for name in ("pull", "regularisation", "regularization", "shrinkage"):
        value = getattr(learner, name)
        if not (isinstance(value, str) and value == "auto") and not (value is None and name == "regularization"):
            check_number(name, value, least=0, also=("auto",))
    resolve_regularisation(learner)
    for name in ("warm_start", "balanced"):
        check_flag(name, getattr(learner, name))
    check_class_weight(learner.class_weight)
    check_n_constraints(learner.n_constraints)


def check_n_constraints(n_constraints: Any) -> None:
    """Raise a ValueError unless the number of constraints is None, or an integer of at least 1."""
    if n_constraints is not None:
        check_number("n_constraints", n_constraints, least=1, integer=True, also=(None,))


def resolve_regularisation(learner: Any) -> Any:
    """Return the penalty weight by either of its two spellings; raise a ValueError if both are set."""
    if learner.regularization is None:
        return learner.regularisation
    if not (isinstance(learner.regularisation, str) and learner.regularisation == "auto"):
        raise ValueError(
            f"regularisation={learner.regularisation!r} and regularization={learner.regularization!r} are both set, "
            "but they are one parameter. Set one of them."
        )
    return learner.regularization


def check_class_weight(class_weight: Any) -> None:
    """Raise a ValueError unless the weights of classes are None, "balanced", or a dict of numbers."""
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            check_number(f"class_weight[{label!r}]", weight, least=0)
    elif class_weight is not None and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ValueError(f"class_weight={class_weight!r} is not valid. Choose None, 'balanced', or a dict.")


def check_labels_given(learner: Any, y: Any) -> None:
    """Raise a ValueError that says which y is needed if there is none."""
    if y is None:
        raise ValueError(
            f"This {type(learner).__name__} estimator requires y to be passed, but the target y is None. X holds "
            "samples (n, d), for which y is the class labels (n,). Pairs, triplets and quadruplets of points have the "
            "shapes (m, 2, d), (m, 3, d) and (m, 4, d)."
        )


@contextmanager
def restore_on_failure(estimator: Any) -> Iterator[None]:
    """Restore the attributes of the estimator if the block raises an exception."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
