"""What a model tells of the classes that were true, where the classes of tasks may differ."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.estimators.calibration import Sigmoid, couple_pairs, deal_folds, fit_sigmoid
from kernelhood.estimators.data import Pair, TaskProblem, TaskSolution, told_classes
from kernelhood.estimators.functions import RelatedPrediction, described
from kernelhood.estimators.training import class_pairs
from kernelhood.kernels import KernelBank
from kernelhood.parallel import few_blas_threads


def true_probabilities(model: Any, X: Any, y: AnyArray, task: AnyArray) -> AnyArray:
    """Return the probability that a model tells for every row's true class.

    Parameters
    ----------
    model : classifier
        Fitted, with `predict_proba`.
    X, y, task
        Rows of all tasks.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    told, classes = model.predict_proba(X, task=task), model.classes_
    each = classes if isinstance(classes, list) else [classes] * len(model.tasks_)
    places = {
        (name, label): place
        for name, own in zip(model.tasks_, each, strict=True)
        for place, label in enumerate(own.tolist())
    }
    columns = [places[key] for key in zip(task.tolist(), y.tolist(), strict=True)]
    return np.asarray(told[np.arange(len(y)), columns])


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


def _tells(model: Any) -> bool:
    if not model.probability:
        raise AttributeError(
            f"predict_proba needs {type(model).__name__}(probability=True), got probability=False."
        )
    return True


class ProbabilisticClassifier(RelatedPrediction):
    """Probabilities of classes, calibrated by cross-fitting within the training rows.

    Parameters
    ----------
    probability : bool
        Whether to calibrate probabilities, for `predict_proba`. It takes five more fits, each with
        four fifths of the samples. Then `predict` returns the most probable class, and
        `decision_function` log-odds, so that all of them agree.

    Attributes
    ----------
    calibration_ : Calibration
        With `probability`, what turns function values into probabilities: ``sigmoid.slope`` of all
        tasks, ``sigmoid.centres``, ``sigmoid.shifts`` of the tasks or of their pairs of classes,
        ``sigmoid.spread``, and ``gap``, the worst duality gap of the five fits.
    """

    _parameter_constraints: dict[str, Any] = {"probability": ["boolean"]}

    probability: bool
    calibration_: Calibration
    _task_classes: list[AnyArray]

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        self.__dict__.pop("calibration_", None)
        if self.probability:
            with few_blas_threads(max(len(one.rows) for one in problems)):
                self.calibration_ = calibrated(self, self._bank, problems, solved)

    def _check_calibrated(self) -> None:
        check_is_fitted(self)
        if "calibration_" not in vars(self):
            raise NotFittedError(
                f"this {type(self).__name__} was fitted with probability=False: fit it again with "
                "probability=True."
            )

    @property
    def _n_columns(self) -> int:
        """The largest number of classes of a task."""
        return max(self.calibration_.n_classes)

    def _most_probable(self, values: Array, number: int) -> Array:
        """Return decision values of a task whose largest, or whose sign, tells the likeliest class.

        They are the log-odds of the second class, or the logarithms of all probabilities.
        """
        if self._n_columns <= 2:
            return self.calibration_.log_odds(values, number)[:, 0]
        with np.errstate(divide="ignore"):
            logs: Array = np.log(self.calibration_.probabilities(values, number, self._n_columns))
        return logs

    def _probabilities(self, values: Array, number: int) -> Array:
        return self.calibration_.probabilities(values, number, self._n_columns)

    def decision_function(self, X: Any, *, task: Any = None, task_features: Any = None) -> Array:
        """Return the signed decision values; positive ones mean the task's second class.

        Where a task has more than two classes, there is a column for each class of the row's task,
        by one-against-one votes and then by confidence; the largest one wins. Columns that a task
        with fewer classes has no use for are minus infinity. With `probability`, the values are
        the log-odds of the second class, or the logarithms of all probabilities, so that they,
        `predict_proba` and `predict` agree.

        Parameters
        ----------
        X, task, task_features
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y; each with
        one more axis for the classes where there are more than two
        """
        if not self.probability:
            return np.asarray(super().decision_function(X, task=task, task_features=task_features))
        self._check_calibrated()
        with described(task_features):
            return self._values(X, task, self._most_probable)[0]

    def predict(self, X: Any, *, task: Any = None, task_features: Any = None) -> AnyArray:
        """Return the predicted class of every row; with `probability`, the most probable one.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        task_features : mapping of task to anything, optional
            What the relation should know of tasks that were not seen in `fit`: their group, their
            descriptor, their neighbours.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y
        """
        if not self.probability:
            return super().predict(X, task=task, task_features=task_features)
        self._check_calibrated()
        with described(task_features):
            values, which = self._values(X, task, self._most_probable)
        return told_classes(values, which, self._task_classes)

    @available_if(_tells)
    def predict_proba(
        self, X: Any, *, task: Any = None, task_features: Any = None
    ) -> Array | list[Array]:
        """Return the probability of every class of the row's task.

        The columns are those of ``classes_``, or of ``classes_[t]`` where the classes of tasks
        differ; columns that a task with fewer classes has no use for are 0. A class that is alone
        in its task has probability 1. A task that was not seen in `fit` has the shift of a task
        that nothing is known of.

        Parameters
        ----------
        X, task, task_features
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes); after a fit with a 2-D y, as in scikit-learn, those
        of each task's second class in an ndarray of shape (n_samples, n_tasks), or a list of arrays
        of shape (n_samples, n_classes), one for each task, where there are more than two classes
        """
        self._check_calibrated()
        with described(task_features):
            found, which = self._values(X, task, self._probabilities)
        if which is not None:
            return found
        counts = self.calibration_.n_classes
        if max(counts) == 2:
            return np.asarray(found[:, :, 1])
        return [found[:, number, :count] for number, count in enumerate(counts)]

    @available_if(_tells)
    def predict_log_proba(
        self, X: Any, *, task: Any = None, task_features: Any = None
    ) -> Array | list[Array]:
        """Return the logarithms of `predict_proba`; minus infinity where that is 0.

        Parameters
        ----------
        X, task, task_features
            As in `predict`.

        Returns
        -------
        As `predict_proba`
        """
        found = self.predict_proba(X, task=task, task_features=task_features)
        with np.errstate(divide="ignore"):
            if isinstance(found, list):
                return [np.log(own) for own in found]
            return np.asarray(np.log(found))
