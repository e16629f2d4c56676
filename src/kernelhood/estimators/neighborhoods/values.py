"""What may define a neighborhood: a kernel, matrices by task, or a model fitted earlier."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelhood._typing import Array, Indices
from kernelhood.kernels import KernelBank, as_kernel
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.problem import TaskProblem
from kernelhood.tasks import TaskRows

_SYMMETRIC = 1e-8
_KINDS = (
    "a kernel, the name of one of scikit-learn's pairwise kernels, a function k(X, Z), a pair "
    "(kernels, weights), a dict of one symmetric matrix for each task, or a fitted model of this "
    "library"
)


class GivenNeighborhood(ABC):
    """The matrix Khat_t of every task."""

    def fitted_to(
        self, points: Any, tasks: Sequence[TaskRows], names: Sequence[str] | None
    ) -> GivenNeighborhood:
        """Return what serves these data, or raise where this cannot; called before any work.

        Parameters
        ----------
        points : ndarray or CSR matrix
            All training points.
        tasks : sequence of TaskRows
            The tasks.
        names : sequence of str, optional
            Of the features.
        """
        return self

    @abstractmethod
    def at(self, problem: TaskProblem) -> Array:
        """Return Khat_t between the samples of a task."""

    @abstractmethod
    def between(self, X: Any, Z: Any, task: Hashable) -> Array | None:
        """Return what defines a task's neighborhood at any points, None where nothing is known."""


