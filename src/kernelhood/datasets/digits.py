"""Digits: binary tasks from the digits that come with scikit-learn, so no file is needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from kernelhood.datasets._arguments import check_flags, check_pairs
from kernelhood.datasets._bunch import make_bunch, pair_rows

PAIRS = ("3/8", "4/9", "1/7", "5/6", "1/8", "2/3", "5/8", "7/9")

DESCR = """Digits

Eight binary tasks, each a pair of handwritten digits: 3/8 4/9 1/7 5/6 1/8 2/3 5/8 7/9. An image has
8 x 8 grey values.

Source: the digits of scikit-learn, which are the test part of "Optical recognition of handwritten
digits" by E. Alpaydin and C. Kaynak, UCI machine learning repository, 1998 (please cite). Licence:
CC BY 4.0 according to the repository.

Our choices: all images of both digits, grey values divided by 16 so that they lie in [0, 1]. Tasks
that share a digit share its images; sample_id is the image's number in scikit-learn's data: split
by it. y is the digit.
"""


def load_digits_tasks(*, as_frame: bool = False, pairs: Sequence[str] = PAIRS) -> Bunch:
    """Load scikit-learn's digits as binary tasks with 64 grey values.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    pairs : sequence of str
        The tasks, two digits joined by a slash.

    Returns
    -------
    data : Bunch
        ``X`` (n_samples, 64) in [0, 1], ``y`` the digits, ``task`` (such as "3/8"),
        ``task_names``, ``feature_names``, ``sample_id`` (image number), ``DESCR``.

    Examples
    --------
    >>> from kernelhood.datasets import load_digits_tasks
    >>> digits = load_digits_tasks()
    >>> digits.task_names
    ['3/8', '4/9', '1/7', '5/6', '1/8', '2/3', '5/8', '7/9']
    >>> digits.X[digits.task == "3/8"].shape
    (357, 64)
    """
    check_flags(as_frame=as_frame)
    split = check_pairs(pairs, "0123456789")
    source = load_digits()
    rows_of = {str(digit): np.flatnonzero(source.target == digit) for digit in range(10)}
    rows, task = pair_rows(rows_of, split)
    return make_bunch(
        source.data[rows] / 16.0,
        source.target[rows],
        task=task,
        task_names=[f"{a}/{b}" for a, b in split],
        feature_names=source.feature_names,
        sample_id=rows,
        descr=DESCR,
        as_frame=as_frame,
    )
