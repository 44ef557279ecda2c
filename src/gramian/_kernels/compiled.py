"""The decorator that compiles every kernel.

- `cache=True`: the machine code is kept on disk, so a kernel is compiled once per machine, not once per process.
- `nogil=True`: a kernel reads and writes arrays only, never Python objects, so it releases the GIL. Threads that work
  on different blocks of data then run at the same time. Two threads must not give a kernel the same array to write to.
- `fastmath={"reassoc", "contract"}`: sums may be reordered and products fused, which lets loops use vector
  instructions. The other fast-math flags would assume that there is no NaN or infinity, and kernels test for both.
- `error_model="numpy"`: a division by zero gives infinity or NaN, as in NumPy, not an exception.
"""

from numba import njit

compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")
