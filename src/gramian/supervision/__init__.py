"""Supervision: what is asked of a distance. One object a kind, each in a file.

To add a kind, write one file with a `Supervision` and one line in `SUPERVISIONS`. `MetricLearner.fit_supervised` learns
from any of them; kinds that are made from class labels can also be named in `MetricLearner(constraints=...)`.
"""

from gramian.situation import Situation
from gramian.supervision.choice import LabelChoice
from gramian.supervision.labels import LabelPairs, LabelTriplets
from gramian.supervision.neighbourhoods import LabelNeighbourhoods, LabelStart
from gramian.supervision.pairs import GivenPairs
from gramian.supervision.quadruplets import GivenQuadruplets
from gramian.supervision.sampling import labelled_pairs, nearest_triplets, random_pairs
from gramian.supervision.supervision import Begun, Plan, Supervision
from gramian.supervision.targets import Targets
from gramian.supervision.triplets import GivenTriplets

__all__ = [
    "SUPERVISIONS",
    "Begun",
    "GivenPairs",
    "GivenQuadruplets",
    "GivenTriplets",
    "LabelChoice",
    "LabelNeighbourhoods",
    "LabelPairs",
    "LabelStart",
    "LabelTriplets",
    "Plan",
    "Situation",
    "Supervision",
    "Targets",
    "labelled_pairs",
    "nearest_triplets",
    "random_pairs",
]

SUPERVISIONS: dict[str, type[Supervision]] = {
    "auto": LabelChoice,
    "neighbourhoods": LabelNeighbourhoods,
    "triplets": LabelTriplets,
    "pairs": LabelPairs,
    "start": LabelStart,
    "given pairs": GivenPairs,
    "given triplets": GivenTriplets,
    "given quadruplets": GivenQuadruplets,
    "targets": Targets,
}
