"""ONJKL: a matrix in the neighborhood of a learned combination of kernels."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from kernelhood.estimators._noise import NoiseStep
from kernelhood.pipeline.docs import documented
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.pipeline.targets import MultiTaskClassifier, MultiTaskRegressor
from kernelhood.pipeline.task_kernels import TaskKernels


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
