"""Kernels that are evaluated when needed against the same kernels held in memory."""

import numpy as np
import pytest

from kernelhood.solvers import svm_dual
from kernelhood.solvers.combined import kernel_matrix
from kernelhood.solvers.evaluated import EvaluatedFamily
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.penalty import Penalty
from tests.solvers.families import KINDS, LAYOUTS, family_of
from tests.solvers.problems import LOSSES, dual_terms, points


class Slices:
    """An evaluator that reads its values from matrices, and counts them."""

    def __init__(self, Ks):
        self.Ks, self.entries = Ks, 0

    def __len__(self):
        return len(self.Ks)

    @property
    def diagonals(self):
        return np.einsum("mii->mi", self.Ks)

    def stack(self, rows, columns):
        self.entries += len(rows) * len(columns)
        return self.Ks[:, rows][:, :, columns]

    def combine(self, rows, columns, weights):
        return np.tensordot(weights, self.stack(rows, columns), axes=1)

    def products(self, rows, columns, change):
        return change @ self.stack(rows, columns)


def evaluated(family, dtype=np.float64):
    none = np.empty((0, 1, 1), dtype=dtype)
    evaluator = Slices(family.Ks)
    return EvaluatedFamily(none, family.layout, family.shares, family.specifics, evaluator)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_gives_what_matrices_in_memory_give(layout, kind, repeated):
    held, _ = family_of(layout, kind, repeated=repeated)
    lazy, rng = evaluated(held), np.random.default_rng(2)
    weights = rng.uniform(size=held.n_weights)
    weights[rng.choice(held.n_weights, 2, replace=False)] = 0.0
    assert lazy.n_weights == held.n_weights
    kernel = lazy.kernel(weights, 0.2)
    np.testing.assert_allclose(kernel.diagonal, held.kernel(weights, 0.2).diagonal)
    some = np.array([0, 3, 11])
    lazy.fill(kernel, some)
    assert np.flatnonzero(kernel.ready).tolist() == some.tolist()
    lazy.fill(kernel, np.flatnonzero(~kernel.ready))
    expected = kernel_matrix(held.kernel(weights, 0.2))
    np.testing.assert_allclose(kernel_matrix(kernel), expected, atol=1e-12)
    v = rng.normal(size=held.n_samples)
    v[::4] = 0.0
    mine, theirs = lazy.no_products(), held.no_products()
    lazy.add_products(v, mine)
    held.add_products(v, theirs)
    np.testing.assert_allclose(mine, theirs, atol=1e-12)


def joint_problem(loss):
    family, sign = family_of("tasks", "both")
    X, _ = points(family.n_samples)
    terms = dual_terms(loss, X, sign, 2.0)._replace(starts=family.layout.starts)
    d = np.full(family.n_weights, 1.0)
    return family, terms, Penalty(d, np.zeros((len(d), len(d))), np.zeros_like(d), 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", LOSSES)
def test_it_reaches_the_same_optimum(loss, dtype):
    family, terms, penalty = joint_problem(loss)
    held = solve_mkl(family, terms, penalty, tol=1e-6)
    lazy = solve_mkl(evaluated(family, dtype), terms, penalty, tol=1e-6)
    assert lazy.gap <= 1e-6
    assert lazy.objective == pytest.approx(held.objective, rel=1e-5)


def test_where_pair_steps_stall_the_interior_point_gets_all_rows(monkeypatch):
    family, terms, penalty = joint_problem("hinge")
    monkeypatch.setattr(svm_dual, "_PAIR_STEPS_PER_SAMPLE", 1)
    found = solve_mkl(evaluated(family), terms, penalty, tol=1e-6)
    assert found.gap <= 1e-6


def test_rows_that_take_no_part_are_never_evaluated(monkeypatch):
    """Only the support vectors of a regression with a wide tube take part."""
    monkeypatch.setattr(svm_dual, "_ROWS_AT_ONCE", 1)
    family, terms, _ = joint_problem("epsilon-insensitive")
    lazy = evaluated(family)
    kernel = lazy.kernel(np.full(lazy.n_weights, 0.1), 0.0)
    v, n = np.zeros(family.n_samples), family.n_samples
    svm_dual.solve_svm_dual(kernel, terms._replace(epsilon=1.5), v, np.zeros(n), 1e-4, lazy.fill)
    assert 0 < np.count_nonzero(kernel.ready) < n // 2
