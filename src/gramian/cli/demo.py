"""`gramian demo`: handwritten digits in a few numbers each, a table, pictures of neighbours, and a report."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import gramian
from gramian.cli.mistakes import check_folder
from gramian.cli.screen import announce_compilations, counting, note, print_table, say
from gramian.estimators import MetricLearner
from gramian.execution import one_blas_thread
from gramian.progress import shows_bars
from gramian.report import write_report
from gramian.types import Matrix, Vector

__all__ = ["SIZES", "Digits", "run_demo"]

#: The numbers that each digit is mapped to.
SIZES = (2, 5, 8, 64)
SHAPE = (8, 8)
#: The distance of this size has the report and the pictures of neighbours.
SHOWN = 8


class Digits(NamedTuple):
    """Images of digits, (n, 64), and what they show: for learning, and held out."""

    train: Matrix
    labels: Vector
    test: Matrix
    truth: Vector


class Outcome(NamedTuple):
    """Test errors by method and size, in per cent, and the learners by size."""

    errors: dict[str, dict[int, float]]
    learners: dict[int, MetricLearner]


def run_demo(folder: Path) -> Outcome:
    """Run the demo: show a table, write pictures, a model and a report to a folder, and return the errors."""
    folder.mkdir(parents=True, exist_ok=True)
    check_folder(folder / "digits.html")
    begin = perf_counter()
    images = load_digits()
    train, test, labels, truth = train_test_split(images.data, images.target, random_state=0)
    digits = Digits(train, labels, test, truth)
    note(
        f"{len(digits.train)} images of handwritten digits to learn from, {len(digits.test)} held out. An image is "
        f"{digits.train.shape[1]} pixels.\nFor 2, 5, 8 and 64 numbers a digit, a distance is learned from the labels. "
        "The first time, compiling takes some seconds more."
    )
    with one_blas_thread():
        outcome = compare(digits)
    show_errors(outcome)
    learner = outcome.learners[SHOWN]
    gramian.save(learner, folder / "digits.skops")
    draw_planes(digits, outcome, folder / "digits.png")
    draw_neighbours(digits, learner, folder / "neighbours.png")
    page = write_report(
        learner,
        digits.train,
        digits.labels,
        folder / "digits.html",
        X_test=digits.test,
        y_test=digits.truth,
        title=f"Handwritten digits in {SHOWN} numbers",
        model_path=str(folder / "digits.skops"),
        image_shape=SHAPE,
    )
    say(f"\nThe report, with the map and the neighbours of every test digit; open it in a browser:\n  {page.resolve()}")
    say(f"The model:    {(folder / 'digits.skops').resolve()}")
    say(f"\n{perf_counter() - begin:.0f} s in all. Your own data: gramian fit data.csv --target label")
    return outcome


def compare(digits: Digits) -> Outcome:
    """Return the test errors of pixels, principal components, discriminants and learned distances."""
    errors: dict[str, dict[int, float]] = {"pixels": {64: knn_error(digits, None)}, "PCA": {}, "LDA": {}, "gramian": {}}
    learners = {}
    # On a terminal each fit has a bar of its own.
    bars = shows_bars()
    quiet = warnings.catch_warnings()
    with counting("learning", len(SIZES), quiet=bars) as bar, announce_compilations(not bars), quiet:
        # The table says so.
        warnings.filterwarnings("ignore", message="plain Euclidean distance of all")
        for size in SIZES:
            if bars:
                note(f"{size} numbers a digit:")
            if size < digits.train.shape[1]:
                errors["PCA"][size] = knn_error(digits, PCA(size, random_state=0).fit(digits.train))
                # Ten digits have nine discriminants.
                lda = LinearDiscriminantAnalysis(n_components=size).fit(digits.train, digits.labels)
                errors["LDA"][size] = knn_error(digits, lda)
            learners[size] = MetricLearner(size, random_state=0, verbose=int(bars)).fit(digits.train, digits.labels)
            errors["gramian"][size] = knn_error(digits, learners[size])
            bar.advance(1, f"{size} numbers a digit")
    return Outcome(errors, learners)


def knn_error(digits: Digits, mapping: Any) -> float:
    """Return the test error of 5 nearest neighbours after a transformer, in per cent; None stands for the pixels."""
    train, test = (part if mapping is None else mapping.transform(part) for part in (digits.train, digits.test))
    votes = KNeighborsClassifier(5).fit(train, digits.labels).predict(test)
    return 100 * float(np.mean(votes != digits.truth))


def show_errors(outcome: Outcome) -> None:
    """Show the table of errors, and what it means."""
    names = {"pixels": "pixels, as they are", "PCA": "PCA", "LDA": "LDA", "gramian": "learned by gramian"}
    rows = [
        [names[name], *[f"{found[size]:.1f} %" if size in found else "" for size in SIZES]]
        for name, found in outcome.errors.items()
    ]
    say()
    print_table(
        ["test digits misread by 5 neighbours", *[f"{size} numbers" for size in SIZES]], rows, best={len(rows) - 1}
    )
    ours, others = outcome.errors["gramian"], outcome.errors
    say(
        f"{SHOWN} learned numbers misread {ours[SHOWN]:.1f} % of the test digits, {SHOWN} principal components "
        f"{others['PCA'][SHOWN]:.1f} %, all 64 pixels {others['pixels'][64]:.1f} %.\nTwo numbers are few for "
        f"ten digits: {ours[2]:.0f} % are misread, but {others['PCA'][2]:.0f} % with two principal components."
    )


def draw_planes(digits: Digits, outcome: Outcome, path: Path) -> None:
    """Draw the test digits in the plane of two principal components and in the learned plane."""
    from matplotlib.figure import Figure

    planes = {
        f"principal components: {outcome.errors['PCA'][2]:.1f} %": PCA(2).fit(digits.train),
        f"learned by gramian: {outcome.errors['gramian'][2]:.1f} %": outcome.learners[2],
    }
    figure = Figure(figsize=(12, 6), layout="constrained")
    for axes, (title, mapping) in zip(figure.subplots(1, 2), planes.items(), strict=True):
        Z = mapping.transform(digits.test)
        points = axes.scatter(*Z.T, c=digits.truth, cmap="tab10", s=14, vmin=-0.5, vmax=9.5)
        axes.set_title(f"{title} of the test digits misclassified", fontsize=11)
        axes.set_xticks([])
        axes.set_yticks([])
    figure.colorbar(points, ax=figure.axes, ticks=range(10), label="digit", shrink=0.8)
    figure.savefig(path, dpi=110)
    say(f"\nTest digits in two planes:            {path.resolve()}")


class Near(NamedTuple):
    """For each test digit the numbers of the nearest training digits, (m, 5), and how many of them are right."""

    rows: Matrix
    right: Vector


def find_near(digits: Digits, mapping: Any) -> Near:
    """Return the nearest training digits after a transformer."""
    search = NearestNeighbors(n_neighbors=5).fit(mapping.transform(digits.train))
    rows = search.kneighbors(mapping.transform(digits.test), return_distance=False)
    return Near(rows, np.sum(digits.labels[rows] == digits.truth[:, None], axis=1))


def draw_neighbours(digits: Digits, learner: MetricLearner, path: Path, count: int = 6) -> None:
    """Draw test digits with their nearest training digits, in principal components and in as many learned numbers.

    Half of the digits are random ones of those where the two differ, better or worse; the others are random.
    """
    from matplotlib.figure import Figure

    plain, learned = find_near(digits, PCA(SHOWN, random_state=0).fit(digits.train)), find_near(digits, learner)
    rng = np.random.default_rng(0)
    differ = rng.permutation(np.flatnonzero(np.abs(learned.right - plain.right) > 1))[: count // 2]
    chosen = [*differ, *rng.permutation(len(digits.test))[: count - len(differ)]]
    figure = Figure(figsize=(9.5, 0.95 * len(chosen) + 0.6))
    grid = figure.subplots(len(chosen), 12)
    for line, query in zip(grid, chosen, strict=True):
        cells = [digits.test[query], *digits.train[plain.rows[query]], None, *digits.train[learned.rows[query]]]
        labels = [digits.truth[query], *digits.labels[plain.rows[query]], None, *digits.labels[learned.rows[query]]]
        for axes, image, label in zip(line, cells, labels, strict=True):
            axes.set_axis_off()
            if image is not None:
                axes.imshow(image.reshape(SHAPE), cmap="gray_r")
                axes.set_title(str(label), fontsize=9, pad=2, color="black" if label == labels[0] else "crimson")
    headings = {0: "query", 3: f"nearest by {SHOWN} principal components", 9: f"nearest by {SHOWN} learned numbers"}
    for column, text in headings.items():
        grid[0, column].text(0.5, 1.55, text, transform=grid[0, column].transAxes, ha="center", fontsize=10)
    figure.subplots_adjust(top=0.88, bottom=0.02, left=0.02, right=0.98)
    figure.savefig(path, dpi=110)
    say(f"Neighbours, wrong ones in red:        {path.resolve()}")
