"""All tasks as one: a plain SVM on the averaged kernel, the baseline of any sharing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Tags

from kernelhood._typing import AnyArray, Array
from kernelhood.kernels import Custom, KernelBank
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.classes import class_codes, completed_classes, task_classes
from kernelhood.pipeline.docs import documented
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.pipeline.scores import task_means
from kernelhood.pipeline.targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.pipeline.task_kernels import TaskKernels, fit_svm
from kernelhood.tasks import TaskRows, known_tasks, split_by_label


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
