"""
Sensors that know only near neighbours
======================================

Sensors measure distances to those in reach, with noise. Their places follow, up to a rotation and a reflection: a map
from few distances.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import distance_matrix

from gramian import SStressMDS

rng = np.random.default_rng(0)
places = rng.random((150, 2))
exact = distance_matrix(places, places)
noise = 0.01 * rng.standard_normal(exact.shape)
measured = np.abs(exact + np.triu(noise, 1) + np.triu(noise, 1).T)
measured[exact > 0.3] = np.nan
np.fill_diagonal(measured, 0)
print(f"known: {np.mean(~np.isnan(measured[np.triu_indices(150, 1)])):.0%} of all distances")

model = SStressMDS(n_components=2).fit(measured)
print(f"stress {model.stress_:.3f}; {model.message_}")

# %%
# Turn the map onto the true places to compare them.

centre = places.mean(axis=0)
turn, _ = orthogonal_procrustes(model.embedding_, places - centre)
found = model.embedding_ @ turn + centre
error = np.sqrt(np.mean(np.sum((found - places) ** 2, axis=1)))
figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
for i, j in np.argwhere(np.triu(exact <= 0.3, 1)):
    axes.plot(*places[[i, j]].T, color="lightgrey", linewidth=0.3, zorder=0)
axes.scatter(*places.T, facecolor="none", edgecolor="black", label="true")
axes.scatter(*found.T, color="tab:red", s=12, label="found")
axes.set_title(f"distances up to 0.3 are known: root mean square error {error:.4f}")
axes.set(xticks=[], yticks=[], aspect="equal")
axes.legend(loc="upper right")
plt.show()
