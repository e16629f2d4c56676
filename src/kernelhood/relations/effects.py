"""Effects, as a mixed model has them: one common to all tasks, some in between, one of each task.

The matrices are 11', those in between, and I. The weights are as many as the matrices, whatever
the number of tasks: deviations of all tasks have one size.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from kernelhood._typing import Array
from kernelhood.relations.base import Newcomer, TaskRelation
from kernelhood.task_matrices import Diagonal, Ones, TaskMatrices, TaskMatrix, as_task_matrix


class Effects(TaskRelation):
    """A common function, functions in between, and a deviation of each task.

    A relation that derives from it gives `between`, its matrices in between, and `joined`, how a
    task never seen is joined to the others by them. It can then be combined with others.

    Parameters
    ----------
    cost : float or sequence of float
        How many times more a weight in between costs than a common one; one for all of them or
        one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.relations import Effects
    >>> class FirstLetter(Effects):
    ...     between_labels = ("first letter",)
    ...
    ...     def between(self, tasks):
    ...         letters = np.array([name[0] for name in tasks])
    ...         return [(letters[:, None] == letters).astype(float)]
    >>> FirstLetter().labels(3)
    ['common', 'first letter', 'own']
    >>> FirstLetter().matrices(["ab", "ac", "b"])[1, 0].tolist()
    [1.0, 1.0, 0.0]
    """

    common = True
    #: Names of the matrices in between, for people to read.
    between_labels: tuple[str, ...] = ()
    #: What the deviations of single tasks cost; infinity leaves them out.
    own_cost: float = 1.0

    def __init__(self, *, cost: Any = 1.0) -> None:
        self.cost = cost
        given = np.atleast_1d(np.asarray(cost, dtype=np.float64))
        if given.ndim != 1 or not np.all(np.isfinite(given) & (given > 0.0)):
            raise ValueError(f"cost must be finite and positive, got {cost!r}.")
        n = len(self.between_labels)
        if len(given) not in (1, n):
            raise ValueError(f"cost must be one number or {n}, one for each matrix, got {cost!r}.")
        self.between_costs = tuple(np.broadcast_to(given, (n,)).tolist()) if n else ()

    @property
    def content(self) -> Hashable:
        """What is equal for equal matrices in between."""
        return ()

    def between(self, tasks: Sequence[Hashable]) -> list[Array]:
        """Return the matrices in between.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return []

    def between_forms(self, tasks: Sequence[Hashable]) -> list[TaskMatrix]:
        """Return the matrices in between by their form.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return [as_task_matrix(np.asarray(B, dtype=np.float64)) for B in self.between(tasks)]

    def joined(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> list[Array]:
        """Return the rows of a task never seen in the matrices in between; zeros if not known.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task.
        """
        return [np.zeros(len(tasks)) for _ in self.between_labels]

    @property
    def key(self) -> Hashable:
        """The matrices, without their costs."""
        return type(self).__name__, self.content, self._has_own

    @property
    def _identity(self) -> Hashable:
        return self.key, self.between_costs, self.own_cost

    @property
    def _has_own(self) -> bool:
        return bool(np.isfinite(self.own_cost))

    def matrices(self, tasks: Sequence[Hashable]) -> Array:
        """Return 11', the matrices in between, and I.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        return self.structure(tasks).written()

    def structure(self, tasks: Sequence[Hashable]) -> TaskMatrices:
        """Return 11', the matrices in between, and I by their form.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks.
        """
        n = len(tasks)
        own = [Diagonal(np.ones(n))] if self._has_own else []
        return TaskMatrices((Ones(n), *self.between_forms(tasks), *own), n)

    def costs(self, n_matrices: int) -> Array:
        """Return the costs: 1 for what is common.

        Parameters
        ----------
        n_matrices : int
            As many as `matrices` gives.
        """
        own = [self.own_cost] if self._has_own else []
        return np.array([1.0, *self.between_costs, *own])

    def labels(self, n_matrices: int) -> list[str]:
        """Return a name for each matrix.

        Parameters
        ----------
        n_matrices : int
            As many as `matrices` gives.
        """
        return ["common", *self.between_labels, *(["own"] if self._has_own else [])]

    def own_costing(self, factor: float) -> Self:
        """Return the relation in which the deviations of single tasks cost more.

        Parameters
        ----------
        factor : float
            How many times more than now; infinity leaves them out.
        """
        if factor == 1.0:
            return self
        changed = copy.copy(self)
        changed.own_cost = self.own_cost * factor
        return changed

    def unseen(self, tasks: Sequence[Hashable], newcomer: Newcomer) -> Array:
        """Join any task by what is common, and by what is known of it.

        Parameters
        ----------
        tasks : sequence
            Names of the tasks of the fit.
        newcomer : Newcomer
            The task.
        """
        n = len(tasks)
        own = [np.zeros(n)] if self._has_own else []
        return np.stack([np.ones(n), *self.joined(tasks, newcomer), *own])


class Mixed(Effects):
    """One common function, and deviations of all tasks that have one size.

    Examples
    --------
    >>> Mixed().matrices(["a", "b"])
    array([[[1., 1.],
            [1., 1.]],
    <BLANKLINE>
           [[1., 0.],
            [0., 1.]]])
    """

    def __init__(self) -> None:
        super().__init__()

    def __repr__(self) -> str:
        return "Mixed()"


def unit_diagonal(B: Array) -> Array:
    """Return a positive semi-definite matrix scaled to a diagonal of ones; zero rows stay."""
    size = np.sqrt(np.maximum(np.diagonal(B), 0.0))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    scaled = B * np.outer(inverse, inverse)
    scaled[np.diag_indices(len(B))] = (size > 0.0).astype(np.float64)
    return np.asarray(0.5 * (scaled + scaled.T))