@dataclass(frozen=True)
class KernelNeighborhood(GivenNeighborhood):
    """A combination of kernels, the same for all tasks; weights may have any sign."""

    bank: KernelBank
    weights: Array

    def fitted_to(
        self, points: Any, tasks: Sequence[TaskRows], names: Sequence[str] | None
    ) -> GivenNeighborhood:
        """Return the same with column names replaced by numbers."""
        return KernelNeighborhood(self.bank.resolved(names), self.weights)

    def at(self, problem: TaskProblem) -> Array:
        """Return the combination between the samples of a task."""
        return checked_matrix(self.between(problem.X, problem.X, problem.name), problem.name)

    def between(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the combination at any points."""
        return self.bank.combine(X, Z, self.weights)


@dataclass(frozen=True)
class ModelNeighborhood(GivenNeighborhood):
    """The kernels that an earlier model learned: a task's own, or their mean for a new task."""

    model: MultiTaskKernelModel

    def fitted_to(
        self, points: Any, tasks: Sequence[TaskRows], names: Sequence[str] | None
    ) -> GivenNeighborhood:
        """Return the same, or raise where the model was fitted to other features."""
        n_features, known = (
            self.model.support_vectors_[0].shape[1],
            self.model._names_without_task(),
        )
        if points.shape[1] != n_features:
            raise ValueError(
                f"neighborhood is a model of {n_features} features, but X has {points.shape[1]}: "
                "give a model of the same features."
            )
        if known is not None and names is not None and list(names) != known:
            raise ValueError(
                f"neighborhood is a model of the features {known}, but X has {list(names)}: give "
                "them the same names and order."
            )
        return self

    def at(self, problem: TaskProblem) -> Array:
        """Return the model's kernel between the samples of a task."""
        return checked_matrix(self.between(problem.X, problem.X, problem.name), problem.name)

    def between(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the kernel of the task of this name, or the mean of all."""
        model = self.model
        if task in model.tasks_:
            return model.task_kernel(X, Z, task)
        banks = [model._bank_of(number) for number in range(len(model.tasks_))]
        if all(bank is banks[0] for bank in banks):
            return banks[0].combine(X, Z, model.weights_.mean(axis=0))
        each = [model.task_kernel(X, Z, one) for one in model.tasks_]
        return np.asarray(np.mean(each, axis=0))


@dataclass(frozen=True)
class MatrixNeighborhood(GivenNeighborhood):
    """A matrix for each task, between its rows in the order of X."""

    matrices: Mapping[Hashable, Any]
    rows: Mapping[Hashable, Indices] = field(default_factory=dict)

    def fitted_to(
        self, points: Any, tasks: Sequence[TaskRows], names: Sequence[str] | None
    ) -> GivenNeighborhood:
        """Return the same with the rows of every task, or raise where a matrix does not fit."""
        missing = [one.name for one in tasks if one.name not in self.matrices]
        if missing:
            raise ValueError(
                f"neighborhood has no matrix for the tasks {', '.join(map(repr, missing))}: give "
                "one for every task."
            )
        for one in tasks:
            n, matrix = len(one.rows), np.asarray(self.matrices[one.name])
            if matrix.shape != (n, n):
                raise ValueError(
                    f"neighborhood of task {one.name!r} must have shape {(n, n)}, one row for each "
                    f"of its rows in the order of X: got {matrix.shape}."
                )
            checked_matrix(matrix, one.name)
        return MatrixNeighborhood(self.matrices, {one.name: one.rows for one in tasks})

    def at(self, problem: TaskProblem) -> Array:
        """Return the matrix of the samples that take part."""
        places = np.searchsorted(self.rows[problem.name], problem.rows)
        matrix = np.asarray(self.matrices[problem.name], dtype=np.float64)
        return matrix[np.ix_(places, places)]

    def between(self, X: Any, Z: Any, task: Hashable) -> None:
        """Return nothing: a matrix says nothing of other points."""


def checked_matrix(matrix: Any, task: Hashable) -> Array:
    """Return a matrix of numbers, or raise where it is not finite or not symmetric."""
    try:
        found: Array = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"neighborhood of task {task!r} must be a matrix of numbers.") from None
    if not np.all(np.isfinite(found)):
        raise ValueError(f"neighborhood of task {task!r} must be finite, it holds NaN or infinity.")
    size = float(np.abs(found).max(initial=0.0))
    if not np.allclose(found, found.T, rtol=_SYMMETRIC, atol=_SYMMETRIC * size):
        raise ValueError(
            f"neighborhood of task {task!r} must be symmetric: entry (i, j) is entry (j, i)."
        )
    return found


def read_neighborhood(value: Any) -> GivenNeighborhood:
    """Return what a user gave as `neighborhood`, or raise an error that says what would do."""
    if isinstance(value, MultiTaskKernelModel):
        if not hasattr(value, "weights_"):
            raise ValueError(
                f"neighborhood must be a fitted model, got a {type(value).__name__} that is not: "
                "call its fit first."
            )
        return ModelNeighborhood(value)
    if isinstance(value, Mapping):
        return MatrixNeighborhood(value)
    if isinstance(value, tuple) and len(value) == 2:
        return _combination(*value)
    if isinstance(value, KernelBank):
        if len(value) > 1:
            raise ValueError(
                f"neighborhood holds {len(value)} kernels without their weights: give a pair "
                "(kernels, weights)."
            )
        return KernelNeighborhood(value, np.ones(1))
    try:
        return KernelNeighborhood(KernelBank([as_kernel(value)]), np.ones(1))
    except TypeError:
        raise ValueError(f"neighborhood must be {_KINDS}, got {type(value).__name__}.") from None
    except ValueError as error:
        raise ValueError(f"neighborhood: {error}") from None


def _combination(kernels: Any, weights: Any) -> GivenNeighborhood:
    """Return a bank with a weight for each of its kernels."""
    bank = kernels if isinstance(kernels, KernelBank) else KernelBank(kernels)
    coefficients = np.asarray(weights, dtype=np.float64)
    if coefficients.shape != (len(bank),) or not np.all(np.isfinite(coefficients)):
        raise ValueError(
            f"neighborhood must have one finite weight for each of its {len(bank)} kernels, got "
            f"{weights!r}."
        )
    return KernelNeighborhood(bank, coefficients)
