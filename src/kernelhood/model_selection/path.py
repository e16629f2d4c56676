"""All models of a grid on one split: kernels once, each model from the one before it."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from kernelhood._typing import Array
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.model_selection.columns import hashable, varied
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.model_selection.stacks import JointStacks, SplitTask, TaskStacks, make_stacks
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.warm_start import carried_start


@dataclass(frozen=True)
class PathResult:
    """What the models of a path score.

    Attributes
    ----------
    scores : ndarray of shape (n_models, n_tasks)
        Test scores.
    weights : ndarray of shape (n_models, n_kernels), or None where banks differ in size
        Kernel weights, averaged over the tasks.
    gaps : ndarray of shape (n_models,)
        Largest relative duality gap.
    seconds : ndarray of shape (n_models,)
        Time to solve and score.
    """

    scores: Array
    weights: Array | None
    gaps: Array
    seconds: Array


@dataclass(frozen=True)
class Path:
    """The distinct models of a grid in the order they are solved in.

    Attributes
    ----------
    models : list of dict
        Parameters of the models.
    run_ends : list of int
        For every model where the run of models that start from each other ends.
    kinds : list
        Keys that are equal for models that differ in C only.
    """

    models: list[dict[str, Any]]
    run_ends: list[int]
    kinds: list[Hashable]

    @classmethod
    def of(cls, estimator: MultiTaskKernelModel, models: list[dict[str, Any]]) -> Path:
        """Return the path through models that are in its order already."""
        names = varied(models)
        runs = _keys(models, [name for name in names if name not in estimator._path_parameters])
        return cls(models, _run_ends(runs), _keys(models, [name for name in names if name != "C"]))


def path_scores(
    estimator: MultiTaskKernelModel,
    path: Path,
    tasks: list[SplitTask],
    scorer: TaskScorer,
) -> PathResult:
    """Solve and score all models on one split.

    Parameters
    ----------
    estimator : estimator
        Gives the method and the parameters that the models leave open.
    path : Path
        The distinct models.
    tasks : list of SplitTask
        One task, or all tasks of the split where the method couples them.
    scorer : TaskScorer
        Scores the decision values of one task.
    """
    walk, models = _Walk(clone(estimator), tasks, scorer), path.models
    scores, gaps = np.empty((len(models), len(tasks))), np.empty(len(models))
    seconds, weights = np.empty(len(models)), []
    ends, kinds, number = path.run_ends, path.kinds, 0
    others: dict[Hashable, Solved] = {}
    while number < len(models):
        begun = time.perf_counter()
        if number > 0 and ends[number] != ends[number - 1]:
            walk.forget()
        found = walk.solve(models[number], others.get(kinds[number]))
        solved = found.solutions
        ahead = walk.certified_ahead(models[number + 1 : ends[number]])
        same = slice(number, number + 1 + ahead)
        scores[same] = walk.scores()
        gaps[same] = max(one.gap for one in solved)
        count = 1 + ahead
        weights += [np.mean([one.weights for one in solved], axis=0)] * count
        seconds[same] = (time.perf_counter() - begun) / count
        others.update(dict.fromkeys(kinds[same], found))
        number += count
    even = len({len(row) for row in weights}) == 1
    return PathResult(scores, np.array(weights) if even else None, gaps, seconds)


class Solved(NamedTuple):
    """The tasks with one model's loss, and the model's solutions."""

    kernels: list[Any]
    problems: list[TaskProblem]
    found: list[TaskSolution]

    @property
    def solutions(self) -> list[Solution]:
        """Every task's solution, or its part of the joint one."""
        return [one.solution for one in self.found]


def _keys(models: list[dict[str, Any]], names: list[str]) -> list[Hashable]:
    """Return keys that are equal for models that agree in the named parameters."""
    return [tuple([hashable(params[name]) for name in names]) for params in models]


def _run_ends(runs: list[Hashable]) -> list[int]:
    """Return for every place where the run of equal keys around it ends."""
    ends = list(range(1, len(runs) + 1))
    for place in reversed(range(len(runs) - 1)):
        if runs[place] == runs[place + 1]:
            ends[place] = ends[place + 1]
    return ends


