"""The signs of eigenvectors."""

from __future__ import annotations

import numpy as np

from gramian.types import Matrix

__all__ = ["align_signs"]


def align_signs(vectors: Matrix) -> Matrix:
    """Return vectors, (n, k), each with its largest entry positive."""
    return vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])
