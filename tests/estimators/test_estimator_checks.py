from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import PSDRegressor


@parametrize_with_checks([PSDRegressor()])
def test_estimator_check(estimator, check):
    check(estimator)
