"""
Search in large collections: FAISS
==================================

A learned distance is plain Euclidean distance after a linear map. So any index of nearest neighbours serves it: store
``transform(X)`` as float32, and map queries in the same way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner

X, y = load_digits(return_X_y=True)
base, queries, labels, truth = train_test_split(X, y, test_size=200, stratify=y, random_state=0)
scaler = StandardScaler().fit(base)
learner = MetricLearner(8, constraints="triplets", random_state=0).fit(scaler.transform(base), labels)

# %%
# One matrix holds scaler and map together: ``x @ A + b``. These arrays, contiguous float32, are what FAISS, hnswlib or
# a database want.

A = np.ascontiguousarray((learner.components_ / scaler.scale_).T, dtype=np.float32)
b = (-scaler.mean_ @ A).astype(np.float32)
vectors = np.ascontiguousarray(base @ A + b, dtype=np.float32)
asked = np.ascontiguousarray(queries @ A + b, dtype=np.float32)
assert np.allclose(asked, learner.transform(scaler.transform(queries)), atol=1e-3)

# %%
# With FAISS where it is installed; by NumPy otherwise. Both are exact, and give the same neighbours.

try:
    import faiss

    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    neighbours = index.search(asked, 6)[1]
except ImportError:
    squared = np.sum(asked**2, axis=1)[:, None] - 2 * asked @ vectors.T + np.sum(vectors**2, axis=1)
    neighbours = np.argsort(squared, axis=1)[:, :6]
print(f"first neighbour of the same digit: {np.mean(labels[neighbours[:, 0]] == truth):.1%}")

figure, panels = plt.subplots(5, 7, figsize=(7, 5.4), layout="constrained")
for row, query, found in zip(panels, queries[:5], neighbours[:5], strict=True):
    for axes, image in zip(row, [query, *base[found]], strict=True):
        axes.imshow(image.reshape(8, 8), cmap="gray_r")
        axes.set(xticks=[], yticks=[])
    for spine in row[0].spines.values():
        spine.set(color="tab:red", linewidth=2)
figure.suptitle("queries (red) and their six nearest images, by 8 numbers each")
plt.show()
