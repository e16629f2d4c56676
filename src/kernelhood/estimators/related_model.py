"""The part of MT-ONMKL's estimators that is about tasks that learn from each other."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _clone_parametrized, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators.base import NeighborhoodModel, classifies, method_of
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.formulations import Formulation
from kernelhood.estimators.functions import UNSEEN, RelatedFunctions
from kernelhood.estimators.given_neighborhood import FixedNeighborhood, NearGiven
from kernelhood.estimators.reading import (
    TaskRows,
    as_objects,
    check_task,
    read_points,
    split_by_label,
)
from kernelhood.estimators.related import RelatedMethod
from kernelhood.estimators.targets import targets_type
from kernelhood.inspection.figures import plot_sharing, plot_task_map
from kernelhood.inspection.model import as_table, rademacher_bound
from kernelhood.relations import TaskRelation
from kernelhood.relations.base import unit_diagonal
from kernelhood.solvers.neighborhood import BoundTerms

#: Parameters of earlier versions, and what has taken their place.
REPLACED = {
    "sharing": "relation='functions', or relation='independent' for sharing='weights'",
    "specific_cost": "specific_cost of the relation, as in relation=Mixed(specific_cost=2.0)",
    "n_components": "operator=Landmarks(count)",
    "landmarks": "operator=Landmarks(points=...)",
    "storage": "operator=Dense(dtype=...)",
    "cache_size": "operator=Dense(cache_size=...)",
    "quantile": "loss=Quantile(level) of kernelhood.losses",
    "probability": "KernelhoodClassifier, which has predict_proba",
    "calibration": "KernelhoodRegressor, which has predict_interval",
}


def check_names(names: Any) -> None:
    """Raise a TypeError that says what has taken the place of parameters of earlier versions."""
    for name in names:
        if name in REPLACED:
            raise TypeError(f"the parameter {name!r} is gone: use {REPLACED[name]}.")


@dataclass(kw_only=True, eq=False, repr=False)
class RelatedModel(NeighborhoodModel):
    """Estimators whose tasks may learn from each other, and go on learning.

    Parameters
    ----------
    unseen_task : {"warn", "shared", "error"}
        What to do if a task is to be predicted that was not seen in `fit`. "warn" and "shared"
        predict it by its group, descriptor, neighbours or inputs if the relation can place it by
        these, and otherwise by what all tasks share, with the mean intercept; "warn" then names
        the task in a warning. "error" refuses it. A relation without a common function refuses
        tasks that it cannot place.

    Attributes
    ----------
    bound_terms_ : BoundTerms
        What `rademacher_bound` needs to know of kernels and neighborhoods.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "unseen_task": [StrOptions({"warn", "shared", "error"})],
    }

    eta: float = 16.0
    beta: float | str = "auto"
    formulation: str | Formulation = "normalized"
    relation: Any = "auto"
    neighborhood: Any = None
    radius: float | None = None
    intercept: str = "auto"
    unseen_task: str = "warn"
    operator: Any = "auto"
    missing: str = "error"

    functions_: RelatedFunctions = field(init=False)
    relation_: TaskRelation = field(init=False)
    multiplier_: float = field(init=False)
    _around: Any = field(init=False)

    def __new__(cls, *_: Any, **params: Any) -> Self:
        """Name what has taken the place of parameters of earlier versions."""
        check_names(params)
        new: Self = super().__new__(cls)
        return new

    def __sklearn_clone__(self) -> Self:
        """Keep a fitted model that defines the neighborhoods: its copy would not be fitted."""
        bare = copy.copy(self)
        bare.neighborhood = None
        new: Self = _clone_parametrized(bare)
        new.neighborhood = self.neighborhood
        return new

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn does.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        check_names(params)
        super().set_params(**params)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None, unlabelled: Any = None
    ) -> Self:
        """Learn a kernel and a function for every task.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Training points of all tasks; with `task_column`, one column names the task.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks)
            Targets. Two dimensions mean one task per column on the same points, NaN meaning
            that the target was not observed. With a relation that looks at inputs, such as
            "inputs", NaN in one dimension means the same, and the row counts as unlabelled.
        task : array-like of shape (n_samples,), optional
            The task of every row, any hashable labels.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies C; a sample of weight 2 counts as two samples.
        unlabelled : tuple (X, task), optional
            More points of the tasks, without targets, for a relation that looks at inputs; with
            `task_column`, X alone.

        Returns
        -------
        self
        """
        method = method_of(self)
        assert isinstance(method, RelatedMethod)
        if self.unseen_task == "shared" and not method.stated.common:
            raise ValueError(
                "unseen_task='shared' needs a shared function: use relation='mixed' or "
                f"relation='functions', got relation={self.relation!r}."
            )
        if unlabelled is not None and not method.uses_inputs:
            raise ValueError(
                "unlabelled needs a relation that looks at inputs, such as 'inputs': got "
                f"relation={method.stated!r}."
            )
        return self._fit(X, y, task, sample_weight, unlabelled=unlabelled)

    def _keep_more(
        self, method: Any, kernels: Any, problems: list[TaskProblem], solved: list[TaskSolution]
    ) -> None:
        functions = self.functions_
        self.relation_, self.operator_ = functions.relation, kernels.held_as
        if functions.relation.couples:
            common = [B.is_ones for B in functions.matrices]
            self.shared_weights_ = functions.matrix_weights[common].sum(axis=0)
            self.specific_weights_ = np.maximum(self.weights_ - self.shared_weights_, 0.0)
        self.approximation_ = np.ones(len(functions.bank))
        if functions.expansion is not None:
            self.approximation_ = functions.expansion.approximation
            self.landmarks_ = functions.expansion.landmarks.points
        if isinstance(method, NearGiven):
            self._around = method.around
        if solved[0].multiplier is not None:
            self.multiplier_ = solved[0].multiplier
        self.bound_terms_ = solved[0].bound or self._separate_bound(solved)

    def _separate_bound(self, solved: list[TaskSolution]) -> BoundTerms:
        """Return what the bound needs to know of tasks that were solved one by one."""
        terms = BoundTerms.from_tasks(self.gram_, self.traces_, self.neighborhood_weights_)
        found = [one.neighborhood for one in solved]
        outside = sum(one.outside for one in found if isinstance(one, FixedNeighborhood))
        return terms._replace(excess=terms.excess - 4.0 * outside)

    def predict(self, X: Any, *, task: Any = None, task_features: Any = None) -> AnyArray:
        """Return the prediction for every row.

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
        values, which = self._decision(X, task, _checked_features(task_features))
        return self.targets_.predicted(values, which)

    @available_if(classifies)
    def decision_function(self, X: Any, *, task: Any = None, task_features: Any = None) -> Array:
        """Return the signed decision values; positive ones mean the task's second class.

        If a task has more than two classes, there is a column for each class of the row's task,
        by one-against-one votes and then by confidence; the largest one wins. Columns that a task
        with fewer classes has no use for are minus infinity.

        Parameters
        ----------
        X, task, task_features
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) after a fit with a 2-D y; each with
        one more axis for the classes if there are more than two
        """
        return self._decision(X, task, _checked_features(task_features))[0]

    def adapt(
        self,
        X: Any,
        y: Any,
        *,
        task: Any = None,
        sample_weight: Any = None,
        task_features: Any = None,
    ) -> Self:
        """Learn the part of a new task, or more of an old one, on top of what the others share.

        Kernels, weights, the common function and the functions of other tasks stay as they are,
        and no data of `fit` is needed: the result is that of a fit in which all this is held
        fixed. Another call for the same task starts from the model as `fit` left it.

        Parameters
        ----------
        X, y, sample_weight
            Samples, as in `fit`.
        task : hashable, or array-like of shape (n_samples,)
            The task of all rows or of each one, seen in `fit` or not.
        task_features : mapping of task to anything, optional
            What the relation should know of new tasks, as in `predict`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        features = _checked_features(task_features)
        points, tasks = self._read_new(X, y, task)
        weight = _check_sample_weight(sample_weight, points, dtype=np.float64)
        found = {}
        for one in tasks:
            number = self.tasks_.index(one.name) if one.name in self.tasks_ else UNSEEN
            pairs = self.targets_.pairs(one, weight[one.rows], number)
            found[one.name] = self.functions_.adapt(one.name, points[one.rows], features, pairs)
        known = {**self.functions_.adapted, **found}
        self.functions_ = replace(self.functions_, adapted=known)
        return self

    def _read_new(self, X: Any, y: Any, task: Any) -> tuple[Any, list[TaskRows]]:
        if self._y_is_wide:
            raise ValueError("adapt needs one task for each row: fit with task, not with a 2-D y.")
        if task is not None and (isinstance(task, str) or np.ndim(task) == 0):
            n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
            task = as_objects([task] * n_samples)
        points, labels = read_points(self, X, task, reset=False)
        y = targets_type(type(self)).checked(y, self)
        check_consistent_length(points, y)
        if labels is None:
            if len(self.tasks_) > 1:
                raise ValueError("task is required: the label of the rows, or one for each row.")
            labels = check_task(as_objects([self.tasks_[0]] * len(y)), len(y))
        return points, split_by_label(labels, y)

    def shared_function(self, X: Any) -> Array:
        """Return f_0, what all tasks have in common, with the mean intercept.

        Parameters
        ----------
        X : array-like, CSR matrix or data frame of shape (n_samples, n_features)
            Points, as `predict` takes them.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_pairs) with more than two classes
        """
        check_is_fitted(self)
        self._check_shared("shared_function")
        values = self.functions_.common(read_points(self, X, None, reset=False)[0])
        return self.targets_.restored(values[:, 0] if values.shape[1] == 1 else values, UNSEEN)

    def _check_shared(self, name: str) -> None:
        if not self.relation_.common:
            raise ValueError(
                f"{name} needs a shared function: fit with relation='functions' or a relation such "
                f"as 'mixed', got relation={self.relation!r}."
            )

    def relation_table(self) -> Any:
        """Return the share of each part of the relation and each kernel in the trained functions.

        The shares are those of ``v'Kv``, the squared norm of all functions together: a row for
        each matrix of the relation, such as "common" and "own", a column for each kernel. They add
        up to 1.

        Returns
        -------
        DataFrame, or text if pandas is not installed
        """
        check_is_fitted(self)
        functions, energy = self.functions_, self.functions_.energy
        total = energy.sum()
        shares = energy / total if total > 0.0 else np.zeros_like(energy)
        labels = ["own"]
        if functions.relation.couples:
            labels = functions.relation.labels(len(functions.matrices))[: len(energy)]
        return as_table(shares, labels, functions.kernel_names, "relation")

    def task_similarity(self) -> Array:
        """Return how alike the tasks are as the model learned it, a matrix with a diagonal of ones.

        It is ``sum_r sum_m theta_rm B_r``, each kernel counted by its mean size, scaled to a
        diagonal of ones: the correlation of the functions of two tasks that the model expects.

        Returns
        -------
        ndarray of shape (n_tasks, n_tasks)
        """
        check_is_fitted(self)
        functions = self.functions_
        if not functions.relation.couples:
            return np.eye(len(self.tasks_))
        by_matrix = functions.matrix_weights @ functions.kernel_sizes
        total = np.einsum("r,rst->st", by_matrix, functions.matrices.written())
        return unit_diagonal(total + np.diag(functions.own_weights @ functions.kernel_sizes))

    def plot_task_map(self, *, ax: Any = None) -> Any:
        """Draw how alike the tasks are: a heat map in the order of a tree, and the tree.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        return plot_task_map(self.task_similarity(), self.tasks_, ax=ax)

    def sharing_table(self) -> Any:
        """Return the share of each task's kernel weights that is common to all tasks.

        Returns
        -------
        ndarray of shape (n_tasks, n_kernels)
            mu / (mu + lambda_t) by kernel; NaN if a task does not use a kernel.
        """
        check_is_fitted(self)
        self._check_shared("sharing_table")
        with np.errstate(invalid="ignore"):
            return np.asarray(self.shared_weights_ / self.weights_)

    def plot_sharing(self, *, ax: Any = None) -> Any:
        """Draw for every task how much of each kernel is common and how much its own.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        self._check_shared("plot_sharing")
        names: list[Hashable] = self.tasks_
        kernels = self.functions_.kernel_names
        return plot_sharing(self.shared_weights_, self.specific_weights_, names, kernels, ax=ax)

    def neighborhood_kernel(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the kernel that defines the task's neighborhood.

        It is ``sum_m kappa_t^m k_m``, or the kernel that was given. A matrix that was given comes
        back between the training points of the task; other points see its projection onto the base
        kernels.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            Points; with `task_column`, without that column.
        task : hashable
            One of ``tasks_``.
        """
        self._task_number(task)
        if self.neighborhood is None:
            return super().neighborhood_kernel(X, Z, task)
        found = np.asarray(self._around.between(X, Z, task))
        if not np.isnan(found).any():
            return found
        return np.where(np.isnan(found), super().neighborhood_kernel(X, Z, task), found)

    def rademacher_bound(
        self, rho: float, *, radius: float = 1.0, form: str = "geometric"
    ) -> float:
        """Return the bound on the Rademacher complexity of the learned neighborhood's class.

        Parameters
        ----------
        rho : float
            Squared Frobenius radius of the neighborhood, ``sum_t |K_t - Khat_t|^2 <= rho``.
        radius : float
            R, the bound on ``sum_t |w_t|^2``.
        form : {"geometric", "arithmetic", "printed"}
            The tight form, the looser one of the regulariser, or the printed one, which is larger
            by the square root of the number of tasks.
        """
        check_is_fitted(self)
        n_samples = float(np.sum(self.n_samples_))
        return rademacher_bound(self.bound_terms_, n_samples, rho=rho, radius=radius, form=form)


def _checked_features(features: Any) -> Mapping[Hashable, Any]:
    """Return what is said of new tasks, or raise."""
    if features is not None and not isinstance(features, Mapping):
        raise ValueError(
            "task_features must be a mapping of task to what its relation takes, such as "
            f"{{'Bonn': 'west'}}: got {type(features).__name__}."
        )
    return features or {}
