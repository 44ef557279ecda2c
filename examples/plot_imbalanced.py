"""
Imbalanced classes
==================

One sample in twenty is of the rare class. With equal weights the distance is learned for the many;
``class_weight="balanced"`` gives both classes the same say.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner

X, y = make_classification(
    1500, 20, n_informative=4, n_redundant=2, n_clusters_per_class=2, weights=[0.95], class_sep=1.0, random_state=3
)
train, test, labels, truth = train_test_split(X, y, stratify=y, test_size=0.5, random_state=0)
scaler = StandardScaler().fit(train)
train, test = scaler.transform(train), scaler.transform(test)

# %%
# The same map, with and without weights. Judge it by the recall of the rare class: the accuracy hides it.

figure, panels = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for axes, weight in zip(panels, (None, "balanced"), strict=True):
    learner = MetricLearner(2, constraints="triplets", class_weight=weight, random_state=0).fit(train, labels)
    plane = learner.transform(test)
    called = KNeighborsClassifier(3).fit(learner.transform(train), labels).predict(plane)
    recall, balanced = recall_score(truth, called), balanced_accuracy_score(truth, called)
    order = np.argsort(truth)
    axes.scatter(*plane[order].T, c=np.where(truth[order], "tab:red", "lightgrey"), s=10)
    axes.set_title(f"class_weight={weight!r}\nrecall of the rare class {recall:.2f}, balanced accuracy {balanced:.2f}")
    axes.set(xticks=[], yticks=[])
plt.show()
