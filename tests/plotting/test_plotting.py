"""Pictures show the numbers of the models, with labels, legends, and looks that differ without colour."""

import itertools
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import plotting
from gramian.plotting.fits import select_labelled_ranks
from gramian.plotting.style import COLOURS, look_of

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.colors import to_rgb


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y, gramian.MetricLearner(2, constraints="triplets", random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    learner = gramian.MetricLearner(3, constraints="triplets", random_state=0)
    return X, y, make_pipeline(StandardScaler(), learner).fit(X, y)


@pytest.fixture(scope="module")
def chosen():
    X, y = load_iris(return_X_y=True)
    return gramian.MetricLearnerCV(ranks=[1, 2, 3], cv=3, random_state=0).fit(X, y)


def texts_of(legend):
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(
    ("against", "label"), [("iteration", "iteration"), ("time", "seconds"), ("passes", "passes over the data")]
)
def test_convergence_shows_the_history(wine, against, label):
    learner = wine[2][-1]
    ax = plotting.plot_convergence(wine[2], against=against)
    x, y = ax.lines[0].get_data()
    assert np.array_equal(x, learner.history_[against])
    assert np.array_equal(y, learner.history_["cost"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == (label, "cost")
    assert ax.get_title() == learner.message_
    assert texts_of(ax.get_legend()) == ["MetricLearner"]


def test_convergence_of_several_fits_differs_by_more_than_colour(iris):
    ax = plotting.plot_convergence(iris[2], label="one")
    assert plotting.plot_convergence(iris[2], label="two", quantity="cost", ax=ax) is ax
    first, second = ax.lines
    assert first.get_linestyle() != second.get_linestyle()
    assert first.get_marker() != second.get_marker()
    assert texts_of(ax.get_legend()) == ["one", "two"]
    assert ax.get_title() == ""


def test_a_cost_that_falls_far_is_drawn_on_a_logarithmic_scale():
    X = np.random.default_rng(0).standard_normal((60, 4))
    model = gramian.PSDRegressor(2, random_state=0).fit(X, np.sum(X[:, :2] ** 2, axis=1))
    assert plotting.plot_convergence(model).get_yscale() == "log"
    assert plotting.plot_convergence(model, quantity="gradient_norm").get_ylabel() == "norm of the gradient"


def test_embedding_shows_every_class_once(iris):
    X, y, model = iris
    Z, names = model.transform(X), np.array(["a", "b", "c"])[y]
    ax = plotting.plot_embedding(Z, names)
    assert texts_of(ax.get_legend()) == ["a", "b", "c"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 1", "component 2")
    for name, points in zip("abc", ax.collections, strict=True):
        assert np.array_equal(points.get_offsets(), Z[names == name])
    shapes = {points.get_paths()[0].vertices.tobytes() for points in ax.collections}
    colours = {tuple(points.get_facecolor()[0][:3]) for points in ax.collections}
    assert len(shapes) == len(colours) == 3


def test_names_are_shown_as_they_are(iris):
    X, _, model = iris
    labels = np.array(["_hidden", r"$\frac", None] * 50, dtype=object)
    ax = plotting.plot_embedding(model.transform(X), labels)
    ax.figure.canvas.draw()
    assert [text.strip("\u200b") for text in texts_of(ax.get_legend())] == [r"\$\frac", "None", "_hidden"]
    ax = plotting.plot_features(model, names=[r"$\frac{1}", "$", "_a", "b"])
    ax.figure.canvas.draw()
    assert plotting.plot_convergence(model, label=r"$\alpha").get_legend() is not None


def test_embeddings_of_one_column_of_numbers_and_without_labels(iris):
    X, y, model = iris
    Z = model.transform(X)
    ax = plotting.plot_embedding(Z[:, :1], y)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "1", "2"]
    assert np.array_equal(ax.collections[2].get_offsets()[:, 1], np.full(50, 2.0))
    ax = plotting.plot_embedding(Z, X.iloc[:, 0])
    assert np.array_equal(ax.collections[0].get_array(), X.iloc[:, 0])
    assert len(ax.figure.axes) == 2
    ax = plotting.plot_embedding(Z)
    assert ax.get_legend() is None
    assert np.array_equal(ax.collections[0].get_offsets(), Z)


def test_spectrum_shows_the_eigenvalues(wine):
    learner = wine[2][-1]
    ax = plotting.plot_spectrum(wine[2])
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, learner.spectrum_)
    shares = np.cumsum(learner.spectrum_) / learner.spectrum_.sum()
    assert [text.get_text() for text in ax.texts] == [f"{share:.0%}" for share in shares]
    assert ax.get_ylabel() == "eigenvalue of W"


def test_spectrum_of_an_embedding():
    D = np.abs(np.subtract.outer(np.arange(10.0), np.arange(10.0)))
    model = gramian.SStressMDS(2, random_state=0).fit(D)
    heights = [bar.get_height() for bar in plotting.plot_spectrum(model).patches]
    np.testing.assert_allclose(heights, np.linalg.svd(model.embedding_, compute_uv=False) ** 2)


def test_the_ellipse_has_one_distance_from_its_centre(iris):
    X, y, model = iris
    ax = plotting.plot_ellipse(model, X, y, features=(2, 3), radius=1.5)
    curve = np.array(ax.lines[0].get_data()).T
    centre = X.iloc[:, [2, 3]].mean().to_numpy()
    distance = np.linalg.norm((curve - centre) @ model.components_[:, [2, 3]].T, axis=1)
    np.testing.assert_allclose(distance, 1.5)
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(X.columns[[2, 3]])
    assert texts_of(ax.get_legend()) == ["0", "1", "2", "learned distance", "Euclidean distance"]
    circle = np.array(ax.lines[1].get_data()).T - centre
    np.testing.assert_allclose(np.linalg.norm(circle, axis=1), np.linalg.norm(circle[0]))
    assert ax.lines[1].get_linestyle() == "--"


def test_at_rank_one_the_ellipse_is_two_lines():
    X, y = load_iris(return_X_y=True)
    model = gramian.MetricLearner(1, constraints="triplets", random_state=0).fit(X[:, :2], y)
    ax = plotting.plot_ellipse(model, center=[1.0, 2.0])
    for line in ax.lines[:2]:
        points = np.array(line.get_data()).T - [1.0, 2.0]
        np.testing.assert_allclose(np.abs(points @ model.components_.T), 1.0)
    assert texts_of(ax.get_legend()) == ["learned distance", "Euclidean distance"]


def test_the_rank_curve_shows_errors_with_their_spread(chosen):
    ax = plotting.plot_rank_curve(chosen)
    curve = chosen.curve_
    (line, _, (bars,)) = ax.containers[0]
    assert np.array_equal(line.get_xdata(), curve.ranks)
    np.testing.assert_allclose(line.get_ydata(), 1 - curve.mean)
    spread = [np.ptp(segment[:, 1]) for segment in bars.get_segments()]
    np.testing.assert_allclose(spread, 2 * curve.standard_error, atol=1e-12)
    mark = ax.lines[-1]
    assert mark.get_xdata()[0] == chosen.n_components_
    assert f"chosen: {chosen.n_components_}" in texts_of(ax.get_legend())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]


def models_of_chosen_rank():
    """Estimators that have tried several ranks."""
    rng = np.random.default_rng(0)
    X, P = rng.standard_normal((200, 5)), rng.standard_normal((25, 2))
    y = np.sum((X @ rng.standard_normal((5, 2))) ** 2, axis=1)
    D = np.linalg.norm(P[:, None] - P, axis=2)
    iris, labels = load_iris(return_X_y=True)
    yield gramian.PSDRegressor("auto", random_state=0).fit(X, y + rng.standard_normal(200))
    yield gramian.SStressMDS("auto", random_state=0).fit(D)
    yield gramian.KernelLearner("auto", random_state=0, max_iter=20).fit(iris[::5], labels[::5])


@pytest.mark.filterwarnings("ignore:not converged")
def test_the_rank_curve_of_trials_shows_costs_held_out_and_learned_from():
    for model in models_of_chosen_rank():
        ax = plotting.plot_rank_curve(model)
        held_out, learned, mark = ax.lines
        trials = model.rank_path_
        assert held_out.get_xdata().tolist() == [trial.rank for trial in trials]
        assert held_out.get_ydata().tolist() == [trial.held_out_cost for trial in trials]
        assert learned.get_ydata().tolist() == [trial.cost for trial in trials]
        assert mark.get_xdata()[0] == model.rank_
        assert texts_of(ax.get_legend()) == ["held out", "learned from", f"chosen: {model.rank_}"]
        ax.figure.canvas.draw()
        pyplot.close(ax.figure)


def test_labels_of_ranks_do_not_overlap():
    ranks = np.array([1, 2, 3, 5, 8, 12, 13])
    assert select_labelled_ranks(ranks, 13, logarithmic=True) == [1, 2, 3, 5, 8, 13]
    assert select_labelled_ranks(ranks, 12, logarithmic=True) == [1, 2, 3, 5, 8, 12]


def test_features_are_ordered_by_their_share(wine):
    X, _, model = wine
    weight = np.sum(model[-1].components_ ** 2, axis=0)
    order = np.argsort(-weight)[:4]
    ax = plotting.plot_features(model, most=4)
    assert [label.get_text() for label in ax.get_yticklabels()] == X.columns[order].tolist()
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], weight[order] / weight.sum())
    assert ax.get_title().startswith("4 of 13 features")
    assert ax.yaxis_inverted()


