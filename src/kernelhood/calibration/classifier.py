"""The part of a classifier that tells probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array
from kernelhood.calibration.crossfit import Calibration, calibrated
from kernelhood.parallel import few_blas_threads
from kernelhood.pipeline.classes import told_classes
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.related.prediction import RelatedPrediction, described


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
