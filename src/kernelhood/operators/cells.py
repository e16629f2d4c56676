"""Where the samples of an SVM stand: at which points of the kernel matrices, and in which tasks."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kernelhood._typing import Indices


class Cells(NamedTuple):
    """Samples sorted by task; the samples of a task are its cell.

    Attributes
    ----------
    point : ndarray of int, shape (n_samples,)
        The row and column of the kernel matrices that a sample stands at.
    cell : ndarray of int, shape (n_samples,)
        Its cell, ascending.
    starts : ndarray of int, shape (n_cells + 1,)
        Where each cell starts among the samples, and their number.
    task : ndarray of int, shape (n_cells,)
        The task of each cell.
    plain : bool
        Whether the samples are the points in their order.
    """

    point: Indices
    cell: Indices
    starts: Indices
    task: Indices
    plain: bool


@lru_cache(maxsize=64)
def one_cell(n_samples: int) -> Cells:
    """Return the samples of a task on its own."""
    points = np.arange(n_samples, dtype=np.intp)
    whole = np.array([0, n_samples], dtype=np.intp)
    return Cells(points, np.zeros_like(points), whole, np.zeros(1, dtype=np.intp), True)


def cells_of(point: Indices, sizes: Indices, task: Indices) -> Cells:
    """Return samples that are sorted by cell.

    Parameters
    ----------
    point : ndarray of int, shape (n_samples,)
        The point of each sample.
    sizes, task : ndarray of int, shape (n_cells,)
        Number of samples and task of each cell.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    cell = np.repeat(np.arange(len(sizes)), sizes).astype(np.intp)
    plain = bool(np.array_equal(point, np.arange(len(point))))
    return Cells(point.astype(np.intp), cell, starts, task.astype(np.intp), plain)


def some_cells(cells: Cells, samples: Indices) -> Cells:
    """Return where some of the samples stand.

    Parameters
    ----------
    cells : Cells
        Of all samples.
    samples : ndarray of int
        Those that are wanted, ascending.
    """
    sizes = np.diff(np.searchsorted(samples, cells.starts))
    seen = sizes > 0
    return cells_of(cells.point[samples], sizes[seen], cells.task[seen])