def test_features_are_scaled_by_their_spread(iris):
    X, _, model = iris
    weight = np.sum(model.components_**2, axis=0) * X.to_numpy().var(axis=0)
    widths = [bar.get_width() for bar in plotting.plot_features(model, X).patches]
    np.testing.assert_allclose(widths, np.sort(weight / weight.sum())[::-1])
    sparse = [bar.get_width() for bar in plotting.plot_features(model, scipy.sparse.csr_matrix(X)).patches]
    np.testing.assert_allclose(sparse, widths)
    ax = plotting.plot_features(model, names=["a", "b", "c", "d" * 50])
    assert max(len(label.get_text()) for label in ax.get_yticklabels()) == 30


def test_neighbours_as_images():
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    model = gramian.MetricLearner(5, constraints="triplets", random_state=0).fit(X, y)
    ax = plotting.plot_neighbours(model, X, [3, 7], y=y, image_shape=(8, 8), n_neighbors=4)
    found = [
        NearestNeighbors(n_neighbors=5).fit(Z).kneighbors(Z[[3, 7]], return_distance=False)[:, 1:]
        for Z in (X, model.transform(X))
    ]
    rows = [index for line, row in enumerate((3, 7)) for index in (row, *found[0][line], *found[1][line])]
    assert len(ax.images) == 18
    for image, row in zip(ax.images, rows, strict=True):
        assert np.array_equal(image.get_array(), X[row].reshape(8, 8))
    wrong = sum(int(y[index] != y[row]) for line, row in enumerate((3, 7)) for k in found for index in k[line])
    assert len(ax.patches) == wrong
    assert [text.get_text() for text in ax.texts[:3]] == ["sample", "before learning", "after learning"]


