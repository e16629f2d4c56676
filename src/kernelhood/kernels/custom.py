"""A kernel that is any function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.kernels.base import Kernel, Points


@dataclass(frozen=True)
class Custom(Kernel):
    """Any function that maps (X, Z) to a matrix of shape (n, m).

    Parameters
    ----------
    function : callable
        Has to be positive semi-definite; this is not checked.

    Examples
    --------
    >>> from kernelhood import Custom
    >>> Custom(lambda X, Z: (X @ Z.T) ** 3)([[1.0]], [[2.0], [3.0]])
    array([[ 8., 27.]])
    """

    function: Callable[[Points, Points], Any]

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return the function's matrix after a look at its shape."""
        K = np.asarray(self.function(X, Z), dtype=np.float64)
        if K.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"kernel function {_name(self.function)} returned shape {K.shape}, "
                f"expected {(X.shape[0], Z.shape[0])}."
            )
        return K


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
