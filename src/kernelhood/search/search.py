"""What a search has found, in scikit-learn's form."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import Array
from kernelhood.estimators.base import method_type
from kernelhood.estimators.reading import as_target
from kernelhood.inspection.figures import plot_path
from kernelhood.search.answers import (
    Answers,
    best_point,
    check_room,
    kernel_names,
    said_once,
    search_summary,
    warn_of_gaps,
)
from kernelhood.search.chain import Chain, SplitTasks, refitted, split_table, unwrapped
from kernelhood.search.grid import Models, distinct_models, named_by, without_prefix
from kernelhood.search.path import GridScores, KnownStarts, grid_scores
from kernelhood.search.scoring import TaskScorer, averaged, contenders, mean_of_known


def as_results(
    models: Models,
    by_split: Array,
    by_task: dict[Hashable, Array],
    found: GridScores,
    error_score: float,
) -> dict[str, Any]:
    """Return scikit-learn's dictionary of results, one entry per point.

    Parameters
    ----------
    models : Models
        The grid and its distinct models.
    by_split : ndarray of shape (n_models, n_splits)
        Scores of the models.
    by_task : dict of ndarray of shape (n_models,)
        The same for every task alone, over all splits.
    found : GridScores
        What else is known of them.
    error_score : float
        The score of points outside the domain.
    """
    known = models.model_of >= 0

    def spread(values: Array) -> Array:
        column = np.full(len(models.points), error_score, dtype=np.float64)
        column[known] = values[models.model_of[known]]
        return column

    results: dict[str, Any] = {"mean_fit_time": spread(found.seconds)}
    for name, column in models.columns.items():
        results[f"param_{name}"] = column.masked
    results["params"] = models.points
    for number in range(by_split.shape[1]):
        results[f"split{number}_test_score"] = spread(by_split[:, number])
    means = mean_of_known(by_split, axis=1)
    deviations = mean_of_known((by_split - means[:, None]) ** 2, axis=1)
    results["mean_test_score"] = spread(means)
    results["std_test_score"] = spread(np.sqrt(deviations))
    ranks = rankdata(-np.nan_to_num(results["mean_test_score"], nan=-np.inf), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    for task, values in by_task.items():
        results[f"mean_test_score_{task}"] = spread(values)
    results["max_gap"] = spread(found.gaps)
    results["model"] = models.model_of
    status = np.full(len(models.points), "ok", dtype=object)
    for point in np.flatnonzero(known & (found.given_up[models.model_of] > 0)):
        status[point] = f"given up after {found.given_up[models.model_of[point]]} tasks"
    for number, reason in models.reasons.items():
        status[number] = reason
    results["status"] = status
    return results


class KernelSearchCV(Answers, MetaEstimatorMixin, BaseEstimator):
    """Exhaustive search over the hyper-parameters of a kernelhood estimator.

    Works like scikit-learn's GridSearchCV, but evaluates the kernels once per split, solves models
    along a path where each starts from the one before, and solves points of the grid that are the
    same model only once.

    Parameters
    ----------
    estimator : estimator
        Any estimator of this library, also at the end of a scikit-learn Pipeline or inside a
        TransformedTargetRegressor: both are fitted to the training rows of every split.
    param_grid : dict or list of dict
        Values to try for each parameter.
    cv : float, int, splitter or iterable
        The test share of one random split, a number of folds, a splitter of this library or of
        scikit-learn, or pairs of row numbers. Splits are stratified within every task.
    scoring : str or callable, optional
        A scikit-learn scorer, applied to each task; by default accuracy in classification, and
        in regression 1 - error / spread, with sums over all tasks as in the estimators' `score`.
        Scores of probabilities, such as neg_log_loss, are not for these estimators.
    average : {"tasks", "samples"}
        Whether a split's score is the mean over tasks or over its test samples. Tasks matter
        equally by default, as in the paper; with tasks of very few test rows, "samples" is less
        noisy. The default score of regression is not a mean over tasks and needs neither.
    refit : bool
        Whether to fit the best point to all data.
    per_task : bool
        Whether every task may have parameters of its own; not for methods that couple tasks.
    prune : bool
        Whether models that do not couple tasks are given up once they are clearly worse than the
        best over 5, 10, 20, ... tasks: by Student's t of the differences at 1 %. They have no
        score then, and their `status` says after how many tasks. Not with `per_task`.
    n_jobs : int, optional
        Processes over splits and tasks. Each holds the kernels of one split at most.
    error_score : float or "raise"
        The score of points outside the estimator's domain, or to raise instead.
    verbose : int
        Show a progress bar.

    Attributes
    ----------
    cv_results_ : dict of arrays
        One entry per point of the grid, as in scikit-learn, with more columns: `model`, the number
        of the distinct model along the path, `status`, "ok" or why it was left out, `max_gap`, and
        ``mean_test_score_<task>`` for every task, over the splits that test it, else NaN.
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
    starts_ : KnownStarts
        Without `refit`, the weights that the problems of each model were solved with, for a fit
        elsewhere.

    Examples
    --------
    >>> import kernelhood as kh
    >>> data = kh.datasets.make_multitask(3, 20, random_state=0)
    >>> model = kh.MTONMKLClassifier(formulation="corrected")
    >>> search = kh.KernelSearchCV(model, {"C": [0.5, 1, 2], "beta": [1, 4]}, cv=2)
    >>> search.fit(data.X, data.y, task=data.task).n_models_
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
        prune: bool = False,
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
        self.prune = prune
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
        chain = unwrapped(self.estimator)
        models = self._read_grid(chain)
        y = y if y is None else as_target(y)
        scorer = TaskScorer(self.scoring)
        scorer.check(chain.model)
        names, parts = split_table(chain, self.cv, X, y, task, groups, sample_weight)
        if self.refit:
            check_room(chain.model, models.models, X, y, sample_weight)
        walked = (chain.model, models.models, parts, scorer, len(names))
        worth_more = partial(contenders, parts=parts, **self._averages) if self.prune else None
        found = grid_scores(*walked, self.n_jobs, self.verbose, worth_more)
        warn_of_gaps(found.gaps, np.array([params["tol"] for params in models.models]))
        models = named_by(models, chain.prefix)
        self._collect(models, found, parts, names)
        if self.refit:
            self._refit(X, y, task, sample_weight, models, found.starts)
        else:
            self.starts_ = found.starts
        return self

    @property
    def _averages(self) -> dict[str, Any]:
        """How scores of tasks become one: by default, sums of squared errors in regression."""
        pooled = self.scoring is None and not is_classifier(self.estimator)
        return {"average": self.average, "pooled": pooled}

    def _read_grid(self, chain: Chain) -> Models:
        """Return the distinct models, or raise if settings contradict each other."""
        if self.average not in ("tasks", "samples"):
            raise ValueError(f"average must be 'tasks' or 'samples', got {self.average!r}.")
        if self.prune and self.per_task:
            raise ValueError("prune=True compares means over tasks; it needs per_task=False.")
        models = distinct_models(chain.model, without_prefix(self.param_grid, chain.prefix))
        if models.reasons and self.error_score == "raise":
            raise ValueError(next(iter(models.reasons.values())))
        coupled = any(
            method_type(chain.model, params).solves_together(params) for params in models.models
        )
        if self.per_task and coupled:
            raise ValueError(
                f"per_task=True needs independent tasks, {type(chain.model).__name__} couples them."
            )
        return models

    def _collect(
        self, models: Models, found: GridScores, parts: SplitTasks, tasks: list[Hashable]
    ) -> None:
        """Turn scores per split and task into results per point, and choose the best."""
        by_split, by_task = averaged(found.scores, parts, **self._averages)
        by_split[found.given_up > 0] = np.nan  # that of some tasks is not comparable
        self.n_models_, self.n_splits_ = len(models.models), len(parts)
        self.multimetric_ = False
        self._path_scores = mean_of_known(by_split, axis=1)
        self._path_weights = found.weights
        named = dict(zip(tasks, by_task.T, strict=True))
        self.cv_results_ = as_results(models, by_split, named, found, self.error_score)
        self._choose(models, named)

    best_index_: Any
    best_score_: Any
    best_params_: Any

    def _choose(self, models: Models, by_task: dict[Hashable, Array]) -> None:
        if not self.per_task:
            self.best_index_, self.best_score_ = best_point(models, self._path_scores)
            self.best_params_ = models.points[self.best_index_]
            return
        chosen = {
            name: best_point(models, self._path_scores if np.isnan(own).all() else own)
            for name, own in by_task.items()
        }
        self.best_index_ = {name: index for name, (index, _) in chosen.items()}
        self.best_score_ = {name: score for name, (_, score) in chosen.items()}
        self.best_params_ = {name: models.points[index] for name, (index, _) in chosen.items()}

    def _refit(
        self, X: Any, y: Any, task: Any, weight: Any, models: Models, starts: KnownStarts
    ) -> None:
        """Fit the best point to all data, from the weights that its splits were solved with.

        A problem with many stationary points would otherwise lead to another one than was scored.
        """

        def fitted(index: int) -> Any:
            given = clone(self.estimator).set_params(**models.points[index])
            first = starts[models.model_of[index]]
            whole, self._centres = refitted(given, first, X, y, task, weight)
            return whole

        if not self.per_task:
            self.best_estimator_ = fitted(self.best_index_)
            return
        with said_once():
            different = {index: fitted(index) for index in set(self.best_index_.values())}
        self.best_estimator_ = {name: different[index] for name, index in self.best_index_.items()}

    def summary(self) -> str:
        """Say in words what was chosen, out of how much, and what sits at an end of the grid.

        Returns
        -------
        str
            A few sentences; with `per_task`, one for every task.
        """
        check_is_fitted(self, "cv_results_")
        return search_summary(self)

    def _tuned(self) -> Any:
        return unwrapped(self.estimator).model

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
        chosen = self._chosen if "best_estimator_" in vars(self) else None
        names = kernel_names(chosen, self._path_weights)
        return plot_path(self._path_scores, self._path_weights, names, ax=ax)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags
