"""Kernels under relations between tasks, and the matrices they stand for."""

from __future__ import annotations

import numpy as np

from kernelhood.operators import DenseKernels, cells_of
from tests.solvers.problems import points, stack

LAYOUTS = {
    "all tasks": ([9, 6, 10], [0, 1, 2]),
    "some tasks": ([11, 8], [0, 2]),
    "one task": ([17], [1]),
}


def _related(*seeds):
    """Return positive semi-definite matrices between three tasks, none of ones or the identity."""
    factors = [np.random.default_rng(seed).normal(size=(3, 2)) for seed in seeds]
    return np.array([A @ A.T for A in factors])


ONES, EYE, NONE = np.ones((1, 3, 3)), np.eye(3)[None], np.empty((0, 3, 3))
KINDS = {
    "shared and specific": (ONES, True),
    "shared": (ONES, False),
    "specific": (NONE, True),
    "identity": (EYE, False),
    "any matrix": (_related(0), False),
    "any matrices and specific": (_related(1, 2), True),
    "all kinds": (np.concatenate([_related(3), ONES, EYE, _related(4)]), True),
    "all kinds twice": (np.concatenate([EYE, ONES, _related(5), ONES, EYE]), False),
    "block of two tasks": (np.array([[[1.0, 0, 0], [0, 1, 1], [0, 1, 1]]]), False),
}


def kernels_of(layout, kind, *, repeated=False):
    """Return three kernels on 17 to 25 samples; `repeated` ones stand at eight points."""
    sizes, task = map(np.array, LAYOUTS[layout])
    n = sizes.sum()
    X, sign = points(n)
    point = np.arange(n)
    if repeated:
        point = np.random.default_rng(0).integers(0, 8, n)
        X = X[:8]
    matrices, separate = KINDS[kind]
    Ks = np.ascontiguousarray(stack(X)[[0, 2, 4]])
    return DenseKernels(cells_of(point, sizes, task), matrices, separate, Ks=Ks), sign


def written_out(kernels):
    """Return the whole matrix of the kernel of each weight."""
    cells = kernels.cells
    full = kernels.Ks[:, cells.point][:, :, cells.point]
    task = cells.task[cells.cell]
    found = [B[task][:, task] * K for B in kernels.matrices.written() for K in full]
    if kernels.separate:
        for t in range(kernels.matrices.n_tasks):
            own = (task == t).astype(float)
            found += list(full * np.outer(own, own))
    return np.array(found)


def products_of(kernels, v):
    """Return the products of every kernel with a vector."""
    products = kernels.no_products()
    kernels.add_products(v, products)
    return products
