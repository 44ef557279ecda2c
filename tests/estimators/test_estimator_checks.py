import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import MetricLearner, MetricLearnerCV, PSDRegressor

# Weights are of anchors, as those of MetricLearner; and repeated rows make other folds.
NOT_REPEATS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "weights are of anchors, a repeated row is a neighbour too"
    for kind in ("dense", "sparse")
}
BRIEF = MetricLearner(constraints="triplets", n_rounds=1, max_iter=2)


@parametrize_with_checks([PSDRegressor()])
def test_estimator_check(estimator, check):
    check(estimator)


@parametrize_with_checks([MetricLearnerCV([1], estimator=BRIEF, cv=2)], expected_failed_checks=lambda _: NOT_REPEATS)
def test_cross_validated_estimator_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
