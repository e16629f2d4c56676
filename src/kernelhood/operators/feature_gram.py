"""Frobenius products of kernels of low rank, which follow from sums over samples.

``<K^m, K^l>`` is the squared norm of ``Phi_m'Phi_l``. Under a factor F between tasks it is the sum
over the eigenvectors u of F of the same with every sample counted by u at its task.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.operators.frobenius import assembled_gram
from kernelhood.operators.low_rank import LowRankKernels
from kernelhood.task_matrices import TaskMatrices, TaskMatrix, Written

_NO_SIZE = 1e-12
_ROWS_AT_ONCE = 4096


def feature_task_grams(operator: LowRankKernels, counts: Array) -> Array:
    """Return the Frobenius products G_t on the samples of each task.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels, with a cell for each task.
    counts : ndarray of shape (n_samples,)
        How often each sample counts.

    Returns
    -------
    ndarray of shape (n_tasks, n_kernels, n_kernels)
    """
    starts, n_kernels = operator.cells.starts, operator.n_kernels
    found = np.empty((len(starts) - 1, n_kernels, n_kernels))
    for t in range(len(found)):
        rows = slice(int(starts[t]), int(starts[t + 1]))
        if rows.stop - rows.start > operator.n_features:
            every = np.arange(rows.start, rows.stop)
            found[t] = _squared_norms(operator, _moments(operator, counts, every))
            continue
        Phi = operator.features.rows(operator.cells.point[rows], slice(None))
        Phi, size = _counted(Phi, counts[rows]), rows.stop - rows.start
        flat = np.empty((n_kernels, size * size))
        for K, (a, b) in zip(flat, pairwise(operator.features.starts), strict=True):
            np.matmul(Phi[:, a:b], Phi[:, a:b].T, out=K.reshape(size, size))
        found[t] = flat @ flat.T
    return found


def _counted(Phi: Array, counts: Array) -> Array:
    """Return features with which products are those of samples that count so often."""
    return Phi if np.all(counts == 1.0) else Phi * np.sqrt(counts)[:, None]


def feature_gram(
    operator: LowRankKernels, counts: Array, G: Array, matrices: TaskMatrices, separate: bool
) -> Array:
    """Return A, the Frobenius products of the kernels of all weights of a relation.

    Parameters
    ----------
    operator : LowRankKernels
        The kernels, with a cell for each task.
    counts : ndarray of shape (n_samples,)
        How often each sample counts.
    G : ndarray of shape (n_tasks, n_kernels, n_kernels)
        The Frobenius products on the samples of each task.
    matrices : TaskMatrices
        The relation.
    separate : bool
        Whether every task has weights of its own.

    Returns
    -------
    ndarray of shape (n_weights, n_weights)
    """
    task, whole = operator.cells.cell, np.arange(operator.n_samples)

    def between(factor: TaskMatrix) -> Array:
        total = np.zeros((operator.n_kernels, operator.n_kernels))
        for value, u in _directions(factor):
            rows = whole if factor.is_ones else np.flatnonzero(u[task])
            moments = _moments(operator, counts * u[task], rows)
            total += value * _squared_norms(operator, moments)
        return total

    return assembled_gram(lambda factors: list(map(between, factors)), G, matrices, separate)


def _directions(factor: TaskMatrix) -> Iterator[tuple[float, Array]]:
    """Yield numbers c and vectors u between tasks with ``sum c u u'`` the matrix."""
    if not isinstance(factor, Written):
        for u in factor.root().T:
            yield 1.0, u
        return
    values, vectors = np.linalg.eigh(factor.B)
    for value, u in zip(values, vectors.T, strict=True):
        if abs(value) > _NO_SIZE * float(np.abs(values).max()):
            yield float(value), u


def _moments(operator: LowRankKernels, weights: Array, rows: Indices) -> Array:
    """Return ``sum_i weights_i phi_i phi_i'`` over some samples, of features by features."""
    total = np.zeros((operator.n_features, operator.n_features))
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[begin : begin + _ROWS_AT_ONCE]
        Phi = operator.features.rows(operator.cells.point[some], slice(None))
        if np.all(weights[some] >= 0.0):  # a matrix with its own transpose takes half the time
            Phi = _counted(Phi, weights[some])
            total += Phi.T @ Phi
        else:
            total += Phi.T @ (Phi * weights[some, None])
    return total


def _squared_norms(operator: LowRankKernels, moments: Array) -> Array:
    """Return the squared norm of the block of each pair of kernels."""
    starts = operator.features.starts
    filled = np.flatnonzero(np.diff(starts))
    found = np.zeros((operator.n_kernels, operator.n_kernels))
    by_row = np.add.reduceat(moments**2, starts[filled], axis=0)
    found[np.ix_(filled, filled)] = np.add.reduceat(by_row, starts[filled], axis=1)
    return found
