"""Learning from streams equals partial_fit on the same batches."""

import importlib.util
import weakref

import numpy as np
import pytest
from sklearn.base import clone

from gramian import MetricLearner, PSDRegressor, SubspaceTracker
from gramian.estimators import _fit_stream

SIZE = 200


def batches_of(*arrays):
    return [tuple(array[start : start + SIZE] for array in arrays) for start in range(0, len(arrays[0]), SIZE)]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((1000, 5))
    return X, np.sum(X[:, :2] ** 2, axis=1)


def learn_by_hand(model, batches):
    for batch in batches:
        model.partial_fit(*batch)
    return model


def labels_of(X):
    return (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


def points_of(X, size):
    return X[: len(X) // size * size].reshape(-1, size, X.shape[1])


def make_cases(X, y):
    signs = np.where(np.arange(500) % 2, 1, -1)
    return {
        "regression": (PSDRegressor(2, solver="online", random_state=0), batches_of(X, y)),
        "weights": (PSDRegressor(2, solver="online", random_state=0), batches_of(X, y, 1 + labels_of(X))),
        "labels": (MetricLearner(2, constraints="triplets", random_state=0), batches_of(X, labels_of(X))),
        "weighted labels": (
            MetricLearner(2, constraints="triplets", random_state=0),
            batches_of(X, labels_of(X), 1 + np.abs(X[:, 1])),
        ),
        "pairs": (MetricLearner(2, random_state=0), batches_of(points_of(X, 2), signs)),
        "triplets": (MetricLearner(2, random_state=0), batches_of(points_of(X, 3))),
        "subspace": (SubspaceTracker(2, random_state=0), batches_of(X)),
    }


@pytest.mark.parametrize("name", make_cases(np.zeros((6, 2)), np.zeros(6)))
@pytest.mark.filterwarnings("ignore:not converged", "ignore:on held-out")
def test_streams_equal_partial_fit(data, name):
    expected = learn_by_hand(*make_cases(*data)[name])
    model, batches = make_cases(*data)[name]
    # What was fitted before does not matter.
    learn_by_hand(model, batches[:1])
    for form in (iter(batches), lambda: iter(batches), [{"X": b[0]} | name_rest(b) for b in batches]):
        assert model.fit_stream(form) is model
        np.testing.assert_array_equal(fitted(model), fitted(expected))


def name_rest(batch):
    return dict(zip(("y", "sample_weight"), batch[1:], strict=False))


def fitted(model):
    return model.factor_ if hasattr(model, "factor_") else model.components_


def test_a_batch_may_be_an_array(data):
    X, _ = data
    expected = learn_by_hand(SubspaceTracker(2, random_state=0), batches_of(X))
    model = SubspaceTracker(2, random_state=0).fit_stream(batch for (batch,) in batches_of(X))
    np.testing.assert_array_equal(model.components_, expected.components_)


def test_epochs(data):
    batches = batches_of(*data)
    expected = learn_by_hand(PSDRegressor(2, solver="online", random_state=0), 3 * batches)
    for form in (batches, lambda: iter(batches)):
        model = PSDRegressor(2, solver="online", random_state=0).fit_stream(form, n_epochs=3)
        np.testing.assert_array_equal(model.factor_, expected.factor_)
    with pytest.raises(ValueError, match="batches is an iterator, which ends after one"):
        model.fit_stream(iter(batches), n_epochs=2)
    np.testing.assert_array_equal(model.factor_, expected.factor_)


def test_refusals(data):
    X, y = data
    model = PSDRegressor(2, solver="online", random_state=0)
    with pytest.raises(TypeError, match="batches is of type int"):
        model.fit_stream(3)
    with pytest.raises(ValueError, match="n_epochs=0 is not valid"):
        model.fit_stream([(X, y)], n_epochs=0)
    with pytest.raises(ValueError, match="batches is empty"):
        model.fit_stream([])
    with pytest.raises(AttributeError, match="streams need solver='online'; this one has solver='cg'"):
        PSDRegressor(2).fit_stream([(X, y)])
    assert not hasattr(PSDRegressor(2), "fit_stream")


def test_a_refused_batch_is_named_and_what_was_learned_before_is_kept(data):
    X, y = data
    batches = batches_of(X, y)
    model = PSDRegressor(2, solver="online", random_state=0)
    for bad, message in (
        ((np.full((5, 5), np.nan), np.zeros(5)), r"batch 2, counted from 0: Input X contains NaN"),
        ((X[:5, :4], y[:5]), r"batch 2, counted from 0: X has 4 features, but"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit_stream([*batches[:2], bad, *batches[2:]])
        expected = learn_by_hand(PSDRegressor(2, solver="online", random_state=0), batches[:2])
        np.testing.assert_array_equal(model.factor_, expected.factor_)
    before = model.factor_
    with pytest.raises(TypeError, match=r"batch 0, counted from 0: .*missing 1 required positional argument: 'y'"):
        model.fit_stream([bad[:1]])
    assert model.factor_ is before


def test_an_interruption_keeps_what_was_learned(data):
    batches = batches_of(*data)

    def stream(count):
        yield from batches[:count]
        raise KeyboardInterrupt

    model = PSDRegressor(2, solver="online", random_state=0).fit_stream(batches)
    for count in (3, 1):
        with pytest.raises(KeyboardInterrupt):
            model.fit_stream(stream(count))
        expected = learn_by_hand(PSDRegressor(2, solver="online", random_state=0), batches[:count])
        np.testing.assert_array_equal(model.factor_, expected.factor_)
        assert model.n_iter_ == count


class Sized(list):
    n_rows = 1000


@pytest.mark.parametrize("bar", [True, False])
def test_progress_knows_the_size(data, bar, capsys, monkeypatch):
    if bar:
        pytest.importorskip("tqdm")
    else:
        find = importlib.util.find_spec
        monkeypatch.setattr(_fit_stream, "find_spec", lambda name: None if name == "tqdm" else find(name))
    batches = batches_of(*data)
    for form, text in ((Sized(batches), "2.00k" if bar else "2000 of 2000 rows"), (batches, "10 of 10 batches")):
        PSDRegressor(2, solver="online", random_state=0).fit_stream(form, n_epochs=2, progress=True)
        shown = capsys.readouterr().err
        assert (text if not bar or form is not batches else "10/10") in shown
    model = PSDRegressor(2, solver="online", random_state=0, verbose=0).fit_stream(batches)
    assert capsys.readouterr().err == ""
    model.set_params(verbose=1).fit_stream(batches)
    shown = capsys.readouterr().err
    assert ("5/5" if bar else "5 of 5 batches") in shown
    assert "gradient" not in shown
    assert model.verbose == 1


class Interrupted(list):
    """Batches of which the iteration is interrupted before one of them."""

    def __init__(self, batches, stop):
        super().__init__(batches)
        self.stop = stop

    def __iter__(self):
        for number, batch in enumerate(super().__iter__()):
            if number == self.stop:
                raise KeyboardInterrupt
            yield batch


@pytest.mark.parametrize("name", ["regression", "labels", "pairs"])
@pytest.mark.filterwarnings("ignore:not converged", "ignore:on held-out")
def test_streams_go_on_from_checkpoints(data, name, tmp_path):
    path = tmp_path / "state.npz"
    expected = learn_by_hand(*make_cases(*data)[name])
    model, batches = make_cases(*data)[name]
    model.set_params(checkpoint=path)
    for stop in (2, 1, 2):
        with pytest.raises(KeyboardInterrupt):
            model.fit_stream(Interrupted(batches, stop))
        assert path.exists()
    learned = []
    original, kind = type(model).partial_fit, type(model)
    other = kind(**model.get_params())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "partial_fit", lambda self, *batch: learned.append(original(self, *batch)))
        other.fit_stream(batches)
    assert len(learned) == len(batches) - 2
    np.testing.assert_array_equal(fitted(other), fitted(expected))
    assert other.n_iter_ == expected.n_iter_
    assert not path.exists()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState], ids=["Generator", "RandomState"])
@pytest.mark.filterwarnings("ignore:not converged", "ignore:on held-out")
def test_streams_with_a_generator_go_on_from_checkpoints(data, make, tmp_path):
    model, batches = make_cases(*data)["labels"]
    rng = make(5)
    expected = learn_by_hand(clone(model).set_params(random_state=rng), batches)
    after = rng.standard_normal()
    model.set_params(checkpoint=tmp_path / "state.npz")
    for stop in (1, 3):
        # Each run is a process of its own, in which the generator begins anew.
        rng = make(5)
        with pytest.raises(KeyboardInterrupt):
            model.set_params(random_state=rng).fit_stream(Interrupted(batches, stop))
        rng.standard_normal(9)
    with pytest.raises(ValueError, match=r"another fit: data\.random_state was '\w+ \w+' and is None"):
        clone(model).set_params(random_state=None).fit_stream(batches)
    model.set_params(random_state=rng).fit_stream(batches)
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert rng.standard_normal() == after


def test_another_stream_is_refused(data, tmp_path):
    X, y = data
    path, batches = tmp_path / "state.npz", batches_of(X, y)
    model = PSDRegressor(2, solver="online", random_state=0, checkpoint=path)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(Interrupted(batches, 3))
    content, before = path.read_bytes(), model.factor_
    with pytest.raises(ValueError, match=r"another stream: its first 3 batches are others"):
        model.fit_stream(batches[::-1])
    with pytest.raises(ValueError, match=r"another fit: data\.stream was '1 epochs' and is '2 epochs'"):
        model.fit_stream(batches, n_epochs=2)
    with pytest.raises(ValueError, match=r"another fit: data\.stream was .*; data\.X was"):
        model.fit(X, y)
    assert path.read_bytes() == content
    assert model.factor_ is before


@pytest.mark.parametrize("once", [False, True])
def test_streams_of_a_folder_have_files_of_their_own(data, tmp_path, once):
    X, y = data
    streams = [batches_of(X, y), batches_of(X[::-1], y[::-1])]
    for number, batches in enumerate(streams, 1):
        model = PSDRegressor(2, solver="online", random_state=0, checkpoint=tmp_path)
        with pytest.raises(KeyboardInterrupt):
            model.fit_stream(Interrupted(batches, 3))
        assert len(list(tmp_path.iterdir())) == number
    for number, batches in enumerate(streams):
        expected = learn_by_hand(PSDRegressor(2, solver="online", random_state=0), batches)
        model = PSDRegressor(2, solver="online", random_state=0, checkpoint=tmp_path)
        model.fit_stream(iter(batches) if once else batches)
        np.testing.assert_array_equal(model.factor_, expected.factor_)
        assert len(list(tmp_path.iterdir())) == 1 - number
    with pytest.raises(ValueError, match="batches is empty"):
        model.fit_stream([])


def test_a_stream_that_ends_before_its_checkpoint_is_refused_and_nothing_is_lost(data, tmp_path):
    X, y = data
    path, model = tmp_path / "state", PSDRegressor(2, solver="online", random_state=0)
    model.set_params(checkpoint=str(path), checkpoint_every=0.0)

    def broken():
        yield from batches_of(X, y)[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(broken())
    factor = model.factor_
    with pytest.raises(ValueError, match="ended after 2 batches, but its checkpoint has learned from 3"):
        model.fit_stream(batches_of(X, y)[:2])
    assert path.exists()
    np.testing.assert_array_equal(model.factor_, factor)


def test_data_frames_of_another_stream_are_refused(data, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame, y = pandas.DataFrame(data[0]), data[1]
    model = PSDRegressor(2, solver="online", random_state=0, checkpoint=str(tmp_path / "s"), checkpoint_every=0.0)

    def broken(rows):
        yield frame.iloc[rows[:200]], y[rows[:200]]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(broken(np.arange(1000)))
    with pytest.raises(ValueError, match="batches"):
        model.fit_stream(broken(np.arange(1000)[::-1]))


def test_settings_of_scikit_learn_stay(data):
    model = MetricLearner(2, random_state=0).set_output(transform="pandas")
    model.fit_stream(batches_of(data[0], labels_of(data[0])))
    assert hasattr(model.transform(data[0]), "columns")


def test_batches_whose_number_is_unknown(data):
    class Unknown:
        def __iter__(self):
            return iter(batches_of(*data))

        def __len__(self):
            raise TypeError("no length")

    PSDRegressor(2, solver="online", random_state=0).fit_stream(Unknown(), progress=True)


def test_samples_that_a_stream_kept_to_its_end_are_told(rng):
    X, y = rng.standard_normal((120, 3)), np.repeat([0, 1, 2], 40)
    batches = [(X[i : i + 20], y[i : i + 20]) for i in range(0, 120, 20)]
    model = MetricLearner(2, random_state=0)
    with pytest.warns(UserWarning, match=r"^the last 20 samples of the stream were kept, not learned from: they are"):
        model.fit_stream(batches)
    assert len(model.kept_.y) == 20
    with pytest.warns(UserWarning, match="not learned from, so that the estimator is not fitted"):
        MetricLearner(2, random_state=0).fit_stream(batches[:2])


@pytest.mark.parametrize("place", [None, "file", ""], ids=["none", "file", "folder"])
def test_the_first_batch_is_dropped_after_it_was_learned_from(place, data, tmp_path):
    checkpoint = None if place is None else str(tmp_path / place)
    model, first = PSDRegressor(2, solver="online", random_state=0, checkpoint=checkpoint), []

    def batches():
        for X, y in batches_of(*data):
            X = X.copy()
            if not first:
                first.append(weakref.ref(X))
            yield X, y
            del X
            dropped.append(first[0]() is None)

    dropped: list[bool] = []
    model.fit_stream(batches())
    assert dropped[-1]
