"""The base kernels of a task on its own: evaluated once, for a fit or for a whole path."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from kernelhood._typing import Array
from kernelhood.kernels import KernelBank
from kernelhood.operators import KernelOperator, cells_of, one_task
from kernelhood.operators.frobenius import frobenius_gram
from kernelhood.penalties import Fixed
from kernelhood.pipeline.problem import Pair, TaskProblem
from kernelhood.solvers.block import Block
from kernelhood.solvers.least_squares.block import block_of
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from kernelhood.solvers.solution import Solution
from kernelhood.solvers.warm_start import valued


class TaskKernels:
    """The kernels on the training points of one task.

    Parameters
    ----------
    bank : KernelBank
        The task's kernels.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Its points.
    sample_weight : ndarray of shape (n_samples,)
        How often each counts.
    noise : bool
        Whether the identity comes behind the kernels, as ``diag(1 / sample_weight)``.
    """

    def __init__(self, bank: KernelBank, X: Any, sample_weight: Array, noise: bool = False) -> None:
        self.bank, self.X, self.sample_weight = bank, X, sample_weight
        #: What a method wants to keep for other models with the same kernels.
        self.kept: dict[Hashable, Any] = {}
        n = len(sample_weight)
        self.Ks = np.empty((len(bank) + noise, n, n))
        bank(X, out=self.Ks[: len(bank)])
        if noise:
            self.Ks[-1] = np.diag(1.0 / sample_weight)

    @cached_property
    def _gram_and_traces(self) -> tuple[Array, Array]:
        return frobenius_gram(self.Ks, self.sample_weight)

    @property
    def gram(self) -> Array:
        """The Frobenius products G of the kernels."""
        return self._gram_and_traces[0]

    @property
    def traces(self) -> Array:
        """The traces d of the kernels."""
        return self._gram_and_traces[1]

    def operator(self, pair: Pair) -> KernelOperator:
        """Return the kernels on the samples of one SVM."""
        if len(pair.sample) == len(self.sample_weight):
            return one_task(self.Ks)
        size, only = np.array([len(pair.sample)]), np.zeros(1, dtype=np.intp)
        return one_task(self.Ks, cells_of(pair.sample, size, only))

    def blocks(self, problem: TaskProblem) -> list[Block]:
        """Return the task's SVMs."""
        return [block_of(self.operator(pair), pair.loss) for pair in problem.pairs]

    def cross(self, X: Any) -> Array:
        """Return the kernels between other points and these."""
        return self.bank(X, self.X)


def decision_values(test: Array, problem: TaskProblem, found: Solution) -> Array:
    """Return the functions of a task at other points, one in each column.

    Parameters
    ----------
    test : ndarray of shape (n_kernels, n_points, n_samples)
        Kernels between these points and the task's samples.
    problem : TaskProblem
        The task.
    found : Solution
        Its solution.
    """
    coefficients = problem.by_pair(found.v).T
    values = np.zeros((test.shape[1], 1)) + found.intercepts
    for m in np.flatnonzero(found.weights):
        values += found.weights[m] * (test[m] @ coefficients)
    return values


def fit_svm(
    kernels: TaskKernels, problem: TaskProblem, weights: Array, *, tol: float, max_iter: int
) -> Solution:
    """Return the SVM of a task with weights that are given, from where another one ended.

    Parameters
    ----------
    kernels, problem
        The task.
    weights : ndarray of shape (n_kernels,)
        Not negative.
    tol, max_iter
        As for `solvers.loop.solve`.
    """
    blocks, starts = kernels.blocks(problem), problem.starts
    start = valued(blocks, weights, starts[-1].v) if starts else None
    return solve(Problem(blocks, Fixed(weights)), start=start, tol=tol, max_iter=max_iter)
