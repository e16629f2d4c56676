"""Which points become landmarks: far from what the others span, in the space of all kernels.

The next landmark is drawn with a probability that is proportional to what the ones before leave of
k(x, x), where k is the mean of all kernels, each scaled to a mean diagonal of one. This is
k-means++ with distances from the span of the landmarks in the place of distances from the
landmarks: Y. Chen, E. N. Epperly, J. A. Tropp and R. J. Webber, *Randomly Pivoted Cholesky*,
Communications on Pure and Applied Mathematics 78, 2025. Unlike k-means on the points it does not
depend on the units of columns that the kernels do not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.kernels import KernelBank
from kernelhood.operators import HeldFeatures
from kernelhood.operators.choice import SHARE_OF_DOUBLES
from kernelhood.relations.matrices import TaskMatrices

_MOST_LOOKED_AT = 10_000
_NOTHING_LEFT = 1e-12


def choose_landmarks(
    bank: KernelBank, points: Any, n_components: int, *, random_state: int = 0
) -> Any:
    """Return landmarks for all kernels of a bank.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    points : ndarray or CSR matrix of shape (n_points, n_features)
        Where to choose from; of more than 10,000 a random part is looked at.
    n_components : int
        How many landmarks; fewer where the points have no more to give.
    random_state : int
        The same number gives the same landmarks.

    Returns
    -------
    ndarray or CSR matrix of shape (n_landmarks, n_features)

    Examples
    --------
    >>> from kernelhood import default_bank
    >>> choose_landmarks(default_bank(), np.eye(4), 3).shape
    (3, 4)
    """
    n_points = points.shape[0]
    if n_components >= n_points:
        return points
    rng = np.random.default_rng(random_state)
    if n_points > _MOST_LOOKED_AT:
        points = points[np.sort(rng.choice(n_points, _MOST_LOOKED_AT, replace=False))]
    seen = bank.prepared(points)
    diagonals = np.array([kernel.diagonal(seen) for kernel in bank])
    sizes = diagonals.mean(axis=1)
    weights = np.where(sizes > 0.0, 1.0 / np.where(sizes > 0.0, sizes, 1.0), 0.0)
    left = weights @ diagonals
    total = left.sum()
    chosen: list[int] = []
    factor = np.zeros((n_components, len(left)))
    while len(chosen) < n_components and left.sum() > _NOTHING_LEFT * total:
        k = len(chosen)
        one = int(rng.choice(len(left), p=left / left.sum()))
        column = bank.plain.combine(seen[[one]], seen, weights)[0]
        column -= factor[:k, one] @ factor[:k]
        chosen.append(one)
        if column[one] <= _NOTHING_LEFT * total / len(left):
            left[one] = 0.0
            continue
        factor[k] = column / np.sqrt(column[one])
        left = np.maximum(left - factor[k] ** 2, 0.0)
        left[one] = 0.0
    return points[np.sort(np.array(chosen))]


#: Eigenvalues of K(Z, Z) below this share of the largest are rounding, or of no use.
_DROPPED = 1e-10
_ENTRIES_AT_ONCE = 2**21
_MEGABYTE = 2**20


@dataclass(frozen=True)
class LandmarkMaps:
    """Landmarks with the root of every kernel between them.

    Attributes
    ----------
    bank : KernelBank
        The kernels.
    points : ndarray or CSR matrix of shape (n_landmarks, n_features)
        The landmarks, the same for all kernels and tasks.
    maps : list of ndarray of shape (n_landmarks, rank)
        For every kernel what turns its values at the landmarks into features:
        ``maps @ maps.T`` is the inverse of ``K(Z, Z)`` up to eigenvalues that are rounding.
    """

    bank: KernelBank
    points: Any
    maps: list[Array]

    @classmethod
    def at(cls, bank: KernelBank, points: Any) -> LandmarkMaps:
        """Return landmarks that stand at these points."""
        maps = []
        for K in bank(points):
            values, vectors = np.linalg.eigh(0.5 * (K + K.T))
            kept = values > _DROPPED * max(float(values[-1]), 0.0)
            maps.append(vectors[:, kept] / np.sqrt(values[kept]))
        return cls(bank, points, maps)

    @cached_property
    def starts(self) -> Indices:
        """Where the features of each kernel start, and their number."""
        return np.cumsum([0, *(one.shape[1] for one in self.maps)]).astype(np.intp)

    @property
    def rows_at_once(self) -> int:
        """For how many points all kernels are evaluated at a time."""
        return max(64, _ENTRIES_AT_ONCE // (len(self.bank) * int(self.points.shape[0])))

    def features(self, X: Any, out: AnyArray | None = None) -> AnyArray:
        """Return the features of all kernels at some points, in blocks of rows.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            The points.
        out : ndarray of shape (n, n_columns), optional
            Room to write to, of any precision.
        """
        found = np.empty((X.shape[0], int(self.starts[-1]))) if out is None else out
        step = self.rows_at_once
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            for K, own, first in zip(
                self.bank(X[rows], self.points), self.maps, self.starts, strict=False
            ):
                found[rows, first : first + own.shape[1]] = K @ own
        return found

    def some(self, kernels: Indices) -> LandmarkMaps:
        """Return the same landmarks for some of the kernels."""
        return LandmarkMaps(self.bank.some(kernels), self.points, [self.maps[m] for m in kernels])


def kept_part(kept: Array, whole: Array) -> Array:
    """Return which part of the traces of kernels is kept; all of those that are zero."""
    return np.where(whole > 0.0, kept / np.where(whole > 0.0, whole, 1.0), 1.0)


def type_that_fits(
    landmarks: LandmarkMaps, n_points: int, cache_size: float, storage: str
) -> str | None:
    """Return in which precision the features of points are held; None where they do not fit.

    What takes more than a quarter of the cache in double precision is held in single precision:
    memory that is half as large is read in half the time, and sums are of double precision anyway.

    Parameters
    ----------
    landmarks : LandmarkMaps
        The landmarks.
    n_points : int
        How many points there are.
    cache_size : float
        Megabytes.
    storage : str
        The type that is wanted.
    """
    numbers = n_points * float(landmarks.starts[-1]) / _MEGABYTE
    rooms = (storage, SHARE_OF_DOUBLES * cache_size), ("float32", cache_size)
    return next((t for t, room in rooms if numbers * np.dtype(t).itemsize <= room), None)


class PointFeatures:
    """The features of points that are named by their numbers, held or evaluated when needed.

    Parameters
    ----------
    landmarks : LandmarkMaps
        The landmarks.
    points : ndarray or CSR matrix of shape (n_points, n_features)
        The points.
    dtype : numpy dtype, or None
        Type of the features that are held; None evaluates them whenever they are needed.
    """

    def __init__(self, landmarks: LandmarkMaps, points: Any, dtype: Any) -> None:
        self.landmarks, self.points = landmarks, points
        self._held: HeldFeatures | None = None
        if dtype is not None:
            room = np.empty((points.shape[0], int(self.starts[-1])), dtype=dtype)
            self._held = HeldFeatures(landmarks.features(points, room), self.starts)
        self._parts: dict[bytes, LandmarkMaps] = {}

    @property
    def starts(self) -> Indices:
        """Where the features of each kernel start, and their number."""
        return self.landmarks.starts

    def rows(self, points: Indices, columns: Indices | slice) -> Array:
        """Return some features at some points, in double precision."""
        if self._held is None:
            return self._evaluated(points, columns)
        return self._held.rows(points, columns)

    def as_held(self, points: Indices) -> AnyArray:
        """Return all features at some points, in the precision that they have."""
        if self._held is None:
            return self._evaluated(points, slice(None))
        return self._held.as_held(points)

    def _evaluated(self, points: Indices, columns: Indices | slice) -> Array:
        """Return features that are not held; only kernels that are asked for are evaluated."""
        if isinstance(columns, slice):
            return self.landmarks.features(self.points[points])[:, columns]
        kernel = np.searchsorted(self.starts, columns, side="right") - 1
        kernels = np.unique(kernel)
        key = kernels.tobytes()
        if key not in self._parts:
            self._parts[key] = self.landmarks.some(kernels)
        some = self._parts[key]
        place = np.searchsorted(kernels, kernel)
        found = some.features(self.points[points])
        return np.asarray(found[:, some.starts[place] + columns - self.starts[kernel]])


#: Functions with fewer points than this are faster to sum by features than to bring to landmarks.
_ROWS_A_FUNCTION = 16


@dataclass(frozen=True)
class LandmarkExpansion:
    """Functions of all tasks that landmarks carry.

    Attributes
    ----------
    landmarks : LandmarkMaps
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

    landmarks: LandmarkMaps
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
