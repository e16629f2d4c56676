"""What is asked of a fitted search goes to the estimator that it has chosen."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelhood.estimators import MTONMKLClassifier, MTONMKLRegressor
from kernelhood.model_selection.chain import Chain, unwrapped
from kernelhood.model_selection.chosen import answer, first_of
from kernelhood.pipeline.scores import ScoredTask


def _has(name: str) -> Callable[[Answers], bool]:
    """Return a check whether the chosen estimator, or the one to be tuned, has a method."""

    def check(asked: Answers) -> bool:
        getattr(asked._asked_model(), name)  # Its own error says what is missing.
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
        return getattr(self._one_chain(method.__name__).model, method.__name__)(*args, **more)

    return available_if(_has(method.__name__))(asked)


class Answers:
    """Methods and attributes of the chosen estimator, as far as it has them."""

    best_estimator_: Any
    #: Mean training targets of the tasks in the user's units, where these are transformed.
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

    def _asked_model(self) -> Any:
        fitted = "best_estimator_" in vars(self)
        return first_of(self._chosen).model if fitted else self._tuned()

    def _ask(self, method: str, X: Any, task: Any, **more: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        given = {name: value for name, value in more.items() if value is not None}
        return answer(self._chosen, method, X, task, given)

    def _one_chain(self, what: str) -> Chain:
        """Return the chosen estimator, or raise where every task has its own."""
        check_is_fitted(self, "best_estimator_")
        if isinstance(self.best_estimator_, dict):
            raise ValueError(
                f"{what} is about one estimator, and with per_task=True every task has its own: "
                "ask best_estimator_[task]."
            )
        return self._chosen  # type: ignore[no-any-return]

    def predict(
        self, X: Any, *, task: Any = None, task_features: Any = None, return_std: bool = False
    ) -> Any:
        """Return the predictions of the chosen estimator, or of each task's.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        task_features : mapping of task to anything, optional
            What the relation should know of tasks that were not seen in `fit`.
        return_std : bool
            Whether to return standard deviations, too; for ``formulation="evidence"``, and where
            there is one model for all tasks.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y; two of them
        with `return_std`
        """
        if return_std:
            chain = self._one_chain("predict with return_std=True")
            if chain.target is not None:
                raise ValueError(
                    "return_std=True has no answer in the units of a transformed target: use "
                    "predict_quantiles or predict_interval."
                )
            model: Any = chain.model
            asked = {"task": task, "task_features": task_features, "return_std": True}
            return model.predict(chain.at(X), **asked)
        return np.asarray(self._ask("predict", X, task, task_features=task_features))

    decision_function = _at_rows(MTONMKLClassifier.decision_function)
    predict_proba = _at_rows(MTONMKLClassifier.predict_proba)
    predict_log_proba = _at_rows(MTONMKLClassifier.predict_log_proba)
    predict_quantiles = _at_rows(MTONMKLRegressor.predict_quantiles)
    predict_interval = _at_rows(MTONMKLRegressor.predict_interval)

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
        chain = self._one_chain("adapt")
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
        return float(self._asked_model()._total_score(scored))

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
        return {one.name: self._asked_model()._task_score(one) for one in scored}

    def _scored(self, X: Any, y: Any, task: Any, sample_weight: Any) -> list[ScoredTask]:
        predicted = self.predict(X, task=task)
        first = first_of(self._chosen)
        table = (predicted, first.at(X), y, task, sample_weight, first.centres)
        return list(first.model._scored(*table))

    @property
    def n_features_in_(self) -> int:
        """Columns of X seen in `fit`."""
        return int(self._attribute(lambda: first_of(self.best_estimator_).n_features_in_))

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns, where X was a data frame."""
        return self._attribute(lambda: first_of(self.best_estimator_).feature_names_in_)

    @property
    def classes_(self) -> Any:
        """The classes, per task where they differ."""
        return self._attribute(lambda: self._asked_model().classes_)

    @property
    def tasks_(self) -> list[Hashable]:
        """Names of the tasks."""
        return list(self._attribute(lambda: self._asked_model().tasks_))

    @property
    def kernels_(self) -> Any:
        """The kernels of the chosen estimator, fitted to the data."""
        return self._attribute(lambda: self._one_chain("kernels_").model.kernels_)

    @property
    def dual_gap_(self) -> float:
        """Relative duality gap of the chosen estimator."""
        return float(self._attribute(lambda: self._one_chain("dual_gap_").model.dual_gap_))

    def _attribute(self, asked: Callable[[], Any]) -> Any:
        """Return what is asked for; before the fit there is nothing."""
        if "best_estimator_" not in vars(self):
            raise NotFittedError(f"{type(self).__name__} has chosen no estimator: call fit first.")
        return asked()
