"""The kernels of a split: evaluated once for all models that use the same ones."""

from __future__ import annotations

from typing import Any

from kernelhood._typing import Array
from kernelhood.model_selection.split_tasks import SplitTask
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.problem import TaskProblem, TaskSolution


class SplitKernels:
    """The kernels of a split's tasks for one method, at training and at test points.

    Parameters
    ----------
    model : estimator
        The method, with the parameters that shape its kernels.
    tasks : list of SplitTask
        The tasks.
    problems : list of TaskProblem
        The same as the method sees them.
    """

    def __init__(
        self, model: MultiTaskKernelModel, tasks: list[SplitTask], problems: list[TaskProblem]
    ) -> None:
        self.parts = model._kernel_parts(vars(model))
        self.bank = model._fitted_bank(tasks[0].inputs)
        self.train = model._evaluate(self.bank, problems)
        # Kernels want some point to be evaluated at, also where there is nothing to test.
        self.X_test = [task.X_test if task.tested else task.X_train[:1] for task in tasks]
        self.test = model._cross(self.train, self.X_test)

    def serve(self, model: MultiTaskKernelModel) -> bool:
        """Return whether the model has the same kernels."""
        parts = model._kernel_parts(vars(model))
        return all(map(_same, parts, self.parts))

    def values(
        self,
        model: MultiTaskKernelModel,
        number: int,
        problem: TaskProblem,
        found: TaskSolution,
    ) -> Array:
        """Return the functions of a task at its test points, one in each column."""
        at_test = self.X_test[number], self.test[number]
        return model._values_at(self.train, number, *at_test, problem, found)


def _same(one: Any, other: Any) -> bool:
    """Return whether two parameters are one; kernels are told apart by being another object."""
    return one is other or (isinstance(one, (int, str)) and bool(one == other))
