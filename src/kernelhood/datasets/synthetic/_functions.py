"""Functions drawn by chance from known kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import AnyArray, Array
from kernelhood.datasets._arguments import check_choice, check_count, check_number

_SPREADS = tuple(2.0**k for k in range(1, 9))

BANK = ("linear", "polynomial", *(f"gaussian {spread:g}" for spread in _SPREADS))

# Standard deviation of each input: distances are then of the order of the narrower spreads.
INPUT_SCALE = 3.0
_N_ANCHORS = 100
# How far apart places are alike, in the unit square.
_NEAR = 0.25

_Function = Callable[[Array], Array]


def draw_kernels(
    n_shared: int, n_tasks: int, rng: np.random.RandomState
) -> tuple[list[int], list[int]]:
    """Draw the shared kernels, ascending, and one of the others for each task."""
    order = rng.permutation(len(BANK))
    shared, others = np.sort(order[:n_shared]), order[n_shared:]
    return shared.tolist(), rng.choice(others, size=n_tasks).tolist()


def draw_functions(
    shared: list[int],
    specific: list[int],
    shares: Array,
    n_features: int,
    rng: np.random.RandomState,
) -> list[_Function]:
    """Draw the function of each task, a mixture of a shared and a specific one."""
    f_0 = _draw_function(shared, n_features, rng)
    g = [_draw_function([kernel], n_features, rng) for kernel in specific]

    def mixture(share: float, g_t: _Function) -> _Function:
        return lambda X: np.sqrt(share) * f_0(X) + np.sqrt(1 - share) * g_t(X)

    return [mixture(share, g_t) for share, g_t in zip(shares, g, strict=True)]


class Structure(NamedTuple):
    """What tasks have in common beside the shared function."""

    kind: str | None
    share: float
    n_groups: int
    intercepts: float

    def checked(self) -> Structure:
        """Return itself where its values can be."""
        check_number("structure_share", self.share, low=0.0, high=1.0)
        check_number("intercepts", self.intercepts, low=0.0)
        check_count("n_groups", self.n_groups)
        if self.kind is not None:
            check_choice("structure", self.kind, ("groups", "smooth"))
        return self


def structured(
    functions: list[_Function],
    blocks: list[Array],
    names: AnyArray,
    shared: Sequence[int],
    form: Structure,
    rng: np.random.RandomState,
) -> tuple[list[Array], dict[str, Any]]:
    """Return all values, with a structure and intercepts, and tell the structure."""
    clean = [function(x) for function, x in zip(functions, blocks, strict=True)]
    told: dict[str, Any] = {}
    if form.kind is not None:
        kernel, n_features = [int(rng.choice(shared))], blocks[0].shape[1]
        parts, told = _draw_structure(form, kernel, names, n_features, rng)
        clean = [
            np.sqrt(1.0 - form.share) * values + np.sqrt(form.share) * part(x)
            for values, part, x in zip(clean, parts, blocks, strict=True)
        ]
    if form.intercepts > 0.0:
        clean = [values + form.intercepts * rng.standard_normal() for values in clean]
    return clean, told


def _draw_structure(
    form: Structure,
    kernel: list[int],
    names: AnyArray,
    n_features: int,
    rng: np.random.RandomState,
) -> tuple[list[_Function], dict[str, Any]]:
    """Draw what tasks of a group, or at near places, have in common."""
    if form.kind == "groups":
        number = np.arange(len(names)) % form.n_groups
        functions = [_draw_function(kernel, n_features, rng) for _ in range(form.n_groups)]
        told = {name: f"group {k + 1}" for name, k in zip(names.tolist(), number, strict=True)}
        return [functions[k] for k in number], {"task_groups": told}
    places = rng.uniform(size=(len(names), 2))
    centres = np.array([[x, y] for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0)])
    functions = [_draw_function(kernel, n_features, rng) for _ in centres]
    near = np.exp(-((places[:, np.newaxis] - centres) ** 2).sum(axis=2) / (2 * _NEAR**2))
    near /= np.sqrt((near**2).sum(axis=1, keepdims=True))

    def mixture(shares: Array) -> _Function:
        return lambda X: np.sum([a * f(X) for a, f in zip(shares, functions, strict=True)], axis=0)

    told = {name: place.tolist() for name, place in zip(names.tolist(), places, strict=True)}
    return [mixture(shares) for shares in near], {"task_places": told}


def _draw_function(
    kernels: Sequence[int], n_features: int, rng: np.random.RandomState
) -> _Function:
    """Draw a function with variance 1, an equal share of it from each kernel."""
    anchors = INPUT_SCALE * rng.standard_normal((_N_ANCHORS, n_features))
    # A sample of its own sets centre and scale, so that the function does not depend on the data.
    sample = INPUT_SCALE * rng.standard_normal((1000, n_features))
    terms = []
    for kernel in kernels:
        weights = rng.standard_normal(_N_ANCHORS)
        values = _kernel(kernel, sample, anchors) @ weights
        terms.append((kernel, weights, values.mean(), values.std() * np.sqrt(len(kernels))))

    def function(X: Array) -> Array:
        parts = [(_kernel(k, X, anchors) @ w - mean) / std for k, w, mean, std in terms]
        total: Array = np.sum(parts, axis=0)
        return total

    return function


def _kernel(number: int, X: Array, Z: Array) -> Array:
    """Return kernel `number` of the bank between the rows of X and Z, cosine normalised."""
    products = X @ Z.T
    x2, z2 = (X**2).sum(axis=1)[:, np.newaxis], (Z**2).sum(axis=1)
    if number == 0:
        values = products / np.sqrt(x2 * z2)
    elif number == 1:
        values = (products + 1) ** 2 / ((x2 + 1) * (z2 + 1))
    else:
        values = np.exp(-np.maximum(x2 + z2 - 2 * products, 0) / (2 * _SPREADS[number - 2] ** 2))
    return np.asarray(values, dtype=np.float64)
