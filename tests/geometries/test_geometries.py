"""Formulas of single geometries: the updates of the paper, retractions and limits of steps."""

import numpy as np
import pytest
import scipy.linalg

from gramian.geometries import AffineInvariant, Flat, Grassmann, LogEuclidean, Polar, Scaled
from gramian.geometries.frames import RETRACTIONS, polar_decompose, project

from helpers import GEOMETRY_EXAMPLES, gram, n_columns, random_tangent

D, R, STEP = 6, 3, 0.03


@pytest.fixture
def slope(rng):
    """The derivative M of a loss in W, shape (d, d)."""
    M = rng.standard_normal((D, D))
    return M + M.T


def gradient_step(geometry, G, M, s=STEP):
    """Return the point after one step of gradient descent of size s."""
    point = geometry.point(G)
    return point.curve(-point.gradient(M @ point.frame)).point(s)


def test_flat_step_is_its_formula(rng, slope):
    G = rng.standard_normal((D, R))
    np.testing.assert_allclose(gradient_step(Flat(), G, slope).G, G - 2 * STEP * slope @ G)


def test_scaled_step_is_its_formula(rng, slope):
    G = rng.standard_normal((D, R))
    expected = G - 2 * STEP * slope @ G @ np.linalg.inv(G.T @ G)
    np.testing.assert_allclose(gradient_step(Scaled(), G, slope).G, expected, rtol=1e-10)


def test_scaled_metric_is_regularised_by_the_level(rng):
    point = Scaled().point(rng.standard_normal((D, R)))
    share = np.trace(point.G.T @ point.G) / R
    np.testing.assert_allclose(point.damped(0.5).metric, point.G.T @ point.G + 0.5 * share * np.eye(R))
    singular = Scaled().point(np.eye(D, R) * [1, 1, 0])
    assert np.isfinite(singular.gradient(rng.standard_normal((D, R)))).all()
    # A factor that has shrunk to zero has neither a gradient nor an inner product: solvers end there.
    vanished = Scaled(gaussian=True).point(np.eye(D, R)).at(np.zeros((D, R)))
    assert np.isnan(vanished.gradient(np.ones((D, R)))).all()
    assert np.isnan(vanished.inner(np.ones((D, R)), np.ones((D, R))))


def test_steps_with_a_moment_equal_steps_on_whitened_data(rng, slope):
    A = rng.standard_normal((20, D))
    C = A.T @ A / 20
    lower = np.linalg.cholesky(C)
    G = rng.standard_normal((D, R))
    # For data whitened by L⁻¹, with L Lᵀ = C, W becomes Lᵀ W L, its factor Lᵀ G, and M becomes L⁻¹ M L⁻ᵀ.
    inverse = np.linalg.inv(lower)
    whitened = gradient_step(Scaled(), lower.T @ G, inverse @ slope @ inverse.T)
    with_moment = gradient_step(Scaled(C), G, slope)
    np.testing.assert_allclose(lower.T @ with_moment.G, whitened.G, rtol=1e-9, atol=1e-9)
    point, other = Scaled(C).point(G), Scaled().point(lower.T @ G)
    a, b = rng.standard_normal((2, D, R))
    assert point.damped(0.3).inner(a, b) == pytest.approx(other.damped(0.3).inner(lower.T @ a, lower.T @ b))


def test_the_gaussian_metric_is_a_quarter_of_the_expected_hessian(rng):
    A, G, M = rng.standard_normal((20, D)), rng.standard_normal((D, R)), rng.standard_normal((D, D))
    C = A.T @ A / 20
    point = Scaled(C, gaussian=True).point(G)
    # Gradients are horizontal: they have no part along the rotations of G, to which W is blind.
    tangents = [point.gradient((M + M.T) @ G), point.gradient(M @ M.T @ G)]
    changes = [C @ (t @ G.T + G @ t.T) for t in tangents]
    for a, dA in zip(tangents, changes, strict=True):
        for b, dB in zip(tangents, changes, strict=True):
            # E (xᵀ A x)(xᵀ B x) = 2 tr(A C B C) + tr(A C) tr(B C).
            expected = 2 * np.trace(dA @ dB) + np.trace(dA) * np.trace(dB)
            assert 4 * point.inner(a, b) == pytest.approx(expected)


def test_affine_invariant_step_is_the_geodesic(rng, slope):
    G = rng.standard_normal((D, D))
    W = G @ G.T
    root = np.real(scipy.linalg.sqrtm(W))
    s = 1e-3
    expected = root @ scipy.linalg.expm(-s * root @ slope @ root) @ root
    np.testing.assert_allclose(gram(gradient_step(AffineInvariant(), G, slope, s)), expected, atol=1e-10)


def test_first_order_step_is_the_logdet_update(rng, slope):
    G = rng.standard_normal((D, D))
    W = G @ G.T
    s = 1e-3
    np.testing.assert_allclose(
        gram(gradient_step(AffineInvariant("first-order"), G, slope, s)), W - s * W @ slope @ W, atol=1e-10
    )


