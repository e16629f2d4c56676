"""What a search chooses: the best point of a grid, and how the estimators fitted there answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators import MTONMKLClassifier, MTONMKLRegressor
from kernelhood.estimators.base import method_type, scored_tasks
from kernelhood.estimators.data import ScoredTask
from kernelhood.estimators.reading import read_points
from kernelhood.search.chain import Chain, unwrapped
from kernelhood.search.grid import Models


def best_point(models: Models, scores: Array) -> tuple[int, float]:
    """Return the number of the best point of the grid, and its score.

    Parameters
    ----------
    models : Models
        The grid and its distinct models.
    scores : ndarray of shape (n_models,)
        The score of every model. Among equal ones the stronger regularisation wins, then the first
        point of the grid.
    """
    if np.isnan(scores).all():
        raise ValueError("scoring is not defined on any test part: choose another, or larger ones.")
    best_ones = np.flatnonzero(scores == np.nanmax(scores))
    model = int(best_ones[np.argmin(models.strength[best_ones])])
    return int(np.argmax(models.model_of == model)), float(scores[model])


def check_room(
    model: Any, models: Sequence[Mapping[str, Any]], X: Any, y: Any, sample_weight: Any
) -> None:
    """Raise before any work if the fit of a model to all rows would be refused.

    Parameters
    ----------
    model : estimator of this library
        What is tuned.
    models : sequence of dict
        Parameters that may be chosen.
    X, y, sample_weight
        The whole table.
    """
    n_points = _num_samples(X) if sample_weight is None else int(np.count_nonzero(sample_weight))
    n_targets = np.shape(y)[1] if np.ndim(y) > 1 else 1
    for params in models:
        whole = {**model.get_params(deep=False), **params}
        if why := method_type(model, whole).why_too_large(whole, n_points * n_targets, n_points):
            raise ValueError(why)


def warn_of_gaps(gaps: Array, tol: Array) -> None:
    """Say once how many models missed the gap on some split, and the worst gap of these.

    Parameters
    ----------
    gaps : ndarray of shape (n_models,)
        The largest relative duality gap of each model over the splits.
    tol : ndarray of shape (n_models,)
        What was asked of each.
    """
    missed = gaps > tol
    if missed.any():
        asked = " to ".join(dict.fromkeys(f"{one:g}" for one in (tol.min(), tol.max())))
        warnings.warn(
            f"{np.count_nonzero(missed)} of {len(gaps)} models did not reach the duality gap "
            f"tol={asked} on some split, even without a warm start; "
            f"the worst gap is {gaps[missed].max():.1e}. cv_results_['max_gap'] has all of them.",
            ConvergenceWarning,
            stacklevel=3,
        )


@contextmanager
def said_once() -> Iterator[None]:
    """Give every warning of what is done inside once, however often it comes."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    for one in {str(each.message): each for each in heard}.values():
        warnings.warn(one.message, one.category, stacklevel=5)


def first_of(chosen: Any) -> Any:
    """Return the chosen estimator, or the first task's if every task has its own."""
    return next(iter(chosen.values())) if isinstance(chosen, dict) else chosen


def kernel_names(chosen: Any, weights: Array | None) -> list[str]:
    """Return the names of kernels, or their numbers if the chosen estimator has others.

    Parameters
    ----------
    chosen : Chain or dict of Chain by task, or None
        Fitted, if there is one.
    weights : ndarray of shape (n_models, n_kernels), or None
        Their weights along a path.
    """
    if weights is None:
        return []
    names = [] if chosen is None else first_of(chosen).model.functions_.kernel_names
    fits = len(names) == weights.shape[1]
    return names if fits else [str(number) for number in range(weights.shape[1])]


def answer(chosen: Any, method: str, X: Any, task: Any, more: Mapping[str, Any]) -> Any:
    """Return what the chosen estimator answers for every row.

    Parameters
    ----------
    chosen : Chain or dict of Chain by task
        The fitted one, or one for every task, whose rows it then answers.
    method : str
        The method to call.
    X, task, more
        Its arguments.
    """
    if not isinstance(chosen, dict):
        return chosen.ask(method, X, task, **more)
    first = first_of(chosen)
    labels = read_points(first.model, first.at(X), task, reset=False)[1]
    if labels is None:
        columns = [one.ask(method, X, None, **more) for one in chosen.values()]
        if isinstance(columns[0], list):
            return [values[k] for k, values in enumerate(columns)]
        if columns[0].ndim == 1:
            return columns[0]
        return np.stack([values[:, k] for k, values in enumerate(columns)], axis=1)
    answers = first.ask(method, X, task, **more)
    for name, one in chosen.items():
        rows = np.array([label == name for label in labels.tolist()])
        if rows.any():
            answers[rows] = one.ask(method, X, task, **more)[rows]
    return answers


