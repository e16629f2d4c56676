"""Compiled passes over inner products that turn them into many kernels at once."""

from __future__ import annotations

import math

import numpy as np

from kernelhood._compiled import compiled
from kernelhood._typing import Array, Indices
from kernelhood.kernels._products import Products

_LEAST_EXPONENT = -708.0
_LOG2_E = 1.0 / math.log(2.0)
#: log(2) in two parts, the first with zeros at its end, so that whole multiples of it are exact.
_LOG_2 = (math.ldexp(math.floor(math.ldexp(math.log(2.0), 32)), -32), 1.9082149292705878e-10)
_TAYLOR = tuple(1.0 / math.factorial(degree) for degree in range(13, -1, -1))


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
    products: Products, i: int, spread: float, values: Array, powers: Indices
) -> None:
    """Write the Gaussian between one point and all on the other side."""
    factor, source = -0.5 / (spread * spread), products.inner[i]
    for j in range(values.shape[0]):
        distance = products.left[i] + products.right[j] - 2.0 * source[j]
        values[j] = factor * max(distance, 0.0)
    exponentials(values, powers)
    if products.same:
        values[i] = 1.0


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
        _gaussian_row(products, i, spread, row, powers)
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
    scale : ndarray of shape (n_rungs, n)
        What to multiply the rows with.
    target : ndarray of int, shape (n_rungs, n)
        The rows of out.
    out : ndarray of shape (any, m)
        The sums.
    """
    values, powers = np.empty(out.shape[1]), np.empty(out.shape[1], np.int64)
    for i in range(scale.shape[1]):
        _gaussian_row(products, i, spread, values, powers)
        for rung in range(scale.shape[0]):
            for _ in range(squarings[rung]):
                for j in range(values.shape[0]):
                    values[j] *= values[j]
            row, factor = out[target[rung, i]], scale[rung, i]
            for j in range(values.shape[0]):
                row[j] += factor * values[j]


@compiled
def add_rows(K: Array, scale: Array, target: Indices, out: Array) -> None:
    """Add multiples of the rows of a matrix to rows of out."""
    for i in range(K.shape[0]):
        row, source = out[target[i]], K[i]
        for j in range(K.shape[1]):
            row[j] += scale[i] * source[j]
