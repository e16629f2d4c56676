"""Linear systems of low rank against the same systems written out."""

from dataclasses import replace

import numpy as np
import pytest

from kernelhood.operators import low_rank
from kernelhood.operators.base import combined_matrix
from kernelhood.solvers import low_rank_system as cell
from kernelhood.solvers.low_rank_system import LowRankSystem
from tests.operators.examples import KINDS, kernels_of
from tests.operators.test_low_rank import low_rank_of, written_out


@pytest.mark.parametrize("megabytes", [0.0, 100.0])
@pytest.mark.parametrize(("small", "kept"), [(32, 512), (7, 512), (0, 0)])
@pytest.mark.parametrize("most", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_small_and_large_cells_solve_the_same_system(kind, most, small, kept, megabytes):
    """With one feature for each kernel cells have more samples than features."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(low_rank, "_ROWS_AT_ONCE", 7)
        patch.setattr(cell, "_SMALL", small)
        patch.setattr(cell, "_KEPT_GRAM", kept)
        given, _ = kernels_of("all tasks", kind)
        kernels = low_rank_of(given, most, megabytes=megabytes)
        held, rng = written_out(kernels), np.random.default_rng(0)
        n, weights = held.n_samples, rng.random(held.n_weights)
        weights[::4] = 0.0
        K = combined_matrix(held.combined(weights, 0.0, held.row_buffer()))
        for starts in (kernels.cells.starts, kernels.cells.starts[[0, -1]]):
            system = LowRankSystem(kernels, weights, starts)
            v = rng.normal(size=n)
            np.testing.assert_allclose(system.multiply(v), K @ v, atol=1e-10)
            assert system.trace() == pytest.approx(np.trace(K))
            d, groups = rng.uniform(0.1, 10.0, n), len(starts) - 1
            system.factorise(d)
            E = np.repeat(np.eye(groups), np.diff(starts), axis=0)
            whole = np.block([[K + np.diag(d), E], [E.T, np.zeros((groups, groups))]])
            right, sums = rng.normal(size=(n, 2)), rng.normal(size=(groups, 2))
            x, b = system.solve_with_sums(right, sums)
            expected = np.linalg.solve(whole, np.vstack([right, sums]))
            np.testing.assert_allclose(np.vstack([x, b]), expected, atol=1e-8)


def test_cells_with_fewer_samples_than_features_are_solved_together():
    sizes = np.array([3, cell._SMALL + 1, 8, 9])
    parts = cell.OwnParts(np.concatenate([[0], np.cumsum(sizes)]), n_features=8)
    N = np.random.default_rng(0).normal(size=(sizes.sum(), 8))
    parts.learn(range(4), N)
    parts.factorise(range(4), N, np.ones(len(N)))
    assert sorted(parts._large_factors) == [1, 3]
    assert parts.needs_features
    assert not cell.OwnParts(np.array([0, 3, 11]), n_features=8).needs_features


@pytest.mark.parametrize("kind", KINDS)
def test_features_that_fit_in_single_precision_only_are_kept_so(kind):
    kernels = low_rank_of(kernels_of("all tasks", kind)[0], 5)
    held, weights = written_out(kernels), np.linspace(0.1, 1.0, kernels.n_weights)
    K = combined_matrix(held.combined(weights, 0.0, held.row_buffer()))
    whole = LowRankSystem(kernels, weights, kernels.cells.starts)
    numbers = kernels.n_samples * (whole.n_common + len(whole._own))
    some = replace(kernels, megabytes=6.0 * numbers / 2**20)
    system = LowRankSystem(some, weights, kernels.cells.starts)
    assert {part.G.dtype for part in system._kept} == {np.dtype(np.float32)}
    assert {part.G.dtype for part in system.parts()} == {np.dtype(np.float64)}
    v = np.random.default_rng(0).normal(size=kernels.n_samples)
    np.testing.assert_allclose(system.multiply(v), K @ v, atol=1e-5 * np.abs(K @ v).max())
    none = LowRankSystem(replace(kernels, megabytes=0.0), weights, kernels.cells.starts)
    assert none._kept is None
