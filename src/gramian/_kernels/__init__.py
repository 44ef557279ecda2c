"""Compiled loops over arrays. Tests compare each with a NumPy reference.

The references are in `reference.py`, `reference_logdet.py` and `reference_logdet_metric.py`. The online kernels
(`online.py`, `online_scaled.py` and `online_polar.py`, with `rows.py` and `products.py`) are compared with the generic
online path instead.
"""
