"""Kernels of low rank against the same kernels held in memory."""

import numpy as np
import pytest

from kernelhood.operators import DenseKernels, HeldFeatures, LowRankKernels, low_rank
from kernelhood.operators import gram as feature_gram
from kernelhood.operators.base import combined_matrix
from kernelhood.penalties import Linear as Price
from kernelhood.solvers.block import block_of
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from tests.operators.examples import KINDS, LAYOUTS, kernels_of, products_of
from tests.solvers.problems import LOSSES, loss_of, points


def features_of(Ks, most=1000):
    """Return features whose inner products are the kernels, or so many of them at most."""
    found = []
    for K in Ks:
        values, vectors = np.linalg.eigh(K)
        kept = values > max(1e-13 * values[-1], 0.0 if most >= len(K) else values[-1 - most])
        found.append(vectors[:, kept] * np.sqrt(values[kept]))
    starts = np.cumsum([0, *(one.shape[1] for one in found)])
    return HeldFeatures(np.concatenate(found, axis=1), starts)


def low_rank_of(held, most=1000, **settings):
    features = features_of(held.Ks, most)
    return LowRankKernels(held.cells, held.matrices, held.separate, features=features, **settings)


def written_out(kernels):
    """Return the same kernels with matrices that are held."""
    parts = np.split(kernels.features.values, kernels.features.starts[1:-1], axis=1)
    Ks = np.array([part @ part.T for part in parts])
    return DenseKernels(kernels.cells, kernels.matrices, kernels.separate, Ks=Ks)


def grouped(loss, kernels, intercept):
    starts = kernels.cells.starts
    return loss._replace(group_starts=starts if intercept == "task" else starts[[0, -1]])


@pytest.fixture(autouse=True)
def _several_blocks(monkeypatch):
    monkeypatch.setattr(low_rank, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(low_rank, "_FEWEST_ROWS", 7)
    monkeypatch.setattr(low_rank, "_NUMBERS_AT_HAND", 0)


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


@pytest.mark.parametrize(
    ("loss", "intercept", "megabytes"),
    [(LOSSES[0], "task", 0.0), (LOSSES[1], "common", 100.0)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_is_that_of_the_matrices_that_features_stand_for(
    kind, loss, intercept, megabytes
):
    given, sign = kernels_of("all tasks", kind)
    kernels = low_rank_of(given, 5, megabytes=megabytes)
    held = written_out(kernels)
    X, _ = points(held.n_samples)
    one = grouped(loss_of(loss, X, sign, 10.0), held, intercept)
    price = Price(0.05 * held.traces[0])
    expected = solve(Problem([block_of(held, one)], price), tol=1e-7)
    found = solve(Problem([block_of(kernels, one)], price), tol=1e-7)
    assert found.gap <= 1e-7
    assert found.objective == pytest.approx(expected.objective, rel=3e-7)
    assert np.abs(np.add.reduceat(found.v, one.group_starts[:-1])).max() < 1e-9


@pytest.mark.parametrize("lowest", [0.5, -1.0])
def test_second_moments_are_those_of_the_features(lowest, monkeypatch):
    monkeypatch.setattr(feature_gram, "_ROWS_AT_ONCE", 7)
    kernels = low_rank_of(kernels_of("all tasks", next(iter(KINDS)))[0])
    weights = np.random.default_rng(0).uniform(lowest, 2.0, kernels.n_samples)
    rows = np.arange(0, kernels.n_samples, 2)
    Phi = kernels.features.values[kernels.cells.point[rows]]
    found = feature_gram._moments(kernels, weights, rows)
    np.testing.assert_allclose(found, Phi.T @ (weights[rows, None] * Phi), atol=1e-10)


def test_features_come_as_they_are_held_or_in_doubles():
    values = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    held = HeldFeatures(values, np.array([0, 2, 4]))
    for some in (np.arange(3, 7), np.array([1, 0, 8])):
        assert held.as_held(some).dtype == np.float32
        np.testing.assert_array_equal(held.as_held(some), values[some])
        for columns in (slice(None), np.array([1, 2]), np.array([0, 3]), np.array([], dtype=int)):
            found = held.rows(some, columns)
            assert found.dtype == np.float64
            np.testing.assert_array_equal(found, values[some][:, columns])
