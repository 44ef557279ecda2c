"""Draws docs/cover.png, the picture of README.md: `python -m benchmarks.cover`.

Test images of handwritten digits, each drawn where a plane puts it: the plane of the first two principal components,
and the plane that `MetricLearner` learns from the labels of other images. Nothing of a test image is used to learn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner

__all__ = ["draw_digits", "learn_planes"]

PICTURE = Path(__file__).parent.parent / "docs" / "cover.png"
#: Ten colours of similar weight on white.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c564b", "#7f3c8d", "#5a5a5a", "#a8a800")


def learn_planes() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Return two planes by title, (n, 2) each, the test images (n, 8, 8) and their digits (n,)."""
    X, y = load_digits(return_X_y=True)
    train, test, labels, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    planes = {}
    methods = {"two principal components": PCA(2), "learned by Gramian": MetricLearner(2, random_state=0)}
    for name, method in methods.items():
        model: Pipeline = make_pipeline(StandardScaler(), method, KNeighborsClassifier(5)).fit(train, labels)
        planes[f"{name}: 5-NN recognises {model.score(test, truth):.0%}"] = model[:-1].transform(test)
    return planes, test.reshape(-1, 8, 8), truth


def draw_digits(axes: Axes, plane: np.ndarray, images: np.ndarray, digits: np.ndarray, zoom: float = 1.55) -> None:
    """Draw each image at its place in the plane, as ink in the colour of its digit on a clear ground."""
    for place, image, digit in zip(plane, images, digits, strict=True):
        ink = np.empty((8, 8, 4))
        ink[..., :3] = to_rgb(COLOURS[digit])
        ink[..., 3] = (image / 16) ** 1.3
        stamp = OffsetImage(ink, zoom=zoom, interpolation="bilinear")
        axes.add_artist(AnnotationBbox(stamp, place, frameon=False, pad=0))
    low, high = np.percentile(plane, [0.3, 99.7], axis=0)
    pad = 0.04 * (high - low)
    axes.set(xlim=(low[0] - pad[0], high[0] + pad[0]), ylim=(low[1] - pad[1], high[1] + pad[1]), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)


def main() -> None:
    """Learn the planes, draw them side by side and save the picture."""
    planes, images, digits = learn_planes()
    figure = Figure(figsize=(12, 6.2), layout="constrained", facecolor="white")
    for axes, (title, plane) in zip(figure.subplots(1, 2), planes.items(), strict=True):
        draw_digits(axes, plane, images, digits)
        axes.set_title(title, fontsize=14, pad=10)
    figure.savefig(PICTURE, dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
