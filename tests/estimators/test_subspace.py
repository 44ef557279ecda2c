import pickle

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import Block, Problem, Term
from gramian._kernels import reference
from gramian._kernels.subspace import Stream, subspace_follow
from gramian.estimators.subspace import SubspaceTracker
from gramian.features import Array
from gramian.geometries import Grassmann
from gramian.losses import Linear
from gramian.measurements import Each
from gramian.solvers.online import descend


@parametrize_with_checks([SubspaceTracker(), SubspaceTracker(step="greedy", memory=50.0, center=False)])
def test_estimator_check(estimator, check):
    check(estimator)


def make_samples(rng, n, d, r, *, noise=0.0, missing=0.0, scales=1.0):
    basis = np.linalg.qr(rng.standard_normal((d, r)))[0]
    X = (scales * rng.standard_normal((n, r))) @ basis.T + noise * rng.standard_normal((n, d))
    X[rng.random(X.shape) < missing] = np.nan
    return X, basis


def angle(model, basis):
    return subspace_angles(model.components_.T.astype(float), basis).max()


def test_the_message_says_what_was_done(rng):
    X, _ = make_samples(rng, 10, 6, 2, noise=0.1)
    model = SubspaceTracker(2, n_epochs=3, random_state=0).fit(X)
    assert model.message_ == "n_epochs=3 passes done"
    assert model.partial_fit(X).message_ == "followed 10 samples"


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_greedy_steps_find_a_noise_free_subspace_to_rounding(rng, missing):
    X, basis = make_samples(rng, 5000, 100, 5, missing=missing, scales=np.array([10.0, 5.0, 3.0, 2.0, 1.0]))
    model = SubspaceTracker(5, step="greedy", center=False, n_epochs=1, random_state=0).fit(X)
    assert angle(model, basis) < 1e-12


@pytest.mark.parametrize("scales", [1.0, np.array([10.0, 5.0, 3.0, 2.0, 1.0])])
def test_one_epoch_of_averaged_steps_is_near_pca(rng, scales):
    X, _ = make_samples(rng, 3000, 50, 5, noise=0.3, scales=scales)
    X = X + rng.standard_normal(50)
    model = SubspaceTracker(5, n_epochs=1, random_state=0).fit(X)
    pca = PCA(5).fit(X)
    lost = [np.sum((X - m.inverse_transform(m.transform(X))) ** 2) for m in (model, pca)]
    assert lost[0] < 1.002 * lost[1]
    assert angle(model, pca.components_.T) < 0.05
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=0.05)


def test_half_of_the_entries_are_enough(rng):
    scales = np.array([10.0, 5.0, 3.0, 2.0, 1.0])
    X, basis = make_samples(rng, 4000, 60, 5, noise=0.1, missing=0.5, scales=scales)
    model = SubspaceTracker(5, n_epochs=1, random_state=0).fit(X)
    assert angle(model, basis) < 0.05


def test_follows_a_subspace_that_rotates(rng):
    basis = np.linalg.qr(rng.standard_normal((30, 4)))[0]
    turn = 2e-3
    X, now = [], basis[:, :2]
    for t in range(3000):
        now = np.cos(turn * t) * basis[:, :2] + np.sin(turn * t) * basis[:, 2:]
        X.append(now @ rng.standard_normal(2) + 0.05 * rng.standard_normal(30))
    X = np.where(rng.random((3000, 30)) < 0.2, np.nan, X)
    fading, steady = (SubspaceTracker(2, memory=m, center=False, random_state=0) for m in (50, None))
    for batch in np.array_split(X, 30):
        fading.partial_fit(batch)
        steady.partial_fit(batch)
    assert angle(fading, now) < 0.2
    assert angle(steady, now) > 0.5


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_the_compiled_stream_equals_its_reference(rng, dtype, missing, greedy, center):
    X, _ = make_samples(rng, 200, 12, 3, noise=0.2, missing=missing)
    X = X.astype(dtype)
    X[17] = np.nan
    frame = np.linalg.qr(rng.standard_normal((12, 3)))[0].copy()
    stream = Stream(frame, 0.1 * np.eye(3), np.zeros(12), np.zeros(12), np.array([0.0, 50.0, 0.0]))
    order = rng.permutation(200)
    expected = Stream(*(array.copy() for array in stream))
    reference.subspace_follow(X, order, expected, 0.99, greedy, center)
    subspace_follow(X, order, stream, 0.99, greedy, center)
    assert expected.totals[2] >= 1
    np.testing.assert_allclose(stream.frame.T @ stream.frame, np.eye(3), atol=1e-13)
    for name in ("frame", "moment", "mean", "counts", "totals"):
        np.testing.assert_allclose(getattr(stream, name), getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name)


