"""Matrices that define neighborhoods: K + c vv' in RPKL and ONJKL, yy' in KTA."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval

from kernelhood._typing import Array
from kernelhood.estimators.base import MultiTaskModel, NeighborhoodModel
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.docs import estimator
from kernelhood.estimators.functions import Functions
from kernelhood.estimators.method import Method
from kernelhood.estimators.targets import two_class_tags
from kernelhood.estimators.training import TaskKernels, fit_svm
from kernelhood.inspection.model import Neighborhood, alignment, cosine, places_of
from kernelhood.kernels import AutoBank, Gaussian, KernelBank
from kernelhood.losses import BoxLoss
from kernelhood.solvers.neighborhood import (
    TargetMatrix,
    centered_alignment_weights,
    certified_etas,
    solve_aligned,
    solve_neighborhood,
)
from kernelhood.solvers.problem import Solution

_ROUNDING = 1e-14


@dataclass(frozen=True)
class BentNeighborhood(Neighborhood):
    """A neighborhood whose matrix is K + bb' at the training points.

    Attributes
    ----------
    bend : ndarray of shape (n_samples,)
        b, where a sample of weight w counts as w equal samples; empty if there are several pairs of
        classes, whose matrices differ.
    """

    bend: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseMethod(Method):
    """Stack the identity behind the kernels, and read the matrix off the dual vector."""

    path_parameters: ClassVar[tuple[str, ...]] = ("rho",)

    with_noise: ClassVar[bool] = True

    def solve_near(self, kernels: TaskKernels, problem: TaskProblem, rho: float) -> TaskSolution:
        """Minimise ``S(Khat) + (rho/2) |Khat - K_nu|^2``."""
        assert isinstance(problem.loss, BoxLoss)
        found = solve_neighborhood(
            kernels.Ks,
            problem.loss,
            rho,
            starts=problem.starts,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        nu, G = found.weights[:-1], kernels.gram[:-1, :-1]
        own = _own_alignment(nu, G, found.q, 0.5 / rho)
        single = len(problem.pairs) == 1
        bend = np.sqrt(0.5 / rho) * found.v / problem.sample_weight if single else np.empty(0)
        neighborhood = BentNeighborhood(nu, G, kernels.traces[:-1], own, bend)
        return TaskSolution(found._replace(weights=nu), neighborhood)


def _own_alignment(nu: Array, G: Array, q: Array, c: float) -> float:
    """Return the cosine between K_nu and K_nu + c vv', from the halves of v'K^m v and v'v."""
    square = float(nu @ G @ nu)
    bend = 2.0 * c * float(nu @ q[:-1])
    length = 2.0 * c * float(q[-1])
    return cosine(square + bend, square, square + 2.0 * bend + length**2)


