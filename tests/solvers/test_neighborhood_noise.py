"""Neighborhoods of a combination: an SVM with one more kernel, the identity."""

import numpy as np
import pytest

from kernelhood.solvers.neighborhood import solve_neighborhood
from tests.solvers.problems import LOSSES, loss_of, points, stack

each_loss = pytest.mark.parametrize("kind", LOSSES)


def problem(kind, C, n=40):
    X, sign = points(n)
    Ks = stack(X)
    return np.concatenate([Ks, np.eye(n)[None]]), loss_of(kind, X, sign, C)


@each_loss
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e3])
def test_the_ridge_is_that_of_the_dual_vector(kind, C, rho):
    full, loss = problem(kind, C)
    for Ks in (full, full[-2:]):
        found = solve_neighborhood(Ks, loss, rho, tol=1e-8)
        assert found.gap <= 1e-8
        assert found.n_iter <= 20
        assert found.weights[:-1].sum() == pytest.approx(1.0)
        tau = float(found.v @ found.v) / (2.0 * rho)
        assert found.weights[-1] == pytest.approx(tau, rel=1e-2)


def test_a_warm_start_reaches_the_same_neighborhood():
    full, loss = problem("hinge", 10.0)
    cold = solve_neighborhood(full, loss, 2.0, tol=1e-9)
    for rho in (1e-3, 1.0, 1e4):
        other = solve_neighborhood(full, loss, rho, tol=1e-9)
        warm = solve_neighborhood(full, loss, 2.0, starts=[other], tol=1e-9)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
        loose = solve_neighborhood(full, loss, 2.0, starts=[other], tol=1e-2)
        assert loose.objective <= cold.objective * 1.02
