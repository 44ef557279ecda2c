"""Compiled loops, each a function of arrays beside a NumPy reference (`reference.py`) that tests compare it with.

The reference of the online kernels (`online.py`, `online_scaled.py`) is the generic path of `gramian.streams`, which
tests run beside them.
"""
