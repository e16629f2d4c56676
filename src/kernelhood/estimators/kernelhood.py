"""The two estimators without tuning: an additive model of all tasks, learned by its evidence.

    y = common function + function of the group + function of the task + occasion + noise

Every function is a sum of terms (see `kernelhood.kernels.terms`). The variance of every term on
every level is learned by the likelihood of the targets; nothing is searched for.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags, column_or_1d
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.intervals import IntervalModel
from kernelhood.estimators.landmark_function import Learned
from kernelhood.estimators.model_choice import (
    Fit,
    banks,
    best_logits,
    best_terms,
    not_worse_than_levels,
    start_of,
    with_a_power,
    with_or_without_occasions,
    with_terms,
)
from kernelhood.estimators.multilevel import MultilevelModel, Posed
from kernelhood.estimators.reading import as_target, missing, numeric_target, some_of
from kernelhood.estimators.training_rows import Units, has_outliers
from kernelhood.operators import Landmarks
from kernelhood.solvers.gaussian import Model
from kernelhood.solvers.likelihoods import (
    Found,
    averaged,
    fit_gaussian,
    fit_labels,
    fit_logistic,
    fit_student_t,
    settle,
    settled_logits,
)


class KernelhoodRegressor(RegressorMixin, IntervalModel):
    r"""Regression for many small, related tables, without anything to tune.

    The model is a sum of smooth functions of the columns, some common to all tasks and some of each
    task's own. Their variances :math:`\theta` minimise

    .. math:: -\log p(y \mid \theta) + \sum_j \log(1 + \theta_j / \tau):

    they maximise the evidence, with a Cauchy prior on standard deviations.

    Parameters
    ----------
    relation : "auto", dict of task to group, or TaskGroups
        What tasks have in common. "auto" is a function of all tasks and one of each; with groups,
        tasks of a group have one in common, too.
    likelihood : {"auto", "gaussian", "student_t"}
        The noise. "student_t" is for outliers; "auto" takes it if a few targets are more than a
        hundred median deviations off.
    target_power : "auto" or float
        A power of the targets in which the model is additive, 0 for logarithms; targets have to be
        positive. "auto" takes one only if the evidence and left-out rows agree, and none with
        Student's t.
    operator : {"auto", "dense", "landmarks"} or Landmarks
        How functions of all columns are computed. "dense" holds matrices between all rows.
        "landmarks" approximates these functions by their values at some rows, so that time and
        memory are linear in the number of rows; ``Landmarks(count)`` says how many at most.
        "auto" takes landmarks for more than 3,000 rows.
    prior : "auto" or float
        The scale of the prior, as a share of the targets' variance. Smaller ones switch more
        terms off.
    unseen_task : {"warn", "shared", "error"}
        What `predict` does with a task that was not seen in `fit`.
    task_column : int or str, optional
        The column of X that holds the task, in the place of `task`.
    tol : float
        Relative gap of the weights to reach.
    max_iter : int
        Largest number of covariance matrices to factorise.
    verbose : bool or int
        Whether to print a line about the fit.

    Attributes
    ----------
    tasks_ : list
        The tasks.
    terms_, levels_ : list of str
        Names of the columns and rows of `weights_`.
    weights_ : ndarray of shape (n_levels, n_terms)
        Variances of all terms, in variances of the targets.
    noise_ : float
        Standard deviation of the noise, in units of the targets, or of their power.
    occasions_matter_ : bool
        After a fit with `occasion`, whether it is part of the model. It is left out if blocks of
        left-out occasions are clearly better predicted without it.
    target_power_ : float
        The power that is used.
    log_evidence_ : float
        Logarithm of the likelihood, in units of the targets.
    dual_gap_ : float
        Relative gap of the weights: how far they are from a stationary point.
    n_iter_ : int
        Covariance matrices factorised.
    approximation_ : float
        The share of the variance of functions of all columns that landmarks keep; 1 without them.
    n_landmarks_ : int
        How many landmarks there are; 0 without any.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, if X was a data frame.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> rng = np.random.default_rng(0)
    >>> shop, price = np.repeat(["a", "b", "c"], 20), rng.uniform(1, 3, size=60)
    >>> sold = 10 / price + np.repeat([0.0, 2.0, 5.0], 20) + rng.normal(scale=0.1, size=60)
    >>> model = kh.KernelhoodRegressor().fit(price[:, None], sold, task=shop)
    >>> model.predict([[2.0], [2.0]], task=["a", "c"]).round(0)
    array([ 5., 10.])
    """

    _parameter_constraints: dict[str, Any] = {
        **MultilevelModel._parameter_constraints,
        "likelihood": [StrOptions({"auto", "gaussian", "student_t"})],
        "target_power": [StrOptions({"auto"}), Real],
    }

    def __init__(
        self,
        *,
        relation: Any = "auto",
        likelihood: str = "auto",
        target_power: str | float = "auto",
        prior: str | float = "auto",
        operator: str | Landmarks = "auto",
        unseen_task: str = "warn",
        task_column: int | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 100,
        verbose: int | bool = 0,
    ) -> None:
        self.relation = relation
        self.likelihood = likelihood
        self.target_power = target_power
        self.prior = prior
        self.operator = operator
        self.unseen_task = unseen_task
        self.task_column = task_column
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _targets(self, y: Any) -> AnyArray:
        return numeric_target(as_target(y, allow_none=True), self, allow_missing=True)

    def _solve(self, posed: Posed) -> Learned:
        rows, some = posed.rows, posed.some
        robust = self.likelihood == "student_t" or (
            self.likelihood == "auto" and has_outliers(rows.y)
        )
        fit = fit_student_t if robust else fit_gaussian
        y, noise = rows.y, (rows.weight.mean() / rows.weight)[:, None]
        power = self._power(y)
        self._units = Units.robust(y, power) if robust else Units.of(y, rows.weight, power)
        levels = [level.take(some) for level in posed.levels]
        few = Model(posed.terms, levels, self._units.to(y[some])[:, None], noise[some], self._tau)
        event = self._events(posed, few.z)
        few = with_terms(few, best_terms(few, banks(posed.scaled.bank), event, fit, self.tol))
        found, kept = self._choose(few, y[some], event, fit)
        learned = Learned(found, posed.scaled, kept)
        z = self._units.to(y)[:, None]
        learned = self._with_all_rows(posed, learned, z, noise, fit)
        self.noise_ = float(np.sqrt(learned.found.point.theta[-1])) * self._units.size
        self.target_power_, self._row_noise = self._units.power, noise[:, 0]
        self._log_slope = self._units.log_slope(y)
        return learned

    def _choose(self, model: Model, y: Array, event: Indices, fit: Fit) -> tuple[Found, list[int]]:
        """Return the best of a few models, all of them compared without a search."""
        tol, max_iter = self.tol, self.max_iter
        found = fit(model, start_of(model, tol), tol, max_iter)
        kept = list(range(len(model.levels)))
        if self.levels_[-1] == "occasion":
            found, self.occasions_matter_ = with_or_without_occasions(found, fit, tol, max_iter)
            kept = kept if self.occasions_matter_ else kept[:-1]
        if fit is fit_gaussian:  # values of J are those of the same noise
            found = not_worse_than_levels(found, fit, tol, max_iter)
            if self.target_power == "auto":
                found, self._units = with_a_power(found, self._units, y, event, fit, tol, max_iter)
        return found, kept

    def _power(self, y: Array) -> float:
        if self.target_power == "auto":
            return 1.0
        if self.target_power != 1.0 and y.min() <= 0.0:
            raise ValueError(
                f"target_power={self.target_power!r} needs positive targets, and y holds "
                f"{y.min():g}: use target_power=1."
            )
        return float(self.target_power)

    def _store(self, learned: Learned, names: list[Any], E: Array) -> None:
        super()._store(learned, names, E)
        self.log_evidence_ += self._log_slope

    def predict(self, X: Any, *, task: Any = None, return_std: bool = False) -> Any:
        """Return the expected target of every row.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        return_std : bool
            Whether to return the standard deviation of a new target, too.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y
            The expectations.
        ndarray of the same shape
            With `return_std`, the standard deviations.
        """
        check_is_fitted(self)
        rows, places = self._places(X, task)
        mean = self._function.mean(rows, places)[:, 0]
        variance = None
        if return_std or self._units.power != 1.0:
            variance = self._function.variance(rows, places)[:, 0]
            variance = variance + self._noise_variance_of_a_row
        found = self._folded(self._units.back(mean, variance))
        if not return_std or variance is None:
            return found
        return found, self._folded(self._units.spread(mean, variance))

    def _left_out(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        expected, spread = self._expected(mean, variance, np.arange(len(mean)))
        return self._as_given(self._truth - expected), self._as_given(spread)

    def _losses(self, mean: Array, variance: Array, rows: Indices) -> Array:
        return np.asarray((self._truth[rows] - self._expected(mean, variance, rows)[0]) ** 2)

    def _expected(self, mean: Array, variance: Array, rows: Indices) -> tuple[Array, Array]:
        """Return expectations and deviations of training rows whose functions are given."""
        variance = variance[:, 0] + self._noise_variance_of_a_row * self._row_noise[rows]
        back, spread = self._units.back, self._units.spread
        return back(mean[:, 0], variance), spread(mean[:, 0], variance)

    @property
    def _truth(self) -> Array:
        """The targets of the training rows."""
        return self._units.back(self._function.targets[:, 0], None)

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the share of the targets' variance that predictions explain.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y
            Targets; rows without one are left out.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        found, truth = self.predict(X, task=task), self._targets(y)
        weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
        if truth.ndim == 2:
            weight = np.repeat(weight, truth.shape[1])
        known = ~np.isnan(truth.ravel())
        return float(
            r2_score(truth.ravel()[known], found.ravel()[known], sample_weight=weight[known])
        )

    def _folded(self, values: Array) -> Array:
        return values.reshape(len(self.tasks_), -1).T if self._is_wide else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class KernelhoodClassifier(ClassifierMixin, MultilevelModel):
    r"""Classification for many small, related tables, without anything to tune.

    As `KernelhoodRegressor`, with functions that are logits, one for each class if there are more
    than two. Probabilities come from their posterior. If every task has two classes and not all
    have the same, the function of a task tells its own two apart.

    Parameters
    ----------
    relation : "auto", dict of task to group, or TaskGroups
        What tasks have in common. "auto" is a function of all tasks and one of each; with groups,
        tasks of a group have one in common, too.
    class_weight : dict or "balanced", optional
        Weights of the classes.
    operator : {"auto", "dense", "landmarks"} or Landmarks
        How functions of all columns are computed, as in `KernelhoodRegressor`.
    prior : "auto" or float
        The scale of the prior. Smaller ones switch more terms off.
    unseen_task : {"warn", "shared", "error"}
        What `predict` does with a task that was not seen in `fit`.
    task_column : int or str, optional
        The column of X that holds the task, in the place of `task`.
    tol : float
        Relative gap of the weights to reach.
    max_iter : int
        Largest number of covariance matrices to factorise.
    verbose : bool or int
        Whether to print a line about the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    tasks_ : list
        The tasks.
    terms_, levels_ : list of str
        Names of the columns and rows of `weights_`.
    weights_ : ndarray of shape (n_levels, n_terms)
        Variances of all terms, of logits.
    log_evidence_ : float
        A lower bound of the logarithm of the likelihood, up to a constant.
    dual_gap_ : float
        Relative gap of the weights: how far they are from a stationary point.
    n_iter_ : int
        Covariance matrices factorised.
    approximation_ : float
        The share of the variance of functions of all columns that landmarks keep; 1 without them.
    n_landmarks_ : int
        How many landmarks there are; 0 without any.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, if X was a data frame.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> rng = np.random.default_rng(0)
    >>> shop, price = np.repeat(["a", "b"], 40), rng.uniform(1, 3, size=80)
    >>> bought = np.where(price + np.repeat([0.0, 0.5], 40) < 2.2, "yes", "no")
    >>> model = kh.KernelhoodClassifier().fit(price[:, None], bought, task=shop)
    >>> model.predict([[1.9], [1.9]], task=["a", "b"]).tolist()
    ['yes', 'no']
    """

    _parameter_constraints: dict[str, Any] = {
        **MultilevelModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        relation: Any = "auto",
        class_weight: Any = None,
        prior: str | float = "auto",
        operator: str | Landmarks = "auto",
        unseen_task: str = "warn",
        task_column: int | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 200,
        verbose: int | bool = 0,
    ) -> None:
        self.relation = relation
        self.class_weight = class_weight
        self.prior = prior
        self.operator = operator
        self.unseen_task = unseen_task
        self.task_column = task_column
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _targets(self, y: Any) -> AnyArray:
        values = np.asarray(column_or_1d(y, warn=True))
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise ValueError("Input y contains infinity: leave these rows out.")
        check_classification_targets(values[~missing(values)])
        return values

    def _solve(self, posed: Posed) -> Learned:
        rows, some = posed.rows, posed.some
        self.classes_ = np.unique(rows.y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds the one class {str(self.classes_[0])!r}: at least two classes are needed."
            )
        own = {name: np.unique(rows.y[rows.task == name]) for name in set(rows.task.tolist())}
        self._is_paired = len(self.classes_) > 2 and all(len(two) == 2 for two in own.values())
        if self._is_paired:
            second = np.array([own[name][1] for name in rows.task.tolist()])
            labels = np.where(rows.y == second, 1.0, -1.0)[:, None]
            self._own_classes = own
        else:
            several = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
            labels = np.where(rows.y[:, None] == several, 1.0, -1.0)
        weight = rows.weight * compute_sample_weight(self.class_weight, rows.y)
        noise = (weight.mean() / weight)[:, None]
        levels = [level.take(some) for level in posed.levels]
        model = Model(posed.terms, levels, labels[some], noise[some], self._tau)
        event = self._events(posed, model.z)
        fits = (fit_logistic, fit_labels)
        kept, fit, factor = best_logits(model, banks(posed.scaled.bank), event, fits, self.tol)
        model = with_terms(model, kept)
        found = fit(model, model.start(), self.tol, self.max_iter)
        theta = np.append(factor * found.point.theta[:-1], found.point.theta[-1])
        gap = found.point.gap if found.gap is None else found.gap
        found = Found(settled_logits(model, theta), found.n_iter, gap)
        learned = Learned(found, posed.scaled, list(range(len(levels))))
        return self._with_all_rows(posed, learned, labels, noise, settle)

    def _store(self, learned: Learned, names: list[Any], E: Array) -> None:
        super()._store(learned, names, E)
        if self._is_paired:
            pairs = [self._own_classes[name] for name in self.tasks_]
            self._pairs = np.searchsorted(self.classes_, np.array(pairs))
            del self._own_classes

    def _pairs_of(self, places: Indices) -> Indices:
        """Return the two classes of the task of every row, by number."""
        task = places[self.levels_.index("own")]
        if np.any(task < 0):
            raise ValueError(
                "task holds labels that were not seen in fit: every task has two classes of its "
                f"own, and theirs are not known. Known are {some_of(self.tasks_)}."
            )
        return np.asarray(self._pairs[task])

    @property
    def _noise_variance(self) -> float:
        return float(np.pi**2 / 3.0)  # the variance of the logistic distribution

    def decision_function(self, X: Any, *, task: Any = None) -> Array:
        """Return logits of the probabilities, by which classes are ordered.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes in each task, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        found = self._logits(*self._places(X, task))
        return found[:, 0] if found.shape[1] == 1 else found

    def _logits(self, rows: Any, places: Indices) -> Array:
        mean, variance = self._function.mean(rows, places), self._function.variance(rows, places)
        return averaged(mean, variance)

    def _left_out(self, mean: Array, variance: Array) -> Array:
        found = self._probabilities(expit(averaged(mean, variance)), self._function.groups)
        whole = np.full((self._given[0], found.shape[1]), np.nan)
        whole[self._place] = found
        return whole

    def _losses(self, mean: Array, variance: Array, rows: Indices) -> Array:
        places = self._function.groups[:, rows]
        found = self._probabilities(expit(averaged(mean, variance)), places)
        own = found[np.arange(len(rows)), self._truth[rows]]
        return np.asarray(-np.log(np.maximum(own, 1e-15)))

    @property
    def _truth(self) -> Indices:
        """The classes of the training rows, by number."""
        labels = self._function.targets  # of the sign of the labels
        if labels.shape[1] > 1:
            return np.asarray(np.argmax(labels, axis=1))
        second = (labels[:, 0] > 0.0).astype(np.intp)
        if not self._is_paired:
            return second
        return np.asarray(self._pairs_of(self._function.groups)[np.arange(len(second)), second])

    def predict(self, X: Any, *, task: Any = None) -> AnyArray:
        """Return the most probable class of every row.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows, places = self._places(X, task)
        if self._function.a.shape[1] > 1:
            return np.asarray(self.classes_[np.argmax(self._logits(rows, places), axis=1)])
        # The mean logit has the same sign.
        second = (self._function.mean(rows, places)[:, 0] > 0.0).astype(np.intp)
        if self._is_paired:
            second = self._pairs_of(places)[np.arange(len(second)), second]
        return np.asarray(self.classes_[second])

    def predict_proba(self, X: Any, *, task: Any = None) -> Array:
        """Return the probability of every class.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        rows, places = self._places(X, task)
        return self._probabilities(expit(self._logits(rows, places)), places)

    def _probabilities(self, own: Array, places: Indices) -> Array:
        """Return the probability of every class from that of each function."""
        if own.shape[1] > 1:
            return np.asarray(own / own.sum(axis=1, keepdims=True))
        both = np.column_stack([1.0 - own, own])
        if not self._is_paired:
            return both
        found = np.zeros((len(both), len(self.classes_)))
        np.put_along_axis(found, self._pairs_of(places), both, axis=1)
        return found

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        task : array-like of shape (n_samples,), optional
            The task of every row, as in `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        found = self.predict(X, task=task)
        return float(accuracy_score(y, found, sample_weight=sample_weight))
