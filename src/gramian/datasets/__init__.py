"""The data sets of the paper and some more, by name.

    >>> from gramian import datasets
    >>> datasets.load("iris")
    Dataset('iris': 150 x 4, float64, 3 classes)

Samples come as they were published, but for what `describe(name)` says was prepared (constant columns, missing values,
logarithms). They are **not** standardised: the paper's "centred and rescaled to unit standard deviation" is for the
samples learned from, so it is the experiment's part. `raw=True` leaves out the preparation too. Labels are integers
from 0.

`load` looks in scikit-learn, in the folder GRAMIAN_DATA, in the cache (`cache_folder()`), and then asks OpenML.
Labels from OpenML are numbered in the order that the files here have, else sorted (numbers by value). No copy from
OpenML was compared with the files, so each is checked for its size, and has a standard test set only where its last
rows have the class counts of one.

Two sets of the paper's table could not be had. `gyrb` is a planted kernel in place of GyrB; `arcene` and `gordon_lung`
stand in for the Prostate spectra.
"""

from gramian.datasets.dataset import Dataset
from gramian.datasets.loading import NotAtHand, at_hand, describe, digits_389, gyrb, load, names
from gramian.datasets.store import cache_folder

__all__ = ["Dataset", "NotAtHand", "at_hand", "cache_folder", "describe", "digits_389", "gyrb", "load", "names"]
