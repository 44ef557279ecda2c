"""What the library promises, and the tests that check it. `harness.trust` makes docs/trust.md of this list."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PROMISES", "Promise"]


class Promise(NamedTuple):
    """A promise, how it is tested, and the tests: files, or single functions as `file::function`."""

    text: str
    method: str
    tests: tuple[str, ...]


ESTIMATORS = ("metric", "regressor", "kernel", "mds", "subspace")

PROMISES = [
    Promise(
        "Data in any unit gives the same answer in the user's units, or a refusal that names the scale.",
        "every learner on data multiplied by powers of two, in float32 and float64",
        ("tests/test_scales.py", "tests/test_coordinates.py"),
    ),
    Promise(
        "A fit of extreme data ends at a finite factor, or is refused.",
        "random scales of data, targets and starts on every geometry",
        ("tests/solvers/test_extremes.py",),
    ),
    Promise(
        "What cannot be used is refused, by an error that names the argument, what came and what to do.",
        "every estimator and baseline, for each kind of bad input",
        ("tests/estimators/test_refusals.py", "tests/test_lowlevel_messages.py"),
    ),
    Promise(
        "A call that raises leaves the estimator as it was; `fit_stream` keeps the batches before. Ctrl-C in the "
        "iterations ends the fit with the best point.",
        "attributes compared before and after",
        (
            *(f"tests/estimators/test_{name}.py::test_bad_input_is_refused_and_nothing_is_lost" for name in ESTIMATORS),
            "tests/estimators/test_regressor.py::test_a_fit_that_fails_leaves_the_estimator_as_it_was",
            "tests/estimators/test_regressor.py::test_a_bad_batch_leaves_the_stream_as_it_was",
            "tests/estimators/test_subspace.py::test_a_bad_batch_leaves_the_stream_as_it_was",
            "tests/estimators/test_mds.py::test_an_invalid_update_leaves_the_embedding_unchanged",
            "tests/baselines/test_baselines_kernels.py::test_invalid_input_is_refused_and_leaves_the_model_unchanged",
        ),
    ),
    Promise(
        "A mistake in a low-level call ends in a clear error or in the right result, never in a crash.",
        "random shapes, indices and dtypes in a process of their own",
        ("tests/test_lowlevel_shapes.py",),
    ),
    Promise(
        "A damaged file of a data set cannot corrupt memory, run code or reserve gigabytes: it is refused by its name.",
        "random mutations of files, loaded in processes of limited memory",
        ("tests/datasets/test_datasets_mutations.py",),
    ),
    Promise(
        "A saved model comes back to the last bit, and a write that fails leaves the old file as it was.",
        "models of every kind and state saved and loaded; writes that fail midway",
        ("tests/files/test_round_trips.py", "tests/files/test_writing.py"),
    ),
    Promise(
        "A damaged or hostile model file is refused, or loads as it was; it cannot run code or reserve gigabytes.",
        "random mutations and hostile files, loaded under an audit hook in processes of limited memory",
        ("tests/files/test_model_mutations.py",),
    ),
    Promise(
        "Damaged or missing machine code on disk is compiled again; a read-only installation works.",
        "cache files cut, emptied and changed; no writable folder",
        ("tests/_kernels/test_cache.py",),
    ),
    Promise(
        "Compiled kernels equal their NumPy references and read nothing out of bounds.",
        "each kernel compiled, as plain Python, and compiled with checks of every index",
        (
            "tests/_kernels/test_kernels.py",
            "tests/_kernels/test_kernels_logdet.py",
            "tests/solvers/test_online.py::test_compiled_descent_equals_generic_descent",
        ),
    ),
    Promise(
        "Threads never change a bit of a result, neither ours nor those of BLAS.",
        "fits with 1, 2 and 3 threads, and with 1 and 2 of BLAS, compared, every bit",
        (
            "tests/execution/test_execution.py",
            "tests/test_identities.py::test_every_execution_gives_the_bits_of_serial",
        ),
    ),
    Promise(
        "Gradients, metrics, curves and losses are what their formulas say.",
        "identities on every registered geometry, loss and measurement; broken parts are detected",
        (
            "tests/test_identities.py",
            "tests/losses/test_losses.py",
            "tests/measurements/test_measurements.py",
            "tests/contracts/test_contracts.py",
        ),
    ),
    Promise(
        "The cost of a batch solver never increases, and data without noise is recovered.",
        "every batch solver on every geometry; recovery on those of fixed rank",
        (
            "tests/test_identities.py::test_cost_never_increases_with_any_batch_solver",
            "tests/solvers/test_solvers.py::test_noise_free_data_is_recovered",
        ),
    ),
    Promise(
        "Every fit says how it ended, and is called converged only if a stopping rule held.",
        "every estimator and baseline; every ending of the loop",
        ("tests/solvers/test_endings.py", "tests/estimators/test_estimator_messages.py"),
    ),
    Promise(
        "A seed fixes the result.",
        "two fits compared",
        (
            "tests/estimators/test_regressor.py::test_a_seed_fixes_the_result",
            "tests/estimators/test_mds.py::test_a_seed_fixes_a_random_start",
            "tests/estimators/test_subspace.py::test_a_seed_fixes_the_result_and_another_changes_it",
            "tests/solvers/test_online.py::test_a_seed_makes_the_result_reproducible",
            "tests/solvers/test_growing.py::test_a_seed_makes_the_result_reproducible",
        ),
    ),
    Promise(
        "float32 data gives float32 results.",
        "dtypes of factors, transforms and predictions",
        tuple(f"tests/estimators/test_{name}.py::test_float32_in_float32_out" for name in ESTIMATORS),
    ),
    Promise(
        "The estimators keep scikit-learn's conventions.",
        "scikit-learn's own checks of every public estimator",
        (
            "tests/estimators/test_estimator_checks.py",
            *(f"tests/estimators/test_{name}.py::test_estimator_check" for name in ESTIMATORS if name != "regressor"),
            "tests/baselines/test_baselines_kernels.py::test_estimator_check",
            "tests/baselines/test_baselines_mahalanobis.py::test_estimator_check",
        ),
    ),
    Promise(
        "The examples in README, CONTRIBUTING and docs run and give what they show.",
        "doctests of the pages; links and names",
        ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "tests/test_docs.py"),
    ),
]
