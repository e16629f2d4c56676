"""Compiled passes over inner products that turn them into many kernels at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import Array, Indices
from kernelhood.kernels.base import Products

_LEAST_EXPONENT = -708.0
_LOG2_E = 1.0 / math.log(2.0)
#: log(2) in two parts, the first with zeros at its end, so that whole multiples of it are exact.
_LOG_2_HIGH = math.ldexp(math.floor(math.ldexp(math.log(2.0), 32)), -32)
_LOG_2_LOW = 1.9082149292705878e-10
_TAYLOR = tuple(1.0 / math.factorial(degree) for degree in range(13, -1, -1))
#: Columns that are worked on together, so that what they need stays close to the processor, and
#: numbers if this is done by NumPy.
_TILE, _AT_ONCE = 256, 2**14


def _tiles(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield rows of a matrix, as many as stay close to the processor."""
    step = max(1, _AT_ONCE // max(shape[1], 1))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def scaled_power(
    products: Products, offset: float, degree: int, left: Array, right: Array, out: Array
) -> None:
    """Write ``(left_i right_j (x_i'z_j + offset))^degree`` into out."""
    for rows in _tiles(out.shape):
        power = np.multiply(left[rows, None], right, out=out[rows])
        power *= products.inner[rows] + offset if offset else products.inner[rows]
        base = power.copy() if degree > 2 else power
        for _ in range(degree - 1):
            power *= base


@compiled
def add_power(
    products: Products,
    offset: float,
    degree: int,
    left: Array,
    right: Array,
    scale: Array,
    target: Indices,
    out: Array,
) -> None:
    """Add multiples of the rows of ``(left_i right_j (x_i'z_j + offset))^degree`` to rows of out.

    Parameters
    ----------
    products, offset, degree, left, right
        As for `scaled_power`.
    scale, target, out
        As for `add_rows`.
    """
    n_sets, step = scale.shape[0], out.shape[0] // scale.shape[0]
    values = np.empty(_TILE)
    for start in range(0, out.shape[1], _TILE):
        stop = min(start + _TILE, out.shape[1])
        norms = right[start:stop]
        for i in range(scale.shape[1]):
            source, factor = products.inner[i, start:stop], left[i]
            for j in range(stop - start):
                base = factor * norms[j] * (source[j] + offset)
                values[j] = base
                for _ in range(degree - 1):
                    values[j] *= base
            for k in range(n_sets):
                _add(values, scale[k, i], out[target[i] + k * step, start:stop])


@inlined
def _add(values: Array, factor: float, row: Array) -> None:
    """Add a multiple of values to a row."""
    if factor != 0.0:
        for j in range(row.shape[0]):
            row[j] += factor * values[j]


def room_for_powers(n: int) -> tuple[Indices, Array]:
    """Return a buffer for n powers of two as `exponentials` asks for it."""
    powers = np.empty(n, dtype=np.int64)
    return powers, powers.view(np.float64)


@compiled
def exponentials(values: Array, powers: Indices, scales: Array) -> None:
    """Replace values, at most 0, by their exponentials, to the last digit or two.

    Written out because the compiler turns this into instructions on several numbers at a time, but
    calls the C library for one at a time. ``exp(x) = 2^k exp(r)`` with ``|r| <= log(2) / 2``, and a
    Taylor polynomial for the latter. What is below 1e-307 becomes about that.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Exponents, replaced in place.
    powers, scales : ndarray of int64 and of float, shape (at least n,)
        Buffer for the powers of two, and the same buffer read as floating-point numbers.
    """
    for j in range(values.shape[0]):
        x = values[j] if values[j] > _LEAST_EXPONENT else _LEAST_EXPONENT
        k = np.floor(x * _LOG2_E + 0.5)
        r = (x - k * _LOG_2_HIGH) - k * _LOG_2_LOW
        total = _TAYLOR[0]
        for degree in range(1, len(_TAYLOR)):
            total = total * r + _TAYLOR[degree]
        values[j] = total
        powers[j] = (np.int64(np.int32(k)) + 1023) << 52
    for j in range(values.shape[0]):
        values[j] *= scales[j]


