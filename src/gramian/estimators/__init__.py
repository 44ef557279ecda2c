"""scikit-learn estimators: check, build a problem, solve it, store the result."""

from gramian.estimators.kernel import KernelLearner
from gramian.estimators.mds import SStressMDS
from gramian.estimators.metric import MetricLearner
from gramian.estimators.metric_cv import MetricLearnerCV
from gramian.estimators.regressor import PSDRegressor
from gramian.estimators.subspace import SubspaceTracker

__all__ = ["KernelLearner", "MetricLearner", "MetricLearnerCV", "PSDRegressor", "SStressMDS", "SubspaceTracker"]
