"""Claims and figure of the experiments on distances of low rank, from the records of `low_rank`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.errors import dataset_names, error_spread, mean_error
from experiments.experiment import Claim, Records, Verdict, fails, holds, in_part
from experiments.low_rank import FIXED

__all__ = ["find_ranks", "judge_cases", "make_claims", "plot_errors"]

#: Data set and rank to an error.
Reference = Callable[[str, int], float]

BATCH = ("flat", "polar")
ONLINE = ("flat, online", "polar, online")
RIVALS = ("LEGO", "LMNN", "ITML")
#: Colour, marker and line of each curve; colours that the colour-blind tell apart.
STYLES = {
    "flat": ("#0072B2", "o", "-"),
    "polar": ("#56B4E9", "s", "-"),
    "flat, online": ("#0072B2", "o", ":"),
    "polar, online": ("#56B4E9", "s", ":"),
    FIXED: ("#56B4E9", "D", "--"),
    "LEGO": ("#E69F00", "v", "-"),
    "LMNN": ("#D55E00", "^", "-"),
    "ITML": ("#CC79A7", "<", "-"),
    "PCA": ("0.45", "", "--"),
    "NCA": ("0.45", "x", "-"),
    "triplets": ("#009E73", "*", "-"),
}
LABELS = {method: f"{method} after PCA" for method in (*RIVALS, "NCA")} | {"triplets": "triplets (default)"}
#: An error is much below another if it is at most this share of it.
MUCH = 2 / 3
MEANING = "Much better is taken to mean: at most two thirds of the error."
#: Where some method falls short at larger ranks alone.
LARGE = "Perhaps principal directions hold most of what matters at larger ranks, so that a projection costs little."
#: Ranks that are very small.
SMALL = 5


def find_ranks(records: Records) -> list[int]:
    """Return the ranks, ascending."""
    return sorted({row["rank"] for row in records if row["method"] == "PCA"})


def plot_errors(records: Records) -> Any:
    """Plot errors against the rank, a panel per data set and a curve per method."""
    from matplotlib.figure import Figure

    sets = dataset_names(records)
    figure = Figure(figsize=(3.4 + 3.2 * len(sets), 4.2), layout="constrained")
    panels = figure.subplots(1, len(sets), squeeze=False)[0]
    for axes, name in zip(panels, sets, strict=True):
        draw_panel(axes, records, name)
    panels[0].set_ylabel("5-NN error, %")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9)
    return figure


def draw_panel(axes: Any, records: Records, name: str) -> None:
    """Plot the errors on one data set; the axis is logarithmic where errors differ widely."""
    ranks, least, most = find_ranks(records), np.inf, 0.0
    for method, (colour, marker, line) in STYLES.items():
        heights = [mean_error(records, dataset=name, method=method, rank=rank) for rank in ranks]
        spreads = [error_spread(records, dataset=name, method=method, rank=rank) for rank in ranks]
        if not np.isnan(heights).all():
            look = {"color": colour, "marker": marker, "ls": line, "ms": 5, "lw": 1.4, "elinewidth": 0.8}
            axes.errorbar(ranks, heights, spreads, label=LABELS.get(method, method), **look)
            least, most = min(least, *heights), max(most, *heights)
    axes.axhline(mean_error(records, dataset=name, method="Euclid"), color="black", lw=1, label="Euclid, all features")
    axes.set(xscale="log", xticks=ranks, xticklabels=ranks, xlabel="rank", title=name.replace("_", " "))
    if most > 10 * least > 10:
        ticks = (2, 5, 10, 20, 50)
        axes.set(yscale="log", yticks=ticks, yticklabels=ticks, ylim=(0.8 * least, None))
    else:
        axes.set_ylim(bottom=0)
    axes.minorticks_off()
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)


def method_errors(records: Records, name: str, methods: tuple[str, ...], rank: int) -> dict[str, float]:
    """Return, by method, the mean errors of the methods that have rows."""
    found = {method: mean_error(records, dataset=name, method=method, rank=rank) for method in methods}
    return {method: value for method, value in found.items() if not np.isnan(value)}


def least_projected_error(records: Records, name: str, rank: int) -> float:
    """Return the least mean error of the paper's competitors, which learn after a projection."""
    return min(method_errors(records, name, RIVALS, rank).values())


def error_gaps(records: Records, name: str) -> dict[int, float]:
    """Return, by rank, the least error of a competitor minus the mean error of flat and polar, in points."""
    gap = {}
    for rank in find_ranks(records):
        ours = method_errors(records, name, BATCH, rank).values()
        gap[rank] = least_projected_error(records, name, rank) - sum(ours) / len(ours)
    return gap


def format_numbers(numbers: Iterable[float], digits: int = 1) -> str:
    """Return numbers as text, separated by commas."""
    # Adding 0 makes a rounded -0 positive.
    return ", ".join(f"{round(number, digits) + 0.0:.{digits}f}" for number in numbers)


def judge_cases(good: list[str], bad: list[str], measured: str, why: str = "") -> Verdict:
    """Return the verdict: holds without bad cases, holds in part with good and bad ones."""
    if not bad:
        return holds(measured, why)
    return (in_part if good else fails)(measured, f"Not so: {'; '.join(bad)}. {why}".strip())


