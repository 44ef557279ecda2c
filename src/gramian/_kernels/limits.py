"""Limits on the length of one step, shared by the geometries and the kernels."""

# One step changes W by a factor of at most e². A step that overflows is rejected, but one that shrinks W to 0 could
# never be undone.
LARGEST_EXPONENT = 2.0
# The largest norm of ξ in a frame's step U + ξ.
LONGEST = 100.0
