"""All models of a grid on all splits: together where they couple tasks, else task by task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.model_selection.path import Path, PathResult, path_scores
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.model_selection.split_tasks import SplitTask
from kernelhood.parallel import map_in_processes
from kernelhood.pipeline.base import MultiTaskKernelModel

#: Weights to start every task's problem from, None where nothing is known.
Starts = list[Array | None] | None


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
    """

    scores: Array
    weights: Array | None
    gaps: Array
    seconds: Array
    starts: KnownStarts


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
    """
    jobs = _jobs(estimator, models, parts, scorer.needs_whole_splits(estimator))
    arguments = [(estimator, job.path, job.tasks, scorer) for job in jobs]
    found = map_in_processes(path_scores, arguments, n_jobs, verbose=verbose)
    scores = np.full((len(models), len(parts), n_tasks), np.nan)
    gaps, seconds = np.zeros(len(models)), np.zeros(len(models))
    for job, one in zip(jobs, found, strict=True):
        scores[job.models[:, None], job.split, job.numbers] = one.scores
        gaps[job.models] = np.maximum(gaps[job.models], one.gaps)
        seconds[job.models] += one.seconds / len(parts)
    starts = KnownStarts(n_tasks, jobs, found)
    return GridScores(scores, _mean_weights(len(models), jobs, found), gaps, seconds, starts)


def _jobs(
    estimator: MultiTaskKernelModel,
    models: list[dict[str, Any]],
    parts: list[list[SplitTask]],
    whole: bool,
) -> list[_Job]:
    """Return the work in pieces; models that do not couple tasks stay independent of the rest.

    Where whole splits are wanted, all their tasks are in one piece nevertheless.
    """
    couples = np.array([bool(estimator._solves_together(params)) for params in models])
    jobs = []
    for coupled in (True, False):
        numbers = np.flatnonzero(couples == coupled)
        if numbers.size == 0:
            continue
        path = Path.of(estimator, [models[number] for number in numbers])
        for split, tasks in enumerate(parts):
            as_one = coupled or whole
            pieces = [tasks] if as_one else [[one] for one in tasks if one.tested]
            jobs += [_Job(numbers, split, piece, coupled, path) for piece in pieces]
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
