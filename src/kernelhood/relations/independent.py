"""The paper's tasks: they have nothing in common but their parameters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from kernelhood._typing import Array
from kernelhood.relations.base import TaskRelation


@dataclass(frozen=True)
class Independent(TaskRelation):
    """Every task has weights of its own and nothing else: the problem splits into one for each.

    Examples
    --------
    >>> from kernelhood.relations import Independent
    >>> Independent().matrices(["a", "b"]).shape
    (0, 2, 2)
    """

    couples = False
    separate = True

    @property
    def key(self) -> Hashable:
        """There is only one."""
        return "independent"

    def matrices(self, tasks: Sequence[Hashable]) -> Array:
        """Return no matrix."""
        return np.empty((0, len(tasks), len(tasks)))

    def own_costing(self, factor: float) -> Independent:
        """Return the same relation: nothing is shared that could cost less."""
        return self
