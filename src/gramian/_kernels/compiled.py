"""How the kernels are compiled: cached on disk, sums reassociated and contracted, nothing else of fast-math."""

from numba import njit

compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")
