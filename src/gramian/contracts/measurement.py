"""The contract of a measurement."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gramian.contracts.agreement import require, require_close
from gramian.features import Features
from gramian.measurements import Measurement
from gramian.types import Matrix, Rows, Vector

__all__ = ["MEASUREMENT_IDENTITIES", "Measured", "check_measurement"]

SEED = 20111
RANK = 2


class Measured(NamedTuple):
    """A measurement, the features it is made through, and the same measurement as explicit matrices (m, d, d)."""

    features: Features
    measurement: Measurement
    matrices: Matrix


def check_measurement(measurement: Measurement, features: Features, matrices: Matrix) -> None:
    """Raise an AssertionError unless the measurement keeps every identity of `MEASUREMENT_IDENTITIES`.

    The identities: `predict`, `along` and `weigh` agree with the explicit matrices X_i and are adjoint to each other,
    `take` renumbers samples rightly, `check` refuses too few samples, `len` is the number of measurements, and no
    argument is changed. They are checked in the dtype of the features, on random factors with a fixed seed.

    Parameters
    ----------
    measurement : Measurement
        Of m >= 1 measurements.
    features : Features
        The samples that the measurement is made of, N x d.
    matrices : array, shape (m, d, d)
        The matrices X_i of trace(W X_i), made of the features in some other way; only their symmetric parts count.

    Raises
    ------
    AssertionError
        With the identity that is broken, the numbers, and what it means.

    Examples
    --------
    A measurement that is defined outside the package, gain_i ‖z_i‖²:

    >>> import numpy as np
    >>> from gramian.contracts import check_measurement
    >>> from gramian.features import Array
    >>> from gramian.measurements import Measurement
    >>> class Amplified(Measurement):
    ...     def __init__(self, gain):
    ...         self.gain = gain
    ...
    ...     def __len__(self):
    ...         return len(self.gain)
    ...
    ...     def predict(self, Z):
    ...         return self.gain * np.sum(Z * Z, axis=1)
    ...
    ...     def along(self, Z, T):
    ...         return 2 * self.gain * np.sum(Z * T, axis=1), self.gain * np.sum(T * T, axis=1)
    ...
    ...     def weigh(self, weight, Z):
    ...         return (weight * self.gain)[:, None] * Z
    ...
    ...     def check(self, n_samples):
    ...         if n_samples != len(self.gain):
    ...             raise ValueError(f"gain has {len(self.gain)} entries, but there are {n_samples} samples.")
    ...
    ...     def take(self, rows):
    ...         return Amplified(self.gain[rows]), rows
    >>> rng = np.random.default_rng(0)
    >>> X, gain = rng.standard_normal((8, 3)), rng.random(8)
    >>> matrices = gain[:, None, None] * X[:, :, None] * X[:, None, :]
    >>> check_measurement(Amplified(gain), Array(X), matrices)

    Matrices of another measurement are not taken for its own:

    >>> check_measurement(Amplified(2 * gain), Array(X), matrices)
    Traceback (most recent call last):
    ...
    AssertionError: Identity broken: predict(X G) = trace(G Gᵀ X_i)...
    """
    for identity in MEASUREMENT_IDENTITIES:
        identity(Measured(features, measurement, matrices), np.random.default_rng(SEED))


def check_length(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless `len` is the number of predictions and of matrices."""
    m = len(example.measurement)
    shape = example.measurement.predict(random_image(example, rng)).shape
    meaning = "len(measurement) is m; predict gives one number for each measurement."
    numbers = f"len {m}, predictions {shape}, {len(example.matrices)} matrices"
    require(m == len(example.matrices) and shape == (m,), "len = predictions = matrices", numbers, meaning)


