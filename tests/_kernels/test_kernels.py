"""Compiled kernels equal their NumPy references."""

import copy
import inspect

import numba
import numpy as np
import pytest

from gramian._kernels import (
    entries,
    huber,
    logistic,
    neighbours,
    pairs,
    reference,
    samples,
    squared,
    subspace,
    triangles,
)

N, R, M = 20, 3, 50
D, OBSERVED = 12, 8


def arguments(rng, dtype, rank=R):
    def floats(*shape):
        return rng.standard_normal(shape).astype(dtype)

    return {
        "Z": floats(N, rank),
        "T": floats(N, rank),
        "pairs": rng.integers(N, size=(M, 2)),
        "triplets": rng.integers(N, size=(M, 3)),
        "entries": rng.integers(N, size=(M, 2)),
        "prediction": floats(M),
        "a": floats(M),
        "b": floats(M),
        "c": floats(M),
        "target": floats(M),
        "sense": rng.integers(-1, 2, size=M).astype(np.int8),
        "s": 0.7,
        "delta": 0.6,
        "scale": 0.6,
        "error": -0.4,
        "side": int(rng.integers(-1, 2)),
        "A": floats(70, 70),
        "n": 70,
        "values": floats(70 * 69 // 2),
    }


def kernels_of(*modules):
    """Return the kernels that modules define, by name; with NUMBA_DISABLE_JIT=1 they are plain functions."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if callable(value) and not inspect.isclass(value) and value.__module__ == module.__name__
    }


KERNELS = kernels_of(samples, pairs, entries, squared, huber, logistic, triangles)
# These kernels change their arguments in place, in float64 for samples of any type. Their arguments must fit together
# (an orthonormal frame, a residual orthogonal to it). Each function gets a copy; the changed copies are compared too.
IN_PLACE = kernels_of(subspace, neighbours)


def test_every_kernel_has_a_reference():
    references = {name for name, _ in inspect.getmembers(reference, inspect.isfunction)}
    assert references == set(KERNELS) | set(IN_PLACE)
    assert not set(KERNELS) & set(IN_PLACE)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are plain functions where numba compiles nothing")
@pytest.mark.parametrize("name", [*KERNELS, *IN_PLACE])
def test_kernels_release_the_gil(name):
    assert (KERNELS | IN_PLACE)[name].targetoptions["nogil"]


@pytest.mark.skipif(not numba.config.BOUNDSCHECK, reason="indices are checked with NUMBA_BOUNDSCHECK=1 only")
def test_an_index_out_of_bounds_is_noticed():
    with pytest.raises(IndexError):
        pairs.pairs_predict(np.array([[0, 3]]), np.zeros((3, 2)))


@pytest.mark.parametrize("rank", [1, 2, R])
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_equals_reference(name, rank, rng, dtype):
    plain = getattr(reference, name)
    values = arguments(rng, dtype, rank)
    parameters = list(inspect.signature(plain).parameters)
    values["weight"] = rng.random(N if name.startswith("each") else M)
    values["weight"] = values["weight"].astype(dtype)
    found, expected = KERNELS[name](*(values[k] for k in parameters)), plain(*(values[k] for k in parameters))
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-13)
        if isinstance(a, np.ndarray) and name not in ("squared_quartic", "triangle_pairs"):
            assert a.dtype == dtype


def test_no_pairs_of_no_samples_add_nothing():
    assert pairs.pairs_weigh(np.empty((0, 2), int), np.empty(0), np.empty((0, 2))).shape == (0, 2)


def in_place_arguments(rng, name, dtype):
    frame = np.linalg.qr(rng.standard_normal((D, R)))[0].copy()
    X = np.where(rng.random((N, D)) < 0.2, np.nan, rng.standard_normal((N, D))).astype(dtype)
    observed, root = np.sort(rng.permutation(D)[:OBSERVED]), rng.standard_normal((R, R))
    v, e = np.zeros(D), rng.standard_normal(D)
    v[observed] = rng.standard_normal(OBSERVED)
    e -= frame @ (frame.T @ e)
    moment, w = np.eye(R) + root @ root.T, rng.standard_normal(R)
    mean, counts = rng.standard_normal(D), 3 * rng.random(D)
    stream = subspace.Stream(frame, moment, mean, counts, np.array([4.0, 5.0, 1.0]))
    # One label is rare, and some samples coincide.
    Z, labels = rng.integers(-3, 4, (N, 2)).astype(dtype), np.minimum(rng.integers(3, size=N), rng.integers(3, size=N))
    labels = np.sort(labels)
    return {
        "dot": (v, e),
        "solve": (moment, w, 1e-3),
        "subspace_fit_weights": (frame, v, observed, OBSERVED),
        "subspace_rotate": (frame, e, w, 0.7),
        "subspace_reorthonormalise": (frame + 1e-3 * rng.standard_normal((D, R)),),
        "subspace_observe": (X[0], mean, counts, 0.9, True, v, np.zeros(D, np.intp)),
        "subspace_update_moment": (moment, w, 0.9),
        "insert_sorted": (0.3, 7, np.array([-1.0, 0.2, 0.5, 0.9]), np.array([4, 2, 0, 1])),
        "count_within": (Z[:, 0], Z[:, 1], Z.dtype.type(1.0)),
        "update_list": (Z[:, 0], Z[:, 1], rng.permutation(N), 4, *(each[0] for each in neighbour_lists(4))),
        "update_neighbours": (
            Z[3:9] @ Z[5:].T,
            np.sum(Z**2, axis=1),
            np.arange(3, 9),
            np.searchsorted(labels, labels[3:9]),
            np.searchsorted(labels, labels[3:9], side="right"),
            rng.permutation(N),
            5,
            *neighbour_lists(4),
            *neighbour_lists(3),
        ),
        "subspace_follow": (X, rng.permutation(N), stream, 0.9, False, True),
    }[name]


def neighbour_lists(k):
    """Return lists of the k nearest samples of six anchors, (6, k) each, with one entry already filled."""
    distances, indices = np.full((6, k), np.inf), np.full((6, k), -1)
    distances[:, 0], indices[:, 0] = 1.0, 0
    return distances, indices


def leaves(values):
    """Return the numbers and arrays in nested tuples as one list, without None."""
    if values is None:
        return []
    return [leaf for value in values for leaf in leaves(value)] if isinstance(values, tuple) else [values]


@pytest.mark.parametrize("name", IN_PLACE)
def test_kernel_in_place_equals_reference(name, rng, dtype):
    given = in_place_arguments(rng, name, dtype)
    compiled, plain = copy.deepcopy(given), copy.deepcopy(given)
    found = leaves(IN_PLACE[name](*compiled)) + leaves(compiled)
    expected = leaves(getattr(reference, name)(*plain)) + leaves(plain)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_weights_of_a_complete_sample_are_its_products_with_the_frame(rng):
    frame, v = np.linalg.qr(rng.standard_normal((D, R)))[0].copy(), rng.standard_normal(D)
    for fit_weights in (subspace.subspace_fit_weights, reference.subspace_fit_weights):
        w, share = fit_weights(frame, v, np.arange(D), D)
        np.testing.assert_allclose(w, frame.T @ v, rtol=0, atol=1e-14)
        assert share == 1
