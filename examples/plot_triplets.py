"""
Answers of people: triplets, some of them wrong
===============================================

"Is a more like b, or more like c?" Answers are easy to give and never all right. How many are needed, and what do wrong
ones cost?
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import MetricLearner

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 12))
felt = X[:, :2] * np.array([2.0, 1.0])  # what people look at: two features of twelve


def ask(count, wrong, seed):
    """Return triplets (anchor, near, far) as people order them; a share of the answers is drawn by lot."""
    rng = np.random.default_rng(seed)
    asked = np.array([rng.choice(300, 3, replace=False) for _ in range(count)])
    near, far = (np.linalg.norm(felt[asked[:, 0]] - felt[asked[:, k]], axis=1) for k in (1, 2))
    lot = rng.random(count) < wrong
    swapped = np.where(lot, rng.random(count) < 0.5, near > far)
    return np.where(swapped[:, None], asked[:, [0, 2, 1]], asked)


# %%
# New triplets, all of them right, judge the distance. Three settings: the default with right answers; the default where
# three answers of ten are given by lot; the logistic loss with the same answers.

test = ask(4000, wrong=0.0, seed=1)
counts = [30, 100, 300, 1000, 3000]
settings = {
    "all answers right": (0.0, "squared"),
    "30 % by lot": (0.3, "squared"),
    "30 % by lot, logistic loss": (0.3, "logistic"),
}
learners = {
    name: [MetricLearner(2, loss=loss, random_state=0).fit_triplets(X, ask(count, wrong, seed=0)) for count in counts]
    for name, (wrong, loss) in settings.items()
}
near, far = (np.linalg.norm(X[test[:, 0]] - X[test[:, k]], axis=1) for k in (1, 2))
plain = np.mean(near < far)

# %%
# Left: a hundred right answers help, a thousand are enough. With three of ten by lot, ten times as many are needed.
# Right: what the distance looks at, by the diagonal of the learned matrix. Even then only the two true features count.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, found in learners.items():
    left.semilogx(counts, [learner.score(X, test) for learner in found], "o-", label=name)
left.axhline(plain, color="grey", linestyle=":", label="plain distance")
left.set(xlabel="triplets learned from", ylabel="share of new triplets in the right order", ylim=(0.5, 1.01))
left.legend()
for shift, (name, found) in zip((-0.3, 0, 0.3), learners.items(), strict=True):
    weights = np.diag(found[-1].get_mahalanobis_matrix())
    right.bar(np.arange(12) + shift, weights / weights.sum(), 0.28, label=name)
right.set(xlabel="feature", ylabel=f"share in the distance, {counts[-1]} triplets", xticks=range(12))
plt.show()
