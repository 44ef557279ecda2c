"""Models: how samples of each kind are prepared, and how a stored model reads new ones."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gramian.cli.formats import column_names, kind_of
from gramian.cli.mistakes import Mistake
from gramian.cli.reading import Reading
from gramian.cli.screen import note
from gramian.estimators import MetricLearner, MetricLearnerCV
from gramian.files import load

__all__ = [
    "fit_preparation",
    "learner_of",
    "load_model",
    "make_preparation",
    "reading_of",
    "report_unseen",
    "with_kinds",
    "without_settings",
]

#: Of a column of text that the user names, the number of categories with a number of their own.
MOST_CATEGORIES = 40
#: The largest rounding error of a column in float32, as a share of its standard deviation.
LARGEST_LOSS = 1e-4
#: The attribute of the first step of a model that tells whether columns in the format of svmlight count from 0.
BASE = "zero_based_"


def make_preparation(X: Any, texts: list[str] | None = None, seed: int = 0) -> Pipeline:
    """Return the steps before a learner, not fitted: columns to numbers, missing values to medians, scales to 1.

    Columns in `texts` are categories, even if all their cells could be read as numbers. Other texts of many values
    become numbers by a random method, with a seed.
    """
    if issparse(X):
        return Pipeline([("scale", StandardScaler(with_mean=False))])
    steps = [("impute", SimpleImputer(strategy="median")), ("scale", StandardScaler())]
    if hasattr(X, "iloc"):
        from skrub import StringEncoder, TableVectorizer

        categories = OneHotEncoder(handle_unknown="ignore", max_categories=MOST_CATEGORIES, sparse_output=False)
        own = [name for name in texts or [] if name in X.columns]
        specific: list[Any] = [(categories, own)] if own else []
        # skrub turns numbers into float32: those far from 0, as times in seconds, would lose what tells them apart.
        precise = [name for name in X.columns if name not in own and loses_digits(X[name])]
        specific += [(StandardScaler(), precise)] if precise else []
        encoder = StringEncoder(random_state=seed)
        steps.insert(0, ("columns", TableVectorizer(high_cardinality=encoder, specific_transformers=specific)))
    return Pipeline(steps)


def loses_digits(column: Any) -> bool:
    """Return True for a column of numbers whose differences are lost in float32, at least in part."""
    if getattr(column.dtype, "kind", "O") not in "iuf":
        return False
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        lost = np.abs(values - values.astype(np.float32)).max(initial=0)
        return bool(len(values)) and bool(np.isinf(lost) or lost > LARGEST_LOSS * values.std())


def fit_preparation(X: Any, reading: Reading, zero_based: bool | None = None) -> Pipeline:
    """Return the fitted steps before a learner; columns without values are reported, and left out.

    `zero_based` tells of samples in the format of svmlight whether their columns count from 0: the steps keep it.
    """
    if not issparse(X):
        report_empty_columns(X)
    with warnings.catch_warnings():
        # Columns without values are reported above, in words of ours.
        warnings.filterwarnings("ignore", message="Skipping features without any observed values")
        warnings.filterwarnings("ignore", message=".*could not be parsed.*|.*Could not infer format.*")
        preparation = make_preparation(X, reading.texts, reading.seed).fit(X)
    if zero_based is not None:
        setattr(preparation.steps[0][1], BASE, zero_based)
    return preparation


def report_empty_columns(X: Any) -> None:
    """Tell which columns have no values; raise a Mistake if none has any."""
    if hasattr(X, "columns"):
        empty = [str(name) for name in X.columns if X[name].isna().all()]
        total = X.shape[1]
    else:
        empty = [str(index) for index in np.flatnonzero(np.isnan(np.asarray(X, dtype=float)).all(axis=0))]
        total = X.shape[1]
    if len(empty) == total:
        raise Mistake("No column has any values. Check the file and its separators.")
    if empty:
        note(f"Columns without any values are left out: {', '.join(empty[:10])}.")


def report_unseen(model: Any, frame: Any, told: set[str]) -> None:
    """Tell which categories of a DataFrame a model has not learned from; a column in `told` is added, and told once."""
    vectorizer = model.steps[0][1] if isinstance(model, Pipeline) else model
    encoders = getattr(vectorizer, "transformers_", None)
    # Those of skrub are by the name of a column; a ColumnTransformer of scikit-learn has a list of others.
    for name, encoder in encoders.items() if isinstance(encoders, dict) else ():
        if not hasattr(encoder, "categories_") or str(name) in told:
            continue
        known = {str(value) for value in encoder.categories_[0]}
        unseen = [str(value) for value in frame[name].dropna().unique() if str(value) not in known]
        if unseen:
            told.add(str(name))
            more = "" if len(unseen) == 1 else f" and {len(unseen) - 1} more"
            note(
                f"Column {str(name)!r} has values from which the model has not learned: {unseen[0]!r}{more}. They "
                "count as none of the values it knows."
            )


def learner_of(model: Any) -> Any:
    """Return the fitted learner in a model, the last step of a pipeline or the model itself."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    found = next((step for step in steps if isinstance(step, MetricLearner | MetricLearnerCV)), None)
    if found is None:
        raise Mistake(f"The model is a {type(steps[-1]).__name__}; this command is for distances, from gramian fit.")
    if not hasattr(found, "components_"):
        raise Mistake("The model is not fitted. Make one with gramian fit.")
    return found


