"""What the kernels of the search by groups compute, by sorts of all distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._kernels.minima import LANES, WIDTH

__all__ = ["nearest_in_groups", "update_minima"]


def update_minima(distances: Any, anchors: Any, starts: Any, stops: Any, start: Any, near: Any, far: Any) -> None:
    """Lower the least distances of the groups of one segment by a part of it, for a tile of anchors, in place."""
    at, segment = np.arange(start, start + distances.shape[1]), start // WIDTH
    for i, anchor in enumerate(anchors):
        same = (starts[i] <= at) & (at < stops[i])
        for minima, chosen, first in ((near, same & (at != anchor), starts[i] // WIDTH), (far, ~same, 0)):
            if chosen.any():
                columns = (segment - first) * LANES + at[chosen] % LANES
                np.minimum.at(minima[i], columns, distances[i, chosen])


def nearest_in_groups(
    Z: Any,
    squares: Any,
    order: Any,
    anchors: Any,
    starts: Any,
    stops: Any,
    minima: Any,
    rounding: Any,
    own: Any,
    distances: Any,
    indices: Any,
) -> None:
    """Write the nearest samples of anchors, of their class or of others; no use is made of the minima."""
    at, k = np.arange(len(Z)), distances.shape[1]
    distances[:], indices[:] = np.inf, -1
    for i, anchor in enumerate(anchors):
        chosen = np.flatnonzero((((starts[i] <= at) & (at < stops[i])) == own) & (at != anchor))
        lengths = squares[chosen] - 2 * (Z[chosen] @ Z[anchor])
        ranks = np.lexsort((order[chosen], lengths))[:k]
        distances[i, : len(ranks)], indices[i, : len(ranks)] = lengths[ranks], order[chosen[ranks]]
