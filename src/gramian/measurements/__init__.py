"""Measurements: what is seen of W, always linear in W and always through the image Z = X G of the samples.

To add a kind of measurement, write one file with a class that has the methods of `Measurement`, and one line here.
"""

from gramian.measurements.dense import Dense
from gramian.measurements.each import Each
from gramian.measurements.measurement import Measurement
from gramian.measurements.pairs import Pairs
from gramian.measurements.triplets import Triplets

__all__ = ["MEASUREMENTS", "Dense", "Each", "Measurement", "Pairs", "Triplets"]

MEASUREMENTS: dict[str, type[Measurement]] = {
    "each": Each,
    "pairs": Pairs,
    "triplets": Triplets,
    "dense": Dense,
}
