"""`gramian evaluate`: the learned distance beside others, by cross-validation."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import FunctionTransformer

from gramian.cli.identifiers import point_out_identifiers
from gramian.cli.mistakes import Mistake
from gramian.cli.models import fit_preparation
from gramian.cli.reading import Reading
from gramian.cli.screen import counting, note, print_table
from gramian.cli.tables import check_labels, knows_labels, load_table
from gramian.estimators import MetricLearner
from gramian.execution import one_blas_thread
from gramian.types import Matrix, Vector

__all__ = ["HEADINGS", "RETRIEVED", "Score", "evaluate_file", "make_methods", "score_method", "to_dense", "vote"]

#: The number of nearest rows by which retrieval is judged.
RETRIEVED = 10
#: The headings of a table of scores; the first has the number of neighbours that vote.
HEADINGS = ("error of {} neighbours", f"of the {RETRIEVED} nearest, same class")


class Score(NamedTuple):
    """The error of the vote of k neighbours, and the share of the 10 nearest that are of the same class."""

    error: float
    precision: float


def evaluate_file(path: Path, components: int, folds: int, neighbours: int, reading: Reading) -> dict[str, list[Score]]:
    """Show a table of methods, and return their scores on each fold."""
    if reading.target is None and not knows_labels(path):
        raise Mistake("Which column has the labels? Name it by --target.")
    table = load_table(path, reading)
    if table.y is None:
        raise Mistake(f"{path} has no labels. Give an array y, or name it by --target.")
    check_labels(path, table.y)
    point_out_identifiers(table.X)
    if 0 < reading.max_rows < table.n_rows:
        note(f"{table.n_rows:,} rows, of which {len(table.rows):,} random ones are used; --max-rows 0 takes all.")
    counts = np.unique(table.y, return_counts=True)[1]
    least, largest = int(counts.min()), int(counts.max())
    if folds < 2 or folds > largest:
        raise Mistake(f"--folds {folds} is not possible: the largest class has {largest} rows. Choose 2 to {largest}.")
    if least < folds:
        note(f"The smallest class has {least} rows: not every fold has one of them.")
    scores: dict[str, list[Score]] = {}
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        splitter = StratifiedKFold(folds, shuffle=True, random_state=reading.seed)
        splits = list(splitter.split(np.zeros(len(table.y)), table.y))
        with counting("evaluating", (3 if issparse(table.X) else 5) * folds) as bar:
            for train, test in splits:
                for name, score in score_fold(table, train, test, components, neighbours, reading, bar):
                    scores.setdefault(name, []).append(score)
    show_scores(scores, components, folds, neighbours)
    return scores


def score_fold(
    table: Any, train: Vector, test: Vector, components: int, neighbours: int, reading: Reading, bar: Any
) -> Any:
    """Yield the name and the score of each method on a fold; columns are prepared by its training rows alone."""
    X = table.X
    rows = (X.iloc[train], X.iloc[test]) if hasattr(X, "iloc") else (X[train], X[test])
    preparation = fit_preparation(rows[0], reading)
    known, asked = (preparation.transform(part) for part in rows)
    if components > known.shape[1]:
        raise Mistake(f"--components {components} exceeds the {known.shape[1]} features. Choose fewer.")
    n_classes = len(np.unique(table.y[train]))
    methods = make_methods(components, known.shape[1], n_classes, reading.seed, sparse=issparse(known))
    for name, method in methods.items():
        bar.advance(0, name)
        yield name, score_method(method, known, table.y[train], asked, table.y[test], neighbours)
        bar.advance(1)


def make_methods(components: int, n_features: int, n_classes: int, seed: int, sparse: bool = False) -> dict[str, Any]:
    """Return the transformers that are compared, by name."""
    directions = min(components, n_classes - 1, n_features)
    largest = f"at most {components}" if directions < components else str(components)
    methods: dict[str, Any] = {
        "Euclid, all features": FunctionTransformer(),
        f"PCA, {components}": (TruncatedSVD if sparse else PCA)(components, random_state=seed),
    }
    if not sparse:
        methods[f"LDA, {largest}"] = LinearDiscriminantAnalysis(n_components=directions)
        methods[f"NCA, {components}"] = NeighborhoodComponentsAnalysis(components, random_state=seed, max_iter=50)
    methods[f"gramian, {components}"] = MetricLearner(components, random_state=seed)
    return methods


def score_method(method: Any, X: Any, y: Vector, X_test: Any, y_test: Vector, neighbours: int) -> Score:
    """Return the score of a transformer, fitted to labelled samples, on held-out ones."""
    Z = np.asarray(to_dense(method.fit(X, y).transform(X)))
    found = NearestNeighbors(n_neighbors=min(max(neighbours, RETRIEVED), len(Z))).fit(Z)
    near = y[found.kneighbors(np.asarray(to_dense(method.transform(X_test))), return_distance=False)]
    votes = [vote(row[:neighbours]) for row in near]
    return Score(float(np.mean(votes != y_test)), float(np.mean(near[:, :RETRIEVED] == y_test[:, None])))


def to_dense(Z: Any) -> Matrix:
    """Return an array, also of a sparse matrix."""
    return Z.toarray() if hasattr(Z, "toarray") else Z


def vote(labels: Vector) -> Any:
    """Return the label that occurs most, of several the nearest."""
    found, first, counts = np.unique(labels, return_index=True, return_counts=True)
    return found[np.lexsort((first, -counts))[0]]


def show_scores(scores: dict[str, list[Score]], components: int, folds: int, neighbours: int) -> None:
    """Show a table with a line for each method, the best in bold."""
    means = {name: np.mean([score.error for score in found]) for name, found in scores.items()}
    rows = []
    for name, found in scores.items():
        error, precision = np.array(found).T
        rows.append([name, f"{error.mean():.1%} ± {error.std() / np.sqrt(folds):.1%}", f"{precision.mean():.1%}"])
    best = {index for index, name in enumerate(scores) if means[name] == min(means.values())}
    title = f"{folds} folds, {components} components"
    print_table(["", *(text.format(neighbours) for text in HEADINGS)], rows, title, best)
