import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import MetricLearner, MetricLearnerCV, PSDRegressor

BRIEF = MetricLearner(constraints="triplets", n_rounds=1, max_iter=2)


@parametrize_with_checks([PSDRegressor()])
def test_estimator_check(estimator, check):
    check(estimator)


@parametrize_with_checks([MetricLearnerCV([1], estimator=BRIEF, cv=2)])
def test_cross_validated_estimator_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
