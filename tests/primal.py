"""The primal side of an SVM: its best intercepts, its loss, and the gap to a dual vector."""

import numpy as np

from kernelhood.losses import dual_gain, svm_values


def best_intercepts(Kv, loss):
    """Return for every group the intercept b that minimises the total loss of ``Kv + b``."""
    return svm_values(np.zeros_like(Kv), Kv, loss)[0]


def total_loss(Kv, intercepts, loss):
    """Return the sum of the two-sided hinge losses of ``Kv`` plus each group's intercept."""
    rest = loss.target - Kv - np.repeat(intercepts, np.diff(loss.group_starts))
    above, below = np.maximum(rest - loss.epsilon, 0.0), np.maximum(-rest - loss.epsilon, 0.0)
    return float(loss.upper @ above - loss.lower @ below)


def svm_gap(v, Kv, intercepts, loss):
    """Return the duality gap between a feasible v and the function ``Kv`` plus intercepts."""
    return float(v @ Kv) + total_loss(Kv, intercepts, loss) - dual_gain(v, loss)
