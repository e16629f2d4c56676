"""Pairs coupled into classes, held to the equations that define them."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest

from kernelhood.estimators.calibration import couple_pairs
from tests.references import optimum


def pair_table(row, n_classes):
    """Return r_ij, the probability of i among i and j."""
    r = np.zeros((n_classes, n_classes))
    for p, (i, j) in zip(row, combinations(range(n_classes), 2), strict=True):
        r[j, i], r[i, j] = p, 1.0 - p
    return r


def squares(p, r):
    n = len(r)
    return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(n) for j in range(n) if i != j)


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_the_coupled_probabilities_minimise_the_squares(n_classes):
    rng = np.random.default_rng(n_classes)
    pairs = rng.random((4, n_classes * (n_classes - 1) // 2))
    pairs[0] = np.round(pairs[0])  # pairs that are sure, and may contradict each other
    found = couple_pairs(pairs, n_classes)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.all(found >= 0.0)
    for p, row in zip(found, pairs, strict=True):
        r = pair_table(row, n_classes)
        free = cp.Variable(n_classes)
        problem = cp.Problem(cp.Minimize(squares(free, r)), [cp.sum(free) == 1, free >= 0])
        assert squares(p, r) <= optimum(problem, accuracy=1e-8) + 1e-7


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_pairs_of_true_probabilities_give_these_back(n_classes):
    p = np.random.default_rng(0).dirichlet(np.ones(n_classes), size=6)
    pairs = [p[:, j] / (p[:, i] + p[:, j]) for i, j in combinations(range(n_classes), 2)]
    np.testing.assert_allclose(couple_pairs(np.column_stack(pairs), n_classes), p, atol=1e-6)


def test_the_order_of_classes_does_not_matter():
    rng = np.random.default_rng(1)
    r = pair_table(rng.random(6), 4)
    order = np.array([2, 0, 3, 1])
    rows = [
        [table[j, i] for i, j in combinations(range(4), 2)]
        for table in (r, r[np.ix_(order, order)])
    ]
    first, second = couple_pairs(np.array(rows), 4)
    np.testing.assert_allclose(first[order], second, atol=1e-12)
