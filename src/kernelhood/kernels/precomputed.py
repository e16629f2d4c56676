"""A kernel that is given by its matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from kernelhood._typing import Array
from kernelhood.kernels.base import Kernel, Points, restrict


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A kernel on row numbers, given by its matrix on all rows.

    The points are one column of row numbers, so that cross-validation can split them as it splits
    any other data.

    Parameters
    ----------
    K : array-like of shape (n_rows, n_rows)
        Symmetric.
    columns : sequence of one int or str, optional
        The feature that holds the row number, where there are several.

    Examples
    --------
    >>> import numpy as np
    >>> Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))([[1]], [[0], [1]])
    array([[1., 3.]])
    """

    K: Array = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        K = np.array(self.K, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K of Precomputed must be square, got shape {K.shape}.")
        if not np.all(np.isfinite(K)):
            raise ValueError("K of Precomputed must be finite, it holds NaN or infinity.")
        if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * max(1.0, float(np.abs(K).max()))):
            raise ValueError("K of Precomputed must be symmetric: K[i, j] = K[j, i].")
        K.setflags(write=False)
        object.__setattr__(self, "K", K)

    def evaluate(self, X: Points, Z: Points) -> Array:
        """Return the entries of K for the row numbers in X and Z.

        Rows that are equally far apart are read where they are, without a copy.
        """
        rows = self._rows(X)
        columns = rows if Z is X else self._rows(Z)
        one, other = _as_slice(rows), _as_slice(columns)
        if one is None or other is None:
            return np.asarray(self.K[np.ix_(rows, columns)])
        return np.asarray(self.K[one, other])

    def diagonal(self, X: Points) -> Array:
        """Return the entries on K's diagonal."""
        return np.asarray(np.diag(self.K)[self._rows(restrict(X, self.columns))])

    def _rows(self, X: Points) -> Any:
        numbers = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if numbers.shape[1] != 1:
            raise ValueError(
                f"Precomputed needs one column of row numbers, got {numbers.shape[1]}: "
                "name it by columns=[...]."
            )
        rows = np.rint(numbers[:, 0]).astype(np.intp)
        if np.any(rows != numbers[:, 0]) or np.any(rows < 0) or np.any(rows >= len(self.K)):
            raise ValueError(
                f"row numbers for Precomputed must be integers from 0 to {len(self.K) - 1}."
            )
        return rows


def _as_slice(rows: Any) -> slice | None:
    """Return ascending numbers that are equally far apart as a slice, others as None."""
    if len(rows) == 0:
        return None
    step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
    if step < 1 or np.any(np.diff(rows) != step):
        return None
    return slice(int(rows[0]), int(rows[-1]) + 1, step)
