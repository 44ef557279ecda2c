"""scikit-learn estimators: check, build a problem, solve it, store the result; and the types of fitted attributes."""

from gramian.estimators._choice import Choice
from gramian.estimators._rank import RankTrial
from gramian.estimators.kernel import KernelLearner
from gramian.estimators.mds import SStressMDS
from gramian.estimators.metric import MetricLearner
from gramian.estimators.metric_cv import MetricLearnerCV, RankCurve
from gramian.estimators.regressor import PSDRegressor
from gramian.estimators.subspace import SubspaceTracker

__all__ = [
    "Choice",
    "KernelLearner",
    "MetricLearner",
    "MetricLearnerCV",
    "PSDRegressor",
    "RankCurve",
    "RankTrial",
    "SStressMDS",
    "SubspaceTracker",
]
