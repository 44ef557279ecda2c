"""Data in blocks that workers hold: dask arrays and data frames, lists of files, lists of sparse blocks.

`open_blocks` turns such data into `BlockedFeatures`, which estimators use as they use an array: sums over samples run
beside the blocks, terms of an objective are split over them, and only samples that are asked for come to the driver.
"""

from gramian.blocked.features import BlockedFeatures
from gramian.blocked.opening import compute_values, gather_values, is_blocked, name_target, open_blocks, read_targets
from gramian.blocked.sources import is_in_files
from gramian.blocked.split import SplitReport

__all__ = [
    "BlockedFeatures",
    "SplitReport",
    "compute_values",
    "gather_values",
    "is_blocked",
    "is_in_files",
    "name_target",
    "open_blocks",
    "read_targets",
]
