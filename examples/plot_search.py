"""
Image retrieval, and an index in FAISS
======================================

Which images of a collection are like this one? A learned distance is plain Euclidean distance after a linear map. So
any index of nearest neighbours serves it: export the map, store the mapped images as float32, and map queries alike.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import MetricLearner, export_map

X, y = load_digits(return_X_y=True)
base, queries, labels, truth = train_test_split(X, y, test_size=200, stratify=y, random_state=0)
model = make_pipeline(StandardScaler(), MetricLearner(8, constraints="triplets", random_state=0)).fit(base, labels)

# %%
# ``export_map`` writes scaler and map together as plain arrays: ``z = weight x + bias``. They are all that a program in
# any language needs.

with TemporaryDirectory() as folder:
    export_map(model, Path(folder, "map.npz"))
    arrays = np.load(Path(folder, "map.npz"))
    weight, bias = arrays["weight"], arrays["bias"]


def map_images(images):
    """Return 8 numbers for each image, as contiguous float32: what FAISS, hnswlib or a database wants."""
    return np.ascontiguousarray(images @ weight.T + bias, dtype=np.float32)


assert np.allclose(map_images(queries), model.transform(queries), atol=1e-3)

# %%
# With FAISS where it is installed, ``pip install faiss-cpu``; by NumPy otherwise. Both are exact, and give the same
# neighbours; the line printed says which it was.

try:
    import faiss

    method = "FAISS"

    def search(vectors, asked, count):
        """Return the indices of the nearest vectors of each query, by FAISS."""
        index = faiss.IndexFlatL2(vectors.shape[1])
        index.add(vectors)
        return index.search(asked, count)[1]

except ImportError:
    method = "NumPy, faiss-cpu is not installed"

    def search(vectors, asked, count):
        """Return the indices of the nearest vectors of each query, by all squared distances."""
        squared = np.sum(asked**2, axis=1)[:, None] - 2 * asked @ vectors.T + np.sum(vectors**2, axis=1)
        return np.argsort(squared, axis=1)[:, :count]


# %%
# How many of the ten nearest images show the same digit? Beside the map: all 64 pixels.

plain = search(base.astype(np.float32), queries.astype(np.float32), 10)
neighbours = search(map_images(base), map_images(queries), 10)
for name, found in (("64 pixels", plain), ("8 learned numbers", neighbours)):
    print(f"{method}, {name}: precision at 10 is {np.mean(labels[found] == truth[:, None]):.1%}")

# %%
# Five queries, those for which pixels mislead most, with their seven nearest images. Images of other digits are framed.

hard = np.argsort(np.mean(labels[plain] == truth[:, None], axis=1), kind="stable")[:5]
figure, panels = plt.subplots(5, 15, figsize=(11, 4.2), layout="constrained")
for row, query in zip(panels, hard, strict=True):
    images = [queries[query], *base[plain[query, :7]], *base[neighbours[query, :7]]]
    digits = [truth[query], *labels[plain[query, :7]], *labels[neighbours[query, :7]]]
    for axes, image, digit in zip(row, images, digits, strict=True):
        axes.imshow(image.reshape(8, 8), cmap="gray_r")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color="tab:red" if digit != truth[query] else "lightgrey", linewidth=1.5)
panels[0, 0].set_title("query")
panels[0, 4].set_title("by 64 pixels")
panels[0, 11].set_title("by 8 learned numbers")
plt.show()
