"""Landmine: is the object in a radar image a mine, in each of 29 fields."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.datasets._bunch import check_flags, make_bunch
from kernelhood.datasets._files import DataFileError, find_file, get_data_home, read_mat

_N_FEATURES = 9
_FOLIATED = 15

DESCR = """Landmine detection

29 binary tasks, one for each field; 14,820 objects of which 904 (6.1 %) are mines, described by 9
real features computed from radar images. Fields 1 to 15 have foliage, fields 16 to 29 are bare
earth or desert: two groups that a multi-task method may find.

Source: the MATLAB file of Y. Xue, X. Liao, L. Carin and B. Krishnapuram, "Multi-task learning for
classification with Dirichlet process priors", Journal of Machine Learning Research 8, 2007 (please
cite). Licence: none is stated.

Our choices: with balanced=True (the default) a task holds all its mines and as many other objects,
drawn at random without replacement, because accuracies near 60 % as printed in arXiv 1707.03426
are below the share of the larger class in the full data; balanced=False gives all rows, for which
the area under the ROC curve is the score to look at. y is 1 for a mine, 0 otherwise. No object
belongs to two tasks; sample_id is its position in the file.
"""


def load_landmine(
    data_home: str | PathLike[str] | None = None,
    *,
    as_frame: bool = False,
    random_state: Any = None,
    balanced: bool = True,
) -> Bunch:
    """Load the landmine data: 29 binary tasks with 9 features.

    Parameters
    ----------
    data_home : path-like or None, default=None
        See `get_data_home`.
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    random_state : int, RandomState or None, default=None
        Seed of the draw of the negatives; used when `balanced` is True.
    balanced : bool, default=True
        Whether to keep all positives and as many negatives of each task, rather than all rows.

    Returns
    -------
    data : Bunch
        ``X`` (n_samples, 9), ``y`` 0 or 1, ``task`` ("field 1" to "field 29"), ``task_names``,
        ``feature_names``, ``sample_id`` (position in the file), ``task_groups`` (the ground of
        each field, "foliated" or "bare"), ``DESCR``.

    Examples
    --------
    >>> from kernelhood.datasets import check, load_landmine
    >>> if all(file.good for file in check("landmine")):  # its files have been fetched
    ...     data = load_landmine(random_state=0)
    ...     assert len(data.task_names) == 29
    """
    check_flags(as_frame=as_frame, balanced=balanced)
    rng = check_random_state(random_state)
    path = find_file(get_data_home(data_home) / "landmine", ["LandmineData.mat"], "landmine")
    features, labels = _read(path)
    names = [f"field {number}" for number in range(1, len(labels) + 1)]
    X, y = np.vstack(features), np.concatenate(labels)
    task = np.repeat(names, [len(label) for label in labels])
    rows = np.arange(len(y))
    if balanced:
        rows = np.concatenate([_balance(rows[task == name], y, rng) for name in names])
    return make_bunch(
        X[rows],
        y[rows],
        task=task[rows],
        task_names=names,
        feature_names=[f"feature {number}" for number in range(1, _N_FEATURES + 1)],
        sample_id=rows,
        descr=DESCR,
        as_frame=as_frame,
        task_groups={
            name: "foliated" if number <= _FOLIATED else "bare"
            for number, name in enumerate(names, start=1)
        },
    )


def _balance(rows: Indices, y: AnyArray, rng: np.random.RandomState) -> Indices:
    """Return all positive rows and as many negative ones, ascending."""
    positive, negative = rows[y[rows] == 1], rows[y[rows] == 0]
    size = min(len(positive), len(negative))
    drawn = rng.choice(negative, size=size, replace=False)
    return np.sort(np.concatenate([positive, drawn]))


def _read(path: Path) -> tuple[list[Array], list[AnyArray]]:
    """Return one feature matrix and one label vector for each cell of the file."""
    features, labels = read_mat(path, ["feature", "label"])
    for name, cells in (("feature", features), ("label", labels)):
        if cells.dtype != object or cells.ndim != 2 or 1 not in cells.shape:
            raise DataFileError(path, f"{name!r} is not a row of cells")
    if features.size != labels.size:
        raise DataFileError(path, f"{features.size} cells of 'feature', {labels.size} of 'label'")
    pairs = zip(features.ravel(), labels.ravel(), strict=True)
    checked = [_check_cell(path, number, X, y) for number, (X, y) in enumerate(pairs, start=1)]
    return [X for X, _ in checked], [y for _, y in checked]


def _check_cell(path: Path, number: int, X: AnyArray, y: AnyArray) -> tuple[Array, AnyArray]:
    if X.ndim != 2 or X.shape[1] != _N_FEATURES or X.dtype.kind not in "fiu":
        problem = f"cell {number} of 'feature' has shape {X.shape}, not (n, {_N_FEATURES})"
        raise DataFileError(path, problem)
    if y.shape != (len(X), 1):
        problem = f"cell {number} of 'label' has shape {y.shape}, not ({len(X)}, 1)"
        raise DataFileError(path, problem)
    if not np.isfinite(X).all():
        raise DataFileError(path, f"cell {number} of 'feature' holds a value that is not finite")
    if not np.isin(y, (0, 1)).all():
        raise DataFileError(path, f"cell {number} of 'label' holds a value other than 0 and 1")
    return X.astype(np.float64), y.ravel().astype(np.int64)
