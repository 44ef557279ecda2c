"""Maps as plain arrays give what the models give."""

import json

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

import gramian
from gramian import MetricLearner

from file_models import X, Y, fitted


def learner():
    return MetricLearner(2, constraints="triplets", random_state=0)


def read(path):
    return load_file(path) if path.suffix == ".safetensors" else dict(np.load(path, allow_pickle=False))


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("name", ["metric, labels", "metric cv", "itml", "lmnn", "subspace"])
def test_the_map_of_an_estimator(name, suffix, tmp_path):
    model, path = fitted(name), tmp_path / f"map{suffix}"
    gramian.export_map(model, path)
    arrays = read(path)
    Z = model.transform(X)
    np.testing.assert_allclose(X @ arrays["weight"].T + arrays["bias"], Z, rtol=1e-10, atol=1e-12 * np.abs(Z).max())
    assert np.array_equal(arrays["components"], model.components_)
    assert "mean" not in arrays


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [RobustScaler(), SelectKBest(k=3)],
        [MinMaxScaler()],
        [MaxAbsScaler(), "passthrough"],
        [StandardScaler(), PCA(3, whiten=True)],
        [TruncatedSVD(3)],
        [gramian.SubspaceTracker(3, random_state=0)],
        [make_pipeline(SimpleImputer(), StandardScaler()), "passthrough"],
    ],
    ids=str,
)
def test_the_map_of_a_pipeline(steps, tmp_path):
    model = make_pipeline(*steps, learner(), KNeighborsClassifier()).fit(X, Y)
    gramian.export_map(model, tmp_path / "map.npz")
    arrays = read(tmp_path / "map.npz")
    Z = model[:-1].transform(X)
    np.testing.assert_allclose(X @ arrays["weight"].T + arrays["bias"], Z, rtol=1e-9, atol=1e-9 * np.abs(Z).max())
    if isinstance(steps[0], StandardScaler) and len(steps) == 1:
        scaled = (X - arrays["mean"]) / arrays["scale"]
        assert np.array_equal(scaled @ arrays["components"].T, Z)
    else:
        assert "mean" not in arrays


def test_names_of_features_and_metadata(tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "ç", "d"])
    model = make_pipeline(StandardScaler(), learner()).fit(table, Y)
    gramian.export_map(model, tmp_path / "map.npz")
    gramian.export_map(model, tmp_path / "map.safetensors")
    arrays = read(tmp_path / "map.npz")
    assert arrays["feature_names"].tolist() == ["a", "b", "ç", "d"]
    metadata = json.loads(str(arrays["metadata"]))
    assert (metadata["n_features"], metadata["rank"]) == (4, 2)
    assert metadata["class"] == "gramian.estimators.metric.MetricLearner"
    with safe_open(tmp_path / "map.safetensors", "numpy") as stored:
        assert json.loads(stored.metadata()["feature_names"]) == ["a", "b", "ç", "d"]
        assert json.loads(stored.metadata()["gramian"]) == metadata


def test_the_factor_of_a_regression(tmp_path):
    model = fitted("regressor")
    gramian.export_map(model, tmp_path / "map.npz")
    Z = X @ read(tmp_path / "map.npz")["weight"].T
    np.testing.assert_allclose(np.sum(Z**2, axis=1), model.predict(X), rtol=1e-10)


def test_features_without_values_have_no_weight(tmp_path):
    wide = np.column_stack([X, np.full(len(X), np.nan)])
    with pytest.warns(UserWarning, match="Skipping features without any observed values"):
        model = make_pipeline(SimpleImputer(), learner()).fit(wide, Y)
    gramian.export_map(model, tmp_path / "map.npz")
    weight = read(tmp_path / "map.npz")["weight"]
    assert weight.shape == (2, 5)
    assert np.array_equal(weight[:, 4], np.zeros(2))
    np.testing.assert_allclose(X @ weight[:, :4].T, model[-1].transform(X))


def test_a_search_stands_for_its_best_estimator(tmp_path):
    pipeline = make_pipeline(StandardScaler(), learner(), KNeighborsClassifier())
    search = GridSearchCV(pipeline, {"metriclearner__n_components": [1, 2]}, cv=2)
    with pytest.raises(TypeError, match="or a search that was fitted"):
        gramian.export_map(search, tmp_path / "map.npz")
    gramian.export_map(search.fit(X, Y), tmp_path / "map.npz")
    arrays = read(tmp_path / "map.npz")
    np.testing.assert_allclose(
        X @ arrays["weight"].T + arrays["bias"], search.best_estimator_[:-1].transform(X), atol=1e-12
    )