def check_predictions(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless predictions are traces with the explicit matrices, in the image's dtype."""
    G = random_factor(example, rng)
    found = example.measurement.predict(example.features.image(G))
    expected = np.einsum("mij,ik,jk->m", example.matrices, G, G)
    require_rounding("predict(X G) = trace(G Gᵀ X_i)", found, expected, "Predictions are linear in W = G Gᵀ.")
    require_dtype("predict", found, G)


def check_line(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless predictions of Z + s T are predict(Z) + b s + c s², (b, c) = along(Z, T)."""
    Z, T = random_image(example, rng), random_image(example, rng)
    measurement = example.measurement
    a, (b, c) = measurement.predict(Z), measurement.along(Z, T)
    meaning = "Line searches use a + b s + c s² in place of a new image, so it must be exact."
    for s in (0.5, -2.0):
        expected = measurement.predict(Z + Z.dtype.type(s) * T)
        found, identity = a + b * s + c * s * s, f"predict(Z) + b s + c s² = predict(Z + s T) at s = {s}"
        require_rounding(identity, found, expected, meaning)
    for name, x in (("b of along", b), ("c of along", c)):
        require_dtype(name, x, Z)


def check_weighted_sum(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless Xᵀ weigh(weight, X G) = (Σ weight_i X_i) G."""
    G, weight = random_factor(example, rng), random_weight(example, rng)
    found = example.features.pull(example.measurement.weigh(weight, example.features.image(G)))
    symmetric = 0.5 * (example.matrices + example.matrices.transpose(0, 2, 1))
    expected = np.einsum("m,mij,jk->ik", weight, symmetric, G)
    meaning = "Gradients are pulls of weigh; X_i counts by its symmetric part."
    require_rounding("Xᵀ weigh(weight, X G) = (Σ weight_i X_i) G", found, expected, meaning)
    require_dtype("weigh", found, G)


def check_adjointness(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless `weigh` is adjoint to `predict` and to the linear part of `along`."""
    Z, T, weight = random_image(example, rng), random_image(example, rng), random_weight(example, rng)
    measurement = example.measurement
    S = measurement.weigh(weight, Z)
    meaning = "weigh is the adjoint of predict; otherwise gradients are not those of the objective."
    found = [np.vdot(Z, S), 2 * np.vdot(T, S)]
    expected = [weight @ measurement.predict(Z), weight @ measurement.along(Z, T)[0]]
    require_rounding("<Z, weigh(w, Z)> = w · predict(Z), 2 <T, weigh(w, Z)> = w · b", found, expected, meaning, Z.dtype)


def check_take(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless `take` gives the chosen measurements, on the samples that it names."""
    G, m = random_factor(example, rng), len(example.measurement)
    whole = example.measurement.predict(example.features.image(G))
    meaning = "take(rows) gives some measurements and the samples they touch, numbered by their place among those."
    repeated = rng.integers(m, size=3)
    choices: tuple[Rows, ...] = (np.append(repeated, repeated[0]), slice(m // 3, m))
    for rows in choices:
        taken, samples = example.measurement.take(rows)
        features = example.features if samples is None else example.features.take(samples)
        require(len(taken) == len(whole[rows]), "len(take(rows)) = rows", f"{len(taken)} of {rows}", meaning)
        taken.check(features.shape[0])
        require_rounding("take(rows) predicts rows of predict", taken.predict(features.image(G)), whole[rows], meaning)


def check_separability(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless a `separable` measurement i is made of sample i alone."""
    if not example.measurement.separable:
        return
    Z, half = random_image(example, rng), slice(0, len(example.measurement) // 2)
    meaning = "separable = True says that measurement i needs row i of the image only. Set it to False otherwise."
    found = example.measurement.take(half)[0].predict(Z[half])
    require_rounding("take(rows) predicts from rows of Z", found, example.measurement.predict(Z)[half], meaning)


def check_sample_count(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError unless `check` takes the samples there are and refuses too few with a ValueError."""
    n = example.features.shape[0]
    example.measurement.check(n)
    samples = example.measurement.take(slice(None))[1]
    needed = n if samples is None else int(np.arange(n)[samples].max()) + 1
    meaning = "check(n_samples) must raise a ValueError unless every sample that is measured is among the n_samples."
    try:
        example.measurement.check(needed - 1)
    except ValueError:
        return
    require(False, "check refuses too few samples", f"check({needed - 1}) passes, {needed} are needed", meaning)


def check_arguments_kept(example: Measured, rng: np.random.Generator) -> None:
    """Raise an AssertionError if a method changes its arguments in place."""
    Z, T, weight = random_image(example, rng), random_image(example, rng), random_weight(example, rng)
    before = [x.copy() for x in (Z, T, weight)]
    example.measurement.predict(Z)
    example.measurement.along(Z, T)
    example.measurement.weigh(weight, Z)
    meaning = "Images are shared: on Identity features Z is the factor itself. Write into new arrays."
    for name, x, old in zip(("Z", "T", "weight"), (Z, T, weight), before, strict=True):
        require_close(f"{name} is not changed in place", x, old, meaning)


#: The identities of a measurement, each a function of an example and a generator.
MEASUREMENT_IDENTITIES: tuple[Callable[[Measured, np.random.Generator], None], ...] = (
    check_length,
    check_predictions,
    check_line,
    check_weighted_sum,
    check_adjointness,
    check_take,
    check_separability,
    check_sample_count,
    check_arguments_kept,
)


def random_factor(example: Measured, rng: np.random.Generator) -> Matrix:
    """Return a random factor G (d, r) in the dtype of the features."""
    return rng.standard_normal((example.features.shape[1], RANK)).astype(example.features.dtype)


def random_image(example: Measured, rng: np.random.Generator) -> Matrix:
    """Return the image X G of a random factor, (N, r)."""
    return example.features.image(random_factor(example, rng))


def random_weight(example: Measured, rng: np.random.Generator) -> Vector:
    """Return random weights (m,) of either sign."""
    return rng.standard_normal(len(example.measurement)).astype(example.features.dtype)


def require_rounding(
    identity: str, found: Vector | list, expected: Vector | list, meaning: str, dtype: np.dtype | None = None
) -> None:
    """Raise an AssertionError unless found equals expected but for rounding."""
    expected = np.asarray(expected)
    scale = max(1.0, float(np.abs(expected).max()))
    atol = 200 * float(np.finfo(dtype or expected.dtype).eps) * scale
    require_close(identity, found, expected, meaning, atol=atol)


def require_dtype(name: str, found: Vector, image: Matrix) -> None:
    """Raise an AssertionError unless an array has the dtype of the image."""
    meaning = "A float64 constant or an integer array promotes float32 data, which doubles its memory."
    require(found.dtype == image.dtype, f"{name} keeps the dtype", f"{found.dtype}, not {image.dtype}", meaning)