def test_first_order_steps_stay_positive_definite(rng):
    point = AffineInvariant("first-order").point(rng.standard_normal((D, D)))
    for _ in range(20):
        curve = point.curve(random_tangent(point, rng))
        ratio = scipy.linalg.eigh(gram(curve.point(curve.limit)), gram(point), eigvals_only=True)
        assert ratio[0] > 0
        assert max(ratio[-1], 1 / ratio[0]) == pytest.approx(np.exp(2), rel=1e-6)


def test_mirror_step_is_the_von_neumann_update(rng, slope):
    G = rng.standard_normal((D, D))
    expected = scipy.linalg.expm(np.real(scipy.linalg.logm(G @ G.T)) - STEP * slope)
    np.testing.assert_allclose(gram(gradient_step(LogEuclidean(mirror=True), G, slope)), expected, atol=1e-9)


def test_log_euclidean_gradient_equals_finite_differences(rng, slope):
    point = LogEuclidean().point(rng.standard_normal((D, D)))
    log, gradient, h = point.core.log, point.gradient(slope), 1e-6
    direction = rng.standard_normal((D, D))
    direction = direction + direction.T
    ahead, behind = (np.trace(slope @ scipy.linalg.expm(log + s * direction)) for s in (h, -h))
    assert (ahead - behind) / (2 * h) == pytest.approx(np.vdot(gradient, direction), rel=1e-6)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_polar_step_is_the_batch_update_of_the_paper(rng, slope, weight):
    """The paper's equation for the batch polar update, with RᵀUᵀMUR in place of R UᵀMU R."""
    G = rng.standard_normal((D, R))
    U, root = polar_decompose(G)
    s = 1e-2
    frame = U - 2 * weight * s * project(U, slope @ U) @ root @ root.T
    frame = frame @ np.real(scipy.linalg.inv(scipy.linalg.sqrtm(frame.T @ frame)))
    core = root @ scipy.linalg.expm(-0.5 * (1 - weight) * s * root.T @ U.T @ slope @ U @ root)
    end = gradient_step(Polar(weight), G, slope, s)
    np.testing.assert_allclose(end.frame, frame, atol=1e-12)
    np.testing.assert_allclose(end.root, core, atol=1e-12)


def test_polar_step_with_qf_is_a_qr_factor(rng, slope):
    G = rng.standard_normal((D, R))
    U, root = polar_decompose(G)
    moved = U - 2 * 0.5 * 1e-2 * project(U, slope @ U) @ root @ root.T
    Q, upper = np.linalg.qr(moved)
    np.testing.assert_allclose(
        gradient_step(Polar(retraction="qf"), G, slope, 1e-2).frame, Q * np.sign(np.diag(upper)), atol=1e-12
    )


def test_polar_steps_descend_even_if_the_root_is_not_symmetric(rng, slope):
    """R exp(...) is not symmetric after one step. The paper's R UᵀMU R is then not always a descent direction."""
    point = Polar(0.0).point(rng.standard_normal((D, R)))
    for _ in range(30):
        gradient = point.gradient(slope @ point.frame)
        curve = point.curve(-gradient)
        end = curve.point(min(1e-3, curve.limit))
        assert np.trace(slope @ gram(end)) < np.trace(slope @ gram(point))
        point = end
    assert not np.allclose(point.root, point.root.T)


def test_polar_weight_0_keeps_the_subspace_and_weight_1_keeps_the_core(rng, slope):
    G = rng.standard_normal((D, R))
    fixed, free = gradient_step(Polar(0.0), G, slope), gradient_step(Polar(1.0), G, slope)
    assert Polar(0.0).point(G).curve(np.zeros((D + R, R))).direction is None
    np.testing.assert_array_equal(fixed.frame, polar_decompose(G)[0])
    np.testing.assert_array_equal(free.root, polar_decompose(G)[1])
    assert not np.allclose(free.frame, polar_decompose(G)[0])


def test_full_rank_polar_step_equals_the_step_in_the_cone_of_its_core(rng, slope):
    G = rng.standard_normal((D, D))
    cone = gram(gradient_step(AffineInvariant(), G, slope, 0.5e-2))
    np.testing.assert_allclose(gram(gradient_step(Polar(0.5), G, slope, 1e-2)), cone, atol=1e-9)
    log = gram(gradient_step(LogEuclidean(), G, slope, 0.5e-4))
    np.testing.assert_allclose(gram(gradient_step(Polar(0.5, core="log-euclidean"), G, slope, 1e-4)), log, atol=1e-9)


def test_full_rank_flat_step_is_the_update_of_the_paper(rng, slope):
    G = rng.standard_normal((D, D))
    step = np.eye(D) - 2 * STEP * slope
    np.testing.assert_allclose(gram(gradient_step(Flat(), G, slope)), step @ G @ G.T @ step, atol=1e-10)


def test_grassmann_step_with_the_linear_loss_is_oja_s_rule(rng):
    """With M = -½ x xᵀ, the slope of the linear loss, a step is qf(U + s (I - UUᵀ) x xᵀ U)."""
    x, G = rng.standard_normal(D), rng.standard_normal((D, R))
    U = polar_decompose(G)[0]
    Q, upper = np.linalg.qr(U + STEP * project(U, np.outer(x, x) @ U))
    end = gradient_step(Grassmann("qf"), G, -0.5 * np.outer(x, x))
    np.testing.assert_allclose(end.G, Q * np.sign(np.diag(upper)), atol=1e-12)


