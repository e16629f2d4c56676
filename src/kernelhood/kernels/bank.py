"""A bank evaluates all its kernels on the same points, sharing what they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.kernels._products import Pair
from kernelhood.kernels.base import Kernel, Points, restrict
from kernelhood.kernels.composed import Directions, Interaction
from kernelhood.kernels.discrete import Equality
from kernelhood.kernels.group import Plan, Sums, add_up, core_of, plan_of
from kernelhood.kernels.inputs import FittedInputs, ImputedInputs, InputSummary
from kernelhood.kernels.standard import Gaussian, Linear, Normalized, Polynomial, as_kernel


class KernelBank(Sequence[Kernel]):
    r"""An immutable list of kernels that are evaluated together.

    Kernels on the same columns share their inner products, and Gaussians whose spreads are powers
    of :math:`\sqrt2` apart share one exponential: each narrower one is a square of a wider one.

    Parameters
    ----------
    kernels : iterable of Kernel, str or callable
        The kernels, in the order of the weights.
    names : sequence of str, optional
        Names of the kernels in the place of those that they give themselves.
    inputs : FittedInputs or ImputedInputs, optional
        What is done to the rows of all points first.

    Examples
    --------
    >>> bank = KernelBank([Linear(), Gaussian(1.0), Gaussian(2.0)])
    >>> bank([[0.0], [1.0]]).shape
    (3, 2, 2)
    """

    def __init__(
        self,
        kernels: Iterable[Any],
        *,
        names: Sequence[str] | None = None,
        inputs: FittedInputs | ImputedInputs | None = None,
    ) -> None:
        self.kernels = tuple(as_kernel(kernel) for kernel in kernels)
        if not self.kernels:
            raise ValueError("kernels must hold at least one kernel, got none.")
        if names is not None and len(names) != len(self.kernels):
            raise ValueError(f"names must hold one for each of {len(self.kernels)} kernels.")
        self.inputs = inputs
        self._names = None if names is None else tuple(names)
        self._plan = plan_of(self.kernels)
        self._last = np.arange(len(self.kernels)), self._plan

    def __len__(self) -> int:
        return len(self.kernels)

    def __getitem__(self, index: Any) -> Any:
        found = self.kernels[index]
        if not isinstance(index, slice):
            return found
        return KernelBank(found, names=self._names and self._names[index], inputs=self.inputs)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.kernels)

    def __repr__(self) -> str:
        if self.inputs is not None:
            return f"KernelBank of {', '.join(self.names)}"
        return f"KernelBank([{', '.join(map(repr, self.kernels))}])"

    def __sklearn_clone__(self) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # How kernels are evaluated together follows from them, and is made anew.
        return {"kernels": self.kernels, "names": self._names, "inputs": self.inputs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.kernels, self.inputs = tuple(state["kernels"]), state["inputs"]
        self._names = None if state["names"] is None else tuple(state["names"])
        self._plan = plan_of(self.kernels)
        self._last = np.arange(len(self.kernels)), self._plan

    @property
    def names(self) -> list[str]:
        """A short name for every kernel."""
        if self._names is not None:
            return list(self._names)
        return [kernel_name(kernel) for kernel in self.kernels]

    def extended(self, kernels: Sequence[Kernel]) -> KernelBank:
        """Return the bank with more kernels behind its own."""
        names = [*self.names, *map(kernel_name, kernels)]
        return KernelBank([*self.kernels, *kernels], names=names, inputs=self.inputs)

    def some(self, places: Iterable[int]) -> KernelBank:
        """Return the bank of some of its kernels, which sees the same points."""
        chosen = [int(place) for place in places]
        names = self._names and [self._names[place] for place in chosen]
        return KernelBank([self.kernels[m] for m in chosen], names=names, inputs=self.inputs)

    def prepared(self, X: Points) -> Points:
        """Return points as the kernels see them: these are the points of `plain`."""
        X = restrict(X, None)
        return X if self.inputs is None else self.inputs(X)

    def comparable(self, X: Points) -> Points:
        """Return points between which distances make sense, for all that is no kernel."""
        return X if self.inputs is None else self.inputs.comparable(X)

    def imputed(self, inputs: InputSummary) -> KernelBank:
        """Return the bank for rows with missing values: means in their place, and their kernels.

        Parameters
        ----------
        inputs : InputSummary
            What there is to know of the training rows. Each column in which they have missing
            values gets a kernel that tells whether two points both have one there, or neither.
        """
        width, flags = len(inputs.mean), np.flatnonzero(inputs.missing).tolist()
        everything = tuple(range(width))
        kernels = [
            kernel.with_columns(everything) if kernel.columns is None else kernel
            for kernel in self.kernels
        ]
        kernels += [Equality(columns=(width + place,)) for place in range(len(flags))]
        names = [*self.names, *(f"missing[{inputs.label(flag)}]" for flag in flags)]
        return KernelBank(kernels, names=names, inputs=ImputedInputs(inputs.mean, tuple(flags)))

    @property
    def plain(self) -> KernelBank:
        """The same kernels without what is done to the points first."""
        return self if self.inputs is None else KernelBank(self.kernels, names=self._names)

    def resolved(self, feature_names: Sequence[str] | None) -> KernelBank:
        """Return the bank with column names replaced by numbers."""
        if feature_names is None or self.inputs is not None:
            return self
        numbers = {name: number for number, name in enumerate(feature_names)}
        return KernelBank([kernel.resolved(numbers) for kernel in self.kernels], names=self._names)

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
        alone = Z is None or Z is X
        X = self.prepared(X)
        Z = X if alone else self.prepared(Z)
        stack = np.empty((len(self), X.shape[0], Z.shape[0])) if out is None else out
        for place, kernel in self._plan.others:
            stack[place] = kernel(X) if X is Z else kernel(X, Z)
        for group in self._plan.groups:
            side = group.side(Z)
            pair = Pair(side.points if X is Z else group.points(X), side)
            for one in group.passes:
                one.write(pair, stack)
        return stack

    def combine(self, X: Points, Z: Points, weights: Array) -> Array:
        r"""Return :math:`\sum_m w_m k_m(X, Z)` in blocks of rows, without the whole stack.

        Parameters
        ----------
        X, Z : array-like or CSR matrix
            The points.
        weights : ndarray of shape (n_kernels,)
            :math:`w_m`; kernels of weight 0 are not evaluated.
        """
        return np.asarray(self.combinations(X, Z, weights[None, :, None])[0])

    def combinations(
        self, X: Points, Z: Points, weights: Array, *, out: Array | None = None
    ) -> Array:
        """Return several combinations of the kernels, each of which is evaluated once.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            The points.
        weights : ndarray of shape (n_sets, n_kernels, 1) or (n_sets, n_kernels, n)
            The weights of every combination, the same for all rows or one for each.
        out : ndarray of shape (n_sets, n, m), optional
            C-contiguous; what the combinations are added to.

        Returns
        -------
        ndarray of shape (n_sets, n, m)
        """
        X, Z = self.prepared(X), self.prepared(Z)
        used, n = np.flatnonzero(weights.any(axis=(0, 2))), X.shape[0]
        found = np.zeros((len(weights), n, Z.shape[0])) if out is None else out
        scale = np.broadcast_to(weights[:, used], (len(weights), len(used), n))
        target = np.broadcast_to(np.arange(n), (len(used), n))
        add_up(
            self._plan_for(used),
            X,
            Z,
            Sums(scale, target, found.reshape(len(weights) * n, Z.shape[0])),
        )
        return found

    def _plan_for(self, used: Indices) -> Plan:
        """Return how to evaluate some of the kernels; the last answer is kept."""
        if len(used) == len(self):
            return self._plan
        known, plan = self._last
        if not np.array_equal(used, known):
            plan = plan_of(self.kernels[m] for m in used)
            self._last = used, plan
        return plan

    def products(self, X: Points, Z: Points, change: Array, groups: Indices | None = None) -> Array:
        r"""Return :math:`\sum_i c_i k_m(x_i, z_j)` for all kernels m, without their matrices.

        Parameters
        ----------
        X, Z : array-like or CSR matrix
            The points.
        change : ndarray of shape (n,)
            :math:`c_i`, a number for every row of X.
        groups : ndarray of int, shape (n,), optional
            The group of every row of X, ascending; each has sums of its own.

        Returns
        -------
        ndarray of shape (n_kernels, m), or (n_groups, n_kernels, m)
        """
        X, Z = self.prepared(X), self.prepared(Z)
        first = np.zeros(len(change), dtype=np.intp) if groups is None else groups * len(self)
        n_groups = 1 if groups is None else int(groups[-1]) + 1
        target = first + np.arange(len(self))[:, None]
        scale = np.broadcast_to(change, (1, *target.shape))
        out = np.zeros((n_groups * len(self), Z.shape[0]))
        found = add_up(self._plan, X, Z, Sums(scale, target, out))
        return found if groups is None else found.reshape(n_groups, len(self), -1)


def default_bank() -> KernelBank:
    """Return the ten kernels of the paper.

    Linear, polynomial of degree 2 and Gaussians of spread 2, 4, ..., 256, all cosine normalised.

    Examples
    --------
    >>> default_bank().names[:4]
    ['linear', 'polynomial(2)', 'gaussian(2)', 'gaussian(4)']
    """
    gaussians = [Normalized(Gaussian(2.0**k)) for k in range(1, 9)]
    return KernelBank([Normalized(Linear()), Normalized(Polynomial()), *gaussians])


def kernel_name(kernel: Kernel) -> str:
    """Return a short name, such as ``gaussian(4)``."""
    core = core_of(kernel)
    if isinstance(core, Directions):
        return f"{kernel_name(core.kernel.with_columns(core.columns))}[directions]"
    if isinstance(core, Interaction):
        return " x ".join(kernel_name(part) for part in core.kernels)
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
