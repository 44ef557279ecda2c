"""Pictures of samples and features: embeddings, the ellipse of a distance, and the features that matter most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.checks import check_number
from gramian.plotting.style import COLOURS, SIZES, learned_matrix, learner_of, look_of, make_axes, place_legend, plain
from gramian.types import Matrix, Vector

__all__ = ["plot_ellipse", "plot_embedding", "plot_features"]

#: With more points than this, markers are small and pale.
MANY = 1000
#: The colour of the edges of markers, so that pale ones can be seen.
EDGE = "0.25"
#: An ellipse whose axes differ by more than this factor is drawn in part, near its centre.
NARROW = 20


def plot_embedding(Z: Any, y: Any = None, *, ax: Any = None) -> Any:
    """Draw embedded samples with their classes, by colour and marker, and return the axes.

    Parameters
    ----------
    Z : array, shape (n, r)
        For example `model.transform(X)`; the first two columns are drawn. One column is drawn by class, in rows.
    y : array, shape (n,), optional
        Class labels; numbers of more than 20 different values are drawn by lightness.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import gramian
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gramian.MetricLearner(2, random_state=0).fit(X, y)
    >>> ax = gramian.plotting.plot_embedding(model.transform(X), y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', '2']
    """
    Z = np.asarray(Z, np.float64)
    if Z.ndim != 2 or Z.shape[1] < 1:
        raise ValueError(f"Z has shape {Z.shape}; expected (n, r), as transform returns.")
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != (len(Z),):
        raise ValueError(f"y has shape {labels.shape}; expected ({len(Z)},), one label for each row of Z.")
    ax = make_axes(ax, 6.0, 4.5)
    draw_points(ax, Z, labels)
    ax.set_xlabel("component 1")
    if Z.shape[1] > 1:
        ax.set_ylabel("component 2")
        ax.set_aspect("equal", adjustable="datalim")
    return ax


def draw_points(ax: Any, Z: Matrix, labels: Vector | None) -> None:
    """Draw points, one look a class, and the legend; numbers of many values have a colour bar."""
    style = {"s": 12 if len(Z) > MANY else 28, "alpha": 0.6 if len(Z) > MANY else 0.85, "linewidths": 0.4}
    if labels is not None and labels.dtype == object:
        labels = labels.astype(str)
    classes = np.unique(labels) if labels is not None else np.array([])
    if labels is not None and labels.dtype.kind in "fiu" and len(classes) > 20:
        heights = Z[:, 1] if Z.shape[1] > 1 else np.zeros(len(Z))
        points = ax.scatter(Z[:, 0], heights, c=labels, cmap="cividis", **style)
        ax.figure.colorbar(points, ax=ax, label="target")
        return
    if labels is None:
        heights = Z[:, 1] if Z.shape[1] > 1 else np.zeros(len(Z))
        ax.scatter(Z[:, 0], heights, color=COLOURS[0], edgecolors=EDGE, **style)
        return
    for index, name in enumerate(classes):
        rows, look = labels == name, look_of(index)
        heights = Z[rows, 1] if Z.shape[1] > 1 else np.full(rows.sum(), float(index))
        named = {"color": look.colour, "marker": look.marker, "edgecolors": EDGE, "label": plain(name)}
        ax.scatter(Z[rows, 0], heights, **named, **{**style, "s": style["s"] * SIZES.get(look.marker, 1.0)})
    if Z.shape[1] == 1:
        ax.set_yticks(range(len(classes)), [plain(name) for name in classes])
        ax.set_ylabel("class")
    else:
        place_legend(ax, len(classes))


def plot_ellipse(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: Sequence[int] = (0, 1),
    center: Any = None,
    radius: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw the points at one learned distance from a centre, in the plane of two features, and return the axes.

    They are an ellipse: narrow along directions in which the distance is large. At rank 1 they are two parallel lines.
    A dashed circle shows a Euclidean distance: of the same area, or, beside a long ellipse or lines, touching them.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted, with `components_`. In a pipeline the features are those that the learner sees, and so should X be.
    X : array, shape (n, d), optional
        Samples that are drawn too.
    y : array, shape (n,), optional
        Their class labels.
    features : pair of int
        The two features; the others are equal along the ellipse.
    center : array, shape (2,), optional
        The centre, in the two features; by default the mean of X, or 0.
    radius : float, optional
        The distance; by default the median distance of X from the centre in the two features, or 1.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import gramian
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gramian.MetricLearner(2, random_state=0).fit(X[:, :2], y)
    >>> ax = gramian.plotting.plot_ellipse(model, X[:, :2], y)
    >>> ax.lines[0].get_label()
    'learned distance'
    """
    learner = learner_of(estimator, "components_", "factor_")
    rows = learned_matrix(learner)
    i, j = check_features(features, rows.shape[1])
    part = rows[:, [i, j]]
    points = None if X is None else np.asarray(X, np.float64)[:, [i, j]]
    middle = np.zeros(2) if points is None else points.mean(axis=0)
    middle = middle if center is None else np.asarray(center, np.float64)
    if middle.shape != (2,):
        raise ValueError(f"center has shape {middle.shape}; expected (2,), its two features.")
    if radius is None:
        radius = 1.0 if points is None else float(np.median(np.linalg.norm((points - middle) @ part.T, axis=1)))
    require_positive("radius", radius)
    ax = make_axes(ax, 6.0, 5.0)
    if points is not None:
        draw_points(ax, points, None if y is None else np.asarray(y))
    draw_curves(ax, part, middle, float(radius))
    names = names_of(learner, rows.shape[1])
    ax.set_xlabel(plain(names[i]))
    ax.set_ylabel(plain(names[j]))
    ax.legend(fontsize="small")
    return ax


def draw_curves(ax: Any, part: Matrix, middle: Vector, radius: float) -> None:
    """Draw the ellipse ‖part (x - middle)‖ = radius, or two lines if it is degenerate, and a Euclidean circle."""
    _, sizes, axes = np.linalg.svd(part, full_matrices=True)
    sizes = np.append(sizes, [0.0, 0.0])[:2]
    if sizes[0] == 0:
        raise ValueError("the learned distance does not depend on these two features. Choose others: features=(i, j).")
    angle = np.linspace(0, 2 * np.pi, 361)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    half = radius / sizes[0]
    view = view_of(ax, middle, 4 * half)
    line = {"color": COLOURS[4], "linewidth": 2}
    if sizes[1] > 1e-8 * sizes[0]:
        ax.plot(*(middle + circle * (radius / sizes) @ axes).T, **line, label="learned distance")
    else:
        reach = np.array([[-3.0], [3.0]]) * np.ptp(view, axis=1).max() * axes[1]
        for sign, name in ((1, "learned distance"), (-1, "_second line")):
            ax.plot(*(middle + sign * half * axes[0] + reach).T, **line, label=name)
    narrow = sizes[1] * NARROW < sizes[0]
    half = half if narrow else radius / np.sqrt(sizes[0] * sizes[1])
    ax.plot(*(middle + half * circle).T, "--", color=COLOURS[2], linewidth=1.2, label="Euclidean distance")
    ax.plot(*middle, marker="+", markersize=10, color=COLOURS[2], linestyle="none", label="_centre")
    ax.set_aspect("equal", adjustable="box" if narrow else "datalim")
    if narrow:
        ax.set_xlim(view[0])
        ax.set_ylim(view[1])


def view_of(ax: Any, middle: Vector, least: float) -> Matrix:
    """Return limits (2, 2) of the axes: around what is drawn already, at least `least` around the middle."""
    near = np.column_stack([middle - least, middle + least])
    if not ax.collections:
        return near
    ax.autoscale_view()
    drawn = np.array([ax.get_xlim(), ax.get_ylim()])
    # Points tell more than the whole circle.
    near = np.column_stack([middle - least / 3, middle + least / 3])
    return np.column_stack([np.minimum(drawn[:, 0], near[:, 0]), np.maximum(drawn[:, 1], near[:, 1])])


def plot_features(estimator: Any, X: Any = None, *, names: Any = None, most: int = 10, ax: Any = None) -> Any:
    """Draw the features that matter most for the learned distance, and return the axes.

    The bar of feature j is its share of the mean squared distance of two samples, W_jj var(x_j) over the sum of all,
    as if features were uncorrelated.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted, with `components_` or `factor_`.
    X : array, shape (n, d), optional
        Samples, for the variances. Without X they count as 1, as they are after a StandardScaler.
    names : sequence of str, optional
        The names of the features; by default those that the estimator was fitted with.
    most : int
        The number of features that are drawn.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import gramian
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = gramian.MetricLearner(2, random_state=0).fit(X, y)
    >>> ax = gramian.plotting.plot_features(model, X)
    >>> ax.get_yticklabels()[0].get_text()
    'petal length (cm)'
    """
    check_number("most", most, least=1, integer=True)
    learner = learner_of(estimator, "components_", "factor_")
    rows = learned_matrix(learner)
    d = rows.shape[1]
    spread = np.ones(d) if X is None else column_variances(X)
    if spread.shape != (d,):
        raise ValueError(f"X has {len(spread)} features, but the learner has {d}.")
    given = names_of(learner, d) if names is None else [str(name) for name in names]
    if names is None and given == plain_names(d):
        given = names_in_pipeline(estimator, d) or given
    if len(given) != d:
        raise ValueError(f"names has {len(given)} entries, but the learner has {d} features.")
    weight = np.sum(rows**2, axis=0) * spread
    share = weight / weight.sum() if weight.sum() > 0 else weight
    order = np.argsort(-share, kind="stable")[:most]
    ax = make_axes(ax, 6.0, 1.2 + 0.3 * len(order))
    at = np.arange(len(order))
    bars = ax.barh(at, share[order], color=COLOURS[0], height=0.7)
    ax.bar_label(bars, [f"{value:.1%}" for value in share[order]], fontsize="small", padding=3)
    ax.set_yticks(at, [plain(shorten(given[index])) for index in order])
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.set_xlabel("share of the mean squared distance")
    if len(order) < d:
        ax.set_title(f"{len(order)} of {d} features, {share[order].sum():.0%} together", fontsize="medium")
    return ax


def column_variances(X: Any) -> Vector:
    """Return the variances (d,) of the columns of an array or a sparse matrix."""
    from sklearn.utils.sparsefuncs import mean_variance_axis

    if hasattr(X, "tocsr"):
        return mean_variance_axis(X.tocsr().astype(np.float64), axis=0)[1]
    return np.var(np.asarray(X, np.float64), axis=0)


def plain_names(d: int) -> list[str]:
    """Return names x0, x1, ... of d features."""
    return [f"x{index}" for index in range(d)]


def names_of(learner: Any, d: int) -> list[str]:
    """Return the names of the features that a learner was fitted with, or x0, x1, ..."""
    return [str(name) for name in getattr(learner, "feature_names_in_", plain_names(d))]


def names_in_pipeline(estimator: Any, d: int) -> list[str] | None:
    """Return the names that the steps of a pipeline before the learner give to its features, or None."""
    steps = [part for _, part in getattr(estimator, "steps", [])]
    at = next((i for i, part in enumerate(steps) if type(part).__module__.startswith("gramian.")), 0)
    if at == 0:
        return None
    try:
        names = [str(name) for name in estimator[:at].get_feature_names_out()]
    except (AttributeError, ValueError):
        return None
    return names if len(names) == d else None


def shorten(name: str, most: int = 30) -> str:
    """Return a name of a limited number of characters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def check_features(features: Any, d: int) -> tuple[int, int]:
    """Return two different feature indices; raise a ValueError if they are not."""
    chosen = [int(index) for index in features]
    if len(chosen) != 2 or chosen[0] == chosen[1] or not all(0 <= index < d for index in chosen):
        raise ValueError(f"features={tuple(features)} is not valid. Give two different numbers from 0 to {d - 1}.")
    return chosen[0], chosen[1]


def require_positive(name: str, value: float) -> None:
    """Raise a ValueError unless a number is positive and finite."""
    if not 0 < float(value) < np.inf:
        raise ValueError(f"{name}={value} is not valid. Give a positive number.")
