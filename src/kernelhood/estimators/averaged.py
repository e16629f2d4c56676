"""AVMTMKL: the average of the base kernels for every task."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood.pipeline.docs import documented
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.pipeline.targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.pipeline.task_kernels import TaskKernels, fit_svm


class _AveragedStep:
    r"""The step of AVMTMKL: nothing to learn but the SVM.

    Notes
    -----
    Every task has the kernel :math:`K_t = \frac1M \sum_m K_t^m` and its own SVM.
    """

    tol: float
    max_iter: int

    def _solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        average = np.full(len(kernels.Ks), 1.0 / len(kernels.Ks))
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        return TaskSolution(fit_svm(kernels, problem, average, **limits))


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
