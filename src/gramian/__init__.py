"""Gramian learns positive semidefinite matrices of fixed rank: regressions, distances, kernels, embeddings."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Each name and the module it lives in; loaded when first asked for, so that `import gramian` costs nothing.
_HOMES = {
    "Block": "gramian.objective",
    "KernelLearner": "gramian.estimators",
    "MetricLearner": "gramian.estimators",
    "MetricLearnerCV": "gramian.estimators",
    "PSDRegressor": "gramian.estimators",
    "Problem": "gramian.objective",
    "Result": "gramian.solvers",
    "SStressMDS": "gramian.estimators",
    "SubspaceTracker": "gramian.estimators",
    "Term": "gramian.objective",
    "export_map": "gramian.files",
    "load": "gramian.files",
    "minimize": "gramian.solvers",
    "open_table": "gramian.tables",
    "save": "gramian.files",
    "write_report": "gramian.report",
}
_MODULES = (
    "baselines",
    "closeness",
    "contracts",
    "coordinates",
    "datasets",
    "execution",
    "features",
    "files",
    "geometries",
    "losses",
    "measurements",
    "penalties",
    "plotting",
    "solvers",
    "starts",
    "supervision",
    "tables",
)

__all__ = [
    "Block",
    "KernelLearner",
    "MetricLearner",
    "MetricLearnerCV",
    "PSDRegressor",
    "Problem",
    "Result",
    "SStressMDS",
    "SubspaceTracker",
    "Term",
    "export_map",
    "load",
    "minimize",
    "open_table",
    "save",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"gramian.{name}")
    raise AttributeError(f"module 'gramian' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_HOMES, *_MODULES, "__version__"])


if TYPE_CHECKING:
    from gramian.estimators import (
        KernelLearner,
        MetricLearner,
        MetricLearnerCV,
        PSDRegressor,
        SStressMDS,
        SubspaceTracker,
    )
    from gramian.files import export_map, load, save
    from gramian.objective import Block, Problem, Term
    from gramian.report import write_report
    from gramian.solvers import Result, minimize
    from gramian.tables import open_table
