"""What a fitted estimator tells about its kernels."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import Array
from kernelhood.alignment import span_alignment
from kernelhood.bounds import BoundTerms, rademacher_bound
from kernelhood.kernels import KernelBank
from kernelhood.plotting import plot_alignment, plot_weights


@dataclass(frozen=True)
class Neighborhood:
    """The neighborhood-defining matrix of one task.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        Coefficients on the base kernels of the matrix, or of the part of it that exists beyond
        the training points.
    gram : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the base kernels.
    traces : ndarray of shape (n_kernels,)
        Their traces.
    alignment : float, optional
        Cosine between the task's kernel and the whole matrix on the training points, where the
        base kernels carry only a part of it.
    """

    weights: Array
    gram: Array
    traces: Array
    alignment: float | None = None


class KernelInspection:
    """Methods that read the fitted weights; mixed into every estimator."""

    _bank: KernelBank
    tasks_: list[Hashable]
    weights_: Array
    n_samples_: Array

    @property
    def kernels_(self) -> KernelBank:
        """The base kernels of the fit, in the order of the weights; see `KernelBank.names`."""
        check_is_fitted(self)
        return self._bank

    def _bank_of(self, number: int) -> KernelBank:
        """Return the kernels of a task; all tasks have the same unless a method says otherwise."""
        return self._bank

    def _kernel_names(self) -> list[str]:
        return self._bank.names

    def _store_neighborhoods(self, found: list[Neighborhood | None]) -> None:
        """Keep what defines the neighborhoods; most methods have none."""

    def weights_table(self) -> Any:
        """Return the weights as a data frame with one row per task, one column per kernel.

        Where pandas is not installed, the same table comes as text.
        """
        check_is_fitted(self)
        return as_table(self.weights_, self.tasks_, self._kernel_names(), "task")

    def plot_weights(self, *, ax: Any = None) -> Any:
        """Draw each task's kernel weights as shares of a bar.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        return plot_weights(self.weights_, self.tasks_, self._kernel_names(), ax=ax)

    def task_kernel(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the task's learned kernel ``sum_m theta_t^m k_m`` at any points.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            Points; with `task_column`, without that column.
        task : hashable
            One of ``tasks_``.
        """
        number = self._task_number(task)
        return self._bank_of(number).combine(X, Z, self.weights_[number])

    def _task_number(self, task: Hashable) -> int:
        check_is_fitted(self)
        if task not in self.tasks_:
            known = ", ".join(map(repr, self.tasks_))
            raise ValueError(f"task {task!r} was not seen in fit; known are {known}.")
        return self.tasks_.index(task)


class NeighborhoodInspection(KernelInspection):
    """Methods that read the learned neighborhoods; mixed into estimators that have them."""

    neighborhood_weights_: Array
    gram_: Array
    traces_: Array

    def _store_neighborhoods(self, found: list[Neighborhood | None]) -> None:
        known = [one for one in found if one is not None]
        self.neighborhood_weights_ = np.array([one.weights for one in known])
        self.gram_ = np.array([one.gram for one in known])
        self.traces_ = np.array([one.traces for one in known])
        self._own_alignments = [one.alignment for one in known]

    def neighborhood_kernel(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the kernel ``sum_m kappa_t^m k_m`` that defines the task's neighborhood.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            Points; with `task_column`, without that column.
        task : hashable
            One of ``tasks_``.
        """
        number = self._task_number(task)
        return self._bank_of(number).combine(X, Z, self.neighborhood_weights_[number])

    def alignment(self) -> Array:
        """Return how the tasks' kernels align with the kernels that define neighborhoods.

        Entry (t, s) is the cosine between the learned kernel of task t and the neighborhood kernel
        of task s, both evaluated at the training points of task t; 0 where one of them vanishes.
        Where the matrix that defines a neighborhood exists only on the task's own training points,
        the diagonal tells of the whole matrix and the rest of what `neighborhood_kernel` gives.

        Returns
        -------
        ndarray of shape (n_tasks, n_tasks)
        """
        check_is_fitted(self)
        n_tasks = len(self.tasks_)
        cosines = [[self._cosine(t, s) for s in range(n_tasks)] for t in range(n_tasks)]
        for t, own in enumerate(self._own_alignments):
            cosines[t][t] = cosines[t][t] if own is None else own
        return np.array(cosines)

    def plot_alignment(self, *, ax: Any = None) -> Any:
        """Draw how the tasks' kernels align with the kernels that define neighborhoods.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        return plot_alignment(self.alignment(), self.tasks_, ax=ax)

    def _cosine(self, t: int, s: int) -> float:
        """Return the alignment of task t with the neighborhood kernel of task s."""
        return span_alignment(self.gram_[t], self.weights_[t], self.neighborhood_weights_[s])


class BoundInspection(NeighborhoodInspection):
    """The bound on the complexity of MT-ONMKL's class, whose matrices the base kernels span."""

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
        form : {"geometric", "arithmetic"}
            The tight form, or the looser one of the paper.
        """
        check_is_fitted(self)
        n_samples = float(np.sum(self.n_samples_))
        return rademacher_bound(self._bound_terms(), n_samples, rho=rho, radius=radius, form=form)

    def _bound_terms(self) -> BoundTerms:
        """Return what the bound needs to know of the kernels and the neighborhoods."""
        return BoundTerms.from_tasks(self.gram_, self.traces_, self.neighborhood_weights_)


def as_table(values: Array, rows: list[Any], columns: list[str], name: str) -> Any:
    """Return numbers as a data frame, or as text where pandas is not installed.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        The numbers.
    rows, columns : list
        Labels.
    name : str
        What the rows are.
    """
    try:
        import pandas as pd
    except ImportError:
        return _text_table([str(row) for row in rows], columns, values, name)
    index = pd.Index(rows, name=name, tupleize_cols=False)
    return pd.DataFrame(values, index=index, columns=columns)


def _text_table(rows: list[str], columns: list[str], values: Array, name: str) -> str:
    """Return a plain-text table of numbers with labels."""
    head = [name, *columns]
    body = [
        [row, *(f"{value:.4g}" for value in line)] for row, line in zip(rows, values, strict=True)
    ]
    widths = [max(len(line[k]) for line in [head, *body]) for k in range(len(head))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in [head, *body]
    ]
    return "\n".join(lines)
