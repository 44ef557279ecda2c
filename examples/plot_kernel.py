"""
A kernel bent by labels, from few pairs or many
===============================================

No linear map tells two rings apart. A kernel can hold what does, and k-means still does not find it. Pairs of labelled
samples bend the kernel; samples that were not learned from are mapped by it.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.metrics import normalized_mutual_info_score

from gramian import KernelLearner
from gramian.geometries import Polar

X, y = make_circles(900, factor=0.5, noise=0.09, random_state=0)
train, labels, test, truth = X[:600], y[:600], X[600:], y[600:]


def score(mapped):
    """Return the normalised mutual information of two clusters of k-means and the true rings: 1 is perfect."""
    return normalized_mutual_info_score(truth, KMeans(2, n_init=5, random_state=0).fit_predict(mapped))


def learn(n_pairs, geometry):
    """Return a kernel of rank 3 learned from a number of pairs."""
    learner = KernelLearner(3, kernel="rbf", gamma=1.0, alpha=0.5, n_pairs=n_pairs, geometry=geometry, random_state=0)
    return learner.fit(train, labels)


# %%
# ``"flat"``, the default, moves each training sample freely, so most samples must have pairs. ``Polar(weight=0)`` keeps
# the range space of the given kernel: six numbers are learned, and 30 pairs are enough.

geometries = {'geometry="flat"': "flat", "geometry=Polar(weight=0)": Polar(weight=0)}
counts = [30, 100, 300, 1000, 3000]
scores = {name: [score(learn(n, chosen).transform(test)) for n in counts] for name, chosen in geometries.items()}
before = KernelPCA(3, kernel="rbf", gamma=1.0).fit(train).transform(test)
after = learn(3000, "flat").transform(test)
print(f"kernel PCA {score(before):.2f}, learned from 3000 pairs {score(after):.2f}")

# %%
# All three pictures are of test samples; the first two show their leading principal components.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for axes, name, mapped in ((left, "kernel PCA", before), (middle, "learned from 3000 pairs", after)):
    axes.scatter(*PCA(2).fit_transform(mapped).T, c=truth, cmap="coolwarm", s=8)
    axes.set(title=f"{name}: score {score(mapped):.2f}", xticks=[], yticks=[])
for name, values in scores.items():
    right.semilogx(counts, values, "o-", label=name)
right.axhline(score(before), color="grey", linestyle=":", label="kernel PCA")
right.set(xlabel="pairs of the 600 training samples", title="score of k-means, test samples", ylim=(-0.05, 1.05))
right.legend(loc="center right", fontsize=8)
plt.show()
