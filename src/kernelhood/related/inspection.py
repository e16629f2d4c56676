"""What a fitted model tells about how its tasks relate."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import Array
from kernelhood.pipeline.inspection import as_table
from kernelhood.plotting import plot_sharing, plot_task_map
from kernelhood.related.prediction import RelatedPrediction
from kernelhood.relations.effects import unit_diagonal


class RelationInspection(RelatedPrediction):
    """Tables and pictures of what tasks share."""

    def relation_table(self) -> Any:
        """Return the share of each part of the relation and each kernel in the trained functions.

        The shares are those of ``v'Kv``, the squared norm of all functions together: a row for
        each matrix of the relation, such as "common" and "own", a column for each kernel. They add
        up to 1.

        Returns
        -------
        DataFrame, or text where pandas is not installed
        """
        check_is_fitted(self)
        total = self._energy.sum()
        shares = self._energy / total if total > 0.0 else np.zeros_like(self._energy)
        return as_table(shares, self._relation_labels(), self._kernel_names(), "relation")

    def _relation_labels(self) -> list[str]:
        if not self._couples(vars(self)):
            return ["own"]
        return self.relation_.labels(len(self._matrices))[: len(self._energy)]

    def task_similarity(self) -> Array:
        """Return how alike the tasks are as the model learned it, a matrix with a diagonal of ones.

        It is ``sum_r sum_m theta_rm B_r``, each kernel counted by its mean size, scaled to a
        diagonal of ones: the correlation of the functions of two tasks that the model expects.

        Returns
        -------
        ndarray of shape (n_tasks, n_tasks)
        """
        check_is_fitted(self)
        if not self._couples(vars(self)):
            return np.eye(len(self.tasks_))
        by_matrix = self._matrix_weights @ self._kernel_sizes
        total = np.einsum("r,rst->st", by_matrix, self._matrices.written())
        return unit_diagonal(total + np.diag(self._own_weights @ self._kernel_sizes))

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
