"""The units of targets: standardised inside, so that C, epsilon and beta have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.fitted.bank import is_fitted
from kernelhood.pipeline.problem import Pair
from kernelhood.tasks import TaskRows


class TargetUnits(NamedTuple):
    """What is taken off the targets of every task, and what they are then divided by.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_tasks + 1,)
        For every task, and last for a task that was not seen.
    """

    centre: Array
    scale: Array

    @classmethod
    def none(cls, n_tasks: int) -> TargetUnits:
        """Return units that change nothing."""
        return cls(np.zeros(n_tasks + 1), np.ones(n_tasks + 1))

    @classmethod
    def of(cls, tasks: Sequence[TaskRows], weights: Sequence[Array], common: bool) -> TargetUnits:
        """Return the units of tasks.

        Parameters
        ----------
        tasks : sequence of TaskRows
            The tasks.
        weights : sequence of ndarray
            The weights of their samples.
        common : bool
            Whether all tasks have one unit: the mean of all targets, and their standard deviation
            within tasks. Otherwise each has its own mean and standard deviation. Where targets do
            not vary, within tasks or at all, the next wider of these stands in, and at last 1.
        """
        total = float(sum(weight.sum() for weight in weights))
        means = np.array(
            [one.y[0] + np.average(one.y - one.y[0], weights=w) for one, w in _both(tasks, weights)]
        )
        counts = np.array([weight.sum() for weight in weights])
        sums = np.array(
            [w @ (one.y - m) ** 2 for (one, w), m in zip(_both(tasks, weights), means, strict=True)]
        )
        overall = means[0] + float(counts @ (means - means[0])) / total
        between = float(counts @ (means - overall) ** 2)
        within, everything = float(sums.sum()), float(sums.sum()) + between
        size = max(float(np.max(np.abs(means))), np.sqrt(everything / total))
        shared = _first_positive(
            [_root(within, total - len(tasks)), _root(everything, total), 1.0], size
        )
        if common:
            return cls(np.full(len(tasks) + 1, overall), np.full(len(tasks) + 1, shared))
        own = [
            _first_positive([_root(s, n - 1.0), 1.0], abs(m) + _root(s, n))
            for s, n, m in zip(sums, counts, means, strict=True)
        ]
        return cls(np.append(means, overall), np.append(own, shared))


def _both(tasks: Sequence[TaskRows], weights: Sequence[Array]) -> list[tuple[TaskRows, Array]]:
    return list(zip(tasks, weights, strict=True))


def _root(total: float, count: float) -> float:
    """Return the root of a mean square; 0 where nothing is left to average."""
    return float(np.sqrt(total / count)) if count > 0.0 else 0.0


def _first_positive(values: Sequence[float], size: float) -> float:
    """Return the first value that is more than rounding of numbers of a size."""
    return next(value for value in [*values, 1.0] if value > 1e-12 * size or value == 1.0)


class StandardizedTargets(MultiTaskKernelModel):
    """Targets in units of their own, and predictions in those of the user.

    Attributes
    ----------
    target_centre_, target_scale_ : ndarray of shape (n_tasks,)
        A prediction is ``target_centre_ + target_scale_ * f``. C, epsilon, ``dual_coef_``,
        ``intercept_`` and ``objective_`` are those of f, the standardised problem. Zeros and ones
        where targets are not standardised.
    """

    standardize_targets: bool | str = "auto"

    _units: TargetUnits

    def _standardizes(self) -> bool:
        """Return whether targets are standardised: "auto" means with a bank that is fitted."""
        if isinstance(self.standardize_targets, str):
            return is_fitted(self.kernels)
        return bool(self.standardize_targets)

    def _encoded(self, tasks: list[TaskRows], weights: list[Array]) -> list[list[Pair]]:
        """Return the problem of every task, in the units that the targets are solved in."""
        self._fit_units(tasks, weights)
        own = [self._in_units(one, number) for number, one in enumerate(tasks)]
        return self._encode(own, weights)

    def _fit_units(self, tasks: Sequence[TaskRows], weights: Sequence[Array]) -> None:
        params: Mapping[str, Any] = vars(self)
        common = self._joins_samples(params) and not self._y_is_wide
        self._units = TargetUnits.none(len(tasks))
        if self._standardizes():
            self._units = TargetUnits.of(tasks, weights, common)
        self.target_centre_, self.target_scale_ = self._units.centre[:-1], self._units.scale[:-1]

    def _in_units(self, task: TaskRows, number: int) -> TaskRows:
        """Return a task with the targets that the solvers see."""
        centre, scale = self._units.centre[number], self._units.scale[number]
        if centre == 0.0 and scale == 1.0:
            return task
        return task._replace(y=(task.y - centre) / scale)

    def _restored(self, values: Array, number: int) -> Array:
        """Return predictions for a task in the user's units."""
        return np.asarray(self._units.centre[number] + self._units.scale[number] * values)
