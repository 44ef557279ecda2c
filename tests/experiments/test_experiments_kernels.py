"""The experiments on kernels: training and scored samples of each protocol, comparisons, and claims."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import linear_kernel

from experiments import digits, gyrb, usps
from experiments.endings import check_convergence
from experiments.kernel_learning import (
    BOTH,
    FIXED,
    FLAT,
    HELD_OUT,
    KSR,
    LOGDET,
    LOGDET_10,
    METHODS,
    PCA,
    TRANSDUCTIVE,
    compare_with_prototype,
    format_scores,
    make_kernel_task,
    mean_score,
    score_kernel_pca,
    score_lead,
    score_method,
)


@pytest.fixture
def clusters(rng):
    y = np.repeat([0, 1], 30)
    return rng.standard_normal((60, 5)) + 4 * y[:, None], y


def make_row(method, pairs, score, seed=0):
    return {"method": method, "pairs": pairs, "score": score, "seed": seed}


def test_the_paper_judges_the_samples_learned_from(clusters):
    task = make_kernel_task(*clusters, linear_kernel, TRANSDUCTIVE, 0)
    assert task.rows is None
    assert task.labels is task.y
    assert np.allclose(np.trace(task.K), clusters[0].size)


def test_held_out_samples_are_a_half_that_nothing_is_learned_from(clusters):
    task = make_kernel_task(*clusters, linear_kernel, HELD_OUT, 0)
    assert task.K.shape == task.rows.shape == (30, 30)
    assert np.bincount(task.y).tolist() == np.bincount(task.labels).tolist() == [15, 15]
    # Standardised by the half learned from: its kernel has the trace of the correlation matrix, the other has not.
    assert np.allclose(np.trace(task.K), 30 * 5)
    assert not np.allclose(task.rows, task.K)


@pytest.mark.parametrize("protocol", [TRANSDUCTIVE, HELD_OUT])
@pytest.mark.parametrize("method", METHODS)
def test_methods_find_clusters_from_one_decomposition(method, protocol, clusters, monkeypatch):
    task = make_kernel_task(*clusters, linear_kernel, protocol, 0)
    monkeypatch.setattr("gramian.estimators._input_kernel.eigendecompose", refuse_decomposition)
    found = score_method(task, method, 2, 200, 0.25, 0)
    assert found["score"] > 0.9
    assert (found["rank"], found["pairs"], found["seconds"] > 0) == (2, 200, True)


def refuse_decomposition(*arguments, **settings):
    raise AssertionError("decomposed once more")


def test_kernel_pca_is_that_of_scikit_learn(clusters):
    task = make_kernel_task(*clusters, linear_kernel, HELD_OUT, 0)
    theirs = KernelPCA(2, kernel="precomputed").fit(task.K).transform(task.rows)
    roots, vectors = np.sqrt(task.given.values[:2]), task.given.vectors[:, :2]
    ours = task.given.centerer.transform(task.rows) @ (vectors / roots)
    assert np.allclose(np.abs(ours), np.abs(theirs))
    assert score_kernel_pca(task, 2, 0)["score"] > 0.9


def test_means_and_leads():
    records = [
        make_row(FLAT, 10, 0.5),
        make_row(FLAT, 10, 0.7, 1),
        make_row(FLAT, 20, 1.0),
        make_row(PCA, 0, 0.4),
        make_row(KSR, 20, 0.8),
    ]
    assert mean_score(records, FLAT, pairs=10) == pytest.approx(0.6)
    assert mean_score(records, PCA, pairs=20) == 0.4
    assert np.isnan(mean_score(records, KSR, pairs=10))
    assert score_lead(records, (FLAT,), (KSR, PCA), pairs=20) == pytest.approx(0.2)
    assert score_lead(records, (FLAT,), (KSR, PCA), pairs=10) == pytest.approx(0.2)
    assert format_scores(records, (FLAT, FIXED), pairs=20) == "flat 1.00"


@pytest.mark.parametrize(
    ("expected", "status"),
    [
        ({(FLAT, 10): 0.62}, "holds"),
        ({(FLAT, 10): 0.62, (KSR, 10): 0.9}, "holds in part"),
        ({(FLAT, 10): 0.7}, "does not hold"),
        ({(FLAT, 20): 0.7}, "holds in part"),
    ],
)
def test_scores_against_a_prototype(expected, status):
    records = [make_row(FLAT, 10, 0.55), make_row(FLAT, 10, 0.65, 1), make_row(KSR, 10, 0.5)]
    verdict = compare_with_prototype(records, expected)
    assert verdict.status == status
    assert ("graph" in verdict.why) == ((KSR, 10) in expected)


def test_distances_of_samples_without_pairs_are_seen_to_stay():
    Z = np.eye(5)
    assert gyrb.untouched_samples(Z, np.array([[0, 1]])) == {"untouched": 3, "moved": pytest.approx(0, abs=1e-12)}
    Z[4] *= 2
    assert gyrb.untouched_samples(Z, np.array([[0, 1]]))["moved"] == pytest.approx(3)
    assert gyrb.untouched_samples(Z, np.array([[0, 1], [2, 3]])) == {"untouched": 1, "moved": None}


def claim_status(experiment, name, records):
    return next(claim.check(records).status for claim in experiment.CLAIMS if claim.id == name)


def gyrb_rows(flat, untouched=3, moved=1.0):
    """Bounds from 10, 20, 30 and 40 pairs: flat has these scores, the others 0.9 and no sample where it was."""
    return [
        make_row(method, pairs, score if method == FLAT else 0.9)
        | {"protocol": gyrb.BOUNDS, "untouched": untouched, "moved": 0.0 if method == FLAT else moved}
        for pairs, score in zip((10, 20, 30, 40), flat, strict=True)
        for method in gyrb.MODELS
    ]


@pytest.mark.parametrize(
    ("flat", "inferior", "disappears"),
    [
        ((0.6, 0.7, 0.9, 0.9), "holds", "holds"),
        ((0.9, 0.7, 0.8, 0.9), "holds in part", "holds"),
        ((0.9, 0.9, 0.9, 0.6), "does not hold", "does not hold"),
        ((0.9, 0.9, 0.9, 0.9), "does not hold", "does not hold"),
    ],
    ids=["as the paper says", "not at fewest", "at most pairs alone", "never"],
)
def test_flat_is_inferior_where_it_is_short_at_few_pairs(flat, inferior, disappears):
    records = gyrb_rows(flat)
    assert claim_status(gyrb, "gyrb-flat", records) == inferior
    assert claim_status(gyrb, "gyrb-disappears", records) == disappears


@pytest.mark.parametrize(
    ("changed", "expected"),
    [({}, "holds"), ({"untouched": 0}, "does not hold"), ({"moved": 0.0}, "does not hold")],
    ids=["as the paper says", "none untouched", "others leave them too"],
)
def test_untouched_samples_are_the_reason_only_where_they_can_be(changed, expected):
    verdict = gyrb.check_reason(gyrb_rows((0.6, 0.7, 0.9, 0.9), **changed))
    assert verdict.status == expected
    assert ("not the reason" in verdict.why) == (expected != "holds")


def digits_rows(scores):
    """Scores by method at 10 and at 100 pairs, the same on samples seen and held out."""
    return [
        make_row(method, pairs, score) | {"protocol": protocol}
        for protocol in (TRANSDUCTIVE, HELD_OUT)
        for method, both in scores.items()
        for pairs, score in zip((10, 100), both, strict=True)
    ] + [make_row(PCA, 0, 0.4) | {"protocol": protocol} for protocol in (TRANSDUCTIVE, HELD_OUT)]


def test_digits_are_judged_by_their_records():
    names = [f"digits-{name}" for name in ("alike", "outperformed", "sufficient", "few")]
    others = dict.fromkeys((KSR, LOGDET, LOGDET_10, FIXED), (0.7, 0.8))
    good = digits_rows({FLAT: (0.5, 1.0), BOTH: (0.5, 0.9), **others})
    assert {claim_status(digits, name, good) for name in names} == {"holds"}
    spoilt = digits_rows({FLAT: (0.7, 1.0), BOTH: (0.7, 0.8), **others, KSR: (0.5, 0.6)})
    assert {claim_status(digits, name, spoilt) for name in names} == {"does not hold"}


def usps_rows(proposed, seconds):
    """Rows of both protocols at ranks 4 and 8 from 100 pairs, at 4 from 10 as well; and of the methods timed."""
    scores = dict.fromkeys(usps.METHODS, 0.5) | {FLAT: proposed, BOTH: proposed}
    ending = {"iterations": 9, "converged": True}
    rows = [
        make_row(method, pairs, score) | {"protocol": protocol, "rank": rank} | ending
        for protocol in (TRANSDUCTIVE, HELD_OUT)
        for rank, pairs in ((4, 10), (4, 100), (8, 100))
        for method, score in scores.items()
    ]
    rows += [make_row(PCA, 0, 0.4) | {"protocol": p, "rank": r} for p in (TRANSDUCTIVE, HELD_OUT) for r in (4, 8)]
    timed = {"protocol": usps.IN_TURN, "rank": 4} | ending
    return rows + [make_row(m, 100, 1.0) | timed | {"seconds": seconds.get(m, 3.0)} for m in usps.TIMED]


def test_usps_is_judged_by_its_records():
    good, spoilt = usps_rows(0.9, {KSR: 1.0, FLAT: 2.0}), usps_rows(0.2, {KSR: 9.0, FLAT: 8.0, BOTH: 99.0})
    for name in ("ksr", "enough", "logdet", "joint"):
        assert claim_status(usps, f"usps-{name}", good) == "holds"
        assert claim_status(usps, f"usps-{name}", spoilt) == "does not hold"


def test_usps_claims_on_mvu_hold_in_part_at_most():
    good, spoilt = usps_rows(0.9, {KSR: 1.0, FLAT: 2.0}), usps_rows(0.2, {KSR: 9.0, FLAT: 8.0, BOTH: 99.0})
    for check in (usps.check_baselines, usps.check_seconds):
        assert (check(good).status, check(spoilt).status) == ("holds in part", "does not hold")
        assert "MVU not run" in check(good).why


def test_fits_that_did_not_converge_are_counted():
    done, stopped = ({"protocol": "a", "iterations": 7, "converged": end} for end in (True, False))
    assert check_convergence([make_row(FLAT, 10, 1.0) | done, make_row(PCA, 0, 1.0)]).status == "holds"
    verdict = check_convergence([make_row(FLAT, 10, 1.0) | done, make_row(FLAT, 10, 1.0) | stopped])
    assert verdict.status == "holds in part"
    assert "flat 1 of 2 (a)" in verdict.why
    assert check_convergence([make_row(FLAT, 10, 1.0) | stopped]).status == "does not hold"
