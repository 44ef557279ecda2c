"""Models come back from files as they were, to the last bit, and do what they did."""

import dataclasses
import io
import json
import re
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian.files.consistency import walk
from gramian.files.storage import to_bytes

from file_models import MODELS, PAIRS, SPARSE, TARGET, TRIPLETS, X, Y, fitted

each_model = pytest.mark.parametrize("name", MODELS)


def differences(own, other, where="model"):
    """The places where two objects differ in type, shape, order of entries or bits."""
    if type(own) is not type(other):
        return [f"{where}: {type(own)} and {type(other)}"]
    if isinstance(own, np.ndarray) and own.dtype != object:
        layouts = [(array.dtype, array.shape, array.ndim > 1 and array.flags.f_contiguous) for array in (own, other)]
        return [] if layouts[0] == layouts[1] and own.tobytes() == other.tobytes() else [where]
    if isinstance(own, np.ndarray):
        return differences(own.tolist(), other.tolist(), where)
    if scipy.sparse.issparse(own):
        return differences([own.data, own.indices, own.indptr], [other.data, other.indices, other.indptr], where)
    if isinstance(own, dict):
        lost = [] if list(own) == list(other) else [f"{where}: keys {list(own)} and {list(other)}"]
        return lost + [
            item for key in own.keys() & other.keys() for item in differences(own[key], other[key], f"{where}[{key!r}]")
        ]
    if isinstance(own, list | tuple):
        lost = [] if len(own) == len(other) else [f"{where}: {len(own)} and {len(other)} items"]
        return lost + [
            item
            for i, (a, b) in enumerate(zip(own, other, strict=False))
            for item in differences(a, b, f"{where}[{i}]")
        ]
    if isinstance(own, np.random.Generator):
        return differences(own.bit_generator.state, other.bit_generator.state, where)
    if isinstance(own, np.random.RandomState):
        return differences(own.get_state(legacy=False), other.get_state(legacy=False), where)
    if isinstance(own, BaseEstimator) or dataclasses.is_dataclass(own):
        return differences(vars(own), vars(other), where)
    if not isinstance(own, type) and hasattr(own, "__getstate__") and own.__getstate__() is not None:
        return differences(own.__getstate__(), other.__getstate__(), where)
    same = own == other or (own != own and other != other)
    return [] if same else [f"{where}: {own} and {other}"]


def results(model):
    """What the methods of a model return, or the error of one that is not for this state."""
    given = np.column_stack([Y % 2, X]) if getattr(model, "n_features_in_", 4) == 5 else X
    given = PAIRS if getattr(model, "preprocessor", None) is not None else given
    for method in ("predict", "transform", "decision_function", "predict_proba", "get_feature_names_out"):
        if hasattr(model, method):
            try:
                yield method, getattr(model, method)(*(() if method == "get_feature_names_out" else (given,)))
            except Exception as error:
                yield method, str(error)


def round_trip(model, folder):
    gramian.save(model, folder / "model.gramian")
    return gramian.load(folder / "model.gramian")


@each_model
def test_a_model_comes_back_to_the_last_bit(name, tmp_path):
    model = fitted(name)
    loaded = round_trip(model, tmp_path)
    assert loaded is not model
    assert differences(model, loaded) == []
    # The repr of a random state is its address.
    assert re.sub("0x[0-9A-F]+", "", repr(loaded)) == re.sub("0x[0-9A-F]+", "", repr(model))


@each_model
@pytest.mark.filterwarnings("ignore")
def test_a_loaded_model_does_the_same(name, tmp_path):
    model = fitted(name)
    loaded = round_trip(model, tmp_path)
    own, other = dict(results(model)), dict(results(loaded))
    assert own.keys() == other.keys()
    assert differences(own, other) == []


def test_differences_are_seen():
    model = fitted("metric, labels")
    assert differences(model, clone(model))
    changed = clone(model)
    vars(changed).update(vars(model), components_=np.nextafter(model.components_, np.inf))
    assert differences(model, changed) == ["model['components_']"]


def test_streams_go_on_as_if_they_had_not_been_saved(tmp_path):
    for name, arguments in (
        ("regressor, stream", (X, TARGET)),
        ("subspace, stream", (X,)),
        ("metric, kept samples", (X, Y)),
    ):
        model = fitted(name)
        ours, theirs = round_trip(model, tmp_path), round_trip(model, tmp_path)
        ours.partial_fit(*arguments)
        theirs.partial_fit(*arguments)
        again = round_trip(model, tmp_path)
        assert differences(vars(again), vars(model)) == []
        timeless = [{key: value for key, value in vars(part).items() if key not in TIMED} for part in (ours, theirs)]
        assert differences(*timeless) == []


TIMED = ("timings_", "history_")


def test_settings_of_several_kinds_come_back(tmp_path):
    model = gramian.MetricLearner(2, random_state=np.random.Generator(np.random.Philox(3)), n_jobs=2)
    loaded = round_trip(model, tmp_path)
    assert loaded.random_state.random() == np.random.Generator(np.random.Philox(3)).random()
    assert loaded.n_jobs == 2


def test_places_in_the_file_system_are_not_stored(tmp_path):
    learner = gramian.MetricLearner(2, checkpoint=tmp_path / "fit", checkpoint_every=5.0)
    model = make_pipeline(StandardScaler(), learner, memory=str(tmp_path / "cache"))
    loaded = round_trip(model, tmp_path)
    assert loaded.memory is None
    assert loaded[-1].checkpoint is None
    assert loaded[-1].checkpoint_every == 5.0
    assert round_trip(gramian.SubspaceTracker(2, memory=50.0), tmp_path).memory == 50.0


