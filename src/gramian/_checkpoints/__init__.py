"""Checkpoints: the state of a fit in a file, from which the same fit goes on."""

from gramian._checkpoints.file import CheckpointDamaged, check_place
from gramian._checkpoints.fingerprint import describe, differences, hash_texts
from gramian._checkpoints.session import Checkpoint, NoCheckpoint
from gramian._checkpoints.stream import StreamCheckpoint

__all__ = [
    "Checkpoint",
    "CheckpointDamaged",
    "NoCheckpoint",
    "StreamCheckpoint",
    "check_place",
    "describe",
    "differences",
    "hash_texts",
]
