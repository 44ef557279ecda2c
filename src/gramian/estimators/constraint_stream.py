"""Learning on: streams of labels, pairs or triplets, each call near the metric that the last one left."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from gramian.estimators.supervision import (
    Regularisation,
    checked_labels,
    checked_triplets,
    given_pairs,
    pair_problem,
    triplet_problem,
)
from gramian.features import Features
from gramian.objective import Problem
from gramian.solvers import ConjugateGradient, Result
from gramian.types import Matrix

__all__ = ["ROUND", "ConstraintStream"]

#: Iterations on one set of triplets: between two searches for new ones, or in a call of a stream.
ROUND = 15


class ConstraintStream:
    """The `partial_fit` methods of a metric learner: closeness to the present metric, against the fit of new data."""

    n_components: int | None
    factor_: Matrix
    n_seen_: int
    converged_: bool
    _unit: float
    fit_pairs: Any
    fit_triplets: Any
    _learn: Any
    _from_labels: Any
    _triplets: Any
    _read_pairs: Any
    _solver: Any
    _solve: Any
    _geometry: Any

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn on from some more labelled samples: stay close to the present metric while fitting them better.

        Each call minimises the loss of its own samples plus the price of leaving the present metric. That grows with
        the number of samples seen, so that later calls move it less. The first call is `fit`.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : array, shape (n,)

        Returns
        -------
        self
        """
        if hasattr(self, "components_"):
            return self._go_on(X, lambda *parts: self._near_labels(y, *parts), y=y)
        return self._learn(X, lambda features, rng: self._from_labels(features, y, rng), y=y, whole=True)

    def partial_fit_pairs(
        self, X: Any, pairs: Any = None, target: Any = None, sense: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn on from some more pairs, given as for `fit_pairs`; the first call is `fit_pairs`."""
        if not hasattr(self, "components_"):
            return self.fit_pairs(X, pairs, target, sense, y, sample_weight)
        X, pairs = given_pairs(X, pairs)
        given = (target, sense, y, sample_weight)
        return self._go_on(X, lambda *parts: self._near_pairs(pairs, given, *parts))

    def partial_fit_triplets(self, X: Any, triplets: Any) -> Self:
        """Learn on from some more triplets, given as for `fit_triplets`; the first call is `fit_triplets`."""
        if not hasattr(self, "components_"):
            return self.fit_triplets(X, triplets)
        return self._go_on(X, lambda *parts: self._near_triplets(triplets, *parts))

    def _go_on(self, X: Any, near: Any, **kinds: Any) -> Self:
        """A few iterations on a problem of so many constraints, near the present metric."""

        def supervised(features: Features, rng: np.random.Generator) -> Result:
            solver = self._solver(rng)
            start = self.factor_.astype(features.dtype) / features.dtype.type(self._unit)
            rank = features.shape[1] if self.n_components is None else self.n_components
            if rank != start.shape[1]:
                raise ValueError(f"n_components={rank}, but the stream has {start.shape[1]}. Call fit to start anew.")
            problem = near(features, start, rng)
            point = self._geometry().point(start)
            result = self._solve(problem, point, solver if solver.stops else ConjugateGradient(), most=ROUND)
            # A round is cut short on purpose.
            self.converged_ = self.converged_ or result.n_iter == ROUND
            return result

        return self._learn(X, supervised, goes_on=True, whole=True, **kinds)

    def _inertia(self, count: int) -> Regularisation:
        """The price of leaving the present metric: 1 for as many constraints as were seen before."""
        price = Regularisation(self.n_seen_ / count)
        self.n_seen_ += count
        return price

    def _near_labels(self, y: Any, features: Features, start: Matrix, rng: np.random.Generator) -> Problem:
        labels = checked_labels(y, features.shape[0])
        triplets = self._triplets(features, labels, start, rng)
        return triplet_problem(features, triplets, start, 0.0, self._inertia(len(labels)))

    def _near_pairs(self, pairs: Any, given: Any, features: Features, start: Matrix, rng: Any) -> Problem:
        index, target, senses, weight = self._read_pairs(features, pairs, given, start)
        return pair_problem(features, index, target, senses, weight, start, self._inertia(len(index)))

    def _near_triplets(self, triplets: Any, features: Features, start: Matrix, rng: Any) -> Problem:
        index = checked_triplets(triplets, features.shape[0])
        return triplet_problem(features, index, start, 0.0, self._inertia(len(index)))
