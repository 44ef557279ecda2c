"""The command line: see the package's docstring."""

from __future__ import annotations

import argparse
import sys

from experiments.experiment import discovered
from experiments.page import publish
from experiments.runner import Outcome, Place, finish


def main(arguments: list[str] | None = None) -> int:
    """Run what is not finished, write the page, and return how many experiments failed or, at full size, lack data."""
    experiments = discovered()
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
    place = Place.usual(chosen.quick)
    wanted = [experiment for experiment in experiments if not chosen.names or experiment.name in chosen.names]
    ends = Outcome([], []) if chosen.page else finish(wanted, place, jobs=chosen.jobs, force=chosen.force)
    publish(experiments, place)
    print(f"The page is {place.folder / 'README.md'}")
    for names, word in ((ends.failed, "failed"), (ends.lacking, "left out, their data not being at hand")):
        if names:
            print(f"{', '.join(names)}: {word}")
    # In small it is enough that what can be run does run.
    return len(ends.failed) + (0 if chosen.quick else len(ends.lacking))


if __name__ == "__main__":
    sys.exit(main())
