"""The classes of a task: what they are, what they weigh, and one SVM for each pair of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import _ovr_decision_function

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.estimators.reading import TaskRows, as_objects
from kernelhood.inspection.model import Neighborhood
from kernelhood.losses import Hinge, SampleLoss
from kernelhood.penalties import Penalty
from kernelhood.solvers.neighborhood import BoundTerms
from kernelhood.solvers.problem import Solution, closest_start, recertified

_NEGLIGIBLE = 1e-6


def task_classes(task: TaskRows, many: bool) -> AnyArray:
    """Return the classes that a task's samples have, or raise an error that names the task.

    Parameters
    ----------
    task : TaskRows
        The task.
    many : bool
        Whether there may be more than two.
    """
    classes = _distinct(task.y)
    if classes.dtype.kind == "f" and np.any(classes != np.rint(classes)):
        raise ValueError(
            f"Unknown label type: continuous. y of task {task.name!r} holds fractions, "
            "a classifier needs classes."
        )
    if len(classes) > 2 and not many:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y holds {len(classes)} classes in task {task.name!r}."
        )
    return classes


def completed_classes(
    found: list[AnyArray], expected: Sequence[AnyArray | None] | None = None
) -> list[AnyArray]:
    """Return the classes of tasks, those with a single one completed by what others have.

    A task whose samples are all of one class is taken to choose between two as the other tasks
    with this class do, if these agree. Otherwise its class stays alone.

    Parameters
    ----------
    found : list of ndarray
        The classes that each task's samples have.
    expected : sequence of (ndarray or None), optional
        The classes that each task is known to have beyond these samples, as in a search.

    Examples
    --------
    >>> import numpy as np
    >>> both, alone, another = np.array(["a", "b"]), np.array(["b"]), np.array(["c"])
    >>> [one.tolist() for one in completed_classes([both, alone, another])]
    [['a', 'b'], ['a', 'b'], ['c']]
    """
    known = [one for one in (expected or found) if one is not None]
    pairs = [one for one in known if len(one) == 2]
    if all(len(one) == 1 for one in known):
        pairs = [_distinct(as_objects([label for one in known for label in one.tolist()]))]
    fitting: dict[Any, list[AnyArray]] = {}
    for one in pairs:
        for label in one.tolist():
            fitting.setdefault(label, []).append(one)
    agreed = {label: _agreed(some) for label, some in fitting.items()}
    completed = []
    for number, own in enumerate(found):
        before = None if expected is None else expected[number]
        other = None
        if len(own) == 1:
            (label,) = own.tolist()
            other = agreed.get(label)
            if before is not None and len(before) == 2:
                other = before if label in before.tolist() else None
        completed.append(own if other is None else other)
    return completed


def _agreed(pairs: list[AnyArray]) -> AnyArray | None:
    """Return the two classes that all pairs are, None if they differ or are not two."""
    first = pairs[0]
    same = len(first) == 2 and all(np.array_equal(one, first) for one in pairs)
    return first if same else None


def _distinct(y: AnyArray) -> AnyArray:
    """Return the distinct labels, sorted if they can be, as objects if no dtype fits."""
    if y.dtype.kind != "O":
        return np.unique(y)
    found = list(dict.fromkeys(y.tolist()))
    with suppress(TypeError):
        found.sort()
    if len({type(label) for label in found}) == 1 and np.ndim(found[0]) == 0:
        return np.array(found)
    return as_objects(found)


def class_codes(y: AnyArray, classes: AnyArray) -> Indices:
    """Return the place of every label among the classes."""
    places = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([places[label] for label in y.tolist()], dtype=np.intp)


def stacked_classes(classes: list[AnyArray]) -> AnyArray:
    """Return all tasks' classes as rows of one array that changes no label.

    Rows of tasks with fewer classes are filled up with their last one.
    """
    if len({one.dtype.kind for one in classes}) > 1:
        classes = [one.astype(object) for one in classes]
    width = max(len(one) for one in classes)
    return np.stack([one[np.minimum(np.arange(width), len(one) - 1)] for one in classes])


def told_classes(values: Array, which: AnyArray | None, classes: list[AnyArray]) -> AnyArray:
    """Return the classes that decision values tell: by their sign, or the largest of several.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_tasks), or with an axis for the classes
        As `decision_function` returns them.
    which : ndarray of int, shape (n_samples,), or None
        The task of each row; None if there is a column for each.
    classes : list of ndarray
        The classes of each task.
    """
    stacked = stacked_classes(classes)
    code = (values > 0.0).astype(np.intp) if stacked.shape[1] <= 2 else values.argmax(axis=-1)
    numbers = np.arange(len(stacked)) if which is None else which
    return np.asarray(stacked[numbers, code])


def check_class_weight(class_weight: Any, classes: list[AnyArray]) -> None:
    """Raise if weights are not positive or given to a label that no task has."""
    if not isinstance(class_weight, dict):
        return
    known = {label for own in classes for label in own.tolist()}
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(f"class_weight holds {unknown}, which are classes of no task in y.")
    if not all(weight > 0.0 for weight in class_weight.values()):
        raise ValueError(f"class_weight must hold positive weights, got {class_weight}.")


def class_prices(
    class_weight: Any, classes: AnyArray, code: Indices, sample_weight: Array
) -> Array:
    """Return the weight of each sample's class; "balanced" counts samples by their weight."""
    if class_weight is None:
        return np.ones(len(code))
    if isinstance(class_weight, dict):
        return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])[code]
    counted = np.bincount(code, sample_weight, len(classes))
    with np.errstate(divide="ignore"):  # a class that a task has no sample of
        return np.asarray(sample_weight.sum() / (len(classes) * counted))[code]


