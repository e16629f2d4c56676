"""The classes of a task: what they are, what they weigh, and one SVM for each pair of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.losses import Hinge
from kernelhood.pipeline.problem import Pair
from kernelhood.tasks import TaskRows, as_objects

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
    with this class do, where these agree. Otherwise its class stays alone.

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
    """Return the two classes that all pairs are, None where they differ or are not two."""
    first = pairs[0]
    same = len(first) == 2 and all(np.array_equal(one, first) for one in pairs)
    return first if same else None


def _distinct(y: AnyArray) -> AnyArray:
    """Return the distinct labels, sorted where they can be, as objects where no dtype fits."""
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
        The task of each row; None where there is a column for each.
    classes : list of ndarray
        The classes of each task.
    """
    stacked = stacked_classes(classes)
    code = (values > 0.0).astype(np.intp) if stacked.shape[1] <= 2 else values.argmax(axis=-1)
    numbers = np.arange(len(stacked)) if which is None else which
    return np.asarray(stacked[numbers, code])


def check_class_weight(class_weight: Any, classes: list[AnyArray]) -> None:
    """Raise where weights are not positive or given to a label that no task has."""
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
