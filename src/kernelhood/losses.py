"""The two losses, written as one: the box and the linear term of the dual.

Both the hinge and the epsilon-insensitive loss are instances of the two-sided hinge

    loss_i(f) = upper_i * max(0, target_i - epsilon - f) - lower_i * max(0, f - target_i - epsilon)

whose conjugate puts the signed dual vector v into the box ``lower <= v <= upper``:

    max over v of   target'v - epsilon |v|_1 - 1/2 v'Kv,    lower <= v <= upper

with ``1'v = 0`` over every group of samples that has an intercept of its own; a single task is one
group. The hinge loss has epsilon = 0 and one of the two sides closed, so that v_i = y_i alpha_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array, Indices


class DualTerms(NamedTuple):
    """What the dual of one task needs to know about its loss.

    Attributes
    ----------
    target : ndarray of shape (n_samples,)
        The labels -1 and +1, or the regression targets.
    lower, upper : ndarray of shape (n_samples,)
        The box of the signed dual vector; ``lower <= 0 <= upper`` and ``lower < upper``.
    epsilon : float
        Half the width of the insensitive tube; 0 for the hinge loss.
    starts : ndarray of int, shape (n_groups + 1,)
        Where each group of samples with a common intercept starts, and the number of samples.
    """

    target: Array
    lower: Array
    upper: Array
    epsilon: float
    starts: Indices


def hinge(sign: Array, penalty: Array) -> DualTerms:
    """Return the dual terms of ``penalty * max(0, 1 - sign * f)``.

    Parameters
    ----------
    sign : ndarray of shape (n_samples,)
        -1 or +1.
    penalty : ndarray of shape (n_samples,)
        C times the weight of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> terms = hinge(np.array([1.0, -1.0]), np.array([2.0, 2.0]))
    >>> terms.lower.tolist(), terms.upper.tolist()
    ([0.0, -2.0], [2.0, 0.0])
    """
    bound = sign * penalty
    return DualTerms(
        sign, np.minimum(bound, 0.0), np.maximum(bound, 0.0), 0.0, _one_group(len(sign))
    )


def epsilon_insensitive(target: Array, penalty: Array, epsilon: float) -> DualTerms:
    """Return the dual terms of ``penalty * max(0, |target - f| - epsilon)``.

    Parameters
    ----------
    target : ndarray of shape (n_samples,)
        Any real numbers.
    penalty : ndarray of shape (n_samples,)
        C times the weight of each sample.
    epsilon : float
        Half the width of the tube, in the units of `target`.
    """
    return DualTerms(target, -penalty, penalty.copy(), float(epsilon), _one_group(len(target)))


def joined(parts: Sequence[DualTerms], starts: Indices) -> DualTerms:
    """Return the losses of several tasks as one, with the intercepts' groups that are given.

    Parameters
    ----------
    parts : sequence of DualTerms
        With the same epsilon.
    starts : ndarray of int, shape (n_groups + 1,)
        Of the groups among all samples.
    """
    return DualTerms(
        np.concatenate([one.target for one in parts]),
        np.concatenate([one.lower for one in parts]),
        np.concatenate([one.upper for one in parts]),
        parts[0].epsilon,
        starts,
    )


def _one_group(n_samples: int) -> Indices:
    return np.array([0, n_samples], dtype=np.intp)
