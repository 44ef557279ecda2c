"""
Pairs, and a threshold for "the same"
=====================================

People say of pairs whether they are the same. A distance and a threshold are learned from these answers, and judge new
pairs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_curve
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner

X, digits = load_digits(return_X_y=True)
train, test, seen, unseen = train_test_split(X, digits, random_state=0, stratify=digits)
scaler = StandardScaler().fit(train)
train, test = scaler.transform(train), scaler.transform(test)


def draw_pairs(labels, count, seed):
    """Return pairs of different samples, half of them of the same digit, and their signs."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(len(labels), size=(12 * count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    kept = np.concatenate([pairs[same][: count // 2], pairs[~same][: count // 2]])
    return kept, np.repeat([1, -1], count // 2)


pairs, signs = draw_pairs(seen, 2000, seed=0)
new_pairs, new_signs = draw_pairs(unseen, 1000, seed=1)
learner = MetricLearner(random_state=0).fit_pairs(train, pairs, signs)
print(f"accuracy of new pairs: {np.mean(learner.predict(test, new_pairs) == new_signs):.3f}")

# %%
# Left: distances of new pairs, of images that were not learned from. Right: the trade between both kinds of error,
# beside that of plain distance.

distance = learner.pair_distance(test, new_pairs)
plain = np.linalg.norm(test[new_pairs[:, 0]] - test[new_pairs[:, 1]], axis=1)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
bins = np.linspace(0, distance.max(), 50)
left.hist(distance[new_signs == 1], bins, alpha=0.7, label="same digit")
left.hist(distance[new_signs == -1], bins, alpha=0.7, label="different digits")
left.axvline(learner.threshold_, color="black", linestyle="--", label="threshold_")
left.set(xlabel="learned distance", ylabel="pairs")
left.legend()
for name, values in (("learned", distance), ("plain", plain)):
    false, true, _ = roc_curve(new_signs, -values)
    right.plot(false, true, label=name)
right.set(xlabel="different pairs called the same", ylabel="same pairs found")
right.legend()
plt.show()

# %%
# False alarms are dear? Keep them below 1 %.

learner.calibrate_threshold(train, pairs, signs, strategy="max_tpr", min_rate=0.99)
called = learner.predict(test, new_pairs)
print(f"different pairs refused: {np.mean(called[new_signs == -1] == -1):.3f}")
print(f"same pairs found: {np.mean(called[new_signs == 1] == 1):.3f}")
