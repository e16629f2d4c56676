"""MT-ONMKL: multi-task learning with optimal neighborhood kernels."""

from __future__ import annotations

from typing import Any

from kernelhood.estimators._docs import documented
from kernelhood.estimators._neighborhood import NeighborhoodStep
from kernelhood.estimators._targets import MultiTaskClassifier, MultiTaskRegressor


@documented
class MTONMKLClassifier(NeighborhoodStep, MultiTaskClassifier):
    """Multi-task classification with optimal neighborhood kernels (MT-ONMKL).

    A task may have more than two classes: then there is one SVM for each pair of them, and all
    pairs of a task have the same kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import MTONMKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> task = np.repeat(["left", "right"], 40)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    >>> model = MTONMKLClassifier(C=10.0).fit(X, y, task=task)
    >>> bool(model.dual_gap_ <= 1e-3), bool(model.score(X, y, task=task) > 0.9)
    (True, True)
    """

    _many_classes = True

    def __init__(
        self,
        *,
        kernels: Any = None,
        C: float = 1.0,
        eta: float = 16.0,
        beta: float = 1e-3,
        formulation: str = "normalized",
        sharing: str = "weights",
        specific_cost: float = 1.0,
        intercept: str = "task",
        unseen_task: str = "error",
        cache_size: float = 1000.0,
        storage: str = "float64",
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
        self.eta = eta
        self.beta = beta
        self.formulation = formulation
        self.sharing = sharing
        self.specific_cost = specific_cost
        self.intercept = intercept
        self.unseen_task = unseen_task
        self.cache_size = cache_size
        self.storage = storage


@documented
class MTONMKLRegressor(NeighborhoodStep, MultiTaskRegressor):
    """Multi-task regression with optimal neighborhood kernels (MT-ONMKL).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood import MTONMKLRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2])
    >>> model = MTONMKLRegressor(C=100.0, epsilon=0.01).fit(X, y)
    >>> model.predict(X).shape, model.tasks_
    ((50, 2), [0, 1])
    """

    def __init__(
        self,
        *,
        kernels: Any = None,
        C: float = 1.0,
        eta: float = 16.0,
        beta: float = 1e-3,
        epsilon: float = 0.1,
        formulation: str = "normalized",
        sharing: str = "weights",
        specific_cost: float = 1.0,
        intercept: str = "task",
        unseen_task: str = "error",
        cache_size: float = 1000.0,
        storage: str = "float64",
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
        self.eta = eta
        self.beta = beta
        self.formulation = formulation
        self.sharing = sharing
        self.specific_cost = specific_cost
        self.intercept = intercept
        self.unseen_task = unseen_task
        self.cache_size = cache_size
        self.storage = storage
