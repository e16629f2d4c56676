"""Methods that MT-ONMKL is compared with: ITL, MT-MKL, averaged kernels, and one pooled SVM."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators.base import MultiTaskModel
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.docs import estimator
from kernelhood.estimators.functions import Functions
from kernelhood.estimators.method import Method
from kernelhood.estimators.reading import (
    TrainingData,
    known_tasks,
    read_points,
    split_by_label,
)
from kernelhood.estimators.targets import (
    NumberTargets,
    Targets,
    class_codes,
    completed_classes,
    task_classes,
    task_means,
    two_class_tags,
)
from kernelhood.estimators.training import TaskKernels, fit_svm
from kernelhood.kernels import Custom, KernelBank
from kernelhood.operators import one_task
from kernelhood.penalties import LpBall, SharedSimplices, Simplex
from kernelhood.solvers.block import Block
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, Solution, start_at


@dataclass(frozen=True, kw_only=True, eq=False)
class ITL(Method):
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "p": [Interval(Real, 1, None, closed="both")]
    }

    p: float

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Learn the weights and the SVM of one task."""
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        ones, start = np.ones(len(kernels.Ks)), problem.carried
        if np.isinf(self.p) or len(ones) == 1:
            return TaskSolution(fit_svm(kernels, problem, ones, **limits))
        ball = Simplex(ones, 1.0) if self.p == 1.0 else LpBall(float(self.p), ones)
        task = Problem(kernels.blocks(problem), ball)
        return TaskSolution(solve(task, start=start, **limits))


@estimator
class ITLClassifier(ClassifierMixin, MultiTaskModel):
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

    _method = ITL
    score = MultiTaskModel.score  # the mixin's own knows no tasks
    __sklearn_tags__ = two_class_tags

    p: float = 1.0
    class_weight: Any = None


