"""Pictures of a fit: its convergence, the spectrum of W, and the error against the rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.plotting.style import (
    COLOURS,
    find_learner,
    learned_matrix,
    learner_of,
    look_of,
    make_axes,
    place_legend,
    plain,
)
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
    """Draw the error on held-out data against the rank, and return the axes. The rank that was chosen has a mark.

    The error of a `MetricLearnerCV` is 1 minus the mean score over the folds, with its standard error. After a fit with
    rank="auto" it is the cost of the measurements that were held out, beside that of those learned from.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted, with `curve_` or `rank_path_`: MetricLearnerCV; or PSDRegressor and KernelLearner with rank="auto",
        SStressMDS with n_components="auto".
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
    check_ranks_tried(find_learner(estimator))
    learner, ax = learner_of(estimator, "curve_", "rank_path_"), make_axes(ax)
    if hasattr(learner, "curve_"):
        ranks, chosen = learner.curve_.ranks, int(learner.n_components_)
        error = draw_scores(ax, learner.curve_)
    else:
        ranks, chosen = np.array([trial.rank for trial in learner.rank_path_]), int(learner.rank_)
        error = draw_trials(ax, learner.rank_path_)
    mark_rank(ax, ranks, error, chosen)
    ax.set_xlabel("rank")
    place_legend(ax, 2)
    return ax


def check_ranks_tried(learner: Any) -> None:
    """Raise a ValueError if a fitted learner has tried one rank alone."""
    if hasattr(learner, "factor_") and not (hasattr(learner, "rank_path_") or hasattr(learner, "curve_")):
        raise ValueError(
            f"{type(learner).__name__} was fitted with one rank, so there is no curve. Give a fitted MetricLearnerCV, "
            "or an estimator that was fitted with rank='auto' (SStressMDS: n_components='auto')."
        )


def draw_scores(ax: Any, curve: Any) -> Vector:
    """Draw 1 minus the scores of a cross-validation, with their standard errors, and return them."""
    error = 1 - curve.mean
    style = {"color": COLOURS[0], "marker": "o", "markersize": 5, "capsize": 3, "label": "mean and standard error"}
    ax.errorbar(curve.ranks, error, curve.standard_error, **style)
    ax.set_ylabel("error on held-out data (1 - score)")
    return error


def draw_trials(ax: Any, trials: Any) -> Vector:
    """Draw the costs of ranks that were tried, and return those of the measurements that were held out."""
    ranks, costs, held_out = np.array([trial[:3] for trial in trials], dtype=float).T
    for index, (values, name) in enumerate([(held_out, "held out"), (costs, "learned from")]):
        look = look_of(index)
        ax.plot(ranks, values, look.line, color=look.colour, marker=look.marker, markersize=5, label=name)
    values = np.concatenate([held_out, costs])
    if (values > 0).all() and values.max() > 30 * values.min():
        ax.set_yscale("log")
    ax.set_ylabel("cost")
    return held_out


def mark_rank(ax: Any, ranks: Vector, error: Vector, chosen: int) -> None:
    """Mark the chosen rank, and label the ranks where there is room."""
    at = int(np.flatnonzero(ranks == chosen)[0])
    look = {"marker": "s", "markersize": 13, "markerfacecolor": "none", "linestyle": "none"}
    name = f"chosen: {chosen}"
    ax.plot([chosen], [error[at]], markeredgecolor=COLOURS[4], markeredgewidth=2, label=name, **look)
    logarithmic = bool(ranks.max() > 8 * ranks.min())
    if logarithmic:
        ax.set_xscale("log")
    shown = select_labelled_ranks(ranks, chosen, logarithmic=logarithmic)
    ax.set_xticks(shown, [str(rank) for rank in shown])
    ax.minorticks_off()


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
