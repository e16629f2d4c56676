"""Rounds of SVMs that MT-MKL needs, against the closed-form iteration of its authors.

A round is one SVM for every task. Both start from equal weights and end at the same duality gap.
"""

from __future__ import annotations

import numpy as np
from _measure import geometric_mean, print_table
from _problems import bank_stack

import kernelhood as kh
from kernelhood.losses import DualTerms, hinge
from kernelhood.solvers.shared_simplices import SharedSimplices
from kernelhood.solvers.task_svm import TaskSvm
from kernelhood.solvers.weight_set import solve_over_set

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


def closed_form_rounds(Ks: list[np.ndarray], terms: list[DualTerms], budget: float) -> int:
    """Return how many rounds ``mu_m <- c mu_m sqrt(sum_t Q_t^m) / normaliser`` needs."""
    svms = [TaskSvm.of(K, term) for K, term in zip(Ks, terms, strict=True)]
    weight_set = SharedSimplices(len(Ks), len(Ks[0]), budget)
    x = weight_set.start()
    budgets = x.sum(axis=1, keepdims=True)
    points = [svm.at(theta) for svm, theta in zip(svms, weight_set.weights(x), strict=True)]
    dual = -np.inf
    for rounds in range(1, LIMIT + 1):
        jobs = zip(svms, weight_set.weights(x), points, strict=True)
        points = [svm.solve(theta, start, 0.1 * TOL) for svm, theta, start in jobs]
        q = np.array([point.curvatures for point in points])
        value = sum(point.value for point in points)
        dual = max(dual, sum(point.gain for point in points) - weight_set.support(q))
        if value - dual <= TOL * value:
            return rounds
        x = x * np.sqrt(np.concatenate([q.sum(axis=0)[None], q]))
        x = x * (budgets / np.maximum(x.sum(axis=1, keepdims=True), 1e-300))
    return LIMIT


def main() -> None:
    tasks = digit_tasks(60)
    Ks = [K for K, _ in tasks]
    rows = []
    for C in (0.1, 1.0, 10.0, 1000.0):
        terms = [hinge(sign, np.full(len(sign), C)) for _, sign in tasks]
        for budget in (0.3, 0.7):
            slow = closed_form_rounds(Ks, terms, budget)
            weight_set = SharedSimplices(len(Ks), len(Ks[0]), budget)
            fast = len(solve_over_set(Ks, terms, weight_set, tol=TOL)[1][0].trace)
            rows.append([f"{C:g}", budget, slow, fast, slow / fast])
    head = ["C", "sharing budget", "closed form", "second order", "ratio"]
    print_table(f"MT-MKL: rounds to a gap of {TOL:g}", head, rows)
    print(f"\nGeometric mean of the ratio: {geometric_mean([row[-1] for row in rows]):.1f}")


if __name__ == "__main__":
    main()
