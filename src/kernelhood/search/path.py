"""All models of a grid on all splits: together if they couple tasks, else task by task.

The kernels of a split are evaluated once for all models that use the same ones. Models that do not
couple tasks may be given up on the way, once they are clearly worse than the best over the tasks
so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.estimators.base import MultiTaskModel, method_of, method_type
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.method import Method
from kernelhood.estimators.targets import Targets, targets_type
from kernelhood.parallel import few_blas_threads, map_in_processes
from kernelhood.search.chain import SplitTask
from kernelhood.search.grid import hashable, varied
from kernelhood.search.scoring import TaskScorer
from kernelhood.solvers.problem import Solution, carried_start


class SplitKernels:
    """The kernels of a split's tasks for one method, at training and at test points.

    Parameters
    ----------
    method : Method
        Has the parameters that shape its kernels.
    tasks : list of SplitTask
        The tasks.
    problems : list of TaskProblem
        The same as the method sees them.
    """

    def __init__(self, method: Method, tasks: list[SplitTask], problems: list[TaskProblem]) -> None:
        self.key = method.kernel_key(vars(method))
        bank = method.fitted_bank(tasks[0].inputs)
        self.train = method.training_kernels(bank, problems)
        # Kernels want some point to be evaluated at, also if there is nothing to test.
        self.X_test = [task.X_test if task.tested else task.X_train[:1] for task in tasks]
        self.test = self.train.cross(self.X_test)

    def serve(self, method: Method) -> bool:
        """Return whether the method has the same kernels."""
        key = method.kernel_key(vars(method))
        return len(key) == len(self.key) and all(map(_same, key, self.key))

    def values(
        self, method: Method, number: int, problem: TaskProblem, found: TaskSolution
    ) -> Array:
        """Return the functions of a task at its test points, one in each column."""
        at_test = self.X_test[number], self.test[number]
        return method.values_at(self.train, number, *at_test, problem, found)


def _same(one: Any, other: Any) -> bool:
    """Return whether two parameters are one; kernels are told apart by being another object."""
    return one is other or (isinstance(one, (int, str)) and bool(one == other))


@dataclass(frozen=True)
class PathResult:
    """What the models of a path score.

    Attributes
    ----------
    scores : ndarray of shape (n_models, n_tasks)
        Test scores; NaN for tasks without test rows.
    weights : ndarray of shape (n_models, n_kernels), or None if banks differ in size
        Kernel weights, averaged over the tasks.
    gaps : ndarray of shape (n_models,)
        Largest relative duality gap.
    seconds : ndarray of shape (n_models,)
        Time to solve and score.
    starts : list of (list of ndarray, or None)
        The weights that every task's problem was solved with, for models whose solution depends on
        where it starts.
    """

    scores: Array
    weights: Array | None
    gaps: Array
    seconds: Array
    starts: list[list[Array] | None]


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
    def of(cls, estimator: MultiTaskModel, models: list[dict[str, Any]]) -> Path:
        """Return the path through models that are in its order already."""
        names = varied(models)
        along = method_type(estimator, models[0]).path_parameters
        runs = _keys(models, [name for name in names if name not in along])
        return cls(models, _run_ends(runs), _keys(models, [name for name in names if name != "C"]))


def path_scores(
    estimator: MultiTaskModel,
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
        One task, or all tasks of the split if the method couples them.
    scorer : TaskScorer
        Scores the decision values of one task.
    """
    with few_blas_threads(max(len(task.train.rows) for task in tasks)):
        return _walked(_Walk(estimator, tasks, scorer), path, len(tasks))


def _walked(walk: _Walk, path: Path, n_tasks: int) -> PathResult:
    """Solve and score one model after the other."""
    models = path.models
    scores, gaps = np.empty((len(models), n_tasks)), np.empty(len(models))
    seconds, weights = np.empty(len(models)), []
    starts: list[list[Array] | None] = []
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
        starts += [walk.starts()] * count
        seconds[same] = (time.perf_counter() - begun) / count
        others.update(dict.fromkeys(kinds[same], found))
        number += count
    even = len({len(row) for row in weights}) == 1
    return PathResult(scores, np.array(weights) if even else None, gaps, seconds, starts)


