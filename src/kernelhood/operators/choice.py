"""What `operator=` takes: how the kernels between training samples are held."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

_DTYPES = ("float64", "float32")


@dataclass(frozen=True)
class Dense:
    """All kernel matrices, held as far as memory allows and evaluated again beyond it.

    Parameters
    ----------
    dtype : {"float64", "float32"}
        Type of the numbers that are held.
    cache_size : float
        The most memory that kernel matrices may take, in megabytes. Where all of them need more,
        they are evaluated when they are needed.

    Examples
    --------
    >>> import kernelhood as kh
    >>> kh.Dense(dtype="float32")
    Dense(dtype='float32', cache_size=1000.0)
    """

    dtype: str = "float64"
    cache_size: float = 1000.0

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise ValueError(f"dtype of Dense must be one of {_DTYPES}, got {self.dtype!r}.")
        number = isinstance(self.cache_size, Real) and not isinstance(self.cache_size, bool)
        if not number or not self.cache_size >= 0.0:
            raise ValueError(
                "cache_size of Dense must be a number of megabytes, 0 or more: got "
                f"{self.cache_size!r}."
            )


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Kernels of low rank: every kernel is seen through its values at a few points.

    Parameters
    ----------
    count : int
        How many training points become landmarks; the same ones in every fit to the same data.
    points : array-like or CSR matrix of shape (n_landmarks, n_features), optional
        Landmarks of your own. Then `count` is their number.

    Examples
    --------
    >>> import kernelhood as kh
    >>> kh.Landmarks(100)
    Landmarks(count=100)
    >>> kh.Landmarks(points=[[0.0, 1.0], [1.0, 0.0]]).count
    2
    """

    count: int = 200
    points: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.points is not None:
            object.__setattr__(self, "points", _as_points(self.points))
            object.__setattr__(self, "count", int(self.points.shape[0]))
        whole = isinstance(self.count, Integral) and not isinstance(self.count, bool)
        if not whole or self.count < 1:
            raise ValueError(f"count of Landmarks must be 1 or more, got {self.count!r}.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Landmarks) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> Hashable:
        if self.points is None:
            return self.count
        dense = self.points.toarray() if sparse.issparse(self.points) else self.points
        return dense.shape, dense.tobytes()


def _as_points(points: Any) -> Any:
    """Return landmarks as rows of numbers, or raise."""
    try:
        found = points.tocsr() if sparse.issparse(points) else np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("points of Landmarks must be rows of numbers.") from None
    if found.ndim != 2 or 0 in found.shape:
        raise ValueError(
            "points of Landmarks must have shape (n_landmarks, n_features) with at least one of "
            f"each, got {found.shape}."
        )
    if not np.all(np.isfinite(found.data if sparse.issparse(found) else found)):
        raise ValueError("points of Landmarks must be finite, they hold NaN or infinity.")
    return found
