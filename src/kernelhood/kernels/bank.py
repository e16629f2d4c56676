"""A bank evaluates all its kernels on the same points, sharing what they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.kernels._products import (
    Products,
    gaussian_ladder,
    inner_products,
    scaled_power,
)
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
    inverse_norms,
    restrict,
)

_LONGEST_LADDER = 16
_BLOCK = 2**22


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
        used = np.flatnonzero(weights)
        total = np.zeros((X.shape[0], Z.shape[0]))
        if used.size == 0:
            return total
        step = max(1, _BLOCK // max(1, used.size * Z.shape[0]))
        for start in range(0, X.shape[0], step):
            rows = X[start : start + step]
            stack = np.empty((used.size, rows.shape[0], Z.shape[0]))
            self._fill(used, rows, Z, stack)
            total[start : start + step] = np.tensordot(weights[used], stack, axes=1)
        return total

    def _fill(self, which: Iterable[int], X: Points, Z: Points, out: Array) -> None:
        """Write the chosen kernels into the slices of out."""
        groups: dict[Columns, list[tuple[int, Kernel]]] = {}
        for place, number in enumerate(which):
            kernel = self.kernels[number]
            if isinstance(_core(kernel), ProductKernel):
                groups.setdefault(kernel.columns, []).append((place, kernel))
            else:
                out[place] = kernel(X) if X is Z else kernel(X, Z)
        for columns, members in groups.items():
            left = restrict(X, columns)
            products = inner_products(left, left if X is Z else restrict(Z, columns))
            _fill_group(members, products, out)


def default_bank() -> KernelBank:
    """Return the ten kernels of the paper.

    Linear, polynomial of degree 2 and Gaussians of spread 2, 4, ..., 256, all cosine normalised.
    """
    gaussians = [Normalized(Gaussian(2.0**k)) for k in range(1, 9)]
    return KernelBank([Normalized(Linear()), Normalized(Polynomial()), *gaussians])


def kernel_name(kernel: Kernel) -> str:
    """Return a short name, such as ``gaussian(4)``."""
    core = _core(kernel)
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


def _core(kernel: Kernel) -> Kernel:
    """Return the kernel inside any normalisation."""
    return _core(kernel.kernel) if isinstance(kernel, Normalized) else kernel


def _resolve(kernel: Kernel, numbers: dict[str, int]) -> Kernel:
    if kernel.columns is None or not any(isinstance(c, str) for c in kernel.columns):
        return kernel
    missing = [c for c in kernel.columns if isinstance(c, str) and c not in numbers]
    if missing:
        raise ValueError(f"columns {missing} are not among the features {list(numbers)}.")
    return kernel.with_columns(
        tuple(numbers[c] if isinstance(c, str) else c for c in kernel.columns)
    )


def _fill_group(members: list[tuple[int, Kernel]], products: Products, out: Array) -> None:
    """Write kernels that share their inner products."""
    gaussians = []
    for place, kernel in members:
        core = _core(kernel)
        if isinstance(core, Gaussian):
            gaussians.append((core.spread, place))
        else:
            left, right = _row_scales(kernel, core, products)
            offset, degree = (
                (core.offset, core.degree) if isinstance(core, Polynomial) else (0.0, 1)
            )
            scaled_power(products, float(offset), int(degree), left, right, out[place])
    for ladder in _ladders(gaussians):
        places = np.array([rung[1] for rung in ladder], dtype=np.intp)
        squarings = np.array([rung[2] for rung in ladder], dtype=np.intp)
        gaussian_ladder(products, ladder[0][0], squarings, places, out)


def _row_scales(kernel: Kernel, core: Any, products: Products) -> tuple[Array, Array]:
    if isinstance(kernel, Normalized):
        left = inverse_norms(core.from_square_norms(products.left))
        right = inverse_norms(core.from_square_norms(products.right))
        return left, right
    return np.ones(len(products.left)), np.ones(len(products.right))


Rung = tuple[float, int, int]


def _ladders(gaussians: list[tuple[float, int]]) -> list[list[Rung]]:
    """Group (spread, place) into chains of (spread, place, squarings), widest first.

    A Gaussian joins a chain when the ratio of the squared spreads is a power of two and the whole
    chain needs few squarings, each of which doubles the relative rounding error.
    """
    chains: list[list[Rung]] = []
    for spread, place in sorted(gaussians, reverse=True):
        for chain in chains:
            squarings = 2.0 * np.log2(chain[-1][0] / spread)
            total = sum(rung[2] for rung in chain) + squarings
            if squarings == np.rint(squarings) and total <= _LONGEST_LADDER:
                chain.append((spread, place, int(squarings)))
                break
        else:
            chains.append([(spread, place, 0)])
    return chains
