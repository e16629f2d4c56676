"""What fits into memory: which operator to take, and what to say where nothing fits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_MEGABYTE = 2**20
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
        Samples of all tasks, or of the largest one where tasks are on their own, and the points
        that they stand at.
    n_kernels : int
        Base kernels.
    n_components : int
        Landmarks.
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

        Features are held where they fit into the cache, in single precision where they take more
        than a quarter of it, and a copy of those that have a weight; products of every kernel are
        kept for a few vectors; normal equations are of features by features.
        """
        half = self.features > SHARE_OF_DOUBLES * self.cache_size
        held = min(self.features / 2 if half else self.features, self.cache_size)
        products = 12 * 2 * self.n_samples * self.n_kernels * 8 / _MEGABYTE
        normal = 4 * (self.n_kernels * self.n_components) ** 2 * 8 / _MEGABYTE
        return 2 * held + products + normal


def available_memory() -> float:
    """Return how many megabytes may be taken now; infinity where nobody can tell."""
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
    """Return which operator to take: what was asked for, or what size and memory suggest.

    For tasks that are solved together, "auto" holds matrices that fit into the cache, evaluates
    others when needed, and takes landmarks beyond 20,000 samples. Tasks on their own have no
    kernels that are evaluated when needed: there landmarks take over from 5,000 samples on where
    matrices do not fit into memory.

    Parameters
    ----------
    asked : {"auto", "dense", "on_demand", "low_rank"}
        What the user wants.
    sizes : Sizes
        Of the problem.
    together : bool
        Whether all tasks are one problem.
    """
    if asked != "auto":
        return asked
    n = sizes.n_samples
    if n > EXACT:
        return "low_rank"
    if together:
        matrices = sizes.n_kernels * sizes.n_points**2 * sizes.itemsize / _MEGABYTE
        return "dense" if matrices <= sizes.cache_size else "on_demand"
    fits = n <= _UNCHANGED or sizes.dense <= _SHARE * available_memory()
    return "dense" if fits else "low_rank"


def check_memory(operator: str, sizes: Sizes) -> None:
    """Raise MemoryError where a fit would not fit into memory, and name what would.

    Parameters
    ----------
    operator : {"dense", "on_demand", "low_rank"}
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
    advice = f"use operator='low_rank' ({sizes.low_rank:,.0f} MB)"
    if sizes.low_rank > room:
        fewer = int(sizes.n_components * room / sizes.low_rank)
        smaller = room / 4
        advice = f"use n_components={max(1, fewer)} and cache_size={smaller:.0f}"
        if operator == "dense":
            advice = f"use operator='low_rank', {advice.removeprefix('use ')}"
    raise MemoryError(
        f"operator={operator!r} with {sizes.n_samples:,} samples and {sizes.n_kernels} kernels "
        f"needs about {needed:,.0f} MB, and {room:,.0f} MB can be taken: {advice}, or fewer "
        "kernels or samples."
    )
