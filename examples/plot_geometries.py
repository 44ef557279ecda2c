"""
Which geometry, which solver
============================

The same regression on each geometry of fixed rank: the cost against the passes over the data, for a matrix of
condition 1 and one of condition 1000.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from gramian import PSDRegressor

rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 30))
frame = np.linalg.qr(rng.standard_normal((30, 4)))[0]
settings = {
    "scaled, cg": ("scaled", "cg"),
    "scaled, trust-region": ("scaled", "trust-region"),
    "flat, cg": ("flat", "cg"),
}
settings |= {"polar, cg": ("polar", "cg"), "flat, gd (the paper's)": ("flat", "gd")}
figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for axes, condition in zip(panels, (1, 1000), strict=True):
    factor = frame * np.geomspace(1, condition**0.5, 4)
    y = np.sum((X @ factor) ** 2, axis=1)
    for name, (geometry, solver) in settings.items():
        model = PSDRegressor(
            4, geometry=geometry, solver=solver, init="random", growing=False, max_iter=150, tol=1e-13, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            history = model.fit(X, y).history_
        axes.loglog(history["passes"] + 1, history["cost"] / np.mean(y**2), label=name)
    axes.set(title=f"condition of W: {condition}", xlabel="passes over the data", ylim=(1e-14, 10))
panels[0].set_ylabel("cost, relative")
panels[1].legend(fontsize=8)
plt.show()