class Solved(NamedTuple):
    """The tasks with one model's loss, and the model's solutions."""

    kernels: SplitKernels
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

    method: Method
    targets: Targets

    def __init__(
        self, estimator: MultiTaskModel, tasks: list[SplitTask], scorer: TaskScorer
    ) -> None:
        self.estimator, self.tasks, self.scorer = estimator, tasks, scorer
        self.kernels: SplitKernels | None = None
        self.loss: Any = None
        self.problems: list[TaskProblem] = []
        self.solved: list[TaskSolution | None] = [None] * len(tasks)
        self.last_scores: list[float] = []

    def solve(self, params: dict[str, Any], related: Solved | None) -> Solved:
        """Solve one model, from the one before it and the same one with another C."""
        method = self.method = method_of(self.estimator, params)
        if self.kernels is not None and not self.kernels.serve(method):
            self.kernels, self.loss = None, None
        every = {**self.estimator.get_params(deep=False), **params}
        loss = targets_type(type(self.estimator)).key(every)
        if loss != self.loss:
            self.loss = loss
            self.targets, self.problems = self._posed(every)
        if self.kernels is None:
            self.kernels = SplitKernels(method, self.tasks, self.problems)
        found = self._solve(self._warm(related))
        self.changed = any(map(_changed, self.solved, found))
        self.solved = list(found)
        return Solved(self.kernels, self.problems, found)

    def _posed(self, params: dict[str, Any]) -> tuple[Targets, list[TaskProblem]]:
        """Return what the targets of the training rows mean, and the problems of all tasks."""
        tasks, weights = (
            [one.train for one in self.tasks],
            [one.sample_weight for one in self.tasks],
        )
        targets = targets_type(type(self.estimator)).of(
            params,
            tasks,
            weights,
            common=self.method.joins_samples(vars(self.method)) and not self.tasks[0].wide,
            many=self.method.many_classes,
            expected=[task.classes for task in self.tasks],
        )
        problems = [
            TaskProblem(
                one.name, one.rows, task.X_train, targets.pairs(one, weight, number), weight
            )
            for number, (one, task, weight) in enumerate(
                zip(tasks, self.tasks, weights, strict=True)
            )
        ]
        return targets, problems

    def _solve(self, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve a model; again without a warm start if that led to a missed gap."""
        assert self.kernels is not None
        found = self.method.solve(self.kernels.train, problems)
        started = any(one.start is not None or one.carry is not None for one in problems)
        if started and max(one.solution.gap for one in found) > self.method.tol:
            cold = [replace(one, start=None, together=None, carry=None) for one in problems]
            again = self.method.solve(self.kernels.train, cold)
            found = min(found, again, key=lambda some: max(one.solution.gap for one in some))
        return found

    def forget(self) -> None:
        """Leave the run of models that start from each other."""
        self.solved = [None] * len(self.tasks)

    def _warm(self, related: Solved | None) -> list[TaskProblem]:
        """Return the problems with all there is to start them from."""
        carries: list[Any] = [None] * len(self.tasks)
        if related is not None and related.kernels is self.kernels:
            carries = [
                self._carry(number, old, one)
                for number, (old, one) in enumerate(
                    zip(related.problems, related.found, strict=True)
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

    def _carry(self, number: int, old: TaskProblem, one: TaskSolution) -> Any:
        """Return a function that brings a solution into another box, for one SVM of one task."""
        new = self.problems[number]
        if len(new.pairs) > 1 or self.method.joins_samples(vars(self.method)):
            return None
        assert self.kernels is not None
        operator = self.kernels.train[number].operator(new.pairs[0])
        return partial(carried_start, operator, new.loss, one.solution, old.loss)

    def starts(self) -> list[Array] | None:
        """Return the weights of every task's problem, if it matters where these start."""
        if not self.method.has_many_solutions(vars(self.method)):
            return None
        found = [one for one in self.solved if one is not None]
        return [(one.together or one.solution).weights for one in found]

    def scores(self) -> list[float]:
        """Return the test score of every task; a solution that did not change keeps its own."""
        if self.changed or not self.last_scores:
            self.last_scores = [
                self._score(number, one) for number, one in enumerate(self.solved) if one
            ]
        return self.last_scores

    def _score(self, number: int, found: TaskSolution) -> float:
        assert self.kernels is not None
        task, problem = self.tasks[number], self.problems[number]
        if not task.tested:
            return np.nan
        functions = self.kernels.values(self.method, number, problem, found)
        values = self.targets.decided(functions, number)
        if task.restore is not None:
            values = task.restore(values)
        return self.scorer(self.targets, number, values, task.X_test, task.y_test)

    def certified_ahead(self, models: list[dict[str, Any]]) -> int:
        """Return how many of the next models of a run the present solution solves too."""
        one, alone = self.solved[0], not self.method.solves_together(vars(self.method))
        if len(self.tasks) > 1 or one is None or not models or not alone:
            return 0
        assert self.kernels is not None
        (kernels,), (problem,) = self.kernels.train, self.problems
        return self.method.certified_ahead(one.solution, models, kernels, problem)


def _changed(before: TaskSolution | None, after: TaskSolution) -> bool:
    if before is None:
        return True
    if after.together is not None and before.together is not None:
        return after.together.v is not before.together.v
    return after.solution.v is not before.solution.v


#: Weights to start every task's problem from, None if nothing is known.
Starts = list[Array | None] | None


#: Says of some scores of models which of these are worth going on with.
Contenders = Callable[[Array], Flags]


#: Parameters that change how strong something is, and never what there is.
_STRENGTHS = ("C", "eta", "beta")


#: So many tasks are scored before a model is given up; then twice as many, and so on.
_FIRST_TASKS = 5


@dataclass(frozen=True)
class GridScores:
    """What the models of a grid score.

    Attributes
    ----------
    scores : ndarray of shape (n_models, n_splits, n_tasks)
        Test scores; NaN if a split does not test a task.
    weights : ndarray of shape (n_models, n_kernels), or None if banks differ in size
        Kernel weights, averaged over splits and tasks.
    gaps : ndarray of shape (n_models,)
        Largest relative duality gap.
    seconds : ndarray of shape (n_models,)
        Time to solve and score all tasks of a split, averaged over splits.
    starts : KnownStarts
        Weights of every task's problem, for models whose solution depends on where it starts.
    given_up : ndarray of int of shape (n_models,)
        After how many tasks a model was given up; 0 for those that were solved for all.
    """

    scores: Array
    weights: Array | None
    gaps: Array
    seconds: Array
    starts: KnownStarts
    given_up: Indices


class KnownStarts:
    """The weights that the problems of every model were solved with.

    They are asked for of the chosen model alone: only then are they averaged over splits.

    Parameters
    ----------
    n_tasks : int
        Number of tasks.
    jobs : list of _Job
        The pieces of work.
    found : list of PathResult
        What came out of them.
    """

    def __init__(self, n_tasks: int, jobs: list[_Job], found: list[PathResult]) -> None:
        self._n_tasks = n_tasks
        # The weights of a joint problem are those of its tasks: splits that lack some do not count.
        self._known = [
            (job.numbers, dict(zip(job.models.tolist(), one.starts, strict=True)))
            for job, one in zip(jobs, found, strict=True)
            if not job.together or len(job.tasks) == n_tasks
        ]

    def __getitem__(self, model: int) -> Starts:
        """Return the weights of every task's problem, averaged over splits; None if none count."""
        known: dict[int, list[Array]] = {}
        for numbers, by_model in self._known:
            for task, own in zip(numbers, by_model.get(int(model)) or (), strict=False):
                known.setdefault(task, []).append(own)
        # Banks that are fitted to their splits may differ in size: then nothing is known.
        means = {t: np.mean(w, axis=0) for t, w in known.items() if len({len(x) for x in w}) == 1}
        return [means.get(t) for t in range(self._n_tasks)] if means else None


@dataclass(frozen=True)
class _Job:
    """Some of the models, on one task of one split or on all its tasks."""

    models: Indices
    split: int
    tasks: list[SplitTask]
    together: bool
    path: Path

    @property
    def numbers(self) -> list[int]:
        """The places of the tasks among all."""
        return [one.number for one in self.tasks]


def grid_scores(
    estimator: MultiTaskModel,
    models: list[dict[str, Any]],
    parts: list[list[SplitTask]],
    scorer: TaskScorer,
    n_tasks: int,
    n_jobs: int | None = None,
    verbose: int = 0,
    contenders: Contenders | None = None,
) -> GridScores:
    """Solve and score all models on all splits.

    Parameters
    ----------
    estimator : estimator
        Gives the method and the parameters that the models leave open.
    models : list of dict
        The distinct models, in the order of the path.
    parts : list of list of SplitTask
        The tasks of every split.
    scorer : TaskScorer
        Scores the decision values of one task.
    n_tasks : int
        Number of tasks, of which a split may lack some.
    n_jobs : int, optional
        Processes.
    verbose : int
        Show a progress bar.
    contenders : callable, optional
        Which models are worth the remaining tasks, as their scores so far have it. By default all
        are.
    """
    couples = _which_couple(estimator, models)
    board = _Board(len(models), len(parts), n_tasks)
    portions = [np.arange(n_tasks)] if contenders is None else _rounds(n_tasks)
    for number, tasks in enumerate(portions):
        jobs = _coupled_jobs(estimator, models, couples, parts) if number == 0 else []
        single = (board.given_up == 0) & ~couples
        jobs += _single_jobs(estimator, models, single, parts, tasks)
        arguments = [(estimator, job.path, job.tasks, scorer) for job in jobs]
        board.add(jobs, map_in_processes(path_scores, arguments, n_jobs, verbose=verbose))
        if contenders is not None and number + 1 < len(portions):
            board.give_up(contenders, couples, sum(map(len, portions[: number + 1])))
    return board.grid_scores()


class _Board:
    """What is known of all models so far."""

    def __init__(self, n_models: int, n_splits: int, n_tasks: int) -> None:
        self.scores = np.full((n_models, n_splits, n_tasks), np.nan)
        self.gaps, self.seconds = np.zeros(n_models), np.zeros(n_models)
        self.given_up = np.zeros(n_models, dtype=np.intp)
        self.jobs: list[_Job] = []
        self.found: list[PathResult] = []

    def add(self, jobs: list[_Job], found: list[PathResult]) -> None:
        """Write down what came out of some work."""
        n_splits = self.scores.shape[1]
        for job, one in zip(jobs, found, strict=True):
            self.scores[job.models[:, None], job.split, job.numbers] = one.scores
            self.gaps[job.models] = np.maximum(self.gaps[job.models], one.gaps)
            self.seconds[job.models] += one.seconds / n_splits
        self.jobs += jobs
        self.found += found

    def give_up(self, contenders: Contenders, couples: Flags, n_tasks: int) -> None:
        """Give up models that are not among the contenders after so many tasks."""
        alive = np.flatnonzero(self.given_up == 0)
        worse = alive[~contenders(self.scores[alive])]
        self.given_up[worse[~couples[worse]]] = n_tasks

    def grid_scores(self) -> GridScores:
        """Return all that is known."""
        n_models, _, n_tasks = self.scores.shape
        return GridScores(
            self.scores,
            _mean_weights(n_models, self.jobs, self.found),
            self.gaps,
            self.seconds,
            KnownStarts(n_tasks, self.jobs, self.found),
            self.given_up,
        )


def _which_couple(estimator: MultiTaskModel, models: list[dict[str, Any]]) -> Flags:
    """Return which models couple tasks; asked once for all that differ in strength alone."""
    names = [name for name in varied(models) if name not in _STRENGTHS]
    known: dict[Hashable, bool] = {}
    found = np.empty(len(models), dtype=np.bool_)
    for number, params in enumerate(models):
        key = tuple(hashable(params[name]) for name in names)
        if key not in known:
            known[key] = method_type(estimator, params).solves_together(params)
        found[number] = known[key]
    return found


def _rounds(n_tasks: int) -> list[Indices]:
    """Return the tasks in portions, mixed: names in order often mean tasks in order, too."""
    mixed = np.random.default_rng(0).permutation(n_tasks)
    ends, end = [], _FIRST_TASKS
    while end < n_tasks:
        ends.append(end)
        end *= 2
    return [np.sort(tasks) for tasks in np.split(mixed, ends)]


def _coupled_jobs(
    estimator: MultiTaskModel,
    models: list[dict[str, Any]],
    couples: Flags,
    parts: list[list[SplitTask]],
) -> list[_Job]:
    """Return a piece of work for every split, with all models that couple tasks."""
    numbers = np.flatnonzero(couples)
    if numbers.size == 0:
        return []
    path = Path.of(estimator, [models[number] for number in numbers])
    return [_Job(numbers, split, tasks, True, path) for split, tasks in enumerate(parts)]


def _single_jobs(
    estimator: MultiTaskModel,
    models: list[dict[str, Any]],
    wanted: Flags,
    parts: list[list[SplitTask]],
    tasks: Indices,
) -> list[_Job]:
    """Return a piece of work for every split and task, with models that do not couple tasks."""
    numbers = np.flatnonzero(wanted)
    if numbers.size == 0:
        return []
    path = Path.of(estimator, [models[number] for number in numbers])
    asked = frozenset(tasks.tolist())
    jobs = []
    for split, all_tasks in enumerate(parts):
        wanted_ones = [one for one in all_tasks if one.tested and one.number in asked]
        jobs += [_Job(numbers, split, [one], False, path) for one in wanted_ones]
    return jobs


def _mean_weights(n_models: int, jobs: list[_Job], found: list[PathResult]) -> Array | None:
    """Return the weights of every model, averaged over its jobs."""
    weights = [one.weights for one in found if one.weights is not None]
    sizes = {each.shape[1] for each in weights}
    if len(weights) < len(found) or len(sizes) > 1:
        return None
    total, count = np.zeros((n_models, sizes.pop())), np.zeros((n_models, 1))
    for job, each in zip(jobs, weights, strict=True):
        total[job.models] += each
        count[job.models] += 1.0
    return total / count
