"""Benchmarks, each a ratio in one run: `python -m benchmarks.iteration`, `.online`, `.convergence`."""
