"""A problem whose intercept is given: coordinate ascent on its dual, one sample at a time.

    max over v of   target'v - epsilon |v|_1 - 1/2 v'Kv,    lower <= v <= upper

Without an intercept the dual has no constraint between samples, and each step is a clipped number.
With the squared loss there is no box, and the dual is one linear system.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve

from kernelhood._compiled import compiled
from kernelhood._typing import Array
from kernelhood.losses import BoxLoss, RidgeLoss, SampleLoss


def solve_without_intercept(
    K: Array, loss: SampleLoss, *, tol: float = 1e-6, max_passes: int = 10_000
) -> Array:
    """Return the dual vector of a problem without intercept.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The kernel matrix.
    loss : BoxLoss or RidgeLoss
        The loss; its groups of intercepts play no part.
    tol : float
        Relative duality gap to reach.
    max_passes : int
        Largest number of passes over the samples.
    """
    if isinstance(loss, RidgeLoss):
        return np.asarray(solve(K + np.diag(1.0 / loss.cost), loss.target, assume_a="pos"))
    v, f = np.zeros(len(K)), np.zeros(len(K))
    for _ in range(max_passes):
        _one_pass(K, loss, v, f)
        if _gap(loss, v, f) <= tol:
            break
    return v


@compiled
def _one_pass(K: Array, loss: BoxLoss, v: Array, f: Array) -> None:
    """Move every entry of v to the best place for it, and keep f = Kv."""
    for i in range(v.shape[0]):
        slope, old = loss.target[i] - f[i] + K[i, i] * v[i], v[i]
        away = max(abs(slope) - loss.epsilon, 0.0)
        if away == 0.0:
            best = 0.0
        elif K[i, i] > 0.0:
            best = np.sign(slope) * away / K[i, i]
        else:
            best = np.sign(slope) * np.inf
        v[i] = min(max(best, loss.lower[i]), loss.upper[i])
        if v[i] != old:
            f += (v[i] - old) * K[i]


def _gap(loss: BoxLoss, v: Array, f: Array) -> float:
    """Return the duality gap over the primal value."""
    size = 0.5 * float(v @ f)
    miss = loss.target - f
    over = loss.upper * np.maximum(miss - loss.epsilon, 0.0)
    under = -loss.lower * np.maximum(-miss - loss.epsilon, 0.0)
    primal = size + float(np.sum(over + under))
    dual = float(loss.target @ v) - loss.epsilon * float(np.abs(v).sum()) - size
    return (primal - dual) / primal if primal > 0.0 else 0.0
