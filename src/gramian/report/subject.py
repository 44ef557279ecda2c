"""What a report is about: the learner, the steps before it, and the raw rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from gramian.estimators import MetricLearner, MetricLearnerCV
from gramian.types import Matrix

__all__ = ["RawRows", "Subject", "find_subject", "read_rows"]


class Subject(NamedTuple):
    """A fitted learner, and the fitted steps of a pipeline before it; None if it is not in a pipeline."""

    learner: Any
    before: Pipeline | None

    def prepare(self, X: Any) -> Matrix:
        """Return the samples as the learner sees them, an array (n, d)."""
        given = X if self.before is None else self.before.transform(X)
        given = given.toarray() if issparse(given) else given
        return np.asarray(given, dtype=np.float64)

    def feature_names(self, X: Any, n_features: int) -> list[str]:
        """Return the names of the features that the learner sees."""
        if self.before is not None:
            try:
                return [str(name) for name in self.before.get_feature_names_out()]
            except (AttributeError, ValueError, NotImplementedError):
                pass
        columns = getattr(X, "columns", None)
        if columns is not None and len(columns) == n_features:
            return [str(name) for name in columns]
        return [f"x{index}" for index in range(n_features)]


def find_subject(model: Any) -> Subject:
    """Return the learner of a model, a MetricLearner, a MetricLearnerCV or a fitted pipeline with one of them.

    Raises a ValueError for other models, and scikit-learn's NotFittedError for one that is not fitted.
    """
    steps = model.steps if isinstance(model, Pipeline) else [("learner", model)]
    for index, (_, step) in enumerate(steps):
        if isinstance(step, MetricLearner | MetricLearnerCV):
            check_is_fitted(step)
            return Subject(step, Pipeline(steps[:index]) if index else None)
    raise ValueError(
        f"model is a {type(model).__name__}, of which there is no report. Give a fitted MetricLearner, MetricLearnerCV "
        "or a pipeline with one of them."
    )


class RawRows(NamedTuple):
    """Rows as people read them: the names of some columns, and a text for every cell."""

    names: list[str]
    cells: list[list[str]]


def read_rows(X: Any, rows: Any, columns: list[int]) -> RawRows:
    """Return some rows and columns of a table, an array or a sparse matrix as texts."""
    if hasattr(X, "iloc"):
        names = [str(X.columns[index]) for index in columns]
        table = [X.iloc[rows, index].tolist() for index in columns]
        return RawRows(names, [[show_cell(cell) for cell in row] for row in zip(*table, strict=True)])
    part = X[rows][:, columns]
    part = part.toarray() if issparse(part) else np.asarray(part)
    cells = [[show_cell(cell) for cell in row] for row in part.tolist()]
    return RawRows([f"x{index}" for index in columns], cells)


def show_cell(value: Any) -> str:
    """Return a cell as a short text."""
    if isinstance(value, float):
        return "missing" if value != value else f"{value:.5g}"
    text = "missing" if value is None or str(value) in ("NaT", "<NA>") else str(value)
    return text if len(text) <= 40 else text[:39] + "…"
