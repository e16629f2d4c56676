"""The score of a fitted model on each task."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from kernelhood._typing import AnyArray, Indices
from kernelhood.estimators import BASELINES
from kernelhood.estimators.base import MultiTaskModel, fit_from, method_of
from kernelhood.paper.methods import Grid
from kernelhood.paper.protocol import Metric
from kernelhood.search.search import KernelSearchCV


def task_scores(
    metric: Metric, model: Any, X: Any, y: AnyArray, task: AnyArray
) -> dict[Any, float]:
    """Return the score of every task on its own rows.

    Parameters
    ----------
    metric : Metric
        The score.
    model : estimator
        Fitted.
    X, y, task
        Rows of all tasks.
    """
    if metric.needs_probability:
        values = _true_probabilities(model, X, y, task)
    else:
        output = model.decision_function if metric.needs_decision else model.predict
        values = np.asarray(output(X, task=task))
    scores = {}
    for name in dict.fromkeys(task.tolist()):
        rows = task == name
        scores[name] = float(metric.score(y[rows], values[rows]))
    return scores


def _true_probabilities(model: Any, X: Any, y: AnyArray, task: AnyArray) -> AnyArray:
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


T = TypeVar("T")

#: Models that join the samples of all tasks are tried on so many training rows first, which takes
#: a small part of the time, and only the leaders on all rows, if there are more than RACED.
RACED, _TRIED = 2000, 1500
_LEADERS = 0.08


class Found(NamedTuple):
    """The best of some models on the validation part.

    Attributes
    ----------
    parameters : dict
        What was chosen from the grid.
    score : float
        Its score on the validation part.
    starts : list of ndarray of shape (n_weights,), optional
        Weights of each task's problem, if they decide which solution is found.
    """

    parameters: dict[str, Any]
    score: float
    starts: Any = None


class Judged(NamedTuple):
    """Rows that train, rows that validate, and how predictions are scored; see `search`."""

    data: tuple[Any, AnyArray, AnyArray]
    split: tuple[Indices, Indices]
    metric: Metric

    def with_fewer(self, count: int) -> Judged:
        """Return the same with about so many training rows."""
        train, held = self.split
        return self._replace(split=(train[:: -(-len(train) // count)], held))


class Memory:
    """What methods have found out about one split, for the others; the next split clears it."""

    def __init__(self) -> None:
        self._split: Hashable = None
        self._known: dict[Hashable, Any] = {}

    def recall(self, split: Hashable, key: Hashable, find: Callable[[], T]) -> T:
        """Return what is known, found out if it is not.

        Parameters
        ----------
        split : hashable
            What tells splits, and how they are judged, apart.
        key : hashable
            What is asked for.
        find : callable
            Finds it out.
        """
        if split != self._split:
            self._split, self._known = split, {}
        if key not in self._known:
            self._known[key] = find()
        known: T = self._known[key]
        return known


def search(
    estimator: Any,
    grid: Grid,
    data: tuple[Any, AnyArray, AnyArray],
    split: tuple[Indices, Indices],
    metric: Metric,
) -> Found:
    """Return the parameters that do best on the validation part, and their score there.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    grid : dict or list of dict
        Values of each parameter.
    data : tuple
        X, y and task of all rows.
    split : tuple of ndarray of int
        Rows that train and rows that validate; no others are looked at.
    metric : Metric
        The score; its mean over tasks decides.
    """
    judged = Judged(data, split, metric)
    raced = len(split[0]) > RACED
    if not isinstance(estimator, MultiTaskModel):
        if raced and getattr(estimator, "slow", False):
            tried = _one_by_one(estimator, grid, judged.with_fewer(_TRIED))
            grid = _alone(_first_ones([one.parameters for one in tried]))
        return _one_by_one(estimator, grid, judged)[0]
    if raced and _joins_samples(estimator):
        grid = _leaders(_searched(estimator, grid, judged.with_fewer(_TRIED)))
    found = _searched(estimator, grid, judged)
    number = _first_alike(found.cv_results_, int(found.best_index_))
    score = metric.from_scorer(float(found.best_score_))
    starts = found.starts_[found.cv_results_["model"][number]]
    return Found(dict(found.cv_results_["params"][number]), score, starts)


def _joins_samples(estimator: Any) -> bool:
    """Return whether one SVM has the samples of all tasks."""
    pooled = isinstance(estimator, tuple(BASELINES["pooled"]))
    return pooled or method_of(estimator).joins_samples(estimator.get_params())


def _searched(estimator: Any, grid: Grid, judged: Judged) -> KernelSearchCV:
    """Return a search, done."""
    (X, y, task), split, metric = judged
    rows, n_train = np.concatenate(split), len(split[0])
    places = np.arange(len(rows))
    cv = [(places[:n_train], places[n_train:])]
    found = KernelSearchCV(estimator, grid, cv=cv, scoring=metric.scoring, refit=False, prune=True)
    return found.fit(X[rows], y[rows], task=task[rows])


def _leaders(found: KernelSearchCV) -> Grid:
    """Return the models that are worth all training rows, those that did best on a part of them."""
    order = np.argsort(found.cv_results_["rank_test_score"], kind="stable")
    _, first = np.unique(found.cv_results_["model"][order], return_index=True)
    return _alone(_first_ones([found.cv_results_["params"][order[n]] for n in np.sort(first)]))


def _first_ones(ranked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the models that are worth all training rows, of all models, the best first."""
    return ranked[: max(2, round(_LEADERS * len(ranked)))]


def _alone(points: list[dict[str, Any]]) -> Grid:
    """Return a grid of these points and no others."""
    return [{name: [value] for name, value in params.items()} for params in points]


def _first_alike(results: dict[str, Any], best: int) -> int:
    """Return the first of the models before the best one on the path that score as it does.

    A solution serves the next models as well while its gap allows it. The first of them is the one
    that it was solved for, and the only one that is sure to be found again.
    """
    tasks = [values for name, values in results.items() if name.startswith("mean_test_score_")]
    scores = np.column_stack([results["mean_test_score"], *tasks])
    models = results["model"]
    number = {int(model): point for point, model in reversed(list(enumerate(models))) if model >= 0}
    model = int(models[best])
    while model > 0 and np.array_equal(scores[number[model - 1]], scores[best], equal_nan=True):
        model -= 1
    return best if model == models[best] else number[model]


def fit_found(estimator: Any, found: Found, X: Any, y: AnyArray, task: AnyArray) -> Any:
    """Fit what a search has found: the very solution that it scored, if there are several.

    Parameters
    ----------
    estimator : estimator
        As the search got it; its parameters are set.
    found : Found
        What was found.
    X, y, task
        Training rows.
    """
    estimator.set_params(**found.parameters)
    if found.starts is None:
        return estimator.fit(X, y, task=task)
    return fit_from(estimator, X, y, task, None, found.starts)


def _one_by_one(estimator: Any, grid: Grid, judged: Judged) -> list[Found]:
    """Return all models of an estimator that is not of this library, the best first.

    Ties go to the first point; scores that are not defined come last.
    """
    (X, y, task), (train, held), metric = judged
    all_found = []
    for point in ParameterGrid(grid):
        model = clone(estimator).set_params(**point).fit(X[train], y[train], task=task[train])
        scores = task_scores(metric, model, X[held], y[held], task[held])
        all_found.append(Found(dict(point), float(np.mean(list(scores.values())))))
    sign = -1.0 if metric.better(1.0, 0.0) else 1.0
    return sorted(all_found, key=lambda one: (np.isnan(one.score), sign * one.score))
