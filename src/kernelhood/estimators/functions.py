"""Fitted functions: what predictions need, and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.estimators.data import Pair, TaskProblem, TaskSolution
from kernelhood.estimators.landmarks import LandmarkExpansion
from kernelhood.estimators.reading import (
    known_tasks,
    rows_by_label,
    some_of,
    stack_rows,
    unseen_tasks,
)
from kernelhood.estimators.training import pair_numbers
from kernelhood.kernels import KernelBank
from kernelhood.operators import one_task
from kernelhood.parallel import shown
from kernelhood.penalties import Fixed
from kernelhood.relations import Newcomer, TaskRelation
from kernelhood.relations.matrices import TaskMatrices
from kernelhood.solvers.block import block_of
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem, Solution
from kernelhood.solvers.svm import solve_without_intercept

#: Turns the functions of a task, whose number comes second, into what is said of its rows.
Decide = Callable[[Array, int], Array]

#: The number of a task that was not seen in the fit.
UNSEEN = -1
_ROWS_AT_ONCE = 16_384
_TOL = 1e-6


@dataclass(frozen=True)
class Query:
    """Rows whose functions are asked for.

    Attributes
    ----------
    points : ndarray or CSR matrix of shape (n_samples, n_features)
        The rows.
    labels : ndarray of shape (n_samples,), or None
        The task of each.
    wide : bool
        Whether the fit had a column of targets for each task.
    features : mapping
        What is known of tasks that were not seen in the fit.
    unseen_task : {"warn", "shared", "error"}
        What to do about these.
    advice : str
        What to do if such tasks come from cross-validation.
    differ : bool
        Whether the classes of tasks differ, so that those of a new task are not known.
    verbose : bool or int
        Show a progress bar if there are many rows.
    """

    points: Any
    labels: AnyArray | None
    wide: bool = False
    features: Mapping[Hashable, Any] = field(default_factory=lambda: MappingProxyType({}))
    unseen_task: str = "error"
    advice: str = ""
    differ: bool = False
    verbose: int | bool = False

    def some(self, rows: Any) -> Query:
        """Return the query of some of the rows."""
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, points=self.points[rows], labels=labels, verbose=False)


@dataclass(frozen=True)
class Functions:
    """Functions of tasks, each carried by its own samples.

    Attributes
    ----------
    bank : KernelBank
        The kernels.
    tasks : list
        Names of the tasks.
    weights : ndarray of shape (n_tasks, n_kernels)
        Kernel weights.
    support : list of (ndarray or CSR matrix)
        The samples that carry each task's function.
    coef : list of ndarray
        Their coefficients, with a row for each pair of classes if there are several.
    intercepts : ndarray of shape (n_tasks,), or list of ndarray
        Intercepts.
    banks : list of KernelBank, optional
        The kernels of each task, if tasks have their own.
    """

    bank: KernelBank
    tasks: list[Hashable]
    weights: Array
    support: list[Any]
    coef: list[Array]
    intercepts: Any
    banks: list[KernelBank] | None = None

    @classmethod
    def of(
        cls,
        bank: KernelBank,
        problems: Sequence[TaskProblem],
        solved: Sequence[TaskSolution],
        **more: Any,
    ) -> Self:
        """Return the functions of a solution; `more` are fields of a subclass."""
        found = [one.solution for one in solved]
        supports = [support_of(*pair) for pair in zip(problems, found, strict=True)]
        intercepts: Any = [one.intercepts for one in found]
        if all(len(problem.pairs) == 1 for problem in problems):
            intercepts = np.concatenate(intercepts)
        return cls(
            bank,
            [problem.name for problem in problems],
            np.array([one.weights for one in found]),
            [problem.X[rows] for problem, (rows, _) in zip(problems, supports, strict=True)],
            [coef for _, coef in supports],
            intercepts,
            **more,
        )

    def bank_of(self, number: int) -> KernelBank:
        """Return the kernels of a task."""
        return self.bank if self.banks is None else self.banks[number]

    @property
    def kernel_names(self) -> list[str]:
        """The names of the kernels."""
        return self.bank_of(0).names

    @property
    def used_kernels(self) -> Flags | None:
        """Which kernels have a weight; None if none may be left out."""
        return None if self.banks is not None else np.asarray(self.weights.any(axis=0))

    def with_kernels(self, used: Flags) -> Self:
        """Return the same functions with some of the kernels, which are all that have a weight."""
        bank, kept = self.bank, np.flatnonzero(used).tolist()
        names = [bank.names[k] for k in kept]
        small = KernelBank([bank[k] for k in kept], names=names, inputs=bank.inputs)
        by_kernel = {name: getattr(self, name)[..., used] for name in self.by_kernel}
        return replace(self, bank=small, **by_kernel)

    #: The fields whose last axis are the kernels.
    by_kernel: ClassVar[tuple[str, ...]] = ("weights",)

    def n_pairs(self, number: int) -> int:
        """Return how many functions a task has, one for each pair of its classes."""
        return int(np.atleast_2d(self.coef[number]).shape[0])

    def at(self, query: Query, decide: Decide) -> tuple[Array, AnyArray | None]:
        """Return what `decide` makes of the functions at some rows, and the task of each.

        If the fit had a column of targets for each task and the query names no tasks, there is a
        column for each task and the second is None.
        """
        tasks = range(len(self.tasks))
        if query.labels is None and (query.wide or len(tasks) == 1):
            columns = [decide(self.of_task(query.points, t), t) for t in tasks]
            if query.wide:
                return np.stack(columns, axis=1), None
            return columns[0], np.zeros(query.points.shape[0], dtype=np.intp)
        if query.labels is None:
            raise ValueError(
                "task is required, one label per row of X: the model was fitted with the tasks "
                f"{', '.join(map(repr, self.tasks))}."
            )
        self.check_tasks(query)
        numbers = {name: number for number, name in enumerate(self.tasks)}
        which = np.array([numbers.get(one, UNSEEN) for one in query.labels.tolist()], dtype=np.intp)
        return self.by_task(query, which, decide), which

    def check_tasks(self, query: Query) -> None:
        """Raise if rows are of tasks that cannot be predicted."""
        assert query.labels is not None
        remedy = (
            "The tasks have no function in common: use MTONMKLClassifier or MTONMKLRegressor with "
            f"relation='mixed'. {query.advice}"
        )
        known_tasks(query.labels, self.tasks, remedy)

    def by_task(self, query: Query, which: Indices, decide: Decide) -> Array:
        """Return what `decide` makes of rows of several tasks."""
        parts = {number: np.flatnonzero(which == number) for number in np.unique(which)}
        found = []
        for t, rows in parts.items():
            found.append(decide(self.of_task(query.points[rows], t), t))
        order = np.argsort(np.concatenate(list(parts.values())))
        return np.concatenate(found)[order]

    def of_task(self, points: Any, number: int) -> Array:
        """Return f_t at the points; one column, or one for each pair of the task's classes."""
        return self.own(points, number, self.weights[number])

    def own(self, points: Any, number: int, weights: Array) -> Array:
        """Return the part of f_t that the task's own samples carry, with the intercept."""
        support = self.support[number]
        values: Array = np.zeros((points.shape[0], 1)) + self.intercepts[number]
        if support.shape[0]:
            K = self.bank_of(number).combine(points, support, weights)
            values += K @ np.atleast_2d(self.coef[number]).T
        return values


