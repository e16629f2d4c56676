"""ITL: multiple kernel learning for every task on its own."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from kernelhood.penalties import LpBall, Simplex
from kernelhood.pipeline.docs import documented
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.pipeline.targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.pipeline.task_kernels import TaskKernels, fit_svm
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem


class _IndependentStep:
    r"""The step of ITL: weights of bounded p-norm.

    Parameters
    ----------
    p : float
        The norm that bounds the weights, from 1 (few kernels) to infinity (their sum).

    Notes
    -----
    For every task t the model solves

    .. math:: \min_{\theta_t \ge 0,\ \lVert\theta_t\rVert_p \le 1}\
        S_t\Bigl(\sum_m \theta_t^m K_t^m\Bigr),

    :math:`S_t` the value of the task's SVM. The dual problem is
    :math:`\max_v\ \text{gain}(v) - \tfrac12 \lVert (v'K_t^m v)_m \rVert_q` with
    :math:`1/p + 1/q = 1`.
    """

    _parameter_constraints: dict[str, Any] = {"p": [Interval(Real, 1, None, closed="both")]}

    p: float
    tol: float
    max_iter: int

    def _solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        ones, start = np.ones(len(kernels.Ks)), problem.carried
        if np.isinf(self.p) or len(ones) == 1:
            return TaskSolution(fit_svm(kernels, problem, ones, **limits))
        ball = Simplex(ones, 1.0) if self.p == 1.0 else LpBall(float(self.p), ones)
        task = Problem(kernels.blocks(problem), ball)
        return TaskSolution(solve(task, start=start, **limits))


@documented
class ITLClassifier(_IndependentStep, MultiTaskClassifier):
    """Independent multiple kernel learning for classification (ITL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import ITLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = ITLClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        p: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        class_weight: Any = None,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        super().__init__(
            kernels=kernels,
            C=C,
            tol=tol,
            max_iter=max_iter,
            class_weight=class_weight,
            task_column=task_column,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.p = p


@documented
class ITLRegressor(_IndependentStep, MultiTaskRegressor):
    """Independent multiple kernel learning for regression (ITL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import ITLRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2])
    >>> model = ITLRegressor(C=100.0, epsilon=0.01).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        p: float = 1.0,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = 100,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        super().__init__(
            kernels=kernels,
            C=C,
            tol=tol,
            max_iter=max_iter,
            epsilon=epsilon,
            task_column=task_column,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.p = p
