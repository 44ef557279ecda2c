"""The subspace learned, or fixed up front.

A target W* of eigenvalues 4, 3 and 0.01 is approximated by a W of rank 2: in the plane of the two leading principal
components (λ = 0), or with the plane learned as well (λ = 0.5). All start in that plane with the multiple of the
identity that fits best. The figure shows one problem: the planes; and the points Uᵀx/√y, which lie on the ellipse of
the core R² where the fit is perfect. Claims are judged over all seeds.

The last panel asks when a fixed subspace is worth having: W* of rank 5 in 10 dimensions, a start whose range is some 10
degrees off, and few samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles

from experiments.experiment import Claim, Records, Verdict, fails, holds, in_part
from experiments.toys import COLOURS, PAPER_SOLVER, regression_problem, relative_error, set_ticks, simulate_targets
from gramian import minimize
from gramian.geometries import Polar
from gramian.solvers import GradientDescent
from gramian.starts import fit_scale, initial_factor
from harness.frames import select_rows
from harness.progress import Progress

CAVEATS = (
    "The samples are normal, so they have no principal components to speak of: the plane of PCA is a random one.",
    "Section 8.1 of the paper says that λ = 1 fixes the subspace; λ = 0 does, as section 7.1 says.",
)


@dataclass(frozen=True)
class Config:
    """Settings: the problems in three dimensions, and the problems with few samples."""

    n: int = 200
    eigenvalues: tuple[float, ...] = (4.0, 3.0, 0.01)
    weights: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    tol: float = 1e-5
    seeds: int = 20
    few: tuple[int, ...] = (20, 30, 40, 60, 100, 200)
    d: int = 10
    rank: int = 5
    tilt: float = 0.05
    few_seeds: int = 10
    max_iter: int = 500


QUICK = Config(seeds=2, few=(20, 100), few_seeds=1, max_iter=50)
PAPER = Config()

#: The λ of the paper's default.
DEFAULT = 0.5
FIXED, LEARNED = COLOURS[1], COLOURS[0]
#: An angle in degrees below which subspaces are taken to be the same, given the noise.
SAME = 5.0
#: Train errors closer than this share are taken to be of the same minimum.
EVEN = 0.05
#: A test error is better by enough to matter if it is at most this share of the other.
GAIN = 0.9


def run(config: Config, progress: Progress) -> Records:
    """Return the rows of kind "fit", one per seed and λ; of kind "shown", for the figure; and of kind "few"."""
    fits = progress.rows(product(range(config.seeds), config.weights), lambda case: measure_fit(config, *case))
    shown = progress.rows([0.0, DEFAULT], lambda weight: fit_for_figure(config, weight))
    cases = product(range(config.few_seeds), config.few, (0.0, DEFAULT))
    return fits + shown + progress.rows(cases, lambda case: measure_few_samples(config, *case))


def make_problem(config: Config, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return samples (n, 3), targets (n,), a factor (3, 3) of W* with descending column norms, a start (3, 2)."""
    rng = np.random.default_rng(seed)
    turned = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    truth = turned * np.sqrt(config.eigenvalues)
    X = rng.standard_normal((config.n, 3))
    y = simulate_targets(X, truth, rng)
    return X, y, truth, initial_factor("pca", regression_problem(X, y), 2, rng)


def measure_fit(config: Config, seed: int, weight: float) -> dict[str, Any]:
    """Return the row of a fit with one λ: errors, angles in degrees, and the initial speeds of frame and core."""
    X, y, truth, start = make_problem(config, seed)
    evaluation = regression_problem(X, y).evaluate(Polar(weight).point(start))
    along_frame, along_core = evaluation.point.split(evaluation.gradient)
    result = minimize(evaluation.problem, PAPER_SOLVER, evaluation.point, tol=config.tol, perfect=0)
    G = result.point.G
    return {
        "kind": "fit",
        "seed": seed,
        "weight": weight,
        "train_error": relative_error(G, X, y),
        "from_target": largest_angle(G, truth[:, :2]),
        "from_start": largest_angle(G, start),
        "stretched": eigenvalue_change(G, start),
        "from_truth": float(np.linalg.norm(G @ G.T - truth @ truth.T) / np.linalg.norm(truth @ truth.T)),
        "frame_speed": float(np.linalg.norm(along_frame)),
        "core_speed": float(np.linalg.norm(along_core)),
        "iterations": result.n_iter,
    }


def largest_angle(G: np.ndarray, H: np.ndarray) -> float:
    """Return the largest principal angle between two column spaces, in degrees."""
    return float(np.degrees(subspace_angles(G, H)[0]))


