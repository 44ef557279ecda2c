"""The paper's competitors, as scikit-learn estimators."""

from gramian.baselines.logdet_kl import LogDetKL
from gramian.baselines.spectral_regression import KernelSpectralRegression
from gramian.baselines.unfolding import MaximumVarianceUnfolding

__all__ = ["KernelSpectralRegression", "LogDetKL", "MaximumVarianceUnfolding"]
