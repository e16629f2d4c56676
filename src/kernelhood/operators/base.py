"""Where the samples of an SVM stand: at which points of the kernel matrices, and in which tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.relations.matrices import Ones, TaskMatrices, as_task_matrices


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


# A combination of kernels whose rows are computed when they are first needed.
#
# A warm-started SVM touches few samples, so most rows of the combined matrix are never formed, and
# kernels of weight 0 are never read.


class Combined(NamedTuple):
    """``sum_m w_m[s, t] K^m + ridge I`` between samples of cells s and t, row by row.

    The weights are those that all cells have in common, those within a cell on top of them, and
    those of each other matrix between cells: ``w[s, t] = far + [s = t] near_s + sum_r joins_r[s, t]
    between_r``.

    Attributes
    ----------
    far : ndarray of shape (n_kernels,)
        Weights between all samples.
    near : ndarray of shape (n_cells, n_kernels)
        Weights within each cell.
    between : ndarray of shape (n_joins, n_kernels)
        Weights of the other matrices.
    joins : ndarray of shape (n_joins, n_cells, n_cells)
        These matrices.
    cells : Cells
        Where the samples stand.
    ridge : float
        Added to the diagonal.
    rows : ndarray of shape (n_slots, n_samples)
        The rows that are there.
    slot : ndarray of int, shape (n_samples,)
        Which of them is a sample's, or -1.
    diagonal : ndarray of shape (n_samples,)
        The diagonal.
    stacked : ndarray of shape (n_kernels * n_points, n_points)
        The base kernel matrices one above the other; none if rows are filled from outside.
    turn : ndarray of int, shape (1,)
        How many rows have been written, where the oldest ones make room for others.
    """

    far: Array
    near: Array
    between: Array
    joins: Array
    cells: Cells
    ridge: float
    rows: Array
    slot: Indices
    diagonal: Array
    stacked: Array
    turn: Indices

    def to_fill(self) -> tuple[Any, ...]:
        """Return what `fill_row` asks for: plain arrays, because tuples take long to compile."""
        weights, cells = self.far[None], self.cells
        if len(self.near) or len(self.joins):
            weights = np.concatenate([weights, self.near, self.between])
        point = cells.point[:0] if cells.plain else cells.point
        room, where = np.empty(len(self.far)), np.empty(len(self.far), dtype=np.intp)
        return weights, self.joins, point, cells.starts, self.stacked, room, where


@inlined
def add_rows(
    total: Array,
    place: int,
    begin: int,
    end: int,
    coefficients: Array,
    where: Indices,
    count: int,
    rows: Array,
    first: int,
    stride: int,
) -> None:
    """Add ``coefficients[k]`` times row ``first + k * stride`` for the first `count` of `where`.

    The columns from `begin` to `end` are added to those of row `place` of `total`. Four rows at a
    time: several streams hide the memory's latency, and `total` is written less.
    """
    n_full = count - count % 4
    for start in range(0, n_full, 4):
        i, j, k, m = where[start], where[start + 1], where[start + 2], where[start + 3]
        a, b, c, d = coefficients[i], coefficients[j], coefficients[k], coefficients[m]
        i, j, k, m = first + i * stride, first + j * stride, first + k * stride, first + m * stride
        for x in range(begin, end):
            total[place, x] += a * rows[i, x] + b * rows[j, x] + c * rows[k, x] + d * rows[m, x]
    for start in range(n_full, count):
        a, i = coefficients[where[start]], first + where[start] * stride
        for x in range(begin, end):
            total[place, x] += a * rows[i, x]


@inlined
def fill_row(
    i: int,
    weights: Array,
    joins: Array,
    point: Indices,
    starts: Indices,
    stacked: Array,
    room: Array,
    where: Indices,
    rows: Array,
) -> None:
    """Compute row i, but not its diagonal, into the slot of the same number.

    Parameters
    ----------
    i : int
        The sample.
    weights : ndarray of shape (1 + n_near + n_joins, n_kernels)
        Weights between all samples, within each cell, and of the matrices.
    joins, starts, stacked, rows
        As for `Combined`.
    point : ndarray of int
        The points of the samples; none if the samples are the points.
    room, where : ndarray of shape (n_kernels,)
        Buffer for the weights between two cells, and for the kernels that have one.
    """
    n_points, n_cells, own, p = stacked.shape[1], starts.shape[0] - 1, 0, i
    while starts[own + 1] <= i:
        own += 1
    if point.shape[0] > 0:
        p = point[i]
    for x in range(rows.shape[1]):
        rows[i, x] = 0.0
    first = weights.shape[0] - joins.shape[0]
    for cell in range(-1, n_cells if weights.shape[0] > 1 else 0):
        begin, end, count = starts[0], starts[n_cells], starts[0]
        if cell >= 0:
            begin, end = starts[cell], starts[cell + 1]
        for m in range(room.shape[0]):
            weight = weights[0, m] if cell < 0 else 0.0
            if cell == own and first > 1:
                weight = weights[1 + own, m]
            if cell >= 0:
                for r in range(joins.shape[0]):
                    weight += joins[r, own, cell] * weights[first + r, m]
            if weight != 0.0:
                room[m], where[count] = weight, m
                count += 1
        if point.shape[0] == 0:
            add_rows(rows, i, begin, end, room, where, count, stacked, p, n_points)
            continue
        for k in range(count):
            weight, at = room[where[k]], where[k] * n_points + p
            for x in range(begin, end):
                rows[i, x] += weight * stacked[at, point[x]]


@compiled
def _fill_rows(
    wanted: Indices,
    weights: Array,
    joins: Array,
    point: Indices,
    starts: Indices,
    stacked: Array,
    room: Array,
    where: Indices,
    rows: Array,
) -> None:
    for k in range(wanted.shape[0]):
        fill_row(wanted[k], weights, joins, point, starts, stacked, room, where, rows)


def fill_rows(kernel: Combined, wanted: Indices) -> None:
    """Compute those of some rows of kernels in memory that are not there yet."""
    missing = wanted[kernel.slot[wanted] < 0]
    if len(missing):
        arguments: tuple[Any, ...] = (missing, *kernel.to_fill(), kernel.rows)
        _fill_rows(*arguments)
        kernel.rows[missing, missing] = kernel.diagonal[missing]
        kernel.slot[missing] = missing


def combined_matrix(kernel: Combined) -> Array:
    """Return the whole matrix of kernels that are in memory."""
    fill_rows(kernel, np.arange(len(kernel.slot)))
    return kernel.rows


@compiled
def gather_rows(rows: Array, slot: Indices, where: Indices, K: Array) -> None:
    """Write those of some rows that are there, and the same columns, into K."""
    for a in range(where.shape[0]):
        if slot[where[a]] >= 0:
            source, target = rows[slot[where[a]]], K[a]
            for b in range(where.shape[0]):
                target[b] = source[where[b]]


# Kernels on the samples of one SVM: how the weights of a relation meet the base kernels.
#
# All weights form one vector, [theta_1; ...; theta_R; lambda_1; ...; lambda_T]: a weight for each
# base kernel under every matrix B_r of the relation, and if tasks have weights of their own,
# under
# each task. Products ``K v`` are kept for every base kernel and each *source* they are summed over:
# all samples, the samples of the same cell, or all weighted by another matrix. A matrix of ones has
# the first source, the identity and the separate weights the second.


Fill = Callable[[Combined, Indices], None]

#: Sources of a matrix of ones and of the identity; those of other matrices are 0, 1, ...
ALL, OWN = -2, -1


def _no_task() -> TaskMatrices:
    return TaskMatrices((Ones(1),), 1)


@dataclass(frozen=True)
class KernelOperator(ABC):
    """Base kernels on the samples of one SVM, and the weights they carry.

    Attributes
    ----------
    cells : Cells
        Where the samples stand.
    matrices : TaskMatrices
        The relation between tasks; an array of them is taken for its structure.
    separate : bool
        Whether every task has weights of its own.
    """

    cells: Cells
    matrices: TaskMatrices = field(default_factory=_no_task)
    separate: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrices", as_task_matrices(self.matrices))

    @property
    @abstractmethod
    def n_kernels(self) -> int:
        """The number of base kernels."""

    @property
    @abstractmethod
    def diagonals(self) -> Array:
        """The diagonal of every base kernel, of shape (n_kernels, n_samples)."""

    @property
    def fill(self) -> Fill | None:
        """The function that computes rows of a combination, if no matrices are in memory."""
        return None

    @abstractmethod
    def row_buffer(self) -> Array:
        """Return a buffer for the rows of a combination."""

    @property
    def stacked(self) -> AnyArray:
        """The kernel matrices one below the other; no rows if they are not in memory."""
        return np.empty((0, 1))

    def combined(self, weights: Array, ridge: float, rows: Array) -> Combined:
        """Return the combination of the kernels with no row computed yet."""
        far, near, between = self.split(weights)
        slot = np.full(self.n_samples, -1, dtype=np.intp)
        diagonal = self.diagonal(far, near, between, ridge)
        kept = rows, slot, diagonal, self.stacked, np.zeros(1, dtype=np.intp)
        return Combined(far, near, between, self.joins, self.cells, ridge, *kept)

    @abstractmethod
    def block(self, kernel: Combined, where: Indices) -> Array:
        """Return some rows of a combination and the same columns."""

    @abstractmethod
    def add_products(self, change: Array, products: Array) -> None:
        """Add the products of every kernel with `change`, for each source."""

    def at(self, samples: Indices) -> Self:
        """Return the same kernels on some of the samples, in ascending order."""
        return replace(self, cells=some_cells(self.cells, samples))

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.cells.point)

    @cached_property
    def n_weights(self) -> int:
        """The number of weights."""
        n_tasks = self.matrices.n_tasks
        return self.n_kernels * (len(self.matrices) + self.separate * n_tasks)

    @cached_property
    def plain(self) -> bool:
        """Whether every weight is that of one kernel between all samples."""
        return self._sources == [ALL] and not self.separate

    @cached_property
    def _sources(self) -> list[int]:
        """The source of each matrix; 0, 1, ... for those that are neither ones nor the identity."""
        sources, count = [], 0
        for B in self.matrices:
            if B.is_ones:
                sources.append(ALL)
            elif B.is_identity:
                sources.append(OWN)
            else:
                sources.append(count)
                count += 1
        return sources

    @cached_property
    def between(self) -> TaskMatrices:
        """The other matrices, between cells."""
        task = self.cells.task
        pairs = zip(self.matrices, self._sources, strict=True)
        return TaskMatrices(tuple(B.at(task) for B, s in pairs if s >= 0), len(task))

    @cached_property
    def joins(self) -> Array:
        """The other matrices written out: of shape (n_joins, n_cells, n_cells)."""
        return np.ascontiguousarray(self.between.written())

    @cached_property
    def _has_all(self) -> bool:
        return ALL in self._sources

    @cached_property
    def _has_own(self) -> bool:
        return self.separate or OWN in self._sources

    def _rows_of(self, source: int) -> slice:
        """Return the rows of the products that belong to a source."""
        if source == OWN:
            place = int(self._has_all)
        else:
            place = 0 if source == ALL else self._has_all + self._has_own + source
        return slice(place * self.n_kernels, (place + 1) * self.n_kernels)

    def no_products(self) -> Array:
        """Return the products of the zero vector: a row for each kernel and source."""
        n_sources = self._has_all + self._has_own + len(self.between)
        return np.zeros((n_sources * self.n_kernels, self.n_samples))

    def split(self, weights: Array) -> tuple[Array, Array, Array]:
        """Return the weights between all samples, within each cell, and of the other matrices."""
        n, places = self.n_kernels, range(len(self.matrices))
        if self.plain:
            return weights, np.zeros((0, n)), np.zeros((0, n))
        by_matrix = [weights[n * r : n * (r + 1)] for r in places]
        far = sum((by_matrix[r] for r in places if self._sources[r] == ALL), np.zeros(n))
        between = [by_matrix[r] for r in places if self._sources[r] >= 0]
        near = np.zeros((0, n))
        if self._has_own:
            alike = sum((by_matrix[r] for r in places if self._sources[r] == OWN), np.zeros(n))
            near = np.tile(alike, (len(self.cells.task), 1))
        if self.separate:
            near += weights[n * len(self.matrices) :].reshape(-1, n)[self.cells.task]
        return far, near, np.array(between).reshape(len(between), n)

    def diagonal(self, far: Array, near: Array, between: Array, ridge: float) -> Array:
        """Return the diagonal of the combination with weights that are split."""
        diagonal = ridge + far @ self.diagonals
        by_cell = near
        if len(between):
            own = self.between.diagonals.T @ between
            by_cell = own if not len(near) else near + own
        if len(by_cell):
            diagonal = diagonal + np.einsum("im,mi->i", by_cell[self.cells.cell], self.diagonals)
        return np.asarray(diagonal)

    def apply(self, weights: Array, products: Array) -> Array:
        """Return the product with the combination of the kernels."""
        if self.plain:
            return np.asarray(weights @ products)
        far, near, between = self.split(weights)
        Kv = np.zeros(self.n_samples)
        if self._has_all:
            Kv += far @ products[self._rows_of(ALL)]
        if self._has_own:
            Kv += np.einsum("im,mi->i", near[self.cells.cell], products[self._rows_of(OWN)])
        for r, theta in enumerate(between):
            Kv += theta @ products[self._rows_of(r)]
        return Kv

    def forms(self, products: Array, v: Array) -> Array:
        """Return q, ``1/2 v'K v`` for the kernel of each weight."""
        if self.plain:
            return np.asarray(0.5 * (products @ v))
        parts = [0.5 * (products[self._rows_of(source)] @ v) for source in self._sources]
        if self.separate:
            own = products[self._rows_of(OWN)] * v
            by_cell = np.add.reduceat(own, self.cells.starts[:-1], axis=1)
            by_task = np.zeros((self.matrices.n_tasks, self.n_kernels))
            np.add.at(by_task, self.cells.task, 0.5 * by_cell.T)
            parts.append(by_task.ravel())
        return np.concatenate(parts)

    def columns(self, products: Array, where: Indices, kept: Flags | None = None) -> Array:
        """Return the products at some samples with a column for each weight.

        Parameters
        ----------
        products : ndarray
            As `add_products` leaves them.
        where : ndarray of int
            The samples.
        kept : ndarray of bool, shape (n_weights,), optional
            The weights whose columns are wanted; all by default.
        """
        if self.plain:
            chosen = products[:, where].T
            return np.asarray(chosen if kept is None else chosen[:, kept])
        parts = [products[self._rows_of(source)][:, where].T for source in self._sources]
        n = self.n_kernels * len(self.matrices)
        if kept is not None:
            parts = [np.concatenate(parts, axis=1)[:, kept[:n]]] if parts else []
        if self.separate:
            wanted = np.ones((self.matrices.n_tasks, self.n_kernels), dtype=np.bool_)
            if kept is not None:
                wanted = kept[n:].reshape(wanted.shape)
            parts.append(self._own_columns(products[self._rows_of(OWN)], where, wanted))
        return np.concatenate(parts, axis=1)

    def _own_columns(self, products: Array, where: Indices, wanted: Flags) -> Array:
        """Return the columns of the wanted weights of single tasks."""
        place = np.cumsum(wanted).reshape(wanted.shape) - 1
        found = np.zeros((len(where), int(wanted.sum())))
        task = self.cells.task[self.cells.cell[where]]
        for m in range(self.n_kernels):
            rows = np.flatnonzero(wanted[task, m])
            found[rows, place[task[rows], m]] = products[m, where[rows]]
        return found

    @cached_property
    def traces(self) -> tuple[Array, Array]:
        """The trace of each weight's kernel, and the number of samples it joins to themselves."""
        if self.plain:
            return self.diagonals.sum(axis=1), np.full(self.n_kernels, float(self.n_samples))
        own = np.ones(self.n_samples)
        by_matrix = [
            B.diagonal[self.cells.task[self.cells.cell]] @ self.diagonals.T for B in self.matrices
        ]
        traces, counts = (
            [np.concatenate([*by_matrix, np.empty(0)])],
            [np.full(self.n_kernels * len(by_matrix), float(self.n_samples))],
        )
        if self.separate:
            n_tasks = self.matrices.n_tasks
            task = self.cells.task[self.cells.cell]
            number = np.bincount(task, own, n_tasks)
            sums = [np.bincount(task, one, n_tasks) for one in self.diagonals]
            traces.append(np.array(sums).T.ravel())
            counts.append(np.repeat(number, self.n_kernels))
        return np.concatenate(traces), np.concatenate(counts)
