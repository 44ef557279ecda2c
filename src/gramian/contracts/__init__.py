"""Contracts: what a loss, a measurement or a geometry must keep, as functions that can be run on any of them.

A part need not be in this package, nor in a registry, to be checked:

    check_loss(loss)
    check_measurement(measurement, features, matrices)
    check_geometry(geometry)

Each runs one function for every identity and raises an AssertionError that names the identity that is broken, the
numbers, and what they mean. The tests of this package run the same functions over its registries.
"""

from gramian.contracts.geometry import check_geometry
from gramian.contracts.loss import LOSS_IDENTITIES, check_loss
from gramian.contracts.measurement import MEASUREMENT_IDENTITIES, check_measurement

__all__ = ["LOSS_IDENTITIES", "MEASUREMENT_IDENTITIES", "check_geometry", "check_loss", "check_measurement"]
