"""The candidates of a cross-validation: ranks and penalties, their scores, and which is chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gramian.checks import check_number
from gramian.estimators._path import Plans
from gramian.types import Matrix, Vector

__all__ = ["Candidate", "Scored", "as_list", "choose_candidate", "resolve_ranks", "standard_errors", "tabulate"]

#: The ranks that are tried by default, and the largest number of features for which full rank is among them.
LADDER = (1, 2, 3, 5, 8, 12, 20, 32, 50, 80)
LARGEST_FULL = 200


class Candidate(NamedTuple):
    """A rank, None for full rank, and penalties."""

    n_components: int | None
    regularisation: float | str
    shrinkage: float | str

    def __str__(self) -> str:
        """Return the rank, and the penalties that are numbers, in words."""
        rank = self.n_components
        words = ["full rank" if rank is None else f"{rank} component{'' if rank == 1 else 's'}"]
        prices = {"regularisation": self.regularisation, "shrinkage": self.shrinkage}
        return ", ".join(
            [*words, *(f"{name} {value:g}" for name, value in prices.items() if not isinstance(value, str))]
        )


class Scored(NamedTuple):
    """The scores (k,) and the seconds (k,) of the fits of all candidates on a fold, and the plans by rank."""

    scores: Vector
    seconds: Vector
    plans: Plans


def resolve_ranks(ranks: Any, n_samples: int, n_features: int) -> list[int | None]:
    """Return different ranks, ascending, None for full rank; raise a ValueError that names one that is not possible."""
    if isinstance(ranks, str) and ranks == "auto":
        whole = n_features < n_samples and n_features <= LARGEST_FULL
        ladder = [rank for rank in LADDER if rank < min(n_features, n_samples)]
        return [*ladder, None] if whole or not ladder else [*ladder]
    ranks = as_list("ranks", ranks, "integers, None for full rank, or give 'auto'")
    for index, rank in enumerate(ranks):
        if rank is not None:
            check_number(f"ranks[{index}]", rank, least=1, integer=True)
            if rank > min(n_features, n_samples):
                raise ValueError(
                    f"ranks[{index}]={rank} exceeds {min(n_features, n_samples)}, the smaller of the numbers of "
                    "features and of training samples of a fold. Choose smaller ranks."
                )
    found = {n_features if rank is None else int(rank) for rank in ranks}
    return [None if rank == n_features else rank for rank in sorted(found)]


def as_list(name: str, values: Any, wanted: str) -> list[Any]:
    """Return the values of a parameter as a list; raise a ValueError if it is not a sequence, or empty."""
    found = [] if isinstance(values, str) or not np.iterable(values) else list(values)
    if not found:
        raise ValueError(f"{name}={values!r} is not valid. Give a list of {wanted}.")
    return found


def standard_errors(scores: Matrix) -> Vector:
    """Return the standard errors of the means over the folds, of scores (k, n_folds)."""
    return scores.std(axis=1, ddof=1) / scores.shape[1] ** 0.5


def choose_candidate(candidates: list[Candidate], scores: Matrix, one_standard_error: bool) -> int:
    """Return the index of the candidate with the best mean score, that of the smallest rank among equals.

    With `one_standard_error` it is the best one of the smallest rank that is within one standard error of the best.
    """
    mean = scores.mean(axis=1)
    best = int(np.argmax(mean))
    if not one_standard_error:
        return best
    near = np.flatnonzero(mean >= mean[best] - standard_errors(scores)[best])
    smallest = candidates[near[0]].n_components
    return int(max((i for i in near if candidates[i].n_components == smallest), key=lambda i: mean[i]))


def tabulate(candidates: list[Candidate], scores: Matrix, seconds: Matrix) -> dict[str, Any]:
    """Return the scores and times (k, n_folds) of the candidates, as GridSearchCV's `cv_results_`."""
    table: dict[str, Any] = {"params": [candidate._asdict() for candidate in candidates]}
    for name in Candidate._fields:
        values = np.empty(len(candidates), object)
        values[:] = [getattr(candidate, name) for candidate in candidates]
        table[f"param_{name}"] = values
    table |= {f"split{index}_test_score": scores[:, index].copy() for index in range(scores.shape[1])}
    mean = scores.mean(axis=1)
    return table | {
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": (mean[:, None] < mean).sum(axis=1) + 1,
        "mean_fit_time": seconds.mean(axis=1),
        "std_fit_time": seconds.std(axis=1),
    }