def eigenvalue_change(G: np.ndarray, start: np.ndarray) -> float:
    """Return the largest relative change of an eigenvalue of G Gᵀ."""
    before, after = (np.linalg.svd(factor, compute_uv=False) ** 2 for factor in (start, G))
    return float(np.max(np.abs(after / before - 1)))


def fit_for_figure(config: Config, weight: float) -> dict[str, Any]:
    """Return the row of the first problem's fit: frame, core, and the points that a perfect fit puts on the ellipse."""
    X, y, truth, start = make_problem(config, 0)
    point = minimize(
        regression_problem(X, y), PAPER_SOLVER, Polar(weight).point(start), tol=config.tol, perfect=0
    ).point
    return {
        "kind": "shown",
        "weight": weight,
        "frame": point.frame,
        "core": point.root @ point.root.T,
        "points": np.round(X @ point.frame / np.sqrt(y)[:, None], 4),
        "target": truth[:, :2],
        "samples": np.round(X, 3),
    }


def measure_few_samples(config: Config, seed: int, n: int, weight: float) -> dict[str, Any]:
    """Return the row of a fit with one λ, from few samples and a good estimate of the subspace."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((config.d, config.rank))
    tilted = np.linalg.qr(truth)[0] + config.tilt * rng.standard_normal(truth.shape)
    X = rng.standard_normal((n + 1000, config.d))
    y = simulate_targets(X, truth, rng)
    problem = regression_problem(X[:n], y[:n])
    start = Polar(weight).point(fit_scale(problem, np.linalg.qr(tilted)[0]))
    # Of few samples all can be fitted, slowly; with the paper's line search this would take most of the time.
    G = minimize(problem, GradientDescent(), start, max_iter=config.max_iter, tol=config.tol, perfect=0).point.G
    error = relative_error(G, X[n:], y[n:])
    return {
        "kind": "few",
        "seed": seed,
        "n": n,
        "weight": weight,
        "test_error": error,
        "off": largest_angle(tilted, truth),
    }


def plot(records: Records) -> Any:
    """Plot the planes, the two ellipses, and test errors from few samples."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8.2), layout="constrained")
    fixed, learned = select_rows(records, kind="shown")
    draw_planes(figure.add_subplot(2, 2, 1, projection="3d"), fixed, learned)
    draw_few_samples(figure.add_subplot(2, 2, 2), select_rows(records, kind="few"))
    draw_ellipse(figure.add_subplot(2, 2, 3), fixed, "λ = 0: the plane of PCA, fixed", FIXED)
    draw_ellipse(figure.add_subplot(2, 2, 4), learned, "λ = 0.5: plane and distance learned", LEARNED)
    return figure


def draw_planes(axes: Any, fixed: dict[str, Any], learned: dict[str, Any]) -> None:
    """Plot the samples, the fixed and the learned plane, and the leading eigenvectors of W*."""
    from matplotlib.patches import Patch

    square = np.array(np.meshgrid([-2.5, 2.5], [-2.5, 2.5]))
    for row, colour in ((fixed, FIXED), (learned, LEARNED)):
        axes.plot_surface(*np.tensordot(row["frame"], square, 1), color=colour, alpha=0.35, shade=False)
    axes.scatter(*np.array(learned["samples"]).T, s=4, color="0.5", alpha=0.6)
    for direction in np.array(learned["target"]).T:
        axes.plot(*np.outer(direction / np.linalg.norm(direction), [-3, 3]), color="black", lw=1.5)
    axes.set(title="planes")
    # Lists of no labels collapse the layout of matplotlib 3.8.
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_formatter("")
    axes.set_box_aspect(None, zoom=1.1)
    line = axes.plot([], [], color="black", lw=1.5, label="target's axes")
    patches = [Patch(color=FIXED, alpha=0.35, label="PCA, fixed"), Patch(color=LEARNED, alpha=0.35, label="learned")]
    axes.legend(handles=[*patches, *line], loc="upper left", fontsize=8)


