"""The squared loss as a linear system: values, gradient, Hessian and certificates."""

import cvxpy as cp
import numpy as np
import pytest

from kernelhood.losses import EpsilonInsensitive, Squared, joined
from kernelhood.operators import cells_of, one_task
from kernelhood.operators.dense import DenseKernels
from kernelhood.penalties import DualPoint, Fixed, Linear, Simplex
from kernelhood.solvers.block import Block, LeastSquares, block_of
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, carried_start
from tests.references import optimum, square_root
from tests.solvers.problems import gram, points, stack, trace_price

SIZES = np.array([9, 15, 6])
STARTS = np.array([0, 9, 24, 30])


def squared(C=2.0, groups=STARTS, seed=0):
    rng = np.random.default_rng(seed)
    y, cost = rng.normal(size=30) + np.repeat([0.0, 5.0, -3.0], SIZES), rng.uniform(0.5, 2.0, 30)
    parts = [
        Squared().at(*one)
        for one in zip(np.split(y, [9, 24]), np.split(C * cost, [9, 24]), strict=True)
    ]
    return joined(parts, groups)


def related(Ks, separate=True):
    cells = cells_of(np.arange(30), SIZES, np.arange(3))
    return DenseKernels(cells, np.stack([np.ones((3, 3))]), separate, Ks=Ks)


@pytest.fixture(scope="module")
def Ks():  # noqa: N802
    return np.ascontiguousarray(stack(points(30)[0])[:4])


def plain_value(K, loss):
    """The value of the ridge problem from one system with the intercepts as more unknowns."""
    n, groups = len(loss.target), len(loss.group_starts) - 1
    E = np.repeat(np.eye(groups), np.diff(loss.group_starts), axis=0)
    whole = np.block([[K + np.diag(1.0 / loss.cost), E], [E.T, np.zeros((groups, groups))]])
    found = np.linalg.solve(whole, np.append(loss.target, np.zeros(groups)))
    return 0.5 * loss.target @ found[:n], found[:n], found[n:]


def combination(kernels, weights):
    written = kernels.combined(weights, 0.0, kernels.row_buffer())
    return kernels.block(written, np.arange(kernels.n_samples))


@pytest.mark.parametrize("groups", [STARTS, STARTS[[0, -1]]])
def test_the_solution_is_that_of_one_linear_system(Ks, groups):
    kernels, loss = related(Ks), squared(groups=groups)
    weights = np.random.default_rng(1).uniform(0.0, 2.0, kernels.n_weights)
    found = solve(Problem([block_of(kernels, loss)], Fixed(weights)), tol=1e-12)
    value, v, intercepts = plain_value(combination(kernels, weights), loss)
    assert found.objective == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(found.v, v, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.intercepts, intercepts, rtol=1e-8)
    assert found.n_iter == 1


def test_gradient_and_hessian_are_those_of_differences(Ks):
    kernels, loss = related(Ks), squared()
    problem = Problem([block_of(kernels, loss)], Linear(np.ones(kernels.n_weights)))
    x = np.random.default_rng(2).uniform(0.5, 1.0, len(problem.unit))

    def at(x):
        return problem.solve(x, problem.at(x), 1e-13, 0.0)

    here = at(x)
    H = problem.hessian(here)
    for m in (0, 3, 7, 13):
        step = np.zeros(len(x))
        step[m] = 1e-5
        up, down = at(x + step), at(x - step)
        slope = (up.svm_value - down.svm_value) / 2e-5
        assert slope == pytest.approx(-here.dual.q[m], rel=1e-5)
        np.testing.assert_allclose((down.dual.q - up.dual.q) / 2e-5, H[m], rtol=1e-4, atol=1e-7)
    kept = np.arange(len(x)) % 3 == 0
    np.testing.assert_allclose(problem.hessian(here, kept), H[np.ix_(kept, kept)], rtol=1e-8)


def conic_value(Ks, loss, a, f):
    """The optimum of problem (P) from its primal conic form."""
    n = len(loss.target)
    theta, functions = cp.Variable(len(Ks), nonneg=True), [cp.Variable(n) for _ in Ks]
    groups = len(loss.group_starts) - 1
    E = np.repeat(np.eye(groups), np.diff(loss.group_starts), axis=0)
    values = sum(square_root(K) @ w for K, w in zip(Ks, functions, strict=True))
    rest = loss.target - values - E @ cp.Variable(groups)
    norms = cp.Variable(len(Ks))
    cones = [cp.quad_over_lin(w, 2.0 * theta[m]) <= norms[m] for m, w in enumerate(functions)]
    cost = cp.sum(norms) + 0.5 * cp.sum_squares(cp.multiply(np.sqrt(loss.cost), rest))
    cost += a * (np.einsum("mii->m", Ks) @ theta)
    if f > 0.0:
        cost += 0.5 * f * cp.sum_squares(square_root(gram(Ks)).T @ theta)
    return optimum(cp.Problem(cp.Minimize(cost), cones))


