"""
A plane in which numbers are neighbours
=======================================

Each sample has a number. Principal components find the directions in which samples differ; ``fit_targets`` finds those
in which the numbers do.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsRegressor

from gramian import MetricLearner

rng = np.random.default_rng(0)
X = rng.standard_normal((900, 12))
y = np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] + 0.2 * rng.standard_normal(900)
train, test = slice(0, 600), slice(600, 900)


def score(mapped):
    """Return R² of 5 nearest neighbours on the samples that were not learned from."""
    return KNeighborsRegressor(5).fit(mapped[train], y[train]).score(mapped[test], y[test])


# %%
# Two features of twelve matter, one of them as a wave, which no regression on a line finds. Beside the planes: what
# happens as the rank grows. Too few directions miss something. More than needed cost next to nothing here: the penalty
# on the trace keeps small what does not help.

ranks = [1, 2, 3, 5, 8, 12]
learners = {rank: MetricLearner(rank, random_state=0).fit_targets(X[train], y[train]) for rank in ranks}
planes = {"principal components": PCA(2).fit(X[train]).transform(X), "fit_targets": learners[2].transform(X)}
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for axes, (name, plane) in zip((left, middle), planes.items(), strict=True):
    drawn = axes.scatter(*plane[test].T, c=y[test], cmap="viridis", s=12)
    axes.set(title=f"{name}: R² {score(plane):.2f}", xticks=[], yticks=[])
figure.colorbar(drawn, ax=middle, label="y of samples not learned from")
right.plot(ranks, [score(learners[rank].transform(X)) for rank in ranks], "o-", label="fit_targets")
right.plot(ranks, [score(PCA(rank).fit(X[train]).transform(X)) for rank in ranks], "s-", label="principal components")
right.axhline(score(X), color="grey", linestyle=":", label="all features, plain distance")
right.set(xlabel="rank", title="R² of 5 nearest neighbours", xticks=ranks)
right.legend(fontsize=8)
plt.show()
