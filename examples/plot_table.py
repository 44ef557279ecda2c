"""
A table in a file, batch by batch
=================================

Rows stand in a Parquet file that need not fit into memory. A stream learns from one batch after the other; the same
rows as a memory-mapped array allow a batch fit. Reading tables needs ``pip install 'gramian[tables]'``.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pyarrow
import pyarrow.parquet
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, open_table

X, y = load_digits(return_X_y=True)
train, test, labels, truth = train_test_split(X, y, stratify=y, random_state=0)
folder = TemporaryDirectory()
columns = {f"pixel{j}": train[:, j] for j in range(64)} | {"digit": labels}
pyarrow.parquet.write_table(pyarrow.table(columns), Path(folder.name, "digits.parquet"))

# %%
# ``open_table`` reads no row yet. A first pass over the batches finds means and scales, in constant memory.

table = open_table(Path(folder.name, "digits.parquet"), target="digit", batch_rows=200)
scaler = StandardScaler()
for batch in table:
    scaler.partial_fit(batch.X)
print(f"{table.n_rows} rows, {table.n_features} features, target {table.target!r}")

# %%
# A second pass learns. ``fit_stream`` would take ``scaled_batches`` as it is; the loop is written out here, to judge
# the distance after each batch, by nearest neighbours among the first 500 rows.


def scaled_batches():
    """Yield the batches of the table, scaled."""
    for batch in table:
        yield scaler.transform(batch.X), batch.y


def error_of(learner):
    """Return the error in % of the votes of five neighbours on rows that are not in the table."""
    votes = KNeighborsClassifier(5).fit(learner.transform(scaler.transform(train[:500])), labels[:500])
    return 100 * np.mean(votes.predict(learner.transform(scaler.transform(test))) != truth)


stream = MetricLearner(8, constraints="triplets", random_state=0)
seen, errors = [], []
for batch in scaled_batches():
    stream.partial_fit(*batch)
    seen.append(stream.n_seen_)
    errors.append(error_of(stream))

# %%
# The same rows as an array in a file, of which a batch fit makes several passes.

rows, digits = table.to_npy(folder.name)
whole = MetricLearner(8, constraints="triplets", random_state=0).fit(scaler.transform(rows), digits)
print(f"stream {errors[-1]:.1f} %, batch {error_of(whole):.1f} %")

plain = KNeighborsClassifier(5).fit(scaler.transform(train[:500]), labels[:500])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(seen, errors, "o-", label="stream, after each batch")
axes.axhline(error_of(whole), color="tab:orange", label="batch fit")
wrong = 100 * np.mean(plain.predict(scaler.transform(test)) != truth)
axes.axhline(wrong, color="grey", linestyle=":", label="64 pixels")
axes.set(xlabel="rows learned from", ylabel="error of 5 neighbours in %", ylim=(0, None), title="8 numbers per image")
axes.legend()
plt.show()
folder.cleanup()