def test_a_greedy_step_is_a_step_of_the_engine(rng):
    X, _ = make_samples(rng, 1, 8, 3, noise=0.5)
    model = SubspaceTracker(3, step="greedy", center=False, random_state=0)
    start = model._initialise_stream(8, np.random.RandomState(0)).frame
    problem = Problem([Block(Array(X), [Term(Each(1), np.sum(X**2, axis=1), Linear(), np.ones(1, np.int8))])])
    step = np.array([1 / np.sum((X @ start) ** 2)])
    arrived, _ = descend(problem, Grassmann("exp").point(start), np.arange(1), 1, step)
    retracted, _ = descend(problem, Grassmann("uf").point(start), np.arange(1), 1, step)
    model.partial_fit(X)
    assert angle(model, retracted.G) < 1e-12
    # The geodesic is the same curve at another speed: the same step gives a larger angle.
    assert angle(model, arrived.G) > 1e-6


def test_fit_is_the_same_samples_through_partial_fit_however_they_are_cut(rng):
    X, _ = make_samples(rng, 300, 20, 3, noise=0.1, missing=0.3)
    whole = SubspaceTracker(3, n_epochs=2, random_state=0).fit(X)
    state = np.random.RandomState(0)
    state.standard_normal((20, 3))
    rows = np.concatenate([X[state.permutation(300)] for _ in range(2)])
    cut = SubspaceTracker(3, random_state=0)
    for part in np.split(rows, [1, 70, 333, 598]):
        cut.partial_fit(part)
    np.testing.assert_array_equal(cut.components_, whole.components_)
    assert cut.n_samples_seen_ == whole.n_samples_seen_ == 600


def test_partial_fit_goes_on_from_fit(rng):
    X, basis = make_samples(rng, 400, 30, 2, missing=0.5)
    model = SubspaceTracker(2, step="greedy", center=False, n_epochs=1, random_state=0).fit(X[:20])
    before = angle(model, basis)
    model.partial_fit(X)
    assert angle(model, basis) < 1e-3 * before


def test_missing_entries_are_filled_in(rng):
    X, _ = make_samples(rng, 500, 20, 3)
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model = SubspaceTracker(3, step="greedy", center=False, random_state=0).fit(holes)
    np.testing.assert_allclose(model.inverse_transform(model.transform(holes)), X, atol=1e-8)
    np.testing.assert_allclose(model.transform(holes), model.transform(X), atol=1e-8)
    np.testing.assert_array_equal(model.transform(np.full((1, 20), np.nan)), np.zeros((1, 3)))


def test_components_are_orthonormal_and_ordered(rng):
    X, _ = make_samples(rng, 1000, 20, 3, noise=0.1, scales=np.array([1.0, 5.0, 2.0]))
    model = SubspaceTracker(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)
    assert (np.diff(model.explained_variance_) < 0).all()
    variances = np.var(model.transform(X), axis=0)
    np.testing.assert_allclose(variances, model.explained_variance_, rtol=0.1)
    assert (model.components_.max(axis=1) > -model.components_.min(axis=1)).all()


def test_a_long_stream_stays_orthonormal(rng):
    X, _ = make_samples(rng, 20_000, 10, 3, noise=1.0)
    model = SubspaceTracker(3, step="greedy", n_epochs=1, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-13)


def test_rows_with_too_few_entries_are_skipped(rng):
    X, _ = make_samples(rng, 50, 10, 3, noise=0.1)
    sparse = X.copy()
    sparse[::5, 2:] = np.nan
    model = SubspaceTracker(3, n_epochs=2, center=False, random_state=0).fit(sparse)
    assert model.n_samples_skipped_ == 20
    kept = SubspaceTracker(3, center=False, random_state=0).partial_fit(np.delete(X, np.s_[::5], axis=0))
    both = SubspaceTracker(3, center=False, random_state=0).partial_fit(sparse)
    np.testing.assert_allclose(both.components_, kept.components_, atol=1e-12)
    with pytest.raises(ValueError, match="no row of X has enough observed entries for n_components=3"):
        SubspaceTracker(3).fit(np.where(np.arange(10) % 5 == np.arange(5)[:, None], 1.0, np.nan))


def test_rows_that_do_not_determine_the_weights_are_skipped(rng):
    X, _ = make_samples(rng, 200, 6, 2)
    model = SubspaceTracker(2, step="greedy", center=False, random_state=0).fit(
        np.column_stack([X, np.zeros((200, 2))])
    )
    row = np.full((1, 8), np.nan)
    row[0, 6:] = 1.0
    skipped, components = model.n_samples_skipped_, model.components_.copy()
    model.partial_fit(row)
    assert model.n_samples_skipped_ == skipped + 1
    np.testing.assert_allclose(model.components_, components, atol=1e-12)


