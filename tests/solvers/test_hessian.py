import numpy as np
import pytest

from kernelhood.losses import box_loss
from kernelhood.operators import one_task
from kernelhood.solvers import hessian
from kernelhood.solvers.hessian import secant_hessian, value_hessian
from kernelhood.solvers.svm import solve_svm
from tests.operators.examples import KINDS, kernels_of, products_of, written_out
from tests.solvers.problems import LOSSES, combination, loss_of, points, stack


def hessian_of(Ks, kernel, v, loss, kept=None):
    return value_hessian(one_task(Ks), kernel, v, Ks @ v, loss, kept)


def forms(Ks, weights, loss):
    n = Ks.shape[1]
    kernel = combination(Ks, weights, 1e-8)
    v = solve_svm(kernel, loss, np.zeros(n), np.zeros(n), 1e-13)[0]
    return 0.5 * np.einsum("i,mij,j->m", v, Ks, v), v


@pytest.mark.parametrize("kind", LOSSES)
def test_the_hessian_is_the_derivative_of_the_gradient(kind):
    X, sign = points(30)
    Ks, loss = np.ascontiguousarray(stack(X)[[0, 2, 3]]), loss_of(kind, X, sign, 1.0)
    weights = np.array([0.3, 1.0, 0.4])
    _, v = forms(Ks, weights, loss)
    found = hessian_of(Ks, combination(Ks, weights, 1e-8), v, loss)
    numeric = np.empty((3, 3))
    for m in range(3):
        step = 1e-5 * np.eye(3)[m]
        up, down = (forms(Ks, weights + side * step, loss)[0] for side in (1, -1))
        numeric[m] = -(up - down) / 2e-5
    np.testing.assert_allclose(found, numeric, rtol=2e-3, atol=2e-3 * np.abs(found).max())


def test_the_hessian_of_some_weights_is_a_part_of_it():
    X, sign = points(30)
    Ks, loss = stack(X), loss_of("hinge", X, sign, 1.0)
    _, v = forms(Ks, np.full(10, 0.2), loss)
    kernel, kept = combination(Ks, np.full(10, 0.2), 1e-8), np.arange(10) % 3 == 0
    whole = hessian_of(Ks, kernel, v, loss)
    some = hessian_of(Ks, kernel, v, loss, kept)
    np.testing.assert_allclose(some, whole[kept][:, kept], rtol=1e-6, atol=1e-9 * whole.max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercepts", ["task", "common"])
def test_under_a_relation_it_is_that_of_the_matrices_written_out(kind, intercepts):
    kernels, sign = kernels_of("all tasks", kind)
    n, weights = kernels.n_samples, np.linspace(0.1, 1.0, kernels.n_weights)
    loss = loss_of("hinge", points(n)[0], sign, 1.0)
    if intercepts == "task":
        loss = loss._replace(group_starts=kernels.cells.starts)
    matrices = written_out(kernels)
    kernel = combination(matrices, weights, 1e-6)
    v = solve_svm(kernel, loss, np.zeros(n), np.zeros(n), 1e-10)[0]
    products, mine = products_of(kernels, v), kernels.combined(weights, 1e-6, kernels.row_buffer())
    plain = hessian_of(matrices, kernel, v, loss)
    assert plain.any()
    found = value_hessian(kernels, mine, v, products, loss)
    np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-8 * np.abs(plain).max())
    kept = np.arange(kernels.n_weights) % 2 == 0
    some = value_hessian(kernels, mine, v, products, loss, kept)
    np.testing.assert_allclose(some, plain[kept][:, kept], rtol=1e-6, atol=1e-8 * plain.max())


def test_without_free_support_vectors_there_is_no_curvature():
    X, sign = points(20)
    Ks, loss = stack(X), loss_of("hinge", X, sign, 1.0)
    v = np.where(sign > 0, loss.upper, 0.0)
    assert not hessian_of(Ks, combination(Ks, np.ones(10)), v, loss).any()
    assert (
        hessian_of(Ks, combination(Ks, np.ones(10)), v, loss, sign[:10] > 0).shape
        == (np.count_nonzero(sign[:10] > 0),) * 2
    )