def test_numbers_of_numpy_come_back_with_their_types(tmp_path):
    numbers = [np.int8(-5), np.uint64(2**64 - 1), np.float32(0.1), np.float64(0.1), np.float16(1e-7), np.bool_(True)]
    numbers += [np.float64("nan"), np.float32("inf"), np.float64(-0.0), np.str_("é"), np.float64(5e-324)]
    model = gramian.MetricLearner(2, init={"numbers": numbers, 1: np.int64(2), 2.5: {False: 0}, None: True})
    assert differences(model, round_trip(model, tmp_path)) == []


def test_memory_mapped_samples_are_stored(tmp_path):
    mapped = np.memmap(tmp_path / "X", np.float64, "w+", shape=X.shape)
    mapped[:] = X
    model = KNeighborsClassifier(algorithm="brute").fit(mapped, Y)
    assert np.array_equal(round_trip(model, tmp_path).predict(X), model.predict(X))


def test_another_version_of_scikit_learn_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn.base.__version__", "1.0")
    gramian.save(fitted("pipeline"), tmp_path / "model")
    monkeypatch.undo()
    with pytest.warns(InconsistentVersionWarning, match="from version 1.0"):
        loaded = gramian.load(tmp_path / "model")
    assert np.array_equal(loaded.transform(X), fitted("pipeline").transform(X))


def test_without_the_short_way_through_skops_files_are_the_same(monkeypatch):
    content = to_bytes(fitted("pipeline, neighbours"))
    monkeypatch.setitem(sys.modules, "skops.io._utils", None)
    assert to_bytes(fitted("pipeline, neighbours")) == content


def test_models_of_scikit_learn_around_ours(tmp_path):
    texts = np.array(["a cat sat", "a dog ran", "cats sit", "dogs run"] * 5)
    kinds = np.arange(20) % 2
    search = GridSearchCV(
        make_pipeline(gramian.MetricLearner(2, constraints="triplets", random_state=0), KNeighborsClassifier()),
        {"kneighborsclassifier__n_neighbors": [1, 3]},
        cv=2,
    ).fit(X, Y)
    words = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, kinds)
    for model, given in ((search, X), (words, texts)):
        loaded = round_trip(model, tmp_path)
        assert np.array_equal(loaded.predict_proba(given), model.predict_proba(given))
        assert differences(model, loaded) == []


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_nearest_neighbours_come_back_with_their_trees(algorithm, tmp_path):
    model = KNeighborsRegressor(algorithm=algorithm, leaf_size=3, p=1).fit(X, TARGET)
    assert np.array_equal(round_trip(model, tmp_path).predict(X + 0.1), model.predict(X + 0.1))


def test_tables_by_skrub(tmp_path):
    pd, skrub = pytest.importorskip("pandas"), pytest.importorskip("skrub")
    days = pd.date_range("2020-01-01", periods=40).astype(str)
    table = pd.DataFrame({"size": X[:, 0], "colour": ["red", "blue"] * 20, "day": days, "note": [f"no {i}" for i in Y]})
    steps = skrub.TableVectorizer(), StandardScaler(), gramian.MetricLearner(2, constraints="triplets", random_state=0)
    model = make_pipeline(*steps).fit(table, Y)
    assert np.array_equal(round_trip(model, tmp_path).transform(table), model.transform(table))


def test_sparse_arrays_come_back(tmp_path):
    model = gramian.KernelLearner(2, random_state=0).fit(scipy.sparse.csr_array(SPARSE), Y)
    assert np.array_equal(round_trip(model, tmp_path).transform(SPARSE), model.transform(SPARSE))


def test_equal_models_give_equal_files():
    models = [gramian.MetricLearner(2, solver="gd", random_state=0).fit_triplets(X, TRIPLETS) for _ in range(2)]
    for model in models:
        vars(model).update({name: vars(models[0])[name] for name in TIMED})
    first, second = (to_bytes(model) for model in models)
    assert first == second


def test_a_file_that_is_loaded_and_saved_again_is_the_same(tmp_path):
    for name in ("pipeline, neighbours", "metric cv", "regressor, online"):
        content = to_bytes(fitted(name))
        (tmp_path / "model").write_bytes(content)
        assert to_bytes(gramian.load(tmp_path / "model")) == content


def test_the_header_says_what_is_stored(tmp_path):
    gramian.save(fitted("pipeline"), tmp_path / "model")
    header = gramian.files.read_header(tmp_path / "model")
    assert header.class_name == "sklearn.pipeline.Pipeline"
    assert header.steps[1] == "gramian.estimators.metric.MetricLearner"
    assert (header.n_features, header.rank, header.format_version) == (4, 2, 1)
    assert header.versions["gramian"] == gramian.__version__
    assert header.versions["numpy"] == np.__version__
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert archive.namelist()[0] == "gramian.json"
        assert json.loads(archive.read("gramian.json"))["rank"] == 2


def test_a_file_has_no_pickle_and_no_compression():
    content = to_bytes(fitted("kernel, sparse"))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        assert {info.filename.rpartition(".")[2] for info in infos} == {"json", "npy", "npz"}
        assert all(info.compress_type == zipfile.ZIP_STORED for info in infos)


def test_walk_finds_what_an_estimator_is_made_of():
    parts = walk(fitted("pipeline, neighbours"))
    assert {"Pipeline", "MetricLearner", "KNeighborsClassifier", "KDTree"} <= {type(part).__name__ for part in parts}