def draw_ellipse(axes: Any, row: dict[str, Any], title: str, colour: str) -> None:
    """Plot the points Uᵀx/√y, and the ellipse where ŷ = y."""
    turn = np.linspace(0, 2 * np.pi, 200)
    values, vectors = np.linalg.eigh(np.array(row["core"]))
    curve = (vectors / np.sqrt(values)) @ np.stack([np.cos(turn), np.sin(turn)])
    axes.scatter(*np.array(row["points"]).T, s=8, color="0.35", label="Uᵀx/√y")
    axes.plot(*curve, color=colour, lw=2, label="ŷ = y")
    # A sample nearly orthogonal to the target's plane lies far out.
    axes.set(title=title, xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
    axes.legend(fontsize=8, loc="upper right")


def draw_few_samples(axes: Any, rows: Records) -> None:
    """Plot test errors against the number of samples, for a fixed and a learned subspace."""
    for weight, colour, label in ((0.0, FIXED, "λ = 0, fixed"), (DEFAULT, LEARNED, "λ = 0.5, learned")):
        sizes, errors = median_errors(rows, weight)
        axes.plot(sizes, errors, "o-", color=colour, label=label)
    axes.set(title="a good subspace, few samples", xscale="log", yscale="log", xlabel="samples", ylabel="test error")
    set_ticks(axes.xaxis, sizes)
    set_ticks(axes.yaxis, [0.02, 0.05, 0.1])
    axes.legend(fontsize=8)


def median_errors(rows: Records, weight: float) -> tuple[list[int], list[float]]:
    """Return the numbers of samples, and the median test error at each for one λ."""
    sizes = sorted({row["n"] for row in rows})
    return sizes, [float(np.median(weight_values(select_rows(rows, n=n), weight, "test_error"))) for n in sizes]


def weight_values(rows: Records, weight: float, name: str) -> np.ndarray:
    """Return a column's values for one λ, one per seed."""
    return np.array([row[name] for row in select_rows(rows, weight=weight)])


def fit_values(records: Records, weight: float, name: str) -> np.ndarray:
    """Return a column's values for one λ over the problems in three dimensions."""
    return weight_values(select_rows(records, kind="fit"), weight, name)


def check_subspace(records: Records) -> Verdict:
    """Check that the learned plane is close to the target's and far from that of PCA."""
    learned, fixed = fit_values(records, DEFAULT, "from_target"), fit_values(records, 0.0, "from_target")
    apart, seeds = int(np.sum(fit_values(records, DEFAULT, "from_start") > 3 * SAME)), len(learned)
    measured = (
        f"learned plane to target: {np.median(learned):.1f}°, at most {learned.max():.1f}°; PCA plane to target: "
        f"{np.median(fixed):.0f}°; learned more than {3 * SAME:.0f}° from PCA for {apart} of {seeds} seeds"
    )
    if learned.max() > SAME:
        return fails(measured, f"A learned plane is more than {SAME:.0f}° off.")
    if apart == seeds:
        return holds(measured)
    return in_part(measured, "Normal samples make the plane of PCA a random one, which may come close by chance.")


def check_joint_fit(records: Records) -> Verdict:
    """Compare the train errors of fixed and learned planes, seed by seed."""
    fixed, learned = fit_values(records, 0.0, "train_error"), fit_values(records, DEFAULT, "train_error")
    ratio = fixed / learned
    measured = (
        f"train error (share of that of W = 0) {np.median(fixed):.2f} fixed, {np.median(learned):.3f} learned; "
        f"ratio {ratio.min():.1f} to {ratio.max():.0f}, median {np.median(ratio):.0f}"
    )
    if ratio.min() >= 2:
        return holds(measured)
    better = f"More than twice for {np.mean(ratio >= 2):.0%} of the seeds."
    return in_part(measured, better) if np.median(ratio) >= 2 else fails(measured, better)


def check_rank_two(records: Records) -> Verdict:
    """Check that the learned W is close to W*."""
    distance = fit_values(records, DEFAULT, "from_truth")
    measured = f"‖W - W*‖/‖W*‖ median {np.median(distance):.3f}, at most {distance.max():.3f}"
    return holds(measured) if distance.max() < 0.1 else fails(measured, "A fit is more than a tenth off.")


def check_heuristics(records: Records) -> Verdict:
    """Check that the W fitted in the plane of PCA can be far from W*."""
    distance = fit_values(records, 0.0, "from_truth")
    measured = f"‖W - W*‖/‖W*‖ with the plane fixed: {distance.min():.2f} to {distance.max():.2f}"
    far = np.mean(distance > 0.1)
    return holds(measured, "May, says the paper.") if far > 0 else fails(measured, "None is more than a tenth off.")


def check_extremes(records: Records) -> Verdict:
    """Check that λ = 0 keeps the subspace and λ = 1 keeps the eigenvalues."""
    turned, bent = fit_values(records, 0.0, "from_start").max(), fit_values(records, 1.0, "stretched").max()
    measured = f"λ = 0 turns the subspace by {turned:.0e}°; λ = 1 changes eigenvalues of W by {bent:.0e}"
    return holds(measured) if max(turned, bent) < 1e-8 else fails(measured, "Something moves that should not.")


def check_interpolation(records: Records) -> Verdict:
    """Check that initial directions and final errors at λ lie between those of λ = 0 and λ = 1."""
    weights = sorted({row["weight"] for row in select_rows(records, kind="fit")})
    off = max(
        np.max(np.abs(fit_values(records, w, name) / fit_values(records, end, name) - share))
        for w in weights
        for name, end, share in (("frame_speed", 1.0, w), ("core_speed", 0.0, 1 - w))
    )
    errors = {w: float(np.median(fit_values(records, w, "train_error"))) for w in weights}
    listed = ", ".join(f"{error:.3f} at λ = {w:g}" for w, error in errors.items())
    measured = f"the direction's parts are λ and 1 - λ times those at the ends, to {off:.0e}; train error {listed}"
    if off > 1e-8:
        return fails(measured, "The parts are not in proportion.")
    reached = np.array([fit_values(records, w, "train_error") for w in weights if 0 < w < 1])
    apart = float(np.max(reached.max(axis=0) / reached.min(axis=0))) - 1
    if apart <= EVEN:
        why = f"Where it leads does not: train errors of all λ between 0 and 1 agree to {apart:.1%}, seed by seed."
        return in_part(measured, f"The direction does. {why}")
    steps = np.diff(list(errors.values()))
    if np.all(steps >= 0) or np.all(steps <= 0):
        return holds(measured)
    return in_part(measured, "The direction does. Train errors change with λ, but not from one end to the other.")


def check_few_samples(records: Records) -> Verdict:
    """Check that the fixed subspace is better with the fewest samples, and the learned one with the most."""
    rows = select_rows(records, kind="few")
    sizes, fixed = median_errors(rows, 0.0)
    _, learned = median_errors(rows, DEFAULT)
    off = np.median([row["off"] for row in rows])
    parts = [f"n = {n}: {a:.3f} and {b:.3f}" for n, a, b in zip(sizes, fixed, learned, strict=True)]
    measured = f"subspace {off:.0f}° off; test error at λ = 0 and λ = {DEFAULT}, {'; '.join(parts)}"
    wins = [n for n, a, b in zip(sizes, fixed, learned, strict=True) if a < b]
    if not wins or wins[0] != sizes[0]:
        return fails(measured, "Learning both is no worse where samples are fewest.")
    why = f"The fixed subspace is better for n = {', '.join(map(str, wins))}."
    doubts = [f"with {sizes[0]} samples by less than a tenth"] if fixed[0] > GAIN * learned[0] else []
    doubts += ["the learned one is never better"] if wins == sizes else []
    doubts += [f"the learned one is not better at n = {sizes[-1]}"] if wins != sizes and wins[-1] == sizes[-1] else []
    return in_part(measured, f"{why} But {', and '.join(doubts)}.") if doubts else holds(measured, why)


CLAIMS = [
    Claim(
        "subspace-learned",
        "10.1.1",
        "The learned subspace identifies with the target subspace, and is very different from that of the top two "
        "principal components.",
        check_subspace,
    ),
    Claim(
        "subspace-joint-fit",
        "10.1.1",
        "The fit is much better when subspace and distance are learned jointly; the difference is significant in terms "
        "of the train error.",
        check_joint_fit,
    ),
    Claim(
        "subspace-rank-two",
        "10.1.1",
        "W* is well approximated by a matrix of rank 2 that minimizes the train error.",
        check_rank_two,
    ),
    Claim(
        "subspace-heuristics",
        "10.1.1",
        "Methods that fix the range space may converge to a solution very different from a minimum of the cost.",
        check_heuristics,
    ),
    Claim(
        "subspace-extremes",
        "7.1",
        "In the case λ = 1 the algorithm only learns the subspace; in the case λ = 0, a distance for a fixed range.",
        check_extremes,
    ),
    Claim(
        "subspace-interpolation",
        "7.1",
        "Intermediate values of λ continuously interpolate between subspace learning and distance learning at fixed "
        "range space.",
        check_interpolation,
    ),
    Claim(
        "subspace-few-samples",
        "7.1",
        "A proper tuning of λ is of interest when a good estimate of the subspace is available, or too few "
        "observations to estimate subspace and distance jointly.",
        check_few_samples,
    ),
]