def search_summary(search: Any) -> str:
    """Return a few sentences about what a search has chosen.

    Parameters
    ----------
    search : KernelSearchCV
        Fitted.
    """
    if isinstance(search.best_index_, dict):
        lines = [
            f"Chosen for {name}: {_shown(search.best_params_[name])}, score {score:.4g}."
            for name, score in search.best_score_.items()
        ]
    else:
        best = search.best_params_
        score = "score" if not isinstance(search.scoring, str) else f"score ({search.scoring})"
        lines = [
            f"Chosen: {_shown(best)}.",
            f"Its {score} is {search.best_score_:.4g}, the mean over {search.n_splits_} splits.",
            *_at_an_end(search.cv_results_, best),
        ]
    points, models = len(search.cv_results_["params"]), search.n_models_
    return "\n".join([*lines, f"{points} points of the grid are {models} different models."])


def _shown(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items()) or "no parameter"


def _at_an_end(results: Mapping[str, Any], best: Mapping[str, Any]) -> Iterator[str]:
    """Yield what to do if a number of several is the smallest or the largest that was tried."""
    for name, value in best.items():
        tried = results[f"param_{name}"].compressed().tolist()
        if not all(_is_number(one) for one in tried) or min(tried) == max(tried):
            continue
        for word, end in (("smallest", min(tried)), ("largest", max(tried))):
            if value == end:
                yield f"{name} sits at the {word} value that is tried: look further."


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def asked_model(search: Answers) -> Any:
    """Return the estimator of this library that a search has chosen, or is to tune."""
    fitted = "best_estimator_" in vars(search)
    return first_of(search._chosen).model if fitted else search._tuned()


def chosen_model(search: Answers, what: str) -> Any:
    """Return the estimator of this library that was chosen, or raise if every task has its own."""
    return _one_chain(search, what).model


def _one_chain(search: Answers, what: str) -> Chain:
    check_is_fitted(search, "best_estimator_")
    if isinstance(search.best_estimator_, dict):
        raise ValueError(
            f"{what} is about one estimator, and with per_task=True every task has its own: "
            "ask best_estimator_[task]."
        )
    return search._chosen  # type: ignore[no-any-return]


def _has(name: str) -> Callable[[Answers], bool]:
    """Return a check whether the chosen estimator, or the one to be tuned, has a method."""

    def check(asked: Answers) -> bool:
        getattr(asked_model(asked), name)  # Its own error says what is missing.
        return True

    return check


def _at_rows(method: Any) -> Any:
    """Return a method that the chosen estimator answers for every row."""

    @wraps(method)
    def asked(self: Answers, X: Any, *, task: Any = None, **more: Any) -> Any:
        return self._ask(method.__name__, X, task, **more)

    return available_if(_has(method.__name__))(asked)


def _of_the_model(method: Any) -> Any:
    """Return a method that tells of the chosen estimator as a whole."""

    @wraps(method)
    def asked(self: Answers, *args: Any, **more: Any) -> Any:
        return getattr(chosen_model(self, method.__name__), method.__name__)(*args, **more)

    return available_if(_has(method.__name__))(asked)