@dataclass(frozen=True, kw_only=True, eq=False)
class RPKL(NoiseMethod):
    r"""The step of RPKL: a matrix near one kernel.

    Parameters
    ----------
    rho : float
        Weight of the distance between the matrix and the kernel: as it grows, the model turns
        into an SVM.
    spread_level : {1, 2, 3}
        k of the Gaussian, best chosen on validation data.

    Attributes
    ----------
    sigmas_ : ndarray of shape (n_tasks,)
        :math:`\sigma_t` of every task's Gaussian; only if `kernels` is None.
    neighborhood_weights_ : ndarray of shape (n_tasks, 1)
        Ones: the kernel is the part of :math:`\hat K_t` that new points see.

    Notes
    -----
    If `kernels` is None, task t has the Gaussian :math:`\exp(-\lVert x - z\rVert^2 / \sigma_t)`,
    :math:`\sigma_t = 4^{k-1}` times the mean squared distance over all pairs of its training
    points; otherwise `kernels` holds exactly one kernel. The model solves

    .. math:: \min_{\hat K_t}\ S_t(\hat K_t) + \rho \lVert \hat K_t - K_t \rVert_F^2,

    :math:`S_t` the value of the task's SVM (Liu, Chen, Chen and Ye, IJCAI 2009). Then
    :math:`\hat K_t = K_t + v_t v_t' / (4\rho)`, and the dual problem is
    :math:`\max_v\ \text{gain}(v) - \tfrac12 v'K_t v - (v'v)^2 / (16\rho)`. It is solved as an SVM
    with the kernel :math:`K_t + \tau I` over the number :math:`\tau`, which is
    :math:`v'v / (4\rho)` at the optimum. New points see :math:`K_t`, with the intercept of the
    training problem.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rho": [Interval(Real, 0, None, closed="neither")],
        "spread_level": [Interval(Integral, 1, 3, closed="both")],
    }

    kernel_parameters: ClassVar[tuple[str, ...]] = ("kernels", "spread_level")

    rho: float
    spread_level: int

    def read_bank(self) -> KernelBank:
        """Return the one kernel; that of every task is made from its points if none is given."""
        if self.kernels is None:
            return _gaussian(1.0)
        bank = super().read_bank()
        if isinstance(bank, AutoBank) or len(bank) > 1:
            count = "a bank of them" if isinstance(bank, AutoBank) else str(len(bank))
            raise ValueError(
                f"RPKL needs a single kernel, got {count}: give one, or None for the Gaussian of "
                "spread_level."
            )
        return bank

    def task_bank(self, bank: KernelBank, X: Any, sample_weight: Array) -> KernelBank:
        """Return the kernel of a task with these training points."""
        return bank if self.kernels is not None else _gaussian(self.sigma(X, sample_weight))

    def sigma(self, X: Any, sample_weight: Array) -> float:
        """Return the width of a task's Gaussian."""
        return float(4.0 ** (self.spread_level - 1) * mean_square_distance(X, sample_weight))

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Learn the matrix and the SVM of one task."""
        return self.solve_near(kernels, problem, 2.0 * float(self.rho))

    def functions(self, bank: KernelBank, kernels: Any, problems: Any, solved: Any) -> Functions:
        """Return what predictions need; tasks may have kernels of their own."""
        banks = None if self.kernels is not None else [own.bank for own in kernels]
        return Functions.of(bank, problems, solved, banks=banks)


def _gaussian(sigma: float) -> KernelBank:
    """Return exp(-|x - z|^2 / sigma); if all points are equal, any sigma gives the same."""
    width = float(np.sqrt(0.5 * sigma)) if sigma > 0.0 else 1.0
    return KernelBank([Gaussian(width)], names=["gaussian"])


def mean_square_distance(X: Any, sample_weight: Array) -> float:
    """Return the mean of |x_i - x_j|^2 over all pairs (i, j), i = j among them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Points.
    sample_weight : ndarray of shape (n_samples,)
        How often each counts.

    Examples
    --------
    >>> import numpy as np
    >>> mean_square_distance(np.array([[0.0], [2.0]]), np.ones(2))
    2.0
    """
    shares = sample_weight / sample_weight.sum()
    mean = np.asarray(X.T @ shares).ravel()
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        spread = float(shares @ squares - mean @ mean)
    else:
        spread = float(shares @ np.square(X - mean).sum(axis=1))
    return 2.0 * spread if spread > _ROUNDING * float(mean @ mean) else 0.0


class _BentModel(NeighborhoodModel):
    """The part of the estimators whose matrices are bent at the training points."""

    sigmas_: Array

    def _keep_more(
        self, method: Any, kernels: Any, problems: list[TaskProblem], solved: list[TaskSolution]
    ) -> None:
        found = [one.neighborhood for one in solved]
        bends = [one.bend for one in found if isinstance(one, BentNeighborhood)]
        self._bends = [bend[bend != 0.0] for bend in bends]  # at the support vectors
        if isinstance(method, RPKL):
            self._points = [(problem.X, problem.sample_weight) for problem in problems]
            if method.kernels is None:
                self.sigmas_ = np.array([method.sigma(*one) for one in self._points])

    def neighborhood_kernel(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the matrix that defines the task's neighborhood.

        Between training points of the task it is the whole matrix, ``K_t + c v_t v_t'``; any other
        points see only ``K_t``. So do all points of a task of more than two classes.

        Parameters
        ----------
        X, Z : array-like or CSR matrix of shape (n, n_features) and (m, n_features)
            Points; with `task_column`, without that column.
        task : hashable
            One of ``tasks_``.
        """
        K, number = super().neighborhood_kernel(X, Z, task), self._task_number(task)
        if not len(self._bends[number]):
            return K
        bend = np.append(self._bends[number], 0.0)  # the last place is that of other points
        at_X, at_Z = (bend[places_of(one, self.support_vectors_[number])] for one in (X, Z))
        return np.asarray(K + np.outer(at_X, at_Z))

    def _cosine(self, t: int, s: int) -> float:
        if self.functions_.banks is None:
            return super()._cosine(t, s)
        X, sample_weight = self._points[t]
        scale = np.sqrt(np.outer(sample_weight, sample_weight))
        own, other = (self.functions_.bank_of(number)(X)[0] * scale for number in (t, s))
        return alignment(own, other)