def compare_errors(records: Records, ranks: list[int], ours: tuple[str, ...], theirs: str, least: Reference) -> Verdict:
    """Check that some methods' errors are at most MUCH times a reference, at each rank and on each data set."""
    good, bad, parts, short = [], [], [], []
    for name in dataset_names(records):
        wanted = [least(name, rank) for rank in ranks]
        lines: list[str] = []
        behind = defaultdict(list)
        for method in ours:
            found = [mean_error(records, dataset=name, method=method, rank=rank) for rank in ranks]
            if np.isnan(found).any():
                continue
            lines.append(f"{method} {format_numbers(found)}")
            off = [r for r, value, most in zip(ranks, found, wanted, strict=True) if value > MUCH * most]
            good += [method] * (len(ranks) - len(off))
            if off:
                behind[format_numbers(off, 0)].append(f"({method})" if "," in method else method)
                short.append(off)
        bad += [f"{' and '.join(methods)} on {name} at rank {off}" for off, methods in behind.items()]
        parts.append(f"{name}: {'; '.join(lines)}; {theirs} {format_numbers(wanted)}")
    measured = f"errors in % at ranks {format_numbers(ranks, 0)}. {'. '.join(parts)}"
    # The reason is one of large ranks: it does not stand where a small one falls short as well.
    large = any(min(ranks) < off[0] and off == ranks[-len(off) :] for off in short)
    return judge_cases(good, bad, measured, f"{MEANING} {LARGE}" if large else MEANING)


def check_overall(records: Records) -> Verdict:
    """Compare every proposed algorithm with the best competitor, at every rank."""
    return check_up_to(max(find_ranks(records)), records)


def check_low_ranks(records: Records) -> Verdict:
    """Compare every proposed algorithm with the best competitor, up to rank 10."""
    return check_up_to(2 * SMALL, records)


def check_up_to(rank: int, records: Records) -> Verdict:
    """Compare every proposed algorithm with the best competitor, up to a rank."""
    ranks = [low for low in find_ranks(records) if low <= rank]
    least = partial(least_projected_error, records)
    return compare_errors(records, ranks, BATCH + ONLINE, "best after projection", least)


def check_striking(records: Records) -> Verdict:
    """Check that the gap to the best competitor is largest at a very small rank."""
    good, bad, parts = [], [], []
    for name in dataset_names(records):
        gap = error_gaps(records, name)
        widest = max(gap, key=lambda rank: gap[rank])
        (good if widest <= SMALL and gap[widest] > 0 else bad).append(f"on {name} it is at rank {widest}")
        parts.append(f"{name}: largest at rank {widest}, {gap[widest]:.1f} points")
    return judge_cases(good, bad, f"gap to the best competitor after projection: {', '.join(parts)}")


def check_gap(records: Records) -> Verdict:
    """Check that the gap to the best competitor falls from each rank to the next."""
    good, bad, parts = [], [], []
    for name in dataset_names(records):
        gap = error_gaps(records, name)
        ranks = list(gap)
        for low, high in pairwise(ranks):
            (good if gap[high] <= gap[low] else bad).append(f"from rank {low} to {high} on {name}")
        parts.append(f"{name} {format_numbers(gap.values())}")
    return judge_cases(
        good, bad, f"gap in points at ranks {format_numbers(find_ranks(records), 0)}: {'; '.join(parts)}"
    )


def check_joint(records: Records) -> Verdict:
    """Compare polar with λ = 0.5 with polar with λ = 0, which keeps the principal subspace."""

    def kept(name: str, rank: int) -> float:
        return mean_error(records, dataset=name, method=FIXED, rank=rank)

    return compare_errors(records, find_ranks(records), ("polar",), "with λ = 0, in the principal subspace,", kept)


def check_satisfactory(records: Records) -> Verdict:
    """Check that flat or polar at some rank is as good as the Euclidean distance of all features."""
    good, bad, parts = [], [], []
    for name in dataset_names(records):
        euclid = mean_error(records, dataset=name, method="Euclid")
        best = {rank: min(method_errors(records, name, BATCH, rank).values()) for rank in find_ranks(records)}
        enough = [rank for rank, value in best.items() if value <= euclid]
        (good if enough else bad).append(name)
        reached = f"from rank {enough[0]}, {best[enough[0]]:.1f} %" if enough else "never"
        parts.append(f"{name}: {reached} (Euclid {euclid:.1f} %)")
    return judge_cases(good, bad, f"as good as the Euclidean distance of all features: {'; '.join(parts)}")


WORDS: dict[str, tuple[str, Callable[[Records], Verdict]]] = {
    "low-rank": (
        "For low values of the rank, the algorithms perform much better than methods that project the data on the top "
        "principal directions and learn a full-rank distance there.",
        check_low_ranks,
    ),
    "overall": ("Overall, much better performance than the methods that first reduce the data.", check_overall),
    "striking": ("This is particularly striking when the rank is very small compared to problem size.", check_striking),
    "gap": ("The performance gap reduces as the rank increases.", check_gap),
    "joint": (
        "A joint estimation of a subspace and a distance in it is a major advantage over estimating the matrix for a "
        "subspace that is fixed beforehand.",
        check_joint,
    ),
    "satisfactory": ("Efficient low-rank approximations that give satisfactory results.", check_satisfactory),
}


def make_claims(prefix: str) -> list[Claim]:
    """Return the paper's claims on distances of low rank, with ids that begin with a prefix."""
    return [Claim(f"{prefix}-{name}", "10.3", words, check) for name, (words, check) in WORDS.items()]