def test_neighbours_as_texts():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    X[:, 0] += 5 * y
    words = [f"a text of $5\nnumber {index} " + "and more " * 10 for index in range(20)]
    model = gramian.MetricLearner(1, constraints="triplets", random_state=0).fit(X, y)
    ax = plotting.plot_neighbours(model, scipy.sparse.csr_matrix(X), [2], y=y, texts=words, n_neighbors=3)
    shown = [text.get_text() for text in ax.texts]
    assert shown[:2] == ["before learning", "after learning"]
    assert sum("number" in text for text in shown) == 7
    assert all("\n" not in text and r"\$5" in text for text in shown if "number" in text)
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda model, X: plotting.plot_convergence(gramian.MetricLearner()), "has no history_. Fit it first"),
        (lambda model, X: plotting.plot_convergence(StandardScaler()), "give an estimator of gramian"),
        (lambda model, X: plotting.plot_convergence(model, against="x"), "against='x' is not valid. Choose from"),
        (lambda model, X: plotting.plot_embedding(X[:, 0]), r"Z has shape \(150,\)"),
        (lambda model, X: plotting.plot_embedding(X, [1, 2]), r"y has shape \(2,\)"),
        (lambda model, X: plotting.plot_ellipse(model, features=(1, 1)), "Give two different numbers from 0 to 3"),
        (lambda model, X: plotting.plot_ellipse(model, radius=-1), "radius=-1 is not valid"),
        (
            lambda model, X: plotting.plot_rank_curve(model),
            "MetricLearner was fitted with one rank, so there is no cur",
        ),
        (lambda model, X: plotting.plot_rank_curve(gramian.PSDRegressor("auto")), "Fit it first"),
        (lambda model, X: plotting.plot_features(model, X[:, :2]), "X has 2 features, but the learner has 4"),
        (lambda model, X: plotting.plot_features(model, names=["a"]), "names has 1 entries"),
        (lambda model, X: plotting.plot_features(model, most=0), "most"),
        (lambda model, X: plotting.plot_neighbours(model, X, [0]), "give either image_shape"),
        (lambda model, X: plotting.plot_neighbours(model, X, [150], image_shape=(2, 2)), "numbers from 0 to 149"),
        (lambda model, X: plotting.plot_neighbours(model, X, [0], image_shape=(3, 2)), "has 6 entries, a row of X 4"),
        (lambda model, X: plotting.plot_neighbours(model, X, [0], texts=["a"]), "texts has 1 entries"),
        (lambda model, X: plotting.plot_neighbours(model, X, [0], texts=["a"] * 150, n_neighbors=150), "Choose fewer"),
    ],
)
def test_mistakes_are_named(iris, draw, message):
    with pytest.raises((ValueError, TypeError), match=message):
        draw(iris[2], iris[0].to_numpy())


