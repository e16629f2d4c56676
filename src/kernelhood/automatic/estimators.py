"""MT-ONMKL that chooses its own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood.automatic.base import SelfTuned
from kernelhood.automatic.parameters import losses_of
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
    probability : bool
        Whether the chosen model is calibrated to tell probabilities, for `predict_proba`. It takes
        five more fits. Scores of probabilities, such as neg_log_loss, need it and calibrate every
        model on every split.

    Examples
    --------
    >>> import kernelhood as kh
    >>> data = kh.datasets.make_multitask(3, 12, random_state=0)
    >>> model = kh.MTONMKLClassifierCV(cv=2, kernels="small", probability=True)
    >>> model = model.fit(data.X, data.y, task=data.task)
    >>> "relation" in model.best_params_, bool(model.dual_gap_ <= 1e-3)
    (True, True)
    >>> model.predict_proba(data.X, task=data.task).shape
    (36, 2)
    """

    _parameter_constraints: dict[str, Any] = {
        **SelfTuned._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": ["boolean"],
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
        probability: bool = False,
        missing: str = "error",
        unseen_task: str = "warn",
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
        self.probability = probability
        self.missing = missing
        self.unseen_task = unseen_task
        self.tol = tol
        self.task_column = task_column
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _tuned(self) -> Any:
        told: dict[str, Any] = {"class_weight": self.class_weight, "probability": self.probability}
        return MTONMKLClassifier(**told, **self._fixed())

    def _losses(self, grid: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        return {"": {}}

    score = SelfTuned.score  # the mixin's own knows no tasks


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
    quantile : float
        The level of ``loss="quantile"``. Models are then compared by their pinball loss at this
        level, where `scoring` does not say otherwise.
    calibration : float, optional
        The share of every task's rows that the fit of the chosen model holds out for
        `predict_interval`, such as 0.2; the choice is made with all rows. By default none are, and
        there are no intervals.

    Examples
    --------
    >>> import kernelhood as kh
    >>> data = kh.datasets.make_multitask(3, 20, kind="regression", random_state=0)
    >>> model = kh.MTONMKLRegressorCV(cv=2, kernels="small", loss="squared", calibration=0.3)
    >>> model = model.fit(data.X, data.y, task=data.task)
    >>> model.predict(data.X, task=data.task).shape
    (60,)
    >>> model.predict_interval(data.X, task=data.task, coverage=0.8).shape
    (60, 2)
    """

    _parameter_constraints: dict[str, Any] = {
        **SelfTuned._parameter_constraints,
        "formulation": [StrOptions({"corrected", "normalized", "evidence"}), None],
        "loss": [str, Loss, None],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "calibration": [Interval(Real, 0, 1, closed="neither"), None],
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
        quantile: float = 0.5,
        calibration: float | None = None,
        cv: Any = 5,
        scoring: Any = None,
        average: str = "tasks",
        grid: Any = "fast",
        max_samples: int | None = 2000,
        missing: str = "error",
        unseen_task: str = "warn",
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
        self.quantile = quantile
        self.calibration = calibration
        self.cv = cv
        self.scoring = scoring
        self.average = average
        self.grid = grid
        self.max_samples = max_samples
        self.missing = missing
        self.unseen_task = unseen_task
        self.tol = tol
        self.task_column = task_column
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _tuned(self) -> Any:
        told: dict[str, Any] = {"quantile": self.quantile, "calibration": self.calibration}
        return MTONMKLRegressor(standardize_targets=True, **told, **self._fixed())

    def _scorer(self) -> Any:
        if self.scoring is not None or self.loss != "quantile":
            return self.scoring
        options: dict[str, Any] = {"alpha": self.quantile, "greater_is_better": False}
        return make_scorer(mean_pinball_loss, **options)

    def _losses(self, grid: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        return losses_of(self.loss, self.epsilon, grid)

    score = SelfTuned.score  # the mixin's own knows no tasks