@pytest.mark.parametrize("f", [0.0, 1e-3])
@pytest.mark.parametrize("a", [0.02, 0.5])
def test_several_kernels_reach_the_optimum_of_a_conic_solver(Ks, a, f):
    loss = squared(groups=STARTS)
    found = solve(Problem([block_of(one_task(Ks), loss)], trace_price(Ks, a, f)), tol=1e-8)
    assert found.gap <= 1e-8
    assert found.objective == pytest.approx(conic_value(Ks, loss, a, f), rel=1e-6)
    assert np.all(np.diff(found.trace[:, 0]) <= 1e-9 * found.objective)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("a", [1e-5, 1.0])
def test_gaps_are_true_at_every_scale(Ks, a, scale):
    """A dual vector that is shrunk bends less: its bound has to know."""
    loss = squared()
    loss = loss._replace(target=scale * loss.target)
    penalty = Linear(a * scale**2 * np.ones(4 * 4))
    problem = [block_of(related(Ks), loss)]
    rough = solve(Problem(problem, penalty), tol=1e-2)
    fine = solve(Problem(problem, penalty), tol=1e-10)
    excess = (rough.objective - fine.objective) / fine.objective
    assert -1e-10 <= excess <= rough.gap + 1e-10
    assert fine.gap <= 1e-10


def test_the_gain_of_a_shrunk_vector_is_that_of_its_own_formula(Ks):
    block, loss = block_of(one_task(Ks), squared()), squared()
    v = loss.feasible(np.random.default_rng(3).normal(size=30))
    for scale in (0.3, 1.0):
        whole, part = block.at(np.zeros(4), v), block.at(np.zeros(4), scale * v)
        dual = DualPoint(whole.gain, whole.q, whole.bend)
        assert dual.gain_of(scale) == pytest.approx(part.gain)


def test_a_budget_and_many_blocks(Ks):
    """Several problems with weights in common are one problem whose kernels are in blocks."""
    loss = squared()
    edges = np.split(np.arange(30), [9, 24])
    parts = [
        block_of(
            one_task(np.ascontiguousarray(Ks[:, rows][:, :, rows])),
            loss.part(np.isin(np.arange(30), rows), 1.0),
        )
        for rows in edges
    ]
    together = np.zeros_like(Ks)
    for rows in edges:
        together[np.ix_(np.arange(4), rows, rows)] = Ks[np.ix_(np.arange(4), rows, rows)]
    penalty = Simplex(np.ones(4), 3.0)
    apart = solve(Problem(parts, penalty), tol=1e-8)
    whole = solve(Problem([block_of(one_task(together), loss)], penalty), tol=1e-8)
    assert apart.objective == pytest.approx(whole.objective, rel=1e-7)


def test_a_solution_is_carried_to_another_cost(Ks):
    loss, dear = squared(2.0), squared(20.0)
    penalty = trace_price(Ks, 0.05)
    found = solve(Problem([block_of(one_task(Ks), loss)], penalty), tol=1e-8)
    start = carried_start(one_task(Ks), dear, found, loss)
    again = solve(Problem([block_of(one_task(Ks), dear)], penalty), start=start, tol=1e-8)
    cold = solve(Problem([block_of(one_task(Ks), dear)], penalty), tol=1e-8)
    assert again.objective == pytest.approx(cold.objective, rel=1e-7)
    box = EpsilonInsensitive(0.1).box(loss.target, loss.cost)
    assert carried_start(one_task(Ks), box, found, loss) is None


def test_single_precision_is_refined(Ks):
    loss = squared(C=1e3)
    price = Linear(1e-2 * np.ones(4))
    exact = solve(Problem([block_of(one_task(Ks), loss)], price), tol=1e-6)
    single = solve(Problem([block_of(one_task(Ks.astype(np.float32)), loss)], price), tol=1e-6)
    assert single.gap <= 1e-6
    assert single.objective == pytest.approx(exact.objective, rel=1e-4)


def test_a_kernel_that_is_not_positive_is_refused():
    K = np.diag(np.append(np.ones(29), -5.0))[None]
    with pytest.raises(ValueError, match="not positive semidefinite"):
        solve(Problem([block_of(one_task(K), squared())], Fixed(np.ones(1))))


def test_each_kind_of_loss_has_its_block(Ks):
    loss = squared()
    assert isinstance(block_of(one_task(Ks), loss), LeastSquares)
    box = EpsilonInsensitive(0.1).box(loss.target, loss.cost)
    assert type(block_of(one_task(Ks), box)) is Block