def test_a_column_may_be_empty_in_a_stream_but_not_in_a_fit(rng):
    X, basis = make_samples(rng, 600, 10, 2)
    X[:300, 4] = np.nan
    with pytest.raises(ValueError, match=r"X\[:, 4\] has no observed entry, NaN only. Drop the column"):
        SubspaceTracker(2).fit(X[:300])
    model = SubspaceTracker(2, step="greedy", center=False, random_state=0).partial_fit(X[:300])
    model.partial_fit(X[300:])
    assert angle(model, basis) < 1e-10


def test_float32_in_float32_out(rng):
    X, basis = make_samples(rng, 500, 20, 3, missing=0.2)
    X = X.astype(np.float32)
    model = SubspaceTracker(3, step="greedy", center=False, random_state=0).fit(X)
    assert model.components_.dtype == model.mean_.dtype == model.explained_variance_.dtype == np.float32
    assert model.transform(X).dtype == model.inverse_transform(model.transform(X)).dtype == np.float32
    assert angle(model, basis) < 1e-5


def test_a_seed_fixes_the_result_and_another_changes_it(rng):
    X, _ = make_samples(rng, 100, 10, 2, noise=0.5)
    first, again, other = (SubspaceTracker(random_state=s).fit(X).components_ for s in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6


def test_pipelines_clones_pickles_and_frames(rng):
    X, _ = make_samples(rng, 100, 6, 2, noise=0.1, missing=0.1)
    pipeline = make_pipeline(StandardScaler(), SubspaceTracker(2, random_state=0))
    frame = pipeline.set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["subspacetracker0", "subspacetracker1"]
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.transform(X), frame)
    again[-1].partial_fit(again[:-1].transform(X))
    assert again[-1].n_samples_seen_ == 400
    assert clone(pipeline[-1]).get_params() == pipeline[-1].get_params()


BAD = {
    "infinity": ({}, lambda X: np.where(X > 1, np.inf, X), "infinity"),
    "1-d X": ({}, lambda X: X[:, 0], "Expected 2D array"),
    "no samples": ({}, lambda X: X[:0], "0 sample"),
    "n_components 0": ({"n_components": 0}, None, "n_components=0 is not valid. Choose an integer of at least 1"),
    "n_components above d": ({"n_components": 11}, None, "n_components=11 exceeds n_features=10. Choose fewer"),
    "unknown step": ({"step": "long"}, None, "step='long' is unknown. Choose one of 'averaged', 'greedy'"),
    "memory below 1": ({"memory": 0.5}, None, "memory=0.5 is not valid"),
    "n_epochs 0": ({"n_epochs": 0}, None, "n_epochs=0 is not valid"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_nothing_is_lost(case, rng):
    settings, spoil, message = BAD[case]
    X, _ = make_samples(rng, 50, 10, 2, noise=0.1)
    model = SubspaceTracker(random_state=0).fit(X)
    before = dict(vars(model.set_params(**settings)))
    with pytest.raises(ValueError, match=message):
        model.fit(spoil(X) if spoil else X)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())


def test_a_bad_batch_leaves_the_stream_as_it_was(rng):
    X, _ = make_samples(rng, 50, 10, 2, noise=0.1)
    model = SubspaceTracker(random_state=0).partial_fit(X)
    frame, components = model._stream.frame.copy(), model.components_.copy()
    with pytest.raises(ValueError, match="9 features"):
        model.partial_fit(X[:, :9])
    with pytest.raises(ValueError, match=r"n_components=3, but the stream has 2\. Call fit to start anew"):
        model.set_params(n_components=3).partial_fit(X)
    with pytest.raises(ValueError, match="X has 3 columns; expected the 2 coordinates"):
        model.inverse_transform(X[:, :3])
    np.testing.assert_array_equal(model._stream.frame, frame)
    np.testing.assert_array_equal(model.components_, components)


def test_transform_before_fit(rng):
    with pytest.raises(NotFittedError):
        SubspaceTracker().transform(np.ones((2, 3)))
    with pytest.raises(NotFittedError):
        SubspaceTracker().inverse_transform(np.ones((2, 3)))


@pytest.mark.parametrize("seed", range(4))
def test_a_fifth_of_the_entries_is_enough_for_many_samples(seed):
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((5, 50))
    X = rng.standard_normal((5000, 5)) @ basis + 0.1 * rng.standard_normal((5000, 50))
    X[rng.random(X.shape) < 0.8] = np.nan
    model = SubspaceTracker(5, random_state=seed).fit(X)
    assert np.degrees(subspace_angles(model.components_.T, basis.T)).max() < 15


def test_a_memory_of_one_sample_leaves_nothing_beside_its_mean(rng):
    X = rng.standard_normal((50, 4))
    with pytest.raises(ValueError, match="memory=1 is not valid"):
        SubspaceTracker(2, memory=1).fit(X)
    assert SubspaceTracker(2, memory=1, center=False, random_state=0).fit(X).components_.shape == (2, 4)
