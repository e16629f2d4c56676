"""Problem (P) with shared and specific weights against a conic solver and against single tasks."""

import numpy as np
import pytest

from kernelhood.solvers.combined import combined_kernel
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.penalty import Penalty
from kernelhood.solvers.weight_step import value_hessian
from tests.references import conic_optimum
from tests.solvers.families import family_of, written_out
from tests.solvers.problems import LOSSES, dual_terms, points


def prices(matrices, specific_cost, n_shared, a, f):
    factor = np.where(np.arange(len(matrices)) < n_shared, 1.0, specific_cost)
    d = np.einsum("wii->w", matrices) * factor
    A = np.einsum("wij,uij->wu", matrices, matrices)
    return Penalty(a * d, f * A, np.zeros_like(d), 0.0), factor


@pytest.mark.parametrize("f", [0.0, 0.002])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", ["task", "common"])
def test_the_joint_problem_equals_a_conic_solver(intercept, loss, f):
    family, sign = family_of("tasks", "both")
    X, _ = points(family.n_samples)
    terms = dual_terms(loss, X, sign, 2.0)
    group = np.zeros(family.n_samples, dtype=int)
    if intercept == "task":
        terms = terms._replace(starts=family.layout.starts)
        group = family.layout.cell
    matrices = written_out(family)
    penalty, factor = prices(matrices, 1.5, 3, 0.05, f)
    found = solve_mkl(family, terms, penalty, tol=1e-6)
    expected = conic_optimum(
        matrices,
        terms.target,
        C=2.0,
        a=0.05,
        f=f,
        epsilon=None if loss == "hinge" else terms.epsilon,
        group=group,
        cost_factor=factor,
    )
    assert found.gap <= 1e-6
    assert found.objective == pytest.approx(expected, rel=1e-4)
    assert found.intercepts.shape == (group.max() + 1,)
    sums = np.add.reduceat(found.v, terms.starts[:-1])
    np.testing.assert_allclose(sums, 0.0, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_shared_kernels_the_tasks_are_on_their_own(loss):
    family, sign = family_of("tasks", "specific")
    X, _ = points(family.n_samples)
    terms = dual_terms(loss, X, sign, 2.0)._replace(starts=family.layout.starts)
    penalty, _ = prices(written_out(family), 1.0, 0, 0.05, 0.001)
    together = solve_mkl(family, terms, penalty, tol=1e-8)
    apart = 0.0
    for t in range(3):
        rows = slice(*family.layout.starts[t : t + 2])
        Ks = np.ascontiguousarray(family.Ks[:, rows, rows])
        size = Ks.shape[1]
        alone = terms._replace(
            target=terms.target[rows],
            lower=terms.lower[rows],
            upper=terms.upper[rows],
            starts=np.array([0, size]),
        )
        one = prices(Ks, 1.0, 0, 0.05, 0.001)[0]
        found = solve_mkl(Ks, alone, one, tol=1e-8)
        apart += found.objective
        np.testing.assert_allclose(
            family.apply(together.weights, _products(family, together.v))[rows],
            np.tensordot(found.weights, Ks, axes=1) @ found.v,
            atol=2e-3,
        )
    assert together.objective == pytest.approx(apart, rel=1e-7)


def _products(family, v):
    products = family.no_products()
    family.add_products(v, products)
    return products


@pytest.mark.parametrize("loss", LOSSES)
def test_the_hessian_of_a_family_is_that_of_its_matrices(loss):
    family, sign = family_of("tasks", "both")
    X, _ = points(family.n_samples)
    terms = dual_terms(loss, X, sign, 2.0)
    penalty, _ = prices(written_out(family), 1.5, 3, 0.05, 0.0)
    found = solve_mkl(family, terms, penalty, tol=1e-6)
    matrices = written_out(family)
    mine = value_hessian(
        family,
        family.kernel(found.weights, 1e-8),
        found.v,
        _products(family, found.v),
        terms,
    )
    kernel = combined_kernel(matrices, found.weights, 1e-8)
    plain = value_hessian(matrices, kernel, found.v, matrices @ found.v, terms)
    np.testing.assert_allclose(mine, plain, rtol=1e-6, atol=1e-8 * np.abs(plain).max())
