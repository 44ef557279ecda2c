"""Pictures of the nearest neighbours of samples before and after learning, as images or as texts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.neighbors import NearestNeighbors

from gramian.checks import check_number
from gramian.plotting.style import COLOURS, make_axes, plain
from gramian.types import Matrix, Vector

__all__ = ["plot_neighbours"]

LONGEST_TEXT = 48


class Found(NamedTuple):
    """The neighbours (q, k) of the queries, by plain Euclidean distance and by the learned one."""

    before: Matrix
    after: Matrix


def plot_neighbours(
    estimator: Any,
    X: Any,
    queries: Any,
    *,
    y: Any = None,
    image_shape: tuple[int, int] | None = None,
    texts: Any = None,
    n_neighbors: int = 5,
    ax: Any = None,
) -> Any:
    """Draw samples with their nearest neighbours before and after learning, and return the axes.

    Each query has one row: the query, its neighbours by Euclidean distance of X, then those by the learned distance.
    With labels y, neighbours of another class have a thick frame as images, and a cross as texts.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted, with `transform`.
    X : array or sparse matrix, shape (n, d)
        Samples, among which neighbours are searched.
    queries : sequence of int
        Rows of X.
    y : array, shape (n,), optional
        Class labels.
    image_shape : pair of int
        The shape of the image that a row of X is.
    texts : sequence of str, of length n
        In place of images: a text for each row of X.
    n_neighbors : int
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import gramian
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = gramian.MetricLearner(8, random_state=0).fit(X[:500], y[:500])
    >>> ax = gramian.plotting.plot_neighbours(model, X[:500], [5, 8], y=y[:500], image_shape=(8, 8))
    >>> len(ax.images)
    22
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    n = X.shape[0]
    rows = check_queries(queries, n)
    check_number("n_neighbors", n_neighbors, least=1, integer=True)
    if n_neighbors >= n:
        raise ValueError(f"n_neighbors={n_neighbors}, but X has {n} samples only. Choose fewer.")
    if (image_shape is None) == (texts is None):
        raise ValueError("give either image_shape, for rows of X that are images, or texts, one for each row of X.")
    if texts is not None and len(texts) != n:
        raise ValueError(f"texts has {len(texts)} entries, but X has {n} rows.")
    if image_shape is not None and int(np.prod(image_shape)) != X.shape[1]:
        raise ValueError(
            f"image_shape={tuple(image_shape)} has {int(np.prod(image_shape))} entries, a row of X {X.shape[1]}."
        )
    mapped = estimator.transform(X)
    X = X.to_numpy() if hasattr(X, "to_numpy") else X.tocsr() if issparse(X) else X
    found = Found(nearest(X, rows, n_neighbors), nearest(np.asarray(mapped), rows, n_neighbors))
    labels = None if y is None else np.asarray(y)
    if image_shape is not None:
        ax = make_axes(ax, 1.0 + 0.55 * (2 * n_neighbors + 2), 0.7 + 0.6 * len(rows))
        draw_images(ax, X, rows, found, labels, (int(image_shape[0]), int(image_shape[1])))
    else:
        ax = make_axes(ax, 10.0, 0.8 + 0.25 * len(rows) * (n_neighbors + 1))
        draw_texts(ax, [str(text) for text in texts], rows, found, labels)
    return ax


def check_queries(queries: Any, n: int) -> Vector:
    """Return the rows that are asked for; raise a ValueError if one is not among n rows."""
    rows = np.atleast_1d(np.asarray(queries))
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"queries={queries!r} is not valid. Give rows of X, numbers from 0 to {n - 1}.")
    return rows


def nearest(Z: Any, rows: Vector, k: int) -> Matrix:
    """Return the k nearest other rows of Z for each of some rows, shape (q, k)."""
    order = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(Z).kneighbors(Z[rows], return_distance=False)
    # A sample is its own neighbour, unless another one coincides with it.
    return np.array([[index for index in found if index != row][:k] for row, found in zip(rows, order, strict=True)])


