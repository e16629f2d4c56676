"""What a Gaussian process knows of its functions after the targets: their variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from kernelhood._typing import Array, Indices
from kernelhood.operators import DenseKernels
from kernelhood.operators.dense import weighted_traces
from kernelhood.penalties import Linear, LogDeterminant
from kernelhood.penalties.base import damped_minimiser
from kernelhood.solvers.block import Block, LeastSquares
from kernelhood.solvers.hessian import Factor
from kernelhood.solvers.loop import as_solution
from kernelhood.solvers.problem import Problem, Solution, State, relative_gap


@dataclass(frozen=True)
class Posterior:
    """The Gaussian process after the targets of its samples; intercepts are free.

    Attributes
    ----------
    factor : Factor
        Of the covariance of the targets, ``K + diag(noise)``.
    """

    factor: Factor

    @classmethod
    def of(cls, K: Array, noise: Array, group_starts: Indices) -> Posterior:
        """Return the posterior of functions with a covariance at the samples.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            Covariance of the functions; overwritten.
        noise : ndarray of shape (n_samples,)
            Variances of the noise.
        group_starts : ndarray of int, shape (n_groups + 1,)
            Where each group of samples with a common intercept starts.
        """
        A, size = np.ascontiguousarray(K), float(np.trace(K)) if len(K) else 0.0
        A.flat[:: len(A) + 1] += noise
        for jitter in (0.0, 1e-14, 1e-11, 1e-8):
            B = A.copy()
            B.flat[:: len(B) + 1] += jitter * size
            found = Factor.of(B, group_starts)
            if found is not None:
                return cls(found)
        raise ValueError("kernels holds one that is not positive semidefinite.")

    @property
    def precisions(self) -> Array:
        """The diagonal of Z, of shape (n_samples,).

        A target differs from its prediction by all others by ``v_i / Z_ii``.
        """
        return np.ascontiguousarray(np.diagonal(self.factor.inverse()))

    def variance(self, cross: Array, prior: Array, groups: Array) -> Array:
        """Return the variance of functions, with what is not known of their intercepts.

        Parameters
        ----------
        cross : ndarray of shape (n_points, n_samples)
            Covariance of the functions at the points with those at the samples.
        prior : ndarray of shape (n_points,)
            Their variance before the targets.
        groups : ndarray of shape (n_groups,)
            How much of each group's intercept they have.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        half = self.factor.half(np.asfortranarray(cross.T))
        Q, R = self.factor.basis
        free = solve_triangular(R, groups, trans=1)[:, None] - Q.T @ half
        found = prior - np.sum(half**2, axis=0) + np.sum(free**2, axis=0)
        return np.maximum(found, 0.0)


# Weights and noise by the evidence: the likelihood of the targets under a Gaussian process.
#
# The squared loss is the Gaussian model ``y = f + intercepts + noise`` with the covariance
#
#     scale * A,   A = sum_m weights_m K^m + diag(1 / cost)
#
# Intercepts are free, so that what counts are the n - g contrasts of the targets, which no
# intercept
# changes. Their negative log likelihood is
#
#     J = S(weights) / scale + 1/2 log det A + (n - g)/2 log(2 pi scale),
#
# S being the value of the ridge regression and the determinant that of A on the contrasts. The
# scale
# is 1 where the noise is given; where it is learned, the best one is known: ``2 S / (n - g)``. It
# never falls below what leaves the noise 1e-8 of the targets' variance: targets without noise would
# take it to zero, and the covariance with it.
#
# The determinant is concave in the weights, and so is log S in S: with their tangents in their
# place
# J is a ridge regression whose weights have the prices ``scale / 2 tr(Z K^m)``, convex and
# certified
# as such. Weights that solve it at their own tangent are stationary, and its gap is the
# certificate.
# Steps take the average of the observed and the expected Hessian, in which the traces of two
# kernels
# cancel; where such a step fails, the majoriser's own step never does.


_EXACT = 1e-12
_ROUNDING = 1e-12
#: The least noise that is learned, as a share of the variance of the targets.
_LEAST_NOISE = 1e-8
_TENFOLD = 10.0
_NEGLIGIBLE = 1e-300
_FIRST_DAMPING, _LEAST_DAMPING = 1e-2, 1e-8
_GOOD, _POOR, _SLOW = 0.25, 0.1, 0.8
_FAILURES = 3


