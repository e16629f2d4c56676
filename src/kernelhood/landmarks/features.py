"""The features that landmarks give to every point: Phi_m = K^m(X, Z) K^m(Z, Z)^{-1/2}."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.kernels import KernelBank
from kernelhood.landmarks.capacity import SHARE_OF_DOUBLES
from kernelhood.operators import HeldFeatures

#: Eigenvalues of K(Z, Z) below this share of the largest are rounding, or of no use.
_DROPPED = 1e-10
_ENTRIES_AT_ONCE = 2**21
_MEGABYTE = 2**20


@dataclass(frozen=True)
class Landmarks:
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
    def at(cls, bank: KernelBank, points: Any) -> Landmarks:
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

    def some(self, kernels: Indices) -> Landmarks:
        """Return the same landmarks for some of the kernels."""
        return Landmarks(self.bank.some(kernels), self.points, [self.maps[m] for m in kernels])


def kept_part(kept: Array, whole: Array) -> Array:
    """Return which part of the traces of kernels is kept; all of those that are zero."""
    return np.where(whole > 0.0, kept / np.where(whole > 0.0, whole, 1.0), 1.0)


def type_that_fits(
    landmarks: Landmarks, n_points: int, cache_size: float, storage: str
) -> str | None:
    """Return in which precision the features of points are held; None where they do not fit.

    What takes more than a quarter of the cache in double precision is held in single precision:
    memory that is half as large is read in half the time, and sums are of double precision anyway.

    Parameters
    ----------
    landmarks : Landmarks
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
    landmarks : Landmarks
        The landmarks.
    points : ndarray or CSR matrix of shape (n_points, n_features)
        The points.
    dtype : numpy dtype, or None
        Type of the features that are held; None evaluates them whenever they are needed.
    """

    def __init__(self, landmarks: Landmarks, points: Any, dtype: Any) -> None:
        self.landmarks, self.points = landmarks, points
        self._held: HeldFeatures | None = None
        if dtype is not None:
            room = np.empty((points.shape[0], int(self.starts[-1])), dtype=dtype)
            self._held = HeldFeatures(landmarks.features(points, room), self.starts)
        self._parts: dict[bytes, Landmarks] = {}

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
