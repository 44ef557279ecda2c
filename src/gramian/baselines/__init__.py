"""Methods to compare with, as scikit-learn estimators: those of the paper's experiments."""

from gramian.baselines.itml import ITML

__all__ = ["ITML"]