@estimator
class RPKLClassifier(ClassifierMixin, _BentModel):
    """A neighborhood of one Gaussian for classification (RPKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import RPKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = RPKLClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """

    _method = RPKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks
    __sklearn_tags__ = two_class_tags

    kernels: Any = None
    rho: float = 0.25
    spread_level: int = 1
    class_weight: Any = None


@estimator
class RPKLRegressor(RegressorMixin, _BentModel):
    """A neighborhood of one Gaussian for regression (RPKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import RPKLRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2])
    >>> model = RPKLRegressor(C=100.0, rho=1e4, epsilon=0.01).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    _method = RPKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    kernels: Any = None
    rho: float = 0.25
    spread_level: int = 1
    epsilon: float = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class ONJKL(NoiseMethod):
    r"""The step of ONJKL: a combination and a matrix near it.

    Parameters
    ----------
    rho : float
        Weight of the distance between the matrix and the combination, best chosen on validation
        data: as it grows, the model turns into ITL with p = 1.

    Attributes
    ----------
    neighborhood_weights_ : ndarray of shape (n_tasks, n_kernels)
        The weights again: coefficients of the part of :math:`\hat K_t` that new points see.

    Notes
    -----
    For every task t the model solves

    .. math:: \min_{\theta_t \ge 0,\ \hat K_t}\ S_t(\hat K_t) + \tfrac\rho2 \Bigl\lVert \hat K_t
        - \sum_m \theta_t^m K_t^m \Bigr\rVert_F^2, \quad \sum_m \theta_t^m = 1,

    :math:`S_t` the value of the task's SVM (Liu et al., IEEE Trans. Cybernetics 43(1), 2013, here
    with weights of its own for every task). The best matrix is
    :math:`\hat K_t = K_t + v_t v_t' / (2\rho)` on the training points; new points see :math:`K_t`,
    with the intercept of the training problem.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rho": [Interval(Real, 0, None, closed="neither")]
    }

    rho: float

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Learn the weights, the matrix and the SVM of one task."""
        return self.solve_near(kernels, problem, float(self.rho))


@estimator
class ONJKLClassifier(ClassifierMixin, _BentModel):
    """A neighborhood of a learned combination for classification (ONJKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import ONJKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = ONJKLClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """

    _method = ONJKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks
    __sklearn_tags__ = two_class_tags

    rho: float = 1.0
    class_weight: Any = None


@estimator
class ONJKLRegressor(RegressorMixin, _BentModel):
    """A neighborhood of a learned combination for regression (ONJKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import ONJKLRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2])
    >>> model = ONJKLRegressor(C=100.0, rho=1e4, epsilon=0.01).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    _method = ONJKL
    score = MultiTaskModel.score  # the mixin's own knows no tasks

    rho: float = 1.0
    epsilon: float = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class KTA(Method):
    r"""The step of KTA: the targets define the neighborhood.

    Parameters
    ----------
    eta : float
        Weight of the distance between a task's kernel and :math:`yy'`; not used if `centered`.
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
        """Leave out eta if it is not used."""
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


@estimator
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

    eta: float = 1.0
    centered: bool = False
    class_weight: Any = None


@estimator
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

    eta: float = 1.0
    centered: bool = False
    epsilon: float = 0.1
