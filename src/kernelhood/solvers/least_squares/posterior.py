"""What a Gaussian process knows of its functions after the targets: their variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from kernelhood._typing import Array, Indices
from kernelhood.solvers.least_squares.factor import Factor


@dataclass(frozen=True)
class Posterior:
    """The Gaussian process after the targets of its samples; intercepts are free.

    Attributes
    ----------
    factor : Factor
        Of the covariance of the targets, ``K + diag(noise)``.
    """

    factor: Factor

    @classmethod
    def of(cls, K: Array, noise: Array, group_starts: Indices) -> Posterior:
        """Return the posterior of functions with a covariance at the samples.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            Covariance of the functions; overwritten.
        noise : ndarray of shape (n_samples,)
            Variances of the noise.
        group_starts : ndarray of int, shape (n_groups + 1,)
            Where each group of samples with a common intercept starts.
        """
        A, size = np.ascontiguousarray(K), float(np.trace(K)) if len(K) else 0.0
        A.flat[:: len(A) + 1] += noise
        for jitter in (0.0, 1e-14, 1e-11, 1e-8):
            B = A.copy()
            B.flat[:: len(B) + 1] += jitter * size
            found = Factor.of(B, group_starts)
            if found is not None:
                return cls(found)
        raise ValueError("kernels holds one that is not positive semidefinite.")

    @property
    def precisions(self) -> Array:
        """The diagonal of Z, of shape (n_samples,).

        A target differs from its prediction by all others by ``v_i / Z_ii``.
        """
        return np.ascontiguousarray(np.diagonal(self.factor.inverse()))

    def variance(self, cross: Array, prior: Array, groups: Array) -> Array:
        """Return the variance of functions, with what is not known of their intercepts.

        Parameters
        ----------
        cross : ndarray of shape (n_points, n_samples)
            Covariance of the functions at the points with those at the samples.
        prior : ndarray of shape (n_points,)
            Their variance before the targets.
        groups : ndarray of shape (n_groups,)
            How much of each group's intercept they have.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        half = self.factor.half(np.asfortranarray(cross.T))
        Q, R = self.factor.basis
        free = solve_triangular(R, groups, trans=1)[:, None] - Q.T @ half
        found = prior - np.sum(half**2, axis=0) + np.sum(free**2, axis=0)
        return np.maximum(found, 0.0)
