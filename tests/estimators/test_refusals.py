"""Every estimator and baseline refuses what it cannot use, in words that name the argument and what to do."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, clone

from gramian import KernelLearner, MetricLearner, MetricLearnerCV, PSDRegressor, SStressMDS, baselines, estimators
from gramian.baselines import ITML, LEGO, LMNN, POLA, LogDetKL
from gramian.estimators.subspace import SubspaceTracker
from gramian.solvers import GradientDescent
from gramian.supervision import labelled_pairs, nearest_triplets, random_pairs

PUBLIC = {name: getattr(package, name) for package in (estimators, baselines) for name in package.__all__}
KINDS = {name: kind for name, kind in PUBLIC.items() if issubclass(kind, BaseEstimator)}
SETTINGS = {"SStressMDS": {"metric": "euclidean"}, "MaximumVarianceUnfolding": {"n_neighbors": 4}}
# The regressor takes numbers, and the others no y at all.
WITHOUT_LABELS = ("SStressMDS", "SubspaceTracker", "MaximumVarianceUnfolding", "PSDRegressor")
LABELLED = [name for name in KINDS if name not in WITHOUT_LABELS]
each_kind = pytest.mark.parametrize("name", KINDS)


def make_model(name):
    return KINDS[name](**SETTINGS.get(name, {}))


@pytest.fixture
def data(rng):
    """Return samples (24, 4) and labels of two classes."""
    y = np.repeat([0, 1], 12)
    return rng.standard_normal((24, 4)) + y[:, None], y


def with_entry(y, index, value):
    """Return y as an array of objects, with another entry."""
    array = np.array(y, dtype=object)
    array[index] = value
    return array


@each_kind
def test_samples_must_be_numbers_without_a_mask(name, data):
    X, y = data
    with pytest.raises(ValueError, match=r"X is a masked array with 1 masked entries.*Fill.*or drop"):
        make_model(name).fit(np.ma.array(X, mask=X.max() == X), y)
    with pytest.raises(ValueError, match="X holds dates; expected numbers"):
        make_model(name).fit((100 * X).astype("M8[s]"), y)
    with pytest.raises(ValueError, match="X holds time differences; expected numbers"):
        make_model(name).fit((100 * X).astype("m8[s]"), y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        make_model(name).fit(X + 0j, y)


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.parametrize("value", [None, np.inf, np.nan, object()], ids=["None", "inf", "nan", "object"])
def test_labels_are_texts_or_finite_numbers(name, value, data):
    X, y = data
    with pytest.raises(ValueError, match=r"y\[3\] = .* is not a label"):
        make_model(name).fit(X, with_entry(y, 3, value))
    with pytest.raises(ValueError, match=r"y\[3\] = .* is not a label"):
        make_model(name).fit(X, with_entry(y, 3, value).tolist())


@pytest.mark.parametrize("name", LABELLED)
def test_labels_have_one_type(name, data):
    X, y = data
    for mixed in (with_entry(y, 3, "a"), with_entry(y, 3, "a").tolist()):
        with pytest.raises(ValueError, match=r"y\[0\] = 0, but y\[3\] = 'a'. Give texts only, or numbers only"):
            make_model(name).fit(X, mixed)
    with pytest.raises(ValueError, match="y holds dates"):
        make_model(name).fit(X, y.astype("M8[D]"))
    with pytest.raises(ValueError, match="y is a masked array"):
        make_model(name).fit(X, np.ma.array(y, mask=y > 0))
    model, same = (make_model(name).set_params(random_state=0) for _ in range(2))
    np.testing.assert_array_equal(model.fit(X, y).transform(X), same.fit(X, y.astype(object)).transform(X))


@pytest.mark.parametrize(
    ("value", "message"), [(None, "y contains NaN"), (np.inf, "y contains infinity"), ("a", "y cannot be read as")]
)
def test_targets_are_finite_numbers(value, message, data):
    X, y = data
    for given in (with_entry(y, 3, value), with_entry(y, 3, value).tolist()):
        with pytest.raises(ValueError, match=message):
            PSDRegressor().fit(X, given)


def test_weights_and_targets_are_real(data):
    X, _ = data
    pairs, ones = [[0, 1], [2, 3]], np.ones(2)
    for bad in (ones + 1j, np.ma.array(ones, mask=[0, 1]), ones.astype("M8[D]"), [1j, 1]):
        for name, call in {
            "sample_weight": lambda w: MetricLearner().fit_pairs(X, pairs, target=ones, sample_weight=w),
            "target": lambda t: KernelLearner().fit_pairs(X, pairs, t),
            "dissimilarity": lambda v: SStressMDS().fit_pairs(pairs, v),
            "y": lambda y: MetricLearner().fit_pairs(X, pairs, y=y),
        }.items():
            with pytest.raises(ValueError, match=rf"{name} (holds complex|is a masked|holds dates)"):
                call(bad)
    with pytest.raises(ValueError, match="sample_weight holds complex"):
        SStressMDS(metric="euclidean").fit(X, sample_weight=np.ones((24, 24)) + 0j)


@each_kind
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_extreme_samples_are_refused_by_their_scale(name, size, data):
    X, y = data
    if name == "PSDRegressor":
        pytest.skip("it takes its units from the data")
    message = r"largest entry of X in absolute value is .*e[+-]\d+: its powers (over|under)flow. Scale X"
    with pytest.raises(ValueError, match=message):
        make_model(name).fit(size * X, y)


@each_kind
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_samples_that_coincide_are_refused(name, value, data):
    X, y = np.full((24, 4), value), data[1]
    if name == "PSDRegressor" and value:
        assert np.allclose(PSDRegressor(random_state=0).fit(X, y).predict(X), y.mean(), atol=1e-2)
        return
    with pytest.raises(ValueError, match=r"coincide|every known dissimilarity is 0|every entry of X is 0|constant"):
        make_model(name).fit(X, y)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_zeros_that_are_left_of_the_samples_of_positive_weight_are_refused(form):
    X, y = form(np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])), [1.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="every entry of the samples of positive weight is 0"):
        PSDRegressor(1).fit(X, y, sample_weight=[1.0, 0.0, 1.0])


def test_sparse_samples_that_coincide_are_refused(data):
    for X in (np.zeros((24, 4)), np.ones((24, 4))):
        with pytest.raises(ValueError, match="all 24 samples of X coincide"):
            MetricLearner().fit(scipy.sparse.csr_array(X), data[1])


@pytest.mark.parametrize("model", [KernelLearner(), LogDetKL()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("setting", ["gamma", "degree", "coef0"])
def test_settings_of_kernels_are_numbers(model, setting, data):
    for value in ("a", np.nan, 1j, [1.0]):
        with pytest.raises(ValueError, match=f"{setting}=.* is not valid. Choose a (finite )?number"):
            clone(model).set_params(kernel="poly", **{setting: value}).fit(*data)


@pytest.mark.parametrize("setting", ["ridge", "max_iter", "n_epochs", "batch_size", "tol"])
def test_settings_are_refused_before_the_eigenvectors_are_computed(setting, data, monkeypatch):
    monkeypatch.setattr("gramian.estimators._input_kernel.InputKernel.decompose", None)
    with pytest.raises(ValueError, match=f"^{setting}=-1 is not valid"):
        KernelLearner(**{setting: -1}).fit(*data)


def test_starts_with_a_row_for_each_sample_say_so(data):
    X, y = data
    with pytest.raises(ValueError, match=r"expected \(n_samples, rank\) = \(24, 2\)"):
        KernelLearner(2, init=np.eye(4, 2)).fit(X, y)
    with pytest.raises(ValueError, match=r"expected \(n_samples, rank\) = \(24, 2\)"):
        SStressMDS(2, metric="euclidean", init=np.eye(4, 2)).fit(X)
    with pytest.raises(ValueError, match=r"rank=2 and n_samples=24"):
        KernelLearner(2, geometry="affine").fit(X, y)


def test_anchors_are_indices_of_samples(rng):
    Z, labels = rng.standard_normal((6, 2)), [0, 0, 0, 1, 1, 1]
    for anchors, message in {
        (0, 6): r"anchors\[1\] = \(6,\) is out of range; samples are numbered 0 to 5",
        (-1,): r"anchors\[0\] = \(-1,\) is out of range",
        (0.5,): "anchors has dtype float64",
        (): "at least one index",
    }.items():
        with pytest.raises(ValueError, match=message):
            nearest_triplets(Z, labels, anchors=anchors)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_triplets_do_not_depend_on_the_scale(size, rng):
    Z, labels = rng.standard_normal((20, 2)), np.repeat([0, 1], 10)
    np.testing.assert_array_equal(nearest_triplets(size * Z, labels), nearest_triplets(Z, labels))


def test_labels_of_sampled_pairs_and_triplets_are_checked():
    for bad in ([0, "a", 1], [0, None, 1], [0.0, np.nan, 1.0]):
        with pytest.raises(ValueError, match=r"labels(\[1\])?.* (is not a label|of different types)"):
            labelled_pairs(bad, 3)
        with pytest.raises(ValueError, match=r"labels(\[1\])?.* (is not a label|of different types)"):
            nearest_triplets(np.eye(3), bad)


@pytest.mark.parametrize("count", [1.5, "a", -1])
def test_counts_of_pairs_are_whole_numbers(count):
    with pytest.raises(ValueError, match=r"n_pairs=.* is not valid"):
        random_pairs(5, count)
    with pytest.raises(ValueError, match=r"n_pairs=.* is not valid"):
        labelled_pairs([0, 0, 1], count)


def test_verbose_is_a_whole_number(data):
    with pytest.raises(ValueError, match=r"verbose=0.5 is not valid"):
        MetricLearner(verbose=0.5).fit(*data)


def test_partial_fit_names_the_solver_as_the_cause():
    with pytest.raises(AttributeError, match=r"PSDRegressor has no attribute 'partial_fit'.*solver='online'"):
        PSDRegressor().partial_fit([[1.0]], [1.0])


@pytest.mark.parametrize("sense", [None, "at most"])
def test_targets_that_no_psd_matrix_reaches_are_warned_of(sense, data):
    X, _ = data
    with pytest.warns(UserWarning, match="W = 0 is the best fit"):
        model = PSDRegressor(random_state=0).fit(X, -1 - X[:, 0] ** 2, sense=sense)
    assert np.abs(model.predict(X)).max() < 0.05


def test_negative_targets_that_can_be_reached_do_not_warn(data):
    X, _ = data
    PSDRegressor(random_state=0).fit(X, -np.ones(24), sense="at least")
    PSDRegressor(random_state=0).fit(-X[:, :, None] * X[:, None], -np.sum(X**2, axis=1))


def test_an_online_fit_from_an_exact_start_does_not_warn(dtype, rng):
    X, truth = rng.standard_normal((300, 5)).astype(dtype), rng.standard_normal((5, 2)).astype(dtype)
    y = np.sum((X @ truth) ** 2, axis=1)
    for seed in range(3):
        model = PSDRegressor(2, solver="online", init=truth, random_state=seed).fit(X, y)
        np.testing.assert_allclose(model.matrix(), truth @ truth.T, atol=1e-3)


@pytest.mark.parametrize("value", [1e200, -1e160, 1.7e308])
@pytest.mark.parametrize("step", ["averaged", "greedy"])
def test_a_batch_that_overflows_leaves_the_stream_as_it_was(value, step, rng):
    X = rng.standard_normal((100, 4))
    model = SubspaceTracker(2, step=step, random_state=0).partial_fit(X)
    before = {name: np.copy(array) for name, array in zip(model._stream._fields, model._stream, strict=True)}
    components = model.components_.copy()
    bad = X.copy()
    bad[3, 1] = value
    with pytest.raises(ValueError, match=r"largest entry of X in absolute value is .*Scale X"):
        model.partial_fit(bad)
    np.testing.assert_array_equal(model.components_, components)
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(model._stream, name), array)
    assert np.isfinite(model.partial_fit(X).components_).all()


def test_variances_that_overflow_in_float32_are_refused(rng):
    X = rng.standard_normal((50, 3)).astype(np.float32)
    model = SubspaceTracker(1, random_state=0).fit(X)
    components = model.components_.copy()
    with pytest.raises(ValueError, match=r"not finite in float32: the largest entry of X .* Scale X"):
        model.partial_fit(np.float32(1e30) * X)
    np.testing.assert_array_equal(model.components_, components)


@pytest.mark.parametrize("model", [LMNN(), MetricLearner(2), ITML()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("size", [2.0**-460, 2.0**460])
def test_samples_whose_squares_are_finite_are_not_refused(model, size, data):
    X, y = data
    model.set_params(random_state=0)
    expected = clone(model).fit(X, y).transform(X)
    found = clone(model).fit(size * X, y).transform(size * X)
    np.testing.assert_allclose(found / np.abs(found).max(), expected / np.abs(expected).max(), atol=1e-6)


def test_given_pairs_need_fourth_powers(data):
    X, _ = data
    for model in (MetricLearner(2), LEGO(), POLA()):
        with pytest.raises(ValueError, match=r"its powers overflow. Scale X"):
            model.fit_pairs(1e100 * X, [[0, 1], [0, 23]], y=[1, -1])


def test_full_rank_on_wide_data_is_refused_at_once(rng, monkeypatch):
    """Labels are learned from in the span of the samples, pairs in all directions."""
    monkeypatch.setattr("gramian.coordinates.Coordinates.of_distances", None)
    X, y = rng.standard_normal((1500, 2000), dtype=np.float32), np.arange(1500) % 3
    with pytest.raises(ValueError, match=r"rank 1500 from 1500 samples of 2000 features.*n_components=50"):
        MetricLearner().fit(X, y)
    with pytest.raises(ValueError, match="rank 2000 from 1500 samples"):
        MetricLearner().fit_pairs(X, [[0, 1], [1, 2]], [1, -1])
    with pytest.raises(ValueError, match="rank 2000 from 1500 samples"):
        MetricLearner().fit_targets(X, y)


def test_full_rank_on_few_samples_of_many_features_is_learned_in_their_span(rng):
    X, y = rng.standard_normal((30, 2000), dtype=np.float32), np.arange(30) % 3
    model = MetricLearner(constraints="triplets", random_state=0).fit(X, y)
    assert model.components_.shape == (29, 2000)


def test_full_rank_of_wide_data_is_refused_where_the_span_is_left(rng):
    """Streams, warm starts and an array as start learn in all directions, however few the samples are."""
    X, y = rng.standard_normal((30, 1200)), np.repeat([0, 1], 15)
    message = "would learn a matrix of rank 1200 from 30 samples of 1200 features"
    learner = MetricLearner(constraints="triplets", random_state=0)
    with pytest.raises(ValueError, match=message):
        clone(learner).partial_fit(X, y)
    with pytest.raises(ValueError, match=f"{message}.* unless `init` is an array"):
        clone(learner).set_params(init=np.eye(1200)).fit(X, y)
    learner.set_params(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=message):
        learner.fit(X, y)
    with pytest.raises(ValueError, match=message):
        learner.partial_fit(X, y)
    with pytest.raises(ValueError, match=message):
        MetricLearner().fit_targets(X, rng.standard_normal(30))


class Epochs(GradientDescent):
    """A solver of one's own that runs epochs, without the step sizes of a stream."""

    stops = False


