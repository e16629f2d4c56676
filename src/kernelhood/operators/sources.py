"""Values and products between cells, weighted by the matrices of a relation."""

from __future__ import annotations

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.operators.cells import Cells


@compiled
def add_sources(
    parts: Array,
    members: Indices,
    cells: Cells,
    joins: Array,
    has_all: bool,
    has_own: bool,
    products: Array,
) -> None:
    """Add the products with some cells to those of every source.

    Parameters
    ----------
    parts : ndarray of shape (n_members, n_kernels, n_samples)
        Every kernel times the part of a vector that belongs to one cell.
    members : ndarray of int, shape (n_members,)
        These cells.
    cells : Cells
        Where the samples stand.
    joins : ndarray of shape (n_joins, n_cells, n_cells)
        Matrices between cells.
    has_all, has_own : bool
        Whether there are products over all samples, and over those of the same cell.
    products : ndarray
        As an operator keeps them: those over all samples, then over the cell, then of each matrix.
    """
    n_kernels, n = parts.shape[1], parts.shape[2]
    factors = np.empty((joins.shape[0], n))
    for k in range(members.shape[0]):
        own = members[k]
        for r in range(joins.shape[0]):
            for j in range(n):
                factors[r, j] = joins[r, own, cells.cell[j]]
        begin, end = cells.starts[own], cells.starts[own + 1]
        for m in range(n_kernels):
            part, at = parts[k, m], m
            if has_all:
                products[at] += part
                at += n_kernels
            if has_own:
                products[at, begin:end] += part[begin:end]
                at += n_kernels
            for r in range(joins.shape[0]):
                row, factor = products[at + r * n_kernels], factors[r]
                for j in range(n):
                    row[j] += factor[j] * part[j]


@compiled
def add_weighted(
    parts: Array, joins: Array, used: Indices, left: Indices, right: Indices, out: Array
) -> None:
    """Add the first part, and the others weighted by matrices between cells.

    Parameters
    ----------
    parts : ndarray of shape (1 + n_used, n_rows, n_columns)
        Values between samples.
    joins : ndarray of shape (n_joins, n_cells, n_cells)
        Matrices between cells.
    used : ndarray of int, shape (n_used,)
        The matrix of each part but the first.
    left, right : ndarray of int
        The cells of the samples in the rows and columns.
    out : ndarray of shape (at least n_rows, n_columns)
        Where to add.
    """
    for i in range(parts.shape[1]):
        row, first = out[i], parts[0, i]
        for j in range(row.shape[0]):
            row[j] += first[j]
        for k in range(used.shape[0]):
            factor, part = joins[used[k], left[i]], parts[1 + k, i]
            for j in range(row.shape[0]):
                row[j] += factor[right[j]] * part[j]


@compiled
def add_within(part: Array, left: Indices, right: Indices, at: Indices, out: Array) -> None:
    """Add the values between samples of the same cell.

    Parameters
    ----------
    part : ndarray of shape (n_rows, n_columns)
        Values between samples.
    left, right : ndarray of int
        Their cells.
    at : ndarray of int, shape (n_columns,)
        The columns of `out` that the columns belong to.
    out : ndarray of shape (n_rows, any)
        Where to add.
    """
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            if left[i] == right[j]:
                out[i, at[j]] += part[i, j]
