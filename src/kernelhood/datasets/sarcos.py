"""SARCOS: the seven torques of a robot arm."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import Array
from kernelhood.datasets._bunch import check_count, check_flags, make_bunch
from kernelhood.datasets._files import (
    DataFileError,
    find_file,
    get_data_home,
    read_csv,
    read_mat,
    to_numbers,
)

N_INPUTS, N_TORQUES = 21, 7
_N_COLUMNS = N_INPUTS + N_TORQUES

DESCR = """SARCOS inverse dynamics

Seven regression tasks on the same inputs: which torque must each of the seven joints of a robot arm
apply? The 21 inputs are the positions, velocities and accelerations of the joints.

Source: S. Vijayakumar, A. D'Souza and S. Schaal, "Incremental online learning in high dimensions",
Neural Computation 17, 2005; distributed with C. E. Rasmussen and C. K. I. Williams, "Gaussian
Processes for Machine Learning", 2006 (please cite). Licence: none is stated.

Our choices: if the official training file sarcos_inv.mat (44,484 rows) is in the folder, it is
the source, alone: the official test file is every tenth row of it, not a test set of its own.
Otherwise the official test file and two published parts of the training file are joined and rows
that occur twice are dropped, which leaves 7,684 of them. 2,000 rows are drawn at random without
replacement, as in arXiv 1707.03426. Inputs are as recorded unless scale=True gives each mean 0 and
standard deviation 1 over all rows read; torques always keep their units. The rows come once for
each torque, with a common sample_id (the row's position in the joined data): split by it. wide=True
gives each row once with a y of seven columns. The rows are a recording in time, so neighbours are
alike and a random split is easier than a split by blocks of sample_id.
"""


def load_sarcos(
    data_home: str | PathLike[str] | None = None,
    *,
    as_frame: bool = False,
    random_state: Any = None,
    n_samples: int | None = 2000,
    scale: bool = False,
    wide: bool = False,
) -> Bunch:
    """Load the SARCOS robot arm: seven regression tasks with 21 shared inputs.

    Parameters
    ----------
    data_home : path-like or None, default=None
        See `get_data_home`.
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    random_state : int, RandomState or None, default=None
        Seed of the draw of the rows.
    n_samples : int or None, default=2000
        Rows to draw; None takes all.
    scale : bool, default=False
        Whether to standardise the inputs over all rows read.
    wide : bool, default=False
        Whether ``y`` has one column a torque, and ``X`` each row once; ``task`` is then None.

    Returns
    -------
    data : Bunch
        ``X`` (7 * n_samples, 21), ``y``, ``task`` ("torque 1" to "torque 7"), ``task_names``,
        ``feature_names``, ``sample_id`` (equal for the seven copies of a row), ``DESCR``. With
        `wide`, ``X`` (n_samples, 21) and ``y`` (n_samples, 7).

    Examples
    --------
    >>> from kernelhood.datasets import check, load_sarcos
    >>> if all(file.good for file in check("sarcos")):  # its files have been fetched
    ...     data = load_sarcos(n_samples=50, random_state=0)
    ...     assert data.X.shape == (350, 21)
    """
    check_flags(as_frame=as_frame, scale=scale, wide=wide)
    if n_samples is not None:
        n_samples = check_count("n_samples", n_samples)
    rng = check_random_state(random_state)
    data = _read(get_data_home(data_home) / "sarcos")
    if n_samples is not None and n_samples > len(data):
        raise ValueError(f"n_samples={n_samples}, but the files hold {len(data)} rows; give less.")
    X, torques = data[:, :N_INPUTS], data[:, N_INPUTS:]
    if scale:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    rows = np.sort(rng.permutation(len(data))[:n_samples])
    names = [f"torque {number}" for number in range(1, N_TORQUES + 1)]
    return make_bunch(
        X[rows] if wide else np.tile(X[rows], (N_TORQUES, 1)),
        torques[rows] if wide else torques[rows].ravel(order="F"),
        task=None if wide else np.repeat(names, len(rows)),
        task_names=names,
        feature_names=[
            f"{kind} {joint}"
            for kind in ("position", "velocity", "acceleration")
            for joint in range(1, N_TORQUES + 1)
        ],
        sample_id=rows if wide else np.tile(rows, N_TORQUES),
        descr=DESCR,
        as_frame=as_frame,
    )


def _read(folder: Path) -> Array:
    """Return the distinct rows of the best files that are there, in their order."""
    official = folder / "sarcos_inv.mat"
    if official.is_file():
        return _read_mat(official)
    test = find_file(folder, ["sarcos_inv_test.mat"], "sarcos")
    parts = [
        find_file(folder, ["train_rows_a.csv", "sarcos_val.csv"], "sarcos"),
        find_file(folder, ["train_rows_b.csv", "sarcos_test.csv"], "sarcos"),
    ]
    data = np.vstack([_read_mat(test), *map(_read_csv, parts)])
    _, first = np.unique(data, axis=0, return_index=True)
    return data[np.sort(first)]


def _read_mat(path: Path) -> Array:
    (data,) = read_mat(path, [path.stem])
    if data.ndim != 2 or data.shape[1] != _N_COLUMNS or data.dtype.kind not in "fiu":
        raise DataFileError(path, f"{path.stem!r} has shape {data.shape}, not (n, {_N_COLUMNS})")
    finite = np.isfinite(data).all(axis=1)
    if not finite.all():
        problem = f"row {int(np.argmin(finite)) + 1} holds a value that is not finite"
        raise DataFileError(path, problem)
    return np.asarray(data, dtype=np.float64)


def _read_csv(path: Path) -> Array:
    rows = read_csv(path, _N_COLUMNS, header=[str(column) for column in range(_N_COLUMNS)])
    return to_numbers(path, rows, first_line=2)