def without_settings(learner: Any) -> Any:
    """Return a learner whose settings for this run alone, such as its checkpoint, are those of a new one."""
    for each in [learner, *([learner.best_estimator_] if hasattr(learner, "best_estimator_") else [])]:
        names = {"verbose": 0, "callback": None, "checkpoint": None, "n_jobs": None}
        each.set_params(**{name: value for name, value in names.items() if name in each.get_params(deep=False)})
    if isinstance(learner, MetricLearnerCV) and learner.estimator is not None:
        without_settings(learner.estimator)
    return learner


def load_model(path: Path) -> Any:
    """Return the model of a file."""
    if not path.exists():
        raise Mistake(f"There is no model {path}. Make one with gramian fit, or check the name.")
    return load(path)


def reading_of(model: Any, path: Path, reading: Reading) -> Reading:
    """Return how a file is read for a model: with the columns it has learned from, and texts as texts."""
    learner_of(model)
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    names, kind = getattr(first, "feature_names_in_", None), kind_of(path)
    if kind in ("npz", "svmlight"):
        if names is not None:
            raise Mistake(f"The model has learned from a table with columns; {path} has none. Give CSV or Parquet.")
        return replace(reading, zero_based=getattr(first, BASE, None))
    if names is None:
        raise Mistake(f"The model has learned from columns without names; {path} has names. Give an NPZ file.")
    wanted = [str(name) for name in names]
    present = column_names(path, reading.encoding)
    known = set(present)
    missing = [name for name in wanted if name not in known]
    if missing:
        given = ", ".join(present[:30])
        raise Mistake(f"{path} has no column {missing[0]!r}, from which the model has learned. It has: {given}.")
    return with_kinds(replace(reading, columns=wanted), first)


def with_kinds(reading: Reading, vectorizer: Any) -> Reading:
    """Return how a file is read after a vectorizer was fitted: its texts, numbers and dates as such."""
    kinds = getattr(vectorizer, "kind_to_columns_", {})
    specific = getattr(vectorizer, "specific_transformers", ())
    precise = [str(name) for step, names in specific if isinstance(step, StandardScaler) for name in names]
    texts = [str(name) for kind in ("low_cardinality", "high_cardinality", "specific") for name in kinds.get(kind, [])]
    numbers, dates = ([str(name) for name in kinds.get(kind, [])] for kind in ("numeric", "datetime"))
    texts = [name for name in texts if name not in precise]
    return replace(reading, texts=texts, numbers=[*numbers, *precise], dates=dates)
