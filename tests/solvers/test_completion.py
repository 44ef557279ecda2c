"""Completion: of a matrix of low rank few entries are known, and most directions of W are seen by none of them."""

import numpy as np
import pytest
import scipy.sparse

from gramian import Block, Problem, Term, minimize
from gramian.features import as_features
from gramian.geometries import Flat, Scaled
from gramian.measurements import Entries
from gramian.solvers import TrustRegion


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("geometry", [Flat(), Scaled()], ids=repr)
def test_trust_region_finds_a_matrix_from_a_tenth_of_its_entries(geometry, seed):
    d, r, rng = 200, 3, np.random.default_rng(seed)
    G = rng.standard_normal((d, r))
    W = G @ G.T
    rows, columns = np.triu_indices(d)
    known = rng.choice(len(rows), len(rows) // 10, replace=False)
    pairs = np.column_stack([rows[known], columns[known]])
    term = Term(Entries(pairs), W[pairs[:, 0], pairs[:, 1]])
    problem = Problem([Block(as_features(scipy.sparse.eye_array(d, format="csr")), [term])])
    result = minimize(problem, TrustRegion(), geometry.point(rng.standard_normal((d, r))), max_iter=100, tol=1e-8)
    error = np.linalg.norm(result.point.G @ result.point.G.T - W) / np.linalg.norm(W)
    assert error < 1e-3
