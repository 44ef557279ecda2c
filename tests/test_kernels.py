"""Compiled kernels equal their NumPy references."""

import inspect

import numpy as np
import pytest

from gramian._kernels import pairs, reference, samples, squared

N, R, M = 20, 3, 50


def arguments(rng, dtype):
    def floats(*shape):
        return rng.standard_normal(shape).astype(dtype)

    return {
        "Z": floats(N, R),
        "T": floats(N, R),
        "pairs": rng.integers(N, size=(M, 2)),
        "triplets": rng.integers(N, size=(M, 3)),
        "prediction": floats(M),
        "a": floats(M),
        "b": floats(M),
        "c": floats(M),
        "target": floats(M),
        "sense": rng.integers(-1, 2, size=M).astype(np.int8),
        "s": 0.7,
    }


KERNELS = {
    name: getattr(module, name)
    for module in (samples, pairs, squared)
    for name in dir(module)
    if hasattr(getattr(module, name), "py_func")
}


def test_every_kernel_has_a_reference():
    references = {name for name, _ in inspect.getmembers(reference, inspect.isfunction)}
    assert references == set(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_equals_reference(name, rng, dtype):
    plain = getattr(reference, name)
    values = arguments(rng, dtype)
    wanted = list(inspect.signature(plain).parameters)
    values["weight"] = rng.random(N if "pairs" not in name and "triplets" not in name and "squared" not in name else M)
    values["weight"] = values["weight"].astype(dtype)
    found, expected = KERNELS[name](*(values[k] for k in wanted)), plain(*(values[k] for k in wanted))
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-13)
        if isinstance(a, np.ndarray) and name != "squared_quartic":
            assert a.dtype == dtype