class _Point:
    """Weights with their evidence; what a step needs is computed where one is taken.

    Parameters
    ----------
    evidence : _Evidence
        The problem.
    state : State
        The weights, and the ridge regression at them.
    scale : float
        What the covariance is multiplied by.
    value : float
        J, the negative log likelihood.
    """

    def __init__(self, evidence: _Evidence, state: State, scale: float, value: float) -> None:
        self.evidence, self.state, self.scale, self.value = evidence, state, scale, value

    @property
    def q(self) -> Array:
        """Minus the slope of the first part of J."""
        return self.state.dual.q / self.scale

    @cached_property
    def prices(self) -> Array:
        """The slope of half the log determinant."""
        return self.evidence.prices(self.state.x)

    @cached_property
    def hessian(self) -> Array:
        """The average of the observed and the expected Hessian of J."""
        H, q = self.evidence.problem.hessian(self.state), self.state.dual.q
        if self.evidence.learn_noise and self.scale > self.evidence.least_scale:
            H = H - np.outer(q, q) * (2.0 / max(self.state.svm_value, 1e-300))
        return H * (0.5 / self.scale)

    @cached_property
    def gap(self) -> float:
        """The relative gap of the ridge regression with the tangent's prices."""
        state, tangent = self.state, Linear(self.scale * self.prices)
        missing = tangent.gap(state.x, state.svm_value, state.dual)
        size = max(state.svm_value, self.evidence.problem.floor)
        return relative_gap(missing, state.svm_value + tangent.value(state.x), size)


class _Evidence:
    """J and its slope as functions of the weights.

    Parameters
    ----------
    block : Block
        Kernels and targets: a `LeastSquares` with kernels in memory.
    learn_noise : bool
        Whether the scale is learned.
    """

    def __init__(self, block: Block, learn_noise: bool) -> None:
        operator = block.operator
        if not isinstance(block, LeastSquares) or not isinstance(operator, DenseKernels):
            raise ValueError(
                "cache_size is too small for formulation='evidence', which holds the matrices of "
                "all kernels: raise it, use fewer kernels, or another formulation."
            )
        block.in_double_precision()
        self.block, self.operator, self.learn_noise = block, operator, learn_noise
        self.least_scale = _LEAST_NOISE * block.units.value
        self.n_free = block.n_samples - len(block.loss.group_starts) + 1
        self.problem = Problem([block], LogDeterminant(self._first_prices()))

    def _first_prices(self) -> Array:
        """Return the prices at weight 0, up to a factor: traces, without what intercepts do."""
        cost, loss = self.block.loss.cost, self.block.loss
        group = loss.spread(np.arange(len(loss.group_starts) - 1))
        Z = np.where(
            group[:, None] == group, -np.outer(cost, cost / loss.spread(loss.sums(cost))), 0
        )
        Z[np.diag_indices_from(Z)] += cost
        return weighted_traces(self.operator, Z)

    def start(self, weights: Array | None) -> _Point:
        """Return where to start: at first functions are as large as the noise, then ever larger."""
        x = self.problem.start()
        if weights is not None and len(weights) == self.operator.n_weights:
            given = self.problem.x_of(weights)
            x = given * (x.sum() / given.sum()) if given.any() else x
        here = self.at(x)
        while here.scale > self.least_scale or not self.learn_noise:
            further = self.at(_TENFOLD * here.state.x, here)
            if not further.value < here.value:
                break
            here = further
        return here

    def at(self, x: Array, near: _Point | None = None) -> _Point:
        """Return the evidence at weights in the problem's units."""
        block, n = self.block, self.n_free
        start = self.problem.at(x) if near is None else near.state
        start = start._replace(objective=start.svm_value)
        state = self.problem.solve(x, start, _EXACT, 0.0)
        scale = 1.0
        if self.learn_noise and n > 0:
            scale = max(2.0 * state.svm_value / n, self.least_scale)
        logs = self._factor(x).log_determinant + n * np.log(2.0 * np.pi * scale)
        # The block has its largest cost as a unit.
        logs -= n * np.log(block.units.box / block.units.target)
        return _Point(self, state, scale, state.svm_value / scale + 0.5 * float(logs))

    def _factor(self, x: Array) -> Factor:
        return self.block.factor_at(self.problem.weights(x) / self.block.units.weight)

    def prices(self, x: Array) -> Array:
        """Return the slope of half the log determinant."""
        traces = weighted_traces(self.operator, self._factor(x).inverse())[self.problem.kept]
        return 0.5 * traces * self.problem.unit / self.block.units.weight