def support_of(problem: TaskProblem, found: Solution) -> tuple[Indices, Array]:
    """Return the samples that carry a task's function, and their coefficients."""
    coefficients = problem.by_pair(found.v)
    rows = np.flatnonzero(coefficients.any(axis=0))
    return rows, coefficients[0, rows] if len(problem.pairs) == 1 else coefficients[:, rows]


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


@dataclass(frozen=True)
class RelatedFunctions(Functions):
    """Functions of tasks that may be carried by the samples of all of them.

    Attributes
    ----------
    relation : TaskRelation
        How tasks relate, with what it knows of their inputs.
    matrix_weights : ndarray of shape (n_matrices, n_kernels)
        The weights of all kernels under each matrix of the relation.
    own_weights : ndarray of shape (n_tasks, n_kernels)
        The weights that tasks have for themselves.
    components : list of list of int
        For every task the numbers of its pairs of classes among those of all tasks.
    n_samples : ndarray of shape (n_tasks,)
        The samples of each task, each as often as it counts.
    free : bool
        Whether tasks have free intercepts of their own.
    kernel_sizes : ndarray of shape (n_kernels,)
        The mean of every kernel's diagonal.
    energy : ndarray of shape (n_parts, n_kernels)
        The squared norm of each part of the relation in the functions of all tasks.
    expansion : LandmarkExpansion, optional
        The functions by landmarks, if kernels are of low rank: then no samples are kept.
    adapted : dict
        What tasks learned after the fit.
    """

    relation: TaskRelation = field(kw_only=True)
    matrix_weights: Array = field(kw_only=True)
    own_weights: Array = field(kw_only=True)
    components: list[list[int]] = field(kw_only=True)
    n_samples: Array = field(kw_only=True)
    free: bool = field(kw_only=True)
    kernel_sizes: Array = field(kw_only=True)
    energy: Array = field(kw_only=True)
    expansion: LandmarkExpansion | None = None
    adapted: dict[Hashable, Adapted] = field(default_factory=dict)

    by_kernel: ClassVar[tuple[str, ...]] = (
        "weights",
        "matrix_weights",
        "own_weights",
        "kernel_sizes",
        "energy",
    )

    @property
    def used_kernels(self) -> Flags | None:
        """Which kernels have a weight; None if none may be left out.

        Landmarks name the kernels that they serve, which are those with weight.
        """
        if self.expansion is not None or self.adapted:
            return None
        parts = [self.weights, self.matrix_weights, self.own_weights]
        return np.asarray(np.vstack(parts).any(axis=0))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what follows from the rest."""
        derived = ("matrices", "all_support", "support_task", "all_coef")
        return {name: value for name, value in vars(self).items() if name not in derived}

    def without_samples(self) -> Self:
        """Return the same functions, which landmarks carry, without the samples."""
        return replace(self, support=[one[:0] for one in self.support])

    @cached_property
    def matrices(self) -> TaskMatrices:
        """The matrices of the relation between the tasks."""
        return self.relation.structure(self.tasks)

    @cached_property
    def all_support(self) -> Any:
        """The samples of all tasks that carry a function, for all to use."""
        return stack_rows(self.support)

    @cached_property
    def support_task(self) -> Indices:
        """The task of each of these."""
        sizes = [np.shape(np.atleast_2d(one))[1] for one in self.coef]
        return np.repeat(np.arange(len(self.tasks)), sizes)

    @cached_property
    def all_coef(self) -> Array:
        """Their coefficients, of shape (n_components, n_samples)."""
        parts = []
        for components, own in zip(self.components, self.coef, strict=True):
            part = np.zeros((self.n_components, np.shape(np.atleast_2d(own))[1]))
            part[components] = own
            parts.append(part)
        return np.hstack(parts)

    @property
    def n_components(self) -> int:
        """The number of pairs of classes of all tasks."""
        return 1 + max(max(own) for own in self.components)

    @property
    def mean_intercept(self) -> Array:
        """The mean of the tasks' intercepts, each counted by its samples."""
        every = np.array(list(self.intercepts))
        return np.asarray(np.average(every, axis=0, weights=self.n_samples))

    def by_task(self, query: Query, which: Indices, decide: Decide) -> Array:
        """Return what `decide` makes of rows of several tasks, new and adapted ones among them."""
        assert query.labels is not None
        changed = which == UNSEEN
        if self.adapted:
            changed = changed | np.array([one in self.adapted for one in query.labels.tolist()])
        if not changed.any():
            if self.expansion is None:
                return super().by_task(query, which, decide)
            return self._seen(query, which, decide)
        parts, rows = [], []
        if not changed.all():
            old = np.flatnonzero(~changed)
            rows.append(old)
            parts.append(self._seen(query.some(old), which[old], decide))
        late = np.flatnonzero(changed)
        for label, own in rows_by_label(query.labels[late]).items():
            rows.append(late[own])
            number = int(which[rows[-1][0]])
            parts.append(decide(self._changed(query.some(rows[-1]), label, number), number))
        return np.concatenate(parts)[np.argsort(np.concatenate(rows))]

    def _changed(self, query: Query, label: Hashable, number: int) -> Array:
        """Return the function of a task that was not seen in `fit`, or learned more since."""
        points, adapted = query.points, self.adapted.get(label)
        if adapted is None:
            rows = self._newcomer_rows(label, points, query.features)
            return self._placed(points, rows) + self.mean_intercept
        if number != UNSEEN:
            return self.of_task(points, number) + adapted.added(self.bank, points)
        return self._placed(points, adapted.rows) + adapted.added(self.bank, points)

    def _newcomer_rows(self, label: Hashable, points: Any, features: Any) -> Array | None:
        """Return how a task that was not seen in `fit` is joined to those that were."""
        newcomer = Newcomer(label, features.get(label), self.bank.comparable(points))
        return self.relation.unseen(self.tasks, newcomer)

    def _placed(self, points: Any, rows: Array | None) -> Array:
        """Return what a task that is joined to others by `rows` has from them, no intercept."""
        if rows is None:
            most = max(self.n_pairs(number) for number in range(len(self.tasks)))
            return np.zeros((points.shape[0], most))
        return self.related(points, rows)

    def _seen(self, query: Query, which: Indices, decide: Decide) -> Array:
        """Return what `decide` makes of rows of tasks that the fit has seen."""
        if self.expansion is None:
            return super().by_task(query, which, decide)
        parts = []
        begins = range(0, len(which), _ROWS_AT_ONCE)
        for begin in shown(begins, len(begins), query.verbose):
            rows = slice(begin, begin + _ROWS_AT_ONCE)
            parts.append(self._block(self.expansion, query.points[rows], which[rows], decide))
        return np.concatenate(parts)

    def _block(
        self, expansion: LandmarkExpansion, points: Any, which: Indices, decide: Decide
    ) -> Array:
        """Return the values of some rows; kernels are evaluated for all tasks at once."""
        order = np.argsort(which, kind="stable")
        numbers, starts = np.unique(which[order], return_index=True)
        ends = np.append(starts[1:], len(which))
        place = np.repeat(np.arange(len(numbers)), ends - starts)
        values = expansion.values(points[order], self._coefficients(expansion, numbers), place)
        found = [
            decide(self._with_intercepts(values[a:b], int(number)), int(number))
            for number, a, b in zip(numbers, starts, ends, strict=True)
        ]
        return np.concatenate(found)[np.argsort(order)]

    def of_task(self, points: Any, number: int) -> Array:
        """Return f_t at the points; one column, or one for each pair of the task's classes."""
        if self.expansion is not None:
            function = self._coefficients(self.expansion, np.array([number]))
            which = np.zeros(points.shape[0], dtype=np.intp)
            return self._with_intercepts(self.expansion.values(points, function, which), number)
        if not self.relation.couples:
            return self.own(points, number, self.weights[number])
        own = self.own(points, number, self.own_weights[number])
        related = self.related(points, self.matrices.rows(number))
        return np.asarray(own + related[:, self.components[number]])

    def _coefficients(self, expansion: LandmarkExpansion, numbers: Indices) -> Array:
        """Return the functions of tasks by the features that landmarks give."""
        if not self.relation.couples:
            nothing = TaskMatrices((), len(self.tasks))
            return expansion.of_tasks(numbers, nothing, [], self.weights[numbers])
        own = self.own_weights[numbers]
        known = self.matrices, self.matrix_weights
        return expansion.of_tasks(numbers, *known, own if own.any() else None)

    def _with_intercepts(self, values: Array, number: int) -> Array:
        """Return the functions of a task's SVMs from those of all components."""
        mine = list(range(self.n_pairs(number)))
        if self.relation.couples:
            mine = self.components[number]
        return np.asarray(values[:, mine] + self.intercepts[number])

    def related(self, points: Any, rows: Array) -> Array:
        """Return what a task that is joined to the others by `rows` learns from all samples.

        Parameters
        ----------
        points : ndarray or CSR matrix
            Where.
        rows : ndarray of shape (n_matrices, n_tasks)
            Entries of the relation's matrices between this task and the others.
        """
        if self.expansion is not None:
            function = self.expansion.related(rows, self.matrix_weights)[None]
            return self.expansion.values(points, function, np.zeros(points.shape[0], dtype=np.intp))
        values = np.zeros((points.shape[0], len(self.all_coef)))
        for row, weights in zip(rows, self.matrix_weights, strict=True):
            joined = np.flatnonzero(row[self.support_task])
            if len(joined) and np.any(weights):
                K = self.bank.combine(points, self.all_support[joined], weights)
                coefficients = self.all_coef[:, joined] * row[self.support_task[joined]]
                values += K @ coefficients.T
        return values

    def common(self, points: Any) -> Array:
        """Return what all tasks have in common, with the mean intercept."""
        common = np.array([float(B.is_ones) for B in self.matrices])
        rows = np.repeat(common[:, None], len(self.tasks), axis=1)
        return np.asarray(self.related(points, rows) + self.mean_intercept)

    # Tasks that the fit has not seen.

    def check_tasks(self, query: Query) -> None:
        """Refuse tasks that cannot be predicted; name those that only the common function can."""
        assert query.labels is not None
        known = [*self.tasks, *self.adapted]
        new = unseen_tasks(query.labels, known)
        if not new:
            return
        placed = {name for name in new if self._can_place(name, query)}
        common = [name for name in new if name not in placed and self._can_share(name, query)]
        remedy = f"{self._remedy(query)} {query.advice}"
        known_tasks(query.labels, [*known, *placed, *common], remedy)
        if query.differ:
            raise ValueError(
                f"task holds labels that were not seen in fit: {some_of(new)}. Their classes are "
                "not known, because the tasks of fit have different ones: use the same classes in "
                f"all tasks. {query.advice}"
            )
        if common and query.unseen_task != "shared":
            warnings.warn(
                f"task holds labels that were not seen in fit: {some_of(common)}. They are "
                "predicted by the function that all tasks have in common; unseen_task='shared' "
                "does so without a warning, and unseen_task='error' refuses them. "
                f"{query.advice}",
                UserWarning,
                stacklevel=5,
            )

    def _remedy(self, query: Query) -> str:
        if query.unseen_task == "error":
            return (
                "unseen_task='error' refuses them; unseen_task='shared' predicts them by the "
                "function that all tasks have in common, if the relation has one."
            )
        return (
            "The tasks have no function in common: use relation='mixed' or another relation with "
            f"a common function, got {self.relation!r}; or let adapt learn the new task from a few "
            "rows."
        )

    def _can_place(self, name: Hashable, query: Query) -> bool:
        """Return whether more is known of a task never seen than what all tasks share."""
        if query.unseen_task == "error" or not self.relation.couples:
            return False
        points = None
        if self.relation.uses_inputs:
            # Every task that is asked for has inputs: which ones does not matter here.
            points = self.bank.comparable(query.points[:1])
        return self.relation.knows(Newcomer(name, query.features.get(name), points))

    def _can_share(self, name: Hashable, query: Query) -> bool:
        """Return whether a task never seen has the function that all tasks have in common."""
        if query.unseen_task == "error" or not self.relation.common:
            return False
        return self.relation.unseen(self.tasks, Newcomer(name)) is not None

    # What is learned after the fit.

    def adapt(self, name: Hashable, points: Any, features: Any, pairs: list[Pair]) -> Adapted:
        """Return what one task learns from more samples, all else being held fixed.

        Parameters
        ----------
        name : hashable
            The task.
        points : ndarray or CSR matrix
            Its new samples.
        features : mapping
            What is known of tasks that were not seen in the fit.
        pairs : list of Pair
            The SVMs of these samples.
        """
        if name in self.tasks:
            number = self.tasks.index(name)
            return self._learned(
                points, pairs, self.of_task(points, number), self.weights[number], None, 0.0
            )
        rows = self._newcomer_rows(name, points, features)
        weights = np.asarray(self.weights.mean(axis=0))
        if rows is not None:
            weights = self.matrix_weights.sum(axis=0) + self.own_weights.mean(axis=0)
        mean = 0.0 if self.free else self.mean_intercept
        known = self._placed(points, rows) + mean
        return self._learned(points, pairs, known, weights, rows, mean)

    def _learned(
        self,
        points: Any,
        pairs: list[Pair],
        known: Array,
        weights: Array,
        rows: Array | None,
        mean: Any,
    ) -> Adapted:
        K = self.bank.combine(points, points, weights)
        coef, intercepts = np.zeros((len(pairs), points.shape[0])), np.zeros(len(pairs))
        for place, pair in enumerate(pairs):
            at = pair.sample
            if len(at) == 0:
                continue
            loss: Any = pair.loss
            loss = loss._replace(target=loss.target - known[at, place])
            coef[place, at], intercepts[place] = _fitted(K[np.ix_(at, at)], loss, self.free)
        kept = np.flatnonzero(coef.any(axis=0))
        return Adapted(rows, points[kept], coef[:, kept], weights, intercepts + mean)


def _fitted(K: Array, loss: Any, free: bool) -> tuple[Array, float]:
    """Return the dual vector and the intercept of one SVM with a given kernel."""
    if not free:
        return solve_without_intercept(K, loss, tol=_TOL), 0.0
    problem = Problem([block_of(one_task(K[None]), loss)], Fixed(np.ones(1)))
    found = solve(problem, tol=_TOL, max_iter=100)
    return found.v, float(found.intercepts[0])


def components_of(problems: Sequence[TaskProblem], couples: bool) -> list[list[int]]:
    """Return the numbers of every task's pairs of classes among those of all tasks."""
    return pair_numbers(problems) if couples else [[0] for _ in problems]
