"""Generated input of estimators: samples, labels, pairs, targets, senses and weights, from plain to degenerate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from harness.properties.case import Draw

__all__ = [
    "LAYOUTS",
    "SENSES",
    "Given",
    "Samples",
    "as_layout",
    "draw_labels",
    "draw_pairs",
    "draw_samples",
    "draw_sense",
    "draw_signs",
    "draw_triplets",
    "draw_weight",
]

LAYOUTS = ("C", "F", "strided", "reversed", "read-only", "big-endian", "list", "csr", "csc", "coo")
DTYPES = ("float64", "float32", "int64", "int32", "bool", "float16")
SENSES = {"equal": 0, "at most": -1, "at least": 1}


class Samples(NamedTuple):
    """Samples as they are given to an estimator, and what is known of them.

    Attributes
    ----------
    X : array, list or sparse matrix, shape (n, d)
        As given.
    values : array of float64, shape (n, d)
        The same numbers, explicitly.
    dtype : dtype
        In which an estimator works on them: float32 or float64.
    plain : bool
        True if nothing about them is unusual: continuous, of full rank, near 1. Then they must not be refused.
    broken : bool
        True if an entry is NaN or infinite. Then they must be refused.
    """

    X: Any
    values: np.ndarray
    dtype: np.dtype
    plain: bool
    broken: bool

    @property
    def eps(self) -> float:
        """The rounding unit of the working dtype."""
        return float(np.finfo(self.dtype).eps)


class Given(NamedTuple):
    """An argument as it is given, the same explicitly, and whether an estimator must refuse it."""

    given: Any
    values: np.ndarray
    broken: bool = False


def draw_samples(
    draw: Draw, n: int, d: int, *, sparse: bool = True, wild: float = 0.5, broken: float = 0.03
) -> Samples:
    """Return n samples of d features: with the chance `wild` degenerate, in odd units or dtypes.

    Parameters
    ----------
    draw : Draw
    n, d : int
    sparse : bool
        Whether sparse matrices may be given.
    wild, broken : float
        Chances of unusual samples, and of a NaN or infinity in them.
    """
    X, plain = draw.rng.standard_normal((n, d)), True
    kinds: list[str] = []
    if draw.flag(wild):
        plain = False
        kinds = [draw.choice(list(DEGENERATIONS)) for _ in range(draw.integer(0, 2))]
        for kind in kinds:
            X = DEGENERATIONS[kind](draw, X)
    dtype = draw.choice(
        ["float64", "float32"] if plain else ["float64", "float32", "int64", "int32", "bool", "float16"]
    )
    exponent = 0
    if not plain and dtype in ("float64", "float32"):
        exponent = draw.choice([0, 0, 0, 4, -4, 20, -20, 60, -60, 200, -200, 500, -500, 1000])
        exponent = exponent if dtype == "float64" else exponent // 8
    X = as_dtype(X, dtype, exponent)
    is_broken = bool(X.dtype.kind == "f" and (draw.flag(broken) or not np.isfinite(X).all()))
    if is_broken and np.isfinite(X).all():
        X[draw.integer(0, n - 1), draw.integer(0, d - 1)] = draw.choice([np.nan, np.inf, -np.inf])
    layouts = LAYOUTS if sparse else LAYOUTS[: LAYOUTS.index("csr")]
    # float16 and bool have no sparse products; lists lose their dtype.
    layout = draw.choice(["C", *layouts])
    layout = "C" if layout in ("csr", "csc", "coo") and dtype in ("float16", "bool") else layout
    working = np.dtype("float32" if dtype == "float32" and layout not in ("list", "big-endian") else "float64")
    draw.note(n=n, d=d, dtype=dtype, layout=layout, kinds=kinds, exponent=exponent, broken=is_broken)
    draw.size = (n, d)
    return Samples(as_layout(X, layout), X.astype(np.float64), working, plain and not is_broken, is_broken)


def as_dtype(X: np.ndarray, dtype: str, exponent: int) -> np.ndarray:
    """Return numbers near X · 2^exponent in another dtype: rounded for integers, their signs for bool."""
    if dtype == "bool":
        return X > 0
    with np.errstate(all="ignore"):
        return (np.rint(3 * X).clip(-1000, 1000) if dtype.startswith("int") else X * 2.0**exponent).astype(dtype)


def as_layout(X: np.ndarray, layout: str) -> Any:
    """Return the same numbers in another layout, one of LAYOUTS."""
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "strided":
        wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
        wide[::2, 1::3] = X
        return wide[::2, 1::3]
    if layout == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if layout == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if layout == "big-endian":
        return X.astype(X.dtype.newbyteorder(">"))
    if layout == "list":
        return X.tolist()
    if layout in ("csr", "csc", "coo"):
        return scipy.sparse.coo_array(X).asformat(layout)
    return np.ascontiguousarray(X)


def constant_column(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make a column constant."""
    X[:, draw.integer(0, X.shape[1] - 1)] = draw.choice([0.0, 1.0, -7.5])
    return X


