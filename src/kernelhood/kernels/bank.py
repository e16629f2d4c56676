"""A bank evaluates all its kernels on the same points, sharing what they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.kernels._products import Pair, Side
from kernelhood.kernels.base import (
    Columns,
    Gaussian,
    Kernel,
    Linear,
    Normalized,
    Points,
    Polynomial,
    ProductKernel,
    as_kernel,
    restrict,
)
from kernelhood.kernels.group import Sums, core_of, passes_of

_BLOCK = 2**19


class KernelBank(Sequence[Kernel]):
    """An immutable list of kernels that are evaluated together.

    Kernels on the same columns share their inner products, and Gaussians whose spreads are powers
    of sqrt(2) apart share one exponential: each narrower one is a square of a wider one.

    Parameters
    ----------
    kernels : iterable of Kernel, str or callable
        The kernels, in the order of the weights.

    Examples
    --------
    >>> bank = KernelBank([Linear(), Gaussian(1.0), Gaussian(2.0)])
    >>> bank([[0.0], [1.0]]).shape
    (3, 2, 2)
    """

    def __init__(self, kernels: Iterable[Any]) -> None:
        self.kernels = tuple(as_kernel(kernel) for kernel in kernels)
        if not self.kernels:
            raise ValueError("kernels must hold at least one kernel, got none.")

    def __len__(self) -> int:
        return len(self.kernels)

    def __getitem__(self, index: Any) -> Any:
        found = self.kernels[index]
        return KernelBank(found) if isinstance(index, slice) else found

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.kernels)

    def __repr__(self) -> str:
        return f"KernelBank([{', '.join(map(repr, self.kernels))}])"

    def __sklearn_clone__(self) -> Self:
        return self

    @property
    def names(self) -> list[str]:
        """A short name for every kernel."""
        return [kernel_name(kernel) for kernel in self.kernels]

    def resolved(self, feature_names: Sequence[str] | None) -> KernelBank:
        """Return the bank with column names replaced by numbers."""
        if feature_names is None:
            return self
        numbers = {name: number for number, name in enumerate(feature_names)}
        return KernelBank(_resolve(kernel, numbers) for kernel in self.kernels)

    def __call__(self, X: Points, Z: Points | None = None, *, out: Array | None = None) -> Array:
        """Return the stack of kernel matrices.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            The points; Z = None stands for X.
        out : ndarray of shape (n_kernels, n, m), optional
            Room to write the stack to.

        Returns
        -------
        ndarray of shape (n_kernels, n, m)
        """
        X = restrict(X, None)
        Z = X if Z is None else restrict(Z, None)
        stack = np.empty((len(self), X.shape[0], Z.shape[0])) if out is None else out
        self._fill(range(len(self)), X, Z, stack)
        return stack

    def combine(self, X: Points, Z: Points, weights: Array) -> Array:
        """Return ``sum_m weights_m k_m(X, Z)`` in blocks of rows, without the whole stack.

        Parameters
        ----------
        X, Z : array-like or CSR matrix
            The points.
        weights : ndarray of shape (n_kernels,)
            Kernels of weight 0 are not evaluated.
        """
        X, Z = restrict(X, None), restrict(Z, None)
        used, n = np.flatnonzero(weights), X.shape[0]
        scale, target = np.broadcast_arrays(weights[used, None], np.arange(n))
        return self._sum(used, X, Z, Sums(scale, target, np.zeros((n, Z.shape[0]))))

    def products(self, X: Points, Z: Points, change: Array) -> Array:
        """Return ``sum_i change_i k_m(x_i, z_j)`` for all kernels m, without their matrices.

        Parameters
        ----------
        X, Z : array-like or CSR matrix
            The points.
        change : ndarray of shape (n,)
            A number for every row of X.

        Returns
        -------
        ndarray of shape (n_kernels, m)
        """
        X, Z = restrict(X, None), restrict(Z, None)
        every = np.arange(len(self))
        scale, target = np.broadcast_arrays(change, every[:, None])
        return self._sum(every, X, Z, Sums(scale, target, np.zeros((len(self), Z.shape[0]))))

    def _fill(self, which: Iterable[int], X: Points, Z: Points, out: Array) -> None:
        """Write the chosen kernels into the slices of out."""
        others, groups = self._groups(which)
        for place, kernel in others:
            out[place] = kernel(X) if X is Z else kernel(X, Z)
        for columns, members in groups.items():
            side = Side(restrict(Z, columns))
            pair = Pair(side.points if X is Z else restrict(X, columns), side)
            for one in passes_of(members):
                one.write(pair, out)

    def _sum(self, which: Indices, X: Points, Z: Points, sums: Sums) -> Array:
        """Add the rows of the chosen kernels to sums, block by block, and return these."""
        others, groups = self._groups(which)
        shared = [
            (columns, Side(restrict(Z, columns)), tuple(passes_of(members)))
            for columns, members in groups.items()
        ]
        step = max(1, _BLOCK // max(1, Z.shape[0]))
        for start in range(0, X.shape[0], step):
            part, rows = sums.rows(start, start + step), X[start : start + step]
            for place, kernel in others:
                part.add(place, np.ascontiguousarray(kernel(rows, Z), dtype=np.float64))
            for columns, side, passes in shared:
                pair = Pair(restrict(rows, columns), side)
                for one in passes:
                    one.add(pair, part)
        return sums.out

    def _groups(
        self, which: Iterable[int]
    ) -> tuple[list[tuple[int, Kernel]], dict[Columns, list[tuple[int, Kernel]]]]:
        """Return the chosen kernels and their places: others, and those of the same columns."""
        others: list[tuple[int, Kernel]] = []
        groups: dict[Columns, list[tuple[int, Kernel]]] = {}
        for place, number in enumerate(which):
            kernel = self.kernels[number]
            if isinstance(core_of(kernel), ProductKernel):
                groups.setdefault(kernel.columns, []).append((place, kernel))
            else:
                others.append((place, kernel))
        return others, groups


def default_bank() -> KernelBank:
    """Return the ten kernels of the paper.

    Linear, polynomial of degree 2 and Gaussians of spread 2, 4, ..., 256, all cosine normalised.
    """
    gaussians = [Normalized(Gaussian(2.0**k)) for k in range(1, 9)]
    return KernelBank([Normalized(Linear()), Normalized(Polynomial()), *gaussians])


def kernel_name(kernel: Kernel) -> str:
    """Return a short name, such as ``gaussian(4)``."""
    core = core_of(kernel)
    if isinstance(core, Gaussian):
        name = f"gaussian({core.spread:g})"
    elif isinstance(core, Polynomial):
        name = f"polynomial({core.degree})"
    else:
        label = getattr(core, "name", None)
        label = label or getattr(getattr(core, "function", None), "__name__", None)
        name = str(label or type(core).__name__.lower())
    if kernel.columns is not None:
        name += f"[{','.join(map(str, kernel.columns))}]"
    return name


def _resolve(kernel: Kernel, numbers: dict[str, int]) -> Kernel:
    if kernel.columns is None or not any(isinstance(c, str) for c in kernel.columns):
        return kernel
    missing = [c for c in kernel.columns if isinstance(c, str) and c not in numbers]
    if missing:
        raise ValueError(f"columns {missing} are not among the features {list(numbers)}.")
    return kernel.with_columns(
        tuple(numbers[c] if isinstance(c, str) else c for c in kernel.columns)
    )