def draw_images(ax: Any, X: Any, rows: Vector, found: Found, labels: Vector | None, shape: tuple[int, int]) -> None:
    """Draw a row of images for each query, into one pair of axes."""
    from matplotlib.patches import Rectangle

    k = found.before.shape[1]
    starts = {"before": 1.35, "after": 1.7 + k}
    pixels = X[np.concatenate([rows, found.before.ravel(), found.after.ravel()])]
    pixels = np.asarray(pixels.todense() if hasattr(pixels, "todense") else pixels)
    low, high = float(pixels.min()), float(pixels.max())
    for line, row in enumerate(rows):
        places = [(row, 0.0)]
        for side, neighbours in zip(starts, found, strict=True):
            places += [(neighbour, starts[side] + at) for at, neighbour in enumerate(neighbours[line])]
        for index, left in places:
            image = X[index]
            image = np.asarray(image.todense() if hasattr(image, "todense") else image).reshape(shape)
            box = (left + 0.04, left + 0.96, line + 0.96, line + 0.04)
            ax.imshow(image, cmap="gray_r", vmin=low, vmax=high, extent=box, interpolation="nearest")
            if labels is not None and labels[index] != labels[row]:
                frame: dict[str, Any] = {"fill": False, "edgecolor": COLOURS[4], "linewidth": 2.5}
                ax.add_patch(Rectangle((left + 0.02, line + 0.02), 0.96, 0.96, **frame))
    width = starts["after"] + k
    ax.set_xlim(-0.1, width + 0.1)
    ax.set_ylim(len(rows) + (0.45 if labels is not None else 0.05), -0.45)
    for middle, text in (
        (0.5, "sample"),
        (starts["before"] + k / 2, "before learning"),
        (starts["after"] + k / 2, "after learning"),
    ):
        ax.text(middle, -0.08, text, ha="center", va="bottom", fontsize="small")
    if labels is not None:
        ax.text(0, len(rows) + 0.08, "framed: another class", va="top", fontsize="small", color=COLOURS[4])
    ax.set_aspect("equal")
    ax.axis("off")


def draw_texts(ax: Any, texts: list[str], rows: Vector, found: Found, labels: Vector | None) -> None:
    """Write a paragraph for each query: its text, then its neighbours before and after, side by side."""
    k = found.before.shape[1]
    columns = (0.0, 0.5)
    for left, title in zip(columns, ("before learning", "after learning"), strict=True):
        ax.text(left, -0.3, title, fontsize="small", fontweight="bold", va="center")
    for paragraph, row in enumerate(rows):
        top = paragraph * (k + 1.4) + 0.8
        ax.text(
            0.0,
            top,
            one_line(texts[row], 2 * LONGEST_TEXT),
            fontsize="small",
            fontweight="bold",
            va="center",
            color=COLOURS[0],
        )
        for left, neighbours in zip(columns, found, strict=True):
            for at, index in enumerate(neighbours[paragraph]):
                wrong = labels is not None and labels[index] != labels[row]
                words = f"{'✗' if wrong else ' '} {one_line(texts[index], LONGEST_TEXT)}"
                colour = COLOURS[4] if wrong else COLOURS[2]
                ax.text(left + 0.02, top + at + 1, words, fontsize="small", va="center", color=colour)
    ax.set_xlim(0, 1)
    ax.set_ylim(len(rows) * (k + 1.4) + 0.5, -0.8)
    if labels is not None:
        ax.text(1.0, -0.3, "✗: another class", fontsize="small", ha="right", va="center", color=COLOURS[4])
    ax.axis("off")


def one_line(text: str, most: int) -> str:
    """Return a text in one line of a limited number of characters, in which nothing is read as mathematics."""
    words = " ".join(text.split())
    words = words if len(words) <= most else f"{words[: most - 1]}…"
    return plain(words)
