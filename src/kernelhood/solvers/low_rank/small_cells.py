"""Cholesky factors of many small cells at once, compiled: a call for each would cost more."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Flags, Indices


@compiled
def factorise(
    grams: Array,
    offsets: Indices,
    starts: Indices,
    small: Flags,
    cells: Indices,
    d: Array,
    factors: Array,
) -> bool:
    """Write the Cholesky factor of ``diag(d) + gram`` of every small cell; False if there is none.

    Parameters
    ----------
    grams, factors : ndarray of float
        The square matrices of the cells one after the other, by rows.
    offsets : ndarray of int, shape (n_cells,)
        Where each of them starts.
    starts : ndarray of int, shape (n_cells + 1,)
        Where the samples of each cell start.
    small : ndarray of bool, shape (n_cells,)
        The cells that are small.
    cells : ndarray of int, shape (2,)
        The first of some consecutive cells, and one past the last.
    d : ndarray of shape (n_rows,)
        Positive, for the samples of these cells.
    """
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        first, n = starts[c] - origin, starts[c + 1] - starts[c]
        at = offsets[c]
        for i in range(n):
            for j in range(i + 1):
                total = grams[at + i * n + j]
                if i == j:
                    total += d[first + i]
                for k in range(j):
                    total -= factors[at + i * n + k] * factors[at + j * n + k]
                if i != j:
                    factors[at + i * n + j] = total / factors[at + j * n + j]
                elif total > 0.0:
                    factors[at + i * n + i] = np.sqrt(total)
                else:
                    return False
    return True


@compiled
def _subtract(R: Array, row: int, other: int, share: float) -> None:
    """Subtract a share of one row of R from another."""
    for j in range(R.shape[1]):
        R[row, j] -= share * R[other, j]


@compiled
def _scale(R: Array, row: int, factor: float) -> None:
    for j in range(R.shape[1]):
        R[row, j] *= factor


@compiled
def forward(
    factors: Array, offsets: Indices, starts: Indices, small: Flags, cells: Indices, R: Array
) -> None:
    """Replace the rows of small cells in R by ``L^-1 R``.

    Parameters
    ----------
    factors, offsets, starts, small, cells
        As `factorise` takes them.
    R : ndarray of shape (n_rows, n_columns)
        The rows of these cells.
    """
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        first, n = starts[c] - origin, starts[c + 1] - starts[c]
        for i in range(n):
            for k in range(i):
                _subtract(R, first + i, first + k, factors[offsets[c] + i * n + k])
            _scale(R, first + i, 1.0 / factors[offsets[c] + i * n + i])


@compiled
def backward(
    factors: Array, offsets: Indices, starts: Indices, small: Flags, cells: Indices, R: Array
) -> None:
    """Replace the rows of small cells in R by ``L'^-1 R``; see `forward`."""
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        first, n = starts[c] - origin, starts[c + 1] - starts[c]
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                _subtract(R, first + i, first + k, factors[offsets[c] + k * n + i])
            _scale(R, first + i, 1.0 / factors[offsets[c] + i * n + i])


@compiled
def add_products(
    grams: Array,
    offsets: Indices,
    starts: Indices,
    small: Flags,
    cells: Indices,
    v: Array,
    out: Array,
) -> None:
    """Add the products of the matrices of small cells with v to `out`; see `forward`."""
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        first, n = starts[c] - origin, starts[c + 1] - starts[c]
        for i in range(n):
            total = 0.0
            for k in range(n):
                total += grams[offsets[c] + i * n + k] * v[first + k]
            out[first + i] += total


@compiled
def write_grams(
    grams: Array, offsets: Indices, starts: Indices, small: Flags, cells: Indices, N: Array
) -> None:
    """Write ``N N'`` of some consecutive cells, whose samples are the rows of N."""
    origin = starts[cells[0]]
    for c in range(cells[0], cells[1]):
        if not small[c]:
            continue
        n = starts[c + 1] - starts[c]
        own = N[starts[c] - origin : starts[c + 1] - origin]
        grams[offsets[c] : offsets[c] + n * n] = np.dot(own, own.T).ravel()
