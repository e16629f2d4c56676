"""All models of a grid on all splits: together where they couple tasks, else task by task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.model_selection.path import Path, PathResult, path_scores
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.model_selection.split_kernels import SplitTask
from kernelhood.parallel import map_in_processes
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.tasks import TaskRows


@dataclass(frozen=True)
class GridScores:
    """What the models of a grid score.

    Attributes
    ----------
    scores : ndarray of shape (n_models, n_splits, n_tasks)
        Test scores.
    weights : ndarray of shape (n_models, n_kernels), or None where banks differ in size
        Kernel weights, averaged over splits and tasks.
    gaps : ndarray of shape (n_models,)
        Largest relative duality gap.
    seconds : ndarray of shape (n_models,)
        Time to solve and score all tasks of a split, averaged over splits.
    starts : list of (list of ndarray, or None)
        Weights of every task's problem, averaged over splits, for models whose solution depends on
        where it starts.
    """

    scores: Array
    weights: Array | None
    gaps: Array
    seconds: Array
    starts: list[list[Array] | None]


@dataclass(frozen=True)
class _Job:
    """Some of the models, on one task of one split or on all its tasks."""

    models: Indices
    split: int
    tasks: slice
    path: Path


def split_tasks(
    splits: list[tuple[Indices, Indices]], points: Any, tasks: list[TaskRows], weight: Array
) -> list[list[SplitTask]]:
    """Return the training and test part of every task, for every split.

    Parameters
    ----------
    splits : list of pairs of ndarray of int
        Training and test rows.
    points : ndarray or CSR matrix of shape (n_samples, n_features)
        Inputs of all rows.
    tasks : list of TaskRows
        Rows and targets of the tasks.
    weight : ndarray of shape (n_samples,)
        Weights of all rows; rows of weight 0 do not train.
    """
    parts: list[list[SplitTask]] = []
    for number, (train, test) in enumerate(splits):
        parts.append([])
        for task in tasks:
            inside = np.isin(task.rows, train) & (weight[task.rows] > 0.0)
            outside = np.isin(task.rows, test)
            if not inside.any() or not outside.any():
                side = "test" if inside.any() else "training"
                raise ValueError(f"split {number} of cv has no {side} rows for task {task.name!r}.")
            rows = task.rows[inside]
            part = SplitTask(
                TaskRows(task.name, rows, task.y[inside]),
                points[rows],
                points[task.rows[outside]],
                task.y[outside],
                weight[rows],
            )
            parts[-1].append(part)
    return parts


def grid_scores(
    estimator: MultiTaskKernelModel,
    models: list[dict[str, Any]],
    parts: list[list[SplitTask]],
    scorer: TaskScorer,
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
    n_jobs : int, optional
        Processes.
    verbose : int
        Show a progress bar.
    """
    jobs = _jobs(estimator, models, len(parts), len(parts[0]))
    arguments = [(estimator, job.path, parts[job.split][job.tasks], scorer) for job in jobs]
    found = map_in_processes(path_scores, arguments, n_jobs, verbose=verbose)
    scores = np.empty((len(models), len(parts), len(parts[0])))
    gaps, seconds = np.zeros(len(models)), np.zeros(len(models))
    for job, one in zip(jobs, found, strict=True):
        scores[job.models, job.split, job.tasks] = one.scores
        gaps[job.models] = np.maximum(gaps[job.models], one.gaps)
        seconds[job.models] += one.seconds / len(parts)
    starts = _mean_starts(len(models), len(parts), jobs, found)
    return GridScores(scores, _mean_weights(len(models), jobs, found), gaps, seconds, starts)


def _mean_starts(
    n_models: int, n_splits: int, jobs: list[_Job], found: list[PathResult]
) -> list[list[Array] | None]:
    """Return the weights of every task's problem, averaged over splits."""
    total: list[dict[int, Array]] = [{} for _ in range(n_models)]
    for job, one in zip(jobs, found, strict=True):
        for model, weights in zip(job.models, one.starts, strict=True):
            for task, own in enumerate(weights or (), start=job.tasks.start):
                total[model][task] = total[model].get(task, 0.0) + own / n_splits
    return [[by_task[t] for t in sorted(by_task)] or None for by_task in total]


def _jobs(
    estimator: MultiTaskKernelModel, models: list[dict[str, Any]], n_splits: int, n_tasks: int
) -> list[_Job]:
    """Return the work in pieces; models that do not couple tasks stay independent of the rest."""
    couples = np.array([bool(estimator._solves_together(params)) for params in models])
    together, alone = [slice(0, n_tasks)], [slice(t, t + 1) for t in range(n_tasks)]
    jobs = []
    for coupled, tasks in ((True, together), (False, alone)):
        numbers = np.flatnonzero(couples == coupled)
        if numbers.size == 0:
            continue
        path = Path.of(estimator, [models[number] for number in numbers])
        jobs += [_Job(numbers, split, some, path) for split in range(n_splits) for some in tasks]
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
