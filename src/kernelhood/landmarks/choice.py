"""Which points become landmarks: far from what the others span, in the space of all kernels.

The next landmark is drawn with a probability that is proportional to what the ones before leave of
k(x, x), where k is the mean of all kernels, each scaled to a mean diagonal of one. This is
k-means++ with distances from the span of the landmarks in the place of distances from the
landmarks: Y. Chen, E. N. Epperly, J. A. Tropp and R. J. Webber, *Randomly Pivoted Cholesky*,
Communications on Pure and Applied Mathematics 78, 2025. Unlike k-means on the points it does not
depend on the units of columns that the kernels do not see.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood.kernels import KernelBank

_MOST_LOOKED_AT = 10_000
_NOTHING_LEFT = 1e-12


def choose_landmarks(
    bank: KernelBank, points: Any, n_components: int, *, random_state: int = 0
) -> Any:
    """Return landmarks for all kernels of a bank.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    points : ndarray or CSR matrix of shape (n_points, n_features)
        Where to choose from; of more than 10,000 a random part is looked at.
    n_components : int
        How many landmarks; fewer where the points have no more to give.
    random_state : int
        The same number gives the same landmarks.

    Returns
    -------
    ndarray or CSR matrix of shape (n_landmarks, n_features)

    Examples
    --------
    >>> from kernelhood import default_bank
    >>> choose_landmarks(default_bank(), np.eye(4), 3).shape
    (3, 4)
    """
    n_points = points.shape[0]
    if n_components >= n_points:
        return points
    rng = np.random.default_rng(random_state)
    if n_points > _MOST_LOOKED_AT:
        points = points[np.sort(rng.choice(n_points, _MOST_LOOKED_AT, replace=False))]
    seen = bank.prepared(points)
    diagonals = np.array([kernel.diagonal(seen) for kernel in bank])
    sizes = diagonals.mean(axis=1)
    weights = np.where(sizes > 0.0, 1.0 / np.where(sizes > 0.0, sizes, 1.0), 0.0)
    left = weights @ diagonals
    total = left.sum()
    chosen: list[int] = []
    factor = np.zeros((n_components, len(left)))
    while len(chosen) < n_components and left.sum() > _NOTHING_LEFT * total:
        k = len(chosen)
        one = int(rng.choice(len(left), p=left / left.sum()))
        column = bank.plain.combine(seen[[one]], seen, weights)[0]
        column -= factor[:k, one] @ factor[:k]
        chosen.append(one)
        if column[one] <= _NOTHING_LEFT * total / len(left):
            left[one] = 0.0
            continue
        factor[k] = column / np.sqrt(column[one])
        left = np.maximum(left - factor[k] ** 2, 0.0)
        left[one] = 0.0
    return points[np.sort(np.array(chosen))]