def one_against_one(code: Indices, cost: Array, n_classes: int) -> list[Pair]:
    """Return one SVM for each pair of classes, the second of them being positive.

    A class that is alone makes one SVM, which is positive everywhere. It should tell other tasks
    nothing, so that it costs next to nothing.

    Parameters
    ----------
    code : ndarray of int, shape (n_samples,)
        The class of each sample.
    cost : ndarray of shape (n_samples,)
        C times the weight of each sample.
    n_classes : int
        How many classes there are.
    """
    if n_classes == 1:
        return [Pair.whole(Hinge().box(np.ones(len(code)), _NEGLIGIBLE * cost))]
    pairs = []
    for first, second in combinations(range(n_classes), 2):
        own = np.flatnonzero((code == first) | (code == second))
        pairs.append(Pair(own, Hinge().box(np.where(code[own] == second, 1.0, -1.0), cost[own])))
    return pairs


def class_scores(values: Array, n_classes: int, width: int) -> Array:
    """Return a column for each class: its votes, and a confidence that only breaks ties.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_pairs)
        The function of each pair of classes.
    n_classes, width : int
        Number of classes, and of columns; what is left over is minus infinity.
    """
    scores = np.full((len(values), width), -np.inf)
    votes = _ovr_decision_function(values > 0.0, values, n_classes)
    scores[:, :n_classes] = votes
    return scores


class Pair(NamedTuple):
    """One SVM of a task: all its samples, or those of two of its classes.

    Attributes
    ----------
    sample : ndarray of int, shape (n_entries,)
        The task's samples that take part.
    loss : BoxLoss or RidgeLoss
        Their loss.
    """

    sample: Indices
    loss: SampleLoss

    @classmethod
    def whole(cls, loss: SampleLoss) -> Pair:
        """Return the SVM of all samples."""
        return cls(np.arange(len(loss.target), dtype=np.intp), loss)


