"""Where the samples of an SVM stand: at which points, in which tasks, and who meets whom.

The samples are sorted into cells, and the cells into components. A kernel joins two samples only
within a component; the samples of a cell belong to one task. A single task is one cell; tasks that
share a function are cells of one component; the pairs of classes of a task with more than two are
components of their own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kernelhood._typing import Indices


class Layout(NamedTuple):
    """The order of the samples.

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
    reach : ndarray of int, shape (n_cells, 2)
        Start and end of the component that a cell is in.
    plain : bool
        Whether the samples are the points in their order.
    """

    point: Indices
    cell: Indices
    starts: Indices
    task: Indices
    reach: Indices
    plain: bool

    @property
    def n_tasks(self) -> int:
        """The number of tasks."""
        return 1 if len(self.task) == 1 else int(self.task.max()) + 1

    @property
    def component_starts(self) -> Indices:
        """Where each component starts, and the number of samples."""
        return np.append(np.unique(self.reach[:, 0]), self.starts[-1])


@lru_cache(maxsize=64)
def one_task(n_samples: int) -> Layout:
    """Return the layout of a task on its own."""
    points = np.arange(n_samples, dtype=np.intp)
    whole = np.array([0, n_samples], dtype=np.intp)
    only = np.zeros(1, dtype=np.intp)
    return Layout(points, np.zeros_like(points), whole, only, whole[None], True)


def cells_of(point: Indices, sizes: Indices, task: Indices, component: Indices) -> Layout:
    """Return the layout of samples that are sorted by component and cell.

    Parameters
    ----------
    point : ndarray of int, shape (n_samples,)
        The point of each sample.
    sizes, task, component : ndarray of int, shape (n_cells,)
        Number of samples, task and component of each cell; components in ascending order.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    cell = np.repeat(np.arange(len(sizes)), sizes).astype(np.intp)
    first = np.searchsorted(component, component, side="left")
    last = np.searchsorted(component, component, side="right")
    reach = np.column_stack([starts[first], starts[last]]).astype(np.intp)
    plain = bool(np.array_equal(point, np.arange(len(point))))
    return Layout(point.astype(np.intp), cell, starts, task.astype(np.intp), reach, plain)