class _Walk:
    """One model after the other on the same tasks, keeping what the next one can use."""

    def __init__(
        self, model: MultiTaskKernelModel, tasks: list[SplitTask], scorer: TaskScorer
    ) -> None:
        self.model, self.tasks, self.scorer = model, tasks, scorer
        self.model._y_is_wide = False
        self.kernels: list[Any] = []
        self.loss: Any = None
        self.stacks: TaskStacks | JointStacks | None = None
        self.problems: list[TaskProblem] = []
        self.solved: list[TaskSolution | None] = [None] * len(tasks)
        self.last_scores: list[float] = []

    def solve(self, params: dict[str, Any], related: Solved | None) -> Solved:
        """Solve one model, from the one before it and the same one with another C."""
        model = self.model
        for name, value in params.items():
            setattr(model, name, value)
        kernels = [getattr(model, name) for name in model._stack_parameters]
        if not self.kernels or any(a is not b for a, b in zip(kernels, self.kernels, strict=True)):
            self.kernels, self.loss, self.stacks = kernels, None, None
        loss = (model.C, getattr(model, "class_weight", None), getattr(model, "epsilon", None))
        if loss != self.loss:
            self.loss, self.problems = loss, _pose(model, self.tasks)
        if self.stacks is None:
            self.stacks = make_stacks(model, self.tasks, self.problems)
        found = self.stacks.solve(model, self._warm(related))
        self.changed = any(map(_changed, self.solved, found))
        self.solved = list(found)
        return Solved(self.kernels, self.problems, found)

    def forget(self) -> None:
        """Leave the run of models that start from each other."""
        self.solved = [None] * len(self.tasks)

    def _warm(self, related: Solved | None) -> list[TaskProblem]:
        """Return the problems with all there is to start them from."""
        carries: list[Any] = [None] * len(self.tasks)
        if related is not None and related.kernels is self.kernels:
            carries = [
                self._carry(new, old, one)
                for new, old, one in zip(
                    self.problems, related.problems, related.found, strict=True
                )
            ]
        return [
            replace(
                problem,
                start=None if before is None else before.solution,
                together=None if before is None else before.together,
                carry=carry,
                only_scored=True,
            )
            for problem, before, carry in zip(self.problems, self.solved, carries, strict=True)
        ]

    def _carry(self, new: TaskProblem, old: TaskProblem, one: TaskSolution) -> Any:
        """Return a function that brings a solution into another box, for one SVM of one task."""
        if not isinstance(self.stacks, TaskStacks) or new.n_pairs > 1:
            return None
        return partial(carried_start, self.stacks(new.X), new.terms, one.solution, old.terms)

    def scores(self) -> list[float]:
        """Return the test score of every task; a solution that did not change keeps its own."""
        if self.changed or not self.last_scores:
            self.last_scores = [
                self._score(number, one) for number, one in enumerate(self.solved) if one
            ]
        return self.last_scores

    def _score(self, number: int, found: TaskSolution) -> float:
        assert self.stacks is not None
        task, problem = self.tasks[number], self.problems[number]
        values = self.model._decide(self.stacks.decide(number, problem, found), number)
        return self.scorer(self.model, number, values, task.X_test, task.y_test)

    def certified_ahead(self, models: list[dict[str, Any]]) -> int:
        """Return how many of the next models of a run the present solution solves too."""
        one, stacks = self.solved[0], self.stacks
        if len(self.tasks) > 1 or one is None or not models or not isinstance(stacks, TaskStacks):
            return 0
        problem = self.problems[0]
        return self.model._certified_ahead(
            one.solution, models, stacks(problem.X), problem, *stacks.gram[0]
        )


def _changed(before: TaskSolution | None, after: TaskSolution) -> bool:
    if before is None:
        return True
    if after.together is not None and before.together is not None:
        return after.together.v is not before.together.v
    return after.solution.v is not before.solution.v


def _pose(model: MultiTaskKernelModel, tasks: list[SplitTask]) -> list[TaskProblem]:
    encoded = model._encode([task.train for task in tasks], [task.sample_weight for task in tasks])
    return [
        TaskProblem(task.train.name, task.train.rows, task.X_train, *loss, task.sample_weight)
        for task, loss in zip(tasks, encoded, strict=True)
    ]
