"""What a fitted estimator answers: what the model that it has chosen does."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray


class Answers(BaseEstimator):
    """Methods and attributes of the chosen model."""

    best_estimator_: Any

    def predict(self, X: Any, *, task: Any = None, task_features: Any = None) -> AnyArray:
        """Return the predictions of the chosen model.

        Parameters
        ----------
        X, task, task_features
            As `predict` of the chosen model takes them.
        """
        model = self._chosen()
        return np.asarray(model.predict(X, task=task, task_features=task_features))

    def score(self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, averaged over tasks, or the share of squared error explained.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.
        """
        return float(self._chosen().score(X, y, task=task, sample_weight=sample_weight))

    def score_by_task(
        self, X: Any, y: Any, *, task: Any = None, sample_weight: Any = None
    ) -> dict[Hashable, float]:
        """Return the score of every task that occurs: accuracy, or 1 - error / spread.

        Parameters
        ----------
        X, y, task, sample_weight
            As in `fit`.
        """
        found = self._chosen().score_by_task(X, y, task=task, sample_weight=sample_weight)
        return dict(found)

    def weights_table(self) -> Any:
        """Return the kernel weights of the chosen model, one row a task.

        Returns
        -------
        DataFrame, or text where pandas is not installed
        """
        return self._chosen().weights_table()

    def relation_table(self) -> Any:
        """Return the share of each part of the relation and each kernel in the chosen model.

        Returns
        -------
        DataFrame, or text where pandas is not installed
        """
        return self._chosen().relation_table()

    def _chosen(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @property
    def n_features_in_(self) -> int:
        """Columns of X seen in `fit`."""
        return int(self._attribute("n_features_in_"))

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns, where X was a data frame."""
        return self._attribute("feature_names_in_")

    @property
    def tasks_(self) -> list[Hashable]:
        """Names of the tasks."""
        return list(self._attribute("tasks_"))

    @property
    def kernels_(self) -> Any:
        """The kernels of the chosen model, fitted to the data."""
        return self._attribute("kernels_")

    @property
    def dual_gap_(self) -> float:
        """Relative duality gap of the chosen model."""
        return float(self._attribute("dual_gap_"))

    def _attribute(self, name: str) -> Any:
        """Return an attribute of the chosen model; before the fit there is none."""
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit.")
        return getattr(self.best_estimator_, name)
