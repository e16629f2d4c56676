import cvxpy as cp
import numpy as np
import pytest

from kernelhood.penalties import DualPoint, SharedSimplices
from tests.references import optimum


def hessian_of(H):
    """Return the Hessian of all weights from those of the tasks' own weights."""
    n_tasks, n = H.shape[:2]
    found = np.zeros((1 + n_tasks, n, 1 + n_tasks, n))
    found[0, :, 0] = H.sum(axis=0)
    for t in range(n_tasks):
        found[0, :, 1 + t] = found[1 + t, :, 0] = found[1 + t, :, 1 + t] = H[t]
    return found.reshape((1 + n_tasks) * n, -1)


def spread(q):
    """Return q of all weights from those of the tasks."""
    return np.vstack([q.sum(axis=0), q]).ravel()


@pytest.mark.parametrize("row", [np.ones(5), np.array([0.5, 1.0, 2.0, 1.0, 3.0])])
@pytest.mark.parametrize("budget", [0.0, 0.3, 1.0])
def test_the_step_minimises_the_model(budget, row):
    rng = np.random.default_rng(1)
    penalty, q = SharedSimplices(3, budget, row), rng.uniform(0.5, 2.0, (3, 5))
    roots = rng.normal(size=(3, 2, 5))
    x = penalty.start()
    H = hessian_of(np.einsum("trm,trk->tmk", roots, roots))
    found = penalty.step(x, spread(q), H, 0.0, 0.0, 1.0).weights.reshape(4, 5)
    x = x.reshape(4, 5)
    y = cp.Variable((4, 5), nonneg=True)
    moves = [y[0] + y[t + 1] - x[0] - x[t + 1] for t in range(3)]
    cost = sum(0.5 * cp.sum_squares(roots[t] @ move) - q[t] @ move for t, move in enumerate(moves))
    budgets = np.array([budget, *[1.0 - budget] * 3])
    model = cp.Problem(cp.Minimize(cost), [y @ row == budgets])
    least = optimum(model)
    y.value = found
    assert float(cost.value) == pytest.approx(least, rel=1e-6)
    np.testing.assert_allclose(found @ row, budgets, atol=1e-12)
    assert found.min() >= 0.0


def test_the_bound_is_attained_and_never_exceeded():
    rng = np.random.default_rng(2)
    q = rng.uniform(size=(3, 4))
    penalty = SharedSimplices(3, 0.4, np.ones(4))
    support = -penalty.lower_bound(DualPoint(0.0, spread(q)))
    x = rng.dirichlet(np.ones(4), size=(200, 4)) * np.array([0.4, 0.6, 0.6, 0.6])[:, None]
    assert max(float(spread(q) @ one.ravel()) for one in x) <= support
    best = np.zeros((4, 4))
    best[0, q.sum(axis=0).argmax()] = 0.4
    best[np.arange(1, 4), q.argmax(axis=1)] = 0.6
    assert penalty.contains(best.ravel())
    assert float(spread(q) @ best.ravel()) == pytest.approx(support)


def test_weights_outside_become_some_inside():
    weights = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    penalty = SharedSimplices(2, 0.4, np.ones(3))
    x = penalty.nearest(weights.ravel()).reshape(3, 3)
    assert x.min() >= 0.0
    np.testing.assert_allclose(x.sum(axis=1), [0.4, 0.6, 0.6])
    np.testing.assert_allclose(x[1:], 0.6 * weights[1:])
