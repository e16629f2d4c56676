"""One task as the solvers see it, and what they learn for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelhood._typing import AnyArray, Array, Flags, Indices
from kernelhood.inspection.model import Neighborhood
from kernelhood.losses import SampleLoss
from kernelhood.penalties import Penalty
from kernelhood.solvers.neighborhood import BoundTerms
from kernelhood.solvers.problem import Solution, closest_start, recertified


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
