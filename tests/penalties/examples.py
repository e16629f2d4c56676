"""One penalty of every kind, well and badly scaled, and weights that each of them allows."""

from __future__ import annotations

import numpy as np

from kernelhood.penalties import (
    Concave,
    Distance,
    Fixed,
    Linear,
    LpBall,
    Quadratic,
    SharedSimplices,
    Simplex,
)
from kernelhood.penalties.priced import nearest_weights

N = 6
SIZES = np.array([1e-6, 1e6, 1.0, 1e-3, 1e3, 1e-5])


def frobenius(seed=0, rank=4, sizes=1.0, n=N):
    """Return a matrix like the Frobenius products of kernels: psd, with no negative entry."""
    A = np.random.default_rng(seed).uniform(size=(n, rank)) * np.broadcast_to(sizes, n)[:, None]
    return A @ A.T


def ladder():
    """Return the Frobenius products of Gaussians, each wider than the last."""
    x = np.random.default_rng(8).normal(size=40)
    D = np.subtract.outer(x, x) ** 2
    Ks = [np.exp(-D / 4.0**k).ravel() for k in range(1, N + 1)]
    return np.array(Ks) @ np.array(Ks).T


def _with_zero(values, place=2):
    values = np.array(values, dtype=np.float64)
    for axis in range(values.ndim):
        values[(slice(None),) * axis + (place,)] = 0.0
    return values


ROW = np.linspace(0.5, 2.0, N)
TAU = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
TWICE = frobenius(rank=3)[[0, 0, 1, 1, 2, 2]][:, [0, 0, 1, 1, 2, 2]]
MIXED = np.linspace(-1.0, 2.0, N)
PENALTIES = {
    "prices": Linear(np.linspace(0.5, 2.0, N)),
    "prices of all sizes": Linear(SIZES),
    "squares": Quadratic(np.linspace(0.1, 1.0, N), frobenius()),
    "squares without prices": Quadratic(np.zeros(N), frobenius(1)),
    "rewards and squares": Quadratic(-np.linspace(0.1, 1.0, N), frobenius(2)),
    "squares of all sizes": Quadratic(0.1 * SIZES, frobenius(3, sizes=SIZES)),
    "squares of nearly one kernel": Quadratic(np.ones(N), frobenius(4, rank=1) + 1e-9 * np.eye(N)),
    "squares of one kernel": Quadratic(np.ones(N), frobenius(4, rank=1)),
    "squares of kernels given twice": Quadratic(np.full(N, 0.3), TWICE),
    "squares with a zero kernel": Quadratic(_with_zero(np.ones(N)), _with_zero(frobenius(5))),
    "a distance": Distance(2.0, frobenius(2), *nearest_weights(frobenius(2), MIXED)),
    "a distance that weighs much": Distance(
        1e9, frobenius(7, rank=6), *nearest_weights(frobenius(7, rank=6), 3.0 + MIXED)
    ),
    "a distance of all sizes": Distance(
        1.0,
        frobenius(3, sizes=SIZES),
        *nearest_weights(frobenius(3, sizes=SIZES), SIZES * MIXED),
    ),
    "a distance from what is out of reach": Distance(
        1.0, frobenius(2), *nearest_weights(frobenius(2), -np.ones(N))
    ),
    "a distance within a ladder": Distance(
        0.01, ladder(), np.array([0.0, 0.0, 0.98, 0.0, 5e-13, 0.0]), np.zeros(N)
    ),
    "a budget": Simplex(np.ones(N), 1.0),
    "a budget of all sizes": Simplex(SIZES, 1e3),
    "a budget with prices": Simplex(ROW, 3.0, np.linspace(-1.0, 1.0, N)),
    "a budget beside a ridge": Simplex(TAU, 1.0, None, 4.0 * (1.0 - TAU)),
    "a budget with a zero kernel": Simplex(_with_zero(ROW), 3.0),
    "a reward": Concave(ROW, 3.0, frobenius(6), 0.5),
    "a reward of all sizes": Concave(SIZES, 3.0, frobenius(6, sizes=SIZES), 0.5),
    "a ball": LpBall(2.0, np.ones(N)),
    "a ball of all sizes": LpBall(1.5, SIZES),
    "nearly a simplex": LpBall(1.01, np.ones(N)),
    "nearly a cube": LpBall(100.0, ROW),
    "simplices": SharedSimplices(2, 0.4, np.ones(2)),
    "simplices of other units": SharedSimplices(2, 0.7, np.array([1e-4, 1e3])),
    "nothing shared": SharedSimplices(2, 0.0, np.array([1.0, 2.0])),
    "all shared": SharedSimplices(2, 1.0, np.array([1.0, 2.0])),
    "given weights": Fixed(np.array([0.0, 1.0, 2e6, 3.0, 1e-6, 0.0])),
}


def unit_of(penalty):
    """Return weights that matter, one for each kernel."""
    if isinstance(penalty, Linear):
        return 1.0 / penalty.price
    if isinstance(penalty, Quadratic):
        size = np.sqrt(np.diagonal(penalty.Q))
        return 1.0 / np.where(size > 0.0, size, 1.0)
    if isinstance(penalty, Simplex):
        return penalty.budget / np.where(penalty.row > 0.0, penalty.row, 1.0)
    if isinstance(penalty, LpBall):
        return penalty.scale
    if isinstance(penalty, SharedSimplices):
        return np.tile(1.0 / penalty.row, 1 + penalty.n_tasks)
    return np.where(penalty.weights > 0.0, penalty.weights, 1.0)


def unused(penalty):
    """Return the kernels that are zero at all samples."""
    if isinstance(penalty, Quadratic):
        return np.diagonal(penalty.Q) == 0.0
    if isinstance(penalty, Simplex):
        return (penalty.row == 0.0) & (penalty.ridge == 0.0)
    return np.zeros(N, dtype=bool)


def forms(penalty, rng):
    """Return a q of sizes that matter to the penalty; 0 for kernels that are zero."""
    q = rng.uniform(size=N) * 10.0 ** rng.uniform(-3.0, 2.0) / unit_of(penalty)
    if rng.uniform() < 0.3:
        q *= 10.0 ** rng.uniform(-6.0, 6.0, size=N)
    if rng.uniform() < 0.3:
        q[rng.integers(N)] = 0.0
    return np.where(unused(penalty), 0.0, q)


def allowed(penalty, rng):
    """Return some weights of the set: anywhere, far out, at corners."""
    x = rng.uniform(size=N)
    if rng.uniform() < 0.5:
        x = 10.0 ** rng.uniform(-8.0, 8.0, size=N)
    if rng.uniform() < 0.5:
        x[rng.uniform(size=N) < 0.5] = 0.0
    if rng.uniform() < 0.3:
        x = np.eye(N)[rng.integers(N)]
    weights = x * unit_of(penalty)
    if isinstance(penalty, (Linear, Quadratic)):
        return weights * 10.0 ** rng.uniform(-4.0, 4.0)
    if isinstance(penalty, LpBall):
        size = weights / penalty.scale
        largest = size.max()
        if largest <= 0.0:
            return penalty.start()
        norm = largest * np.sum((size / largest) ** penalty.p) ** (1.0 / penalty.p)
        return weights / norm
    return penalty.nearest(weights)
