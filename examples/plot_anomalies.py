"""
Anomaly scores
==============

How far is a new sample from everything known, in a distance that knows what matters? Images of the digits 0 to 7 shape
the distance; the digits 8 and 9, which it has never seen, should be far from all of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner

X, y = load_digits(return_X_y=True)
known = y < 8
train, test, labels, _ = train_test_split(X[known], y[known], random_state=0)
new = X[~known]
scaler = StandardScaler().fit(train)
train, test, new = (scaler.transform(part) for part in (train, test, new))

# %%
# The score is the distance to the fifth neighbour among the known samples. 8 and 9 were never seen. A distance that is
# learned for classes forgets what does not tell them apart: compare it with the plain one before you rely on it.


def scores_of(known, others):
    """Return the distance of each sample to its fifth neighbour among the known ones."""
    return NearestNeighbors(n_neighbors=5).fit(known).kneighbors(others)[0][:, -1]


learner = MetricLearner(20, constraints="triplets", random_state=0).fit(train, labels)
spaces = {"pixels": (train, test, new), "learned": tuple(learner.transform(part) for part in (train, test, new))}
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for axes, (name, (A, B, C)) in zip(panels, spaces.items(), strict=True):
    usual, odd = scores_of(A, B), scores_of(A, C)
    area = roc_auc_score(np.repeat([0, 1], [len(usual), len(odd)]), np.concatenate([usual, odd]))
    bins = np.linspace(0, np.percentile(np.concatenate([usual, odd]), 99), 40)
    axes.hist(usual, bins, density=True, alpha=0.7, label="digits 0 to 7")
    axes.hist(odd, bins, density=True, alpha=0.7, label="digits 8 and 9, never seen")
    axes.set_title(f"{name}: area under the ROC curve {area:.2f}")
    axes.set_xlabel("distance to the fifth neighbour")
    axes.legend()
plt.show()
