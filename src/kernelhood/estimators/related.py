"""Methods whose tasks may be solved as one: relation, intercepts, and how kernels are held.

Of many samples a smaller problem is solved first. Each of its samples stands for several, so that
the SVMs' values are about those of all samples, and the penalty is the same. Weights are those of
the whole problem up to their units: what n tasks have in common is learned from all of their
samples, and what a task has for itself from its own ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from kernelhood._typing import Array, Indices
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.functions import RelatedFunctions, components_of
from kernelhood.estimators.landmarks import (
    JointLowRank,
    LandmarkMaps,
    TaskLowRank,
    choose_landmarks,
    expansion_of_tasks,
)
from kernelhood.estimators.method import Method
from kernelhood.estimators.reading import is_fitted, stack_rows
from kernelhood.estimators.training import JointKernels, SeparateKernels
from kernelhood.inspection.model import Neighborhood
from kernelhood.kernels import AutoBank, Constant, InputSummary, KernelBank
from kernelhood.losses import Squared
from kernelhood.operators import Dense, Landmarks
from kernelhood.operators.choice import Sizes, check_memory, chosen_operator
from kernelhood.operators.on_demand import rows_that_fit
from kernelhood.penalties import Penalty
from kernelhood.relations import Independent, Mixed, SharedFunctions, TaskRelation, as_relation
from kernelhood.relations.matrices import TaskMatrices
from kernelhood.solvers.block import Block, no_room
from kernelhood.solvers.neighborhood import BoundTerms, identity_projection
from kernelhood.solvers.problem import Solution, cut_down, valued

_NO_USE = 1e6
_UNCHANGED = 5_000
_DEFAULT_DENSE, _DEFAULT_LANDMARKS = Dense(), Landmarks()
_OPERATORS: dict[str, Dense | Landmarks] = {
    "auto": _DEFAULT_DENSE,
    "dense": _DEFAULT_DENSE,
    "landmarks": _DEFAULT_LANDMARKS,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class RelatedMethod(Method):
    """A method whose tasks may learn from each other.

    Parameters
    ----------
    relation : {"auto", "independent", "functions", "mixed", "inputs"}, TaskRelation or list
        How tasks relate. "independent" is the paper's model, in which the problem splits into one
        for each task. With "functions" the shared weights multiply the kernel between all samples
        of all tasks, so that :math:`f_t = f_0 + g_t + b_t` and a task learns from the samples of
        the others. "mixed" is one function for all, and deviations of one variance. With "inputs"
        tasks with similar inputs are alike. Or a relation such as `TaskGroups`, `TaskSimilarity`,
        `TaskGraph`, or several of them at once. "auto" is "mixed" if `kernels` are fitted to the
        data, and "independent" if they are given or the paper's, or if there is a `neighborhood`.
    intercept : {"auto", "task", "common", "shrunk"}
        Whether every task has an intercept of its own, all have one in common, or their own ones
        are shrunk to it at a price, by a `Constant` kernel beside the others. "auto" is "task" for
        shared functions and "shrunk" for other relations. Only for tasks that are solved together;
        others have their own.
    operator : {"auto", "dense", "landmarks"}, Dense or Landmarks
        How kernels between training samples are held: as matrices, which are evaluated again when
        needed if they do not fit into the cache of `Dense`, or of low rank by `Landmarks` that all
        kernels and tasks have in common. "auto" holds matrices up to 20,000 samples and goes over
        to landmarks beyond; see the page "Scale".
    missing : {"error", "indicator"}
        What missing values in X are: an error, or filled by the mean of the training rows, in
        columns of categories by the most frequent one. With "indicator" each column in which
        training rows have any gets a kernel beside the others that tells rows with and without
        a value apart.

    Attributes
    ----------
    relation_ : TaskRelation
        How tasks relate, with what it knows of their inputs.
    operator_ : {"dense", "on_demand", "landmarks"}
        How kernels were held in `fit`.
    approximation_ : ndarray of shape (n_kernels,)
        The part of the trace of every kernel that is kept: 1 unless kernels are of low rank.
        `objective_` and `dual_gap_` are those of the problem with the kernels that are kept.
    landmarks_ : ndarray or CSR matrix of shape (n_landmarks, n_features)
        The landmarks, if there are any. Such a model holds no training points:
        `support_vectors_` has no rows.
    """

    relation: Any = "auto"
    neighborhood: Any = None
    radius: float | None = None
    intercept: str = "auto"
    operator: Any = "auto"
    missing: str = "error"
    verbose: int | bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "relation": [TaskRelation, str, list, tuple],
        "intercept": [StrOptions({"auto", "task", "common", "shrunk"})],
        "operator": [StrOptions(set(_OPERATORS)), Dense, Landmarks],
        "missing": [StrOptions({"error", "indicator"})],
    }

    many_classes: ClassVar[bool] = True

    # What parameters say of the tasks.

    @classmethod
    def relation_of(cls, params: Mapping[str, Any]) -> TaskRelation:
        """Return the relation that parameters name."""
        named = params["relation"]
        if isinstance(named, str) and named == "auto":
            # A neighborhood that is given is one of independent tasks.
            together = params["neighborhood"] is None and is_fitted(params["kernels"])
            return Mixed() if together else Independent()
        return as_relation(named)

    @classmethod
    def intercept_of(cls, params: Mapping[str, Any]) -> str:
        """Return which intercept parameters stand for."""
        relation = cls.relation_of(params)
        if not relation.couples:
            return "task"
        if params["intercept"] != "auto":
            return str(params["intercept"])
        return "task" if isinstance(relation, SharedFunctions) else "shrunk"

    @property
    def stated(self) -> TaskRelation:
        """The relation."""
        return self.relation_of(vars(self))

    @property
    def free(self) -> bool:
        """Whether tasks have free intercepts of their own."""
        return self.intercept_of(vars(self)) == "task"

    @property
    def groups(self) -> str:
        """Whose samples have an intercept: "task" or "common"."""
        return "task" if self.free else "common"

    @property
    def uses_inputs(self) -> bool:
        """Whether rows without a target are of use: they say where inputs lie."""
        return self.stated.uses_inputs

    # What a search asks.

    @classmethod
    def couples(cls, params: Mapping[str, Any]) -> bool:
        """Return whether the tasks have to be solved together with these parameters."""
        return cls.relation_of(params).couples

    @classmethod
    def joins_samples(cls, params: Mapping[str, Any]) -> bool:
        """Return whether all tasks have one SVM in common."""
        return cls.couples(params)

    @classmethod
    def kernel_key(cls, params: Mapping[str, Any]) -> list[Any]:
        """Return what shapes the kernels of a model: the same for models that can share them."""
        shrunk = cls.intercept_of(params) == "shrunk"
        return [*super().kernel_key(params), cls.couples(params), shrunk, params["operator"]]

    @classmethod
    def canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters that give the same predictor and are equal for equal models."""
        same = super().canonical(params)
        same.update(relation=cls.relation_of(params), intercept=cls.intercept_of(params))
        if params.get("loss", "epsilon_insensitive") != "epsilon_insensitive":
            same["epsilon"] = 0.0  # no other loss has a tube
        return same

    @classmethod
    def why_too_large(cls, params: Mapping[str, Any], n_samples: int, n_points: int) -> str:
        """Return why a fit to so many samples at so many points is refused, "" if it is not."""
        loss, choice = params.get("loss"), as_operator(params["operator"])
        squared = loss == "squared" or isinstance(loss, Squared)
        if not squared or not cls.couples(params) or isinstance(choice, Landmarks):
            return ""
        size = np.dtype(choice.dtype).itemsize
        sizes = Sizes(n_samples, n_points, 1, 1, choice.cache_size, size)
        if chosen_operator(_asked(params["operator"]), sizes, together=True) != "on_demand":
            return ""
        kept = rows_that_fit(n_samples, choice.cache_size, choice.dtype)
        return no_room(n_samples, size) if kept < n_samples else ""

    # What a fit asks.

    def check(self) -> None:
        """Raise if parameters contradict each other."""
        if _asked(self.operator) == "landmarks" and self.neighborhood is not None:
            raise ValueError(
                "operator='landmarks' cannot hold a neighborhood of your own, which is a matrix of "
                "all samples: use operator='dense' or neighborhood=None."
            )

    def needs_inputs(self) -> bool:
        """Return whether the bank is made from the training rows."""
        return super().needs_inputs() or self.missing == "indicator"

    def fitted_bank(self, inputs: InputSummary) -> KernelBank:
        """Return the kernels for training rows of which something is known."""
        bank = super().fitted_bank(inputs)
        if self.missing == "indicator" and not isinstance(self.read_bank(), AutoBank):
            bank = bank.imputed(inputs)
        if self.intercept_of(vars(self)) != "shrunk" or any(map(is_constant, bank)):
            return bank
        return bank.extended([Constant()])

    def training_kernels(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> Any:
        """Return the kernels on the training points of each task, or between those of all."""
        together, relation = self.stated.couples, self.stated
        if together and not relation.uses_inputs:
            relation.structure([one.name for one in problems])  # What it does not know is said now.
        choice, asked = as_operator(self.operator), _asked(self.operator)
        sizes = self._sizes(bank, problems, together)
        held = (
            "dense"
            if self.neighborhood is not None
            else chosen_operator(asked, sizes, together=together)
        )
        if asked != "auto" or sizes.n_samples > _UNCHANGED:
            check_memory(held, sizes)
            if self.verbose:
                print(f"operator: {held} for {sizes.n_samples} samples")
        if held != "landmarks":
            if not together:
                return super().training_kernels(bank, problems)
            dense = choice if isinstance(choice, Dense) else _DEFAULT_DENSE
            return JointKernels(bank, problems, dense.cache_size, dense.dtype)
        maps = self._landmarks(bank, problems)
        cache = _DEFAULT_DENSE.cache_size, _DEFAULT_DENSE.dtype
        if together:
            return JointLowRank(maps, problems, *cache)
        each = [TaskLowRank(maps, one.X, one.sample_weight, *cache) for one in problems]
        return SeparateKernels(each, held_as="landmarks")

    def _sizes(self, bank: KernelBank, problems: Sequence[TaskProblem], together: bool) -> Sizes:
        choice = as_operator(self.operator)
        dense = choice if isinstance(choice, Dense) else _DEFAULT_DENSE
        count = _chosen_landmarks(choice).count
        if together:
            n_samples = sum(len(pair.sample) for one in problems for pair in one.pairs)
            n_points = len(np.unique(np.concatenate([one.rows for one in problems])))
        else:
            n_samples = n_points = max(len(one.rows) for one in problems)
        return Sizes(
            n_samples,
            n_points,
            len(bank),
            min(count, sum(len(one.rows) for one in problems)),
            dense.cache_size,
            np.dtype(dense.dtype).itemsize if together else 8,
        )

    def _landmarks(self, bank: KernelBank, problems: Sequence[TaskProblem]) -> LandmarkMaps:
        """Return the landmarks that are given, or those that suit the training points."""
        choice = as_operator(self.operator)
        choice = _chosen_landmarks(choice)
        given, count = choice.points, choice.count
        if given is None:
            points = stack_rows([one.X for one in problems])
            return LandmarkMaps.at(bank, choose_landmarks(bank, points, count))
        wanted = problems[0].X.shape[1]
        if given.shape[1] != wanted:
            raise ValueError(
                f"points of Landmarks must have the {wanted} features of X, without a task column: "
                f"got {given.shape[1]}."
            )
        return LandmarkMaps.at(bank, given)

    def values_at(
        self, kernels: Any, number: int, X: Any, cross: Any, problem: TaskProblem, found: Any
    ) -> Array:
        """Return the functions of a task at other points, whose kernels `cross` has evaluated."""
        if found.together is None:
            return super().values_at(kernels, number, X, cross, problem, found)
        matrices = self.joined(kernels)[0]
        return np.asarray(kernels.values(number, X, cross, found.together, matrices))

    def joined(self, joint: JointKernels) -> tuple[TaskMatrices, bool, Array]:
        """Return the relation's matrices, whether tasks have their own weights, and all costs.

        The costs are those of all weights, a number for each kernel under each matrix and task.
        """
        relation, n = self.stated, len(joint.kernels)
        matrices = joint.matrices(relation)
        # A single task needs no function beside its own.
        separate = relation.separate and not (len(joint.names) == 1 and len(matrices) > 0)
        by_matrix = relation.costs(len(matrices))
        cost = np.repeat(by_matrix[: len(matrices)], n)
        if separate:
            cost = np.concatenate([cost, np.full(n * len(joint.names), by_matrix[-1])])
        if not self.free:
            # A constant that all tasks have in common is the intercept once more.
            constant = np.array([is_constant(kernel) for kernel in joint.kernels.bank])
            for r in np.flatnonzero([B.is_ones for B in matrices]):
                cost[n * r : n * (r + 1)][constant] *= _NO_USE
        return matrices, separate, cost

    def parts(
        self, joint: JointKernels, problems: Sequence[TaskProblem], found: Solution
    ) -> list[Solution]:
        """Return every task's part of a joint solution."""
        matrices, separate, _ = self.joined(joint)
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

    def functions(
        self,
        bank: KernelBank,
        kernels: Any,
        problems: Sequence[TaskProblem],
        solved: Sequence[TaskSolution],
    ) -> RelatedFunctions:
        """Return what predictions need of a solution."""
        found, n, n_tasks = solved[0].together, len(bank), len(problems)
        more: dict[str, Any] = {
            "n_samples": np.array([one.sample_weight.sum() for one in problems]),
            "free": self.free,
            "relation": self.stated,
            "components": components_of(problems, found is not None),
            "matrix_weights": np.zeros((0, n)),
            "own_weights": np.array([one.solution.weights for one in solved]),
            "kernel_sizes": np.ones(n),
        }
        if found is None:
            energies = [one.solution.weights * one.solution.q for one in solved]
            more["energy"] = np.sum(energies, axis=0)[None]
            if kernels.held_as == "landmarks":
                more["expansion"] = expansion_of_tasks(kernels, problems, solved)
        else:
            matrices = self.joined(kernels)[0]
            ends = n * len(matrices)
            own = found.weights[ends:].reshape(-1, n)
            more["relation"] = kernels.seen(self.stated)
            more["matrix_weights"] = found.weights[:ends].reshape(-1, n)
            more["own_weights"] = own if len(own) else np.zeros((n_tasks, n))
            more["kernel_sizes"] = kernels.task_traces.sum(axis=0) / kernels.samples.counted
            energy = (found.weights * found.q).reshape(-1, n)
            more["energy"] = energy[: len(matrices)]
            if len(own):
                specific = energy[len(matrices) :].sum(axis=0)
                more["energy"] = np.vstack([more["energy"], specific])
            if isinstance(kernels, JointLowRank):
                more["expansion"] = kernels.expansion(found)
        functions = RelatedFunctions.of(bank, problems, solved, **more)
        return functions if functions.expansion is None else functions.without_samples()


def as_operator(operator: Any) -> Dense | Landmarks:
    """Return the choice that a name stands for.

    Examples
    --------
    >>> as_operator("landmarks")
    Landmarks(count=200)
    """
    return _OPERATORS[operator] if isinstance(operator, str) else operator


def _chosen_landmarks(choice: Dense | Landmarks) -> Landmarks:
    """Return the landmarks that are asked for, or those that "auto" takes."""
    return choice if isinstance(choice, Landmarks) else _DEFAULT_LANDMARKS


def _asked(operator: Any) -> str:
    """Return the name of what is asked for."""
    if isinstance(operator, str):
        return operator
    return "landmarks" if isinstance(operator, Landmarks) else "dense"


def is_constant(kernel: Any) -> bool:
    """Return whether a kernel is one that shrinks intercepts."""
    return isinstance(kernel, Constant)


_ROUGH = 1e-2
_MANY_TASKS, _SOME_TASKS, _FEWER_TASKS = 100, 20, 5
_WORTH_IT = 3
_FEW_SAMPLES = 10


class JointProblem(NamedTuple):
    """Problem (P) with the weights of all tasks.

    Attributes
    ----------
    joint : JointKernels
        The kernels between the samples of all tasks.
    problems : list of TaskProblem
        The tasks.
    matrices : TaskMatrices
        Of their relation.
    separate : bool
        Whether every task has weights of its own.
    blocks : list of Block
        The SVMs.
    penalty : Penalty
        The price and the set of the weights.
    """

    joint: JointKernels
    problems: list[TaskProblem]
    matrices: TaskMatrices
    separate: bool
    blocks: list[Block]
    penalty: Penalty


class Part(NamedTuple):
    """A part of the tasks, or of their samples.

    Attributes
    ----------
    problems : list of TaskProblem
        The tasks with their samples, each counted as several.
    tasks : ndarray of int
        Which ones they are.
    unit : ndarray of shape (n_weights,)
        What turns weights of the part into those of the whole.
    tol : float
        The gap from which on more digits say nothing of the whole.
    """

    problems: list[TaskProblem]
    tasks: Indices
    unit: Array
    tol: float

    def penalty(self, whole: JointProblem) -> Penalty:
        """Return the price of the part's weights: that of the whole in other units."""
        return whole.penalty.restricted(np.ones(len(self.unit), dtype=np.bool_), self.unit)

    def start(self, whole: JointProblem, kernels: JointKernels, found: Solution) -> Solution:
        """Return where a solution of the part leads the whole to.

        Its weights may have used up a budget that counts the kernels at all samples, and are moved
        to where they keep it. If all tasks take part, the function is close as well, and mostly
        so is what is left of it when entries of v are cut down to their bounds.
        """
        weights, v = found.weights * self.unit, None
        if not whole.penalty.contains(weights):
            weights = whole.penalty.nearest(weights)
        if len(self.tasks) == len(whole.problems):
            places, few = whole.joint.samples.places, kernels.samples.places
            v = np.zeros(sum(block.n_samples for block in whole.blocks))
            for t, (own, some) in enumerate(zip(whole.problems, self.problems, strict=True)):
                v[places[t][own.holds(some)]] = found.v[few[t]]
            v = cut_down(v, whole.blocks)
        return valued(whole.blocks, weights, v)


def part_of(whole: JointProblem) -> Part | None:
    """Return a part whose solution costs less than one SVM of the whole; None if there is none.

    Fewer tasks are the better part if there are many and all have the same weights: a task keeps
    its samples, and with them what it learns for itself. Weights of single tasks need every task,
    and ten samples of each.
    """
    count, n_tasks = whole.joint.thinning, len(whole.problems)
    fewer = min(count, max(n_tasks // _MANY_TASKS, min(_FEWER_TASKS, n_tasks // _SOME_TASKS)))
    if fewer >= _WORTH_IT and not whole.separate:
        return _fewer_tasks(whole, fewer)
    some = [one.thinned(count) for one in whole.problems]
    left = sum(len(one.rows) for one in some)
    too_few = whole.separate and left < _FEW_SAMPLES * n_tasks
    if too_few or 2 * left > sum(len(one.rows) for one in whole.problems):
        return None
    return Part(some, np.arange(n_tasks), np.ones(whole.blocks[0].operator.n_weights), _ROUGH)


def _fewer_tasks(whole: JointProblem, count: int) -> Part:
    """Return one of so many tasks, small and large ones alike.

    The functions of single tasks are priced for the tasks that are left, each of which stands for
    several; a function in common is priced once. In between, a matrix B of the relation counts as
    far as the tasks that it joins to a task have become fewer.
    """
    sizes = np.array([len(one.rows) for one in whole.problems])
    mixed = np.random.default_rng(0).permutation(len(sizes))
    tasks = np.sort(np.lexsort((mixed, sizes))[count // 2 :: count])
    times = float(sizes.sum() / sizes[tasks].sum())
    left = np.maximum(whole.matrices.at(tasks).reach, 1e-300)
    joined = np.clip(whole.matrices.reach / left, 1.0, times)
    unit = np.repeat(times / joined, len(whole.joint.kernels))
    some = [whole.problems[t].counted_often(times) for t in tasks.tolist()]
    return Part(some, tasks, unit, min(_ROUGH, 0.1 / len(tasks)))


_FEW_SVMS = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class JointMethod(RelatedMethod):
    """A method that solves problem (P) with the weights of all tasks if these relate."""

    @abstractmethod
    def penalty(self, gram: Callable[[], Array], d: Array, n_samples: float) -> Penalty:
        """Return the penalty of problem (P) from Frobenius products, traces and samples."""

    @abstractmethod
    def minimise(
        self,
        blocks: list[Block],
        penalty: Penalty,
        problem: TaskProblem,
        start: Solution | None,
        carried: Solution | None = None,
    ) -> Solution:
        """Solve problem (P)."""

    @abstractmethod
    def closed_form(self, weights: Array, gamma: Array, n_samples: float) -> Array:
        """Return kappa, the coefficients of the neighborhoods that the weights make best."""

    def solve(self, kernels: Any, problems: list[TaskProblem]) -> list[TaskSolution]:
        """Solve all tasks: as one if they relate, otherwise one by one."""
        if not isinstance(kernels, JointKernels):
            return super().solve(kernels, problems)
        matrices, separate, cost = self.joined(kernels)
        blocks = kernels.blocks(problems, self.groups, matrices, separate)
        d, counted = kernels.traces(matrices, separate), kernels.samples.counted
        penalty = self.penalty(lambda: kernels.gram(matrices, separate), cost * d, counted)
        start = _usable_start(problems, blocks)
        if start is None:
            whole = JointProblem(kernels, problems, matrices, separate, blocks, penalty)
            start = self.coarse_start(whole)
        found = self.minimise(blocks, penalty, problems[0], start)
        parts = self.parts(kernels, problems, found)
        if problems[0].only_scored:
            return [TaskSolution(part, None, found) for part in parts]
        return self._with_neighborhoods(kernels, problems, found, parts)

    def coarse_start(self, whole: JointProblem) -> Solution | None:
        """Return where the solution of a part leads to, which is itself started from a part.

        Its weights are close to those of all samples, and cost less than one SVM with these.
        """
        part = part_of(whole) if whole.joint.is_large else None
        if part is None:
            return None
        rough = self._rough(whole.joint, part)
        kernels = rough.training_kernels(whole.joint.kernels.bank, part.problems)
        matrices, penalty = whole.matrices.at(part.tasks), part.penalty(whole)
        blocks = kernels.blocks(part.problems, self.groups, matrices, whole.separate)
        small = JointProblem(kernels, part.problems, matrices, whole.separate, blocks, penalty)
        found = rough.minimise(blocks, penalty, part.problems[0], rough.coarse_start(small))
        return part.start(whole, kernels, found)

    def _rough(self, joint: JointKernels, part: Part) -> Self:
        """Return the method for a part of the samples, with the same landmarks."""
        tol, max_iter = max(self.tol, part.tol), min(self.max_iter, _FEW_SVMS)
        if not isinstance(joint, JointLowRank):
            return replace(self, tol=tol, max_iter=max_iter)
        same = Landmarks(points=joint.landmarks.points)
        return replace(self, tol=tol, max_iter=max_iter, operator=same, verbose=False)

    def _with_neighborhoods(
        self,
        joint: JointKernels,
        problems: list[TaskProblem],
        found: Solution,
        parts: list[Solution],
    ) -> list[TaskSolution]:
        """Return every task's part with its neighborhood, and what the bound needs."""
        matrices, separate, _ = self.joined(joint)
        G, own, d = joint.task_grams, joint.task_traces, joint.traces(matrices, separate)
        if separate:
            # Each task's block is fitted by its own kernels, and what is between tasks by none.
            own_gamma = [identity_projection(*one) for one in zip(G, own, strict=True)]
            gamma = np.concatenate([np.zeros(len(d) - own.size), *own_gamma])
        else:
            gamma = identity_projection(joint.gram(matrices, separate), d)
        kappa = self.closed_form(found.weights, gamma, joint.samples.counted)
        kappas = self.parts(joint, problems, found._replace(weights=kappa))
        if separate:
            by_task = BoundTerms.from_tasks(G, own, [one.weights for one in kappas])
            rank = by_task.rank + joint.rank_between(matrices)
            bound = by_task._replace(rank=rank)
        else:
            A = joint.gram(matrices, separate)
            bound = BoundTerms.from_tasks(A[None], d[None], kappa[None])
        rows = zip(parts, kappas, G, own, strict=True)
        return [
            TaskSolution(part, Neighborhood(one.weights, gram, traces), found, bound)
            for part, one, gram, traces in rows
        ]


def _usable_start(problems: list[TaskProblem], blocks: list[Block]) -> Solution | None:
    """Return the last joint solution if it has the same weights and intercepts."""
    start = problems[0].together
    n_groups = sum(len(block.loss.group_starts) - 1 for block in blocks)
    if start is None or len(start.weights) != blocks[0].operator.n_weights:
        return None
    return start if len(start.intercepts) == n_groups else None
