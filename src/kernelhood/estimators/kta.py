"""KTA: kernels that align with the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval

from kernelhood.estimators.base import MultiTaskModel, NeighborhoodModel
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.docs import documented
from kernelhood.estimators.method import Method
from kernelhood.estimators.targets import two_class_tags
from kernelhood.estimators.training import TaskKernels, fit_svm
from kernelhood.inspection.model import Neighborhood, cosine
from kernelhood.solvers.neighborhood import (
    TargetMatrix,
    centered_alignment_weights,
    certified_etas,
    solve_aligned,
)
from kernelhood.solvers.problem import Solution


@dataclass(frozen=True, kw_only=True, eq=False)
class KTA(Method):
    r"""The step of KTA: the targets define the neighborhood.

    Parameters
    ----------
    eta : float
        Weight of the distance between a task's kernel and :math:`yy'`; not used where `centered`.
    centered : bool
        Whether to learn in two stages: first the weights alone, by centred alignment, then an
        SVM.

    Attributes
    ----------
    neighborhood_weights_ : ndarray of shape (n_tasks, n_kernels)
        Coefficients of the projection of :math:`yy'` onto the base kernels, which is what new
        points see of it.

    Notes
    -----
    For every task t the model solves

    .. math:: \min_{\theta_t \ge 0}\ S_t(K_t) + \tfrac\eta2 \lVert K_t - y_t y_t' \rVert_F^2,

    with :math:`K_t = \sum_m \theta_t^m K_t^m`, :math:`S_t` the value of the task's SVM and
    :math:`y_t` its targets, -1 and +1 for classes. ``objective_`` includes the constant
    :math:`\tfrac\eta2 \lVert y_t y_t' \rVert^2`. ``dual_gap_`` is the larger of two: the gap
    relative to the objective without that constant, and that of the SVM at the final weights. The
    larger eta, the closer the weights are to the non-negative least squares ones.

    With ``centered=True`` the weights are :math:`\theta_t = u / \lVert u \rVert`, u the minimiser
    over :math:`u \ge 0` of :math:`u'Mu - 2u'a`, M and a the Frobenius products of the centred
    kernels with each other and with :math:`y_t y_t'` (alignf of Cortes, Mohri and Rostamizadeh,
    JMLR 13, 2012); ``objective_`` and ``dual_gap_`` are then those of the SVM.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "eta": [Interval(Real, 0, None, closed="neither")],
        "centered": ["boolean"],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("eta",)

    eta: float
    centered: bool

    @classmethod
    def canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Leave out eta where it is not used."""
        same = super().canonical(params)
        return {**same, "eta": 1.0} if params["centered"] else same

    @classmethod
    def path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Let eta rise along the path: from some eta on all models are nearly the same."""
        return (params["C"], params["eta"])

    def certified_ahead(
        self,
        found: Solution,
        models: Sequence[Mapping[str, Any]],
        kernels: TaskKernels,
        problem: TaskProblem,
    ) -> int:
        """Return for how many of the next eta the weights serve."""
        if self.centered:
            return 0
        etas = [float(params["eta"]) for params in models]
        return certified_etas(found, _targets_of(kernels, problem), etas, self.tol)

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Learn the weights and the SVM of one task."""
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        G, target = kernels.gram, _targets_of(kernels, problem)
        if self.centered:
            y, counts = problem.loss.target, problem.sample_weight
            weights = centered_alignment_weights(kernels.Ks, G, y, counts)
            found = fit_svm(kernels, problem, weights, **limits)
        else:
            (block,), starts = kernels.blocks(problem), problem.starts
            found = solve_aligned(block, target, float(self.eta), starts=starts, **limits)
            apart = self.eta * target.least_distance
            found = found._replace(objective=found.objective + apart)
        theta = found.weights
        own = cosine(float(theta @ target.products), float(theta @ G @ theta), target.size**2)
        return TaskSolution(found, Neighborhood(target.projection, G, kernels.traces, own))


def _targets_of(kernels: TaskKernels, problem: TaskProblem) -> TargetMatrix:
    """Return yy' as the kernels see it, which is the same for all models of a path."""
    y, counts = problem.loss.target, problem.sample_weight
    key = "yy'", y.tobytes()
    if key not in kernels.kept:
        kernels.kept[key] = TargetMatrix.of(kernels.Ks, kernels.gram, y, counts)
    known: TargetMatrix = kernels.kept[key]
    return known


@documented
class KTAClassifier(ClassifierMixin, NeighborhoodModel):
    """Kernels that align with the targets for classification (KTA).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import KTAClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = KTAClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """

    _method = KTA
    score = MultiTaskModel.score  # the mixin's own knows no tasks
    __sklearn_tags__ = two_class_tags

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        eta: float = 1.0,
        centered: bool = False,
        tol: float = 1e-3,
        max_iter: int = 100,
        class_weight: Any = None,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        self.kernels, self.C, self.class_weight = kernels, C, class_weight
        self.eta, self.centered = eta, centered
        self.tol, self.max_iter = tol, max_iter
        self.task_column, self.n_jobs, self.verbose = task_column, n_jobs, verbose


@documented
class KTARegressor(RegressorMixin, NeighborhoodModel):
    """Kernels that align with the targets for regression (KTA).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import KTARegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2])
    >>> model = KTARegressor(C=100.0, epsilon=0.01).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    _method = KTA
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        eta: float = 1.0,
        centered: bool = False,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = 100,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        self.kernels, self.C, self.epsilon = kernels, C, epsilon
        self.eta, self.centered = eta, centered
        self.tol, self.max_iter = tol, max_iter
        self.task_column, self.n_jobs, self.verbose = task_column, n_jobs, verbose
