"""Measurements: linear functions trace(W X_i) of W, computed from the image Z = X G of the samples.

To add a kind of measurement, write one file with a subclass of `Measurement` and add one line to `MEASUREMENTS` below.
Its abstract methods are explained in `measurement.py`. `gramian.contracts.check_measurement` compares them with the
explicit matrices X_i.
"""

from gramian.measurements.dense import Dense
from gramian.measurements.each import Each
from gramian.measurements.entries import Entries
from gramian.measurements.measurement import Example, Measurement
from gramian.measurements.pairs import Pairs
from gramian.measurements.quadruplets import Quadruplets
from gramian.measurements.triplets import Triplets

__all__ = ["MEASUREMENTS", "Dense", "Each", "Entries", "Example", "Measurement", "Pairs", "Quadruplets", "Triplets"]

MEASUREMENTS: dict[str, type[Measurement]] = {
    "each": Each,
    "pairs": Pairs,
    "triplets": Triplets,
    "quadruplets": Quadruplets,
    "entries": Entries,
    "dense": Dense,
}
