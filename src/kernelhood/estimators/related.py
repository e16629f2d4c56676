"""What an estimator's parameters say of its tasks: their relation and their intercepts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.base import Decide, MultiTaskKernelModel
from kernelhood.estimators.data import TaskProblem, TaskSolution, is_fitted
from kernelhood.estimators.landmarks import (
    LandmarkExpansion,
    Landmarks,
    Sizes,
    check_memory,
    choose_landmarks,
    chosen_operator,
)
from kernelhood.estimators.low_rank import JointLowRank, TaskLowRank, expansion_of_tasks
from kernelhood.estimators.reading import stack_rows
from kernelhood.estimators.training import JointKernels, pair_numbers
from kernelhood.kernels import Constant, InputSummary, KernelBank
from kernelhood.losses import Squared
from kernelhood.operators.on_demand import rows_that_fit
from kernelhood.parallel import shown
from kernelhood.relations import Independent, Mixed, SharedFunctions, TaskRelation, as_relation
from kernelhood.relations.matrices import TaskMatrices
from kernelhood.solvers.block import no_room
from kernelhood.solvers.problem import Solution

SHARINGS = ("auto", "weights", "functions")


class RelationSettings(MultiTaskKernelModel):
    """What the parameters of an estimator say of its tasks.

    Parameters
    ----------
    sharing : {"auto", "weights", "functions"}
        What tasks share, the short word for three relations: "weights" is the paper's model, in
        which the problem splits into one for each task. With "functions" the shared weights
        multiply the kernel between all samples of all tasks, so that
        :math:`f_t = f_0 + g_t + b_t` and a task learns from the samples of the others. "auto"
        is the relation "mixed" where `kernels` are fitted to the data, and "weights" where they
        are given or the paper's, or where there is a `neighborhood`.
    relation : str, TaskRelation or list of them, optional
        How tasks relate, in the place of `sharing`: "independent", "functions", "mixed" (one
        function for all, and deviations of one size), "inputs" (tasks with like inputs are alike),
        `TaskGroups`, `TaskSimilarity`, `TaskGraph`, or several of them at once.
    specific_cost : float
        How many times more a weight of what tasks have for themselves costs than a shared one, at
        least 1; infinity leaves only what is shared. A kernel is shared as soon as more than a
        fraction ``1 / specific_cost`` of the tasks, by samples, wants it. Only for tasks that are
        solved together.
    intercept : {"auto", "task", "common", "shrunk"}
        Whether every task has an intercept of its own, all have one in common, or their own ones
        are shrunk to it at a price, by a `Constant` kernel beside the others. "auto" is "task" for
        shared functions and "shrunk" for other relations. Only for tasks that are solved together;
        others have their own.
    unseen_task : {"warn", "shared", "error"}
        What to do if a task is to be predicted that was not seen in `fit`. "warn" and "shared"
        predict it by its group, descriptor, neighbours or inputs if the relation can place it by
        these, and otherwise by what all tasks share, with the mean intercept; "warn" then names
        the task in a warning. "error" refuses it. A relation without a common function refuses
        tasks that it cannot place.
    cache_size : float
        The largest stack of kernel matrices between the samples of all tasks to hold, in
        megabytes; larger ones are evaluated block by block whenever they are needed, and rows of
        their combination are kept in as much memory.
    storage : {"float64", "float32"}
        Type of the kernel values that are kept between samples of all tasks. Objective and gap are
        computed in double precision either way.
    """

    _parameter_constraints: dict[str, Any] = {
        "sharing": [StrOptions(set(SHARINGS))],
        "relation": [TaskRelation, str, list, tuple, None],
        "specific_cost": [Interval(Real, 1, np.inf, closed="both")],
        "intercept": [StrOptions({"auto", "task", "common", "shrunk"})],
        "unseen_task": [StrOptions({"warn", "shared", "error"})],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "storage": [StrOptions({"float64", "float32"})],
    }

    sharing: str
    relation: Any
    specific_cost: float
    intercept: str
    unseen_task: str
    cache_size: float
    storage: str

    @classmethod
    def _stated_relation(cls, params: Mapping[str, Any]) -> TaskRelation:
        """Return the relation that parameters name, at its own costs."""
        if params["relation"] is not None:
            return as_relation(params["relation"])
        # A neighborhood that is given is one of independent tasks.
        alone = params["sharing"] != "auto" or params.get("neighborhood") is not None
        if not alone and is_fitted(params["kernels"]):
            return Mixed()
        return SharedFunctions() if params["sharing"] == "functions" else Independent()

    @classmethod
    def _intercept_of(cls, params: Mapping[str, Any]) -> str:
        """Return which intercept parameters stand for."""
        relation = cls._stated_relation(params)
        if not relation.couples:
            return "task"
        if params["intercept"] != "auto":
            return str(params["intercept"])
        return "task" if isinstance(relation, SharedFunctions) else "shrunk"

    @property
    def _relation(self) -> TaskRelation:
        return self._stated_relation(vars(self)).own_costing(float(self.specific_cost))

    @classmethod
    def _couples(cls, params: Mapping[str, Any]) -> bool:
        return cls._stated_relation(params).couples

    @classmethod
    def _joins_samples(cls, params: Mapping[str, Any]) -> bool:
        return cls._couples(params)

    @classmethod
    def _kernel_parts(cls, params: Mapping[str, Any]) -> list[Any]:
        shrunk = cls._intercept_of(params) == "shrunk"
        return [*super()._kernel_parts(params), cls._couples(params), shrunk]

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        same = super()._canonical(params)
        relation = cls._stated_relation(params)
        same.update(relation=relation, sharing="weights", intercept=cls._intercept_of(params))
        if not relation.couples:
            same.update(specific_cost=1.0)
        return same

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.unseen_task == "shared" and not self._relation.common:
            raise ValueError(
                "unseen_task='shared' needs a shared function: use relation='mixed' or "
                f"sharing='functions', got relation={self.relation!r}, sharing={self.sharing!r}."
            )

    def _fitted_bank(self, inputs: InputSummary) -> KernelBank:
        bank = super()._fitted_bank(inputs)
        if self._intercept_of(vars(self)) != "shrunk" or any(map(is_constant, bank)):
            return bank
        return bank.extended([Constant()])


def is_constant(kernel: Any) -> bool:
    """Return whether a kernel is one that shrinks intercepts."""
    return isinstance(kernel, Constant)


@dataclass(frozen=True)
class Adapted:
    """What a task learned after the fit.

    Attributes
    ----------
    rows : ndarray of shape (n_matrices, n_tasks), or None
        How a task that was not seen in `fit` is joined to those that were.
    X : ndarray or CSR matrix
        The points that carry the function.
    coef : ndarray of shape (n_pairs, n_samples)
        Their coefficients.
    weights : ndarray of shape (n_kernels,)
        The task's kernel.
    intercepts : ndarray of shape (n_pairs,)
        Added to the function.
    """

    rows: Array | None
    X: Any
    coef: Array
    weights: Array
    intercepts: Array

    def added(self, bank: KernelBank, points: Any) -> Array:
        """Return what is added to the function that the task had before."""
        values = np.zeros((points.shape[0], 1)) + self.intercepts
        if np.any(self.weights) and np.any(self.coef):
            values += bank.combine(points, self.X, self.weights) @ self.coef.T
        return np.asarray(values)


_NO_USE = 1e6


class RelatedModel(RelationSettings):
    """What an estimator needs to let its tasks learn from each other.

    Attributes
    ----------
    relation_ : TaskRelation
        How tasks relate, with what it knows of their inputs.
    """

    relation_: TaskRelation
    _matrices: TaskMatrices

    def _evaluate(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> Any:
        if not self._couples(vars(self)):
            return super()._evaluate(bank, problems)
        relation, names = self._relation, [one.name for one in problems]
        if not relation.uses_inputs:
            relation.structure(names)  # What it does not know is said before the work.
        return self._join(bank, problems)

    def _join(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> JointKernels:
        """Return the kernels between the samples of all tasks."""
        return JointKernels(bank, problems, self.cache_size, self.storage)

    def _cross(self, kernels: Any, X: Sequence[Any]) -> list[Any]:
        if not self._couples(vars(self)):
            return super()._cross(kernels, X)
        return list(kernels.cross(X))

    def _values_at(
        self,
        kernels: Any,
        number: int,
        X: Any,
        cross: Any,
        problem: TaskProblem,
        found: TaskSolution,
    ) -> Array:
        if found.together is None:
            return super()._values_at(kernels, number, X, cross, problem, found)
        matrices = self._joined(kernels)[0]
        return np.asarray(kernels.values(number, X, cross, found.together, matrices))

    def _joined(self, joint: JointKernels) -> tuple[TaskMatrices, bool, Array]:
        """Return the relation's matrices, whether tasks have their own weights, and all costs.

        The costs are those of all weights, a number for each kernel under each matrix and task.
        """
        relation, n = self._relation, len(joint.kernels)
        matrices = joint.matrices(relation)
        # A task on its own needs no function beside the one it has in common with nobody.
        separate = relation.separate and not (len(joint.names) == 1 and len(matrices) > 0)
        by_matrix = relation.costs(len(matrices))
        cost = np.repeat(by_matrix[: len(matrices)], n)
        if separate:
            cost = np.concatenate([cost, np.full(n * len(joint.names), by_matrix[-1])])
        if self._intercept_of(vars(self)) != "task":
            # A constant that all tasks have in common is the intercept once more.
            constant = np.array([is_constant(kernel) for kernel in joint.kernels.bank])
            for r in np.flatnonzero([B.is_ones for B in matrices]):
                cost[n * r : n * (r + 1)][constant] *= _NO_USE
        return matrices, separate, cost

    @property
    def _groups_of_intercepts(self) -> str:
        """Whether tasks have free intercepts of their own: "task" or "common"."""
        return "task" if self._intercept_of(vars(self)) == "task" else "common"

    def _task_parts(
        self, joint: JointKernels, problems: Sequence[TaskProblem], found: Solution
    ) -> list[Solution]:
        """Return every task's part of the joint solution."""
        matrices, separate, _ = self._joined(joint)
        n, n_matrices = len(joint.kernels), len(matrices)
        by_matrix = found.weights[: n * n_matrices].reshape(n_matrices, n)
        weights = matrices.diagonals.T @ by_matrix
        if separate:
            weights = weights + found.weights[n * n_matrices :].reshape(-1, n)
        rows = zip(weights, joint.samples.places, joint.samples.intercepts(found), strict=True)
        return [
            found._replace(weights=own, v=found.v[places], intercepts=intercepts)
            for own, places, intercepts in rows
        ]

    def _keep_relation(self, joint: JointKernels) -> None:
        """Keep the relation of a fit, and how large the kernels are on its samples."""
        self.relation_ = joint.seen(self._relation)
        self._matrices = self._joined(joint)[0]
        self._kernel_sizes = joint.task_traces.sum(axis=0) / joint.samples.counted

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        self._adapted: dict[Hashable, Adapted] = {}
        joint, n = solved[0].together, len(self._bank)
        if joint is None:
            self.relation_ = self._relation
            self._energy = np.sum(
                [one.solution.weights * one.solution.q for one in solved], axis=0
            )[None]
            return
        n_matrices = len(self._matrices)
        self._matrix_weights = joint.weights[: n * n_matrices].reshape(n_matrices, n)
        common = [B.is_ones for B in self._matrices]
        self.shared_weights_ = self._matrix_weights[common].sum(axis=0)
        self.specific_weights_ = np.maximum(self.weights_ - self.shared_weights_, 0.0)
        self._own_weights = np.zeros_like(self.weights_)
        energy = (joint.weights * joint.q).reshape(-1, n)
        self._energy = energy[:n_matrices]
        if len(energy) > n_matrices:
            self._own_weights = joint.weights[n * n_matrices :].reshape(-1, n)
            self._energy = np.vstack([self._energy, energy[n_matrices:].sum(axis=0)])
        self._store_all_support(problems)

    def _store_all_support(self, problems: list[TaskProblem]) -> None:
        """Keep the samples of all tasks that support a function, for all to use."""
        self._components = pair_numbers(problems)
        self._all_support = stack_rows(self.support_vectors_)
        self._support_task = np.repeat(np.arange(len(problems)), [len(s) for s in self.support_])
        n_components = 1 + max(max(own) for own in self._components)
        coefficients = [np.zeros((n_components, len(support))) for support in self.support_]
        for part, components, own in zip(
            coefficients, self._components, self.dual_coef_, strict=True
        ):
            part[components] = own
        self._all_coef = np.hstack(coefficients)