def test_a_solver_without_a_schedule_cannot_go_on_with_a_stream(rng):
    X, y = rng.standard_normal((40, 3)), rng.random(40)
    regressor = PSDRegressor(1, solver=Epochs(), random_state=0).fit(X, y)
    metric = MetricLearner(1, constraints="triplets", solver=Epochs(), random_state=0).fit(X, y > 0.5)
    for learner, targets in ((regressor, y), (metric, y > 0.5)):
        before = learner.factor_
        with pytest.raises(ValueError, match=r"^solver=Epochs\(.* has no schedule of step sizes"):
            learner.partial_fit(X, targets)
        assert learner.factor_ is before


@pytest.mark.parametrize("value", ["x", np.nan, [2], 10**400])
def test_a_rank_that_is_no_number_is_named(value, rng):
    with pytest.raises(ValueError, match=r"^rank=.* is not valid\. Choose"):
        PSDRegressor(value).fit(rng.standard_normal((20, 3)), rng.random(20))


@pytest.mark.parametrize(("name", "value"), [("max_iter", None), ("constraints", []), ("n_epochs", "x")])
def test_settings_of_the_wrong_type_are_named(name, value, rng):
    with pytest.raises(ValueError, match=rf"^{name}=.* is (not valid|unknown)\. Choose"):
        MetricLearner(1, **{name: value}).fit(rng.standard_normal((20, 3)), np.arange(20) % 2)


