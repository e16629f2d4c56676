"""Families of kernels that the solver tests share, and the matrices they stand for."""

from __future__ import annotations

import numpy as np

from kernelhood.solvers.family import KernelFamily
from kernelhood.solvers.layout import cells_of
from tests.solvers.problems import points, stack

LAYOUTS = {
    "tasks": ([9, 6, 10], [0, 1, 2], [0, 0, 0]),
    "pairs of one task": ([9, 6, 10], [0, 0, 0], [0, 1, 2]),
    "pairs of two tasks": ([9, 6, 10, 5], [0, 1, 0, 1], [0, 0, 1, 1]),
}
KINDS = {"both": (True, True), "shared": (True, False), "specific": (False, True)}


def family_of(layout, kind, *, repeated=False):
    sizes, task, component = map(np.array, LAYOUTS[layout])
    n = sizes.sum()
    X, sign = points(n)
    point = np.arange(n)
    if repeated:
        point = np.random.default_rng(0).integers(0, 8, n)
        X = X[:8]
    places = cells_of(point, sizes, task, component)
    return KernelFamily(stack(X)[[0, 2, 4]], places, *KINDS[kind]), sign


def written_out(family):
    """Return the whole matrix of the kernel of each weight."""
    layout = family.layout
    full = family.Ks[:, layout.point][:, :, layout.point]
    cell, component = layout.cell, layout.reach[layout.cell, 0]
    task = layout.task[cell]
    matrices = []
    if family.shares:
        matrices += list(full * (component[:, None] == component))
    if family.specifics:
        same = cell[:, None] == cell
        for t in range(layout.n_tasks):
            matrices += list(full * (same & (task == t)[:, None]))
    return np.array(matrices)
