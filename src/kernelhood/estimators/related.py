"""Methods whose tasks may be solved as one: relation, intercepts, and how kernels are held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from kernelhood._typing import Array
from kernelhood.estimators.data import TaskProblem, TaskSolution
from kernelhood.estimators.functions import RelatedFunctions, components_of
from kernelhood.estimators.landmarks import LandmarkMaps, choose_landmarks
from kernelhood.estimators.low_rank import JointLowRank, TaskLowRank, expansion_of_tasks
from kernelhood.estimators.method import Method
from kernelhood.estimators.reading import is_fitted, stack_rows
from kernelhood.estimators.training import JointKernels, SeparateKernels
from kernelhood.kernels import AutoBank, Constant, InputSummary, KernelBank
from kernelhood.losses import Squared
from kernelhood.operators import Dense
from kernelhood.operators import Landmarks as LandmarkChoice
from kernelhood.operators.choice import Sizes, check_memory, chosen_operator
from kernelhood.operators.on_demand import rows_that_fit
from kernelhood.relations import Independent, Mixed, SharedFunctions, TaskRelation, as_relation
from kernelhood.relations.matrices import TaskMatrices
from kernelhood.solvers.block import no_room
from kernelhood.solvers.problem import Solution

_NO_USE = 1e6
_UNCHANGED = 5_000
_DEFAULT_DENSE, _DEFAULT_LANDMARKS = Dense(), LandmarkChoice()
_OPERATORS: dict[str, Dense | LandmarkChoice] = {
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
        the others. "mixed" is one function for all, and deviations of one size. With "inputs"
        tasks with like inputs are alike. Or a relation such as `TaskGroups`, `TaskSimilarity`,
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
        to landmarks beyond; see the page "Performance".
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
        "operator": [StrOptions(set(_OPERATORS)), Dense, LandmarkChoice],
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
        if not squared or not cls.couples(params) or isinstance(choice, LandmarkChoice):
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
        # A task on its own needs no function beside the one it has in common with nobody.
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


def as_operator(operator: Any) -> Dense | LandmarkChoice:
    """Return the choice that a name stands for.

    Examples
    --------
    >>> as_operator("landmarks")
    Landmarks(count=200)
    """
    return _OPERATORS[operator] if isinstance(operator, str) else operator


def _chosen_landmarks(choice: Dense | LandmarkChoice) -> LandmarkChoice:
    """Return the landmarks that are asked for, or those that "auto" takes."""
    return choice if isinstance(choice, LandmarkChoice) else _DEFAULT_LANDMARKS


def _asked(operator: Any) -> str:
    """Return the name of what is asked for."""
    if isinstance(operator, str):
        return operator
    return "landmarks" if isinstance(operator, LandmarkChoice) else "dense"


def is_constant(kernel: Any) -> bool:
    """Return whether a kernel is one that shrinks intercepts."""
    return isinstance(kernel, Constant)
