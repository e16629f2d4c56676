"""Sums and products of features row by row, compiled: cells may be many and small."""

from __future__ import annotations

from kernelhood._compiled import compiled
from kernelhood._typing import AnyArray, Array, Indices


@compiled
def add_row_sums(Phi: AnyArray, cell: Indices, v: Array, total: Array) -> None:
    """Add ``v_i Phi_i`` to the row of `total` that belongs to the cell of i.

    Parameters
    ----------
    Phi : ndarray of shape (n_rows, n_features)
        Features, of any precision; sums are of double precision.
    cell : ndarray of int, shape (n_rows,)
        The cell of every row.
    v : ndarray of shape (n_rows,)
        How much of each row is added.
    total : ndarray of shape (n_cells, n_features)
        The sums.
    """
    for i in range(Phi.shape[0]):
        if v[i] != 0.0:
            for f in range(Phi.shape[1]):
                total[cell[i], f] += v[i] * Phi[i, f]


@compiled
def add_row_products(
    Phi: AnyArray, cell: Indices, sums: Array, starts: Indices, out: Array
) -> None:
    """Add the inner products of rows with the sums of their cells, for every kernel.

    Parameters
    ----------
    Phi : ndarray of shape (n_rows, n_features)
        Features, of any precision; sums are of double precision.
    cell : ndarray of int, shape (n_rows,)
        The cell of every row.
    sums : ndarray of shape (n_cells, n_features)
        The sums.
    starts : ndarray of int, shape (n_kernels + 1,)
        Where the features of each kernel start.
    out : ndarray of shape (n_kernels, n_rows)
        What the products are added to.
    """
    for i in range(Phi.shape[0]):
        c = cell[i]
        for m in range(starts.shape[0] - 1):
            # Four sums at a time, since they are not put in another order on their own.
            a = b = c0 = d = 0.0
            f, last = starts[m], starts[m + 1]
            while f + 4 <= last:
                a += Phi[i, f] * sums[c, f]
                b += Phi[i, f + 1] * sums[c, f + 1]
                c0 += Phi[i, f + 2] * sums[c, f + 2]
                d += Phi[i, f + 3] * sums[c, f + 3]
                f += 4
            while f < last:
                a += Phi[i, f] * sums[c, f]
                f += 1
            out[m, i] += (a + b) + (c0 + d)
