"""
k-NN, k-means and HDBSCAN on top
================================

What is learned is a linear map: every method of distances works in its image, and clusters that follow the labels are
found there.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner

X, y = load_digits(return_X_y=True)
X = StandardScaler().fit_transform(X)
train, test, labels, truth = train_test_split(X, y, stratify=y, random_state=0)
learner = MetricLearner(8, constraints="triplets", random_state=0).fit(train, labels)
spaces = {"pixels": (train, test), "learned": (learner.transform(train), learner.transform(test))}

# %%
# The same three methods, on 64 pixels and on 8 learned numbers; all scores are of test images.

scores = {}
for name, (A, B) in spaces.items():
    scores[name] = [
        KNeighborsClassifier(5).fit(A, labels).score(B, truth),
        adjusted_rand_score(truth, KMeans(10, n_init=5, random_state=0).fit_predict(B)),
        adjusted_rand_score(truth, HDBSCAN(min_cluster_size=10, copy=True).fit_predict(B)),
    ]
    print(name, [f"{score:.2f}" for score in scores[name]])

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for shift, (name, values) in zip((-0.2, 0.2), scores.items(), strict=True):
    axes.bar([k + shift for k in range(3)], values, 0.38, label=name)
axes.set_xticks(range(3), ["5-NN\naccuracy", "k-means\nadjusted Rand index", "HDBSCAN\nadjusted Rand index"])
axes.legend()
plt.show()