def test_float32_stays(tmp_path):
    model = learner().fit(X.astype(np.float32), Y)
    gramian.export_map(model, tmp_path / "map.npz")
    assert read(tmp_path / "map.npz")["weight"].dtype == np.float32


def test_what_has_no_linear_map_is_refused(tmp_path):
    for name in ("kernel", "mds"):
        with pytest.raises(TypeError, match="no linear map of features"):
            gramian.export_map(fitted(name), tmp_path / "map.npz")
    with pytest.raises(TypeError, match="PolynomialFeatures before the learner is not known to be linear"):
        gramian.export_map(make_pipeline(PolynomialFeatures(), learner()).fit(X, Y), tmp_path / "map.npz")
    with pytest.raises(TypeError, match="has no estimator of gramian"):
        gramian.export_map(StandardScaler().fit(X), tmp_path / "map.npz")
    with pytest.raises(ValueError, match=r"choose a name that ends in \.npz or \.safetensors"):
        gramian.export_map(fitted("metric, labels"), tmp_path / "map.txt")
    with pytest.raises(ValueError, match="not fitted"):
        gramian.export_map(learner(), tmp_path / "map.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_the_threshold_of_a_model_of_pairs_is_in_the_file(suffix, tmp_path):
    pairs = np.array([[i, j] for i in range(0, 30, 2) for j in range(1, 30, 7) if i != j])
    signs = np.where(Y[pairs[:, 0]] == Y[pairs[:, 1]], 1, -1)
    model = MetricLearner(2, max_iter=20, random_state=0).fit_pairs(X, pairs, signs)
    path = tmp_path / f"pairs{suffix}"
    gramian.export_map(make_pipeline("passthrough", model), path)
    arrays = read(path)
    assert arrays["threshold"] == model.threshold_
    Z = X @ arrays["weight"].T + arrays["bias"]
    near = np.linalg.norm(Z[pairs[:, 0]] - Z[pairs[:, 1]], axis=1) <= arrays["threshold"]
    np.testing.assert_array_equal(np.where(near, 1, -1), model.predict(X[pairs]))
    assert "threshold" in use_of_file(path)


def use_of_file(path):
    if path.suffix == ".npz":
        return json.loads(str(np.load(path)["metadata"]))["use"]
    with safe_open(path, "numpy") as stored:
        return json.loads(stored.metadata()["gramian"])["use"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("metric, labels", "the learned distance is that of z, Euclidean"),
        ("subspace", "coordinates of x in the tracked subspace"),
    ],
)
def test_the_metadata_say_what_the_map_is_for(name, said, tmp_path):
    for suffix in (".npz", ".safetensors"):
        gramian.export_map(fitted(name), tmp_path / f"map{suffix}")
        assert said in use_of_file(tmp_path / f"map{suffix}")
        assert "threshold" not in read(tmp_path / f"map{suffix}")


def test_the_map_of_a_regressor_is_for_predictions(tmp_path):
    model = gramian.PSDRegressor(2, random_state=0, max_iter=50).fit(X, np.sum(X[:, :2] ** 2, axis=1))
    gramian.export_map(model, tmp_path / "map.npz")
    arrays = read(tmp_path / "map.npz")
    Z = X @ arrays["weight"].T + arrays["bias"]
    np.testing.assert_allclose(np.sum(Z**2, axis=1), model.predict(X))
    use = use_of_file(tmp_path / "map.npz")
    assert "squared norm of z" in use
    assert "distance" not in use


def test_a_step_that_changes_the_images_is_refused(tmp_path):
    pipeline = make_pipeline(MetricLearner(2, random_state=0), StandardScaler()).fit(X, Y)
    with pytest.raises(ValueError, match=r"^StandardScaler after MetricLearner changes the images"):
        gramian.export_map(pipeline, tmp_path / "map.npz")
    gramian.export_map(pipeline[:-1], tmp_path / "map.npz")
    gramian.export_map(make_pipeline(pipeline[0], NearestNeighbors()).fit(X, Y), tmp_path / "map.npz")
