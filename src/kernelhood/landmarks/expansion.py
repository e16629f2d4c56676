"""What a fitted model keeps: landmarks, and for every task the sum of its samples' features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.landmarks.features import Landmarks


@dataclass(frozen=True)
class LandmarkExpansion:
    """Functions of all tasks that landmarks carry.

    Attributes
    ----------
    landmarks : Landmarks
        The landmarks, for the kernels that have a weight anywhere.
    kernels : ndarray of int
        These kernels.
    sums : ndarray of shape (n_components, n_tasks, n_columns)
        ``sum_i v_i phi(x_i)`` over the samples of every task: what its samples add to functions.
    total : ndarray of shape (n_components, n_columns)
        The same for all tasks together.
    approximation : ndarray of shape (n_kernels,)
        The part of the trace of every kernel that its features keep.
    """

    landmarks: Landmarks
    kernels: Indices
    sums: Array
    total: Array
    approximation: Array

    def related(self, rows: Array, weights: Array) -> Array:
        """Return the coefficients of what all samples add to a function.

        Parameters
        ----------
        rows : ndarray of shape (n_matrices, n_tasks)
            How the function's task is joined to the others by the relation's matrices.
        weights : ndarray of shape (n_matrices, n_kernels)
            The weights of all kernels under each matrix.
        """
        found = np.zeros_like(self.total)
        for row, theta in zip(rows, weights, strict=True):
            if not np.any(theta):
                continue
            if np.all(row == row[0]):
                part = row[0] * self.total
            else:
                where = np.flatnonzero(row)
                part = np.tensordot(row[where], self.sums[:, where], axes=(0, 1))
            found += part * self._by_column(theta)
        return found

    def own(self, task: int, weights: Array) -> Array:
        """Return the coefficients of what a task's samples add to its function."""
        return np.asarray(self.sums[:, task] * self._by_column(weights))

    def _by_column(self, weights: Array) -> Array:
        return np.repeat(weights[self.kernels], np.diff(self.landmarks.starts))

    def values(self, X: Any, coefficients: list[Array], ends: Indices) -> Array:
        """Return functions at points in blocks, each function at some consecutive points.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            The points.
        coefficients : list of ndarray of shape (n_components, n_columns)
            The functions.
        ends : ndarray of int
            Where the points of each function end.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        found = np.zeros((X.shape[0], len(self.total)))
        if not len(self.kernels):
            return found
        step, starts = self.landmarks.rows_at_once, np.concatenate([[0], ends])
        for begin in range(0, X.shape[0], step):
            stop = min(begin + step, X.shape[0])
            Ks = self.landmarks.bank(X[begin:stop], self.landmarks.points)
            for f in range(int(np.searchsorted(ends, begin, side="right")), len(ends)):
                a, b = max(int(starts[f]), begin), min(int(starts[f + 1]), stop)
                if a >= stop:
                    break
                for K, at in zip(Ks, self._at_landmarks(coefficients[f]), strict=True):
                    found[a:b] += K[a - begin : b - begin] @ at
        return found

    def _at_landmarks(self, coefficients: Array) -> list[Array]:
        """Return coefficients as those of every kernel at the landmarks, a column a function."""
        parts = np.split(coefficients, self.landmarks.starts[1:-1], axis=1)
        return [own @ part.T for own, part in zip(self.landmarks.maps, parts, strict=True)]
