"""All tasks as one: a plain SVM on the averaged kernel, the baseline of any sharing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import column_or_1d

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.estimators._docs import documented
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.estimators._targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.kernels import Custom, KernelBank
from kernelhood.solvers.fixed import solve_fixed
from kernelhood.tasks import TaskRows


@dataclass(frozen=True)
class _Average:
    """The average of a bank's kernels as one function."""

    bank: KernelBank

    __name__ = "average"

    def __call__(self, X: Any, Z: Any) -> Array:
        return self.bank.combine(X, Z, np.full(len(self.bank), 1.0 / len(self.bank)))


class _PooledStep(MultiTaskKernelModel):
    """The step of the pooled SVM: it reads the tasks and forgets them.

    Notes
    -----
    The kernel is the average of the base kernels, as in AVMTMKL, but one SVM with one intercept is
    fitted to the samples of all tasks. Whatever lets tasks share functions has to beat it where the
    tasks differ, and AVMTMKL where they have something in common. The labels of a classification
    have to mean the same in all tasks, and every task can be predicted, whether it was seen or not.
    """

    def _read_points(self, X: Any, task: Any, *, reset: bool) -> tuple[Any, AnyArray | None]:
        return super()._read_points(X, task, reset=reset)[0], None

    def _read_training_data(self, X: Any, y: Any, task: Any) -> tuple[Any, list[TaskRows]]:
        shape = np.asarray(y).shape
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                "y must have one dimension: a pooled SVM has one function for all tasks, got "
                f"shape {shape}."
            )
        one_column = y if y is None else column_or_1d(y, warn=True)
        return super()._read_training_data(X, one_column, task)

    def _task_bank(self, bank: KernelBank, X: Any, sample_weight: Array) -> KernelBank:
        return KernelBank([Custom(_Average(bank))])

    def _bank_of(self, number: int) -> KernelBank:
        return KernelBank([Custom(_Average(self._bank))])

    def _kernel_names(self) -> list[str]:
        return ["average"]

    def _solve_task(self, Ks: Array, problem: TaskProblem, G: Array, d: Array) -> TaskSolution:
        start = None if problem.start is None else problem.start.v
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        return TaskSolution(solve_fixed(Ks, problem.terms, np.ones(1), v=start, **limits))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


@documented
class PooledClassifier(_PooledStep, MultiTaskClassifier):
    """One SVM on the averaged kernel for all tasks together.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import PooledClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = PooledClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """


@documented
class PooledRegressor(_PooledStep, MultiTaskRegressor):
    """One support vector regression on the averaged kernel for all tasks together.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import PooledRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = PooledRegressor(C=100.0, epsilon=0.01).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, np.sin(3 * X[:, 0])) > 0.9)
    (True, True)
    """
