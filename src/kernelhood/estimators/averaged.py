"""AVMTMKL: the average of the base kernels for every task."""

from __future__ import annotations

import numpy as np

from kernelhood._typing import Array
from kernelhood.estimators._docs import documented
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.estimators._targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.solvers.fixed import solve_fixed


class _AveragedStep:
    """The step of AVMTMKL: nothing to learn but the SVM.

    Notes
    -----
    Every task has the kernel ``K_t = (1/M) sum_m K_t^m`` and its own SVM.
    """

    tol: float
    max_iter: int

    def _solve_task(self, Ks: Array, problem: TaskProblem, G: Array, d: Array) -> TaskSolution:
        weights = np.full(len(Ks), 1.0 / len(Ks))
        starts = problem.starts
        v = starts[-1].v if starts else None
        return TaskSolution(
            solve_fixed(Ks, problem.terms, weights, v=v, tol=self.tol, max_iter=self.max_iter)
        )


@documented
class AVMTMKLClassifier(_AveragedStep, MultiTaskClassifier):
    """The average of the base kernels for classification (AVMTMKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import AVMTMKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = AVMTMKLClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """


@documented
class AVMTMKLRegressor(_AveragedStep, MultiTaskRegressor):
    """The average of the base kernels for regression (AVMTMKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import AVMTMKLRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2])
    >>> model = AVMTMKLRegressor(C=100.0, epsilon=0.01).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y) > 0.9)
    (True, True)
    """
