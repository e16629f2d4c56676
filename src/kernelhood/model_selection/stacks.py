"""The kernels of a split: evaluated once for all models that use the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.estimators._sharing import FunctionSharing
from kernelhood.solvers.neighborhood import frobenius_gram
from kernelhood.tasks import TaskRows


@dataclass(frozen=True)
class SplitTask:
    """One task of one split.

    Attributes
    ----------
    train : TaskRows
        The task's training rows and targets.
    X_train, X_test : ndarray or CSR matrix
        Its points.
    y_test : ndarray
        Targets of the test points.
    sample_weight : ndarray of shape (n_train,)
        Weights of the training rows.
    """

    train: TaskRows
    X_train: Any
    X_test: Any
    y_test: AnyArray
    sample_weight: Array


class TaskStacks:
    """The kernel matrices of a split's tasks for one method; stands in for its bank."""

    def __init__(self, model: MultiTaskKernelModel, tasks: list[SplitTask]) -> None:
        bank = model._read_bank()
        self.train = {
            id(task.X_train): model._kernel_stack(bank, task.X_train, task.sample_weight)
            for task in tasks
        }
        banks = [model._task_bank(bank, task.X_train, task.sample_weight) for task in tasks]
        self.test = [own(task.X_test, task.X_train) for own, task in zip(banks, tasks, strict=True)]
        self.gram = [
            frobenius_gram(self.train[id(task.X_train)], task.sample_weight) for task in tasks
        ]

    def __call__(self, X: Any) -> Array:
        """Return the kernel matrices on the training points of a task."""
        return self.train[id(X)]

    def solve(self, model: MultiTaskKernelModel, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve the tasks, together where the method couples them."""
        if model._couples(vars(model)):
            return model._solve_tasks(self, problems)  # type: ignore[arg-type]
        return [
            model._solve_task(self(problem.X), problem, *gram)
            for problem, gram in zip(problems, self.gram, strict=True)
        ]

    def decide(self, number: int, problem: TaskProblem, found: TaskSolution) -> Array:
        """Return the functions of a task at its test points, one in each column."""
        solution, test = found.solution, self.test[number]
        coefficients = problem.by_pair(solution.v).T
        values = np.zeros((test.shape[1], 1)) + solution.intercepts
        for m in np.flatnonzero(solution.weights):
            values += solution.weights[m] * (test[m] @ coefficients)
        return values


class JointStacks:
    """The kernels between the samples of all tasks, where these share functions."""

    def __init__(
        self, model: FunctionSharing, tasks: list[SplitTask], problems: list[TaskProblem]
    ) -> None:
        self.kernels = model._join(model._read_bank(), problems)
        self.X_test = [task.X_test for task in tasks]
        n_sets = sum(X.shape[0] for X in self.X_test) / max(X.shape[0] for X in self.X_test)
        self.test = [self.kernels.cross(X, n_sets) for X in self.X_test]

    def solve(self, model: MultiTaskKernelModel, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve all tasks as one."""
        return model._solve_tasks(self.kernels, problems)  # type: ignore[arg-type]

    def decide(self, number: int, problem: TaskProblem, found: TaskSolution) -> Array:
        """Return the functions of a task at its test points, one in each column."""
        assert found.together is not None
        return self.kernels.values(number, self.X_test[number], self.test[number], found.together)


def make_stacks(
    model: MultiTaskKernelModel, tasks: list[SplitTask], problems: list[TaskProblem]
) -> TaskStacks | JointStacks:
    """Return the kernels that the model needs on a split."""
    if isinstance(model, FunctionSharing) and model.sharing == "functions":
        return JointStacks(model, tasks, problems)
    return TaskStacks(model, tasks)
