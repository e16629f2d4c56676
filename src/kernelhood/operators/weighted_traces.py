"""Traces of every weight's kernel times a symmetric matrix between the samples."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.operators.dense import DenseKernels


def weighted_traces(operator: DenseKernels, Z: Array) -> Array:
    """Return ``tr(Z K)`` for the kernel of each weight.

    One pass over the base kernels serves all matrices of the relation: the sums over the pairs of
    cells are all that differs.

    Parameters
    ----------
    operator : DenseKernels
        The kernels on the samples.
    Z : ndarray of shape (n_samples, n_samples)
        Symmetric.

    Returns
    -------
    ndarray of shape (n_weights,)
    """
    if operator.plain and operator.cells.plain:
        return np.array([np.vdot(K, Z) for K in operator.Ks])
    cells, task = operator.cells, operator.cells.task
    sums = np.array([_sums_of_cells(K, cells.point, cells.starts, Z) for K in operator.Ks])
    between = operator.matrices.written()[:, task][:, :, task]
    parts = [np.einsum("rst,mst->rm", between, sums).ravel()]
    if operator.separate:
        own = np.zeros((operator.matrices.n_tasks, operator.n_kernels))
        np.add.at(own, task, np.einsum("mcc->cm", sums))
        parts.append(own.ravel())
    return np.concatenate(parts)


@compiled
def _sums_of_cells(K: Array, point: Indices, starts: Indices, Z: Array) -> Array:
    """Return the sum of ``K * Z`` over the samples of every pair of cells."""
    n_cells = starts.shape[0] - 1
    sums = np.zeros((n_cells, n_cells))
    for s in range(n_cells):
        for i in range(starts[s], starts[s + 1]):
            row, other = K[point[i]], Z[i]
            for t in range(s + 1):
                total = 0.0
                for j in range(starts[t], starts[t + 1]):
                    total += row[point[j]] * other[j]
                sums[s, t] += total
    for s in range(n_cells):
        for t in range(s):
            sums[t, s] = sums[s, t]
    return sums
