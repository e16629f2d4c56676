"""Tasks that share functions: f_t = f_0 + g_t + b_t, all tasks solved as one problem."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators._base import MultiTaskKernelModel
from kernelhood.estimators._joint import JointKernels, pair_components
from kernelhood.estimators._problem import TaskProblem, TaskSolution
from kernelhood.kernels import KernelBank
from kernelhood.plotting import plot_sharing

SHARINGS = ("weights", "functions")
_UNSEEN = -1


class FunctionSharing(MultiTaskKernelModel):
    """What an estimator needs to let its tasks share functions.

    Parameters
    ----------
    sharing : {"weights", "functions"}
        What tasks share. "weights" is the paper's model, in which the problem splits into one for
        each task. With "functions" the shared weights multiply the kernel between all samples of
        all tasks, so that f_t = f_0 + g_t + b_t and a task learns from the samples of the others.
    specific_cost : float
        How many times more a specific weight costs than a shared one, at least 1; infinity leaves
        only f_0. A kernel is shared as soon as more than a fraction ``1 / specific_cost`` of the
        tasks, by samples, wants it. Only for shared functions.
    intercept : {"task", "common"}
        Whether every task has an intercept of its own. Only for shared functions; tasks that share
        weights have their own.
    unseen_task : {"error", "shared"}
        What to do when a task is to be predicted that was not seen in `fit`: refuse, or predict it
        by the shared function with the mean intercept.
    cache_size : float
        The largest stack of kernel matrices between the samples of all tasks to hold, in
        megabytes; larger ones are evaluated block by block whenever they are needed.
    storage : {"float64", "float32"}
        Type of the kernel values that are kept between samples of all tasks. Objective and gap are
        computed in double precision either way.
    """

    _parameter_constraints: dict[str, Any] = {
        "sharing": [StrOptions(set(SHARINGS))],
        "specific_cost": [Interval(Real, 1, np.inf, closed="both")],
        "intercept": [StrOptions({"task", "common"})],
        "unseen_task": [StrOptions({"error", "shared"})],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "storage": [StrOptions({"float64", "float32"})],
    }

    _stack_parameters = ("kernels", "sharing")

    sharing: str
    specific_cost: float
    intercept: str
    unseen_task: str
    cache_size: float
    storage: str

    @classmethod
    def _couples(cls, params: Mapping[str, Any]) -> bool:
        return bool(params["sharing"] == "functions")

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.unseen_task == "shared" and self.sharing != "functions":
            raise ValueError(
                "unseen_task='shared' needs a shared function: use sharing='functions', got "
                f"sharing={self.sharing!r}."
            )

    def _join(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> JointKernels:
        """Return the kernels between the samples of all tasks."""
        return JointKernels(bank, problems, self.cache_size, self.storage)

    def _has_specific(self, n_tasks: int) -> bool:
        """Return whether there are functions g_t beside f_0."""
        return n_tasks > 1 and bool(np.isfinite(self.specific_cost))

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        joint = solved[0].together
        if joint is None:
            return
        n_kernels = len(self._bank)
        self.shared_weights_ = joint.weights[:n_kernels]
        self.specific_weights_ = np.maximum(self.weights_ - self.shared_weights_, 0.0)
        self._components = pair_components(problems)
        self._all_support = _stack_rows(self.support_vectors_)
        n_components = 1 + max(max(own) for own in self._components)
        coefficients = [np.zeros((n_components, len(support))) for support in self.support_]
        for part, components, own in zip(
            coefficients, self._components, self.dual_coef_, strict=True
        ):
            part[components] = own
        self._all_coef = np.hstack(coefficients)

    def _functions(self, points: Any, number: int) -> Array:
        if self.sharing != "functions":
            return super()._functions(points, number)
        shared = self._shared_function(points)
        if number == _UNSEEN:
            return shared + self._mean_intercept()
        own = self._own_function(points, number, self.specific_weights_[number])
        return own + shared[:, self._components[number]]

    def _shared_function(self, points: Any) -> Array:
        """Return f_0 at the points, for each pair of classes."""
        if not self._all_support.shape[0]:
            return np.zeros((points.shape[0], len(self._all_coef)))
        K = self._bank.combine(points, self._all_support, self.shared_weights_)
        return np.asarray(K @ self._all_coef.T)

    def _mean_intercept(self) -> Array:
        """Return the mean of the tasks' intercepts, each counted by its samples."""
        return np.average(np.array(list(self.intercept_)), axis=0, weights=self.n_samples_)

    def _numbers(self, labels: AnyArray) -> Indices:
        if self.unseen_task == "error" or self.sharing != "functions":
            return super()._numbers(labels)
        numbers = {name: number for number, name in enumerate(self.tasks_)}
        which = [numbers.get(label, _UNSEEN) for label in labels.tolist()]
        if _UNSEEN in which and isinstance(getattr(self, "classes_", None), list):
            raise ValueError(
                "task holds labels that were not seen in fit, and unseen_task='shared' cannot "
                "tell their classes: the tasks of fit have different ones."
            )
        return np.array(which, dtype=np.intp)

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
        points = self._read_points(X, None, reset=False)[0]
        values = self._shared_function(points) + self._mean_intercept()
        return values[:, 0] if values.shape[1] == 1 else values

    def sharing_table(self) -> Any:
        """Return the share of each task's kernel weights that is common to all tasks.

        Returns
        -------
        ndarray of shape (n_tasks, n_kernels)
            mu / (mu + lambda_t) by kernel; NaN where a task does not use a kernel.
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
        return plot_sharing(
            self.shared_weights_, self.specific_weights_, names, self._kernel_names(), ax=ax
        )

    def _check_shared(self, name: str) -> None:
        if self.sharing != "functions":
            raise ValueError(
                f"{name} needs a shared function: fit with sharing='functions', got "
                f"sharing={self.sharing!r}."
            )


def _stack_rows(parts: list[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.vstack(parts)
