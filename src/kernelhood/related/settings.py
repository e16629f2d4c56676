"""What an estimator's parameters say of its tasks: their relation and their intercepts."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood.kernels import Constant, InputSummary, KernelBank
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.pipeline.fitted.bank import is_fitted
from kernelhood.relations import (
    Independent,
    Mixed,
    SharedFunctions,
    TaskRelation,
    as_relation,
)

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