_ROWS_AT_ONCE = 16_384
_UNCHANGED = 5_000


class ManySamples(RelatedModel):
    """Kernels that are held, evaluated when needed, or seen through landmarks.

    Parameters
    ----------
    operator : {"auto", "dense", "on_demand", "low_rank"}
        How kernels between training samples are held: all matrices in memory, evaluated when
        needed (only for tasks that are solved together), or of low rank, by landmarks that all
        kernels and tasks have in common. "auto" changes nothing up to 5,000 samples and goes over
        to low rank beyond 20,000; see the page "Performance".
    n_components : int
        The number of landmarks of "low_rank", drawn from the training points, the same in every
        fit to the same data.
    landmarks : array-like or CSR matrix of shape (n_landmarks, n_features), optional
        Landmarks of your own, in the place of `n_components`.

    Attributes
    ----------
    operator_ : str
        How kernels were held in `fit`.
    approximation_ : ndarray of shape (n_kernels,)
        The part of the trace of every kernel that is kept: 1 unless kernels are of low rank.
        `objective_` and `dual_gap_` are those of the problem with the kernels that are kept.
    landmarks_ : ndarray or CSR matrix of shape (n_landmarks, n_features)
        The landmarks, where there are any. Such a model holds no training points:
        `support_vectors_` has no rows.
    """

    _parameter_constraints: dict[str, Any] = {
        "operator": [StrOptions({"auto", "dense", "on_demand", "low_rank"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "landmarks": ["array-like", "sparse matrix", None],
    }

    operator: str
    n_components: int
    landmarks: Any
    _expansion: LandmarkExpansion | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.operator == "on_demand" and not self._couples(vars(self)):
            raise ValueError(
                "operator='on_demand' needs tasks that are solved together, such as those of "
                "relation='mixed'; use operator='low_rank' for large tasks on their own."
            )
        if self.operator == "low_rank" and getattr(self, "neighborhood", None) is not None:
            raise ValueError(
                "operator='low_rank' cannot hold a neighborhood of your own, which is a matrix of "
                "all samples; use operator='dense' or neighborhood=None."
            )

    @classmethod
    def _kernel_parts(cls, params: Mapping[str, Any]) -> list[Any]:
        held = [params[name] for name in ("operator", "n_components", "landmarks")]
        return [*super()._kernel_parts(params), *held]

    @classmethod
    def _why_too_large(cls, params: Mapping[str, Any], n_samples: int, n_points: int) -> str:
        loss, size = params.get("loss"), np.dtype(params["storage"]).itemsize
        squared = loss == "squared" or isinstance(loss, Squared)
        sizes = Sizes(n_samples, n_points, 1, 1, params["cache_size"], size)
        if not squared or not cls._couples(params):
            return ""
        if chosen_operator(params["operator"], sizes, together=True) != "on_demand":
            return ""
        kept = rows_that_fit(n_samples, params["cache_size"], params["storage"])
        return no_room(n_samples, size) if kept < n_samples else ""

    def _evaluate(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> Any:
        together = self._couples(vars(self))
        sizes = self._sizes(bank, problems, together)
        self.operator_ = chosen_operator(self.operator, sizes, together=together)
        if getattr(self, "neighborhood", None) is not None:
            self.operator_ = "dense"
        if self.operator != "auto" or sizes.n_samples > _UNCHANGED:
            check_memory(self.operator_, sizes)
            if self.verbose:
                print(f"operator: {self.operator_} for {sizes.n_samples} samples")
        self._expansion = None
        if self.operator_ != "low_rank" or together:
            return super()._evaluate(bank, problems)
        landmarks = self._landmarks_of(bank, problems)
        return [
            TaskLowRank(landmarks, one.X, one.sample_weight, self.cache_size, self.storage)
            for one in problems
        ]

    def _sizes(self, bank: KernelBank, problems: Sequence[TaskProblem], together: bool) -> Sizes:
        if together:
            n_samples = sum(len(pair.sample) for one in problems for pair in one.pairs)
            n_points = len(np.unique(np.concatenate([one.rows for one in problems])))
        else:
            n_samples = n_points = max(len(one.rows) for one in problems)
        n_components = self.n_components if self.landmarks is None else np.shape(self.landmarks)[0]
        itemsize = np.dtype(self.storage).itemsize if together else 8
        return Sizes(
            n_samples,
            n_points,
            len(bank),
            min(n_components, sum(len(one.rows) for one in problems)),
            self.cache_size,
            itemsize,
        )

    def _join(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> JointKernels:
        if self.operator_ == "low_rank":
            landmarks = self._landmarks_of(bank, problems)
            return JointLowRank(landmarks, problems, self.cache_size, self.storage)
        held = None if self.operator == "auto" else self.operator_ == "dense"
        return JointKernels(bank, problems, self.cache_size, self.storage, held)

    def _landmarks_of(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> Landmarks:
        """Return the landmarks that are given, or those that suit the training points."""
        if self.landmarks is None:
            points = stack_rows([one.X for one in problems])
            return Landmarks.at(bank, choose_landmarks(bank, points, self.n_components))
        given = check_array(self.landmarks, accept_sparse="csr", input_name="landmarks")
        wanted = problems[0].X.shape[1]
        if given.shape[1] != wanted:
            raise ValueError(
                f"landmarks must have the {wanted} features of X"
                f"{' without the task column' if self.task_column is not None else ''}: got "
                f"{given.shape[1]}."
            )
        return Landmarks.at(bank, given)

    def _same_landmarks(self, joint: JointKernels) -> dict[str, Any]:
        """Return the parameters with which a part of the samples has the same landmarks."""
        if not isinstance(joint, JointLowRank):
            return {}
        return {"operator": "low_rank", "landmarks": joint.landmarks.points, "verbose": False}

    def _values_at(
        self,
        kernels: Any,
        number: int,
        X: Any,
        cross: Any,
        problem: TaskProblem,
        found: TaskSolution,
    ) -> Array:
        if isinstance(kernels, list) and isinstance(kernels[number], TaskLowRank):
            return np.asarray(kernels[number].values(cross, problem, found.solution))
        return super()._values_at(kernels, number, X, cross, problem, found)

    def _solve_tasks(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        solved = super()._solve_tasks(kernels, problems)
        if isinstance(kernels[0], TaskLowRank) and not problems[0].only_scored:
            self._expansion = expansion_of_tasks(kernels, problems, solved)
        return solved

    def _keep_expansion(self, joint: JointKernels, found: Solution) -> None:
        """Keep what landmarks carry of a solution."""
        if isinstance(joint, JointLowRank):
            self._expansion = joint.expansion(found)

    def _store(self, problems: list[TaskProblem], solved: list[TaskSolution]) -> None:
        super()._store(problems, solved)
        self.approximation_ = np.ones(len(self._bank))
        if self._expansion is not None:
            self.approximation_ = self._expansion.approximation
            self.landmarks_ = self._expansion.landmarks.points
            self.support_vectors_ = [one.X[:0] for one in problems]

    def _store_all_support(self, problems: list[TaskProblem]) -> None:
        if self._expansion is None:
            super()._store_all_support(problems)
            return
        self._components = pair_numbers(problems)
        self._all_support = self._expansion.landmarks.points

    def _coefficients(self, numbers: Indices) -> Array:
        """Return the functions of tasks by the features that landmarks give."""
        assert self._expansion is not None
        if not self._couples(vars(self)):
            nothing = TaskMatrices((), len(self.tasks_))
            return self._expansion.of_tasks(numbers, nothing, [], self.weights_[numbers])
        own = self._own_weights[numbers]
        known = self._matrices, self._matrix_weights
        return self._expansion.of_tasks(numbers, *known, own if own.any() else None)

    def _functions(self, points: Any, number: int) -> Array:
        if self._expansion is None:
            return super()._functions(points, number)
        function = self._coefficients(np.array([number]))
        which = np.zeros(points.shape[0], dtype=np.intp)
        values = self._expansion.values(points, function, which)
        return self._with_intercepts(values, number)

    def _with_intercepts(self, values: Array, number: int) -> Array:
        """Return the functions of a task's SVMs from those of all components."""
        if self._couples(vars(self)):
            mine: list[int] = self._components[number]
        else:
            mine = list(range(np.atleast_2d(self.dual_coef_[number]).shape[0]))
        return np.asarray(values[:, mine] + self.intercept_[number])

    def _by_task(self, points: Any, labels: AnyArray, which: Indices, decide: Decide) -> Array:
        if self._expansion is None:
            return super()._by_task(points, labels, which, decide)
        parts = []
        begins = range(0, len(which), _ROWS_AT_ONCE)
        for begin in shown(begins, len(begins), self.verbose):
            rows = slice(begin, begin + _ROWS_AT_ONCE)
            parts.append(self._block_by_task(points[rows], which[rows], decide))
        return np.concatenate(parts)

    def _block_by_task(self, points: Any, which: Indices, decide: Decide) -> Array:
        """Return the decision values of some rows; kernels are evaluated for all tasks at once."""
        assert self._expansion is not None
        order = np.argsort(which, kind="stable")
        numbers, starts = np.unique(which[order], return_index=True)
        ends = np.append(starts[1:], len(which))
        place = np.repeat(np.arange(len(numbers)), ends - starts)
        values = self._expansion.values(points[order], self._coefficients(numbers), place)
        found = [
            decide(self._with_intercepts(values[a:b], int(number)), int(number))
            for number, a, b in zip(numbers, starts, ends, strict=True)
        ]
        return np.concatenate(found)[np.argsort(order)]

    def __getstate__(self) -> Any:
        """Leave out the relation's matrices, which follow from the relation."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_matrices"}

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if hasattr(self, "_matrix_weights"):
            self._matrices = self.relation_.structure(self.tasks_)
