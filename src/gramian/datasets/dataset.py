"""The value that `load` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.types import Rows, Vector

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples and labels, with the names of features and classes if they are known.

    Attributes
    ----------
    name : str
    X : array or CSR matrix, shape (n, d)
        Not standardised: fit the scaler on the training samples.
    y : array of int, shape (n,)
        0 .. classes-1.
    test : array of bool, shape (n,), or None
        True for the samples of the standard test set; None if there is no such set.
    feature_names, target_names : tuple of str
        Empty if unknown; the class of sample i is `target_names[y[i]]`.
    description : str
        Origin, licence and preparation.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.datasets import Dataset
    >>> dataset = Dataset("toy", np.eye(4), np.array([0, 1, 0, 1]), test=np.array([False, False, True, True]))
    >>> dataset
    Dataset('toy': 4 x 4, float64, 2 classes, 2 test samples)
    >>> X_train, X_test, y_train, y_test = dataset.split()
    >>> X_train.shape, y_test.tolist()
    ((2, 4), [0, 1])
    """

    name: str
    X: Any
    y: Vector
    test: Vector | None = None
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    description: str = ""

    @property
    def n_classes(self) -> int:
        """Return the number of different labels."""
        return len(np.unique(self.y))

    def split(self) -> tuple[Any, Any, Vector, Vector]:
        """Return X_train, X_test, y_train, y_test of the standard split."""
        if self.test is None:
            raise ValueError(
                f"{self.name!r} has no standard split. "
                "Draw one: sklearn.model_selection.train_test_split(dataset.X, dataset.y)."
            )
        return self.X[~self.test], self.X[self.test], self.y[~self.test], self.y[self.test]

    def take(self, rows: Rows) -> Dataset:
        """Return the data set of some samples, given by their indices, in that order; labels and split follow."""
        test = None if self.test is None else self.test[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], test=test)

    def __repr__(self) -> str:
        n, d = self.X.shape
        kind = "sparse " if hasattr(self.X, "nnz") else ""
        tests = "" if self.test is None else f", {int(self.test.sum())} test samples"
        return f"Dataset({self.name!r}: {n} x {d}, {kind}{self.X.dtype}, {self.n_classes} classes{tests})"
