"""Standardised splits, 5-NN errors and tuning by cross-validation, for the experiments on distances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["Split", "evaluate_learner", "standardise", "two_fold_splits"]

Grid = dict[str, Sequence[float]]


class Split(NamedTuple):
    """Training samples and labels, test samples and their true labels."""

    train: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    truth: np.ndarray

    def through(self, map: Callable[[np.ndarray], np.ndarray]) -> Split:
        """Return the split with all samples mapped."""
        return self._replace(train=map(self.train), test=map(self.test))


def standardise(split: Split) -> Split:
    """Return the split with features centred and scaled by the training samples' mean and deviation."""
    return split.through(StandardScaler().fit(split.train).transform)


def two_fold_splits(X: np.ndarray, y: np.ndarray, seed: int) -> Iterator[Split]:
    """Yield two standardised splits of a stratified partition into halves; each half trains once."""
    with warnings.catch_warnings():
        # Soybean has classes of a few samples.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        halves = list(StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y))
    for train, test in halves:
        yield standardise(Split(X[train], y[train], X[test], y[test]))


def knn_error(split: Split) -> float:
    """Return the error of 5 nearest neighbours on the test samples, in per cent."""
    classifier = KNeighborsClassifier(5).fit(split.train, split.labels)
    return 100 * float(np.mean(classifier.predict(split.test) != split.truth))


def evaluate_learner(
    learner: Any, split: Split, grid: Grid | None = None, seed: int = 0, seen: Split | None = None
) -> dict[str, Any]:
    """Return a learner's error, the seconds of fit and tuning, and the tuned value; None is no learner.

    The learner is fitted to the training samples of `seen`, where given. Learners are stopped early on purpose, so
    their warnings are silenced.
    """
    begin, chosen = perf_counter(), None
    seen = split if seen is None else seen
    if learner is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            if grid:
                learner, chosen = tune_learner(learner, grid, seen, seed)
            learner = clone(learner).fit(seen.train, seen.labels)
    seconds = perf_counter() - begin
    judged = split if learner is None else split.through(learner.transform)
    return {"error": knn_error(judged), "chosen": chosen, "seconds": round(seconds, 3)}


def tune_learner(learner: Any, grid: Grid, split: Split, seed: int) -> tuple[Any, float]:
    """Return the learner with the value of one parameter that has the least two-fold 5-NN error; and the value."""
    ((name, values),) = grid.items()
    steps = Pipeline([("learner", learner), ("neighbours", KNeighborsClassifier(5))])
    folds = StratifiedKFold(2, shuffle=True, random_state=seed)
    search = GridSearchCV(steps, {f"learner__{name}": list(values)}, cv=folds, refit=False, error_score="raise")
    best = search.fit(split.train, split.labels).best_params_[f"learner__{name}"]
    return clone(learner).set_params(**{name: best}), best