def repeated_column(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make a column the multiple of another."""
    d = X.shape[1]
    X[:, draw.integer(0, d - 1)] = draw.choice([1.0, -2.0]) * X[:, draw.integer(0, d - 1)]
    return X


def repeated_rows(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make many rows equal to others."""
    return X[draw.rng.integers(max(1, len(X) // 2), size=len(X))]


def equal_rows(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make all rows equal."""
    return np.repeat(X[:1], len(X), axis=0)


def zero_rows(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make some rows zero."""
    X[draw.rng.random(len(X)) < draw.choice([0.2, 0.9])] = 0
    return X


def all_zero(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make everything zero."""
    return np.zeros_like(X)


def low_rank(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make the columns combinations of few."""
    k = draw.integer(1, max(1, min(X.shape) // 2))
    return X[:, :k] @ draw.rng.standard_normal((k, X.shape[1]))


def uneven_columns(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Give the columns units that differ by powers of ten."""
    return X * 10.0 ** draw.rng.integers(-4, 5, size=X.shape[1])


def large_mean(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Add a mean that is large beside the spread."""
    return X + draw.choice([10.0, 1e3, 1e6]) * draw.rng.standard_normal(X.shape[1])


def mostly_zero(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make most entries zero."""
    return X * (draw.rng.random(X.shape) < 0.3)


def outlier(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Make one row far larger than the others."""
    X[draw.integer(0, len(X) - 1)] *= draw.choice([1e2, 1e5])
    return X


def heavy_tails(draw: Draw, X: np.ndarray) -> np.ndarray:
    """Spread the sizes of entries over orders of magnitude."""
    return X * np.exp(2 * draw.rng.standard_normal(X.shape))


DEGENERATIONS = {
    change.__name__.replace("_", " "): change
    for change in (
        constant_column,
        repeated_column,
        repeated_rows,
        low_rank,
        large_mean,
        mostly_zero,
        zero_rows,
        uneven_columns,
        heavy_tails,
        outlier,
        equal_rows,
        all_zero,
    )
}


def draw_labels(draw: Draw, n: int, *, wild: float = 0.3) -> Given:
    """Return class labels (n,): numbers or words; with the chance `wild` of one class, tiny classes, or NaN."""
    kind = draw.choice(["one class", "one each", "tiny classes", "missing"]) if draw.flag(wild) else "plain"
    k = draw.integer(2, max(2, min(4, n // 2)))
    labels = np.arange(n) % k
    if kind == "one class":
        labels = np.zeros(n, int)
    elif kind == "one each":
        labels = np.arange(n)
    elif kind == "tiny classes":
        labels = np.where(np.arange(n) < draw.integer(1, 3), 1 + np.arange(n), 0)
    labels = draw.rng.permutation(labels)
    container = draw.choice(["int", "str", "float", "list", "int8"])
    given: Any = labels
    if container == "str":
        given = np.array(["a", "b", "c", "d"])[labels % 4] if labels.max() < 4 else labels.astype(str)
    elif container in ("float", "int8"):
        given = labels.astype(container)
    elif container == "list":
        given = labels.tolist()
    if kind == "missing":
        given = labels.astype(float)
        given[draw.integer(0, n - 1)] = np.nan
    draw.note(labels=kind, label_container=container, n_classes=len(np.unique(labels)))
    return Given(given, labels, kind in ("one class", "one each", "missing"))


def draw_weight(draw: Draw, m: int, *, wild: float = 0.2) -> Given:
    """Return weights (m,) or None; some are 0, and with the chance `wild` all are, or one is negative or NaN."""
    kind = draw.choice(["none", "none", "ones", "random", "some zero", "integers", "wide"])
    kind = draw.choice(["all zero", "negative", "nan", "one positive"]) if draw.flag(wild / 4) else kind
    draw.note(weights=kind)
    values = np.ones(m)
    if kind == "none":
        return Given(None, values)
    if kind != "ones":
        values = draw.rng.random(m) + 0.1
    if kind == "some zero":
        values[draw.rng.random(m) < 0.4] = 0
    elif kind == "integers":
        values = draw.rng.integers(1, 4, size=m).astype(float)
    elif kind == "wide":
        values = 10.0 ** draw.rng.integers(-6, 7, size=m)
    elif kind == "one positive":
        values = np.eye(m)[draw.integer(0, m - 1)]
    elif kind == "all zero":
        values = np.zeros(m)
    elif kind in ("negative", "nan"):
        values[draw.integer(0, m - 1)] = -1.0 if kind == "negative" else np.nan
    broken = kind in ("all zero", "negative", "nan") or not values.any()
    return Given(values.tolist() if draw.flag(0.1) else values.copy(), values, broken)


def draw_sense(draw: Draw, m: int) -> Given:
    """Return senses (m,) as None, numbers, words or one word; and as numbers 0, -1, +1."""
    kind = draw.choice(["none", "none", "one word", "words", "numbers", "int8"])
    draw.note(sense=kind)
    if kind == "none":
        return Given(None, np.zeros(m, int))
    words = list(SENSES)
    if kind == "one word":
        word = draw.choice(words)
        return Given(word, np.full(m, SENSES[word]))
    chosen = draw.rng.choice(words, size=m)
    values = np.array([SENSES[word] for word in chosen], int)
    given = {"words": chosen.tolist(), "numbers": values.copy(), "int8": values.astype(np.int8)}[kind]
    return Given(given, values)


def draw_pairs(draw: Draw, n: int, m: int, *, wild: float = 0.2) -> Given:
    """Return m pairs of n samples, shape (m, 2); with the chance `wild` self pairs, repeated or impossible ones."""
    first = draw.rng.integers(n, size=m)
    second = (first + draw.rng.integers(1, max(2, n), size=m)) % n
    pairs, kind = np.column_stack([first, second]), "plain"
    if draw.flag(wild):
        kind = draw.choice(["repeated", "both orders", "self", "out of range", "negative"])
        if kind == "repeated":
            pairs[m // 2 :] = pairs[: m - m // 2]
        elif kind == "both orders":
            pairs[m // 2 :] = pairs[: m - m // 2, ::-1]
        elif kind == "self":
            pairs[0, 1] = pairs[0, 0]
        else:
            pairs[draw.integer(0, m - 1), draw.integer(0, 1)] = n if kind == "out of range" else -1
    draw.note(pairs=kind, m=m)
    container = draw.choice(["int64", "int32", "list", "uint8"])
    container = "int64" if container == "uint8" and (n > 200 or kind == "negative") else container
    given: Any = pairs.tolist() if container == "list" else pairs.astype(container)
    return Given(given, pairs, kind in ("out of range", "negative"))


def draw_triplets(draw: Draw, n: int, m: int, *, wild: float = 0.2) -> Given:
    """Return m triplets (anchor, near, far) of n samples, shape (m, 3); with the chance `wild` degenerate ones."""
    anchor = draw.rng.integers(n, size=m)
    near = (anchor + draw.rng.integers(1, max(2, n), size=m)) % n
    far = (anchor + draw.rng.integers(1, max(2, n), size=m)) % n
    far = np.where(far == near, (near + 1 + ((near + 1) % n == anchor)) % n, far)
    triplets, kind = np.column_stack([anchor, near, far]), "plain"
    if draw.flag(wild):
        kind = draw.choice(["near is far", "anchor is near", "contradictory", "out of range"])
        if kind == "near is far":
            triplets[0, 2] = triplets[0, 1]
        elif kind == "anchor is near":
            triplets[0, 1] = triplets[0, 0]
        elif kind == "contradictory":
            triplets[m // 2 :] = triplets[: m - m // 2][:, [0, 2, 1]]
        else:
            triplets[0, draw.integer(0, 2)] = n
    draw.note(triplets=kind, m=m)
    return Given(triplets, triplets, kind == "out of range")


def draw_signs(draw: Draw, m: int) -> Given:
    """Return signs +1 and -1, shape (m,); sometimes all alike."""
    values = draw.rng.choice([-1, 1], size=m)
    if draw.flag(0.1):
        values[:] = draw.choice([-1, 1])
    draw.note(signs="both" if len(np.unique(values)) == 2 else "one")
    return Given(values.tolist() if draw.flag(0.2) else values, values)
