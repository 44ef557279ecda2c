"""What notebooks show of an estimator: scikit-learn's diagram, and for a fitted one a table of what was learned."""

from __future__ import annotations

from html import escape
from numbers import Integral, Real
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

__all__ = ["html_of", "mimebundle_of", "summarise"]

LONGEST = 200
TABLE = (
    "<table style='border-collapse:collapse;margin-top:0.4em;font-size:0.9em'><caption style='text-align:left;"
    "caption-side:top;font-weight:bold'>learned</caption><tbody>{}</tbody></table>"
)
ROW = (
    "<tr><th scope='row' style='text-align:left;font-weight:normal;padding-right:1em'>{}</th>"
    "<td style='text-align:left'>{}</td></tr>"
)


def html_of(estimator: BaseEstimator) -> str:
    """Return the diagram of an estimator and, after a fit, a table of what was learned, as HTML."""
    diagram = estimator_html_repr(estimator)
    rows = summarise(estimator)
    if not rows:
        return diagram
    body = "".join(ROW.format(escape(name), escape(shorten(text))) for name, text in rows.items())
    return f"<div>{diagram}{TABLE.format(body)}</div>"


def mimebundle_of(estimator: BaseEstimator, **kwargs: Any) -> dict[str, str]:
    """Return the texts that Jupyter shows of an estimator: plain and, unless scikit-learn is set to text, HTML."""
    bundle = {"text/plain": repr(estimator)}
    if get_config()["display"] == "diagram":
        bundle["text/html"] = html_of(estimator)
    return bundle


def summarise(estimator: BaseEstimator) -> dict[str, str]:
    """Return what a fitted estimator has learned, in words by name; empty before a fit."""
    held = vars(estimator)
    rows = {
        "rank": describe_rank(held),
        "features": describe_number(held.get("n_features_in_")),
        "chosen": describe_candidate(held.get("best_params_"), held.get("best_score_")),
        "plan": describe_choice(held.get("choice_")),
        "ending": str(held["message_"]) if held.get("message_") else None,
        "iterations": describe_number(held.get("n_iter_")),
        "cost": describe_number(last(held, "cost")),
        "seconds": describe_number(last(held, "time")),
    }
    learned = rows["rank"] is not None or rows["ending"] is not None
    return {name: text for name, text in rows.items() if text is not None} if learned else {}


def describe_rank(held: dict[str, Any]) -> str | None:
    """Return the rank of the matrix that was learned."""
    for name, axis in (("components_", 0), ("factor_", 1), ("embedding_", 1)):
        shape = getattr(held.get(name), "shape", ())
        if len(shape) == 2:
            return str(shape[axis])
    return None


def describe_number(value: Any) -> str | None:
    """Return a number in at most four digits; integers as they are."""
    if not isinstance(value, Real):
        return None
    return str(int(value)) if isinstance(value, Integral) else f"{float(value):.4g}"


def last(held: dict[str, Any], name: str) -> Any:
    """Return the last entry of a part of the history, or None."""
    history = held.get("history_")
    values = history.get(name) if isinstance(history, dict) else None
    return values[-1] if values is not None and len(values) else None


def describe_choice(choice: Any) -> str | None:
    """Return the plan of a fit, with errors on held-out samples."""
    if choice is None:
        return None
    told = {name: choice.errors[name] for name in (choice.plan, "start", "euclid") if name in choice.errors}
    errors = ", ".join(f"{name} {error:.1%}" for name, error in told.items())
    return f"{choice.plan}; errors on held-out samples: {errors}" if errors else str(choice.plan)


def describe_candidate(parameters: Any, score: Any) -> str | None:
    """Return the parameters that a search has chosen, with their mean score."""
    if not isinstance(parameters, dict):
        return None
    words = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    return f"{words}; mean score {score:.4g}" if isinstance(score, Real) else words


def shorten(text: str) -> str:
    """Return a text of at most LONGEST characters."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
