"""Compiled passes over inner products that turn them into many kernels at once."""

from __future__ import annotations

import math

import numpy as np

from kernelhood._compiled import compiled, inlined
from kernelhood._typing import Array, Indices
from kernelhood.kernels._products import Products

_LEAST_EXPONENT = -708.0
_LOG2_E = 1.0 / math.log(2.0)
#: log(2) in two parts, the first with zeros at its end, so that whole multiples of it are exact.
_LOG_2 = (math.ldexp(math.floor(math.ldexp(math.log(2.0), 32)), -32), 1.9082149292705878e-10)
_TAYLOR = tuple(1.0 / math.factorial(degree) for degree in range(13, -1, -1))
#: Columns that are worked on together, so that what they need stays close to the processor.
_TILE = 256


@compiled
def scaled_power(
    products: Products, offset: float, degree: int, left: Array, right: Array, out: Array
) -> None:
    """Write ``(left_i right_j (x_i'z_j + offset))^degree`` into out."""
    for i in range(out.shape[0]):
        row, source = out[i], products.inner[i]
        for j in range(out.shape[1]):
            base = left[i] * right[j] * (source[j] + offset)
            power = base
            for _ in range(degree - 1):
                power *= base
            row[j] = power


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


@compiled
def exponentials(values: Array, powers: Indices) -> None:
    """Replace values, at most 0, by their exponentials, to the last digit or two.

    Written out because the compiler turns this into instructions on several numbers at a time, but
    calls the C library for one at a time. ``exp(x) = 2^k exp(r)`` with ``|r| <= log(2) / 2``, and a
    Taylor polynomial for the latter. What is below 1e-307 becomes about that.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Exponents, replaced in place.
    powers : ndarray of int64, shape (n,)
        Room for the powers of two, as the bits of floating-point numbers.
    """
    for j in range(values.shape[0]):
        x = max(values[j], _LEAST_EXPONENT)
        k = np.floor(x * _LOG2_E + 0.5)
        r = (x - k * _LOG_2[0]) - k * _LOG_2[1]
        total = _TAYLOR[0]
        for degree in range(1, len(_TAYLOR)):
            total = total * r + _TAYLOR[degree]
        values[j] = total
        powers[j] = (np.int64(np.int32(k)) + 1023) << 52
    scales = powers.view(np.float64)
    for j in range(values.shape[0]):
        values[j] *= scales[j]


@compiled
def _gaussian_row(
    products: Products, i: int, start: int, spread: float, values: Array, powers: Indices
) -> None:
    """Write the Gaussian between one point and those from `start` on, on the other side."""
    stop = start + values.shape[0]
    factor, left = -0.5 / (spread * spread), products.left[i]
    right = products.right[start:stop]
    if products.inner.shape[0] == 0:  # points on a line
        for j in range(values.shape[0]):
            values[j] = factor * ((left - right[j]) * (left - right[j]))
    else:
        source = products.inner[i, start:stop]
        for j in range(values.shape[0]):
            values[j] = factor * max(left + right[j] - 2.0 * source[j], 0.0)
    exponentials(values, powers)
    if products.same and start <= i < stop:
        values[i - start] = 1.0


@compiled
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
    powers = np.empty(out.shape[2], np.int64)
    for i in range(out.shape[1]):
        row = out[places[0], i]
        _gaussian_row(products, i, 0, spread, row, powers)
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
    for start in range(0, out.shape[1], _TILE):
        stop = min(start + _TILE, out.shape[1])
        values = room[: stop - start]
        for i in range(scale.shape[2]):
            _gaussian_row(products, i, start, spread, values, powers[: stop - start])
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