def test_a_pair_of_both_signs_is_refused_whatever_its_distance(rng):
    expected = (
        r"^pairs\[0\] = \(0, 1\) is contradicted by pairs\[1\], of the same samples: y = \+1, near, against y = -1, far"
    )
    with pytest.raises(ValueError, match=expected):
        MetricLearner(1).fit_pairs(rng.standard_normal((5, 3)), [[0, 1], [1, 0]], [1, -1])


def test_no_tuples_cannot_be_scored(rng):
    X = rng.standard_normal((6, 3))
    model = MetricLearner(1, random_state=0).fit_pairs(X, [[0, 1], [2, 3], [4, 5]], [1, -1, 1])
    with pytest.raises(ValueError, match="no tuples to score"):
        model.score(X, np.zeros((0, 2), int), [])


def test_numbers_below_the_normal_range_are_refused_or_fitted(rng):
    X, y = rng.standard_normal((30, 2)), rng.random(30)
    PSDRegressor(1, random_state=0).fit(X, 1e-320 * y)
    with pytest.raises(ValueError, match=r"Scale the data\.$"):
        PSDRegressor(1, random_state=0).fit(1e-310 * X, y)


@pytest.mark.parametrize("path", ["x.npy", Path("x.npy")], ids=["text", "Path"])
def test_a_path_in_place_of_samples_is_refused(path):
    with pytest.raises(ValueError, match=r"^X is a path, 'x\.npy'; expected samples\. Load them"):
        PSDRegressor(1).fit(path, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^X is a path, 'x\.npy'"):
        MetricLearner(1).fit(path, [0, 1])


@pytest.mark.parametrize(
    "model",
    [
        MetricLearner(2, balanced="no"),
        SubspaceTracker(2, center="x"),
        PSDRegressor(2, certificate="x"),
        KernelLearner(2, certificate="x"),
        SStressMDS(2, metric="euclidean", certificate="x"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_flags_are_true_or_false(model, rng):
    X, y = rng.standard_normal((30, 4)), np.arange(30.0) % 2
    with pytest.raises(ValueError, match=r"(balanced|center|certificate)='.*' is not valid. Choose True or False"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_tuples_whose_samples_all_coincide_are_refused(rng, kind):
    X, i = np.tile(rng.standard_normal((30, 4)), (3, 1)), np.arange(30)
    X, model = kind(X), MetricLearner(2, random_state=0)
    with pytest.raises(ValueError, match="the samples of every one of the pairs coincide"):
        model.fit_pairs(X, np.c_[i, i + 30], np.where(i % 2, 1, -1))
    with pytest.raises(ValueError, match="the samples of every one of the triplets coincide"):
        model.fit_triplets(X, np.c_[i, i + 30, i + 60])


@pytest.mark.parametrize(
    "model",
    [ITML(), LEGO(), POLA(), MetricLearner(2, constraints="pairs")],
    ids=lambda model: type(model).__name__,
)
def test_one_pair_drawn_by_labels_is_not_enough(model, rng):
    X, y = rng.standard_normal((30, 4)), np.arange(30) % 2
    with pytest.raises(ValueError, match=r"n_constraints=1 draws one pair, near or far\. Choose 2 or more"):
        clone(model).set_params(n_constraints=1, random_state=0).fit(X, y)


def test_a_call_of_a_stream_may_have_duplicates_only(rng):
    X, i = rng.standard_normal((30, 4)), np.arange(14)
    model = MetricLearner(2, solver="online", random_state=0)
    model.partial_fit_pairs(X, np.c_[i, i + 15], np.where(i % 2, 1, -1))
    model.partial_fit_pairs(X[[0, 0, 1]], [[0, 1]], [1])
    assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_targets_out_of_range_are_named(rng, size):
    X, pairs = rng.standard_normal((20, 3)), np.c_[np.arange(10), np.arange(10, 20)]
    with pytest.raises(ValueError, match=r"the largest entry of target .* Scale target"):
        MetricLearner(2).fit_pairs(X, pairs, target=np.full(10, size))


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_a_matrix_out_of_range_is_refused_and_its_factor_is_there(rng, size):
    X = rng.standard_normal((300, 5))
    y = (X[:, :2] ** 2).sum(axis=1)
    model = PSDRegressor(2, random_state=0).fit(size * X, y)
    assert model.score(size * X, y) > 0.999
    with pytest.raises(ValueError, match=r"W is outside the range of float64: its factor has entries up to"):
        model.matrix()


def test_a_decomposed_kernel_of_other_samples_is_refused(rng):
    X, y = rng.standard_normal((30, 4)), np.arange(30) % 2
    model = KernelLearner(2, random_state=0)
    decomposed = model.decompose(X)
    with pytest.raises(ValueError, match="decomposed is of other samples than X"):
        model.fit(3 * X[::-1], y, decomposed)
    assert model.fit(X, y, decomposed).rank_ == 2
    # Kernels need not be symmetric to the last digit.
    K = X @ X.T + np.eye(30) + 1e-7 * rng.random((30, 30))
    model = KernelLearner(2, kernel="precomputed", random_state=0)
    assert model.fit(K, y, model.decompose(K)).rank_ == 2


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_kernels_of_counts_have_a_default(rng, kernel):
    X, y = rng.random((30, 4)), np.arange(30) % 2
    assert np.isfinite(KernelLearner(2, kernel=kernel, random_state=0).fit(X, y).embedding_).all()


@pytest.mark.parametrize("sizes", [(1, 2999), (1,) * 300])
def test_a_stream_that_begins_with_one_sample_learns(rng, sizes):
    X = rng.standard_normal((sum(sizes), 3))
    y = X[:, 0] ** 2
    model = PSDRegressor(1, solver="online", random_state=0)
    for stop, size in zip(np.cumsum(sizes), sizes, strict=True):
        model.partial_fit(X[stop - size : stop], y[stop - size : stop])
    assert model.score(X, y) > 0.9


def test_scores_that_are_no_numbers_are_refused(rng):
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    search = MetricLearnerCV([1, 2], estimator=MetricLearner(constraints="triplets"), cv=2, scoring=no_number)
    with pytest.raises(ValueError, match="scoring gives NaN for 1 component on fold 1"):
        search.fit(X, y)


def no_number(estimator, X, y):
    return float("nan")


#: Calls of fitted models that are refused, most of them after the samples, of another number of features, were read.
REFITS = {
    "fit": lambda model, X, y: model.fit(np.zeros((24, 3)), np.zeros(24, int)),
    "fit_pairs": lambda model, X, y: model.fit_pairs(X[:, :3], [[0, 1], [1, 2]], [np.nan, np.nan]),
    "fit_triplets": lambda model, X, y: model.fit_triplets(X[:, :3], [[0, 1, 99]]),
    "fit_quadruplets": lambda model, X, y: model.fit_quadruplets(X[:, :3], [[0, 1, 2, 99]]),
    "fit_targets": lambda model, X, y: model.fit_targets(X[:, :3], np.zeros(24)),
    "partial_fit": lambda model, X, y: model.partial_fit(X[:, :3], y),
    "partial_fit_pairs": lambda model, X, y: model.partial_fit_pairs(X[:, :3], [[0, 1], [1, 2]], [np.nan, np.nan]),
    "fit_stream": lambda model, X, y: model.fit_stream([(np.full((24, 3), np.inf), y)]),
}


@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name, kind in KINDS.items() for method in REFITS if hasattr(kind, method)]
)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_is_refused_leaves_what_was_learned(name, method, data):
    X, y = data
    model = make_model(name)
    if name == "MetricLearnerCV":
        model.set_params(estimator=MetricLearner(constraints="triplets"), ranks=[1], cv=2)
    if name == "PSDRegressor":
        model.set_params(solver="online")
    before = dict(vars(model.fit(X, y)))
    with pytest.raises((ValueError, TypeError)):
        REFITS[method](model, X, y)
    assert vars(model).keys() == before.keys()
    assert all(value is before[key] for key, value in vars(model).items())


def test_a_search_that_is_refused_still_maps_what_it_mapped(data):
    X, y = data
    search = MetricLearnerCV([1], estimator=MetricLearner(constraints="triplets"), cv=2, random_state=0).fit(X, y)
    before = search.transform(X)
    for refused in (
        lambda: search.fit(X[:, :3], np.zeros(24, int)),
        lambda: search.fit_targets(X[:, :3], np.zeros(24)),
        lambda: search.fit_pairs(X[:, :3], [[0, 1], [1, 2]], [1, 5]),
        lambda: search.fit_triplets(X[:, :3], [[0, 1, 99]]),
    ):
        with pytest.raises(ValueError, match=r"^(y|all|triplets)"):
            refused()
        np.testing.assert_array_equal(search.transform(X), before)
