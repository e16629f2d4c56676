"""Tasks that learn from each other's samples: one joint problem, and predictions from all of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.kernels import KernelBank
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.joint import JointKernels
from kernelhood.pipeline.joint_samples import pair_numbers
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.plotting import plot_sharing
from kernelhood.relations import Independent, SharedFunctions, TaskRelation
from kernelhood.solvers.solution import Solution

SHARINGS = ("weights", "functions")
_UNSEEN = -1


class RelatedTasks(MultiTaskKernelModel):
    """What an estimator needs to let its tasks learn from each other.

    Parameters
    ----------
    sharing : {"weights", "functions"}
        What tasks share. "weights" is the paper's model, in which the problem splits into one for
        each task. With "functions" the shared weights multiply the kernel between all samples of
        all tasks, so that f_t = f_0 + g_t + b_t and a task learns from the samples of the others.
    relation : TaskRelation, optional
        Another way in which tasks relate, in the place of `sharing`.
    specific_cost : float
        How many times more a specific weight costs than a shared one, at least 1; infinity leaves
        only f_0. A kernel is shared as soon as more than a fraction ``1 / specific_cost`` of the
        tasks, by samples, wants it. Only for shared functions.
    intercept : {"task", "common"}
        Whether every task has an intercept of its own. Only for tasks that are solved together;
        others have their own.
    unseen_task : {"error", "shared"}
        What to do when a task is to be predicted that was not seen in `fit`: refuse, or predict it
        by the shared function with the mean intercept.
    cache_size : float
        The largest stack of kernel matrices between the samples of all tasks to hold, in
        megabytes; larger ones are evaluated block by block whenever they are needed, and rows of
        their combination are kept in as much memory.
    storage : {"float64", "float32"}
        Type of the kernel values that are kept between samples of all tasks. Objective and gap are
        computed in double precision either way.
    """

    _parameter_constraints: dict[str, Any] = {
        "sharing": [StrOptions(set(SHARINGS))],
        "relation": [TaskRelation, None],
        "specific_cost": [Interval(Real, 1, np.inf, closed="both")],
        "intercept": [StrOptions({"task", "common"})],
        "unseen_task": [StrOptions({"error", "shared"})],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "storage": [StrOptions({"float64", "float32"})],
    }

    sharing: str
    relation: TaskRelation | None
    specific_cost: float
    intercept: str
    unseen_task: str
    cache_size: float
    storage: str

    @classmethod
    def _relation_of(cls, params: Mapping[str, Any]) -> TaskRelation:
        """Return the relation that parameters stand for."""
        if params["relation"] is not None:
            return params["relation"]  # type: ignore[no-any-return]
        if params["sharing"] == "functions":
            return SharedFunctions(float(params["specific_cost"]))
        return Independent()

    @property
    def _relation(self) -> TaskRelation:
        return self._relation_of(vars(self))

    @classmethod
    def _couples(cls, params: Mapping[str, Any]) -> bool:
        return cls._relation_of({**params, "specific_cost": 1.0}).couples

    @classmethod
    def _joins_samples(cls, params: Mapping[str, Any]) -> bool:
        return cls._couples(params)

    @classmethod
    def _kernel_parts(cls, params: Mapping[str, Any]) -> list[Any]:
        return [*super()._kernel_parts(params), cls._couples(params)]

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.unseen_task == "shared" and self._relation.unseen([0]) is None:
            raise ValueError(
                "unseen_task='shared' needs a shared function: use sharing='functions', got "
                f"sharing={self.sharing!r}."
            )

    def _evaluate(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> Any:
        if not self._couples(vars(self)):
            return super()._evaluate(bank, problems)
        return JointKernels(bank, problems, self.cache_size, self.storage)

    def _cross(self, kernels: Any, X: Sequence[Any]) -> list[Any]:
        if not self._couples(vars(self)):
            return super()._cross(kernels, X)
        sizes = [points.shape[0] for points in X]
        return [kernels.cross(points, sum(sizes) / max(sizes)) for points in X]

    def _values_at(
        self,
        kernels: Any,
        number: int,
        X: Any,
        cross: Any,
        problem: TaskProblem,
        found: TaskSolution,
    ) -> Array:
        if found.together is None:
            return super()._values_at(kernels, number, X, cross, problem, found)
        matrices = self._relation.matrices(kernels.names)
        return np.asarray(kernels.values(number, X, cross, found.together, matrices))

    def _joined(self, tasks: Sequence[Hashable]) -> tuple[Array, bool, Array]:
        """Return the matrices of the relation, whether tasks have their own weights, and costs."""
        relation = self._relation
        matrices = np.asarray(relation.matrices(tasks), dtype=np.float64)
        # A task on its own needs no function beside the one it has in common with nobody.
        separate = relation.separate and not (len(tasks) == 1 and len(matrices) > 0)
        return matrices, separate, relation.costs(len(matrices))

    def _task_parts(
        self, joint: JointKernels, problems: Sequence[TaskProblem], found: Solution
    ) -> list[Solution]:
        """Return every task's part of the joint solution."""
        matrices, separate, _ = self._joined([one.name for one in problems])
        n, n_matrices = len(joint.kernels), len(matrices)
        by_matrix = found.weights[: n * n_matrices].reshape(n_matrices, n)
        parts = []
        for t in range(len(problems)):
            weights = matrices[:, t, t] @ by_matrix
            if separate:
                weights = weights + found.weights[n * n_matrices :].reshape(-1, n)[t]
            parts.append(
                found._replace(
                    weights=weights,
                    v=found.v[joint.samples.places[t]],
                    intercepts=joint.samples.intercepts(found, t),
                )
            )
        return parts

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        joint = solved[0].together
        if joint is None:
            return
        self._matrices, separate, _ = self._joined(self.tasks_)
        n, n_matrices = len(self._bank), len(self._matrices)
        self._matrix_weights = joint.weights[: n * n_matrices].reshape(n_matrices, n)
        common = [np.all(B == 1.0) for B in self._matrices]
        self.shared_weights_ = self._matrix_weights[common].sum(axis=0)
        self.specific_weights_ = np.maximum(self.weights_ - self.shared_weights_, 0.0)
        self._own_weights = np.zeros_like(self.weights_)
        if separate:
            self._own_weights = joint.weights[n * n_matrices :].reshape(-1, n)
        self._components = pair_numbers(problems)
        self._all_support = _stack_rows(self.support_vectors_)
        self._support_task = np.repeat(np.arange(len(problems)), [len(s) for s in self.support_])
        n_components = 1 + max(max(own) for own in self._components)
        coefficients = [np.zeros((n_components, len(support))) for support in self.support_]
        for part, components, own in zip(
            coefficients, self._components, self.dual_coef_, strict=True
        ):
            part[components] = own
        self._all_coef = np.hstack(coefficients)

    def _functions(self, points: Any, number: int) -> Array:
        if not self._couples(vars(self)):
            return super()._functions(points, number)
        if number == _UNSEEN:
            rows = self._unseen_rows()
            assert rows is not None
            return self._related_function(points, rows) + self._mean_intercept()
        own = self._own_function(points, number, self._own_weights[number])
        related = self._related_function(points, self._matrices[:, number])
        return own + related[:, self._components[number]]

    def _unseen_rows(self) -> Array | None:
        """Return how a task never seen is joined to those of the fit."""
        return self._relation.unseen(self.tasks_)

    def _related_function(self, points: Any, rows: Array) -> Array:
        """Return what a task that is joined to the others by `rows` learns from all samples.

        Parameters
        ----------
        points : ndarray or CSR matrix
            Where.
        rows : ndarray of shape (n_matrices, n_tasks)
            Entries of the relation's matrices between this task and the others.
        """
        values = np.zeros((points.shape[0], len(self._all_coef)))
        for row, weights in zip(rows, self._matrix_weights, strict=True):
            if self._all_support.shape[0] and np.any(weights):
                K = self._bank.combine(points, self._all_support, weights)
                values += K @ (self._all_coef * row[self._support_task]).T
        return values

    def _mean_intercept(self) -> Array:
        """Return the mean of the tasks' intercepts, each counted by its samples."""
        return np.average(np.array(list(self.intercept_)), axis=0, weights=self.n_samples_)

    def _numbers(self, labels: AnyArray) -> Indices:
        if self.unseen_task == "error" or self._unseen_rows() is None:
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
        values = self._functions(points, _UNSEEN)
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
        if self._unseen_rows() is None:
            raise ValueError(
                f"{name} needs a shared function: fit with sharing='functions', got "
                f"sharing={self.sharing!r}."
            )


def _stack_rows(parts: list[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.vstack(parts)
