"""The kernel that sees nothing of its points: under a relation, an intercept that is priced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelhood._typing import Array
from kernelhood.kernels.base import Kernel, Points


@dataclass(frozen=True)
class Constant(Kernel):
    """The constant 1.

    Its functions are constants: under a relation that gives tasks a part of their own, they are
    intercepts that are shrunk. Where a task has a free intercept besides, they change nothing.

    Examples
    --------
    >>> Constant()([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
    array([[1., 1.]])
    """

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return ones."""
        return np.ones((X.shape[0], Z.shape[0]))

    def diagonal(self, X: Points) -> Array:
        """Return ones."""
        return np.ones(X.shape[0])
