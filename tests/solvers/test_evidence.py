"""The evidence against plain formulas, a general optimiser and finite differences."""

import numpy as np
import pytest
from scipy.optimize import minimize

import kernelhood as kh
from kernelhood.losses.base import RidgeLoss
from kernelhood.operators import DenseKernels, cells_of, one_task
from kernelhood.operators.dense import weighted_traces
from kernelhood.solvers.block import block_of
from kernelhood.solvers.least_squares import solve_evidence

SIZES = np.array([12, 9, 15])
RELATIONS = {
    "mixed": (np.stack([np.ones((3, 3)), np.eye(3)]), False),
    "functions": (np.ones((1, 3, 3)), True),
    "similar": (np.array([[[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]]]), True),
}


def points(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


def small_bank(X):
    return kh.KernelBank([kh.Gaussian(0.5), kh.Gaussian(2.0), kh.Linear()])(X)


def one_block(n=40, scale=1.0, cost=None):
    X, y = points(n)
    Ks, cost = small_bank(X), np.ones(n) if cost is None else cost
    loss = RidgeLoss(scale * y, cost, np.array([0, n]))
    return block_of(one_task(Ks), loss), Ks, y


def joint(relation, free):
    """Return the block of three tasks and, written out, the matrix of every weight's kernel."""
    matrices, separate = RELATIONS[relation]
    n, starts = int(SIZES.sum()), np.concatenate([[0], np.cumsum(SIZES)])
    X, y = points(n)
    Ks, task = small_bank(X), np.repeat(np.arange(3), SIZES)
    operator = DenseKernels(cells_of(np.arange(n), SIZES, np.arange(3)), matrices, separate, Ks=Ks)
    loss = RidgeLoss(y + task, np.ones(n), starts if free else starts[[0, -1]])
    whole = [B[task][:, task] * K for B in matrices for K in Ks]
    if separate:
        whole += [np.outer(task == t, task == t) * K for t in range(3) for K in Ks]
    return operator, loss, np.array(whole)


def evidence(Ks, weights, noise, loss):
    """Return minus the log likelihood of the contrasts, by the formula of a Gaussian density."""
    group = np.repeat(np.arange(len(loss.group_starts) - 1), np.diff(loss.group_starts))
    E = (group[:, None] == np.unique(group)).astype(float)
    N = np.linalg.svd(E)[0][:, E.shape[1] :]
    A = N.T @ (np.tensordot(weights, Ks, 1) + np.diag(noise / loss.cost)) @ N
    z = N.T @ loss.target
    logs = np.linalg.slogdet(A)[1] + len(z) * np.log(2.0 * np.pi)
    return 0.5 * float(z @ np.linalg.solve(A, z)) + 0.5 * logs


@pytest.mark.parametrize("learn_noise", [True, False])
def test_a_general_optimiser_finds_nothing_lower_from_there(learn_noise):
    cost = np.random.default_rng(1).uniform(0.5, 2.0, 40)
    block, Ks, y = one_block(cost=cost)
    loss = RidgeLoss(y, cost, np.array([0, 40]))
    found = solve_evidence([block], learn_noise=learn_noise, tol=1e-9)
    assert found.gap <= 1e-9
    noise = found.noise_scale
    assert learn_noise or noise == 1.0
    assert found.objective == pytest.approx(evidence(Ks, found.weights, noise, loss), rel=1e-9)

    def logarithmic(z):
        return evidence(Ks, np.exp(z[:3]), np.exp(z[3]) if learn_noise else 1.0, loss)

    start = np.log(np.append(np.maximum(found.weights, 1e-8), noise))
    other = minimize(logarithmic, start, method="L-BFGS-B")
    assert found.objective <= other.fun + 1e-6
    far = minimize(logarithmic, np.zeros(4), method="L-BFGS-B")
    assert found.objective <= far.fun + 1e-4


@pytest.mark.parametrize("free", [True, False], ids=["task intercepts", "one intercept"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_joint_weights_are_stationary_under_every_relation(relation, free):
    operator, loss, whole = joint(relation, free)
    found = solve_evidence([block_of(operator, loss)], tol=1e-8)
    noise = found.noise_scale
    assert found.gap <= 1e-8
    assert found.objective == pytest.approx(evidence(whole, found.weights, noise, loss), rel=1e-9)
    assert np.all(np.diff(found.trace[:, 0]) <= 0.0)
    units = 1e-4 / np.trace(whole, axis1=1, axis2=2) * len(loss.target)
    for m, unit in enumerate(units):
        step = unit * np.eye(len(units))[m]
        above = evidence(whole, found.weights + step, noise, loss) - found.objective
        assert above >= -1e-6
        if found.weights[m] > unit:
            assert evidence(whole, found.weights - step, noise, loss) >= found.objective - 1e-6
    for factor in (0.99, 1.01):
        assert evidence(whole, found.weights, factor * noise, loss) > found.objective


@pytest.mark.parametrize("relation", RELATIONS)
def test_traces_with_a_matrix_are_those_of_the_kernels_written_out(relation):
    operator, _, whole = joint(relation, True)
    Z = np.random.default_rng(0).normal(size=whole.shape[1:])
    Z = Z + Z.T
    np.testing.assert_allclose(weighted_traces(operator, Z), np.einsum("wij,ji->w", whole, Z))


def test_a_constant_beside_a_free_intercept_has_no_weight():
    X, y = points(30)
    Ks = np.concatenate([small_bank(X), np.ones((1, 30, 30))])
    found = solve_evidence([block_of(one_task(Ks), RidgeLoss(y, np.ones(30), np.array([0, 30])))])
    assert found.weights[3] == 0.0
    assert found.weights[:3].any()


def test_the_units_of_targets_and_costs_do_not_matter():
    plain = solve_evidence([one_block()[0]], tol=1e-8)
    large = solve_evidence([one_block(scale=1e4, cost=np.full(40, 1e3))[0]], tol=1e-8)
    np.testing.assert_allclose(large.weights, 1e8 * plain.weights, rtol=1e-3, atol=1e2)
    assert large.noise_scale / 1e3 == pytest.approx(1e8 * plain.noise_scale, rel=1e-4)
    assert large.objective == pytest.approx(plain.objective + 39 * np.log(1e4), rel=1e-6)


def test_a_start_elsewhere_ends_no_higher_than_it_began():
    weights = np.array([0.0, 0.0, 1.0])
    found = solve_evidence([one_block()[0]], weights=weights, tol=1e-6)
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(solve_evidence([one_block()[0]], tol=1e-6).objective)


def test_constant_targets_need_no_function_but_keep_their_samples():
    n = 10
    Ks = small_bank(points(n)[0])
    found = solve_evidence([block_of(one_task(Ks), RidgeLoss(np.ones(n), np.ones(n), [0, n]))])
    assert np.all(np.isfinite(found.weights))
    np.testing.assert_allclose(found.v, 0.0, atol=1e-200)
    assert np.all(found.v != 0.0)


def test_single_precision_kernels_are_factorised_in_double():
    operator, loss, whole = joint("mixed", False)
    single = DenseKernels(operator.cells, operator.matrices, Ks=operator.Ks.astype(np.float32))
    found = solve_evidence([block_of(single, loss)], tol=1e-5)
    assert found.gap <= 1e-5
    expected = evidence(whole, found.weights, found.noise_scale, loss)
    assert found.objective == pytest.approx(expected, rel=1e-5)


def test_targets_without_noise_keep_the_least_that_is_learned():
    X, _ = points(30)
    y = 2.0 * X[:, 0] + 1.0
    found = solve_evidence([block_of(one_task(small_bank(X)), RidgeLoss(y, np.ones(30), [0, 30]))])
    assert found.gap <= 1e-3
    assert found.noise_scale == pytest.approx(1e-8 * np.var(y))
