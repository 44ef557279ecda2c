"""
A plane of digits
=================

64 pixels become 2 numbers: by principal components, which know no labels, and by a distance of rank 2 learned from
labels. Both planes show images that were not learned from.
"""

# %%
# Half of the images are for learning. The pipeline standardises the pixels, maps them, and classifies in the plane.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner

X, y = load_digits(return_X_y=True)
train, test, labels, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# Few dimensions for ten classes: neighbourhoods, in which far samples count too, are the right constraints. The
# default, ``constraints="auto"``, would find this out by itself in a few seconds more.

methods = {
    "principal components": PCA(2),
    "learned": MetricLearner(2, constraints="neighbourhoods", random_state=0),
}
figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for axes, (name, method) in zip(panels, methods.items(), strict=True):
    model = make_pipeline(StandardScaler(), method, KNeighborsClassifier(5)).fit(train, labels)
    plane = model[:-1].transform(test)
    axes.scatter(*plane.T, c=truth, cmap="tab10", s=1)
    for place, digit in zip(plane, truth, strict=True):
        axes.text(*place, str(digit), color=plt.cm.tab10(digit), fontsize=7, ha="center", va="center")
    axes.set_title(f"{name}: 5-NN recognises {model.score(test, truth):.0%}")
    axes.set(xticks=[], yticks=[])
plt.show()
