"""A method: what is solved, and what a search has to know of it."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from kernelhood._typing import Array
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.functions import Functions
from kernelhood.estimators.reading import TrainingData, is_fitted
from kernelhood.estimators.training import SeparateKernels, TaskKernels
from kernelhood.kernels import BANKS, AutoBank, InputSummary, KernelBank, default_bank
from kernelhood.parallel import map_in_threads
from kernelhood.solvers.problem import Solution

#: Parameters that change how a model is computed or read, not the model.
TECHNICAL = frozenset(
    {
        "max_iter",
        "task_column",
        "n_jobs",
        "verbose",
        "unseen_task",
    }
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Method(ABC):
    """What an estimator solves, with its parameters.

    Class methods take the parameters of an estimator. A search asks them about the points of a
    grid; a number may then be a column of numbers, and so is what follows from it.

    Parameters
    ----------
    kernels : {"auto", "small", "paper"}, AutoBank, KernelBank or list of kernels
        The base kernels. "auto" is an `AutoBank`, which is fitted to the inputs of all training
        rows; "small" is one without the kernels on single columns; "paper" is `default_bank`, the
        ten kernels of the paper. Or a list: kernelhood kernels, names of scikit-learn's pairwise
        kernels, callables.
    C : float
        Weight of the loss.
    tol : float
        Relative duality gap to reach in every task; below 1e-11 rounding decides how far it falls.
    max_iter : int
        Largest number of SVMs to solve for a task; in MT-ONMKL's `normalized`, at the end of its
        path.
    n_jobs : int, optional
        Threads over tasks.

    Examples
    --------
    >>> from kernelhood.estimators.mtonmkl import MTONMKL
    >>> issubclass(MTONMKL, Method), MTONMKL.path_parameters
    (True, ('eta', 'beta', 'radius'))
    """

    kernels: Any
    C: float
    tol: float
    max_iter: int
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernels": "no_validation",
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    #: Parameters that shape the kernels.
    kernel_parameters: ClassVar[tuple[str, ...]] = ("kernels",)
    #: Parameters along which each model of a search starts from the one before.
    path_parameters: ClassVar[tuple[str, ...]] = ()
    #: Whether a task may have more than two classes.
    many_classes: ClassVar[bool] = False
    #: Whether all rows are one task, whatever their labels.
    one_function: ClassVar[bool] = False
    #: Whether the identity comes behind the kernels of a task.
    with_noise: ClassVar[bool] = False

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Return the method with the parameters of an estimator."""
        names = [one.name for one in fields(cls)]
        return cls(**{name: params[name] for name in names if name in params})

    @classmethod
    def kind(cls, params: Mapping[str, Any]) -> type[Method]:
        """Return the method that parameters ask for, as far as they decide it."""
        return cls

    @classmethod
    def kinds(cls) -> tuple[type[Method], ...]:
        """Return all methods that parameters may ask for."""
        return (cls,)

    # What a search asks.

    @classmethod
    def kernel_key(cls, params: Mapping[str, Any]) -> list[Any]:
        """Return what shapes the kernels of a model: the same for models that can share them."""
        return [params[name] for name in cls.kernel_parameters]

    @classmethod
    def couples(cls, params: Mapping[str, Any]) -> bool:
        """Return whether the tasks have to be solved together with these parameters."""
        return False

    @classmethod
    def solves_together(cls, params: Mapping[str, Any]) -> bool:
        """Return whether a search has to hand over all tasks at once."""
        return cls.couples(params)

    @classmethod
    def has_many_solutions(cls, params: Mapping[str, Any]) -> bool:
        """Return whether the solution depends on where it starts."""
        return False

    @classmethod
    def joins_samples(cls, params: Mapping[str, Any]) -> bool:
        """Return whether all tasks have one SVM in common."""
        return False

    @classmethod
    def canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters that give the same predictor and are equal for equal models."""
        return dict(params)

    @classmethod
    def in_domain(cls, params: Mapping[str, Any]) -> Any:
        """Return whether the method is defined for parameters, or for which rows of columns."""
        return True

    @classmethod
    def why_outside(cls, params: Mapping[str, Any]) -> str:
        """Return why the method is not defined for parameters."""
        raise NotImplementedError

    @classmethod
    def why_too_large(cls, params: Mapping[str, Any], n_samples: int, n_points: int) -> str:
        """Return why a fit to so many samples at so many points is refused, "" if it is not."""
        return ""

    @classmethod
    def path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return where canonical parameters stand on a path, each model warm-starting the next.

        By default from strong regularisation to weak.
        """
        return (params["C"],)

    def certified_ahead(
        self,
        found: Solution,
        models: Sequence[Mapping[str, Any]],
        kernels: TaskKernels,
        problem: TaskProblem,
    ) -> int:
        """Return how many of the next models on a path this solution solves as well.

        They differ in `path_parameters` only; kernels and problem are those of the solution.
        """
        return 0

    # What a fit asks, in this order.

    def check(self) -> None:  # noqa: B027 - most methods have nothing to check
        """Raise if parameters contradict each other; called before any work."""

    @property
    def uses_inputs(self) -> bool:
        """Whether rows without a target are of use."""
        return False

    def prepared(self, data: TrainingData) -> Self:
        """Return the method with what it has to know of the training rows."""
        return self

    def needs_inputs(self) -> bool:
        """Return whether the bank is made from the training rows."""
        return is_fitted(self.kernels)

    def read_bank(self) -> KernelBank | AutoBank:
        """Return the kernels, or what they are to be fitted by."""
        if isinstance(self.kernels, str):
            if self.kernels == "paper":
                return default_bank()
            return BANKS.get(self.kernels) or KernelBank([self.kernels])
        if isinstance(self.kernels, (KernelBank, AutoBank)):
            return self.kernels
        return KernelBank(
            self.kernels if isinstance(self.kernels, (list, tuple)) else [self.kernels]
        )

    def fitted_bank(self, inputs: InputSummary) -> KernelBank:
        """Return the kernels for training rows of which something is known."""
        bank = self.read_bank()
        return bank.fitted(inputs) if isinstance(bank, AutoBank) else bank.resolved(inputs.names)

    def task_bank(self, bank: KernelBank, X: Any, sample_weight: Array) -> KernelBank:
        """Return the kernels of a task with these training points; mostly those of all tasks."""
        return bank

    def training_kernels(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> Any:
        """Return the kernels on the training points."""

        def evaluate(problem: TaskProblem) -> TaskKernels:
            own = self.task_bank(bank, problem.X, problem.sample_weight)
            return TaskKernels(own, problem.X, problem.sample_weight, self.with_noise)

        return SeparateKernels(map_in_threads(evaluate, problems, self.n_jobs))

    def solve(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve all tasks, one by one unless the method couples them."""
        pairs = list(zip(kernels, problems, strict=True))
        return map_in_threads(lambda pair: self.solve_task(*pair), pairs, self.n_jobs)

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Learn the weights and the SVM of one task."""
        raise NotImplementedError

    def values_at(
        self, kernels: Any, number: int, X: Any, cross: Any, problem: TaskProblem, found: Any
    ) -> Array:
        """Return the functions of a task at other points, whose kernels `cross` has evaluated."""
        return np.asarray(kernels[number].values(cross, problem, found.solution))

    def functions(
        self,
        bank: KernelBank,
        kernels: Any,
        problems: Sequence[TaskProblem],
        solved: Sequence[TaskSolution],
    ) -> Functions:
        """Return what predictions need of a solution."""
        return Functions.of(bank, problems, solved)
