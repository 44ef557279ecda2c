"""scikit-learn estimators: check, build a problem, solve it, store the result."""

from gramian.estimators.regressor import PSDRegressor

__all__ = ["PSDRegressor"]
