"""Compiled loops, each a function of arrays beside a NumPy reference (`reference.py`) that tests compare it with."""
