"""Decision values at samples that had no part in them, and the sigmoid of these."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.calibration.coupling import couple_pairs
from kernelhood.calibration.folds import deal_folds
from kernelhood.calibration.sigmoid import Sigmoid, fit_sigmoid
from kernelhood.kernels import KernelBank
from kernelhood.pipeline.joint_samples import class_pairs
from kernelhood.pipeline.problem import Pair, TaskProblem, TaskSolution


@dataclass(frozen=True)
class Calibration:
    """How the functions of tasks become probabilities.

    Attributes
    ----------
    sigmoid : Sigmoid
        The map of a single function.
    units : list of (ndarray of int, shape (n_pairs,))
        The sigmoid's unit for each of a task's pairs of classes; empty for a class that is alone.
    n_classes : list of int
        The number of classes of each task.
    centre_of : ndarray of int, shape (n_units,)
        The sigmoid's centre for every unit.
    gap : float
        Largest relative duality gap of the fits behind it.

    Examples
    --------
    >>> import kernelhood as kh
    >>> data = kh.datasets.make_multitask(2, 20, random_state=0)
    >>> model = kh.MTONMKLClassifier(kernels=[kh.Linear()], probability=True)
    >>> found = model.fit(data.X, data.y, task=data.task).calibration_
    >>> found.n_classes, len(found.units), bool(found.sigmoid.slope > 0.0)
    ([2, 2], 2, True)
    """

    sigmoid: Sigmoid
    units: list[Indices]
    n_classes: list[int]
    centre_of: Indices
    gap: float

    def log_odds(self, values: Array, number: int) -> Array:
        """Return the log-odds of the second class of each of a task's pairs of classes.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_pairs)
            The functions of the task.
        number : int
            The task, -1 for one that was not seen.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs); minus infinity for a class that is alone
        """
        if self.n_classes[number] == 1:
            return np.full((len(values), 1), -np.inf)
        units = enumerate(self.units[number].tolist())
        logits = [
            self.sigmoid.log_odds(
                values[:, pair], self.centre_of[unit], unit if number >= 0 else None
            )
            for pair, unit in units
        ]
        return np.column_stack(logits)

    def probabilities(self, values: Array, number: int, width: int | None = None) -> Array:
        """Return the probabilities of a task's classes, 0 in columns that it has no use for.

        Parameters
        ----------
        values, number
            As for `log_odds`.
        width : int, optional
            Number of columns; that of the task's classes by default.
        """
        n_classes = self.n_classes[number]
        found = np.zeros((len(values), width or n_classes))
        if n_classes == 1:
            found[:, 0] = 1.0
        else:
            found[:, :n_classes] = couple_pairs(expit(self.log_odds(values, number)), n_classes)
        return found


def calibrated(
    model: Any, bank: KernelBank, problems: Sequence[TaskProblem], solved: Sequence[TaskSolution]
) -> Calibration:
    """Return the calibration of a model by fits that leave out a part of the samples each.

    Parameters
    ----------
    model : estimator
        The classifier; the fits overwrite attributes of a copy.
    bank : KernelBank
        Its kernels.
    problems : sequence of TaskProblem
        The tasks.
    solved : sequence of TaskSolution
        Their solutions, from whose weights the fits start.
    """
    classes: list[AnyArray] = model._task_classes
    n_classes = [len(own) for own in classes]
    codes = [_codes(one, count) for one, count in zip(problems, n_classes, strict=True)]
    alike = all(np.array_equal(own, classes[0]) for own in classes)
    values, gap = _values_left_out(copy.copy(model), bank, problems, solved, codes)
    units, rows = [], []
    centre_of: list[int] = []
    for problem, count, found in zip(problems, n_classes, values, strict=True):
        n_pairs = 0 if count == 1 else len(problem.pairs)
        units.append(np.arange(len(centre_of), len(centre_of) + n_pairs))
        for pair in range(n_pairs):
            rows.append(_scored(problem.pairs[pair], found[:, pair], len(centre_of)))
            centre_of.append(pair if alike else 0)
    centres = np.array(centre_of, dtype=np.intp)
    f, positive, cost, unit = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    sigmoid = fit_sigmoid(f, positive, cost / model.C, unit, centres)
    return Calibration(sigmoid, units, n_classes, centres, gap)


def _scored(pair: Pair, values: Array, unit: int) -> tuple[Array, Flags, Array, Indices]:
    """Return values, classes, costs and the unit of a pair's samples that were left out once."""
    own = values[pair.sample]
    known = ~np.isnan(own)
    cost = (pair.loss.upper - pair.loss.lower)[known]
    units = np.full(len(cost), unit, dtype=np.intp)
    return own[known], pair.loss.target[known] > 0.0, cost, units


def _codes(problem: TaskProblem, n_classes: int) -> Indices:
    """Return the class of each of a task's samples."""
    code = np.zeros(len(problem.rows), dtype=np.intp)
    if n_classes == 1:
        return code
    for (first, second), pair in zip(class_pairs(len(problem.pairs)), problem.pairs, strict=True):
        code[pair.sample] = np.where(pair.loss.target > 0.0, second, first)
    return code


def _values_left_out(
    model: Any,
    bank: KernelBank,
    problems: Sequence[TaskProblem],
    solved: Sequence[TaskSolution],
    codes: list[Indices],
) -> tuple[list[Array], float]:
    """Return the functions of every task at its samples, and the largest gap of the fits.

    The values are NaN at samples that every fit has trained with.
    """
    ends = np.cumsum([len(one.rows) for one in problems])[:-1]
    task = np.repeat(np.arange(len(problems)), [len(one.rows) for one in problems])
    row, code = np.concatenate([one.rows for one in problems]), np.concatenate(codes)
    # Of more than two classes each has to train, or there would be pairs without a sample.
    many = np.array([len(one.pairs) > 1 for one in problems])[task]
    kept = task * (1 + int(code.max())) + np.where(many, code, 0)
    values = [np.full((len(one.rows), len(one.pairs)), np.nan) for one in problems]
    gap = 0.0
    for fold in deal_folds(row, task, code, kept):
        out = np.split(fold, ends)
        parts = [
            _part(problem, ~own, (one.together or one.solution).weights)
            for problem, own, one in zip(problems, out, solved, strict=True)
        ]
        kernels = model._evaluate(bank, parts)
        found = model._solve_tasks(kernels, parts)
        gap = max(gap, *(one.solution.gap for one in found))
        # Kernels want some point to be evaluated at, also where nothing is left out.
        at = [
            one.X[np.flatnonzero(own if own.any() else ~own)]
            for one, own in zip(problems, out, strict=True)
        ]
        cross = model._cross(kernels, at)
        for number, own in enumerate(out):
            if own.any():
                where = kernels, number, at[number], cross[number], parts[number], found[number]
                values[number][own] = model._values_at(*where)
    return values, gap


def _part(problem: TaskProblem, kept: Flags, weights: Array) -> TaskProblem:
    """Return a task with some of its samples, to be started from kernel weights."""
    place = np.cumsum(kept) - 1
    pairs = []
    for pair in problem.pairs:
        own = kept[pair.sample]
        part = pair.loss.part(own, 1.0)
        pairs.append(Pair(place[pair.sample[own]].astype(np.intp), part))
    return replace(
        problem,
        rows=problem.rows[kept],
        X=problem.X[np.flatnonzero(kept)],
        pairs=pairs,
        sample_weight=problem.sample_weight[kept],
        start=None,
        together=None,
        carry=None,
        weights=weights,
        only_scored=True,
        kept={},
    )
