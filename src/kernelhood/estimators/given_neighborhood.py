"""What may define a neighborhood: a kernel, matrices by task, or a model fitted earlier."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from kernelhood._typing import Array, Indices
from kernelhood.estimators.base import MultiTaskModel
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.reading import TaskRows, TrainingData, names_without_task
from kernelhood.estimators.related import RelatedMethod
from kernelhood.estimators.training import TaskKernels
from kernelhood.inspection.model import Neighborhood, cosine, places_of
from kernelhood.kernels import KernelBank, as_kernel
from kernelhood.penalties import Distance
from kernelhood.penalties.priced import nearest_weights
from kernelhood.solvers.loop import solve
from kernelhood.solvers.neighborhood import identity_projection
from kernelhood.solvers.problem import Problem, Solution
from kernelhood.solvers.within_radius import Ball, solve_within

_SYMMETRIC = 1e-8
_KINDS = (
    "a kernel, the name of one of scikit-learn's pairwise kernels, a function k(X, Z), a pair "
    "(kernels, weights), a dict of one symmetric matrix for each task, or a fitted model of this "
    "library"
)


class GivenNeighborhood(ABC):
    """The matrix Khat_t of every task."""

    def fitted_to(
        self, points: Any, tasks: Sequence[TaskRows], names: Sequence[str] | None
    ) -> GivenNeighborhood:
        """Return what serves these data, or raise if this cannot; called before any work.

        Parameters
        ----------
        points : ndarray or CSR matrix
            All training points.
        tasks : sequence of TaskRows
            The tasks.
        names : sequence of str, optional
            Of the features.
        """
        return self

    def at(self, problem: TaskProblem) -> Array:
        """Return Khat_t between the samples of a task."""
        return checked_matrix(self.between(problem.X, problem.X, problem.name), problem.name)

    @abstractmethod
    def between(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return what defines a task's neighborhood at any points, NaN if nothing is known."""


