"""Which samples each fit of a cross-fitting leaves out: every task has something left to train."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import AnyArray, Flags, Indices

N_FOLDS = 5


def deal_folds(
    row: Indices, task: Indices, code: Indices, kept: Indices, n_folds: int = N_FOLDS
) -> list[Flags]:
    """Return which samples each fold leaves out.

    Rows that are alike, with the same classes in the same tasks, are dealt out in turn, so that
    folds have their share of every class of every task. A row that is in several tasks is left out
    of all at once.

    Parameters
    ----------
    row, task, code : ndarray of int, shape (n_samples,)
        The row of X, the task and the class of each sample.
    kept : ndarray of int, shape (n_samples,)
        Labels of which no fold leaves out all samples, such as the task: it keeps its first one.
    n_folds : int
        Number of folds; fewer where there are not as many rows.

    Examples
    --------
    >>> import numpy as np
    >>> row, one = np.arange(5), np.zeros(5, dtype=int)
    >>> folds = deal_folds(row, one, np.array([0, 0, 0, 1, 1]), one, n_folds=2)
    >>> [np.flatnonzero(left_out).tolist() for left_out in folds]
    [[0, 2, 4], [1, 3]]
    """
    rows, place = np.unique(row, return_inverse=True)
    signatures: list[list[tuple[int, int]]] = [[] for _ in rows]
    for at, own, label in zip(place.tolist(), task.tolist(), code.tolist(), strict=True):
        signatures[at].append((own, label))
    order = sorted(range(len(rows)), key=lambda at: sorted(signatures[at]))
    fold = np.empty(len(rows), dtype=np.intp)
    fold[order] = np.arange(len(rows)) % n_folds
    found = [_leave_some(fold[place] == number, kept) for number in range(n_folds)]
    return [left_out for left_out in found if left_out.any()]


def _leave_some(left_out: Flags, kept: Indices) -> Flags:
    """Return a fold that leaves a sample of every label to train with."""
    labels, first = np.unique(kept, return_index=True)
    trained: AnyArray = np.isin(labels, kept[~left_out])
    left_out[first[~trained]] = False
    return left_out
