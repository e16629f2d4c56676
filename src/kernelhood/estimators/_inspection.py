"""What a fitted estimator tells about its kernels."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import Array
from kernelhood.alignment import span_alignment
from kernelhood.bounds import BoundTerms, rademacher_bound
from kernelhood.kernels import KernelBank


class KernelInspection:
    """Methods that read the fitted weights; mixed into every estimator."""

    _bank: KernelBank
    tasks_: list[Hashable]
    weights_: Array
    neighborhood_weights_: Array
    gram_: Array
    traces_: Array
    n_samples_: Array

    def weights_table(self) -> Any:
        """Return the weights as a data frame with one row per task, one column per kernel.

        Where pandas is not installed, the same table comes as text.
        """
        check_is_fitted(self)
        try:
            import pandas as pd
        except ImportError:
            return _text_table([str(task) for task in self.tasks_], self._bank.names, self.weights_)
        index = pd.Index(self.tasks_, name="task", tupleize_cols=False)
        return pd.DataFrame(self.weights_, index=index, columns=self._bank.names)

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
        return self._bank.combine(X, Z, self.weights_[number])

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
        return self._bank.combine(X, Z, self.neighborhood_weights_[number])

    def alignment(self) -> Array:
        """Return how the tasks' kernels align with the kernels that define neighborhoods.

        Entry (t, s) is the cosine between the learned kernel of task t and the neighborhood kernel
        of task s, both evaluated at the training points of task t; 0 where one of them vanishes.

        Returns
        -------
        ndarray of shape (n_tasks, n_tasks)
        """
        check_is_fitted(self)
        return np.array(
            [
                [span_alignment(G, theta, kappa) for kappa in self.neighborhood_weights_]
                for G, theta in zip(self.gram_, self.weights_, strict=True)
            ]
        )

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
        terms = BoundTerms.from_tasks(self.gram_, self.traces_, self.neighborhood_weights_)
        n_samples = int(np.sum(self.n_samples_))
        return rademacher_bound(terms, n_samples, rho=rho, radius=radius, form=form)

    def _task_number(self, task: Hashable) -> int:
        check_is_fitted(self)
        if task not in self.tasks_:
            known = ", ".join(map(repr, self.tasks_))
            raise ValueError(f"task {task!r} was not seen in fit; known are {known}.")
        return self.tasks_.index(task)


def _text_table(rows: list[str], columns: list[str], values: Array) -> str:
    """Return a plain-text table of numbers with labels."""
    head = ["task", *columns]
    body = [
        [row, *(f"{value:.4g}" for value in line)] for row, line in zip(rows, values, strict=True)
    ]
    widths = [max(len(line[k]) for line in [head, *body]) for k in range(len(head))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in [head, *body]
    ]
    return "\n".join(lines)
