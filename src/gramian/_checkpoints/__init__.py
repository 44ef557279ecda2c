"""Checkpoints: the state of a fit in a file, from which the same fit goes on."""

from gramian._checkpoints.file import CheckpointDamaged, check_place
from gramian._checkpoints.fingerprint import describe, differences
from gramian._checkpoints.session import Checkpoint, NoCheckpoint

__all__ = ["Checkpoint", "CheckpointDamaged", "NoCheckpoint", "check_place", "describe", "differences"]
