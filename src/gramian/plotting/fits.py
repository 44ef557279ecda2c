"""Pictures of a fit: its convergence, the spectrum of W, and the error against the rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.plotting.style import COLOURS, learned_matrix, learner_of, look_of, make_axes, place_legend, plain
from gramian.types import Vector

__all__ = ["plot_convergence", "plot_rank_curve", "plot_spectrum"]

AGAINST = {"iteration": "iteration", "time": "seconds", "passes": "passes over the data"}
QUANTITIES = {"cost": "cost", "gradient_norm": "norm of the gradient"}
#: Markers on a line are this many at the most.
MOST_MARKERS = 15
#: Eigenvalues below this share of the largest are zero up to rounding, and not drawn.
ZERO = 1e-12
#: Labels of ranks nearer than this share of the axis would overlap.
NEAREST_LABELS = 0.05


def plot_convergence(
    estimator: Any, *, against: str = "iteration", quantity: str = "cost", label: str | None = None, ax: Any = None
) -> Any:
    """Draw the cost of a fit, iteration by iteration, and return the axes.

    Call it several times with the same `ax` to compare fits.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted, with `history_`.
    against : {"iteration", "time", "passes"}
    quantity : {"cost", "gradient_norm"}
    label : str, optional
        The name in the legend; by default the class of the estimator.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import gramian
    >>> from sklearn.datasets import load_iris
    >>> model = gramian.MetricLearner(2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> ax = gramian.plotting.plot_convergence(model)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('iteration', 'cost')
    """
    check_choice("against", against, AGAINST)
    check_choice("quantity", quantity, QUANTITIES)
    learner = learner_of(estimator, "history_")
    ax = make_axes(ax)
    look = look_of(len(ax.lines))
    x, y = learner.history_[against], learner.history_[quantity]
    shown = np.isfinite(y)
    if not shown.any():
        raise ValueError(f"history_ has no {quantity}: the solver does not compute it. Choose another quantity.")
    x, y = x[shown], y[shown]
    every = max(1, len(x) // MOST_MARKERS)
    name = plain(type(learner).__name__ if label is None else label)
    ax.plot(x, y, look.line, color=look.colour, marker=look.marker, markevery=every, markersize=4, label=name)
    if (y > 0).all() and y.max() > 10 * y.min():
        ax.set_yscale("log")
    ax.set_xlabel(AGAINST[against])
    ax.set_ylabel(QUANTITIES[quantity])
    if len(ax.lines) == 1:
        ax.set_title(plain(getattr(learner, "message_", "")), fontsize="medium")
    else:
        ax.set_title("")
    place_legend(ax, len(ax.lines))
    return ax


def plot_spectrum(estimator: Any, *, ax: Any = None) -> Any:
    """Draw the eigenvalues of W, descending, with the share of their sum that they reach, and return the axes.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import gramian
    >>> from sklearn.datasets import load_iris
    >>> model = gramian.MetricLearner(2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> ax = gramian.plotting.plot_spectrum(model)
    >>> len(ax.patches)
    2
    """
    learner = learner_of(estimator, "components_", "factor_", "embedding_")
    rows = np.asarray(learner.embedding_, np.float64) if hasattr(learner, "embedding_") else learned_matrix(learner)
    values = np.linalg.svd(rows, compute_uv=False) ** 2
    ax = make_axes(ax)
    numbers = np.arange(1, len(values) + 1)
    bars = ax.bar(numbers, values, color=COLOURS[0], width=0.7)
    positive = values[values > 0]
    if len(positive) > 0 and values.max() > 30 * values.min():
        ax.set_yscale("log")
        # Smaller ones are rounding errors.
        ax.set_ylim(bottom=max(positive.min() / 3, ZERO * values.max()))
    if 0 < len(values) <= 12 and values.sum() > 0:
        shares = np.cumsum(values) / values.sum()
        ax.bar_label(bars, [f"{share:.0%}" for share in shares], fontsize="small", padding=2)
        ax.margins(y=0.12)
        ax.set_title("share of the sum of eigenvalues, cumulated", fontsize="medium")
        ax.set_xticks(numbers)
    ax.set_xlabel("number")
    ax.set_ylabel("eigenvalue of W")
    return ax


def plot_rank_curve(estimator: Any, *, ax: Any = None) -> Any:
    """Draw the error on held-out data against the rank, with its standard error, and return the axes.

    The error is 1 minus the mean score over the folds. The rank that was chosen has a mark.

    Parameters
    ----------
    estimator : MetricLearnerCV, or a pipeline of one
        Fitted.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> import gramian
    >>> from sklearn.datasets import load_iris
    >>> model = gramian.MetricLearnerCV(ranks=[1, 2], cv=3, random_state=0).fit(*load_iris(return_X_y=True))
    >>> ax = gramian.plotting.plot_rank_curve(model)
    >>> ax.get_xlabel()
    'rank'
    """
    learner = learner_of(estimator, "curve_")
    curve, ax = learner.curve_, make_axes(ax)
    error = 1 - curve.mean
    style = {"color": COLOURS[0], "marker": "o", "markersize": 5, "capsize": 3, "label": "mean and standard error"}
    ax.errorbar(curve.ranks, error, curve.standard_error, **style)
    chosen = int(learner.n_components_)
    at = int(np.flatnonzero(curve.ranks == chosen)[0])
    look = {
        "marker": "s",
        "markersize": 13,
        "markerfacecolor": "none",
        "markeredgecolor": COLOURS[4],
        "linestyle": "none",
    }
    ax.plot([chosen], [error[at]], markeredgewidth=2, label=f"chosen: {chosen}", **look)
    if curve.ranks.max() > 8 * curve.ranks.min():
        ax.set_xscale("log")
    shown = select_labelled_ranks(curve.ranks, chosen, logarithmic=curve.ranks.max() > 8 * curve.ranks.min())
    ax.set_xticks(shown, [str(rank) for rank in shown])
    ax.minorticks_off()
    ax.set_xlabel("rank")
    ax.set_ylabel("error on held-out data (1 - score)")
    place_legend(ax, 2)
    return ax


def select_labelled_ranks(ranks: Vector, chosen: int, *, logarithmic: bool) -> list[int]:
    """Return the ranks that have labels: the chosen one, and others where there is room."""
    places = np.log(ranks) if logarithmic else ranks.astype(float)
    room = NEAREST_LABELS * max(float(np.ptp(places)), 1e-9)
    shown = [int(np.flatnonzero(ranks == chosen)[0])]
    for index in range(len(ranks)):
        if all(abs(places[index] - places[other]) > room for other in shown):
            shown.append(index)
    return [int(rank) for rank in ranks[sorted(shown)]]


def check_choice(name: str, value: Any, choices: dict[str, str]) -> None:
    """Raise a ValueError unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not valid. Choose from {', '.join(map(repr, choices))}.")
