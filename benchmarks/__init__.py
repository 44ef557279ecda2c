"""Benchmarks: Gramian's speed and accuracy beside a peer's, a bare matrix product or plain NumPy, in one run.

    python -m benchmarks.report               all benchmarks: the table of goals, results.json and docs/measured.md
    python -m benchmarks.report iteration     only this one; `SECTIONS` of benchmarks/report.py lists them
    python -m benchmarks.iteration            only printed, nothing is stored

Each module defines `main()`, which prints what it measures and returns a list of `Row`, or None where its data set is
missing. BLAS threads are fixed: one, or the environment variable GRAMIAN_BENCH_THREADS.
"""
