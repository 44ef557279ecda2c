"""Supervision: what is asked of a distance. One object a kind, each in a file.

To add a kind, write one file with a `Supervision` and one line in `SUPERVISIONS`. `MetricLearner.fit_supervised` learns
from any of them; kinds that are made from class labels can also be named in `MetricLearner(constraints=...)`.
"""

from gramian.situation import Situation
from gramian.supervision.labels import LabelPairs, LabelTriplets
from gramian.supervision.pairs import GivenPairs
from gramian.supervision.sampling import labelled_pairs, nearest_triplets, random_pairs
from gramian.supervision.supervision import Begun, Supervision
from gramian.supervision.triplets import GivenTriplets

__all__ = [
    "SUPERVISIONS",
    "Begun",
    "GivenPairs",
    "GivenTriplets",
    "LabelPairs",
    "LabelTriplets",
    "Situation",
    "Supervision",
    "labelled_pairs",
    "nearest_triplets",
    "random_pairs",
]

SUPERVISIONS: dict[str, type[Supervision]] = {
    "triplets": LabelTriplets,
    "pairs": LabelPairs,
    "given pairs": GivenPairs,
    "given triplets": GivenTriplets,
}