@inlined
def _exponents(
    inner: Array, left: Array, right: Array, i: int, start: int, spread: float, values: Array
) -> None:
    """Write the exponents of the Gaussian between one point and those from `start` on."""
    factor, own = -0.5 / (spread * spread), left[i]
    if inner.shape[0] == 0:  # points on a line
        for j in range(values.shape[0]):
            difference = own - right[start + j]
            values[j] = factor * (difference * difference)
    else:
        for j in range(values.shape[0]):
            square = own + right[start + j] - 2.0 * inner[i, start + j]
            values[j] = factor * square if square > 0.0 else 0.0


def gaussian_ladder(
    products: Products, spread: float, squarings: Indices, places: Indices, out: Array
) -> None:
    """Write a chain of Gaussians into slices of out, each by squaring the one before it.

    Parameters
    ----------
    products : Products
        Inner products of the points.
    spread : float
        The widest spread, and the only one for which exponentials are evaluated.
    squarings : ndarray of int, shape (n_rungs,)
        How often to square to come from the one before to this one; 0 for the first and for an
        equal spread.
    places : ndarray of int, shape (n_rungs,)
        The slices of out.
    out : ndarray of shape (n_kernels, n, m)
        The kernel matrices.
    """
    room = room_for_powers(out.shape[2])
    _write_ladder(*products[:4], spread, squarings, places, *room, out)


@compiled
def _write_ladder(
    inner: Array,
    left: Array,
    right: Array,
    same: bool,
    spread: float,
    squarings: Indices,
    places: Indices,
    powers: Indices,
    scales: Array,
    out: Array,
) -> None:
    zero = places[0] - places[0]  # for a literal the function would be compiled once more
    for i in range(out.shape[1]):
        row = out[places[0], i]
        _exponents(inner, left, right, i, zero, spread, row)
        exponentials(row, powers, scales)
        if same:
            row[i] = 1.0
        for rung in range(1, places.shape[0]):
            before, row = row, out[places[rung], i]
            for j in range(row.shape[0]):
                row[j] = before[j] * before[j] if squarings[rung] > 0 else before[j]
            for _ in range(squarings[rung] - 1):
                for j in range(row.shape[0]):
                    row[j] *= row[j]


@compiled
def add_ladder(
    products: Products,
    spread: float,
    squarings: Indices,
    scale: Array,
    target: Indices,
    out: Array,
) -> None:
    """Add multiples of the rows of a chain of Gaussians to rows of out, without the matrices.

    Parameters
    ----------
    products, spread, squarings
        As for `gaussian_ladder`.
    scale : ndarray of shape (n_sets, n_rungs, n)
        What to multiply the rows with, for each set of sums.
    target : ndarray of int, shape (n_rungs, n)
        The rows of each set.
    out : ndarray of shape (n_sets * any, m)
        The sums, one set above the other.
    """
    n_sets, step = scale.shape[0], out.shape[0] // scale.shape[0]
    room, powers = np.empty(_TILE), np.empty(_TILE, np.int64)
    inner, left, right, same, _ = products
    for start in range(0, out.shape[1], _TILE):
        stop = min(start + _TILE, out.shape[1])
        values = room[: stop - start]
        for i in range(scale.shape[2]):
            _exponents(inner, left, right, i, start, spread, values)
            exponentials(values, powers, powers.view(np.float64))
            if same and start <= i < stop:
                values[i - start] = 1.0
            for rung in range(scale.shape[1]):
                _square(values, squarings[rung])
                for k in range(n_sets):
                    row = out[target[rung, i] + k * step, start:stop]
                    _add(values, scale[k, rung, i], row)


@inlined
def _square(values: Array, times: int) -> None:
    """Square values some times."""
    if times == 2:  # as between spreads that are twice each other
        for j in range(values.shape[0]):
            square = values[j] * values[j]
            values[j] = square * square
    else:
        for _ in range(times):
            for j in range(values.shape[0]):
                values[j] *= values[j]


@compiled
def add_rows(K: Array, scale: Array, target: Indices, out: Array) -> None:
    """Add multiples of the rows of a matrix to rows of out.

    Parameters
    ----------
    K : ndarray of shape (n, m)
        The matrix.
    scale : ndarray of shape (n_sets, n)
        What to multiply the rows with, for each set of sums.
    target : ndarray of int, shape (n,)
        The rows of each set.
    out : ndarray of shape (n_sets * any, m)
        The sums, one set above the other.
    """
    step = out.shape[0] // scale.shape[0]
    for k in range(scale.shape[0]):
        for i in range(K.shape[0]):
            _add(K[i], scale[k, i], out[target[i] + k * step])
