"""Images of a factor and of its velocity, from those of a frame."""

from __future__ import annotations

import numpy as np

from gramian.types import Matrix

__all__ = ["factor_image", "factor_velocity"]


def factor_image(XF: Matrix, root: Matrix | None) -> Matrix:
    """Return the image X F R, shape (N, r), from X F (N, k) and the root R; None stands for the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import factor_image
    >>> factor_image(np.ones((1, 2)), np.array([[1.0], [2.0]]))
    array([[3.]])
    """
    return XF if root is None else XF @ root


def factor_velocity(XF: Matrix, XT: Matrix | None, root: Matrix | None, root_velocity: Matrix | None) -> Matrix:
    """Return d(X F R)/ds, shape (N, r), from X F, X dF/ds, R and dR/ds; a velocity None stands for zero.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.geometries import factor_velocity
    >>> factor_velocity(np.ones((1, 1)), np.array([[2.0]]), np.array([[3.0]]), None)
    array([[6.]])
    """
    if XT is None and root_velocity is None:
        return np.zeros_like(factor_image(XF, root))
    if XT is None:
        return XF @ root_velocity
    frame_part = factor_image(XT, root)
    return frame_part if root_velocity is None else frame_part + XF @ root_velocity
