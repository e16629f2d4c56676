"""All models of a grid on all splits: together where they couple tasks, else task by task.

Models that do not couple tasks may be given up on the way, once they are clearly worse than the
best over the tasks so far.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student_t

from kernelhood._typing import Array, Flags, Indices
from kernelhood.estimators.base import MultiTaskModel, method_type
from kernelhood.parallel import map_in_processes
from kernelhood.search.grid import hashable, varied
from kernelhood.search.path import Path, PathResult, path_scores
from kernelhood.search.scoring import TaskScorer
from kernelhood.search.splits import SplitTask

#: Weights to start every task's problem from, None where nothing is known.
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
        Test scores; NaN where a split does not test a task.
    weights : ndarray of shape (n_models, n_kernels), or None where banks differ in size
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


def averaged(
    scores: Array, parts: list[list[SplitTask]], *, average: str, pooled: bool
) -> tuple[Array, Array]:
    """Return the scores of every model by split and by task.

    Parameters
    ----------
    scores : ndarray of shape (n_models, n_splits, n_tasks)
        NaN where a split does not test a task or its score is not defined. Where `pooled`, the
        negative sums of squared errors.
    parts : list of list of SplitTask
        The tasks of every split.
    average : {"tasks", "samples"}
        Whether every task of a split counts once or as often as it has test rows.
    pooled : bool
        Whether the score of a split is 1 - error / spread with the sums of all its tasks.

    Returns
    -------
    by_split : ndarray of shape (n_models, n_splits)
    by_task : ndarray of shape (n_models, n_tasks)
    """
    shape = scores.shape[1:]
    if pooled:
        spread = _by_place(parts, shape, [[one.spread for one in tasks] for tasks in parts])
        return _explained(scores, spread, 2), _explained(scores, spread, 1)
    sizes = _by_place(parts, shape, [[len(one.y_test) for one in tasks] for tasks in parts])
    counts = sizes if average == "samples" else np.ones(shape)
    counted = np.where(np.isnan(scores), 0.0, counts)
    with np.errstate(invalid="ignore"):
        by_split = np.nansum(scores * counts, axis=2) / counted.sum(axis=2)
    return by_split, mean_of_known(scores, axis=1)


#: How seldom a model that is as good as the leader is given up.
_LEVEL = 0.01


def contenders(scores: Array, parts: list[list[SplitTask]], *, average: str, pooled: bool) -> Flags:
    """Return which models are not clearly worse than the best over the tasks that are scored.

    The differences to the leader, one a task, are tested against 0 by Student's t: what is worse by
    chance stays, and so does everything where tasks are too few to tell.

    Parameters
    ----------
    scores, parts, average, pooled
        As for `averaged`; NaN for tasks that are not scored yet.

    Returns
    -------
    ndarray of bool of shape (n_models,)
    """
    sizes = _by_place(parts, scores.shape[1:], [[len(t.y_test) for t in tasks] for tasks in parts])
    counts = sizes if average == "samples" and not pooled else np.ones(scores.shape[1:])
    tasks = np.flatnonzero(~np.isnan(scores).any(axis=0).all(axis=0))
    by_task = np.nansum((scores * counts)[:, :, tasks], axis=1)
    if len(tasks) < 2:
        return np.ones(len(scores), dtype=np.bool_)
    behind = by_task[np.argmax(by_task.sum(axis=1))] - by_task
    error = behind.std(axis=1, ddof=1) / np.sqrt(len(tasks))
    most = student_t.ppf(1.0 - _LEVEL, len(tasks) - 1)
    return np.asarray(behind.mean(axis=1) <= most * error)


def mean_of_known(values: Array, axis: int) -> Array:
    """Return the mean of the values that are no NaN; NaN where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=axis))


def _by_place(
    parts: list[list[SplitTask]], shape: tuple[int, ...], values: list[list[float]]
) -> Array:
    """Return a number for every split and task, 0 where a split does not have the task."""
    table = np.zeros(shape)
    for row, tasks, own in zip(table, parts, values, strict=True):
        row[[one.number for one in tasks]] = own
    return table


def _explained(scores: Array, spread: Array, axis: int) -> Array:
    """Return 1 - error / spread with sums over an axis; NaN where nothing was tested."""
    known = ~np.isnan(scores)
    error = -np.where(known, scores, 0.0).sum(axis=axis)
    total = np.where(known, spread, 0.0).sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(total > 0.0, 1.0 - error / total, error == 0.0)
    return np.where(known.any(axis=axis), found, np.nan)