def test_grassmann_geodesic_is_its_formula_and_turns_by_its_length(rng):
    point = Grassmann("exp").point(rng.standard_normal((D, R)))
    tangent = random_tangent(point, rng)
    left, sigma, right = np.linalg.svd(tangent, full_matrices=False)
    s = 0.1 / sigma[0]
    expected = (point.G @ right.T * np.cos(s * sigma)) @ right + (left * np.sin(s * sigma)) @ right
    end = point.curve(tangent).point(s)
    np.testing.assert_allclose(end.G, expected, atol=1e-12)
    np.testing.assert_allclose(np.sort(scipy.linalg.subspace_angles(end.G, point.G)), np.sort(s * sigma))


@pytest.mark.parametrize("name", RETRACTIONS)
def test_retractions_start_at_the_frame(name, rng):
    point = Grassmann(name).point(rng.standard_normal((D, R)))
    np.testing.assert_allclose(point.curve(random_tangent(point, rng)).point(0.0).G, point.G, atol=1e-14)


def test_longest_step_changes_eigenvalues_by_a_bounded_factor(rng):
    for geometry in (AffineInvariant(), LogEuclidean(), Polar()):
        point = geometry.point(rng.standard_normal((D, D)))
        curve = point.curve(1e6 * random_tangent(point, rng))
        ratio = scipy.linalg.eigh(gram(curve.point(curve.limit)), gram(point), eigvals_only=True)
        assert ratio[0] > np.exp(-12)
        assert ratio[-1] < np.exp(12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Polar(1.5), "weight=1.5 is above 1. Choose a number from 0 to 1; at 0 only B is learned, at 1 only"),
        (lambda: Polar(-0.5), "weight=-0.5 is not valid. Choose a number of at least 0"),
        (lambda: Polar("0.5"), "weight='0.5' is not valid. Choose a number"),
        (lambda: Polar(retraction="xf"), "retraction='xf' is unknown. Choose one of uf, qf, exp"),
        (lambda: Polar(core="other"), "core='other' is unknown"),
        (lambda: Grassmann("xf"), "retraction='xf' is unknown"),
        (lambda: AffineInvariant("second-order"), "Choose 'exponential' or 'first-order'"),
        (lambda: Polar().point(np.ones((4, 2))), "rank 1 but 2 columns"),
        (lambda: AffineInvariant().point(np.zeros((2, 2))), "rank 0 but 2 columns"),
    ],
)
def test_bad_settings_raise_an_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_geometries_are_equal_if_their_settings_are():
    assert Polar(0.5) == Polar()
    assert Polar(0.4) != Polar()
    names = {repr(geometry) for geometry in GEOMETRY_EXAMPLES}
    assert len(names) == len(set(GEOMETRY_EXAMPLES)) == len(GEOMETRY_EXAMPLES)


def test_geometries_are_equal_by_their_fields():
    """Large matrices too, whose printed forms are the same."""
    one, other = np.eye(60), np.eye(60)
    other[30, 30] = 2
    assert Scaled(one) == Scaled(one.copy())
    assert Scaled(one) != Scaled(other)
    assert Polar(0.5) == Polar() != Polar(0.4)
    assert len({Polar(0.5), Polar(), Polar(0.4)}) == 2


@pytest.mark.parametrize("level", [0.0, 0.3])
@pytest.mark.parametrize("geometry", GEOMETRY_EXAMPLES, ids=repr)
def test_preconditioner_is_self_adjoint_and_positive(geometry, level, rng):
    G = rng.standard_normal((D, n_columns(geometry, D, R)))
    point = geometry.point(G)
    a, b = random_tangent(point, rng), random_tangent(point, rng)
    Pa, Pb = point.precondition(a, level), point.precondition(b, level)
    assert point.inner(a, Pb) == pytest.approx(point.inner(Pa, b), rel=1e-8, abs=1e-10)
    assert point.inner(a, Pa) > 0 or not np.any(a)
    assert geometry.point(G.astype(np.float32)).precondition(a.astype(np.float32), level).dtype == np.float32


FORMULAS = [Polar(0.3), Polar(0.6, core="log-euclidean"), AffineInvariant(), LogEuclidean(), LogEuclidean(mirror=True)]


@pytest.mark.parametrize("geometry", FORMULAS, ids=repr)
def test_preconditioner_inverts_the_change_of_the_matrix(geometry, rng):
    point = geometry.point(rng.standard_normal((D, n_columns(geometry, D, R))))
    tangent = random_tangent(point, rng)
    change = point.velocity(tangent) @ point.G.T
    change = change + change.T
    # The derivative of ½ ‖dW‖² is dW, so this is its Hessian applied to the tangent.
    again = point.precondition(point.gradient(change @ point.frame), 0.0)
    np.testing.assert_allclose(again, tangent, rtol=1e-6, atol=1e-8 * np.abs(tangent).max())
