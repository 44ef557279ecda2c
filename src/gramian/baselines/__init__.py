"""Methods to compare with, as scikit-learn estimators: those of the paper's experiments."""

from gramian.baselines.itml import ITML
from gramian.baselines.lego import LEGO

__all__ = ["ITML", "LEGO"]
