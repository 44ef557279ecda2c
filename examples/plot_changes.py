"""
When did it change?
===================

Sensors report a stream of vectors, a fifth of whose entries are lost. A subspace is tracked, and what it does not
explain tells when the process changes.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from gramian import SubspaceTracker

rng = np.random.default_rng(0)
changes = (0, 600, 1100, 1500)
parts = []
for begin, end in pairwise(changes):
    plane = np.linalg.qr(rng.standard_normal((30, 3)))[0]
    parts.append(rng.standard_normal((end - begin, 3)) @ plane.T)
X = np.concatenate(parts) + 0.1 * rng.standard_normal((1500, 30))
X[rng.random(X.shape) < 0.2] = np.nan

# %%
# Each sample is compared with the subspace of those before it, then learned from. A memory of 100 samples forgets
# the past.

tracker = SubspaceTracker(3, memory=100, center=False, random_state=0).partial_fit(X[:50])
residual = np.full(1500, np.nan)
for t in range(50, 1500):
    sample = X[t : t + 1]
    missed = sample - tracker.inverse_transform(tracker.transform(sample))
    residual[t] = np.nanmean(missed**2)
    tracker.partial_fit(sample)

# %%
# An alarm where the residual is far above its median over the 100 samples before. The first alarm after 100 quiet
# samples dates a change.

alarm = [
    t
    for t in range(150, 1500)
    if np.median(residual[t : t + 5]) > 6 * np.median(residual[t - 100 : t]) and residual[t] > 0.1
]
dates = [t for before, t in zip([-1000, *alarm], alarm, strict=False) if t - before > 100]
print(f"changes at {' and '.join(map(str, dates))} (true: {', '.join(map(str, changes[1:-1]))})")

figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
axes.semilogy(residual, linewidth=0.7, label="mean squared residual")
for change in changes[1:-1]:
    axes.axvline(change, color="black", linestyle="--", linewidth=1)
axes.plot(alarm, residual[alarm], "r.", label="alarm")
axes.plot(dates, residual[dates], "kv", label="date of a change, as found")
axes.set(xlabel="sample", title="dashed: the true changes")
axes.legend()
plt.show()
