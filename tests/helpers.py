"""Builders for several test files: examples of all measurements and geometries, problems, data and tangents."""

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse

from gramian import Block, Problem, Term
from gramian.features import Array, Features, Identity, Sparse
from gramian.geometries import GEOMETRIES
from gramian.losses import Squared
from gramian.measurements import MEASUREMENTS, Each, Measurement, Pairs
from gramian.measurements.measurement import outer_products


class Example(NamedTuple):
    """A measurement, its features, and its explicit matrices X_i, shape (m, d, d)."""

    features: Features
    measurement: Measurement
    matrices: np.ndarray


def example_of(kind, rng, dtype):
    """Return the example of a registered measurement, with its features."""
    measurement, X, matrices = kind.example(rng, dtype)
    features = Identity(matrices.shape[1], dtype) if X is None else Array(X)
    return Example(features, measurement, matrices)


def sparse(rng, dtype, n=30, d=5):
    X = rng.standard_normal((n, d)).astype(dtype) * (rng.random((n, d)) < 0.5)
    return Example(Sparse(scipy.sparse.csr_array(X.astype(dtype))), Each(n), outer_products(X))


def node_pairs(rng, dtype, d=5, m=25):
    index = rng.integers(d, size=(m, 2))
    E = np.eye(d, dtype=dtype)
    return Example(Identity(d, dtype), Pairs(index, d), outer_products(E[index[:, 0]] - E[index[:, 1]]))


EXAMPLES = {name: partial(example_of, kind) for name, kind in MEASUREMENTS.items()}
EXAMPLES |= {"sparse": sparse, "node_pairs": node_pairs}
GEOMETRY_EXAMPLES = [geometry for kind in GEOMETRIES.values() for geometry in kind.examples]


def n_columns(geometry, d, r):
    """Return the number of columns of a factor: d on a full-rank geometry, else r."""
    return d if geometry.full_rank else r


def make_problem(example, rng, loss=None, mixed=True):
    """Return a problem with noisy targets and random weights, and with random senses if mixed, else equalities."""
    m = len(example.measurement)
    dtype = example.features.dtype
    d = example.features.shape[1]
    G = rng.standard_normal((d, 2)).astype(dtype)
    target = example.measurement.predict(example.features.image(G)) + rng.standard_normal(m).astype(dtype)
    sense = rng.integers(-1, 2, size=m) if mixed else np.zeros(m, int)
    weight = rng.random(m).astype(dtype)
    term = Term(example.measurement, target, loss or Squared(), sense, weight / weight.sum())
    return Problem([Block(example.features, [term])])


def regression(rng, n, d, r, condition=None, dtype=np.float64):
    """Return X (n, d), y = xᵀWx (n,) without noise, a factor of W (d, r), and a random start (d, r) of its norm."""
    X = rng.standard_normal((n, d))
    G = rng.standard_normal((d, r))
    if condition is not None:
        G = np.linalg.qr(G)[0] * np.logspace(0, -0.5 * np.log10(condition), r)
    start = rng.standard_normal((d, r))
    start *= np.linalg.norm(G) / np.linalg.norm(start)
    y = np.sum((X @ G) ** 2, axis=1)
    return X.astype(dtype), y.astype(dtype), G, start.astype(dtype)


def rank_one(X, y, **term):
    """Return the problem xᵀWx = y of samples X (n, d) and targets y (n,)."""
    return Problem([Block(Array(X), [Term(Each(len(X)), y, **term)])])


def random_tangent(point, rng):
    """Return a random tangent: the gradient of a random linear function of W."""
    d = len(point.frame)
    M = rng.standard_normal((d, d)).astype(point.frame.dtype)
    return point.gradient((M + M.T) @ point.frame)


def gram(point):
    """Return W = G Gᵀ, shape (d, d)."""
    return point.G @ point.G.T
