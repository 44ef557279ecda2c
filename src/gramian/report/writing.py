"""Writing a report: the input is checked, the content gathered, and the page written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gramian.atomic import expand_home
from gramian.files.atomic import write_atomically
from gramian.report.content import Data, gather_content
from gramian.report.page import build_page
from gramian.report.subject import find_subject
from gramian.supervision.sampling import as_labels

__all__ = ["write_report"]


def write_report(
    model: Any,
    X: Any,
    y: Any = None,
    path: str | os.PathLike[str] = "report.html",
    *,
    X_test: Any = None,
    y_test: Any = None,
    title: str = "A learned distance",
    model_path: str = "model.skops",
    image_shape: tuple[int, int] | None = None,
) -> Path:
    """Write a page on a learned distance, one HTML file that loads nothing from elsewhere, and return its path.

    It shows the samples as they are mapped, the convergence, the spectrum, the features that matter, the neighbours of
    samples in plain and in learned distance, how well the classes of neighbours agree, what was chosen and why, and
    how to load the model.

    Parameters
    ----------
    model : MetricLearner, MetricLearnerCV or Pipeline
        Fitted; a pipeline may have steps before it, which must transform X, and after it.
    X : array, sparse matrix or DataFrame, shape (n, d)
        Samples, as the model takes them. Of many, 2000 random ones are shown.
    y : array, shape (n,), optional
        Class labels.
    path : str or Path
        Where the page is written.
    X_test, y_test : optional
        Held-out samples and their labels. Then the map shows these, and their neighbours among X are judged; otherwise
        each sample is judged by the others, which is optimistic if the model has learned from them. The page says so.
    title : str
        The heading of the page.
    model_path : str
        The file of the model, for the lines on how to load it.
    image_shape : tuple of int, optional
        Height and width, if each sample is a picture in shades of grey.

    Returns
    -------
    Path

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from gramian import MetricLearner, write_report
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), MetricLearner(2, constraints="triplets", random_state=0)).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(model, X, y, Path(folder) / "wine.html", title="Wine")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    subject = find_subject(model)
    data = check_data(X, y, X_test, y_test)
    if image_shape is not None:
        check_image_shape(image_shape, data.X.shape[1])
    content = gather_content(subject, data, str(title), str(model_path), image_shape)
    write_atomically(path, build_page(content).encode())
    return expand_home(path)


def check_data(X: Any, y: Any, X_test: Any, y_test: Any) -> Data:
    """Return samples and labels; raise a ValueError unless there are as many labels as samples."""
    if (y is None) != (y_test is None) and X_test is not None:
        raise ValueError("y and y_test go together: give the labels of X and of X_test, or neither.")
    if X_test is None and y_test is not None:
        raise ValueError("y_test is given without X_test. Give both, or neither.")
    parts: list[Any] = []
    for name, samples, labels in (("X", X, y), ("X_test", X_test, y_test)):
        if samples is None:
            parts += [None, None]
            continue
        if issparse(samples):
            samples = samples.tocsr()
        elif not hasattr(samples, "iloc"):
            samples = np.asarray(samples)
        if len(samples.shape) != 2 or samples.shape[0] < 2:
            raise ValueError(f"{name} has shape {samples.shape}; expected (n, d), at least two samples.")
        labels = None if labels is None else as_labels(labels)
        if labels is not None and labels.shape != (samples.shape[0],):
            raise ValueError(f"the labels of {name} have shape {labels.shape}; expected ({samples.shape[0]},).")
        parts += [samples, labels]
    return Data(*parts)


def check_image_shape(image_shape: Any, n_features: int) -> None:
    """Raise a ValueError unless pictures of this height and width have as many pixels as there are features."""
    if len(image_shape) != 2 or int(image_shape[0]) * int(image_shape[1]) != n_features:
        raise ValueError(f"image_shape={image_shape!r} does not fit {n_features} pixels. Give (height, width).")
