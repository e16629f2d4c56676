"""Kernels of low rank against the same kernels held in memory."""

import numpy as np
import pytest

from kernelhood.operators import HeldFeatures, LowRankKernels, low_rank
from kernelhood.operators.combined import combined_matrix
from kernelhood.penalties import Linear as Price
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from tests.operators.examples import KINDS, LAYOUTS, kernels_of, products_of
from tests.solvers.problems import LOSSES, loss_of, points


def features_of(Ks):
    """Return features whose inner products are the kernels."""
    found = []
    for K in Ks:
        values, vectors = np.linalg.eigh(K)
        kept = values > 1e-13 * values[-1]
        found.append(vectors[:, kept] * np.sqrt(values[kept]))
    starts = np.cumsum([0, *(one.shape[1] for one in found)])
    return HeldFeatures(np.concatenate(found, axis=1), starts)


def low_rank_of(held, **settings):
    return LowRankKernels(
        held.cells, held.matrices, held.separate, features=features_of(held.Ks), **settings
    )


def grouped(loss, kernels, intercept):
    starts = kernels.cells.starts
    return loss._replace(group_starts=starts if intercept == "task" else starts[[0, -1]])


@pytest.fixture(autouse=True)
def _several_blocks(monkeypatch):
    monkeypatch.setattr(low_rank, "_ROWS_AT_ONCE", 7)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_products_are_those_of_the_kernels(kind, layout, repeated):
    held, _ = kernels_of(layout, kind, repeated=repeated)
    kernels = low_rank_of(held)
    rng = np.random.default_rng(0)
    weights, v = rng.random(held.n_weights), rng.normal(size=held.n_samples)
    assert np.allclose(products_of(kernels, v), products_of(held, v))
    assert np.allclose(kernels.diagonals, held.diagonals)
    expected = combined_matrix(held.combined(weights, 0.3, held.row_buffer()))
    combined = kernels.combined(weights, 0.3, kernels.row_buffer())
    where = np.arange(1, held.n_samples, 2)
    assert np.allclose(kernels.block(combined, where), expected[np.ix_(where, where)])
    assert np.allclose(combined.diagonal, expected.diagonal())


@pytest.mark.parametrize("megabytes", [0.0, 100.0])
@pytest.mark.parametrize("intercept", ["task", "common"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_problems_have_the_optimum_of_the_kernels(kind, loss, intercept, megabytes):
    held, sign = kernels_of("all tasks", kind)
    X, _ = points(held.n_samples)
    one = grouped(loss_of(loss, X, sign, 10.0), held, intercept)
    price = Price(0.05 * held.traces[0])
    expected = solve(Problem([Block(held, one)], price), tol=1e-7)
    low = Block(low_rank_of(held, megabytes=megabytes), one)
    found = solve(Problem([low], price), tol=1e-7)
    assert found.gap <= 1e-7
    assert found.objective == pytest.approx(expected.objective, rel=3e-7)
    assert np.abs(np.add.reduceat(found.v, one.group_starts[:-1])).max() < 1e-9
