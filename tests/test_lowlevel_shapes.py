"""Random mistakes in shapes, indices and dtypes of low-level calls: each ends in a clear error or in the right result.

The cases run in a process of their own, so that a crash is a failure and not the end of the tests. A soak run asks for
more of them, with the bounds checks of numba:

    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds python tests/test_lowlevel_shapes.py 10000 [first seed]
"""

import json
import os
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from gramian import Block, Problem, Term, minimize
from gramian.features import Array, Centred, Identity, Sparse
from gramian.geometries import GEOMETRIES
from gramian.losses import LOSSES
from gramian.measurements import Dense, Each, Pairs, Triplets
from gramian.solvers import ConjugateGradient, GradientDescent, Online, TrustRegion

N_CASES = int(os.environ.get("GRAMIAN_LOWLEVEL_CASES", "400"))
GEOMETRY_EXAMPLES = [geometry for kind in GEOMETRIES.values() for geometry in kind.examples]
LOSS_EXAMPLES = [loss for kind in LOSSES.values() for loss in kind.examples]
# Calls on which NumPy itself may refuse shapes, in its own words: products with the data.
BY_NUMPY = ("features.py",)


def pick(rng, options):
    return options[rng.integers(len(options))]


def distort(rng, array):
    """Return the array, four times in ten with another dtype, layout, shape or kind, or with a bad number in it."""
    if rng.random() < 0.6:
        return array
    flat = array.reshape(-1)
    kinds = {
        "dtype": lambda: array.astype(pick(rng, ["f4", "f8", "i4", "u8", "?", "f2", "g", ">f8", "c16", "O", "U8"])),
        "dates": lambda: array.astype("i8").astype("M8[s]"),
        "fortran": lambda: np.asfortranarray(array),
        "strided": lambda: np.repeat(array, 2, axis=0)[::2],
        "list": lambda: array.tolist(),
        "masked": lambda: np.ma.masked_array(array, rng.random(array.shape) < 0.5),
        "axis": lambda: array[None],
        "flat": lambda: flat,
        "shorter": lambda: array[: rng.integers(len(array) + 1)],
        "longer": lambda: np.concatenate([array, array]),
        "narrower": lambda: array[..., :-1],
        "wider": lambda: np.concatenate([array, array], axis=-1),
        "scalar": lambda: np.float64(1.0),
        "none": lambda: None,
        "bad": lambda: np.where(rng.random(array.shape) < 0.3, pick(rng, [np.nan, np.inf, -1e300, 1e-320]), array),
        "readonly": lambda: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
    }
    return kinds[pick(rng, list(kinds))]()


def indices(rng, n, columns):
    """Return indices (m, columns) of n samples, sometimes out of range or of another dtype or shape."""
    array = rng.integers(n, size=(rng.integers(0, 12), columns))
    if rng.random() < 0.5:
        return array
    if array.size and rng.random() < 0.6:
        array[rng.integers(len(array)), rng.integers(columns)] = pick(rng, [-1, n, 10**9, 2**62, -(2**62)])
    return array if rng.random() < 0.5 else distort(rng, array)


def measurement(rng, n):
    kind = pick(rng, ["each", "pairs", "triplets", "dense"])
    if kind == "each":
        return Each(pick(rng, [*[n] * 9, n + 1, 0, -1, 2.5, "3", None, True]))
    if kind == "dense":
        return Dense(distort(rng, rng.standard_normal((rng.integers(0, 6), n, n))))
    n_samples = pick(rng, [None, None, n, n + 3])
    return Pairs(indices(rng, n, 2), n_samples) if kind == "pairs" else Triplets(indices(rng, n, 3), n_samples)


def explicit(measured, Z):
    """Return predictions of the measurement from its definition, in float64."""
    Z = np.asarray(Z).astype(np.float64)
    if isinstance(measured, Each):
        return (Z**2).sum(1)
    if isinstance(measured, Dense):
        # Infinity times 0 is NaN, also where Z has no columns.
        return np.einsum("mij,ij->m", measured.flat.reshape(-1, measured.d, measured.d).astype(float), Z @ Z.T)
    if isinstance(measured, Pairs):
        return ((Z[measured.pairs[:, 0]] - Z[measured.pairs[:, 1]]) ** 2).sum(1)
    a, near, far = measured.triplets.T
    return ((Z[a] - Z[far]) ** 2).sum(1) - ((Z[a] - Z[near]) ** 2).sum(1)