@dataclass(frozen=True)
class KernelNeighborhood(GivenNeighborhood):
    """A combination of kernels, the same for all tasks; weights may have any sign."""

    bank: KernelBank
    weights: Array

    def fitted_to(
        self, points: Any, tasks: Sequence[TaskRows], names: Sequence[str] | None
    ) -> GivenNeighborhood:
        """Return the same with column names replaced by numbers."""
        return KernelNeighborhood(self.bank.resolved(names), self.weights)

    def between(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the combination at any points."""
        return self.bank.combine(X, Z, self.weights)


@dataclass(frozen=True)
class ModelNeighborhood(GivenNeighborhood):
    """The kernels that an earlier model learned: a task's own, or their mean for a new task."""

    model: MultiTaskModel

    def fitted_to(
        self, points: Any, tasks: Sequence[TaskRows], names: Sequence[str] | None
    ) -> GivenNeighborhood:
        """Return the same, or raise if the model was fitted to other features."""
        n_features = self.model.support_vectors_[0].shape[1]
        known = names_without_task(self.model)
        if points.shape[1] != n_features:
            raise ValueError(
                f"neighborhood is a model of {n_features} features, but X has {points.shape[1]}: "
                "give a model of the same features."
            )
        if known is not None and names is not None and list(names) != known:
            raise ValueError(
                f"neighborhood is a model of the features {known}, but X has {list(names)}: give "
                "them the same names and order."
            )
        return self

    def between(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the kernel of the task of this name, or the mean of all."""
        model = self.model
        if task in model.tasks_:
            return model.task_kernel(X, Z, task)
        banks = [model.functions_.bank_of(number) for number in range(len(model.tasks_))]
        if all(bank is banks[0] for bank in banks):
            return banks[0].combine(X, Z, model.weights_.mean(axis=0))
        each = [model.task_kernel(X, Z, one) for one in model.tasks_]
        return np.asarray(np.mean(each, axis=0))


@dataclass(frozen=True)
class MatrixNeighborhood(GivenNeighborhood):
    """A matrix for each task, between its rows in the order of X."""

    matrices: Mapping[Hashable, Any]
    rows: Mapping[Hashable, Indices] = field(default_factory=dict)
    points: Any = None

    def fitted_to(
        self, points: Any, tasks: Sequence[TaskRows], names: Sequence[str] | None
    ) -> GivenNeighborhood:
        """Return the same with the rows of every task, or raise if a matrix does not fit."""
        missing = [one.name for one in tasks if one.name not in self.matrices]
        if missing:
            raise ValueError(
                f"neighborhood has no matrix for the tasks {', '.join(map(repr, missing))}: give "
                "one for every task."
            )
        for one in tasks:
            n, matrix = len(one.rows), np.asarray(self.matrices[one.name])
            if matrix.shape != (n, n):
                raise ValueError(
                    f"neighborhood of task {one.name!r} must have shape {(n, n)}, one row for each "
                    f"of its rows in the order of X: got {matrix.shape}."
                )
            checked_matrix(matrix, one.name)
        return MatrixNeighborhood(self.matrices, {one.name: one.rows for one in tasks}, points)

    def at(self, problem: TaskProblem) -> Array:
        """Return the matrix of the samples that take part."""
        places = np.searchsorted(self.rows[problem.name], problem.rows)
        matrix = np.asarray(self.matrices[problem.name], dtype=np.float64)
        return matrix[np.ix_(places, places)]

    def between(self, X: Any, Z: Any, task: Hashable) -> Array:
        """Return the entries between training points of the task, NaN for other points."""
        known = self.points[self.rows[task]]
        i, j = (places_of(one, known) for one in (X, Z))
        found = np.asarray(self.matrices[task], dtype=np.float64)[np.ix_(i, j)]
        return np.where(np.logical_and.outer(i >= 0, j >= 0), found, np.nan)


def checked_matrix(matrix: Any, task: Hashable) -> Array:
    """Return a matrix of numbers, or raise if it is not finite or not symmetric."""
    try:
        found: Array = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"neighborhood of task {task!r} must be a matrix of numbers.") from None
    if not np.all(np.isfinite(found)):
        raise ValueError(f"neighborhood of task {task!r} must be finite, it holds NaN or infinity.")
    size = float(np.abs(found).max(initial=0.0))
    if not np.allclose(found, found.T, rtol=_SYMMETRIC, atol=_SYMMETRIC * size):
        raise ValueError(
            f"neighborhood of task {task!r} must be symmetric: entry (i, j) is entry (j, i)."
        )
    return found


def read_neighborhood(value: Any) -> GivenNeighborhood:
    """Return what a user gave as `neighborhood`, or raise an error that says what would do."""
    if isinstance(value, MultiTaskModel):
        if not hasattr(value, "weights_"):
            raise ValueError(
                f"neighborhood must be a fitted model, got a {type(value).__name__} that is not: "
                "call its fit first."
            )
        return ModelNeighborhood(value)
    if isinstance(value, Mapping):
        return MatrixNeighborhood(value)
    if isinstance(value, tuple) and len(value) == 2:
        return _combination(*value)
    if isinstance(value, KernelBank):
        if len(value) > 1:
            raise ValueError(
                f"neighborhood holds {len(value)} kernels without their weights: give a pair "
                "(kernels, weights)."
            )
        return KernelNeighborhood(value, np.ones(1))
    try:
        return KernelNeighborhood(KernelBank([as_kernel(value)]), np.ones(1))
    except TypeError:
        raise ValueError(f"neighborhood must be {_KINDS}, got {type(value).__name__}.") from None
    except ValueError as error:
        raise ValueError(f"neighborhood: {error}") from None


def _combination(kernels: Any, weights: Any) -> GivenNeighborhood:
    """Return a bank with a weight for each of its kernels."""
    bank = kernels if isinstance(kernels, KernelBank) else KernelBank(kernels)
    coefficients = np.asarray(weights, dtype=np.float64)
    if coefficients.shape != (len(bank),) or not np.all(np.isfinite(coefficients)):
        raise ValueError(
            f"neighborhood must have one finite weight for each of its {len(bank)} kernels, got "
            f"{weights!r}."
        )
    return KernelNeighborhood(bank, coefficients)


_ROUNDING = 1e-12


@dataclass(frozen=True)
class FixedNeighborhood(Neighborhood):
    """The given matrix of one task as its base kernels see it.

    Attributes
    ----------
    outside : float
        Squared norm of the part of the matrix that no combination of the kernels carries.
    """

    outside: float = 0.0


@dataclass(frozen=True)
class FixedMatrix:
    """A matrix Khat_t and what its distance from combinations of the kernels depends on.

    Attributes
    ----------
    products : ndarray of shape (n_kernels,)
        <K^m, Khat>_F.
    size : float
        |Khat|_F^2.
    centre, slack : ndarray of shape (n_kernels,)
        The weights nearest to it; see `penalties.distance`.
    least : float
        The square of their distance.
    """

    products: Array
    size: float
    centre: Array
    slack: Array
    least: float

    @classmethod
    def of(cls, kernels: TaskKernels, matrix: Array) -> Self:
        """Return what is to be known of a matrix; a sample of weight 2 counts as two."""
        weighted = matrix * np.outer(kernels.sample_weight, kernels.sample_weight)
        products = np.tensordot(kernels.Ks, weighted, axes=2)
        centre, slack = nearest_weights(kernels.gram, products)
        rest = np.tensordot(centre, kernels.Ks, axes=1) - matrix
        counts = np.outer(kernels.sample_weight, kernels.sample_weight)
        least = float(np.sum(counts * rest**2))
        return cls(products, float(np.sum(weighted * matrix)), centre, slack, least)

    def described(self, kernels: TaskKernels, weights: Array) -> FixedNeighborhood:
        """Return what a fitted model tells of the matrix."""
        G = kernels.gram
        kappa = identity_projection(G, self.products)
        own = cosine(float(weights @ self.products), float(weights @ G @ weights), self.size)
        outside = max(self.size - float(kappa @ self.products), 0.0)
        return FixedNeighborhood(kappa, G, kernels.traces, own, outside)


def room_within(radius: float, fixed: Sequence[FixedMatrix]) -> float:
    """Return how far kernels may go beyond the nearest ones, or raise if these are too far."""
    least = sum(one.least for one in fixed)
    rounding = _ROUNDING * (least + sum(one.size for one in fixed))
    if radius < least - rounding:
        raise ValueError(
            f"radius={radius:g} is out of reach: the nearest kernels have a squared distance of "
            f"{least:.6g} from the neighborhoods; use radius >= {least * (1.0 + 1e-5):.6g}."
        )
    return max(radius - least, rounding, 1e-300)


NEEDS_NEIGHBORHOOD = (
    "radius is the largest squared distance from a neighborhood that is given: give neighborhood, "
    "or leave out radius."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class NearGiven(RelatedMethod):
    r"""MT-ONMKL with neighborhoods that are given.

    Parameters
    ----------
    neighborhood : kernel, str, callable, tuple, dict or fitted model, optional
        What defines the neighborhoods, instead of the paper's regulariser: then the model is
        :math:`\sum_t S_t(K_t) + \tfrac\eta2 \lVert K_t - \hat K_t\rVert_F^2` over
        :math:`\theta_t \ge 0` with these :math:`\hat K_t`, which may be
        indefinite; `beta` and `formulation` play no part. A kernel of this library, the name of one
        of scikit-learn's pairwise kernels, a function ``k(X, Z)``, or a pair (kernels, weights)
        is evaluated at every task's samples. A dict has a symmetric matrix for every task, between
        its rows in the order of X. A fitted model of this library stands for the kernels that it
        learned: those of the task of the same name, the mean over its tasks if it has none; its
        data are not needed. Only for tasks that are independent.
    radius : float, optional
        :math:`\rho`, to ask for :math:`\sum_t \lVert K_t - \hat K_t\rVert_F^2 \le \rho` instead of
        pricing the distance: the model is then :math:`\sum_t S_t(K_t)` under this constraint, and
        `eta` is not used. All tasks share one :math:`\rho`.

    Attributes
    ----------
    multiplier_ : float
        With `radius`, the eta whose penalised model has the same solution; 0 if the radius does
        not matter.
    """

    eta: float
    around: GivenNeighborhood | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "neighborhood": "no_validation",
        "radius": [Interval(Real, 0, None, closed="left"), None],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("eta", "beta", "radius")

    # What a search asks.

    @classmethod
    def canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters that give the same predictor and are equal for equal models."""
        _check_given(params["neighborhood"], cls.couples(params))
        if isinstance(params["neighborhood"], Mapping):
            raise ValueError(
                "neighborhood holds matrices for all training rows, and a search splits them: "
                "give a function of X, such as Precomputed(K) with a column of row numbers."
            )
        same = {**super().canonical(params), "beta": 1.0, "formulation": "corrected"}
        return same if params["radius"] is None else {**same, "eta": 1.0}

    @classmethod
    def solves_together(cls, params: Mapping[str, Any]) -> bool:
        """Return whether all tasks share a radius."""
        return params["radius"] is not None

    @classmethod
    def path_order(cls, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """Let the distance cost more along the path, or the radius grow."""
        return (params["C"], params["eta"] if params["radius"] is None else params["radius"])

    # What a fit asks.

    def check(self) -> None:
        """Raise if no model has such a neighborhood."""
        super().check()
        _check_given(self.neighborhood, self.stated.couples)

    def prepared(self, data: TrainingData) -> Self:
        """Return the method with the neighborhoods at these rows, or raise if they do not fit."""
        read = read_neighborhood(self.neighborhood)
        return replace(self, around=read.fitted_to(data.points, data.tasks, data.names))

    def _fixed(self, kernels: TaskKernels, problem: TaskProblem) -> FixedMatrix:
        """Return a task's matrix, evaluated once for all models with the same kernels."""
        kept = kernels.kept.get("neighborhood")
        if kept is None or kept[0] is not self.neighborhood:
            around = self.around or read_neighborhood(self.neighborhood)
            kept = self.neighborhood, FixedMatrix.of(kernels, around.at(problem))
            kernels.kept["neighborhood"] = kept
        fixed: FixedMatrix = kept[1]
        return fixed

    def solve_task(self, kernels: TaskKernels, problem: TaskProblem) -> TaskSolution:
        """Solve one task with a price for the distance."""
        fixed = self._fixed(kernels, problem)
        penalty = Distance(float(self.eta), kernels.gram, fixed.centre, fixed.slack)
        found = problem.certified(penalty, self.tol)
        if found is None:
            start = problem.closest_start(penalty)
            if start is not None and not start.weights.any():
                start = None  # the dual vector of a kernel of zeros says little
            joint = Problem(kernels.blocks(problem), penalty)
            found = solve(joint, start=start, tol=self.tol, max_iter=self.max_iter)
        found = _raised(found, 0.5 * float(self.eta) * fixed.least)
        return TaskSolution(found, fixed.described(kernels, found.weights))

    def solve(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve all tasks: as one if they share a radius."""
        if self.radius is None:
            return super().solve(kernels, problems)
        pairs = list(zip(kernels, problems, strict=True))
        fixed = [self._fixed(*pair) for pair in pairs]
        balls = [
            Ball(own.blocks(problem), own.gram, one.centre, one.slack)
            for (own, problem), one in zip(pairs, fixed, strict=True)
        ]
        found = solve_within(
            balls,
            room_within(float(self.radius), fixed),
            starts=[problem.starts[0] if problem.starts else None for problem in problems],
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        rows = zip(found.solutions, kernels, fixed, strict=True)
        return [
            TaskSolution(one, its.described(own, one.weights), multiplier=found.eta)
            for one, own, its in rows
        ]


def _check_given(neighborhood: Any, coupled: bool) -> None:
    """Raise if no model has such a neighborhood."""
    if coupled:
        raise ValueError(
            "neighborhood needs tasks that are independent: use relation='independent'."
        )
    read_neighborhood(neighborhood)


def _raised(found: Solution, constant: float) -> Solution:
    """Return a solution with a constant added to its objective."""
    trace = found.trace + np.array([constant, 0.0])
    return found._replace(objective=found.objective + constant, trace=trace)
