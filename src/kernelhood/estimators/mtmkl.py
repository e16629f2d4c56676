"""MT-MKL: kernel weights with a shared and a specific part, each of a given sum."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from kernelhood.operators import one_task
from kernelhood.penalties import SharedSimplices
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.docs import documented
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.pipeline.targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.pipeline.task_kernels import TaskKernels
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve, start_at
from kernelhood.solvers.problem import Problem
from kernelhood.solvers.solution import Solution


class _SharedStep(MultiTaskKernelModel):
    r"""The step of MT-MKL: all tasks are solved together.

    Parameters
    ----------
    sharing_budget : float
        c, the sum of the shared weights: 0 leaves the tasks independent (ITL with p = 1), 1 gives
        one combination of kernels to all of them.

    Notes
    -----
    The model solves

    .. math:: \min_{\mu, \lambda \ge 0}\ \sum_t S_t\Bigl(\sum_m (\mu^m + \lambda_t^m) K_t^m\Bigr),
        \quad \sum_m \mu^m = c, \quad \sum_m \lambda_t^m = 1 - c,

    :math:`S_t` the value of the task's SVM (Tang, Chen and Ye, IJCAI 2009). Here :math:`\mu` and
    :math:`\lambda` are part of the problem and stored as ``shared_weights_`` and
    ``specific_weights_``. With :math:`Q_t^m = v_t'K_t^m v_t` the gap is that to the dual value

    .. math:: \sum_t \text{gain}(v_t)
        - \tfrac12 \Bigl(c \max_m \sum_t Q_t^m + (1 - c) \sum_t \max_m Q_t^m\Bigr);

    it belongs to all tasks together, as ``n_iter_`` does.
    """

    _parameter_constraints: dict[str, Any] = {
        "sharing_budget": [Interval(Real, 0, 1, closed="both")]
    }

    sharing_budget: float

    @classmethod
    def _couples(cls, params: Mapping[str, Any]) -> bool:
        return True

    def _solve_tasks(
        self, kernels: list[TaskKernels], problems: list[TaskProblem]
    ) -> list[TaskSolution]:
        n_tasks, n_kernels = len(problems), len(kernels[0].Ks)
        shared = np.arange(n_kernels)
        blocks = [
            Block(one_task(own.Ks), problem.loss, (shared, shared + (1 + t) * n_kernels))
            for t, (own, problem) in enumerate(zip(kernels, problems, strict=True))
        ]
        budgets = SharedSimplices(n_tasks, float(self.sharing_budget), np.ones(n_kernels))
        together = Problem(blocks, budgets, self.n_jobs)
        start = _joint_start(together, problems, float(self.sharing_budget))
        found = solve(together, start=start, tol=self.tol, max_iter=self.max_iter)
        by_task = found.weights.reshape(1 + n_tasks, n_kernels)
        parts = zip(by_task[1:], together.by_block(found.v), found.intercepts, strict=True)
        return [
            TaskSolution(
                found._replace(weights=by_task[0] + own, v=v, intercepts=np.array([intercept])),
                together=found,
            )
            for own, v, intercept in parts
        ]

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        assert solved[0].together is not None
        self.shared_weights_ = solved[0].together.weights[: self.weights_.shape[1]]
        self.specific_weights_ = self.weights_ - self.shared_weights_


def _joint_start(
    together: Problem, problems: list[TaskProblem], sharing_budget: float
) -> Solution | None:
    """Return the tasks' solutions with another C as one, with their true values.

    mu is the part that all tasks have in common, scaled to its budget.
    """
    starts = [one for problem in problems for one in problem.starts]
    if len(starts) != len(problems):
        return None
    weights = np.array([one.weights for one in starts])
    common = weights.min(axis=0)
    if common.sum() <= 0.0:
        common = weights.mean(axis=0)
    mu = sharing_budget * common / common.sum()
    specific = np.maximum(weights - mu, 0.0)
    return start_at(
        together, np.vstack([mu, specific]).ravel(), np.concatenate([s.v for s in starts])
    )


@documented
class MTMKLClassifier(_SharedStep, MultiTaskClassifier):
    """Shared and specific kernel weights for classification (MT-MKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import MTMKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = MTMKLClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        sharing_budget: float = 0.5,
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
        self.sharing_budget = sharing_budget


@documented
class MTMKLRegressor(_SharedStep, MultiTaskRegressor):
    """Shared and specific kernel weights for regression (MT-MKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import MTMKLRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2])
    >>> model = MTMKLRegressor(C=100.0, epsilon=0.01).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        sharing_budget: float = 0.5,
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
        self.sharing_budget = sharing_budget
