"""ITL: multiple kernel learning for every task on its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators.base import MultiTaskKernelModel
from kernelhood.estimators.data import (
    TaskProblem,
    TaskSolution,
    class_codes,
    completed_classes,
    task_classes,
    task_means,
)
from kernelhood.estimators.docs import documented
from kernelhood.estimators.reading import TaskRows, known_tasks, split_by_label
from kernelhood.estimators.targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.estimators.training import TaskKernels, fit_svm
from kernelhood.kernels import Custom, KernelBank
from kernelhood.operators import one_task
from kernelhood.penalties import LpBall, SharedSimplices, Simplex
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve, start_at
from kernelhood.solvers.problem import Problem, Solution


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
    tasks differ, and AVMTMKL where they have something in common. Where tasks have different
    classes, the first class of one stands for the first of every other; where they have the same,
    tasks that were not seen can be predicted, too.
    """

    _one_function = True

    def _read_points(self, X: Any, task: Any, *, reset: bool) -> tuple[Any, AnyArray | None]:
        return super()._read_points(X, task, reset=reset)[0], None

    def _read_training_data(self, X: Any, y: Any, task: Any) -> tuple[Any, list[TaskRows]]:
        shape = np.asarray(y).shape
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                "y must have one dimension: a pooled SVM has one function for all tasks, got "
                f"shape {shape}."
            )
        return super()._read_training_data(X, y, task)

    def _task_bank(self, bank: KernelBank, X: Any, sample_weight: Array) -> KernelBank:
        return KernelBank([Custom(_Average(bank))])

    def _bank_of(self, number: int) -> KernelBank:
        return KernelBank([Custom(_Average(self._bank))])

    def _kernel_names(self) -> list[str]:
        return ["average"]

    def _solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        return TaskSolution(fit_svm(kernels, problem, np.ones(1), **limits))

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

    #: The classes by task, where tasks have different ones.
    _classes_by_task: dict[Hashable, AnyArray] | None = None

    def _read_training_data(self, X: Any, y: Any, task: Any) -> tuple[Any, list[TaskRows]]:
        points, (everything,) = super()._read_training_data(X, y, task)
        labels = MultiTaskClassifier._read_points(self, X, task, reset=False)[1]
        self._classes_by_task = None
        if labels is None:
            return points, [everything]
        parts = split_by_label(labels, everything.y)
        classes = completed_classes([task_classes(part, many=False) for part in parts])
        if all(np.array_equal(one, classes[0]) for one in classes):
            return points, [everything]
        self._classes_by_task = {part.name: one for part, one in zip(parts, classes, strict=True)}
        codes = np.empty(len(everything.y), dtype=np.intp)
        for part, one in zip(parts, classes, strict=True):
            codes[part.rows] = class_codes(part.y, one)
        return points, [TaskRows(everything.name, everything.rows, codes)]

    def predict(self, X: Any, *, task: Any = None) -> AnyArray:
        """Return the predicted class of every row; see `fit`."""
        codes = super().predict(X, task=task)
        if self._classes_by_task is None:
            return codes
        labels = MultiTaskClassifier._read_points(self, X, task, reset=False)[1]
        if labels is None:
            raise ValueError("task is required, one label per row of X: classes differ by task.")
        remedy = "Their classes are not known, because the tasks of fit have different ones."
        known_tasks(labels, list(self._classes_by_task), f"{remedy} {self._split_advice}")
        pairs = zip(labels.tolist(), codes.tolist(), strict=True)
        return np.array([self._classes_by_task[label][code] for label, code in pairs])


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

    def _read_training_data(self, X: Any, y: Any, task: Any) -> tuple[Any, list[TaskRows]]:
        points, (everything,) = super()._read_training_data(X, y, task)
        labels = MultiTaskRegressor._read_points(self, X, task, reset=False)[1]
        self._parts = [everything] if labels is None else split_by_label(labels, everything.y)
        return points, [everything]

    def _pose(self, points: Any, tasks: list[TaskRows], sample_weight: Any) -> list[TaskProblem]:
        problems = super()._pose(points, tasks, sample_weight)
        # The score compares with the means of the tasks, as that of any other method does.
        self._centres = task_means(self._parts, sample_weight)
        del self._parts
        return problems
