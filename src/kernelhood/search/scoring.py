"""Scores of one task from decision values, by any scikit-learn scorer, and their averages."""

from __future__ import annotations

import warnings
from functools import partial, update_wrapper
from typing import Any

import numpy as np
from scipy.stats import t as student_t
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRequest

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.estimators.targets import ClassTargets, Targets
from kernelhood.search.chain import SplitTask


class _Decided(BaseEstimator):
    """Something a scorer can ask: the values at the test points are known already."""

    def __init__(self, values: Array | None = None) -> None:
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _DecidedClassifier(ClassifierMixin, _Decided):
    classes_: AnyArray

    def decision_function(self, X: Any) -> Array:
        assert self.values is not None
        return self.values

    def predict(self, X: Any) -> AnyArray:
        return np.asarray(self.classes_[_winners(self.decision_function(X))])


class _DecidedRegressor(RegressorMixin, _Decided):
    def predict(self, X: Any) -> Array:
        assert self.values is not None
        return self.values


class TaskScorer:
    """Turns the decision values of one task into a score, larger being better.

    Parameters
    ----------
    scoring : str, callable or None
        A scikit-learn scorer or its name; None means accuracy, or minus the sum of squared errors,
        of which `averages` makes one score for all tasks.

    Notes
    -----
    The scores that a comparison asks for by the ten thousand, accuracy and mean squared error, are
    computed here: a scorer validates its arguments for longer than a small model is solved.
    """

    def __init__(self, scoring: Any) -> None:
        self.scoring = scoring
        self._scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        if self._scorer is not None and not callable(self._scorer):
            raise ValueError(f"scoring must be a name, a callable or None, got {scoring!r}.")

    def check(self, model: Any) -> None:
        """Raise if it asks for probabilities, which no model that is searched has."""
        response = getattr(self._scorer, "_response_method", None)
        first = response if isinstance(response, str) or not response else response[0]
        if first == "predict_proba":
            raise ValueError(
                f"scoring={self.scoring!r} needs predict_proba, which {type(model).__name__} does "
                "not have: score decision values, such as by 'roc_auc', or use "
                "KernelhoodClassifier."
            )

    def __call__(self, targets: Targets, number: int, values: Array, X: Any, y: AnyArray) -> float:
        """Return the score of one task's decision values at its test points."""
        if not isinstance(targets, ClassTargets):
            if self._scorer is None:
                return -float(np.sum((y - values) ** 2))
            if self.scoring == "neg_mean_squared_error":
                return -float(np.mean((y - values) ** 2))
            return self._defined(_DecidedRegressor(values), X, y)
        classes = targets.classes[number]
        classes = classes[[0, 0]] if len(classes) == 1 else classes
        if self._scorer is None or self.scoring == "accuracy":
            return float(np.mean(classes[_winners(values)] == y))
        decided = _DecidedClassifier(values)
        decided.classes_ = classes
        return self._defined(decided, X, y)

    def _defined(self, decided: _Decided, X: Any, y: AnyArray) -> float:
        """Return the score, NaN without a warning if a few rows do not define it."""
        assert self._scorer is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return float(self._scorer(decided, X, y))


def _winners(values: Array) -> Indices:
    """Return the place of the winning class: by the sign, or the largest of several columns."""
    return values.argmax(axis=1) if values.ndim == 2 else (values > 0.0).astype(np.intp)


_ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class _AtTask:
    """An estimator that is asked about rows whose tasks are known."""

    def __init__(self, estimator: Any, task: Any) -> None:
        self._estimator, self._task = estimator, task

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._estimator, name)
        if name not in _ANSWERS:
            return found
        # Scorers look at the name of the method.
        return update_wrapper(partial(found, task=self._task), found)


class RoutedScorer:
    """A scorer that takes `task` and hands it to whatever method it asks."""

    def __init__(self, scoring: Any) -> None:
        self.scoring = scoring
        self._scorer = get_scorer(scoring)

    def __repr__(self) -> str:
        return f"task_scorer({self.scoring!r})"

    def __call__(
        self, estimator: Any, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the score of all rows.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X, y, task, sample_weight
            As the estimator's `score` takes them.
        """
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self._scorer(_AtTask(estimator, task), X, y, **weight))

    def get_metadata_routing(self) -> MetadataRequest:
        """Return that `task` is asked for."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="task", alias=True)
        return request


def task_scorer(scoring: Any) -> RoutedScorer:
    """Return a scorer that passes `task` on to the method it asks.

    scikit-learn's own scorers hand metadata to the metric only, so that cross-validation with
    ``params={"task": task}`` scores by the estimator's `score` or by one of these. With
    `task_column` any scorer will do.

    Parameters
    ----------
    scoring : str or scorer
        A scikit-learn scorer or its name.

    Returns
    -------
    callable
        Called as ``scorer(estimator, X, y, task=task)``. It asks for `task` if metadata is
        routed.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> X, y = np.arange(16.0)[:, None], np.repeat([0, 1, 0, 1], 4)
    >>> task = np.repeat(["a", "b"], 8)
    >>> model = kh.MTONMKLClassifier(C=100.0).fit(X, y, task=task)
    >>> kh.task_scorer("roc_auc")(model, X, y, task=task)
    1.0
    """
    return RoutedScorer(scoring)


def averaged(
    scores: Array, parts: list[list[SplitTask]], *, average: str, pooled: bool
) -> tuple[Array, Array]:
    """Return the scores of every model by split and by task.

    Parameters
    ----------
    scores : ndarray of shape (n_models, n_splits, n_tasks)
        NaN if a split does not test a task or its score is not defined. If `pooled`, the
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

    The differences to the leader, one per task, are tested against 0 by Student's t: what is worse
    by chance stays, and so does everything if tasks are too few to tell.

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
    """Return the mean of the values that are not NaN; NaN if there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=axis))


def _by_place(
    parts: list[list[SplitTask]], shape: tuple[int, ...], values: list[list[float]]
) -> Array:
    """Return a number for every split and task, 0 if a split does not have the task."""
    table = np.zeros(shape)
    for row, tasks, own in zip(table, parts, values, strict=True):
        row[[one.number for one in tasks]] = own
    return table


def _explained(scores: Array, spread: Array, axis: int) -> Array:
    """Return 1 - error / spread with sums over an axis; NaN if nothing was tested."""
    known = ~np.isnan(scores)
    error = -np.where(known, scores, 0.0).sum(axis=axis)
    total = np.where(known, spread, 0.0).sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(total > 0.0, 1.0 - error / total, error == 0.0)
    return np.where(known.any(axis=axis), found, np.nan)