def test_a_matrix_of_samples_has_no_features():
    X, y = load_iris(return_X_y=True)
    model = gramian.KernelLearner(2, random_state=0).fit(X, y)
    for draw in (plotting.plot_features, plotting.plot_ellipse):
        with pytest.raises(TypeError, match="learns a matrix of samples, not of features"):
            draw(model)


def test_axes_that_are_given_are_used(wine, chosen):
    X, y, model = wine
    for draw in (
        lambda ax: plotting.plot_convergence(model, ax=ax),
        lambda ax: plotting.plot_embedding(model.transform(X), y, ax=ax),
        lambda ax: plotting.plot_spectrum(model, ax=ax),
        lambda ax: plotting.plot_ellipse(model, ax=ax),
        lambda ax: plotting.plot_rank_curve(chosen, ax=ax),
        lambda ax: plotting.plot_features(model, ax=ax),
        lambda ax: plotting.plot_neighbours(model, X, [0], image_shape=(1, 13), ax=ax),
    ):
        figure, ax = pyplot.subplots()
        assert draw(ax) is ax
        assert ax.has_data() or ax.texts
        assert pyplot.get_fignums() == [figure.number]
        figure.canvas.draw()
        pyplot.close(figure)


def test_neighbouring_looks_differ_in_lightness_and_marker():
    lightness = [np.dot(to_rgb(colour), [0.299, 0.587, 0.114]) for colour in COLOURS]
    assert min(abs(a - b) for a, b in itertools.pairwise(lightness)) > 0.12
    looks = {look_of(index)[:2] for index in range(100)}
    assert len(looks) == 100


def test_importing_gramian_does_not_import_matplotlib():
    script = "import gramian, sys; gramian.plotting, gramian.MetricLearner; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_missing_matplotlib_is_asked_for(iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'gramian\[plot\]'"):
        plotting.plot_convergence(iris[2])


def test_many_classes_have_their_legend_beside_the_axes():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((400, 2)), pd.Series(np.arange(400) % 40).astype(str)
    ax = plotting.plot_embedding(Z, y)
    assert len(texts_of(ax.get_legend())) == 40
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    assert box.x0 >= ax.get_window_extent().x1
    assert box.x1 <= ax.figure.bbox.x1 + 1


@pytest.mark.parametrize("kind", ["coo_matrix", "dia_matrix", "coo_array", "csr_array"])
def test_neighbours_of_sparse_samples_of_any_format(kind, rng):
    X = rng.standard_normal((20, 4))
    model = gramian.MetricLearner(1, constraints="triplets", random_state=0).fit(X, np.arange(20) % 2)
    ax = plotting.plot_neighbours(model, getattr(scipy.sparse, kind)(X), [2], image_shape=(2, 2), n_neighbors=3)
    assert np.array_equal(ax.images[0].get_array(), X[2].reshape(2, 2))
