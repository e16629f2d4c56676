"""All models of a grid on all splits: together where they couple tasks, else task by task.

Models that do not couple tasks may be given up on the way, once they are clearly worse than the
best over the tasks so far.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import Array, Flags, Indices
from kernelhood.model_selection.columns import hashable, varied
from kernelhood.model_selection.path import Path, PathResult, path_scores
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.model_selection.split_tasks import SplitTask
from kernelhood.parallel import map_in_processes
from kernelhood.pipeline.base import MultiTaskKernelModel

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
    estimator: MultiTaskKernelModel,
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
    whole = scorer.needs_whole_splits(estimator)
    couples = _which_couple(estimator, models)
    board = _Board(len(models), len(parts), n_tasks)
    portions = [np.arange(n_tasks)] if whole or contenders is None else _rounds(n_tasks)
    for number, tasks in enumerate(portions):
        jobs = _coupled_jobs(estimator, models, couples, parts) if number == 0 else []
        single = (board.given_up == 0) & ~couples
        jobs += _single_jobs(estimator, models, single, parts, tasks, whole)
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


def _which_couple(estimator: MultiTaskKernelModel, models: list[dict[str, Any]]) -> Flags:
    """Return which models couple tasks; asked once for all that differ in strength alone."""
    names = [name for name in varied(models) if name not in _STRENGTHS]
    known: dict[Hashable, bool] = {}
    found = np.empty(len(models), dtype=np.bool_)
    for number, params in enumerate(models):
        key = tuple(hashable(params[name]) for name in names)
        if key not in known:
            known[key] = bool(estimator._solves_together(params))
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
    estimator: MultiTaskKernelModel,
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
    estimator: MultiTaskKernelModel,
    models: list[dict[str, Any]],
    wanted: Flags,
    parts: list[list[SplitTask]],
    tasks: Indices,
    whole: bool,
) -> list[_Job]:
    """Return a piece of work for every split and task, with models that do not couple tasks.

    Where whole splits are wanted, all their tasks are in one piece nevertheless.
    """
    numbers = np.flatnonzero(wanted)
    if numbers.size == 0:
        return []
    path = Path.of(estimator, [models[number] for number in numbers])
    asked = frozenset(tasks.tolist())
    jobs = []
    for split, all_tasks in enumerate(parts):
        alone = [[one] for one in all_tasks if one.tested and one.number in asked]
        pieces = [all_tasks] if whole else alone
        jobs += [_Job(numbers, split, piece, False, path) for piece in pieces]
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
