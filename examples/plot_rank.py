"""
Choosing the rank
=================

How many learned features are enough? Cross-validation says it with its own uncertainty; the smallest rank within one
standard error of the best is a modest choice.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, MetricLearnerCV

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
search = MetricLearnerCV(
    [1, 2, 3, 5, 8, None],
    estimator=MetricLearner(constraints="triplets"),
    cv=5,
    one_standard_error=True,
    random_state=0,
).fit(X, y)
print(f"chosen: rank {search.n_components_}, accuracy {search.best_score_:.3f}")

# %%
# The curve of the accuracy of 5 nearest neighbours on held-out samples, with standard errors over the folds.

curve = search.curve_
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(curve.ranks, curve.mean, curve.standard_error, marker="o", capsize=4)
axes.axvline(search.n_components_, color="tab:red", linestyle="--", label="chosen")
axes.set(xlabel="rank", ylabel="accuracy on held-out samples")
axes.legend()
plt.show()

# %%
# For measurements of a matrix, ``rank="auto"`` finds the rank and certifies it.

import numpy as np

from gramian import PSDRegressor

rng = np.random.default_rng(0)
samples, truth = rng.standard_normal((600, 20)), rng.standard_normal((20, 4))
targets = np.sum((samples @ truth) ** 2, axis=1)
targets += 0.1 * targets.std() * rng.standard_normal(600)
model = PSDRegressor(rank="auto", random_state=0).fit(samples, targets)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.semilogy(
    [trial.rank for trial in model.rank_path_], [trial.cost for trial in model.rank_path_], "o-", label="cost"
)
axes.semilogy(
    [trial.rank for trial in model.rank_path_],
    [trial.held_out_cost for trial in model.rank_path_],
    "s-",
    label="cost of held-out measurements",
)
axes.axvline(model.rank_, color="tab:red", linestyle="--", label=f"chosen: {model.rank_}, planted: 4")
axes.set(xlabel="rank", xticks=[trial.rank for trial in model.rank_path_])
axes.legend()
plt.show()
