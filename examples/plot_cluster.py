"""
On a cluster: what travels
==========================

Blocks of samples stay on the workers of a Dask cluster. What travels in an iteration is as large as the matrix that is
learned, not as the data. This needs ``pip install 'gramian[dask]'``.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from gramian import PSDRegressor
from gramian.execution import Dask

rng = np.random.default_rng(0)
truth = rng.standard_normal((30, 3))
samples = rng.standard_normal((64_000, 30))
targets = np.sum((samples @ truth) ** 2, axis=1) + rng.standard_normal(64_000)

# %%
# Samples stand in files of 4,000 rows, which the workers read themselves. Dask arrays and data frames serve as well.

folder = TemporaryDirectory()
files = [Path(folder.name, f"part-{i:02}.npy") for i in range(16)]
for file, part in zip(files, np.split(samples, 16), strict=True):
    np.save(file, part)

# %%
# Two workers, in this process for the example. Elsewhere ``Client("scheduler:8786")`` connects to a cluster.

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
client = Client(cluster)


def fit_on_workers(n_files):
    """Return a model of the first files, and the bytes that travelled in each iteration."""
    X, y = [str(file) for file in files[:n_files]], targets[: 4000 * n_files]
    execution, notes = Dask(client), []

    def note(record):
        notes.append(execution.traffic.sent + execution.traffic.received)

    model = PSDRegressor(3, growing=False, n_jobs=execution, callback=note, random_state=0).fit(X, y)
    return model, np.diff(notes)


counts = [2, 4, 8, 16]
fits = {count: fit_on_workers(count) for count in counts}
sizes, travelled = [4000 * count for count in counts], [np.median(fits[count][1]) for count in counts]
for n, size in zip(sizes, travelled, strict=True):
    print(f"{n} samples, {8 * 30 * n / 1e6:.1f} MB: {size / 1e3:.1f} kB per iteration")

# %%
# The answer is that of one process, up to rounding; another number of workers gives the same bits.

one = PSDRegressor(3, growing=False, random_state=0).fit(samples, targets)
distance = np.linalg.norm(one.matrix() - fits[16][0].matrix()) / np.linalg.norm(one.matrix())
print(f"relative difference to one process: {distance:.0e}")
cluster.scale(1)
client.wait_for_workers(1)
again, _ = fit_on_workers(16)
print("the same bits with one worker:", bool((again.factor_ == fits[16][0].factor_).all()))

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.loglog(sizes, [8 * 30 * n for n in sizes], "s-", color="grey", label="the data")
axes.loglog(sizes, travelled, "o-", label="what travels in an iteration, two workers")
axes.set(xlabel="samples", ylabel="bytes", title="30 features, rank 3")
axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
axes.minorticks_off()
axes.legend()
plt.show()
client.close()
cluster.close()
folder.cleanup()
