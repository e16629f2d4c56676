"""What a search asks of a method: which models are the same, and in which order to solve them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelhood._typing import Array
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.pipeline.task_kernels import TaskKernels, decision_values
from kernelhood.solvers.solution import Solution
from kernelhood.solvers.warm_start import moved_start

#: Parameters that change how a model is computed or read, not the model.
TECHNICAL = frozenset(
    {
        "max_iter",
        "task_column",
        "n_jobs",
        "verbose",
        "unseen_task",
        "cache_size",
        "storage",
        "calibration",
        "probability",
    }
)


class SearchInterface(ABC):
    """The part of an estimator that lets a search solve many models along a path."""

    #: Parameters that shape the kernels.
    _kernel_parameters: tuple[str, ...] = ("kernels",)
    _path_parameters: tuple[str, ...] = ()

    @abstractmethod
    def _loss_key(self) -> Hashable:
        """Return what is equal for models with the same losses: a search keeps one set of them."""

    @classmethod
    def _kernel_parts(cls, params: Mapping[str, Any]) -> list[Any]:
        """Return what shapes the kernels of a model: the same for models that can share them."""
        return [params[name] for name in cls._kernel_parameters]

    @classmethod
    def _couples(cls, params: Mapping[str, Any]) -> bool:
        """Return whether the tasks have to be solved together with these parameters."""
        return False

    @classmethod
    def _solves_together(cls, params: Mapping[str, Any]) -> bool:
        """Return whether a search has to hand over all tasks at once: where they are coupled."""
        return cls._couples(params)

    @classmethod
    def _has_many_solutions(cls, params: Mapping[str, Any]) -> bool:
        """Return whether the solution depends on where it starts."""
        return False

    @classmethod
    def _joins_samples(cls, params: Mapping[str, Any]) -> bool:
        """Return whether all tasks have one SVM in common."""
        return False

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters that give the same predictor and are equal for equal models.

        They are without the technical ones. A number may be a column of numbers: then so is
        what follows from it.
        """
        return dict(params)

    @classmethod
    def _in_domain(cls, params: Mapping[str, Any]) -> Any:
        """Return whether the method is defined for parameters, or where for columns of them."""
        return True

    @classmethod
    def _why_outside(cls, params: Mapping[str, Any]) -> str:
        """Return why the method is not defined for parameters."""
        raise NotImplementedError

    @classmethod
    def _why_too_large(cls, params: Mapping[str, Any], n_samples: int, n_points: int) -> str:
        """Return why a fit to so many samples at so many points is refused, "" if it is not."""
        return ""

    @classmethod
    def _path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return where canonical parameters stand on a path, each model warm-starting the next.

        By default from strong regularisation to weak.
        """
        return (params["C"],)

    def _certified_ahead(
        self,
        found: Solution,
        models: Sequence[Mapping[str, Any]],
        kernels: TaskKernels,
        problem: TaskProblem,
    ) -> int:
        """Return how many of the next models on a path this solution solves as well.

        They differ in `_path_parameters` only; kernels and problem are those that `_solve_task`
        found the solution with.
        """
        return 0

    def _restarted(
        self, kernels: Any, problems: list[TaskProblem], solved: Sequence[TaskSolution]
    ) -> list[TaskProblem]:
        """Return the tasks with the solution of the same model with another loss to start from."""
        return [
            replace(problem, start=moved_start(own.blocks(problem), one.solution))
            for own, problem, one in zip(kernels, problems, solved, strict=True)
        ]

    def _cross(self, kernels: Any, X: Sequence[Any]) -> list[Any]:
        """Return the kernels between other points of every task and its training points."""
        return [own.cross(points) for own, points in zip(kernels, X, strict=True)]

    def _values_at(
        self,
        kernels: Any,
        number: int,
        X: Any,
        cross: Any,
        problem: TaskProblem,
        found: TaskSolution,
    ) -> Array:
        """Return the functions of a task at other points, whose kernels `_cross` has evaluated."""
        return decision_values(cross, problem, found.solution)