@estimator
class ITLRegressor(RegressorMixin, MultiTaskModel):
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

    _method = ITL
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    p: float = 1.0
    epsilon: float = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class MTMKL(Method):
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "sharing_budget": [Interval(Real, 0, 1, closed="both")]
    }

    sharing_budget: float

    @classmethod
    def couples(cls, params: Mapping[str, Any]) -> bool:
        """Return that the tasks are solved together."""
        return True

    def solve(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve all tasks as one."""
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


class _SharedModel(MultiTaskModel):
    """The part of MT-MKL's estimators that knows which weights are shared."""

    def _keep_more(
        self, method: Any, kernels: Any, problems: list[TaskProblem], solved: list[TaskSolution]
    ) -> None:
        assert solved[0].together is not None
        self.shared_weights_ = solved[0].together.weights[: self.weights_.shape[1]]
        self.specific_weights_ = self.weights_ - self.shared_weights_


@estimator
class MTMKLClassifier(ClassifierMixin, _SharedModel):
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

    _method = MTMKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks
    __sklearn_tags__ = two_class_tags

    sharing_budget: float = 0.5
    class_weight: Any = None


@estimator
class MTMKLRegressor(RegressorMixin, _SharedModel):
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

    _method = MTMKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    sharing_budget: float = 0.5
    epsilon: float = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class AVMTMKL(Method):
    r"""The step of AVMTMKL: nothing to learn but the SVM.

    Notes
    -----
    Every task has the kernel :math:`K_t = \frac1M \sum_m K_t^m` and its own SVM.
    """

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Learn the SVM of one task."""
        average = np.full(len(kernels.Ks), 1.0 / len(kernels.Ks))
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        return TaskSolution(fit_svm(kernels, problem, average, **limits))


@estimator
class AVMTMKLClassifier(ClassifierMixin, MultiTaskModel):
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

    _method = AVMTMKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks
    __sklearn_tags__ = two_class_tags

    class_weight: Any = None


@estimator
class AVMTMKLRegressor(RegressorMixin, MultiTaskModel):
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

    _method = AVMTMKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    epsilon: float = 0.1


@dataclass(frozen=True)
class _Average:
    """The average of a bank's kernels as one function."""

    bank: KernelBank

    __name__ = "average"

    def __call__(self, X: Any, Z: Any) -> Array:
        return self.bank.combine(X, Z, np.full(len(self.bank), 1.0 / len(self.bank)))


def _averaged(bank: KernelBank) -> KernelBank:
    """Return the average of the kernels as one kernel."""
    return KernelBank([Custom(_Average(bank))])


@dataclass(frozen=True)
class PooledFunctions(Functions):
    """The one function of all tasks, of the average of the kernels."""

    @property
    def used_kernels(self) -> None:
        """The average is of all kernels."""

    def bank_of(self, number: int) -> KernelBank:
        """Return the average of the kernels."""
        return _averaged(self.bank)


@dataclass(frozen=True, kw_only=True, eq=False)
class Pooled(Method):
    """One SVM for the samples of all tasks.

    Notes
    -----
    The kernel is the average of the base kernels, as in AVMTMKL, but one SVM with one intercept is
    fitted to the samples of all tasks. Whatever lets tasks share functions has to beat it if the
    tasks differ, and AVMTMKL if they have something in common. If tasks have different
    classes, the first class of one stands for the first of every other; if they have the same,
    tasks that were not seen can be predicted, too.
    """

    one_function: ClassVar[bool] = True

    def task_bank(self, bank: KernelBank, X: Any, sample_weight: Array) -> KernelBank:
        """Return the average of the kernels."""
        return _averaged(bank)

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Learn the SVM of all tasks."""
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        return TaskSolution(fit_svm(kernels, problem, np.ones(1), **limits))

    def functions(self, bank: KernelBank, kernels: Any, problems: Any, solved: Any) -> Functions:
        """Return what predictions need."""
        return PooledFunctions.of(bank, problems, solved)


@estimator
class PooledClassifier(ClassifierMixin, MultiTaskModel):
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

    _method = Pooled
    score = MultiTaskModel.score  # the mixin's own knows no tasks
    __sklearn_tags__ = two_class_tags

    class_weight: Any = None

    #: The classes by task, if tasks have different ones.
    _classes_by_task: dict[Hashable, AnyArray] | None = None

    def _read(
        self, method: Method, X: Any, y: Any, task: Any, unlabelled: Any = None
    ) -> TrainingData:
        data = super()._read(method, X, y, task, unlabelled)
        self._classes_by_task = None
        if data.labels is None:
            return data
        (everything,) = data.tasks
        parts = split_by_label(data.labels, everything.y)
        classes = completed_classes([task_classes(part, many=False) for part in parts])
        if all(np.array_equal(one, classes[0]) for one in classes):
            return data
        self._classes_by_task = {part.name: one for part, one in zip(parts, classes, strict=True)}
        codes = np.empty(len(everything.y), dtype=np.intp)
        for part, one in zip(parts, classes, strict=True):
            codes[part.rows] = class_codes(part.y, one)
        return replace(data, tasks=[everything._replace(y=codes)])

    def predict(self, X: Any, *, task: Any = None) -> AnyArray:
        """Return the predicted class of every row; see `fit`."""
        codes = super().predict(X, task=task)
        if self._classes_by_task is None:
            return codes
        labels = read_points(self, X, task, reset=False)[1]
        if labels is None:
            raise ValueError("task is required, one label per row of X: classes differ by task.")
        remedy = "Their classes are not known, because the tasks of fit have different ones."
        known_tasks(labels, list(self._classes_by_task), remedy)
        pairs = zip(labels.tolist(), codes.tolist(), strict=True)
        return np.array([self._classes_by_task[label][code] for label, code in pairs])


@estimator
class PooledRegressor(RegressorMixin, MultiTaskModel):
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

    _method = Pooled
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    epsilon: float = 0.1

    def _posed(
        self, method: Method, data: TrainingData, sample_weight: Any, starts: Any
    ) -> tuple[Targets, list[TaskProblem]]:
        targets, problems = super()._posed(method, data, sample_weight, starts)
        if data.labels is None or not isinstance(targets, NumberTargets):
            return targets, problems
        # The score compares with the means of the tasks, as that of any other method does.
        parts = split_by_label(data.labels, data.tasks[0].y)
        weight = _check_sample_weight(sample_weight, data.points, dtype=np.float64)
        means = task_means(parts, [weight[part.rows] for part in parts])
        return replace(targets, means=means), problems
