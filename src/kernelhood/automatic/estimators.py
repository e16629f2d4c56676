"""MT-ONMKL that chooses its own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood._typing import Array
from kernelhood.automatic.base import SelfTuned
from kernelhood.automatic.candidates import losses_of
from kernelhood.estimators import MTONMKLClassifier, MTONMKLRegressor
from kernelhood.losses import Loss
from kernelhood.pipeline.docs import documented


@documented
class MTONMKLClassifierCV(ClassifierMixin, SelfTuned):
    """MT-ONMKL classification that chooses kernels, relation, formulation and strength.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.

    Examples
    --------
    >>> import kernelhood as kh
    >>> data = kh.datasets.make_multitask(3, 20, random_state=0)
    >>> model = kh.MTONMKLClassifierCV(cv=2).fit(data.X, data.y, task=data.task)
    >>> "relation" in model.best_params_, bool(model.dual_gap_ <= 1e-3)
    (True, True)
    """

    _parameter_constraints: dict[str, Any] = {
        **SelfTuned._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _choices = ("kernels", "relation", "formulation")

    def __init__(
        self,
        *,
        kernels: Any = None,
        relation: Any = None,
        task_groups: Any = None,
        formulation: str | None = None,
        cv: Any = 5,
        scoring: Any = None,
        average: str = "tasks",
        grid: Any = "fast",
        max_samples: int | None = 2000,
        class_weight: Any = None,
        missing: str = "error",
        tol: float = 1e-3,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = 0,
    ) -> None:
        self.kernels = kernels
        self.relation = relation
        self.task_groups = task_groups
        self.formulation = formulation
        self.cv = cv
        self.scoring = scoring
        self.average = average
        self.grid = grid
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.missing = missing
        self.tol = tol
        self.task_column = task_column
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _model(self) -> Any:
        return MTONMKLClassifier(class_weight=self.class_weight, **self._fixed())

    def _losses(self, grid: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        return {"": {}}

    score = SelfTuned.score  # the mixin's own knows no tasks

    def decision_function(self, X: Any, *, task: Any = None, task_features: Any = None) -> Array:
        """Return the decision values of the chosen model.

        Parameters
        ----------
        X, task, task_features
            As `decision_function` of the chosen model takes them.
        """
        model = self._chosen()
        return np.asarray(model.decision_function(X, task=task, task_features=task_features))

    @property
    def classes_(self) -> Any:
        """The classes, per task where they differ."""
        return self._attribute("classes_")


@documented
class MTONMKLRegressorCV(RegressorMixin, SelfTuned):
    """MT-ONMKL regression that chooses kernels, relation, formulation, loss and strength.

    Targets are standardised inside, so that epsilon has no units.

    Parameters
    ----------
    loss : str or Loss, optional
        The only one to use.
    epsilon : float, optional
        The only half width of the insensitive tube to use; by default 0.1, 0.01 and 0.4 standard
        deviations of the targets are tried.

    Examples
    --------
    >>> import kernelhood as kh
    >>> data = kh.datasets.make_multitask(3, 20, kind="regression", random_state=0)
    >>> model = kh.MTONMKLRegressorCV(cv=2).fit(data.X, data.y, task=data.task)
    >>> model.predict(data.X, task=data.task).shape
    (60,)
    """

    _parameter_constraints: dict[str, Any] = {
        **SelfTuned._parameter_constraints,
        "loss": [str, Loss, None],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
    }
    _choices = ("kernels", "relation", "formulation", "loss", "epsilon")

    def __init__(
        self,
        *,
        kernels: Any = None,
        relation: Any = None,
        task_groups: Any = None,
        formulation: str | None = None,
        loss: Any = None,
        epsilon: float | None = None,
        cv: Any = 5,
        scoring: Any = None,
        average: str = "tasks",
        grid: Any = "fast",
        max_samples: int | None = 2000,
        missing: str = "error",
        tol: float = 1e-3,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = 0,
    ) -> None:
        self.kernels = kernels
        self.relation = relation
        self.task_groups = task_groups
        self.formulation = formulation
        self.loss = loss
        self.epsilon = epsilon
        self.cv = cv
        self.scoring = scoring
        self.average = average
        self.grid = grid
        self.max_samples = max_samples
        self.missing = missing
        self.tol = tol
        self.task_column = task_column
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _model(self) -> Any:
        return MTONMKLRegressor(standardize_targets=True, **self._fixed())

    def _losses(self, grid: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        return losses_of(self.loss, self.epsilon, grid)

    score = SelfTuned.score  # the mixin's own knows no tasks
