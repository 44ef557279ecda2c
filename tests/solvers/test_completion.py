"""The completion of matrices, whose objective has valleys that lead to infinity."""

import numpy as np
import pytest

from gramian import Block, Problem, Term, minimize
from gramian.features import Identity
from gramian.geometries import Flat, Scaled
from gramian.measurements import Entries
from gramian.solvers import TrustRegion


def completion(seed, d=200, rank=3, share=0.1):
    rng = np.random.default_rng(seed)
    truth, (i, j) = rng.standard_normal((d, rank)), np.tril_indices(d)
    known = rng.random(len(i)) < share
    entries = np.column_stack([i[known], j[known]])
    W = truth @ truth.T
    return Problem([Block(Identity(d), [Term(Entries(entries), W[entries[:, 0], entries[:, 1]])])]), W


@pytest.mark.parametrize("geometry", [Flat(), Scaled()], ids=["flat", "scaled"])
@pytest.mark.parametrize("seed", range(5))
def test_a_trust_region_does_not_follow_a_valley_to_infinity(seed, geometry):
    problem, W = completion(seed)
    start = np.random.default_rng(100 + seed).standard_normal((200, 3))
    result = minimize(problem, TrustRegion(), geometry.point(start), tol=1e-10, max_iter=60)
    G = result.point.G
    assert np.linalg.norm(G @ G.T - W) < 1e-3 * np.linalg.norm(W)
