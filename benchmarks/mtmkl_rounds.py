"""Rounds of SVMs that MT-MKL needs, against the closed-form iteration of its authors.

A round is one SVM for every task. Both start from equal weights and end at the same duality gap.
"""

from __future__ import annotations

import numpy as np
from _measure import geometric_mean, print_table
from _problems import bank_stack

import kernelhood as kh
from kernelhood.losses import BoxLoss, Hinge
from kernelhood.operators import one_task
from kernelhood.penalties import SharedSimplices
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem

TOL = 1e-3
LIMIT = 2000


def digit_tasks(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the kernels and signs of four pairs of digits, of unequal size."""
    data = kh.datasets.load_digits_tasks()
    tasks = []
    for number, name in enumerate(data.task_names[:4]):
        rows = np.flatnonzero(data.task == name)[: n + 20 * number]
        y = data.y[rows]
        tasks.append((bank_stack(data.X[rows]), np.where(y == y.max(), 1.0, -1.0)))
    return tasks


def joint_problem(Ks: list[np.ndarray], losses: list[BoxLoss], budget: float) -> Problem:
    """Return the tasks as one problem with shared and specific weights."""
    n_kernels = len(Ks[0])
    shared = np.arange(n_kernels)
    blocks = [
        Block(one_task(K), loss, (shared, shared + (1 + t) * n_kernels))
        for t, (K, loss) in enumerate(zip(Ks, losses, strict=True))
    ]
    return Problem(blocks, SharedSimplices(len(Ks), budget, np.ones(n_kernels)))


def closed_form_rounds(problem: Problem) -> int:
    """Return how many rounds ``mu_m <- c mu_m sqrt(sum_t Q_t^m) / normaliser`` needs."""
    x, bound = problem.start(), -np.inf
    here = problem.at(x)
    for rounds in range(1, LIMIT + 1):
        here = problem.solve(x, here, 0.1 * TOL, 0.0)
        bound = max(bound, problem.penalty.lower_bound(here.dual))
        if here.objective - bound <= TOL * here.objective:
            return rounds
        x = problem.penalty.nearest(x * np.sqrt(np.maximum(here.dual.q, 0.0)))
    return LIMIT


def main() -> None:
    tasks = digit_tasks(60)
    Ks = [K for K, _ in tasks]
    rows = []
    for C in (0.1, 1.0, 10.0, 1000.0):
        losses = [Hinge().box(sign, np.full(len(sign), C)) for _, sign in tasks]
        for budget in (0.3, 0.7):
            problem = joint_problem(Ks, losses, budget)
            slow, fast = closed_form_rounds(problem), solve(problem, tol=TOL).n_iter
            rows.append([f"{C:g}", budget, slow, fast, slow / fast])
    head = ["C", "sharing budget", "closed form", "second order", "ratio"]
    print_table(f"MT-MKL: rounds to a gap of {TOL:g}", head, rows)
    print(f"\nGeometric mean of the ratio: {geometric_mean([row[-1] for row in rows]):.1f}")


if __name__ == "__main__":
    main()
