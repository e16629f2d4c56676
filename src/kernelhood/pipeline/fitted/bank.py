"""The base kernels of an estimator: given, or fitted to the inputs of all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelhood.kernels import BANKS, AutoBank, InputSummary, KernelBank, default_bank
from kernelhood.pipeline.problem import TaskProblem
from kernelhood.pipeline.reading import TaskReader


def is_fitted(kernels: Any) -> bool:
    """Return whether the parameter `kernels` stands for a bank that is fitted to the inputs.

    Examples
    --------
    >>> is_fitted("auto"), is_fitted("paper")
    (True, False)
    """
    return isinstance(kernels, AutoBank) or (isinstance(kernels, str) and kernels in BANKS)


class KernelChoice(TaskReader):
    """From the parameter `kernels` to the bank of a fit."""

    kernels: Any

    def _read_bank(self) -> KernelBank | AutoBank:
        """Return the kernels, or what they are to be fitted by."""
        if isinstance(self.kernels, str):
            if self.kernels == "paper":
                return default_bank()
            return BANKS.get(self.kernels) or KernelBank([self.kernels])
        if isinstance(self.kernels, (KernelBank, AutoBank)):
            return self.kernels
        if isinstance(self.kernels, (list, tuple)):
            return KernelBank(self.kernels)
        return KernelBank([self.kernels])

    def _fitted_bank(self, inputs: InputSummary) -> KernelBank:
        """Return the kernels for training rows of which something is known."""
        bank = self._read_bank()
        if isinstance(bank, AutoBank):
            return bank.fitted(inputs)
        bank = bank.resolved(inputs.names)
        return bank.imputed(inputs) if self.missing == "indicator" else bank

    def _takes_categories(self) -> bool:
        return is_fitted(self.kernels)

    def _summary(self, points: Any, problems: Sequence[TaskProblem]) -> InputSummary:
        """Look at the rows of all tasks, each of which may belong to several.

        Kernels that are given ask for the names of the columns alone.
        """
        names = self._names_without_task()
        if not (is_fitted(self.kernels) or self.missing == "indicator"):
            return InputSummary.of_names(names)
        weight = np.zeros(points.shape[0])
        for one in problems:
            np.add.at(weight, one.rows, one.sample_weight)
        used = np.flatnonzero(weight)
        return InputSummary.of(points[used], weight[used], coded=[*self._categories], names=names)
