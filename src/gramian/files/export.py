"""Learned maps as plain arrays, for programs that know nothing of gramian."""

from __future__ import annotations

import io
import json
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from gramian.estimators import SubspaceTracker
from gramian.files.atomic import write_atomically
from gramian.files.header import FORMAT, name_of, version_of
from gramian.types import Matrix, Vector

__all__ = ["export_map"]

SUFFIXES = (".npz", ".safetensors")
#: What z is for, by what the learner is.
DISTANCE = "z = weight x + bias; the learned distance is that of z, Euclidean"
CALLED_NEAR = "; a pair is called similar if it is at most `threshold`"
PREDICTION = (
    "z = weight x + bias; the prediction of y for a vector x is the squared norm of z, sum(z**2); for a matrix A it is "
    "trace(weight A weight^T)"
)
COORDINATES = "z = weight x + bias; the coordinates of x in the tracked subspace"


class Affine(NamedTuple):
    """The map x -> weight x + bias, with a weight (r, d) and a bias (r,)."""

    weight: Matrix
    bias: Vector

    def after_projection(self, weight: Matrix, mean: Vector | None) -> Affine:
        """Return the map of samples that are first mapped to weight (x - mean)."""
        total = self.weight @ weight
        return Affine(total, self.bias if mean is None else self.bias - total @ mean)

    def after_scaling(self, mean: Vector | None, scale: Vector | None) -> Affine:
        """Return the map of samples that are first mapped to (x - mean)/scale."""
        weight = self.weight if scale is None else self.weight / scale
        return Affine(weight, self.bias if mean is None else self.bias - weight @ mean)

    def after_selection(self, selected: Vector) -> Affine:
        """Return the map of samples of which the selected (d,) features are taken."""
        weight = np.zeros((len(self.weight), len(selected)))
        weight[:, selected] = self.weight
        return Affine(weight, self.bias)


def export_map(estimator: BaseEstimator, path: str | PathLike[str]) -> None:
    """Write the learned linear map as plain arrays, to an .npz or a .safetensors file, by the suffix of the path.

    The map takes a sample x (d,) to z = weight x + bias (r,), whose Euclidean distances are the learned ones. In a
    pipeline, scalers, feature selection and PCA before the learner are part of weight and bias; a classifier or a
    search after it is left out. So is a SimpleImputer: the map is for samples without missing values. A step after the
    learner that changes the images is refused.

    The arrays are

    - weight (r, d) and bias (r,): the map of samples as they are given to the estimator or the pipeline;
    - components (r, d'): the map of the learner alone, of the features that it sees;
    - mean (d,) and scale (d,), if a StandardScaler alone precedes: z = ((x - mean)/scale) componentsᵀ. This has fewer
      rounding errors than weight and bias where means are much larger than scales;
    - threshold (), if the learner has one, as after a fit to pairs: those at most this distance apart are similar;
    - feature_names (d,), if they are known.

    The metadata, as JSON, names the class, the versions, n_features and rank, and says what z is used for. In an .npz
    file it is the array `metadata`; a .safetensors file has it, and the names, in its own metadata. Neither file needs
    pickling.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted, with a linear map: `MetricLearner`, `MetricLearnerCV`, `SubspaceTracker`, the distances in
        `gramian.baselines`, or `PSDRegressor` of vectors, whose prediction is ‖z‖².
    path : str or path
        Ends in .npz or .safetensors; a file that exists is replaced, atomically.

    Examples
    --------
    >>> import gramian
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from tempfile import TemporaryDirectory
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gramian.MetricLearner(2, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     gramian.export_map(model, Path(folder) / "map.npz")
    ...     arrays = dict(np.load(Path(folder) / "map.npz"))
    >>> bool(np.allclose(X @ arrays["weight"].T + arrays["bias"], model.transform(X)))
    True
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(
            f"path={str(path)!r} ends in {path.suffix!r}; choose a name that ends in .npz or .safetensors."
        )
    arrays, names, metadata = collect(estimator)
    write_atomically(
        path, to_npz(arrays, names, metadata) if path.suffix == ".npz" else to_tensors(arrays, names, metadata)
    )


class Collected(NamedTuple):
    """The arrays of a map, the names of its features, and what it is."""

    arrays: dict[str, Matrix]
    names: list[str] | None
    metadata: dict[str, Any]


def collect(estimator: Any) -> Collected:
    """Return the arrays of the map of an estimator; raise a TypeError or a ValueError if it has none."""
    steps = flatten(estimator)
    last = max((i for i, step in enumerate(steps) if is_ours(step)), default=None)
    if last is None:
        raise TypeError(
            f"estimator={type(estimator).__name__} has no estimator of gramian. Give one, or a pipeline of one, "
            "or a search that was fitted."
        )
    earlier, learner, later = steps[:last], steps[last], steps[last + 1 :]
    check_is_fitted(learner)
    changing = [type(step).__name__ for step in later if hasattr(step, "transform") and not hasattr(step, "predict")]
    if changing:
        raise ValueError(
            f"{changing[0]} after {type(learner).__name__} changes the images, and is not part of the map. Export the "
            "pipeline without it, pipeline[:-1], or put it before the learner."
        )
    components = components_of(learner)
    dtype = components.dtype
    weight = components.astype(np.float64)
    mean = getattr(learner, "mean_", None)
    total = Affine(weight, np.zeros(len(weight)) if mean is None else -weight @ mean)
    for step in reversed(earlier):
        total = after(step, total)
    arrays = {"weight": total.weight.astype(dtype), "bias": total.bias.astype(dtype), "components": components}
    # A learner with a mean of its own has one more term: `weight` and `bias` hold it.
    if len(earlier) == 1 and isinstance(earlier[0], StandardScaler) and getattr(learner, "mean_", None) is None:
        d = components.shape[1]
        mean, scale = mean_of(earlier[0]), earlier[0].scale_
        arrays["mean"] = np.zeros(d) if mean is None else np.asarray(mean)
        arrays["scale"] = np.ones(d) if scale is None else np.asarray(scale)
    if hasattr(learner, "threshold_"):
        arrays["threshold"] = np.asarray(learner.threshold_, np.float64)
    names = getattr((earlier or [learner])[0], "feature_names_in_", None)
    metadata = {
        "format": f"gramian map {FORMAT}",
        "class": name_of(learner),
        "gramian": version_of("gramian"),
        "n_features": int(total.weight.shape[1]),
        "rank": len(components),
        "use": use_of(learner),
    }
    return Collected(arrays, None if names is None else [str(name) for name in names], metadata)


def use_of(learner: Any) -> str:
    """Return what the map of a learner is used for."""
    if isinstance(learner, RegressorMixin):
        return PREDICTION
    if isinstance(learner, SubspaceTracker):
        return COORDINATES
    return DISTANCE + (CALLED_NEAR if hasattr(learner, "threshold_") else "")


def is_ours(estimator: Any) -> bool:
    """Return True for an estimator of gramian."""
    return type(estimator).__module__.startswith("gramian.")


def flatten(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline and of pipelines in it, without those that pass samples through.

    A search that was fitted stands for its best estimator.
    """
    if not is_ours(estimator):
        estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(estimator, Pipeline):
        return [inner for _, step in estimator.steps for inner in flatten(step)]
    return [] if estimator is None or isinstance(estimator, str) else [estimator]