class Answers:
    """Methods and attributes of the chosen estimator, as far as it has them."""

    best_estimator_: Any
    #: Mean training targets of the tasks in the user's units, if these are transformed.
    _centres: dict[Hashable, float] | None = None

    @property
    def _chosen(self) -> Any:
        """The chosen estimator in parts; with `per_task`, a dictionary of these by task."""
        best = self.best_estimator_
        how: dict[str, Any] = {"fitted": True, "centres": self._centres}
        if isinstance(best, dict):
            return {name: unwrapped(one, **how) for name, one in best.items()}
        return unwrapped(best, **how)

    def _tuned(self) -> Any:
        """Return the estimator of this library whose parameters are chosen."""
        raise NotImplementedError

    def _ask(self, method: str, X: Any, task: Any, **more: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        given = {name: value for name, value in more.items() if value is not None}
        return answer(self._chosen, method, X, task, given)

    def predict(self, X: Any, *, task: Any = None, task_features: Any = None) -> AnyArray:
        """Return the predictions of the chosen estimator, or of each task's.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        task_features : mapping of task to anything, optional
            What the relation should know of tasks that were not seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y
        """
        return np.asarray(self._ask("predict", X, task, task_features=task_features))

    decision_function = _at_rows(MTONMKLClassifier.decision_function)

    weights_table = _of_the_model(MTONMKLRegressor.weights_table)
    relation_table = _of_the_model(MTONMKLRegressor.relation_table)
    sharing_table = _of_the_model(MTONMKLRegressor.sharing_table)
    task_similarity = _of_the_model(MTONMKLRegressor.task_similarity)
    alignment = _of_the_model(MTONMKLRegressor.alignment)
    rademacher_bound = _of_the_model(MTONMKLRegressor.rademacher_bound)
    plot_weights = _of_the_model(MTONMKLRegressor.plot_weights)
    plot_alignment = _of_the_model(MTONMKLRegressor.plot_alignment)
    plot_task_map = _of_the_model(MTONMKLRegressor.plot_task_map)
    plot_sharing = _of_the_model(MTONMKLRegressor.plot_sharing)

    @available_if(_has("adapt"))
    def adapt(
        self,
        X: Any,
        y: Any,
        *,
        task: Any = None,
        sample_weight: Any = None,
        task_features: Any = None,
    ) -> Self:
        """Let the chosen estimator learn the part of a new task, or more of an old one.

        Parameters
        ----------
        X, y, task, sample_weight, task_features
            As `MTONMKLRegressor.adapt` takes them.

        Returns
        -------
        self
        """
        chain = _one_chain(self, "adapt")
        known = {"sample_weight": sample_weight, "task_features": task_features}
        chain.model.adapt(chain.at(X), chain.targets(y), task=task, **known)
        return self

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the chosen estimator's own score: mean accuracy, or the share of error explained.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.
        """
        scored = self._scored(X, y, task, sample_weight)
        return asked_model(self).targets_.total_score(scored)  # type: ignore[no-any-return]

    def score_by_task(
        self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None
    ) -> dict[Hashable, float]:
        """Return the score of every task that occurs: accuracy, or 1 - error / spread.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.
        """
        scored = self._scored(X, y, task, sample_weight)
        return {one.name: asked_model(self).targets_.task_score(one) for one in scored}

    def _scored(self, X: Any, y: Any, task: Any, sample_weight: Any) -> list[ScoredTask]:
        predicted = self.predict(X, task=task)
        first = first_of(self._chosen)
        table = (predicted, first.at(X), y, task, sample_weight, first.centres)
        return scored_tasks(first.model, *table)

    @property
    def n_features_in_(self) -> int:
        """Columns of X seen in `fit`."""
        return int(self._attribute(lambda: first_of(self.best_estimator_).n_features_in_))

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns, if X was a data frame."""
        return self._attribute(lambda: first_of(self.best_estimator_).feature_names_in_)

    @property
    def classes_(self) -> Any:
        """The classes, per task if they differ."""
        return self._attribute(lambda: asked_model(self).classes_)

    @property
    def tasks_(self) -> list[Hashable]:
        """Names of the tasks."""
        return list(self._attribute(lambda: asked_model(self).tasks_))

    @property
    def kernels_(self) -> Any:
        """The kernels of the chosen estimator, fitted to the data."""
        return self._attribute(lambda: chosen_model(self, "kernels_").kernels_)

    @property
    def dual_gap_(self) -> float:
        """Relative duality gap of the chosen estimator."""
        return float(self._attribute(lambda: chosen_model(self, "dual_gap_").dual_gap_))

    def _attribute(self, asked: Callable[[], Any]) -> Any:
        """Return what is asked for; before the fit there is nothing."""
        if "best_estimator_" not in vars(self):
            raise NotFittedError(f"{type(self).__name__} has chosen no estimator: call fit first.")
        return asked()
