"""One probability for each class from those of its pairs.

The second method of Wu, Lin and Weng, Probability Estimates for Multi-class Classification by
Pairwise Coupling, JMLR 5 (2004): with r_ij the probability of class i where only i and j are
possible, p minimises

    sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2,    sum_i p_i = 1,

whose solution is not negative and solves a linear system.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kernelhood._typing import Array

_SURE = 1e-7


def couple_pairs(second: Array, n_classes: int) -> Array:
    """Return the probability of every class from those of its pairs.

    Parameters
    ----------
    second : ndarray of shape (n_samples, n_pairs)
        The probability of the second class of each pair, in the order (0, 1), (0, 2), ..., (1, 2).
    n_classes : int
        How many classes there are, at least 2.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> couple_pairs(np.array([[0.2], [0.5]]), 2).tolist()
    [[0.8, 0.2], [0.5, 0.5]]
    >>> couple_pairs(np.array([[0.5, 0.5, 0.5]]), 3).round(3).tolist()
    [[0.333, 0.333, 0.333]]
    """
    if n_classes == 2:
        return np.column_stack([1.0 - second[:, 0], second[:, 0]])
    sure = np.clip(second, _SURE, 1.0 - _SURE)
    system = np.zeros((len(second), n_classes + 1, n_classes + 1))
    system[:, :-1, -1] = system[:, -1, :-1] = 1.0
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r_ji = sure[:, pair]
        r_ij = 1.0 - r_ji
        system[:, i, i] += r_ji**2
        system[:, j, j] += r_ij**2
        system[:, i, j] = system[:, j, i] = -r_ji * r_ij
    right = np.zeros((len(second), n_classes + 1, 1))
    right[:, -1] = 1.0
    # Rounding alone makes them negative.
    found = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))
