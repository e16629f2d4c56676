"""Estimators that choose their own kernels, relation, formulation, loss and strength."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, is_classifier
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from kernelhood.automatic.choice import chosen
from kernelhood.automatic.ledger import Entry, Ledger
from kernelhood.automatic.parameters import candidates_of
from kernelhood.automatic.progress import Progress
from kernelhood.automatic.results import race_results
from kernelhood.automatic.summary import summary_of
from kernelhood.automatic.table import split_rows
from kernelhood.model_selection.answers import Answers
from kernelhood.model_selection.chosen import warn_of_gaps
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.model_selection.splitters import TaskStratifiedKFold
from kernelhood.pipeline.reading import as_target
from kernelhood.relations import TaskRelation

#: The gap that models are compared with; the one that is chosen is solved to `tol`.
_ROUGH = 1e-2
_ABOUT = 100


class SelfTuned(Answers, BaseEstimator):
    """The part that both estimators share.

    Parameters
    ----------
    kernels : str, KernelBank or list of kernels, optional
        The only bank to use; by default "small" and "auto" are tried.
    relation : str, TaskRelation or list of them, optional
        How tasks relate; by default "independent", "mixed", "functions", and "pooled" (one function
        for all tasks and nothing else) are tried. A single task relates to none.
    task_groups : mapping of task to group, TaskRelation, or list of these, optional
        Relations to try besides.
    formulation : {"corrected", "normalized", "evidence"}, optional
        The only one to use; "evidence" in regression with squared loss only.
    cv : int, float, splitter or iterable
        As in `KernelSearchCV`. The rows of an integer number of folds are mixed first, and there
        are no more folds than rows.
    scoring : str or callable, optional
        A scikit-learn scorer, applied to each task; by default that of `score`.
    average : {"tasks", "samples"}
        Whether a split's score is the mean over tasks or over its test rows, where it is a mean.
        "tasks" is what `score` reports.
    grid : {"fast", "full"} or dict
        How much to try. A dictionary has lists for some of "kernels", "relation", "formulation" and
        in regression "loss" and "epsilon".
    max_samples : int, optional
        Rows to choose with. A longer table is thinned for the choice: every task gives up the same
        part of its rows but keeps 30, and if these are too many, whole tasks are left out. The
        chosen model is fitted to all rows.
    missing : {"error", "indicator"}
        What missing values in X are: an error, or filled, with kernels that tell them apart.
    tol : float
        Relative duality gap of the chosen model; others are compared at a gap of 0.01.
    unseen_task : {"warn", "shared", "error"}
        What the chosen model does with tasks that were not seen in `fit`, as in
        `MTONMKLClassifier`. With "shared", only relations with a common function are tried.
    task_column : int or str, optional
        The column of X that names the task.
    n_jobs : int, optional
        Processes over splits and tasks.
    verbose : int
        Show a progress bar, where standard error is a terminal.
    random_state : int, RandomState or None
        Of the folds and of thinning. Results are the same for the same integer.

    Attributes
    ----------
    best_estimator_ : MTONMKLClassifier or MTONMKLRegressor
        The chosen model, fitted to all rows.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its mean score over the splits.
    best_index_ : int
        Its place in `cv_results_`.
    best_task_scores_ : dict
        Its score of every task over the splits, NaN where no split tests the task.
    cv_results_ : dict of arrays
        One entry for every model that was evaluated, as in scikit-learn, with more columns: `kind`,
        the `round` of the race it joined in, `n_splits` it was evaluated on, `status`, `max_gap`,
        and ``mean_test_score_<task>`` for every task. Scores of splits that a model was not
        evaluated on are NaN; such a model ranks behind all that saw every split.
    n_splits_ : int
        Number of splits.
    """

    _parameter_constraints: dict[str, Any] = {
        "kernels": "no_validation",
        "relation": [TaskRelation, str, list, tuple, None],
        "task_groups": [TaskRelation, Mapping, list, tuple, None],
        "formulation": [StrOptions({"corrected", "normalized"}), None],
        "cv": "no_validation",
        "scoring": "no_validation",
        "average": [StrOptions({"tasks", "samples"})],
        "grid": [StrOptions({"fast", "full"}), dict],
        "max_samples": [Interval(Integral, 2, None, closed="left"), None],
        "missing": [StrOptions({"error", "indicator"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "unseen_task": [StrOptions({"warn", "shared", "error"})],
        "task_column": [Integral, str, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    kernels: Any
    relation: Any
    task_groups: Any
    formulation: str | None
    cv: Any
    scoring: Any
    average: str
    grid: Any
    max_samples: int | None
    missing: str
    tol: float
    unseen_task: str
    task_column: int | str | None
    n_jobs: int | None
    verbose: int
    random_state: Any

    #: What a dictionary as `grid` may name.
    _choices: tuple[str, ...]

    @abstractmethod
    def _tuned(self) -> Any:
        """Return the estimator to tune, with the parameters that are not chosen."""

    @abstractmethod
    def _losses(self, grid: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Return the losses to try, by the word for each."""

    def _scorer(self) -> Any:
        """Return what models are compared by, None for that of `score`."""
        return self.scoring

    def _fixed(self) -> dict[str, Any]:
        """Return the parameters of the estimator that are not chosen."""
        return {
            "kernels": "auto" if self.kernels is None else self.kernels,
            "missing": self.missing,
            "tol": self.tol,
            "task_column": self.task_column,
        }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, *, task: Any = None, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Choose a model by cross-validation, and fit it to all rows.

        Parameters
        ----------
        X, y, task, sample_weight
            As `MTONMKLClassifier.fit` takes them.
        groups : array-like of shape (n_samples,), optional
            Rows with the same label stay on the same side of every split.

        Returns
        -------
        self
        """
        y = y if y is None else as_target(y)
        names, ledger = self._opened(X, y, task, groups, sample_weight)
        sizes = [len(one.train.rows) for part in ledger.parts for one in part]
        n_rows = _num_samples(X) * (len(names) if np.asarray(y).ndim > 1 else 1)
        n_trained = round(sum(sizes) / ledger.n_splits)
        candidates = candidates_of(
            self, len(names), n_trained, n_rows, n_alone=round(float(np.mean(sizes)))
        )
        params, n_points = ledger.estimator.get_params(deep=False), _num_samples(X)

        def fits(settings: Mapping[str, Any]) -> bool:
            whole = {**params, **settings}
            return not ledger.estimator._why_too_large(whole, n_rows, n_points)

        candidates = replace(candidates, fits=fits)
        try:
            best = chosen(ledger, candidates.different(ledger.kernels))
        finally:
            ledger.progress.close()
        self._keep(ledger, best, names)
        self.best_params_ = candidates.for_all_rows(best.kind, best.level)
        gaps = self.cv_results_["max_gap"]
        warn_of_gaps(gaps, np.full(len(gaps), ledger.estimator.tol))
        model = self._tuned().set_params(**self.best_params_, unseen_task=self.unseen_task)
        model._validate_params()
        self.best_estimator_ = model._fit(X, y, task, sample_weight, best.starts)
        return self

    def _opened(
        self, X: Any, y: Any, task: Any, groups: Any, sample_weight: Any
    ) -> tuple[list[Hashable], Ledger]:
        """Return the names of the tasks, and a ledger of models on the splits of the table."""
        random_state = check_random_state(self.random_state)
        rough = self._tuned().set_params(tol=max(self.tol, _ROUGH))
        scorer = TaskScorer(self._scorer())
        scorer.check(self)
        splitter = self._splitter(X, random_state)
        table = (X, y, task, groups, sample_weight)
        tasks, parts = split_rows(rough, splitter, *table, self.max_samples, random_state)
        pooled = scorer.scoring is None and not is_classifier(self)
        judged = (scorer, self.average, pooled)
        progress = Progress(self.verbose, _ABOUT)
        ledger = Ledger(rough, parts, len(tasks), *judged, self.n_jobs, progress)
        return [one.name for one in tasks], ledger

    def _splitter(self, X: Any, random_state: Any) -> Any:
        """Return what `cv` stands for; an integer, folds of rows that are mixed."""
        if not isinstance(self.cv, (int, np.integer)) or isinstance(self.cv, bool):
            return self.cv
        n_rows = _num_samples(X)
        if n_rows < 2:
            raise ValueError(f"X holds n_samples={n_rows} rows: nothing can be held out to test.")
        folds = min(int(self.cv), n_rows)
        return TaskStratifiedKFold(folds, shuffle=True, random_state=random_state)

    def _keep(self, ledger: Ledger, best: Entry, names: list[Hashable]) -> None:
        """Store what was found."""
        self._summary = summary_of(ledger, best, is_classifier(self))
        self.cv_results_ = race_results(ledger, names)
        self.best_index_ = list(ledger.entries.values()).index(best)
        self.best_score_ = ledger.mean(best)
        scores = ledger.by_task(best).tolist()
        self.best_task_scores_ = dict(zip(names, scores, strict=True))
        self.n_splits_ = ledger.n_splits

    def summary(self) -> str:
        """Say in words what was chosen, and how it compares with what was not.

        Returns
        -------
        str
            What was chosen; the best model of another kind; the best one in which every task
            stands alone; what sits at an end of its path; and how much was tried.
        """
        check_is_fitted(self)
        return self._summary

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._tuned())
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        return tags