def require_close(found, expected, dtype):
    expected = np.asarray(expected)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    if np.isfinite(expected).all() and np.abs(expected).max(initial=0) < 1e30:
        tolerance = 1e-4 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(
            found, expected, rtol=tolerance, atol=tolerance * (1 + np.abs(expected).max(initial=0))
        )


def measure(rng):
    n, r = rng.integers(1, 8, size=2)
    measured = measurement(rng, n)
    rows = n if rng.random() < 0.8 else max(n + rng.integers(-2, 3), 1)
    Z = distort(rng, rng.standard_normal((rows, r)))
    call = pick(rng, ["predict", "along", "weigh", "take"])
    if call == "predict":
        found = measured.predict(Z)
        require_close(found, explicit(measured, Z), found.dtype)
    elif call == "along":
        T = distort(rng, rng.standard_normal((rows, r)))
        b, c = measured.along(Z, T)
        require_close(c, explicit(measured, T), c.dtype)
        if np.abs(explicit(measured, Z)).max(initial=0) < 1e6 > np.abs(c).max(initial=0):  # else the sum cancels
            require_close(b, explicit(measured, np.add(Z, T)) - explicit(measured, Z) - explicit(measured, T), b.dtype)
    elif call == "weigh":
        weight = distort(rng, rng.standard_normal(len(measured)))
        S = measured.weigh(weight, Z)
        if np.isfinite(Z).all():  # else the product of both has no value, even without measurements
            require_close(np.vdot(S, Z), np.vdot(np.asarray(weight, float), explicit(measured, Z)), S.dtype)
    else:
        rows = distort(rng, rng.integers(-1, len(measured) + 2, size=3))
        part, _ = measured.take(rows)
        assert len(part) == len(rows)


def make_term(rng, measured):
    m = len(measured)
    sense = pick(rng, [None, "at most", ["at least"], rng.integers(-1, 2, size=m), distort(rng, np.zeros(m, int)), [7]])
    weight = pick(rng, [None, distort(rng, rng.random(m))])
    loss = pick(rng, [*LOSS_EXAMPLES, "squared"]) if rng.random() < 0.3 else LOSS_EXAMPLES[0]
    return Term(measured, distort(rng, rng.standard_normal(m)), loss, sense, weight)


def good_problem(rng, n, d, dtype):
    X = rng.standard_normal((n, d)).astype(dtype)
    features = pick(
        rng, [Array(X), Sparse(scipy.sparse.csr_array(X)), Centred(Array(X), X.mean(0)), Array(X.copy("F"))]
    )
    measured = pick(rng, [Each(n), Pairs(rng.integers(n, size=(9, 2)), n), Triplets(rng.integers(n, size=(9, 3)), n)])
    return Problem([Block(features, [Term(measured, rng.standard_normal(len(measured)) ** 2)])])


def build(rng):
    n, d = rng.integers(2, 8, size=2)
    terms = [
        make_term(rng, measurement(rng, pick(rng, [n] * 9 + [n + 2])))
        for _ in range(rng.integers(0 if rng.random() < 0.1 else 1, 3))
    ]
    X = distort(rng, rng.standard_normal((n, d)))
    blocks = [
        Block(
            pick(rng, [lambda: Array(X), lambda: Array(X), lambda: Identity(n), lambda: X])(),
            pick(rng, [terms] * 9 + [None]),
        )
    ]
    if rng.random() < 0.3:
        blocks += good_problem(rng, n, pick(rng, [d, n, d + 1]), pick(rng, ["f4", "f8"])).blocks
    problem = Problem(pick(rng, [blocks] * 12 + [blocks[0], []]))
    G = rng.standard_normal((problem.n_features, 2)).astype(problem.dtype)
    with np.errstate(all="ignore"):
        evaluation = problem.evaluate(GEOMETRIES["flat"]().point(G))
        expected = sum(judge(term, block.features.image(G)) for block in problem.blocks for term in block.terms)
    require_close(np.float64(evaluation.value), expected, problem.dtype)
    assert evaluation.gradient.shape == G.shape


def judge(term, Z):
    prediction = explicit(term.measurement, Z)
    return np.sum(term.weight * term.loss(prediction, term.target.astype(float), term.sense)[0])


def place(rng):
    geometry, d = pick(rng, GEOMETRY_EXAMPLES), rng.integers(2, 6)
    r = d if geometry.full_rank and rng.random() < 0.9 else rng.integers(1, d + 1)
    point = geometry.point(distort(rng, rng.standard_normal((d, r))))
    assert point.G.dtype in (np.float32, np.float64)
    problem = good_problem(rng, 7, pick(rng, [*[len(point.G)] * 4, d, 3]), pick(rng, ["f4", *[point.G.dtype] * 4]))
    with np.errstate(all="ignore"):
        evaluation = problem.evaluate(point)
        tangent = distort(rng, evaluation.gradient)
        if rng.random() < 0.3:
            assert evaluation.gauss_newton(tangent).shape == evaluation.gradient.shape
            return
        line = evaluation.line(tangent)
        moved = line.move(min(1e-3, line.limit))
    if np.isfinite(moved.value):
        with np.errstate(all="ignore"):
            fresh = problem.evaluate(moved.point).value
        require_close(np.float64(moved.value), np.float64(fresh), np.float32)


def solve(rng):
    geometry, d = pick(rng, GEOMETRY_EXAMPLES), rng.integers(2, 5)
    dtype = pick(rng, ["f4", "f8"])
    problem = good_problem(rng, 7, d, dtype)
    G = rng.standard_normal((d, d if geometry.full_rank else 2)).astype(dtype)
    point = pick(rng, [G, geometry, geometry.point(distort(rng, G))]) if rng.random() < 0.5 else geometry.point(G)
    solver = pick(
        rng, [ConjugateGradient(), GradientDescent(), TrustRegion(), TrustRegion(), TrustRegion, Online(4, 0.1, 1.0)]
    )
    if rng.random() < 0.1:
        solver, point = point, solver
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = minimize(
            problem, solver, point, max_iter=pick(rng, [3] * 9 + [-1, 2.5]), tol=pick(rng, [0, 1e-6] * 5 + [None])
        )
    assert np.isfinite(result.cost)
    assert result.cost <= result.history["cost"][0] * (2 if isinstance(solver, Online) else 1) + 1e-4


def judge_loss(rng):
    loss, m = pick(rng, LOSS_EXAMPLES), rng.integers(1, 50)
    arrays = [rng.standard_normal(m + (rng.integers(-1, 2) if rng.random() < 0.2 else 0)) for _ in range(4)]
    sense = rng.integers(-1, 2, size=m).astype(np.int8)
    prediction, b, target, weight = arrays
    if rng.random() < 0.5:
        value, slope, _ = loss.value_and_slopes(prediction, target, sense, weight)
        assert slope.shape == (m,)
    else:
        value = loss.along((prediction, b, b), target, sense, weight, 0.0)[0]
    require_close(np.float64(value), np.sum(weight * loss(prediction, target, sense)[0]), np.dtype("f8"))


KINDS = [measure, measure, measure, build, place, place, solve, judge_loss]


def run_case(seed):
    """Run one case; return "right" or "refused", or raise what is a fault."""
    rng = np.random.default_rng(seed)
    kind = pick(rng, KINDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            kind(rng)
    except (ValueError, TypeError) as error:
        if not is_clear(error):
            raise
        return f"{kind.__name__} refused"
    return f"{kind.__name__} right"


def is_clear(error):
    """Return True for an error in the words of gramian, or of NumPy on a product with the data."""
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    own = [file for file in files if "gramian" in file.parts]
    clear = (ValueError, TypeError, np.linalg.LinAlgError)
    return bool(own) and ((files[-1] == own[-1] and type(error) in clear) or own[-1].name in BY_NUMPY)


def run_cases(count, first):
    """Run cases; return their counts by kind and outcome, and the tracebacks of faults by seed."""
    counts, faults = Counter(), {}
    for seed in range(first, first + count):
        try:
            counts[run_case(seed)] += 1
        except Exception:
            faults[seed] = traceback.format_exc()
    return counts, faults


def test_mistakes_end_in_clear_errors_or_right_results():
    command = [sys.executable, __file__, str(N_CASES), "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    assert sum(counts.values()) == N_CASES
    assert min(sum(n for key, n in counts.items() if word in key) for word in ("right", "refused")) > N_CASES / 10


@pytest.mark.parametrize("error", [IndexError("x"), np.linalg.LinAlgError("x"), ValueError("raised here")])
def test_errors_in_other_words_are_faults(error):
    assert not is_clear(error)


if __name__ == "__main__":
    counts, faults = run_cases(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    sys.stdout.write(json.dumps(counts, sort_keys=True) + "\n")
    for seed, text in faults.items():
        sys.stderr.write(f"seed {seed}: {text}\n")
    sys.exit(1 if faults else 0)
