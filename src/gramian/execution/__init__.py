"""Execution: how the work on the blocks of a problem is carried out. One class, one method; solvers never see it."""

from gramian.execution.serial import Execution, Serial

__all__ = ["Execution", "Serial"]
