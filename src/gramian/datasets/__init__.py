"""The data sets of the paper and a few others, loaded by name.

    >>> from gramian import datasets
    >>> datasets.load("iris")
    Dataset('iris': 150 x 4, float64, 3 classes)

Samples are as published, except for the preparation that `describe(name)` lists (constant columns, missing values,
logarithms); `raw=True` omits it. Samples are **not** standardised: the paper centres and rescales by the statistics of
the training samples, which only an experiment knows. Labels are integers from 0.

`load` searches scikit-learn, the folder GRAMIAN_DATA and the cache (`cache_folder()`), and then downloads from OpenML.
Labels from OpenML are encoded in the order of the original files, else sorted (numbers by value). Copies from OpenML
were not compared with these files. So each download is checked for its size, and it has a standard test set only if
its last rows have the class counts of the known one.

Two sets of the paper's table are not available. `gyrb` is a synthetic kernel in place of GyrB; `arcene` and
`gordon_lung` stand in for the Prostate spectra.
"""

from gramian.datasets.dataset import Dataset
from gramian.datasets.loading import DatasetNotFound, describe, digits_389, gyrb, is_available, load, names
from gramian.datasets.store import DatasetDamaged, cache_folder

__all__ = [
    "Dataset",
    "DatasetDamaged",
    "DatasetNotFound",
    "cache_folder",
    "describe",
    "digits_389",
    "gyrb",
    "is_available",
    "load",
    "names",
]
