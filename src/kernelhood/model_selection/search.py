"""A grid search that evaluates kernels once per split and solves equal models once."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernelhood._typing import AnyArray, Array
from kernelhood.model_selection.chosen import answer, best_point, first_of
from kernelhood.model_selection.grids import Models, distinct_models
from kernelhood.model_selection.results import as_results
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.model_selection.split_kernels import SplitTask
from kernelhood.model_selection.splitters import as_splits
from kernelhood.model_selection.walks import GridScores, grid_scores, split_tasks
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.plotting import plot_search_path


def _decides(search: KernelSearchCV) -> bool:
    return hasattr(search.estimator, "decision_function")


class KernelSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Exhaustive search over the hyper-parameters of a kernelhood estimator.

    Works like scikit-learn's GridSearchCV, but evaluates the kernels once per split, solves models
    along a path where each starts from the one before, and solves points of the grid that are the
    same model only once.

    Parameters
    ----------
    estimator : estimator
        Any estimator of this library.
    param_grid : dict or list of dict
        Values to try for each parameter.
    cv : float, int, splitter or iterable
        The test share of one random split, a number of folds, a splitter of this library or of
        scikit-learn, or pairs of row numbers. Splits are stratified within every task.
    scoring : str or callable, optional
        A scikit-learn scorer; by default accuracy or R^2.
    average : {"tasks", "samples"}
        Whether a split's score is the mean over tasks or over its test samples.
    refit : bool
        Whether to fit the best point to all data.
    per_task : bool
        Whether every task may have parameters of its own; not for methods that couple tasks.
    n_jobs : int, optional
        Processes over splits and tasks. Each holds the kernels of one split at most.
    error_score : float or "raise"
        The score of points outside the estimator's domain, or to raise instead.
    verbose : int
        Show a progress bar.

    Attributes
    ----------
    cv_results_ : dict of arrays
        One entry per point of the grid, as in scikit-learn, with two more columns: `model`, the
        number of the distinct model along the path, and `status`, "ok" or why it was left out.
    best_index_, best_score_, best_params_
        The best point. Ties go to the stronger regularisation, the smaller C and then the larger
        other parameters of the distinct models, and to the first point of the grid among equal
        models. With `per_task`, dictionaries by task.
    best_estimator_ : estimator
        Fitted to all data; with `per_task`, a dictionary of estimators by task.
    n_models_ : int
        Distinct models that were solved on every split.
    n_splits_ : int
        Number of splits.

    Examples
    --------
    >>> import kernelhood as kh
    >>> data = kh.datasets.load_digits_tasks()
    >>> rows = slice(0, 400)
    >>> model = kh.MTONMKLClassifier(formulation="corrected")
    >>> search = kh.KernelSearchCV(model, {"C": [0.5, 1, 2], "beta": [1, 4]}, cv=2)
    >>> search.fit(data.X[rows], data.y[rows], task=data.task[rows]).n_models_
    4
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Any = None,
        average: str = "tasks",
        refit: bool = True,
        per_task: bool = False,
        n_jobs: int | None = None,
        error_score: Any = np.nan,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.average = average
        self.refit = refit
        self.per_task = per_task
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, *, task: Any = None, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Search the grid, and fit the best point to all data.

        Parameters
        ----------
        X, y, task, sample_weight
            As the estimator's `fit` takes them.
        groups : array-like of shape (n_samples,), optional
            Rows with the same label stay on the same side of every split.

        Returns
        -------
        self
        """
        self._check_settings()
        models = distinct_models(self.estimator, self.param_grid)
        if models.reasons and self.error_score == "raise":
            raise ValueError(next(iter(models.reasons.values())))
        reader = clone(self.estimator)
        coupled = any(reader._solves_together(params) for params in models.models)
        if self.per_task and coupled:
            raise ValueError(
                f"per_task=True needs independent tasks, {type(self.estimator).__name__} "
                "couples them."
            )
        points, tasks = reader._read_training_data(X, y, task)
        weight = _check_sample_weight(
            sample_weight, points, dtype=np.float64, ensure_non_negative=True
        )
        splits = as_splits(self.cv, X, y, groups, task)
        parts = split_tasks(splits, points, tasks, weight)
        scorer = TaskScorer(self.scoring)
        found = grid_scores(self.estimator, models.models, parts, scorer, self.n_jobs, self.verbose)
        self._collect(models, found, parts)
        self._warn_of_gaps(found.gaps)
        if self.refit:
            self._refit(X, y, task, sample_weight, models, found.starts)
        return self

    def _warn_of_gaps(self, gaps: Array) -> None:
        """Say once how many models missed the gap."""
        missed = gaps > self.estimator.tol
        if missed.any():
            warnings.warn(
                f"{np.count_nonzero(missed)} of {len(gaps)} models did not reach the duality gap "
                f"tol={self.estimator.tol:g} on some split, even when solved again from nothing; "
                f"the worst gap is {gaps.max():.1e}. cv_results_['max_gap'] has all of them.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_settings(self) -> None:
        if not isinstance(self.estimator, MultiTaskKernelModel):
            raise TypeError(
                f"estimator must be one of this library's, got {type(self.estimator).__name__}."
            )
        if self.average not in ("tasks", "samples"):
            raise ValueError(f"average must be 'tasks' or 'samples', got {self.average!r}.")

    def _collect(self, models: Models, found: GridScores, parts: list[list[SplitTask]]) -> None:
        """Turn scores per split and task into results per point, and choose the best."""
        sizes = np.array([[len(one.y_test) for one in tasks] for tasks in parts])
        share = sizes if self.average == "samples" else np.ones(sizes.shape)
        by_split = np.einsum("mst,st->ms", found.scores, share / share.sum(axis=1, keepdims=True))
        self.n_models_, self.n_splits_ = len(models.models), len(parts)
        self.multimetric_ = False
        self._path = models.models
        self._path_scores = by_split.mean(axis=1)
        self._path_weights = found.weights
        self.cv_results_ = as_results(models, by_split, found, self.error_score)
        self._choose(models, found.scores.mean(axis=1), [one.train.name for one in parts[0]])

    best_index_: Any
    best_score_: Any
    best_params_: Any

    def _choose(self, models: Models, by_task: Array, names: list[Hashable]) -> None:
        if not self.per_task:
            self.best_index_, self.best_score_ = best_point(models, self._path_scores)
            self.best_params_ = models.points[self.best_index_]
            return
        chosen = {name: best_point(models, by_task[:, number]) for number, name in enumerate(names)}
        self.best_index_ = {name: index for name, (index, _) in chosen.items()}
        self.best_score_ = {name: score for name, (_, score) in chosen.items()}
        self.best_params_ = {name: models.points[index] for name, (index, _) in chosen.items()}

    def _refit(
        self,
        X: Any,
        y: Any,
        task: Any,
        sample_weight: Any,
        models: Models,
        starts: list[list[Array] | None],
    ) -> None:
        """Fit the best point to all data, from the weights that its splits were solved with.

        A problem with many stationary points would otherwise lead to another one than was scored.
        """

        def fitted(index: int) -> Any:
            model = clone(self.estimator).set_params(**models.points[index])
            model._validate_params()
            return model._fit(X, y, task, sample_weight, starts[models.model_of[index]])

        if not self.per_task:
            self.best_estimator_ = fitted(self.best_index_)
            return
        different = {index: fitted(index) for index in set(self.best_index_.values())}
        self.best_estimator_ = {name: different[index] for name, index in self.best_index_.items()}

    def predict(self, X: Any, *, task: Any = None) -> AnyArray:
        """Return the predictions of the best estimator, or of each task's best.

        Parameters
        ----------
        X, task
            As the estimator's `predict` takes them.
        """
        return np.asarray(self._ask("predict", X, task))

    @available_if(_decides)
    def decision_function(self, X: Any, *, task: Any = None) -> Array:
        """Return the decision values of the best estimator, or of each task's best.

        Parameters
        ----------
        X, task
            As the estimator's `decision_function` takes them.
        """
        return np.asarray(self._ask("decision_function", X, task))

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the best estimator's own score, the mean over tasks of accuracy or R^2.

        Parameters
        ----------
        X, y, task, sample_weight
            As the estimator's `score` takes them.
        """
        predicted = self.predict(X, task=task)
        first = first_of(self.best_estimator_)
        return float(first._mean_over_tasks(predicted, X, y, task, sample_weight))

    @property
    def classes_(self) -> Any:
        """The classes of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        return first_of(self.best_estimator_).classes_

    def plot_path(self, ax: Any = None) -> Any:
        """Draw score and kernel weights along the path, and mark the chosen model.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self, "cv_results_")
        names = [] if self._path_weights is None else self.estimator._read_bank().names
        return plot_search_path(self._path_scores, self._path_weights, names, ax=ax)

    def _ask(self, method: str, X: Any, task: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return answer(self.best_estimator_, method, X, task)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags
