"""The content of reports: what is shown is what scikit-learn computes, and nothing from users becomes HTML."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, MetricLearnerCV, PSDRegressor, write_report
from gramian.report.content import turn_axes

NASTY = "</script><script>alert(1)</script>&<!--$title"


def read_content(path):
    """Return the content of a page, read as a browser reads it."""
    page = path.read_text(encoding="utf-8")
    (text,) = re.findall(r'<script id="content" type="application/json">(.*?)</script>', page, re.S)
    return json.loads(text)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X, y.map({0: "Barolo", 1: NASTY, 2: "Barbera"})


@pytest.fixture(scope="module")
def model(wine):
    return make_pipeline(StandardScaler(), MetricLearner(2, constraints="triplets", random_state=0)).fit(*wine)


@pytest.fixture(scope="module")
def page(wine, model, tmp_path_factory):
    return write_report(model, *wine, tmp_path_factory.mktemp("report") / "wine.html", title=NASTY)


def leave_one_out_votes(Z, y):
    return cross_val_predict(KNeighborsClassifier(1), Z, y, cv=LeaveOneOut())


def test_errors_and_neighbours_are_those_of_scikit_learn(page, wine, model):
    content, (X, y) = read_content(page), wine
    classes = np.array(content["classes"])
    assert list(classes[content["labels"]]) == list(y)
    prepared = StandardScaler().fit_transform(X)
    for side, Z in (("before", prepared), ("after", model.transform(X))):
        nearest = np.array(content["neighbours"][side])[:, 0]
        assert list(classes[np.array(content["labels"])[nearest]]) == list(leave_one_out_votes(Z, y))
        judged = content["judged"][side]
        assert np.mean(classes[judged["votes"]] != y) == judged["error"]
        assert np.sum(judged["confusion"]) == len(y)
        assert np.trace(judged["confusion"]) == len(y) - round(len(y) * judged["error"])
    plain = cross_val_predict(KNeighborsClassifier(5), PCA(2).fit_transform(prepared), y, cv=LeaveOneOut())
    assert abs(np.mean(plain != y) - content["judged"]["components"]) < 0.02


def test_the_map_keeps_learned_distances(page, wine, model):
    Z, shown = model.transform(wine[0]), np.array(read_content(page)["map"]["after"])
    assert shown.shape == (2, len(Z))
    np.testing.assert_allclose(
        np.linalg.norm(shown.T[1:] - shown.T[:-1], axis=1), np.linalg.norm(Z[1:] - Z[:-1], axis=1), rtol=1e-2
    )


def test_features_choice_and_convergence_are_those_of_the_learner(page, wine, model):
    content, learner = read_content(page), model[-1]
    assert set(content["features"]["names"]) == set(wine[0].columns)
    assert sum(content["features"]["shares"]) == pytest.approx(1, abs=1e-3)
    assert content["rows"]["names"][0] == content["features"]["names"][0]
    row = content["rows"]["numbers"].index(7)
    assert float(content["rows"]["cells"][row][0]) == wine[0].iloc[7][content["rows"]["names"][0]]
    np.testing.assert_allclose(content["convergence"]["cost"], learner.history_["cost"], rtol=1e-4)
    np.testing.assert_allclose(content["spectrum"], learner.spectrum_, rtol=1e-4)
    assert content["message"] == learner.message_
    assert content["choice"] is None


def test_nothing_from_users_becomes_html(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert "alert(1)</script>" not in text
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text
    assert read_content(page)["title"] == NASTY
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text)
    assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/2000/svg", "", text)


def test_held_out_samples_are_judged_by_their_neighbours_among_the_others(wine, model, tmp_path):
    (X, y), held = wine, np.arange(len(wine[1])) % 3 == 0
    path = write_report(model, X[~held], y[~held], tmp_path / "r.html", X_test=X[held], y_test=y[held])
    content = read_content(path)
    votes = KNeighborsClassifier(1).fit(model.transform(X[~held]), y[~held]).predict(model.transform(X[held]))
    names = np.array(content["classes"])[content["labels"]]
    assert list(names[np.array(content["neighbours"]["after"])[:, 0]]) == list(votes)
    assert content["held_out"]
    assert len(content["map"]["after"][0]) == held.sum() == content["n_asked"]


def test_choices_of_rank_and_plan_are_shown(wine, tmp_path):
    X, y = StandardScaler().fit_transform(wine[0]), wine[1]
    learner = MetricLearnerCV([1, 2], cv=2, random_state=0).fit(X, y)
    content = read_content(write_report(learner, X, y, tmp_path / "r.html"))
    assert content["ranks"]["ranks"] == [1, 2]
    assert content["choice"]["errors"] == learner.choice_.errors
    assert content["features"]["names"][0].startswith("x")


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["array", "sparse"])
def test_arrays_sparse_matrices_one_component_and_no_labels(kind, rng, tmp_path):
    X, y = rng.standard_normal((40, 5)), np.arange(40) % 2
    learner = MetricLearner(1, constraints="triplets", random_state=0).fit(kind(X), y)
    content = read_content(write_report(learner, kind(X), path=tmp_path / "r.html"))
    assert content["judged"] is None
    assert content["labels"] is None
    assert len(content["map"]["after"]) == 2


def test_of_many_samples_a_part_is_shown(rng, tmp_path):
    X, y = rng.standard_normal((3000, 3)), np.arange(3000) % 2
    learner = MetricLearner(2, constraints="start", random_state=0).fit(X, y)
    content = read_content(write_report(learner, X, y, tmp_path / "r.html"))
    assert (content["n_samples"], content["n_known"]) == (3000, 2000)
    assert len(content["rows"]["cells"]) == 2000


def test_tables_with_texts_dates_and_missing_values_are_shown(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None] * 10, "b": ["x" * 99] * 20, "c": pd.to_datetime(["2020-01-02", None] * 10)})
    learner = MetricLearner(1, constraints="start").fit(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
    first = make_pipeline(_TwoColumns(), learner)
    cells = read_content(write_report(first, frame, path=tmp_path / "r.html"))["rows"]["cells"]
    assert cells[0] == ["1.5", "x" * 39 + "…", "2020-01-02 00:00:00"]
    assert cells[1][0] == cells[1][2] == "missing"


class _TwoColumns(StandardScaler):
    def transform(self, X):
        return np.arange(2.0 * len(X)).reshape(len(X), 2)

    def __sklearn_is_fitted__(self):
        return True


def test_mistakes_are_named(wine, model, tmp_path):
    X, y = wine
    path = tmp_path / "r.html"
    with pytest.raises(ValueError, match="model is a PSDRegressor, of which there is no report"):
        write_report(PSDRegressor(), X, y, path)
    with pytest.raises(NotFittedError):
        write_report(MetricLearner(), X, y, path)
    with pytest.raises(ValueError, match=r"the labels of X have shape \(3,\); expected \(178,\)"):
        write_report(model, X, y[:3], path)
    with pytest.raises(ValueError, match="y_test is given without X_test"):
        write_report(model, X, y, path, y_test=y)
    with pytest.raises(ValueError, match="y and y_test go together"):
        write_report(model, X, y, path, X_test=X)
    with pytest.raises(ValueError, match=r"image_shape=\(2, 2\) does not fit 13 pixels"):
        write_report(model, X, y, path, image_shape=(2, 2))
    with pytest.raises(ValueError, match="at least two samples"):
        write_report(model, X[:1], y[:1], path)
    assert not path.exists()


def test_samples_and_labels_that_cannot_be_used_are_named(rng, tmp_path):
    X, y = rng.standard_normal((30, 4)), np.arange(30) % 2
    learner = MetricLearner(2, constraints="triplets", random_state=0).fit(X, y)
    bad = X.copy()
    bad[3, 1] = np.nan
    for arguments, message in (
        ((bad, y), "Input X contains NaN"),
        ((X[:, :3], y), "X has 3 features, but the model has learned from 4"),
        ((X, np.array([None, "a"], object)[y]), r"labels\[0\] = None is not a label"),
    ):
        with pytest.raises(ValueError, match=message):
            write_report(learner, *arguments, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("X", [np.eye(2)[[0, 0, 1, 1]] * [1.0, 0.0], np.eye(4)[[0, 1, 0, 1]] * [1.0, 0, 1, 0]])
def test_axes_of_the_map_are_orthonormal_where_features_are_constant(X, rng):
    n, d = X.shape
    shown = rng.standard_normal((n, d))
    turned = turn_axes(X, np.arange(n) // 2 % 2, shown, d)
    centred = shown - X.mean(axis=0)
    np.testing.assert_allclose(turned.T @ turned, centred @ centred.T, atol=1e-12)
