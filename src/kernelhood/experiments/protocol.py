"""The protocol of the paper: one part trains, the rest is halved to validate and to test."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

from kernelhood._typing import AnyArray, Indices


class Split(NamedTuple):
    """Rows of the three parts, each ascending.

    Attributes
    ----------
    train, validation, test : ndarray of int
        No object is in two parts, whatever its tasks.
    """

    train: Indices
    validation: Indices
    test: Indices


def run_seed(seed: int, dataset: str, run: int) -> int:
    """Return the seed of one run: the same for all methods, another for every data set and run.

    Examples
    --------
    >>> run_seed(0, "digits", 0) == run_seed(0, "digits", 1)
    False
    """
    entropy = [seed, zlib.crc32(dataset.encode()), run]
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def split_rows(
    task: AnyArray,
    sample_id: AnyArray,
    y: AnyArray | None,
    *,
    train_fraction: float,
    seed: int,
) -> Split:
    """Split the rows of all tasks at once.

    Objects are drawn, not rows: what any task trains on is in no task's validation or test part.
    Objects of the same tasks and classes are drawn in the same proportions, so that every task,
    and every class in it, is split alike.

    Parameters
    ----------
    task, sample_id : ndarray of shape (n_samples,)
        The task of each row, and the object that it is.
    y : ndarray of shape (n_samples,) or None
        Classes; None for regression.
    train_fraction : float
        Part that trains; the rest is halved.
    seed : int
        Of the draw.
    """
    rng = np.random.default_rng(seed)
    _, first, number = np.unique(sample_id, return_index=True, return_inverse=True)
    part = np.empty(len(first), dtype=np.intp)
    for members in _strata(task, number.ravel(), y):
        part[rng.permutation(members)] = _parts(len(members), train_fraction, rng)
    mine = part[number.ravel()]
    train, validation, test = (np.flatnonzero(mine == p) for p in range(3))
    return Split(train, validation, test)


def _strata(task: AnyArray, number: Indices, y: AnyArray | None) -> list[Indices]:
    """Group objects by the tasks, and classes in them, that they occur in."""
    labels = task.tolist() if y is None else list(zip(task.tolist(), y.tolist(), strict=True))
    places: dict[object, int] = {}
    codes = [places.setdefault(value, len(places)) for value in labels]
    occurrences: list[list[int]] = [[] for _ in range(int(number.max()) + 1)]
    for thing, code in zip(number.tolist(), codes, strict=True):
        occurrences[thing].append(code)
    strata: dict[tuple[int, ...], list[int]] = {}
    for thing, found in enumerate(occurrences):
        strata.setdefault(tuple(sorted(found)), []).append(thing)
    return [np.array(members, dtype=np.intp) for members in strata.values()]


def _parts(size: int, train_fraction: float, rng: np.random.Generator) -> Indices:
    """Return the part of each of `size` objects; each part gets one where there are three."""
    low = min(1, size)
    n_train = min(max(round(train_fraction * size), low), max(size - 2, low))
    rest = size - n_train
    # An odd one out falls to either half, so that neither is larger over many small strata.
    n_validation = (rest + int(rng.integers(2))) // 2
    return np.repeat(np.arange(3), [n_train, n_validation, rest - n_validation])
