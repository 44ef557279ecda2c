"""
Covariance sketching
====================

The covariance of a process is wanted, but only energies can be measured: the mean square of the signal through a random
filter x, which is xᵀWx. If W has low rank, far fewer measurements than entries determine it.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import PSDRegressor

rng = np.random.default_rng(0)
d, r = 40, 3
truth = rng.standard_normal((d, r)) * np.array([3.0, 2.0, 1.0])
W = truth @ truth.T


def relative_error(n, seed=0):
    """Return the relative error of the covariance found from n sketches with 1 % noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sum((X @ truth) ** 2, axis=1) * (1 + 0.01 * rng.standard_normal(n))
    model = PSDRegressor(r, random_state=0).fit(X, y)
    return np.linalg.norm(model.matrix() - W) / np.linalg.norm(W)


# %%
# 40 x 40 has 820 free entries; rank 3 has 117 unknowns. Beyond some three measurements per unknown the
# covariance is found.

counts = [120, 180, 240, 320, 420, 600, 820]
errors = [relative_error(n) for n in counts]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.semilogy(counts, errors, "o-")
axes.axvline(d * r - r * (r - 1) // 2, color="grey", linestyle=":", label="unknowns of rank 3")
axes.axvline(d * (d + 1) // 2, color="black", linestyle="--", label="entries of the matrix")
axes.set(xlabel="number of measurements", ylabel="relative error of the covariance")
axes.legend()
plt.show()
