"""Models of rows on several levels: all rows, those of a group of tasks, of a task, an occasion."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.additive import (
    AdditiveFunction,
    Scaled,
    judge_ranges,
    make_level,
    varies_within,
)
from kernelhood.estimators.landmark_function import (
    LandmarkFunction,
    Learned,
    ManyRowsData,
    approximation,
    check_dense,
    learn_from_all,
    most_landmarks,
    some_rows,
)
from kernelhood.estimators.model_choice import Fit
from kernelhood.estimators.reading import (
    ONLY_TASK,
    check_task,
    known_tasks,
    missing,
    some_of,
    take_column,
    unseen_tasks,
)
from kernelhood.estimators.training_rows import TrainingRows, same_events, tiled, unfolded
from kernelhood.estimators.trust import Trusted
from kernelhood.kernels.columns import Column, as_pandas
from kernelhood.kernels.terms import TermBank
from kernelhood.operators import Landmarks
from kernelhood.parallel import few_blas_threads
from kernelhood.relations import TaskGroups
from kernelhood.solvers.gaussian import Level, Point, Terms
from kernelhood.solvers.many_rows import ManyRows

#: With more rows than this kernels are known at landmarks, and so many rows are the first to teach.
_FEW_ROWS, _FIRST_ROWS = 3_000, 1_500
#: The scale of the prior on variances, in variances of the targets.
PRIOR = 0.01
#: What single values of a panel's time may explain without a warning.
_SHOCKS = 0.02
#: What share of rows may leave the range of a column without a warning.
_FAR = 0.05


class Posed(NamedTuple):
    """What a likelihood is given.

    Attributes
    ----------
    rows : TrainingRows
        All rows.
    E : ndarray of shape (n, n_features)
        Their features.
    scaled : Scaled
        The terms.
    terms : Terms
        Their values at the rows that are learned from first.
    levels : list of Level
        The groups of all rows.
    some : ndarray of int
        The rows that are learned from first.
    """

    rows: TrainingRows
    E: Array
    scaled: Scaled
    terms: Terms
    levels: list[Level]
    some: Indices


class MultilevelModel(Trusted, BaseEstimator, ABC):
    """What regression and classification have in common: rows, levels, summaries."""

    _parameter_constraints: dict[str, Any] = {
        "relation": [StrOptions({"auto"}), TaskGroups, dict],
        "prior": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "operator": [StrOptions({"auto", "dense", "landmarks"}), Landmarks],
        "unseen_task": [StrOptions({"warn", "shared", "error"})],
        "task_column": [Integral, str, None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    relation: Any
    prior: str | float
    operator: Any
    unseen_task: str
    task_column: int | str | None
    tol: float
    max_iter: int
    verbose: int | bool

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, *, task: Any = None, occasion: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn what all tasks have in common and what each has for itself.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows of all tasks. A data frame may hold numbers, categories, text of few values, dates
            and missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks)
            Targets. Rows without one are left out. Two dimensions mean one task for each column.
        task : array-like of shape (n_samples,), optional
            The task of every row: numbers or text.
        occasion : array-like of shape (n_samples,) or str, optional
            What rows of different tasks may share by chance, such as the week; or the name of the
            column of X that holds it, which is then not a feature. It is a crossed random effect,
            and left out of predictions.
        sample_weight : array-like of shape (n_samples,), optional
            The precision of every row, relative to the others.

        Returns
        -------
        self
        """
        rows = self._read(X, y, task, occasion, sample_weight)
        self._told: set[str] = set()
        bank = TermBank(rows.X, rows.names)
        E = bank.encode(rows.X)
        some = self._learned_from(rows, bank)
        scaled, terms = Scaled.at(bank, E[some])
        levels, names = self._levels(rows, scaled, terms, some)
        with few_blas_threads(len(E)):
            learned = self._solve(Posed(rows, E, scaled, terms, levels, some))
        self._store(learned, [names[place] for place in learned.kept], E)
        self._look_for_shocks(rows)
        return self

    def _learned_from(self, rows: TrainingRows, bank: TermBank) -> Indices:
        """Return the rows whose kernel matrices are held: all, if they are few."""
        n, operator = len(rows.y), self.operator
        if operator == "dense" or (operator == "auto" and n <= _FEW_ROWS):
            check_dense(n, len(bank.radial))
            return np.arange(n)
        count = operator.count if isinstance(operator, Landmarks) else None
        self._most_landmarks = most_landmarks(n, bank.n_features, count)
        task, occasion = rows.task_numbers, rows.occasion_numbers
        return some_rows(task, occasion, _FIRST_ROWS)

    def _with_all_rows(
        self, posed: Posed, learned: Learned, z: Array, noise: Array, fit: Fit
    ) -> Learned:
        """Return what all rows teach, if some have taught so much."""
        if len(posed.some) == len(posed.E) and self.operator in ("auto", "dense"):
            return learned
        levels = [posed.levels[place] for place in learned.kept]
        rows = ManyRowsData(posed.E, levels, z, noise, self.levels_.index("own"))
        return learn_from_all(learned, rows, fit, self.tol, self._most_landmarks)

    @abstractmethod
    def _targets(self, y: Any) -> AnyArray:
        """Return targets of one or two dimensions, or raise."""

    @abstractmethod
    def _solve(self, posed: Posed) -> Learned:
        """Return what was found, the terms, and the levels that it uses."""

    def _read(self, X: Any, y: Any, task: Any, occasion: Any, sample_weight: Any) -> TrainingRows:
        """Return the rows with a target and a weight."""
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: {type(self).__name__} "
                "learns from targets."
            )
        X, task = self._read_rows(X, task, reset=True)
        self._occasion_column: str | None = None
        if isinstance(occasion, str):
            if not hasattr(X, "columns") or occasion not in X.columns:
                raise ValueError(f"occasion names {occasion!r}, which is not a column of X.")
            self._occasion_column = occasion
            X, occasion = take_column(X, occasion)
        y = self._targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        check_consistent_length(X, y)
        self._is_wide, self._given = y.ndim == 2, y.shape
        if occasion is not None:
            occasion = check_task(occasion, len(y), "occasion")
        if y.ndim == 2:
            if task is not None:
                raise ValueError(
                    "y of two dimensions holds one task per column: leave out task and task_column."
                )
            observed = np.flatnonzero(~missing(y).T.ravel())
            X, y, weight, task, occasion = unfolded(X, y, weight, occasion)
        elif task is None:
            task = np.full(len(y), ONLY_TASK, dtype=object)
        rows = TrainingRows.of(X, y, weight, task, occasion)
        self._place = rows.place if not self._is_wide else observed[rows.place]
        return rows

    def _read_rows(self, X: Any, task: Any, *, reset: bool) -> tuple[Any, AnyArray | None]:
        """Return features and the task of every row, from wherever they were given."""
        if hasattr(X, "collect") and not hasattr(X, "shape"):
            raise TypeError(f"X is a {type(X).__name__}, which holds no rows yet: collect() it.")
        if type(X) is dict or (hasattr(X, "to_frame") and not hasattr(X, "columns")):
            raise TypeError(f"X is a {type(X).__name__}: give a data frame, or an array of rows.")
        if hasattr(X, "columns"):
            X = as_pandas(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0:
                raise ValueError("X holds no rows.")
        else:
            if sparse.issparse(X):
                X = X.toarray()
            X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
        if self.task_column is not None:
            if task is not None:
                raise ValueError("task and task_column both name the tasks: give only one of them.")
            X, task = take_column(X, self.task_column)
        return X, None if task is None else check_task(task, len(X))

    def _look_for_shocks(self, rows: TrainingRows) -> None:
        """Warn if rows of one value of a column seem to share a shock."""
        name = rows.panel_column() if rows.occasion is None else None
        rough = {f"{name} (as category)", f"{name} (fine curve)"}
        share = sum(
            one for one, level, term in self.shares() if level == "common" and term in rough
        )
        if name is not None and share > _SHOCKS:
            warnings.warn(
                f"nearly every value of column {name!r} occurs once in each task, and single "
                f"values explain {100.0 * share:.0f} % of the variance: if that is chance, such as "
                f"the weather of a day, fit with occasion={name!r} or with its values.",
                UserWarning,
                stacklevel=3,
            )

    def _level_labels(self, task: AnyArray) -> tuple[list[AnyArray], list[str]]:
        """Return the labels of the levels of rows, and how the levels are called."""
        labels, names = [np.full(len(task), "all", dtype=object)], ["common"]
        groupings = self._groupings()
        for place, grouping in enumerate(groupings):
            lacking = [name for name in dict.fromkeys(task.tolist()) if name not in grouping]
            if lacking:
                raise ValueError(f"relation has no group for the tasks {some_of(lacking)}.")
            own = [grouping[name] for name in task.tolist()]
            labels.append(np.array(own, dtype=object))
            names.append("group" if len(groupings) == 1 else f"group {place + 1}")
        return [*labels, task], [*names, "own"]

    def _groupings(self) -> list[dict[Hashable, str]]:
        if self.relation == "auto":
            return []
        relation = self.relation
        if isinstance(relation, dict):
            relation = TaskGroups(relation)
        found = []
        for grouping in relation.groupings:
            several = [task for task, own in grouping.items() if len(own) != 1]
            if several:
                raise ValueError(
                    f"relation has more than one group for the tasks {some_of(several)}: give "
                    "each a single one, or several groupings."
                )
            found.append({task: str(next(iter(own))) for task, own in grouping.items()})
        return found

    def _levels(
        self, rows: TrainingRows, scaled: Scaled, terms: Terms, some: Indices
    ) -> tuple[list[Level], list[list[Hashable]]]:
        """Return the levels with the terms that they have, and the names of their groups."""
        useful = np.isfinite(scaled.scale)
        levels, names = [], []
        given, self.levels_ = self._level_labels(rows.task)
        for place, labels in enumerate(given):
            level, own = make_level(labels, useful)
            has = useful & varies_within(terms, level.groups[some])
            has[0] = place > 0 and len(own) > 1  # the common level is the intercept
            if place > 0 and len(own) == 1:  # what a single task has is what all have
                has = np.zeros_like(has)
            levels.append(Level(level.groups, has))
            names.append(own)
        if rows.occasion is not None:
            constant = np.zeros(terms.n_terms, dtype=np.bool_)
            constant[0] = True
            level, own = make_level(rows.occasion, constant)
            levels.append(level)
            names.append(own)
            self.levels_.append("occasion")
        return levels, names

    @staticmethod
    def _events(posed: Posed, z: Array) -> Indices:
        """Return the event of the rows that are learned from: their occasion, if it is known."""
        occasion = posed.rows.occasion_numbers
        if occasion is not None:
            return occasion[posed.some]
        return same_events(posed.E[posed.some], z, posed.rows.task_numbers[posed.some])

    @property
    def _tau(self) -> float:
        return PRIOR if self.prior == "auto" else float(self.prior)

    def _store(self, learned: Learned, names: list[Any], E: Array) -> None:
        found, scaled, point = learned.found, learned.scaled, learned.found.point
        kind = LandmarkFunction if isinstance(point.model, ManyRows) else AdditiveFunction
        self._function: AdditiveFunction = kind.of(scaled, names, E, point)
        self._candidates = np.array([level.terms for level in point.model.levels])
        judge_ranges(self._function, point)
        self.levels_ = self.levels_[: len(names)]
        self.tasks_ = list(names[self.levels_.index("own")])
        self.weights_ = self._function.weights
        self._variances = _fitted_variances(point)
        self.terms_ = scaled.bank.names
        self.log_evidence_ = point.log_evidence
        self.dual_gap_ = point.gap if found.gap is None else found.gap
        self.approximation_ = approximation(point, scaled)
        self.n_landmarks_ = scaled.bank.n_landmarks
        self.n_iter_ = found.n_iter
        if self.verbose:
            print(
                f"{type(self).__name__}: {len(E)} rows, {len(point.theta)} weights, "
                f"{self.n_iter_} covariances factorised, gap {self.dual_gap_:.1g}"
            )
        if self.dual_gap_ > self.tol and self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"the weights are at a gap of {self.dual_gap_:.1g} after {self.n_iter_} factors: "
                f"raise max_iter to {4 * self.max_iter}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _places(self, X: Any, task: Any) -> tuple[Any, Indices]:
        """Return rows and their groups for predictions."""
        X, labels = self._read_rows(X, task, reset=False)
        if self._occasion_column is not None:
            X, _ = take_column(X, self._occasion_column)
        n = len(X)
        if labels is None and not self._is_wide:
            if len(self.tasks_) > 1:
                raise ValueError(
                    "task is needed: the model knows the tasks "
                    f"{some_of(self.tasks_)}; give one for every row."
                )
            labels = np.full(n, self.tasks_[0], dtype=object)
        if labels is None:
            names = np.repeat(np.array(self.tasks_, dtype=object), n)
            return tiled(X, len(self.tasks_)), self._level_places(names)
        self._look_at_unseen(labels)
        self._look_at_ranges(X)
        return X, self._level_places(labels)

    def _level_places(self, task: AnyArray) -> Indices:
        groupings = self._groupings()
        labels: list[AnyArray | None] = [np.full(len(task), "all", dtype=object)]
        for grouping in groupings:
            own = [grouping.get(name) for name in task.tolist()]
            labels.append(np.array(own, dtype=object))
        labels.append(task)
        labels += [None] * (len(self.levels_) - len(labels))
        return self._function.places(labels, len(task))

    def _look_at_unseen(self, labels: AnyArray) -> None:
        if self.unseen_task == "error":
            remedy = "unseen_task='shared' predicts them by what all tasks have in common."
            known_tasks(labels, self.tasks_, remedy)
        new = unseen_tasks(labels, self.tasks_)
        if new and self.unseen_task == "warn":
            warnings.warn(
                f"not seen in fit: {'task' if len(new) == 1 else 'tasks'} {some_of(new)}; "
                "predicted by what all tasks have in common. unseen_task='shared' does so without "
                "a warning.",
                UserWarning,
                stacklevel=4,
            )

    def _look_at_ranges(self, X: Any) -> None:
        told: set[str] = getattr(self, "_told", set())
        outside = self._function.scaled.bank.outside(X)
        far = {name: one for name, one in outside.items() if one > _FAR and name not in told}
        if far:
            told.update(far)
            self._told = told
            name, share = max(far.items(), key=lambda pair: pair[1])
            warnings.warn(
                f"column {name!r} leaves its training range by more than half of it in "
                f"{100.0 * share:.0f} % of the rows; predictions there are extrapolations.",
                UserWarning,
                stacklevel=4,
            )

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_told", "_known_scores")
        return {k: value for k, value in super().__getstate__().items() if k not in left_out}

    def _as_given(self, values: Array) -> Array:
        """Return values of training rows where their targets were given, NaN for the others."""
        found = np.full(int(np.prod(self._given)), np.nan)
        found[self._place] = values
        return found.reshape(self._given[::-1]).T

    @property
    def columns_(self) -> list[Column]:
        """How each column is treated; every one has `name`, `features` and `describe()`."""
        check_is_fitted(self)
        return self._function.scaled.bank.columns

    def shares(self) -> list[tuple[float, str, str]]:
        """Return how the variance of the targets is divided, the largest part first.

        Returns
        -------
        list of (share, level, term)
            The variance of each term's fitted values at the training rows, and that of the noise,
            as shares of their sum. The level is "common", "group", "own", "occasion" or "noise".
        """
        check_is_fitted(self)
        parts = [
            (float(variance), level, term)
            for level, row in zip(self.levels_, self._variances, strict=True)
            for term, variance in zip(self.terms_, row, strict=True)
        ]
        parts.append((self._noise_variance, "noise", ""))
        total = sum(variance for variance, _, _ in parts) or 1.0
        return sorted(((one / total, level, term) for one, level, term in parts), reverse=True)

    @property
    def _noise_variance(self) -> float:
        return float(1.0 / np.mean(1.0 / self._function.noise))

    def summary(self, most: int = 8) -> str:
        """Return the model in words: which terms explain how much of the variance, and its error.

        Parameters
        ----------
        most : int
            Largest number of terms.

        Returns
        -------
        str
        """
        parts = [one for one in self.shares() if one[0] >= 0.005]
        tasks = "1 task" if len(self.tasks_) == 1 else f"{len(self.tasks_)} tasks"
        lines = [f"{type(self).__name__}: {tasks}, {len(self._function.E)} rows"]
        words = {"common": "common:", "own": "of each task:", "occasion": "of the occasion:"}
        for share, level, term in parts[:most]:
            what = "noise" if level == "noise" else f"{words.get(level, f'of the {level}:')} {term}"
            lines.append(f"{100.0 * share:5.0f} %  {what}")
        rest = sum(share for share, _, _ in parts[most:])
        if rest > 0.005:
            lines.append(f"{100.0 * rest:5.0f} %  {len(parts) - most} smaller terms")
        lines.append(self._left_out_scores())
        return "\n".join(lines)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _fitted_variances(point: Point) -> Array:
    """Return the variance of every term's values at the rows, of shape (n_levels, n_terms)."""
    values = [np.var(own * point.theta, axis=0) for own in point.products]
    return point.model.by_level(np.mean(values, axis=0))
