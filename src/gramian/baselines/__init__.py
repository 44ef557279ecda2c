"""The methods that the paper compares with, as estimators with the methods of `MetricLearner` and `KernelLearner`.

Distances: `ITML`, `LMNN`, `LEGO` and `POLA`. Kernels: `LogDetKL`, `KernelSpectralRegression` and
`MaximumVarianceUnfolding`. Kernel PCA and NCA are scikit-learn's. To add one, write one file and one line here.
"""

from gramian.baselines.itml import ITML
from gramian.baselines.lego import LEGO
from gramian.baselines.lmnn import LMNN
from gramian.baselines.logdet_kl import LogDetKL
from gramian.baselines.pola import POLA
from gramian.baselines.spectral_regression import KernelSpectralRegression
from gramian.baselines.unfolding import MaximumVarianceUnfolding

__all__ = ["ITML", "LEGO", "LMNN", "POLA", "KernelSpectralRegression", "LogDetKL", "MaximumVarianceUnfolding"]
