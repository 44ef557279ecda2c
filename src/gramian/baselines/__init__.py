"""Methods to compare with, as scikit-learn estimators: those of the paper's experiments."""

from gramian.baselines.itml import ITML
from gramian.baselines.lego import LEGO
from gramian.baselines.lmnn import LMNN
from gramian.baselines.pola import POLA

__all__ = ["ITML", "LEGO", "LMNN", "POLA"]
