"""MT-MKL: kernel weights with a shared and a specific part, each of a given sum."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from kernelhood._typing import Array
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.estimators._docs import documented
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.estimators._targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.kernels import KernelBank
from kernelhood.parallel import map_in_threads
from kernelhood.solvers.shared_simplices import SharedSimplices
from kernelhood.solvers.weight_set import solve_over_set


class _SharedStep(MultiTaskKernelModel):
    """The step of MT-MKL: all tasks are solved together.

    Parameters
    ----------
    sharing_budget : float
        c, the sum of the shared weights: 0 leaves the tasks independent (ITL with p = 1), 1 gives
        one combination of kernels to all of them.

    Notes
    -----
    The model solves

        min over mu, lambda of   sum_t S_t(sum_m (mu^m + lambda_t^m) K_t^m),
        mu >= 0, sum mu = c,   lambda_t >= 0, sum lambda_t = 1 - c for every task,

    S_t the value of the task's SVM (Tang, Chen and Ye, IJCAI 2009). Here mu and lambda are part of
    the problem and stored as ``shared_weights_`` and ``specific_weights_``. With
    ``Q_t^m = v_t'K_t^m v_t`` the gap is that to the dual value
    ``sum_t gain(v_t) - 1/2 (c max_m sum_t Q_t^m + (1 - c) sum_t max_m Q_t^m)``; it belongs to all
    tasks together, as ``n_iter_`` does.
    """

    _parameter_constraints: dict[str, Any] = {
        "sharing_budget": [Interval(Real, 0, 1, closed="both")]
    }

    sharing_budget: float

    @classmethod
    def _couples(cls, params: Mapping[str, Any]) -> bool:
        return True

    def _solve_tasks(self, bank: KernelBank, problems: list[TaskProblem]) -> list[TaskSolution]:
        def evaluate(problem: TaskProblem) -> Array:
            return self._kernel_stack(bank, problem.X, problem.sample_weight)

        Ks = map_in_threads(evaluate, problems, self.n_jobs)
        starts = [one for problem in problems for one in problem.starts]
        together, solutions = solve_over_set(
            Ks,
            [problem.terms for problem in problems],
            SharedSimplices(len(problems), len(Ks[0]), float(self.sharing_budget)),
            starts=starts if len(starts) == len(problems) else None,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        self._shared_part = together[0]
        return [TaskSolution(solution) for solution in solutions]

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        self.shared_weights_ = self._shared_part
        self.specific_weights_ = self.weights_ - self._shared_part


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
        kernels: Any = None,
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
        kernels: Any = None,
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