def components_of(learner: Any) -> Matrix:
    """Return the matrix (r, d) of a learner's map; raise a TypeError if its map is not linear."""
    if hasattr(learner, "components_"):
        return np.ascontiguousarray(learner.components_)
    if hasattr(learner, "embedding_") or not hasattr(learner, "factor_"):
        raise TypeError(
            f"{type(learner).__name__} has no linear map of features: it embeds its samples, or maps them by a kernel. "
            "Save the estimator by gramian.save."
        )
    return np.ascontiguousarray(learner.factor_.T)


def after(step: Any, later: Affine) -> Affine:
    """Return the map that takes a step of a pipeline before a later map, in float64.

    Raises a TypeError if the step is not known to be affine.
    """
    if type(step).__module__.startswith("gramian."):
        return later.after_projection(components_of(step), getattr(step, "mean_", None))
    if isinstance(step, SelectorMixin):
        return later.after_selection(step.get_support())
    if isinstance(step, SimpleImputer) and not step.add_indicator:
        # Features without any value have no statistic, and are dropped.
        kept = ~np.isnan(np.asarray(step.statistics_, np.float64))
        return later if step.keep_empty_features else later.after_selection(kept)
    if isinstance(step, PCA | TruncatedSVD):
        weight = step.components_.astype(np.float64)
        if getattr(step, "whiten", False):
            weight = weight / np.sqrt(step.explained_variance_)[:, None]
        return later.after_projection(weight, getattr(step, "mean_", None))
    if isinstance(step, StandardScaler):
        return later.after_scaling(mean_of(step), step.scale_)
    if isinstance(step, RobustScaler):
        return later.after_scaling(step.center_, step.scale_)
    if isinstance(step, MaxAbsScaler) and not getattr(step, "clip", False):
        return later.after_scaling(None, step.scale_)
    if isinstance(step, MinMaxScaler) and not step.clip:
        return Affine(later.weight * step.scale_, later.bias + later.weight @ step.min_)
    raise TypeError(
        f"the step {type(step).__name__} before the learner is not known to be linear. Export the learner alone, by "
        "export_map(pipeline[-1], path), or save the pipeline by gramian.save."
    )


def mean_of(scaler: StandardScaler) -> Vector | None:
    """Return the mean that a scaler subtracts, or None: it keeps the mean even if it does not subtract it."""
    return scaler.mean_ if scaler.with_mean else None


def to_npz(arrays: dict[str, Matrix], names: list[str] | None, metadata: dict[str, Any]) -> bytes:
    """Return the content of an .npz file, whose texts are arrays of characters."""
    texts = {"metadata": np.array(json.dumps(metadata))}
    if names is not None:
        texts["feature_names"] = np.array(names, dtype=np.str_)
    content = io.BytesIO()
    keywords: Any = arrays | texts
    np.savez(content, **keywords)
    return content.getvalue()


def to_tensors(arrays: dict[str, Matrix], names: list[str] | None, metadata: dict[str, Any]) -> bytes:
    """Return the content of a .safetensors file, whose texts are its metadata."""
    try:
        from safetensors.numpy import save
    except ImportError as error:
        raise ImportError(
            "a .safetensors file needs safetensors: pip install 'gramian[files]'; or give .npz"
        ) from error
    texts = {"gramian": json.dumps(metadata)}
    if names is not None:
        texts["feature_names"] = json.dumps(names)
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata=texts)