def test_the_secant_hessian_explains_the_step():
    H, step = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.3, -0.1])
    true = np.array([[3.0, 0.2], [0.2, 0.7]])
    new = secant_hessian(H, step, true @ step)
    np.testing.assert_allclose(new @ step, true @ step)
    np.testing.assert_allclose(new, new.T)
    assert np.all(np.linalg.eigvalsh(new) > 0.0)


def test_a_step_that_tells_too_little_is_refused():
    H, step = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.3, -0.1])
    assert secant_hessian(H, step, -step) is None
    assert secant_hessian(H, np.zeros(2), step) is None
    assert secant_hessian(H, step, 0.005 * H @ step) is None
    assert secant_hessian(np.zeros((2, 2)), step, step) is None


@pytest.mark.parametrize("spread", [0.5, 30.0])
def test_the_hessian_of_a_large_problem_is_right_in_either_precision(spread, monkeypatch):
    X, _ = points(40)
    D = np.sum((X[:, None] - X) ** 2, axis=2)
    Ks = np.array([np.exp(-D / (2 * spread**2)), X @ X.T + np.eye(40)])
    loss = box_loss(np.zeros(40), -np.ones(40), np.ones(40))
    v = np.linspace(-0.9, 0.8, 40)
    kernel = combination(Ks, np.array([1.0, 1e-3]), 1e-7)
    double = hessian_of(Ks, kernel, v, loss)
    monkeypatch.setattr(hessian, "_LARGE", 2)
    np.testing.assert_allclose(hessian_of(Ks, kernel, v, loss), double, rtol=1e-3)


def test_rounding_below_zero_is_bridged_and_an_indefinite_kernel_is_named():
    rng = np.random.default_rng(0)
    low = rng.normal(size=(12, 3))
    K = low @ low.T
    rounded = K - 1e-12 * np.trace(K) * np.eye(12)
    wanted = low @ rng.normal(size=(3, 2))
    found = hessian._solve(rounded, wanted, np.trace(K))
    np.testing.assert_allclose(K @ found, wanted, rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        hessian._solve(K - 0.1 * np.eye(12), wanted, np.trace(K))


def test_equal_samples_of_a_group_leave_rounding_that_is_no_indefinite_kernel():
    """Without its mean nothing is left of a group whose samples are all equal."""
    rng = np.random.default_rng(0)
    for n in (4, 12, 30):
        B = rng.uniform(size=(n, 3))
        K = np.repeat(np.repeat(B @ B.T, 9, axis=0), 9, axis=1)
        starts = np.arange(0, 9 * n + 1, 9)
        loss = box_loss(np.zeros(9 * n), -np.ones(9 * n), np.ones(9 * n))
        loss = loss._replace(group_starts=starts)
        v = rng.uniform(-0.9, 0.9, size=9 * n)
        H = hessian_of(K[None], combination(K[None], np.ones(1), 0.0), v, loss)
        assert np.all(np.isfinite(H))


def test_intercepts_of_groups_are_eliminated_by_turning_their_samples():
    """Z is the inverse of K on the vectors that sum to zero over every group."""
    rng, starts = np.random.default_rng(0), np.array([0, 1, 5, 7, 12])
    A, U = rng.normal(size=(12, 15)), rng.normal(size=(12, 3))
    K = A @ A.T
    E = np.repeat(np.eye(4), np.diff(starts), axis=0)
    inverse = np.linalg.inv(K)
    ZE = inverse @ E
    expected = U.T @ (inverse - ZE @ np.linalg.solve(E.T @ ZE, ZE.T)) @ U
    hessian.reflect(U, starts)
    hessian.reflect_both(K, starts)
    rest = np.array([2, 3, 4, 6, 8, 9, 10, 11])
    hessian.compress(K, rest)
    found = U[rest].T @ np.linalg.solve(K[:8, :8], U[rest])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    turned = np.eye(12)
    hessian.reflect(turned, starts)
    np.testing.assert_allclose(turned @ turned.T, np.eye(12), atol=1e-12)
    np.testing.assert_allclose((turned @ E)[rest], 0.0, atol=1e-12)
