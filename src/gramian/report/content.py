"""The content of a report: everything the page shows, as values that JSON can hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import PCA
from sklearn.utils import assert_all_finite

import gramian
from gramian.report.judging import Judged, choose_rows, find_neighbours, judge, pick_examples
from gramian.report.subject import Subject, read_rows
from gramian.types import Matrix, Vector

__all__ = ["Data", "gather_content"]

#: The number of neighbours that vote, of axes of the map that can be chosen, of features and of classes that are shown.
NEIGHBOURS, MOST_AXES, MOST_FEATURES, MOST_CLASSES = 5, 6, 20, 30
#: A raw row is shown with this number of columns, those that matter most.
MOST_COLUMNS = 12


class Data(NamedTuple):
    """Samples and class labels, and held-out ones; labels and held-out samples may be None."""

    X: Any
    y: Vector | None
    X_test: Any = None
    y_test: Vector | None = None


class Sides(NamedTuple):
    """Samples in the learner's input and in its output."""

    before: Matrix
    after: Matrix


class Chosen(NamedTuple):
    """The samples of a report: those with known labels, the queries (None if they are the same), and both together."""

    known: Sides
    asked: Sides | None
    labels: Vector | None
    classes: list[str]


def gather_content(subject: Subject, data: Data, title: str, path: str, image_shape: tuple[int, int] | None) -> dict:
    """Return what the page shows, by section."""
    n_test = None if data.X_test is None else data.X_test.shape[0]
    rows = choose_rows(data.X.shape[0], n_test)
    known = both_sides(subject, take(data.X, rows.known))
    asked = None if rows.asked is None else both_sides(subject, take(data.X_test, rows.asked))
    labels, classes = join_labels(data, rows)
    samples = Chosen(known, asked, labels, classes)
    content: dict[str, Any] = {
        "title": title,
        "version": gramian.__version__,
        "model": type(subject.learner).__name__,
        "n_samples": int(data.X.shape[0]),
        "n_features": int(known.before.shape[1]),
        "n_components": int(known.after.shape[1]),
        "n_known": len(rows.known),
        "n_asked": len(rows.known if rows.asked is None else rows.asked),
        "held_out": rows.asked is not None,
        "classes": classes,
        "labels": None if labels is None else labels.tolist(),
        "map": gather_map(samples),
        "spectrum": round_numbers(subject.learner.spectrum_),
        "features": gather_features(subject, data, known.before),
        "loading": gather_loading(subject, path),
    }
    content["rows"] = gather_rows(data, rows, image_shape, order_columns(data.X, content["features"]))
    content |= gather_neighbours(samples)
    content |= gather_history(subject.learner)
    return content


def both_sides(subject: Subject, X: Any) -> Sides:
    """Return samples as the learner sees them, and as it maps them."""
    before, components = subject.prepare(X), subject.learner.components_
    if before.shape[1] != components.shape[1]:
        raise ValueError(f"X has {before.shape[1]} features, but the model has learned from {components.shape[1]}.")
    assert_all_finite(before, input_name="X", estimator_name=type(subject.learner).__name__)
    return Sides(before, np.asarray(before @ components.T))


