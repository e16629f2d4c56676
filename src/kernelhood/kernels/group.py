"""Kernels that share their inner products: what to evaluate, and where its rows go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.kernels._passes import (
    add_ladder,
    add_power,
    add_rows,
    gaussian_ladder,
    scaled_power,
)
from kernelhood.kernels._points import quiet
from kernelhood.kernels._products import Pair, Products, Side
from kernelhood.kernels.base import Columns, Kernel, Points, ProductKernel, inverse_norms, restrict
from kernelhood.kernels.composed import Directions, directions
from kernelhood.kernels.standard import Gaussian, Linear, Normalized, Polynomial

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


class Pass(Protocol):
    """Kernels that are evaluated in one pass over the inner products."""

    def write(self, pair: Pair, out: Array) -> None:
        """Write the matrices into slices of out."""

    def add(self, pair: Pair, sums: Sums) -> None:
        """Add the rows to sums."""


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
        products = pair.products(core.of_distances)
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
