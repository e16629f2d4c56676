"""All models of a grid on one split: kernels once, each model from the one before it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.estimators._sharing import FunctionSharing
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.solvers.mkl_loop import Solution
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

    def solve(self, model: MultiTaskKernelModel, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve the tasks, together where the method couples them."""
        if model._couples(model.get_params(deep=False)):
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


class _JointStacks:
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
    number = 0
    while number < len(models):
        begun = time.perf_counter()
        solved = walk.solve(models[number])
        same = slice(number, number + 1 + walk.certified_ahead(models[number + 1 :]))
        scores[same] = walk.scores()
        gaps[same] = max(one.gap for one in solved)
        count = len(range(*same.indices(len(models))))
        weights += [np.mean([one.weights for one in solved], axis=0)] * count
        seconds[same] = (time.perf_counter() - begun) / count
        number += count
    even = len({len(row) for row in weights}) == 1
    return PathResult(scores, np.array(weights) if even else None, gaps, seconds)


class _Walk:
    """One model after the other on the same tasks, keeping what the next one can use."""

    def __init__(
        self, model: MultiTaskKernelModel, tasks: list[SplitTask], scorer: TaskScorer
    ) -> None:
        self.model, self.tasks, self.scorer = model, tasks, scorer
        self.model._y_is_wide = False
        self.kernels: list[Any] = []
        self.loss: Any = None
        self.stacks: _Stacks | _JointStacks | None = None
        self.solved: list[TaskSolution | None] = [None] * len(tasks)
        self.last_scores: list[float] = []

    def solve(self, params: dict[str, Any]) -> list[Solution]:
        """Solve one model, from the one before it where kernels and loss are the same."""
        model = self.model
        for name, value in params.items():
            setattr(model, name, value)
        kernels = [getattr(model, name) for name in model._stack_parameters]
        if not self.kernels or any(a is not b for a, b in zip(kernels, self.kernels, strict=True)):
            self.kernels, self.loss, self.stacks = kernels, None, None
        loss = (model.C, getattr(model, "class_weight", None), getattr(model, "epsilon", None))
        if loss != self.loss:
            self.loss, self.solved = loss, [None] * len(self.tasks)
            self.problems = _pose(model, self.tasks)
        if self.stacks is None:
            self.stacks = _stacks(model, self.tasks, self.problems)
        warm = [
            _warm(problem, before)
            for problem, before in zip(self.problems, self.solved, strict=True)
        ]
        found = self.stacks.solve(model, warm)
        self.changed = any(map(_changed, self.solved, found))
        self.solved = list(found)
        return [one.solution for one in found]

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
        """Return how many of the next models the present solution solves too."""
        one = self.solved[0]
        if len(self.tasks) > 1 or one is None or not isinstance(self.stacks, _Stacks):
            return 0
        return self.model._certified_ahead(one.solution, *self.stacks.gram[0], models)


def _stacks(
    model: MultiTaskKernelModel, tasks: list[SplitTask], problems: list[TaskProblem]
) -> _Stacks | _JointStacks:
    if isinstance(model, FunctionSharing) and model.sharing == "functions":
        return _JointStacks(model, tasks, problems)
    return _Stacks(model, tasks)


def _warm(problem: TaskProblem, before: TaskSolution | None) -> TaskProblem:
    """Return the problem with a start, for a search that wants nothing but the predictor."""
    if before is None:
        return replace(problem, only_scored=True)
    return replace(problem, start=before.solution, together=before.together, only_scored=True)


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