class _Steps:
    """Which weights to try next: damping, how far beyond the model's minimum, failures in a row."""

    def __init__(self) -> None:
        self.damping, self.stretch, self.failures = _FIRST_DAMPING, 1.0, 0

    @property
    def is_exhausted(self) -> bool:
        """Whether even the majoriser's step has gained nothing."""
        return self.failures > _FAILURES

    def propose(self, here: _Point) -> Array:
        """Return weights to try: those that the damped second-order model prefers, or beyond."""
        x = here.state.x
        if self.failures == _FAILURES:
            return x * np.sqrt(np.maximum(here.q, 0.0) / here.prices)
        slope, unit = here.prices - here.q, here.evidence.problem.small_unit(here.state)
        found = damped_minimiser(here.hessian, slope, x, here.q, self.damping, unit)
        return np.maximum(x + self.stretch * (found - x), 0.0)

    def accepts(self, here: _Point, trial: _Point) -> bool:
        """Return whether the trial is better, and draw the lessons of it."""
        gained, least = here.value - trial.value, _ROUNDING * abs(here.value)
        # Where rounding hides what is gained, the slope still tells.
        better = gained > least or (gained >= -least and trial.gap < here.gap)
        if better:
            self._learn(here, trial, gained)
        elif self.stretch > 1.0:
            self.stretch = 1.0
        else:
            self.damping = 10.0 * max(self.damping, 1e-3)
            self.failures += 1
        return better

    def _learn(self, here: _Point, trial: _Point, gained: float) -> None:
        """Judge the model by a step that gained something."""
        step = trial.state.x - here.state.x
        promised = -float((here.prices - here.q + 0.5 * here.hessian @ step) @ step)
        ratio = gained / max(promised, 1e-300)
        if self.stretch == 1.0 and ratio > _GOOD:
            self.damping = max(0.1 * self.damping, _LEAST_DAMPING)
        elif self.stretch == 1.0 and ratio < _POOR:
            self.damping *= 3.0
        # A model that is right and hardly moves: what is looked for is far away.
        slow = ratio > _GOOD and trial.gap > _SLOW * here.gap
        self.stretch = 2.0 * self.stretch if slow else 1.0
        self.failures = 0


def solve_evidence(
    blocks: Sequence[Block],
    *,
    learn_noise: bool = True,
    weights: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Solution:
    """Return weights that are stationary points of the evidence.

    Parameters
    ----------
    blocks : sequence of Block
        Kernels and targets, one `LeastSquares`; its costs are the inverse variances of the noise,
        up to a common factor where that is learned.
    learn_noise : bool
        Whether this factor is learned.
    weights : ndarray of shape (n_weights,), optional
        Where to start; only their proportions count. By default all are equal.
    tol : float
        Relative gap of the tangent problem that a stationary point has to solve.
    max_iter : int
        Largest number of linear systems.

    Returns
    -------
    Solution
        With the variances of the functions as weights, and `noise_scale`, the factor. Its trace
        has the negative log likelihood, which never rises, and the gap of the tangent problem.
    """
    (block,) = blocks
    evidence = _Evidence(block, learn_noise)
    here, steps = evidence.start(weights), _Steps()
    trace = [(here.value, here.gap)]
    while trace[-1][1] > tol and len(trace) < max_iter and not steps.is_exhausted:
        trial = evidence.at(steps.propose(here), here)
        if steps.accepts(here, trial):
            here = trial
        trace.append((min(here.value, trace[-1][0]), here.gap))
    return _in_users_units(evidence, here, np.array(trace))


def _in_users_units(evidence: _Evidence, here: _Point, trace: Array) -> Solution:
    """Return the solution with the scale in the weights, which are variances then."""
    found, scale = as_solution(evidence.problem, here.state, trace), here.scale
    # Every sample counts for the covariance, even one that the function meets exactly.
    v = np.where(found.v == 0.0, _NEGLIGIBLE, found.v / scale)
    return found._replace(
        weights=scale * found.weights,
        v=v,
        svm_value=found.svm_value / scale,
        gain=found.gain / scale,
        q=found.q / scale**2,
        bend=found.bend / scale,
        noise_scale=scale,
    )
