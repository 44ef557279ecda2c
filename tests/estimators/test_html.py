"""Notebooks show scikit-learn's diagram and, after a fit, a table of what was learned, with all texts escaped."""

import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import gramian
from gramian import baselines
from gramian.estimators._html import summarise

X, Y = load_iris(return_X_y=True)
ALL = [
    *(gramian.PSDRegressor, gramian.MetricLearner, gramian.MetricLearnerCV, gramian.KernelLearner, gramian.SStressMDS),
    *(gramian.SubspaceTracker, *(getattr(baselines, name) for name in baselines.__all__)),
]


@pytest.fixture(scope="module")
def learner():
    return gramian.MetricLearner(2, random_state=0).fit(X, Y)


def cells(html):
    """The rows of the table, by name."""
    table = html[html.rindex("<table") :]
    return dict(re.findall(r"<tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td></tr>", table))


def without_ids(html):
    """HTML without the numbers that scikit-learn gives to each diagram."""
    return re.sub(r"sk-(container|estimator)-id-\d+", "", html)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_before_a_fit_there_is_the_diagram_alone(kind):
    model = kind()
    assert summarise(model) == {}
    assert without_ids(model._repr_html_()) == without_ids(estimator_html_repr(model))


def test_a_fit_adds_what_was_learned(learner):
    html = learner._repr_html_()
    rows = cells(html)
    assert without_ids(estimator_html_repr(learner)) in without_ids(html)
    assert rows["rank"] == "2"
    assert rows["features"] == "4"
    assert rows["ending"] == learner.message_
    assert rows["iterations"] == str(learner.n_iter_)
    assert rows["cost"] == f"{learner.history_['cost'][-1]:.4g}"
    assert rows["seconds"] == f"{learner.history_['time'][-1]:.4g}"
    assert rows["plan"].startswith(learner.choice_.plan)
    assert f"start {learner.choice_.errors['start']:.1%}" in rows["plan"]


@pytest.mark.parametrize(
    ("model", "n", "rank"),
    [
        (gramian.PSDRegressor(2, random_state=0), 150, "2"),
        (gramian.KernelLearner(3, random_state=0), 60, "3"),
        (gramian.SubspaceTracker(2, random_state=0), 150, "2"),
        (gramian.SStressMDS(2, metric="euclidean", random_state=0), 30, "2"),
        (baselines.LMNN(2, random_state=0), 60, "2"),
        (baselines.KernelSpectralRegression(2), 60, "2"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_estimator_says_its_rank_and_its_ending(model, n, rank):
    y = np.sum(X[:, :2] ** 2, axis=1) if isinstance(model, gramian.PSDRegressor) else Y
    rows = summarise(clone(model).fit(X[:n], y[:n]))
    assert rows["rank"] == rank
    assert rows["features"] == "4"
    assert rows["ending"]


def test_a_search_says_what_it_chose():
    model = gramian.MetricLearnerCV(ranks=[1, 2], cv=2, random_state=0).fit(X, Y)
    rows = cells(model._repr_html_())
    assert rows["chosen"].startswith(f"n_components={model.n_components_}, regularisation=&#x27;auto&#x27;")
    assert rows["chosen"].endswith(f"mean score {model.best_score_:.4g}")


def test_texts_are_escaped_and_cut(learner):
    model = gramian.MetricLearner(2)
    vars(model).update(vars(learner), init="<script>alert(1)</script>")
    model.message_ = "<script>alert('x')</script>" + "y" * 1000
    model.choice_ = model.choice_._replace(plan="<b>&\"'")
    html = model._repr_html_()
    assert "<script>alert(" not in html
    assert "<b>&" not in html
    rows = cells(html)
    assert rows["ending"].startswith("&lt;script&gt;alert(&#x27;x&#x27;)")
    assert len(rows["ending"]) < 300
    assert rows["plan"].startswith("&lt;b&gt;&amp;&quot;&#x27;")


def test_jupyter_gets_the_same(learner):
    bundle = learner._repr_mimebundle_()
    assert bundle["text/plain"] == repr(learner)
    assert without_ids(bundle["text/html"]) == without_ids(learner._repr_html_())
    with config_context(display="text"):
        assert learner._repr_mimebundle_() == {"text/plain": repr(learner)}
        assert not hasattr(learner, "_repr_html_")


def test_pipelines_keep_their_diagram():
    model = make_pipeline(StandardScaler(), gramian.MetricLearner(2, random_state=0)).fit(X, Y)
    assert "MetricLearner" in model._repr_html_()


def test_a_history_that_was_removed_is_left_out(learner):
    model = gramian.MetricLearner(2)
    vars(model).update({name: value for name, value in vars(learner).items() if name != "history_"})
    rows = summarise(model)
    assert "cost" not in rows
    assert rows["rank"] == "2"
