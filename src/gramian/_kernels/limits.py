"""How far one step may go, in the geometries and in the kernels alike."""

# A step changes W by a factor of e² at the most: overflow would only be a rejected trial, collapse is for ever.
LARGEST_EXPONENT = 2.0
# A step of a frame, as the length of ξ in U + ξ.
LONGEST = 100.0
