"""A first look: `python -m gramian.demo` learns a plane in which handwritten digits tell themselves apart.

The 64 pixels of scikit-learn's digits are mapped to 2 numbers, first by principal components, then by a distance of
rank 2 learned from the labels: an image should be nearer to images of its own digit than to others. Images that were
not learned from are then recognised by their 5 nearest neighbours in either plane. Needs matplotlib for the picture.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from gramian.estimators import MetricLearner
from gramian.progress import ProgressPrinter
from gramian.types import Matrix, Vector

__all__ = ["main"]


def main(picture: str = "demo.png") -> tuple[float, float]:
    """Runs the demo, saves its picture, and gives the errors before and after, in per cent."""
    digits = load_digits()
    train, test, labels, truth = train_test_split(digits.data, digits.target, random_state=0)
    train, test = train - train.mean(axis=0), test - train.mean(axis=0)
    print(f"{len(train)} images of digits to learn from, {len(test)} to test on, {train.shape[1]} pixels each.\n")
    principal = np.linalg.svd(train, full_matrices=False)[2][:2].T
    learner = MetricLearner(n_components=2, random_state=0, callback=ProgressPrinter(5, sys.stdout).iteration)
    learned = learner.fit(train, labels).components_.T
    errors, planes = [], {}
    print()
    for name, factor in (("principal components", principal), ("learned by gramian", learned)):
        neighbours = KNeighborsClassifier(5).fit(train @ factor, labels)
        errors.append(100 * float(np.mean(neighbours.predict(test @ factor) != truth)))
        title = f"{name}: {errors[-1]:.1f} % of the test digits misread"
        planes[title] = test @ factor
        print(f"  2 numbers a digit, {title}")
    draw(planes, truth, picture)
    return errors[0], errors[1]


def draw(planes: dict[str, Matrix], labels: Vector, picture: str) -> None:
    """The test images in each plane, side by side, coloured by digit; saved to a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\nNo picture: it needs matplotlib (pip install 'gramian[plot]').")
        return
    figure = Figure(figsize=(12, 6), layout="constrained")
    for axes, (title, plane) in zip(figure.subplots(1, len(planes)), planes.items(), strict=True):
        points = axes.scatter(*plane.T, c=labels, cmap="tab10", s=14, vmin=-0.5, vmax=9.5)
        axes.set_title(title, fontsize=11)
        axes.set_xticks([])
        axes.set_yticks([])
    figure.colorbar(points, ax=figure.axes, ticks=range(10), label="digit", shrink=0.8)
    figure.savefig(picture, dpi=110)
    print(f"\nThe picture is in {Path(picture).resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
