"""
UMAP on top of a learned distance
=================================

UMAP and t-SNE draw neighbourhoods as they are in the distance that they are given. In a learned distance, neighbours
are those that the labels ask for, and new samples show whether that holds beyond the samples learned from.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner

X, y = load_digits(return_X_y=True)
odd = y % 2
train, test, labels, truth, _, digit = train_test_split(X, odd, y, stratify=y, random_state=0)
scaler = StandardScaler().fit(train)
train, test = scaler.transform(train), scaler.transform(test)

# %%
# ``umap.UMAP().fit_transform(learner.transform(X))`` is all there is to it: the learned distance is the Euclidean one
# after ``transform``. UMAP is used where it is installed, ``pip install umap-learn``. Otherwise scikit-learn's t-SNE
# draws the picture; its title says which.

try:
    import umap

    method, drawing = "UMAP", umap.UMAP(random_state=0, n_jobs=1)
except ImportError:
    method, drawing = "t-SNE, umap-learn is not installed", TSNE(random_state=0, init="pca")
print(method)

# %%
# We look for what the pixels do not show by themselves: odd digits against even ones. The learner knows only this.

learner = MetricLearner(10, constraints="triplets", random_state=0).fit(train, labels)
spaces = {"64 pixels": test, "10 learned numbers": learner.transform(test)}
figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
for axes, (name, Z) in zip(panels, spaces.items(), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plane = drawing.fit_transform(Z)
    axes.scatter(*plane.T, s=1, color="white")
    for place, number, kind in zip(plane, digit, truth, strict=True):
        axes.text(*place, str(number), color="tab:red" if kind else "tab:blue", fontsize=7, ha="center", va="center")
    axes.set_title(f"{name}: silhouette of odd and even {silhouette_score(Z, truth):.2f}")
    axes.set(xticks=[], yticks=[])
figure.suptitle(f"test images by {method}; odd digits are red")
plt.show()
