"""All models of a grid on one split: kernels once, each model from the one before it."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.estimators._problem import TaskProblem
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.solvers.mkl_loop import Solution
from kernelhood.solvers.neighborhood import frobenius_gram
from kernelhood.solvers.warm_start import carried_start
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


class _Stacks:
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
        return self.train[id(X)]

    def decide(self, number: int, solution: Solution) -> Array:
        """Return the values of a solution at the test points of a task."""
        values = np.full(self.test[number].shape[1], solution.intercept)
        for m in np.flatnonzero(solution.weights):
            values += solution.weights[m] * (self.test[number][m] @ solution.v)
        return values


def path_scores(
    estimator: MultiTaskKernelModel,
    models: list[dict[str, Any]],
    tasks: list[SplitTask],
    scorer: TaskScorer,
) -> PathResult:
    """Solve and score all models on one split.

    Parameters
    ----------
    estimator : estimator
        Gives the method and the parameters that the models leave open.
    models : list of dict
        Parameters of the distinct models, in the order of the path.
    tasks : list of SplitTask
        One task, or all tasks of the split where the method couples them.
    scorer : TaskScorer
        Scores the decision values of one task.
    """
    walk = _Walk(clone(estimator), tasks, scorer)
    scores, gaps = np.empty((len(models), len(tasks))), np.empty(len(models))
    seconds, weights = np.empty(len(models)), []
    runs, kinds = _keys(models, estimator._path_parameters), _keys(models, ("C",))
    ends, number = _run_ends(runs), 0
    others: dict[Hashable, Solved] = {}
    while number < len(models):
        begun = time.perf_counter()
        if number > 0 and runs[number] != runs[number - 1]:
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
    solutions: list[Solution]


def _keys(models: list[dict[str, Any]], names: tuple[str, ...]) -> list[Hashable]:
    """Return keys that are equal for models that differ in the named parameters only."""
    others = [
        name
        for name, value in models[0].items()
        if name not in names and not all(params[name] is value for params in models)
    ]
    return [tuple(_hashable(params[name]) for name in others) for params in models]


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else id(value)


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
        self.problems: list[TaskProblem] = []
        self.solved: list[Solution | None] = [None] * len(tasks)
        self.last_scores: list[float] = []

    def solve(self, params: dict[str, Any], related: Solved | None) -> Solved:
        """Solve one model, from the one before it and the same one with another C."""
        model = self.model
        for name, value in params.items():
            setattr(model, name, value)
        kernels = [getattr(model, name) for name in model._stack_parameters]
        if not self.kernels or any(a is not b for a, b in zip(kernels, self.kernels, strict=True)):
            self.kernels, self.loss = kernels, None
            self.stacks = _Stacks(model, self.tasks)
        loss = (model.C, getattr(model, "class_weight", None), getattr(model, "epsilon", None))
        if loss != self.loss:
            self.loss, self.problems = loss, _pose(model, self.tasks)
        found = _solve(model, self.stacks, self._warm(related))
        self.changed = [
            before is None or after.v is not before.v
            for before, after in zip(self.solved, found, strict=True)
        ]
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
                partial(carried_start, self.stacks(new.X), new.terms, solution, old.terms)
                for new, solution, old in zip(
                    self.problems, related.solutions, related.problems, strict=True
                )
            ]
        return [
            replace(problem, start=start, carry=carry, only_scored=True)
            for problem, start, carry in zip(self.problems, self.solved, carries, strict=True)
        ]

    def scores(self) -> list[float]:
        """Return the test score of every task; a solution that did not change keeps its own."""
        if any(self.changed) or not self.last_scores:
            self.last_scores = [
                self.scorer(
                    self.model, place, self.stacks.decide(place, one), task.X_test, task.y_test
                )
                for place, (one, task) in enumerate(zip(self.solved, self.tasks, strict=True))
                if one is not None
            ]
        return self.last_scores

    def certified_ahead(self, models: list[dict[str, Any]]) -> int:
        """Return how many of the next models of a run the present solution solves too."""
        if len(self.tasks) > 1 or self.solved[0] is None or not models:
            return 0
        problem = self.problems[0]
        return self.model._certified_ahead(
            self.solved[0], models, self.stacks(problem.X), problem, *self.stacks.gram[0]
        )


def _pose(model: MultiTaskKernelModel, tasks: list[SplitTask]) -> list[TaskProblem]:
    terms = model._encode([task.train for task in tasks], [task.sample_weight for task in tasks])
    return [
        TaskProblem(task.train.name, task.train.rows, task.X_train, term, task.sample_weight)
        for task, term in zip(tasks, terms, strict=True)
    ]


def _solve(
    model: MultiTaskKernelModel, stacks: _Stacks, problems: list[TaskProblem]
) -> list[Solution]:
    if model._coupled:
        return [one.solution for one in model._solve_tasks(stacks, problems)]  # type: ignore[arg-type]
    return [
        model._solve_task(stacks(problem.X), problem, *gram).solution
        for problem, gram in zip(problems, stacks.gram, strict=True)
    ]
