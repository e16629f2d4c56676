"""How the kernels between training samples are held: what `operator=` takes, and what fits."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

_MEGABYTE = 2**20
_DTYPES = ("float64", "float32")


@dataclass(frozen=True)
class Dense:
    """Kernel matrices in memory, and evaluated on demand if they do not fit.

    Parameters
    ----------
    dtype : {"float64", "float32"}
        Type of the numbers that are held.
    cache_size : float
        The most memory that kernel matrices may take, in megabytes. If all of them need more,
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
    """Kernels of low rank: every kernel is approximated by its values at a few points.

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


#: The share of the cache up to which features are held in double precision.
SHARE_OF_DOUBLES = 0.25
#: Up to here nothing is approximated unless the user asks for it.
EXACT = 20_000
_UNCHANGED = 5_000
_SHARE = 0.8
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_USES = ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")


class Sizes(NamedTuple):
    """The size of a problem, which decides what its kernels take.

    Attributes
    ----------
    n_samples, n_points : int
        Samples of all tasks, or of the largest one if tasks are on their own, and the points
        that they stand at.
    n_kernels : int
        Base kernels.
    n_components : int
        LandmarkMaps.
    cache_size : float
        What the user lets kernels take, in megabytes.
    itemsize : int
        Bytes of a number that is kept.
    """

    n_samples: int
    n_points: int
    n_kernels: int
    n_components: int
    cache_size: float
    itemsize: int = 8

    @property
    def dense(self) -> float:
        """Megabytes of all kernel matrices and of their combination."""
        entries = self.n_kernels * self.n_points**2 + self.n_samples**2
        return entries * self.itemsize / _MEGABYTE

    @property
    def features(self) -> float:
        """Megabytes of all features in double precision."""
        return self.n_samples * self.n_kernels * self.n_components * 8 / _MEGABYTE

    @property
    def low_rank(self) -> float:
        """Megabytes of a fit with landmarks.

        Features are held if they fit into the cache, in single precision if they take more
        than a quarter of it, and a copy of those that have a weight; products of every kernel are
        kept for a few vectors; normal equations are of features by features.
        """
        half = self.features > SHARE_OF_DOUBLES * self.cache_size
        held = min(self.features / 2 if half else self.features, self.cache_size)
        products = 12 * 2 * self.n_samples * self.n_kernels * 8 / _MEGABYTE
        normal = 4 * (self.n_kernels * self.n_components) ** 2 * 8 / _MEGABYTE
        return 2 * held + products + normal


def available_memory() -> float:
    """Return how many megabytes may be taken now; infinity if unknown."""
    found = [_read_meminfo()]
    for limit, use in zip(_LIMITS, _USES, strict=True):
        most, now = _read_number(limit), _read_number(use)
        if most is not None and now is not None:
            found.append((most - now) / _MEGABYTE)
    return min(one for one in found)


def _read_meminfo() -> float:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return int(text.split("MemAvailable:")[1].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _MEGABYTE
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _read_number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def chosen_operator(asked: str, sizes: Sizes, *, together: bool) -> str:
    """Return how kernels are held: as asked, or as size and memory suggest.

    Of tasks that are solved together, matrices that fit into the cache are held and others are
    evaluated when needed; "auto" takes landmarks beyond 20,000 samples. Kernels of independent
    tasks are always held; with "auto", landmarks take over from 5,000 samples on if matrices do not
    fit into memory.

    Parameters
    ----------
    asked : {"auto", "dense", "landmarks"}
        What the user wants.
    sizes : Sizes
        Of the problem.
    together : bool
        Whether all tasks are one problem.

    Returns
    -------
    {"dense", "on_demand", "landmarks"}
    """
    n = sizes.n_samples
    if asked == "landmarks" or (asked == "auto" and n > EXACT):
        return "landmarks"
    if together:
        matrices = sizes.n_kernels * sizes.n_points**2 * sizes.itemsize / _MEGABYTE
        return "dense" if matrices <= sizes.cache_size else "on_demand"
    fits = n <= _UNCHANGED or sizes.dense <= _SHARE * available_memory()
    return "dense" if fits or asked == "dense" else "landmarks"


def check_memory(operator: str, sizes: Sizes) -> None:
    """Raise MemoryError if a fit would not fit into memory, and name what would.

    Parameters
    ----------
    operator : {"dense", "on_demand", "landmarks"}
        How kernels are held.
    sizes : Sizes
        Of the problem.
    """
    if operator == "on_demand":
        return
    needed = sizes.dense if operator == "dense" else sizes.low_rank
    room = _SHARE * available_memory()
    if needed <= room:
        return
    advice = f"operator='landmarks' ({sizes.low_rank:,.0f} MB)"
    if sizes.low_rank > room:
        fewer = max(1, int(sizes.n_components * room / sizes.low_rank))
        advice = f"operator=Landmarks({fewer})"
    if operator == "dense":
        advice += f" or operator=Dense(cache_size={0.5 * room:.0f})"
    raise MemoryError(
        f"operator={operator!r} with {sizes.n_samples:,} samples and {sizes.n_kernels} kernels "
        f"needs about {needed:,.0f} MB, and {room:,.0f} MB can be taken: use {advice}, or fewer "
        "kernels or samples."
    )
