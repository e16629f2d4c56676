"""Many samples: which operator holds the kernels, and prediction through landmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.kernels import KernelBank
from kernelhood.landmarks import LandmarkExpansion, Landmarks, choose_landmarks
from kernelhood.landmarks.capacity import Sizes, check_memory, chosen_operator
from kernelhood.losses import Squared
from kernelhood.operators.on_demand import rows_that_fit
from kernelhood.parallel import shown
from kernelhood.pipeline.joint import JointKernels
from kernelhood.pipeline.joint_samples import pair_numbers
from kernelhood.pipeline.prediction import Decide
from kernelhood.pipeline.problem import TaskProblem, TaskSolution
from kernelhood.related.joint_low_rank import JointLowRank
from kernelhood.related.model import RelatedModel
from kernelhood.related.task_low_rank import TaskLowRank, expansion_of_tasks
from kernelhood.solvers.least_squares.block import no_room
from kernelhood.solvers.solution import Solution
from kernelhood.task_matrices import TaskMatrices
from kernelhood.tasks import stack_rows

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
