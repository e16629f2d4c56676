"""Binary tasks made of pairs of classes, which may share a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Indices
from kernelhood.datasets._arguments import check_distinct


def check_pairs(pairs: Any, classes: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs such as ``"c/e"`` split into their two classes.

    Parameters
    ----------
    pairs : sequence of str
        The tasks, each two different classes joined by a slash.
    classes : sequence of str
        What may stand on either side.

    Returns
    -------
    pairs : list of (str, str)
        The two classes of each task.

    Examples
    --------
    >>> check_pairs(["c/e", "g/y"], "abcdefghijklmnopqrstuvwxyz")
    [('c', 'e'), ('g', 'y')]
    """
    known = set(classes)
    split = []
    for pair in check_distinct("pairs", pairs):
        parts = pair.split("/") if isinstance(pair, str) else []
        if len(parts) != 2 or parts[0] == parts[1] or not known.issuperset(parts):
            raise ValueError(
                f"pairs holds {pair!r}; give two different classes from {classes[0]!r} to "
                f"{classes[-1]!r} joined by a slash, such as '{classes[1]}/{classes[2]}'."
            )
        split.append((parts[0], parts[1]))
    return split


def pair_rows(
    rows_of: Mapping[str, Indices], pairs: Sequence[tuple[str, str]]
) -> tuple[Indices, AnyArray]:
    """Return the rows of all tasks one after another, and the name of each row's task.

    Parameters
    ----------
    rows_of : mapping of str to ndarray
        The rows of each class; a class keeps its rows in every task that uses it.
    pairs : sequence of (str, str)
        The two classes of each task.

    Returns
    -------
    rows : ndarray of shape (n_samples,)
        Row numbers, ascending within a task.
    task : ndarray of shape (n_samples,)
        Task names such as ``"c/e"``.
    """
    rows = [np.sort(np.concatenate([rows_of[a], rows_of[b]])) for a, b in pairs]
    names = np.array([f"{a}/{b}" for a, b in pairs])
    return np.concatenate(rows), np.repeat(names, [len(r) for r in rows])
