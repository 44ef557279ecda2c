"""Which types a model file may hold, by name: those of gramian and of scikit-learn, and some of NumPy and skrub.

A name that is not listed here is refused before it is imported. Functions are refused too, but for those listed.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

__all__ = [
    "ARRAYS",
    "CONTAINERS",
    "KEYS",
    "SKLEARN_LOSSES",
    "SPARSE_TYPES",
    "is_function",
    "is_named_tuple",
    "is_object",
]

SCALARS = {
    *("bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "str_", "bytes_"),
}
#: Types of the keys of dicts, and types that are parameters, such as dtype=np.float64.
KEYS = {f"builtins.{name}" for name in ("str", "int", "float")} | {f"numpy.{name}" for name in SCALARS}
#: Arrays and numbers of NumPy.
ARRAYS = {"numpy.ndarray"} | {f"numpy.{name}" for name in SCALARS}
#: Sparse matrices and sparse arrays of SciPy.
SPARSE_TYPES = {f"scipy.sparse._{kind}.{kind}_{form}" for kind in ("csr", "csc") for form in ("matrix", "array")}
#: Containers by the loader of skops.
CONTAINERS = {
    "DictNode": {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"},
    "ListNode": {"builtins.list"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "ConstructorFromReduceNode": {"builtins.dict", "builtins.frozenset"},
    "MaskedArrayNode": {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"},
    "DTypeNode": {"numpy.dtype"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
}
# Parts of fitted estimators of scikit-learn that are no estimators. Decision trees are not among them: their nodes are
# positions in memory, which scikit-learn does not check.
SKLEARN_PARTS = {
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._ball_tree.BallTree64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neighbors._kd_tree.KDTree64",
    *(f"sklearn.metrics._dist_metrics.{name}Distance64" for name in ("Euclidean", "Manhattan", "Chebyshev")),
    "sklearn.metrics._dist_metrics.MinkowskiDistance64",
    *(
        f"sklearn.model_selection._split.{name}"
        for name in ("KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "ShuffleSplit")
    ),
}
SKLEARN_PARTS |= {
    f"sklearn.gaussian_process.kernels.{name}"
    for name in ("RBF", "ConstantKernel", "WhiteKernel", "Matern", "RationalQuadratic", "ExpSineSquared", "DotProduct")
} | {f"sklearn.gaussian_process.kernels.{name}" for name in ("Sum", "Product", "Exponentiation", "CompoundKernel")}
#: Losses of scikit-learn's linear models by stochastic gradients.
SKLEARN_LOSSES = {
    f"sklearn.linear_model._sgd_fast.{name}"
    for name in ("Hinge", "SquaredHinge", "ModifiedHuber", "EpsilonInsensitive", "SquaredEpsilonInsensitive")
} | {f"sklearn._loss._loss.Cy{name}" for name in ("HalfBinomialLoss", "HalfSquaredError", "HuberLoss")}
SKLEARN_FUNCTIONS = {
    f"sklearn.feature_selection._univariate_selection.{name}"
    for name in ("f_classif", "f_regression", "chi2", "r_regression")
} | {f"sklearn.feature_selection._mutual_info.mutual_info_{kind}" for kind in ("classif", "regression")}
UFUNC_MODULES = ("numpy", "scipy.special", "scipy.special._ufuncs")
SKRUB_MODULE = re.compile(r"skrub\._(?!data_ops|reporting|llm_encoder|text_encoder)[a-z0-9_]+")
SKRUB_PARTS = {"skrub._table_vectorizer.ShortReprDict", "skrub._utils.LRUDict"} | {
    f"skrub.selectors._base.{name}"
    for name in ("All", "And", "Cols", "Filter", "Inv", "NameFilter", "Or", "Sub", "XOr")
}
SKRUB_FUNCTION = re.compile(
    r"skrub\._dataframe\._common\.is_[a-z_]+|skrub\.selectors\._selectors\._(cardinality_below|null_count_check)|"
    r"skrub\._table_vectorizer\._created_by_predicate"
)
GRAMIAN_MODULE = re.compile(
    r"gramian\.(_kernels|baselines|certificate|coordinates|estimators|execution|geometries|losses|solvers|span|starts|"
    r"supervision)(\.[a-z_]+)*"
)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")


def is_object(module: str, name: str) -> bool:
    """Return True if objects of a class may be rebuilt from their attributes."""
    full = f"{module}.{name}"
    if not IDENTIFIER.fullmatch(name):
        return False
    if GRAMIAN_MODULE.fullmatch(module):
        kind = find_class(module, name)
        return kind is not None and not issubclass(kind, tuple | BaseException) and is_ours(kind)
    if module.startswith("sklearn."):
        return full in sklearn_names() or full in SKLEARN_PARTS
    if SKRUB_MODULE.fullmatch(module) and full not in SKRUB_PARTS:
        kind = find_class(module, name)
        return kind is not None and issubclass(kind, BaseEstimator)
    return full in SKRUB_PARTS


def is_ours(kind: type) -> bool:
    """Return True for estimators, geometries, losses, solvers and executions of gramian."""
    from gramian.execution import Serial, Threads
    from gramian.geometries import Geometry
    from gramian.losses import Loss
    from gramian.solvers import Solver

    return issubclass(kind, BaseEstimator | Geometry | Loss | Solver | Serial | Threads) or (
        dataclasses.is_dataclass(kind) and kind.__module__.startswith(("gramian.solvers", "gramian.estimators"))
    )


def is_named_tuple(module: str, name: str) -> bool:
    """Return True for `tuple` and for the NamedTuples of gramian."""
    if (module, name) == ("builtins", "tuple"):
        return True
    if not GRAMIAN_MODULE.fullmatch(module) or not IDENTIFIER.fullmatch(name):
        return False
    kind = find_class(module, name)
    return kind is not None and kind.__bases__ == (tuple,) and hasattr(kind, "_fields")


def is_function(module: str, name: str) -> bool:
    """Return True for functions that may be parameters: element-wise ones of NumPy and SciPy, and some others."""
    full = f"{module}.{name}"
    if full in SKLEARN_FUNCTIONS:
        return True
    if module in UFUNC_MODULES and IDENTIFIER.fullmatch(name):
        return isinstance(getattr(import_module(module), name, None), np.ufunc)
    return SKRUB_FUNCTION.fullmatch(full) is not None


def find_class(module: str, name: str) -> Any:
    """Return the class of this name that a module of gramian or skrub defines, or None."""
    try:
        found = getattr(import_module(module), name, None)
    except ImportError:
        return None
    return found if isinstance(found, type) and found.__module__ == module else None


@cache
def sklearn_names() -> frozenset[str]:
    """Return the names of all estimators of scikit-learn, with their modules."""
    from sklearn.utils import all_estimators

    kinds = [kind for _, kind in all_estimators()]
    return frozenset(f"{kind.__module__}.{kind.__name__}" for kind in kinds if kind.__module__.startswith("sklearn."))
