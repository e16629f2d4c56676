"""Kernel weights of bounded p-norm, |theta|_p <= 1 with 1 < p < infinity, for one task.

The value of the SVM falls in every weight, so the bound is tight, and the weights satisfy
``q_m = scale theta_m^(p-1)``. Newton's method solves these equations in x = log theta, where they
are nearly linear: with H the Hessian of the value,

    ((p-1) I + diag(1/q) H diag(theta)) dx = log q - (p-1) x - log scale,   (theta^p)'dx = 0.

Putting 2 I, the majoriser's curvature, in the place of ``diag(1/q) H diag(theta)`` gives the
closed-form update ``theta_m ~ (theta_m^2 q_m)^(1/(p+1))``, which never raises the value. The
damping blends it in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array

_SMALLEST = 1e-15
_LONGEST = 5.0
_REACHABLE = 1e-6


class LpBall(NamedTuple):
    """The ball |theta|_p <= 1 of non-negative weights.

    Attributes
    ----------
    n_kernels : int
        Number of weights.
    p : float
        Above 1 and finite.
    """

    n_kernels: int
    p: float

    def start(self) -> Array:
        """Return equal weights of norm 1, as coordinates of shape (1, n_kernels)."""
        return np.full((1, self.n_kernels), self.n_kernels ** (-1.0 / self.p))

    def coordinates(self, weights: Array) -> Array:
        """Return weights of norm 1 in the direction of others, none of them out of reach.

        The step works on logarithms, which never leave a weight of 0.
        """
        return self._scaled(np.maximum(weights[0], _REACHABLE * weights.max()))[None]

    def weights(self, x: Array) -> Array:
        """Return x, which are the weights."""
        return x

    def support(self, curvatures: Array) -> float:
        """Return the dual norm |q|_{p*}, 1/p + 1/p* = 1."""
        return p_norm(curvatures[0], self.p / (self.p - 1.0))

    def step(self, x: Array, curvatures: Array, hessians: Array, damping: float) -> Array:
        """Return the weights after Newton's step on their logarithms."""
        theta = np.maximum(x[0], _SMALLEST)
        q = np.maximum(curvatures[0], 1e-16 * curvatures.max() + 1e-300)
        A = hessians[0] * (theta / q[:, None])
        A.flat[:: self.n_kernels + 1] += (self.p - 1.0) + 2.0 * damping
        wanted = np.log(q) - (self.p - 1.0) * np.log(theta)
        both = np.linalg.solve(A, np.column_stack([wanted, np.ones_like(q)]))
        tangent = theta**self.p
        scale = float(tangent @ both[:, 0]) / float(tangent @ both[:, 1])
        change = np.clip(both[:, 0] - scale * both[:, 1], -_LONGEST, _LONGEST)
        return self._scaled(theta * np.exp(change))[None]

    def between(self, x: Array, other: Array, fraction: float) -> Array:
        """Return the point of the sphere on the ray through a point of the segment."""
        return self._scaled(x[0] + fraction * (other[0] - x[0]))[None]

    def _scaled(self, theta: Array) -> Array:
        found = theta / p_norm(theta, self.p)
        return np.where(found <= _SMALLEST, 0.0, found)


def p_norm(values: Array, p: float) -> float:
    """Return |values|_p of non-negative values without overflow."""
    largest = float(values.max())
    if largest <= 0.0:
        return 0.0
    return largest * float(np.sum((values / largest) ** p)) ** (1.0 / p)
