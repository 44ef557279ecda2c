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
from gramian.plotting import plot_rank_curve

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
# The curve of the error of 5 nearest neighbours on held-out samples, with standard errors over the folds.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
plot_rank_curve(search, ax=axes)
plt.show()

# %%
# For measurements of a matrix, ``rank="auto"`` chooses the rank by held-out measurements. ``rank_path_`` has two costs
# of each rank that was tried. The first is that of three quarters of the measurements, which it learns from; it falls
# with every rank. The second is that of the quarter that is held out; it rises again where a rank fits the noise.

import numpy as np

from gramian import PSDRegressor

rng = np.random.default_rng(0)
samples, truth = rng.standard_normal((600, 20)), rng.standard_normal((20, 4))
exact = np.sum((samples @ truth) ** 2, axis=1)
targets = exact + 0.1 * exact.std() * rng.standard_normal(600)
model = PSDRegressor(rank="auto", random_state=0).fit(samples, targets)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
plot_rank_curve(model, ax=axes)
axes.set_yscale("log")
plt.show()

# %%
# ``certificate_.is_global`` says whether the training cost is the lowest of all ranks. With noise it usually is not: a
# higher rank fits the noise as well. The held-out measurements are then the only reason for the rank.
# Without noise the certificate proves that no matrix of any rank has a cost that is lower by more than a tolerance.

clean = PSDRegressor(rank="auto", random_state=0).fit(samples, exact)
for name, fitted in (("with noise", model), ("without noise", clean)):
    certificate, cost = fitted.certificate_, fitted.history_["cost"][-1]
    print(f"{name}: rank {fitted.rank_}, cost {cost:.2g}, gap {certificate.gap:.2g}, is_global {certificate.is_global}")
