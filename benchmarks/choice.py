"""What the choice between plans costs: its seconds over those of the rest of the fit.

    python -m benchmarks.choice

The samples are the training halves of at most 5000 standardised ones. A fit is timed three times, and the median of
the ratio is taken.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from benchmarks.data import load_half
from benchmarks.neighbours import run_quietly
from benchmarks.rows import Row
from gramian import MetricLearner
from harness.timing import print_heading

#: The cost is to be at most this number of fits.
GOAL = 3.0
RANKS = (2, 5, 10, None)
SETS = ("iris", "wine", "sonar", "ionosphere", "pima", "movement_libras", "digits", "pendigits", "usps", "isolet")
SAMPLES, TURNS = 5000, 3
#: With more features than this full rank is left out: a fit takes minutes.
LARGEST_FULL = 300
#: The key of `timings_` under which the seconds of the choice are.
PHASE = "choosing a plan"


class Cost(NamedTuple):
    """The seconds of a fit without those of the choice, and those of the choice over them."""

    seconds: float
    ratio: float


def measure(rank: int | None, X: np.ndarray, y: np.ndarray) -> Cost:
    """Return the medians of the cost over some fits."""
    costs = []
    for _ in range(TURNS):
        begin = perf_counter()
        learner = MetricLearner(rank, random_state=0).fit(X, y)
        choosing = learner.timings_[PHASE]
        rest = perf_counter() - begin - choosing
        costs.append(Cost(rest, choosing / rest))
    return Cost(*np.median(np.array(costs), axis=0))


@run_quietly()
def main() -> list[Row]:
    """Print the table, and return a row for each rank."""
    print_heading("Seconds of a fit, and those of the choice over them")
    print(f"{'':18}" + "".join(f"{'full rank' if rank is None else f'rank {rank}':>18}" for rank in RANKS))
    found: dict[int | None, dict[str, Cost]] = {rank: {} for rank in RANKS}
    for name in SETS:
        data = load_half(name, SAMPLES)
        if data is None:
            print(f"{name}: left out, it is not stored")
            continue
        X, labels, cells = data[0], data[2], []
        MetricLearner(2, random_state=0).fit(X[:200], labels[:200])  # kernels are compiled before timing
        for rank in RANKS:
            if X.shape[1] > LARGEST_FULL if rank is None else rank >= X.shape[1]:
                cells.append(f"{'':18}")
                continue
            cost = found[rank][name] = measure(rank, X, labels)
            cells.append(f"{cost.seconds:9.2f} s{cost.ratio:7.1f}")
        print(f"{name:18}" + "".join(cells), flush=True)
    rows = []
    for rank, costs in found.items():
        if not costs:
            continue
        worst = max(costs, key=lambda name: costs[name].ratio)
        most, middle = costs[worst].ratio, np.median([cost.ratio for cost in costs.values()])
        words = "full rank" if rank is None else f"rank {rank}"
        detail = f"largest on {worst}, {costs[worst].seconds:.3f} s a fit; median of {len(costs)} sets {middle:.1f}"
        rows.append(Row(f"cost of the choice, {words}", "fits", most, GOAL, at_most=True, detail=detail))
    return rows


if __name__ == "__main__":
    main()
