"""Kernels that share their inner products: what to evaluate, and where its rows go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.kernels.base import (
    Columns,
    Kernel,
    Pair,
    Points,
    ProductKernel,
    Products,
    Side,
    inverse_norms,
    quiet,
    restrict,
)
from kernelhood.kernels.compiled import (
    add_ladder,
    add_power,
    add_rows,
    gaussian_ladder,
    scaled_power,
)
from kernelhood.kernels.inputs import FittedInputs, ImputedInputs, InputSummary
from kernelhood.kernels.standard import (
    Directions,
    Equality,
    Gaussian,
    Interaction,
    Linear,
    Normalized,
    Polynomial,
    as_kernel,
    directions,
)

_LONGEST_LADDER = 16
_BLOCK = 2**17


@dataclass(frozen=True)
class Sums:
    """Sets of sums of multiples of kernel rows.

    Attributes
    ----------
    scale : ndarray of shape (n_sets, n_kernels, n)
        What the rows of every kernel are multiplied with, for each set.
    target : ndarray of int, shape (n_kernels, n)
        The rows of a set to which they are added.
    out : ndarray of shape (n_sets * any, m)
        The sums, one set above the other.
    """

    scale: Array
    target: Indices
    out: Array

    def rows(self, start: int, stop: int) -> Sums:
        """Return the part that some of the rows take."""
        scale, target = self.scale[..., start:stop].copy(), self.target[:, start:stop].copy()
        return Sums(scale, target, self.out)

    def scale_of(self, place: int | Indices) -> Array:
        """Return what the rows of one kernel, or of several, are multiplied with."""
        return np.ascontiguousarray(self.scale[:, place])

    def add(self, place: int, K: Array) -> None:
        """Add the rows of the matrix of one kernel."""
        add_rows(K, self.scale_of(place), self.target[place], self.out)


@dataclass(frozen=True)
class Single:
    """One kernel of inner products, normalised or not, and its place in the bank."""

    kernel: Kernel
    place: int

    def write(self, pair: Pair, out: Array) -> None:
        """Write the matrix into a slice of out."""
        if not self._is_power:
            core: Any = core_of(self.kernel)
            normalized = isinstance(self.kernel, Normalized)
            evaluate = core.normalized_from_products if normalized else core.from_products
            out[self.place] = evaluate(pair.products(core.of_distances))
            return
        with quiet():
            scaled_power(*self._power(pair), out[self.place])

    def add(self, pair: Pair, sums: Sums) -> None:
        """Add the rows to sums."""
        if self._is_power:
            scale, target = sums.scale_of(self.place), sums.target[self.place]
            with quiet():
                add_power(*self._power(pair), scale, target, sums.out)
            return
        K = np.empty((1, pair.points.shape[0], pair.side.points.shape[0]))
        Single(self.kernel, 0).write(pair, K)
        sums.add(self.place, K[0])

    @property
    def _is_power(self) -> bool:
        """Whether the kernel is a power of inner products."""
        return type(core_of(self.kernel)) in (Linear, Polynomial)

    def _power(self, pair: Pair) -> tuple[Products, float, int, Array, Array]:
        """Return the products, offset, degree and factors on both sides of a power."""
        core: Any = core_of(self.kernel)
        products = pair.inner
        if isinstance(self.kernel, Normalized):
            left = inverse_norms(core.scales(products.left))
            right = left if products.same else self._norms(pair.side, core, products)
            products = products.finite()
        else:
            left, right = np.ones(len(products.left)), np.ones(len(products.right))
        offset, degree = (0.0, 1) if type(core) is Linear else (core.offset, core.degree)
        return products, float(offset), int(degree), left, right

    def _norms(self, side: Side, core: Any, products: Products) -> Array:
        """Return one over the norms of the points on the right; blocks of rows share them."""
        if self.place not in side.kept:
            side.kept[self.place] = inverse_norms(core.scales(products.right))
        return side.kept[self.place]


@dataclass(frozen=True)
class Ladder:
    """A chain of Gaussians, each a square of the wider one before it.

    Attributes
    ----------
    spread : float
        The widest one.
    squarings : ndarray of int, shape (n_rungs,)
        How often to square to come from the one before to this one.
    places : ndarray of int, shape (n_rungs,)
        Their places in the bank.
    """

    spread: float
    squarings: Indices
    places: Indices

    def write(self, pair: Pair, out: Array) -> None:
        """Write the matrices into slices of out."""
        with quiet():
            gaussian_ladder(pair.apart, self.spread, self.squarings, self.places, out)

    def add(self, pair: Pair, sums: Sums) -> None:
        """Add the rows to sums."""
        scale, target = sums.scale_of(self.places), sums.target[self.places]
        with quiet():
            add_ladder(pair.apart, self.spread, self.squarings, scale, target, sums.out)


#: Kernels that are evaluated in one pass over the inner products.
Pass = Single | Ladder


@dataclass(frozen=True)
class Group:
    """Kernels on the same columns.

    Attributes
    ----------
    columns : tuple of int or None
        The columns.
    directed : bool
        Whether they see the directions of the points only.
    length : float
        The smallest distance that matters to any of the kernels.
    passes : tuple of Pass
        What evaluates them.
    """

    columns: Columns
    directed: bool
    length: float
    passes: tuple[Pass, ...]

    def points(self, X: Points) -> Points:
        """Return points as the kernels see them."""
        seen = restrict(X, self.columns)
        return directions(seen) if self.directed else seen

    def side(self, Z: Points) -> Side:
        """Return the points on the right."""
        return Side(self.points(Z), self.length)


@dataclass(frozen=True)
class Plan:
    """How to evaluate kernels: those on their own with their places, and those in groups."""

    others: tuple[tuple[int, Kernel], ...]
    groups: tuple[Group, ...]


def plan_of(kernels: Iterable[Kernel]) -> Plan:
    """Return how to evaluate kernels together."""
    others: list[tuple[int, Kernel]] = []
    groups: dict[tuple[Columns, bool], list[tuple[int, Kernel]]] = {}
    for place, kernel in enumerate(kernels):
        directed = isinstance(kernel, Directions)
        inner = kernel.kernel if isinstance(kernel, Directions) else kernel
        if isinstance(core_of(inner), ProductKernel):
            groups.setdefault((kernel.columns, directed), []).append((place, inner))
        else:
            others.append((place, kernel))
    return Plan(tuple(others), tuple(_group(*key, own) for key, own in groups.items()))


def _group(columns: Columns, directed: bool, members: list[tuple[int, Kernel]]) -> Group:
    cores: list[Any] = [core_of(kernel) for _, kernel in members]
    length = min(float(core.smallest_distance) for core in cores)
    return Group(columns, directed, length, tuple(_passes(members)))


def _passes(members: list[tuple[int, Kernel]]) -> Iterator[Pass]:
    """Yield what evaluates kernels that share their inner products, given with their places."""
    gaussians = []
    for place, kernel in members:
        core = core_of(kernel)
        if type(core) is Gaussian:
            gaussians.append((core.spread, place))
        else:
            yield Single(kernel, place)
    for chain in _ladders(gaussians):
        places = np.array([rung[1] for rung in chain], dtype=np.intp)
        squarings = np.array([rung[2] for rung in chain], dtype=np.intp)
        yield Ladder(chain[0][0], squarings, places)


def core_of(kernel: Kernel) -> Kernel:
    """Return the kernel inside any normalisation."""
    return core_of(kernel.kernel) if isinstance(kernel, Normalized) else kernel


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


def add_up(plan: Plan, X: Points, Z: Points, sums: Sums) -> Array:
    """Add the rows of kernels to sums, block by block, and return these."""
    sides = [(group, group.side(Z)) for group in plan.groups]
    step = max(1, _BLOCK // max(1, Z.shape[0]))
    for start in range(0, X.shape[0], step):
        part, rows = sums.rows(start, start + step), X[start : start + step]
        for place, kernel in plan.others:
            part.add(place, np.require(kernel(rows, Z), np.float64, ["C", "W"]))
        for group, side in sides:
            pair = Pair(group.points(rows), side)
            for one in group.passes:
                one.add(pair, part)
    return sums.out


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
        """Return points between which distances make sense, for everything that is not a kernel."""
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
            Buffer to write the stack to.

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


class PointKernels:
    """The kernels of a bank on a set of points, evaluated again whenever they are needed.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    points : ndarray or CSR matrix of shape (n_points, n_features)
        The points.
    """

    def __init__(self, bank: KernelBank, points: Any) -> None:
        # What is done to the points is done once.
        self.bank, self.plain, self.points = bank, bank.plain, bank.prepared(points)

    def __len__(self) -> int:
        return len(self.bank)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return int(self.points.shape[0])

    def stack(self, rows: Indices | slice, columns: Indices | slice) -> Array:
        """Return every kernel between some points, of shape (n_kernels, n_rows, n_columns)."""
        return self.plain(self.points[rows], self.points[columns])

    def combinations(
        self, rows: Indices, columns: Indices, weights: Array, *, out: Array | None = None
    ) -> Array:
        """Return combinations of the kernels between some points, or add them to `out`."""
        return self.plain.combinations(self.points[rows], self.points[columns], weights, out=out)

    def products(
        self, rows: Indices, columns: Indices, change: Array, groups: Indices | None = None
    ) -> Array:
        """Return every kernel between some points times a vector over the rows, or its groups."""
        return self.plain.products(self.points[rows], self.points[columns], change, groups)

    @cached_property
    def diagonals(self) -> Array:
        """The values k(x, x), of shape (n_kernels, n_points)."""
        return np.array([kernel.diagonal(self.points) for kernel in self.bank])
