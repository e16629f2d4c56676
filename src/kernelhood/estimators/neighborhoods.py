"""What RPKL and ONJKL share: a matrix near a combination of kernels, K + c vv'."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from kernelhood._typing import Array
from kernelhood.estimators.base import MultiTaskKernelModel
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.docs import documented
from kernelhood.estimators.targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.estimators.training import TaskKernels
from kernelhood.inspection.model import (
    Neighborhood,
    NeighborhoodInspection,
    alignment,
    cosine,
    places_of,
)
from kernelhood.kernels import AutoBank, Gaussian, KernelBank
from kernelhood.losses import BoxLoss
from kernelhood.solvers.neighborhood import solve_neighborhood


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


class NoiseStep(NeighborhoodInspection, MultiTaskKernelModel):
    """Stack the identity behind the kernels, and read the matrix off the dual vector."""

    _path_parameters = ("rho",)

    _with_noise = True

    def _solve_near(self, kernels: TaskKernels, problem: TaskProblem, rho: float) -> TaskSolution:
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

    def _store_neighborhoods(self, found: list[Neighborhood | None]) -> None:
        super()._store_neighborhoods(found)
        bends = [one.bend for one in found if isinstance(one, BentNeighborhood)]
        self._bends = [bend[bend != 0.0] for bend in bends]  # at the support vectors

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


def _own_alignment(nu: Array, G: Array, q: Array, c: float) -> float:
    """Return the cosine between K_nu and K_nu + c vv', from the halves of v'K^m v and v'v."""
    square = float(nu @ G @ nu)
    bend = 2.0 * c * float(nu @ q[:-1])
    length = 2.0 * c * float(q[-1])
    return cosine(square + bend, square, square + 2.0 * bend + length**2)


_ROUNDING = 1e-14


class _ProximityStep(NoiseStep):
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
        :math:`\sigma_t` of every task's Gaussian; only where `kernels` is None.
    neighborhood_weights_ : ndarray of shape (n_tasks, 1)
        Ones: the kernel is the part of :math:`\hat K_t` that new points see.

    Notes
    -----
    Where `kernels` is None, task t has the Gaussian :math:`\exp(-\lVert x - z\rVert^2 / \sigma_t)`,
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

    _parameter_constraints: dict[str, Any] = {
        "rho": [Interval(Real, 0, None, closed="neither")],
        "spread_level": [Interval(Integral, 1, 3, closed="both")],
    }

    _kernel_parameters = ("kernels", "spread_level")

    rho: float
    spread_level: int
    sigmas_: Array

    def _read_bank(self) -> KernelBank:
        if self.kernels is None:
            return _gaussian(1.0)
        bank = super()._read_bank()
        if isinstance(bank, AutoBank) or len(bank) > 1:
            count = "a bank of them" if isinstance(bank, AutoBank) else str(len(bank))
            raise ValueError(
                f"{type(self).__name__} needs a single kernel, got {count}: give one, or None "
                "for the Gaussian of spread_level."
            )
        return bank

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        self._points = [(problem.X, problem.sample_weight) for problem in problems]
        if self.kernels is None:
            self.sigmas_ = np.array([self._sigma(*one) for one in self._points])
        super()._store(problems, solved)

    def _task_bank(self, bank: KernelBank, X: Any, sample_weight: Array) -> KernelBank:
        return bank if self.kernels is not None else _gaussian(self._sigma(X, sample_weight))

    def _sigma(self, X: Any, sample_weight: Array) -> float:
        return float(4.0 ** (self.spread_level - 1) * mean_square_distance(X, sample_weight))

    def _bank_of(self, number: int) -> KernelBank:
        return self._bank if self.kernels is not None else _gaussian(self.sigmas_[number])

    def _kernel_names(self) -> list[str]:
        return ["gaussian"] if self.kernels is None else self._bank.names

    def _solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        return self._solve_near(kernels, problem, 2.0 * float(self.rho))

    def _cosine(self, t: int, s: int) -> float:
        X, sample_weight = self._points[t]
        scale = np.sqrt(np.outer(sample_weight, sample_weight))
        own, other = (self._bank_of(number)(X)[0] * scale for number in (t, s))
        return alignment(own, other)


def _gaussian(sigma: float) -> KernelBank:
    """Return exp(-|x - z|^2 / sigma); where all points are equal, any sigma gives the same."""
    return KernelBank([Gaussian(float(np.sqrt(0.5 * sigma)) if sigma > 0.0 else 1.0)])


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


@documented
class RPKLClassifier(_ProximityStep, MultiTaskClassifier):
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

    def __init__(
        self,
        *,
        kernels: Any = None,
        C: float = 1.0,
        rho: float = 0.25,
        spread_level: int = 1,
        tol: float = 1e-3,
        max_iter: int = 100,
        class_weight: Any = None,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        super().__init__(
            kernels=kernels,
            C=C,
            tol=tol,
            max_iter=max_iter,
            class_weight=class_weight,
            task_column=task_column,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.rho = rho
        self.spread_level = spread_level


@documented
class RPKLRegressor(_ProximityStep, MultiTaskRegressor):
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

    def __init__(
        self,
        *,
        kernels: Any = None,
        C: float = 1.0,
        rho: float = 0.25,
        spread_level: int = 1,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = 100,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        super().__init__(
            kernels=kernels,
            C=C,
            tol=tol,
            max_iter=max_iter,
            epsilon=epsilon,
            task_column=task_column,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.rho = rho
        self.spread_level = spread_level


class _JointStep(NoiseStep):
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

    _parameter_constraints: dict[str, Any] = {"rho": [Interval(Real, 0, None, closed="neither")]}

    rho: float

    def _solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        return self._solve_near(kernels, problem, float(self.rho))


@documented
class ONJKLClassifier(_JointStep, MultiTaskClassifier):
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

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        rho: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        class_weight: Any = None,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        super().__init__(
            kernels=kernels,
            C=C,
            tol=tol,
            max_iter=max_iter,
            class_weight=class_weight,
            task_column=task_column,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.rho = rho


@documented
class ONJKLRegressor(_JointStep, MultiTaskRegressor):
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

    def __init__(
        self,
        *,
        kernels: Any = "auto",
        C: float = 1.0,
        rho: float = 1.0,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = 100,
        task_column: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = False,
    ) -> None:
        super().__init__(
            kernels=kernels,
            C=C,
            tol=tol,
            max_iter=max_iter,
            epsilon=epsilon,
            task_column=task_column,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.rho = rho
