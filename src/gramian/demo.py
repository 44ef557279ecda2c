"""A demonstration: `python -m gramian.demo` maps images of handwritten digits to a plane that separates the digits.

The 64 pixels of scikit-learn's digits are mapped to 2 features, first by principal components, then by a distance of
rank 2 learned from the labels, which brings images of one digit nearer than others. In each plane test images are
classified by their 5 nearest training images. The picture needs matplotlib.
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
    """Run the demo, save its picture, and return the test errors in per cent: of principal components, of gramian."""
    digits = load_digits()
    train, test, labels, truth = train_test_split(digits.data, digits.target, random_state=0)
    train, test = train - train.mean(axis=0), test - train.mean(axis=0)
    print(f"{len(train)} training images of digits, {len(test)} test images, {train.shape[1]} pixels each.\n")
    principal = np.linalg.svd(train, full_matrices=False)[2][:2].T
    learner = MetricLearner(n_components=2, random_state=0, callback=ProgressPrinter(5, sys.stdout).iteration)
    learned = learner.fit(train, labels).components_.T
    errors, planes = [], {}
    print()
    for name, factor in (("principal components", principal), ("learned by gramian", learned)):
        neighbours = KNeighborsClassifier(5).fit(train @ factor, labels)
        errors.append(100 * float(np.mean(neighbours.predict(test @ factor) != truth)))
        title = f"{name}: {errors[-1]:.1f} % of the test digits misclassified"
        planes[title] = test @ factor
        print(f"  2 features, {title}")
    draw_planes(planes, truth, picture)
    return errors[0], errors[1]


def draw_planes(planes: dict[str, Matrix], labels: Vector, picture: str) -> None:
    """Plot the test images in each plane, side by side, coloured by digit, and save the picture to a file."""
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