@dataclass(frozen=True)
class TaskProblem:
    """One task as the solvers see it.

    Attributes
    ----------
    name : hashable
        The task.
    rows : ndarray of int, shape (n_samples,)
        Its rows in X, those of weight 0 left out.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Its points.
    pairs : list of Pair
        One SVM, or one for each pair of its classes.
    sample_weight : ndarray of shape (n_samples,)
        How often each sample counts.
    start : Solution, optional
        The solution of a model that differs in `_path_parameters` only.
    together : Solution, optional
        The same for all tasks as one, if they are solved jointly.
    carry : callable, optional
        Returns that of the same model with another C, brought into this box, or None.
    weights : ndarray, optional
        Weights to start from, if a problem has many stationary points.
    only_scored : bool
        Whether nothing but the predictor is wanted, as in a search.
    kept : dict
        What a method wants to keep for other models with the same loss and kernels.
    unlabelled : ndarray or CSR matrix, optional
        More points of the task, without targets.
    """

    name: Hashable
    rows: Indices
    X: Any
    pairs: list[Pair]
    sample_weight: Array
    start: Solution | None = None
    together: Solution | None = None
    carry: Callable[[], Solution | None] | None = None
    weights: Any = None
    only_scored: bool = False
    kept: dict[Hashable, Any] = field(default_factory=dict)
    unlabelled: Any = None

    @cached_property
    def counted(self) -> float:
        """The number of samples, each as often as it counts."""
        return float(self.sample_weight.sum())

    @property
    def inputs(self) -> Any:
        """The task's points, those without targets among them."""
        if self.unlabelled is None or self.unlabelled.shape[0] == 0:
            return self.X
        stack = sparse.vstack if sparse.issparse(self.X) else np.vstack
        return stack([self.X, self.unlabelled])

    def first_weights(self, size: int) -> Array | None:
        """Return the weights to start from, None if they are those of a bank of another size.

        A bank that is fitted to its rows leaves out columns that are constant there, so that the
        splits of a search may have fewer kernels than all rows.
        """
        return self.weights if self.weights is not None and len(self.weights) == size else None

    @property
    def loss(self) -> SampleLoss:
        """The loss of a task with a single SVM."""
        (pair,) = self.pairs
        return pair.loss

    def thinned(self, count: int) -> TaskProblem:
        """Return the task with one of `count` samples of each class, counted that many times."""
        kept, pairs = np.zeros(len(self.rows), dtype=np.bool_), []
        for pair in self.pairs:
            order = np.argsort(pair.loss.upper > 0.0, kind="stable")
            kept[pair.sample[order[::count]]] = True
        place = np.cumsum(kept) - 1
        for pair in self.pairs:
            own = kept[pair.sample]
            part = pair.loss.part(own, len(own) / max(int(own.sum()), 1))
            pairs.append(Pair(place[pair.sample[own]].astype(np.intp), part))
        times = len(kept) / int(kept.sum())
        weight = times * self.sample_weight[kept]
        X = self.X[np.flatnonzero(kept)]
        return TaskProblem(self.name, self.rows[kept], X, pairs, weight, only_scored=True)

    def counted_often(self, times: float) -> TaskProblem:
        """Return the task with every sample counted several times."""
        every = [np.ones(len(pair.sample), dtype=np.bool_) for pair in self.pairs]
        pairs = [
            Pair(pair.sample, pair.loss.part(one, times))
            for pair, one in zip(self.pairs, every, strict=True)
        ]
        weight = times * self.sample_weight
        return TaskProblem(self.name, self.rows, self.X, pairs, weight, only_scored=True)

    def holds(self, part: TaskProblem) -> Flags:
        """Return which samples of its SVMs are those of a thinned task, one SVM after the other."""
        kept = np.isin(self.rows, part.rows)
        return np.concatenate([kept[pair.sample] for pair in self.pairs])

    def by_pair(self, v: Array) -> Array:
        """Return a dual vector as a row for each SVM and a column for each sample."""
        coefficients = np.zeros((len(self.pairs), len(self.rows)))
        ends = np.cumsum([len(pair.sample) for pair in self.pairs])
        for number, (pair, part) in enumerate(zip(self.pairs, np.split(v, ends[:-1]), strict=True)):
            coefficients[number, pair.sample] = part
        return coefficients

    @property
    def carried(self) -> Solution | None:
        """The solution of the same model with another C, computed when it is asked for."""
        return None if self.carry is None else self.carry()

    @property
    def starts(self) -> list[Solution]:
        """All there is to start from."""
        return [one for one in (self.start, self.carried) if one is not None]

    def certified(self, penalty: Penalty, tol: float) -> Solution | None:
        """Return the start if it solves the problem with another penalty already."""
        return None if self.start is None else recertified(self.start, penalty, tol)

    def closest_start(self, penalty: Penalty) -> Solution | None:
        """Return the start with the smallest gap."""
        return closest_start(self.starts, penalty)


@dataclass(frozen=True)
class TaskSolution:
    """What a method learns for one task.

    Attributes
    ----------
    solution : Solution
        Weights, dual vector and certificate.
    neighborhood : Neighborhood, optional
        The neighborhood-defining matrix, if the method has one.
    together : Solution, optional
        The solution of the joint problem of which this is the task's part.
    bound : BoundTerms, optional
        What the bound needs to know of all tasks together.
    multiplier : float, optional
        Of a radius that all tasks share.
    """

    solution: Solution
    neighborhood: Neighborhood | None = None
    together: Solution | None = None
    bound: BoundTerms | None = None
    multiplier: float | None = None


class ScoredTask(NamedTuple):
    """Targets and predictions of one task.

    Attributes
    ----------
    name : hashable
        The task.
    y, predicted : ndarray of shape (n_samples,)
        Targets and predictions.
    weight : ndarray of shape (n_samples,)
        Weights of the samples.
    centre : float
        The mean training target of the task; of all tasks if it was not seen.
    """

    name: Hashable
    y: AnyArray
    predicted: AnyArray
    weight: Array
    centre: float


def explained(error: float, spread: float) -> float:
    """Return 1 - error / spread; without any spread 1 if there is no error, otherwise 0.

    Examples
    --------
    >>> explained(1.0, 4.0), explained(0.0, 0.0), explained(1.0, 0.0)
    (0.75, 1.0, 0.0)
    """
    return 1.0 - error / spread if spread > 0.0 else float(error == 0.0)


def task_means(tasks: Sequence[TaskRows], weights: Sequence[Array]) -> dict[Hashable, float]:
    """Return the mean target of every task; 0 if its samples weigh nothing.

    Parameters
    ----------
    tasks : sequence of TaskRows
        The tasks.
    weights : sequence of ndarray
        The weights of their samples.
    """
    return {
        one.name: float(weight @ one.y) / weight.sum() if weight.any() else 0.0
        for one, weight in zip(tasks, weights, strict=True)
    }


def error_and_spread(one: ScoredTask) -> tuple[float, float]:
    """Return the squared error of a task's predictions, and that of its mean training target."""
    error = float(one.weight @ (one.y - one.predicted) ** 2)
    return error, float(one.weight @ (one.y - one.centre) ** 2)