def take(X: Any, rows: Vector) -> Any:
    """Return some rows of a table, an array or a sparse matrix."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


class Labels(NamedTuple):
    """The numbers of the classes of all rows of a report, known ones first, and the names of the classes."""

    numbers: Vector | None
    classes: list[str]


def join_labels(data: Data, rows: Any) -> Labels:
    """Return the classes of the rows of a report; no labels, no classes."""
    if data.y is None:
        return Labels(None, [])
    parts = [np.asarray(data.y)[rows.known]]
    if rows.asked is not None:
        parts.append(np.asarray(data.y_test)[rows.asked])
    classes, numbers = np.unique(np.concatenate(parts), return_inverse=True)
    return Labels(numbers, [str(name) for name in classes])


def round_numbers(values: Any) -> list:
    """Return numbers as a list, with five digits each."""
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=float)]


def gather_map(samples: Chosen) -> dict:
    """Return the samples along axes that show the classes, before and after; rotations, so that distances are kept."""
    known, shown = samples.known, samples.known if samples.asked is None else samples.asked
    labels = None if samples.labels is None else samples.labels[: len(known.before)]
    return {
        "before": [round_numbers(axis) for axis in turn_axes(known.before, labels, shown.before, 2)],
        "after": [round_numbers(axis) for axis in turn_axes(known.after, labels, shown.after, MOST_AXES)],
    }


def turn_axes(reference: Matrix, labels: Vector | None, Z: Matrix, most: int) -> Matrix:
    """Return Z along orthonormal axes, shape (axes, n); a second axis of zeros if there is one only.

    First come the principal axes of the class means of a reference (m, d), then those of what is left. Without labels
    they are the principal axes of the reference.
    """
    centre = reference.mean(axis=0)
    axes = np.linalg.svd(reference - centre, full_matrices=False)[2]
    if labels is not None:
        numbers, counts = np.unique(labels, return_counts=True)
        means = np.stack([reference[labels == number].mean(axis=0) for number in numbers]) - centre
        means = np.linalg.svd(np.sqrt(counts)[:, None] * means, full_matrices=False)[2][: len(numbers) - 1]
        left = (reference - centre) - (reference - centre) @ means.T @ means
        axes = np.vstack([means, np.linalg.svd(left, full_matrices=False)[2]])
    # Where features are constant, axes of what is left may repeat those of the means.
    axes = np.linalg.qr(axes[: min(most, reference.shape[1])].T)[0].T
    values = (Z - centre) @ axes.T
    # The sign of an axis is free: its largest entry is positive.
    values *= np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)
    return values.T if len(axes) > 1 else np.vstack([values.T, np.zeros(len(Z))])


def order_columns(X: Any, features: dict) -> list[int]:
    """Return the columns of a table that matter most, by the features made of them; the first ones of an array."""
    n_columns = X.shape[1]
    if not hasattr(X, "columns"):
        return list(range(min(n_columns, MOST_COLUMNS)))
    share = np.zeros(n_columns)
    for name, value in zip(features["names"], features["shares"], strict=True):
        # A feature is named as its column, or as its column and a suffix.
        own = [i for i, column in enumerate(X.columns) if name == str(column) or name.startswith(f"{column}_")]
        if own:
            share[max(own, key=lambda i: len(str(X.columns[i])))] += value
    return [int(i) for i in np.argsort(-share, kind="stable")[:MOST_COLUMNS]]


def gather_rows(data: Data, rows: Any, image_shape: tuple[int, int] | None, columns: list[int]) -> dict:
    """Return some columns of the raw rows, known ones first, as texts; as pictures too, if their shape is given."""
    parts = [(data.X, rows.known)] + ([] if rows.asked is None else [(data.X_test, rows.asked)])
    tables = [read_rows(*part, columns) for part in parts]
    numbers = [int(i) for _, chosen in parts for i in chosen]
    content: dict[str, Any] = {"names": tables[0].names, "cells": [row for table in tables for row in table.cells]}
    content["numbers"] = numbers
    if image_shape is not None:
        pixels = np.vstack([to_dense(take(*part)) for part in parts])
        low, high = float(pixels.min()), float(pixels.max())
        grey = np.round(255 * (pixels - low) / ((high - low) or 1.0)).astype(np.uint8)
        content["pictures"] = {"shape": list(image_shape), "pixels": [row.tobytes().hex() for row in grey]}
    return content


def to_dense(rows: Any) -> Matrix:
    """Return raw rows, an array, a DataFrame or a sparse matrix, as an array of floats."""
    return np.asarray(rows.toarray() if issparse(rows) else rows, dtype=float)


def gather_features(subject: Subject, data: Data, before: Matrix) -> dict:
    """Return the share of each feature in the squared distances, W_jj var_j; the largest ones by name."""
    weight = np.sum(np.square(subject.learner.components_, dtype=np.float64), axis=0) * before.var(axis=0)
    share = weight / (weight.sum() or 1.0)
    names = subject.feature_names(data.X, len(share))
    order = np.argsort(-share, kind="stable")[:MOST_FEATURES]
    return {
        "names": [names[i] for i in order],
        "shares": round_numbers(share[order]),
        "all": round_numbers(share),
        "count": len(share),
    }


def gather_neighbours(samples: Chosen) -> dict:
    """Return the neighbours of the queries, before and after, and how well their classes agree."""
    known, asked = samples.known, samples.asked or Sides(None, None)  # type: ignore[arg-type]
    near = Sides(
        find_neighbours(known.before, asked.before, NEIGHBOURS), find_neighbours(known.after, asked.after, NEIGHBOURS)
    )
    content: dict[str, Any] = {
        "k": int(near.before.shape[1]),
        "neighbours": {"before": near.before.tolist(), "after": near.after.tolist()},
        "judged": None,
    }
    if samples.labels is None:
        content["examples"] = pick_examples(near.before, near.after, None)
        return content
    n = len(known.before)
    labels, truth = samples.labels[:n], samples.labels if samples.asked is None else samples.labels[n:]
    before, after = (judge(side, labels, truth, len(samples.classes)) for side in near)
    content["examples"] = pick_examples(before, after, truth)
    content["judged"] = {"before": show_judged(before, truth), "after": show_judged(after, truth), "components": None}
    rank = known.after.shape[1]
    if rank < min(known.before.shape):
        # As many numbers as after, without learning.
        pca = PCA(rank, svd_solver="full").fit(known.before)
        asked_for = None if samples.asked is None else pca.transform(samples.asked.before)
        plain = find_neighbours(pca.transform(known.before), asked_for, NEIGHBOURS)
        content["judged"]["components"] = judge(plain, labels, truth, len(samples.classes)).error
    return content


def show_judged(judged: Judged, truth: Vector) -> dict:
    """Return an error, a precision, a confusion of the classes that occur most, and which these are."""
    counts = np.bincount(truth, minlength=len(judged.confusion))
    shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    return {
        "error": judged.error,
        "precision": judged.precision,
        "votes": judged.votes.tolist(),
        "shown": shown.tolist(),
        "confusion": judged.confusion[np.ix_(shown, shown)].tolist(),
    }


def gather_history(learner: Any) -> dict:
    """Return the costs of the iterations, what was chosen and why, and how the fit ended."""
    own = getattr(learner, "best_estimator_", learner)
    history, choice, curve = own.history_, getattr(own, "choice_", None), getattr(learner, "curve_", None)
    return {
        "convergence": {
            "iteration": [int(i) for i in history["iteration"]],
            "cost": round_numbers(history["cost"]),
            "seconds": round_numbers(history["time"]),
        },
        "timings": {name: float(f"{seconds:.3g}") for name, seconds in own.timings_.items()},
        "message": str(own.message_),
        "n_iter": int(own.n_iter_),
        "choice": None if choice is None else {"plan": choice.plan, "errors": dict(choice.errors)},
        "ranks": None
        if curve is None
        else {
            "ranks": [int(rank) for rank in curve.ranks],
            "mean": round_numbers(curve.mean),
            "error": round_numbers(curve.standard_error),
        },
    }


def gather_loading(subject: Subject, path: str) -> str:
    """Return the lines of Python that load the model and use it."""
    return "\n".join(
        [
            "import gramian",
            "",
            f"model = gramian.load({path!r})",
            "Z = model.transform(X)  # rows of X as in training",
            "# Euclidean distances of rows of Z are the learned distances:",
            "# use Z with any search for neighbours, clustering or classifier.",
        ]
    )
