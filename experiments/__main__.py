"""The command line, described in the package's docstring."""

from __future__ import annotations

import argparse
import sys

from experiments.experiment import find_experiments
from experiments.page import write_page
from experiments.runner import Outcome, ResultsFolder, run_experiments


def main(arguments: list[str] | None = None) -> int:
    """Run experiments, write the page, and return how many failed; without --quick, missing data count as failures."""
    experiments = find_experiments()
    known = [experiment.name for experiment in experiments]
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The paper, reproduced.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"all by default; there are {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="small settings, into build/experiments/")
    parser.add_argument("--jobs", type=int, default=1, help="experiments at a time; times measured suffer")
    parser.add_argument("--force", action="store_true", help="run again what is finished")
    parser.add_argument("--page", action="store_true", help="only write the page from what is finished")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(known))
    if unknown:
        parser.error(f"{', '.join(unknown)}: unknown. There are {', '.join(known)}.")
    results = ResultsFolder.default(chosen.quick)
    wanted = [experiment for experiment in experiments if not chosen.names or experiment.name in chosen.names]
    outcome = Outcome([], [])
    if not chosen.page:
        outcome = run_experiments(wanted, results, jobs=chosen.jobs, force=chosen.force)
    write_page(experiments, results)
    print(f"The page is {results.folder / 'README.md'}")
    if outcome.failed:
        print(f"{', '.join(outcome.failed)}: failed")
    if outcome.missing_data:
        print(f"{', '.join(outcome.missing_data)}: left out, their data are missing")
    # A quick run checks that the experiments run, for which it may lack some data.
    return len(outcome.failed) + (0 if chosen.quick else len(outcome.missing_data))


if __name__ == "__main__":
    sys.exit(main())
