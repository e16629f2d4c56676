"""What a fitted model keeps: landmarks, and for every task the sum of its samples' features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.landmarks.features import Landmarks
from kernelhood.task_matrices import TaskMatrices

#: Functions with fewer points than this are faster to sum by features than to bring to landmarks.
_ROWS_A_FUNCTION = 16


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

    def of_tasks(
        self, tasks: Indices, matrices: TaskMatrices, weights: Any, own: Array | None
    ) -> Array:
        """Return the coefficients of the functions of some tasks.

        Parameters
        ----------
        tasks : ndarray of int
            The tasks.
        matrices : TaskMatrices
            How all tasks relate.
        weights : ndarray of shape (n_matrices, n_kernels)
            The weights of all kernels under each matrix.
        own : ndarray of shape (len(tasks), n_kernels), or None
            The weights that these tasks have for themselves.

        Returns
        -------
        ndarray of shape (len(tasks), n_components, n_columns)
        """
        found = np.zeros((len(tasks), *self.total.shape))
        for k, sums in enumerate(self.sums):
            for B, theta in zip(matrices, weights, strict=True):
                if np.any(theta):
                    found[:, k] += B.times(sums, tasks) * self._by_column(theta)
            if own is not None:
                found[:, k] += sums[tasks] * self._by_column(own)
        return found

    def _by_column(self, weights: Array) -> Array:
        """Return the weights of kernels, along the last axis, for each of their columns."""
        return np.repeat(weights[..., self.kernels], np.diff(self.landmarks.starts), axis=-1)

    def values(self, X: Any, coefficients: Array, which: Indices) -> Array:
        """Return functions at points in blocks, one function at each point.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            The points.
        coefficients : ndarray of shape (n_functions, n_components, n_columns)
            The functions.
        which : ndarray of int, shape (n,)
            The function of every point, ascending.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        found = np.zeros((X.shape[0], len(self.total)))
        if not len(self.kernels):
            return found
        few = len(coefficients) * _ROWS_A_FUNCTION <= X.shape[0]
        step = self.landmarks.rows_at_once
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, min(begin + step, X.shape[0]))
            if few:
                found[rows] = self._few_functions(X[rows], coefficients, which[rows])
            else:
                Phi = self.landmarks.features(X[rows])
                np.einsum("nd,nkd->nk", Phi, coefficients[which[rows]], out=found[rows])
        return found

    def _few_functions(self, X: Any, coefficients: Array, which: Indices) -> Array:
        """Return few functions at many points: they are brought to the landmarks first."""
        found = np.zeros((X.shape[0], len(self.total)))
        Ks = self.landmarks.bank(X, self.landmarks.points)
        numbers, starts = np.unique(which, return_index=True)
        for f, a, b in zip(numbers, starts, [*starts[1:], len(which)], strict=True):
            for K, at in zip(Ks, self._at_landmarks(coefficients[f]), strict=True):
                found[a:b] += K[a:b] @ at
        return found

    def _at_landmarks(self, coefficients: Array) -> list[Array]:
        """Return coefficients as those of every kernel at the landmarks, a column a function."""
        parts = np.split(coefficients, self.landmarks.starts[1:-1], axis=1)
        return [own @ part.T for own, part in zip(self.landmarks.maps, parts, strict=True)]
