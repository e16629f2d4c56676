"""The evidence: variances of the parts of a Gaussian model, learned without a search.

Rows belong to groups on several levels: all rows together, the rows of a task, those of an
occasion. On every level each term, a map from rows to features phi_m, has a function of its own in
every group, and the sum of all of them is observed with noise:

    z ~ N(0, Sigma),   Sigma = sum_lm theta_lm (same group on level l) o phi_m phi_m'
                             + INTERCEPT 11' + theta_noise diag(noise)

Several targets, such as the classes of one classification, have the same weights; their evidences
are added. Targets with the same noise have the same Sigma, and one factor.

The weights theta, all of them variances, minimise

    J = 1/2 z' Sigma^-1 z + 1/2 log det Sigma + sum_lm log(1 + theta_lm / tau),

the negative log evidence with a Cauchy prior on standard deviations. The last two parts are concave
in theta: with their tangents in their place J is convex, and its duality gap tells how far weights
are from a stationary point (`Point.gap`). Steps are Newton's with the average of the observed and
the expected Hessian, in which traces of two matrices cancel.

What is left out follows from the same factor: with a = Sigma^-1 z and Z = Sigma^-1, rows g differ
from their prediction by all others by ``Z_gg^-1 a_g``, with the covariance ``Z_gg^-1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.optimize import nnls

from kernelhood._typing import Array, Flags, Indices

#: The variance of the common intercept, in variances of the targets: it is hardly shrunk.
INTERCEPT = 100.0
#: The least variance of the noise, in variances of the targets.
LEAST_NOISE = 1e-6

_FIRST_DAMPING, _LEAST_DAMPING = 1e-2, 1e-8
_GOOD, _POOR = 0.5, 0.2
_FAILURES = 4
_SLOW, _PATIENCE, _HARDLY = 10.0, 2, 0.8
_ROUNDING = 1e-12
_TINY = 1e-300
_JITTERS = (0.0, 1e-12, 1e-9)
#: Weights that a subsample has taken to zero start here, to be able to come back.
_REVIVED = 1e-4

Block = slice | Indices


@dataclass(frozen=True)
class Level:
    """Groups of rows, and the terms that have a function in each.

    Attributes
    ----------
    groups : ndarray of int, shape (n,)
        The group of every row, from 0.
    terms : ndarray of bool, shape (n_terms,)
        The terms that it has.
    """

    groups: Indices
    terms: Flags

    @cached_property
    def blocks(self) -> list[Block]:
        """The rows of every group, as slices if they are next to each other."""
        order = np.argsort(self.groups, kind="stable")
        edges = np.flatnonzero(np.diff(self.groups[order])) + 1
        found: list[Block] = []
        for rows in np.split(order, edges):
            alone = rows[-1] - rows[0] + 1 == len(rows)
            found.append(slice(int(rows[0]), int(rows[-1]) + 1) if alone else rows)
        return found

    def take(self, rows: Indices) -> Level:
        """Return the level of some of the rows."""
        return Level(self.groups[rows], self.terms)


@dataclass(frozen=True)
class Terms:
    """All terms at the same rows: features of low rank, and matrices for the others.

    Attributes
    ----------
    features : ndarray of shape (n, n_features)
        Features of the first terms, side by side.
    sizes : ndarray of int, shape (n_first,)
        How many features each of them has.
    matrices : ndarray of shape (n_others, n, n)
        Kernel matrices of the other terms.
    """

    features: Array
    sizes: Indices
    matrices: Array

    @cached_property
    def term_of(self) -> Indices:
        """The term of every feature."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def n_terms(self) -> int:
        """How many terms there are."""
        return len(self.sizes) + len(self.matrices)

    def take(self, rows: Indices) -> Terms:
        """Return the terms at some of the rows."""
        matrices = self.matrices[:, rows[:, None], rows]
        return replace(self, features=self.features[rows], matrices=matrices)

    def split(self, weights: Array) -> tuple[Array, Array]:
        """Return the weights of features and those of matrices."""
        first = len(self.sizes)
        return weights[:first][self.term_of], weights[first:]


class Model:
    """Terms on levels, and targets: everything but the weights.

    The weights are those of the terms of the first level, of the second and so on, and last the
    variance of the noise.

    Parameters
    ----------
    terms : Terms
        At the training rows.
    levels : sequence of Level
        Of the same rows.
    z : ndarray of shape (n, n_targets)
        Targets of mean 0 and variance 1, or thereabouts.
    noise : ndarray of shape (n, 1) or (n, n_targets)
        What the variance of the noise is multiplied with, the same for all targets or not.
    tau : float
        Scale of the prior; a weight far below it costs next to nothing.
    fixed_noise : bool
        Whether the last weight stays as it is.
    """

    def __init__(
        self,
        terms: Terms,
        levels: Sequence[Level],
        z: Array,
        noise: Array,
        tau: float,
        fixed_noise: bool = False,
    ) -> None:
        self.terms, self.levels, self.z, self.noise = terms, list(levels), z, noise
        self.tau, self.fixed_noise = tau, fixed_noise
        self.places = [np.flatnonzero(level.terms) for level in self.levels]
        self.n_weights = sum(map(len, self.places)) + 1

    def with_targets(self, z: Array, noise: Array) -> Self:
        """Return the model of other targets with other noise."""
        return self._changed(z=z, noise=noise)

    def of_logits(self, tau: float) -> Self:
        """Return the model with a prior of another scale, and noise that is given."""
        return self._changed(tau=tau, fixed_noise=True)

    def _changed(self, **changes: Any) -> Self:
        found = copy(self)
        vars(found).update(changes)
        return found

    def take(self, rows: Indices) -> Model:
        """Return the model of some of the rows."""
        levels = [level.take(rows) for level in self.levels]
        z, noise = self.z[rows], self.noise[rows]
        return Model(self.terms.take(rows), levels, z, noise, self.tau, self.fixed_noise)

    def start(self) -> Array:
        """Return weights to start from: half of the variance in equal parts, the rest noise."""
        theta = np.full(self.n_weights, 0.5 / max(self.n_weights - 1, 1))
        theta[-1] = 1.0 if self.fixed_noise else 0.5
        return theta

    def by_level(self, theta: Array) -> Array:
        """Return the weights as a matrix of shape (n_levels, n_terms), 0 for terms not there."""
        found, at = np.zeros((len(self.levels), self.terms.n_terms)), 0
        for level, places in enumerate(self.places):
            found[level, places] = theta[at : at + len(places)]
            at += len(places)
        return found

    def joined(self, values: Array, noise: float) -> Array:
        """Return the weights that a matrix of shape (n_levels, n_terms) holds, and the noise's."""
        own = [row[places] for row, places in zip(values, self.places, strict=True)]
        return np.concatenate([*own, [noise]])

    def covariance(self, theta: Array) -> Array:
        """Return Sigma without the noise, of shape (n, n)."""
        n = len(self.z)
        found = np.full((n, n), INTERCEPT)
        for weights, level in zip(self.by_level(theta), self.levels, strict=True):
            if weights.any():
                self._add(found, weights, level)
        return found

    def _add(self, found: Array, weights: Array, level: Level) -> None:
        """Add the covariance of one level."""
        of_features, of_matrices = self.terms.split(weights)
        used = np.flatnonzero(of_features)
        A = self.terms.features[:, used] * np.sqrt(of_features[used])
        for block in level.blocks:
            at = _square(block)
            own = A[block] @ A[block].T
            for weight, K in zip(of_matrices, self.terms.matrices, strict=True):
                if weight > 0.0:
                    own += weight * K[at]
            found[at] += own

    def factors(self, theta: Array) -> list[Factor]:
        """Return the factor of Sigma, one for each noise there is."""
        S, found = self.covariance(theta), []
        for noise in self.noise.T:
            own = S.copy()
            own.flat[:: len(own) + 1] += theta[-1] * noise
            found.append(Factor(own))
        return found

    def traces(self, factor: Factor, noise: Array) -> Array:
        """Return the trace of Sigma^-1 with what each weight is multiplied with."""
        Z = factor.inverse
        found = np.zeros((len(self.levels), self.terms.n_terms))
        first = len(self.terms.sizes)
        for values, level in zip(found, self.levels, strict=True):
            of_features, of_matrices = self.terms.split(level.terms.astype(np.float64))
            used = np.flatnonzero(of_features)
            A, sums = self.terms.features[:, used], np.zeros(len(used))
            for block in level.blocks:
                at, own = _square(block), A[block]
                sums += np.einsum("ij,ij->j", own, Z[at] @ own)
                for m in np.flatnonzero(of_matrices):
                    values[first + m] += np.vdot(Z[at], self.terms.matrices[m][at])
            values[:first] = np.bincount(self.terms.term_of[used], sums, first)
        return self.joined(found, float(np.diagonal(Z) @ noise))

    def products(self, a: Array, noise: Array) -> Array:
        """Return what each weight is multiplied with times a vector, of shape (n, n_weights)."""
        columns = []
        for level in self.levels:
            found = np.zeros((len(a), self.terms.n_terms))
            for block in level.blocks:
                found[block] = self._products(block, a[block])
            columns.append(found[:, level.terms])
        return np.column_stack([*columns, noise * a])

    def _products(self, block: Block, a: Array) -> Array:
        own, first = self.terms.features[block], len(self.terms.sizes)
        found = np.zeros((len(a), self.terms.n_terms))
        if first:
            starts = np.concatenate([[0], np.cumsum(self.terms.sizes)[:-1]])
            found[:, :first] = np.add.reduceat(own * (own.T @ a), starts, axis=1)
        for m, K in enumerate(self.terms.matrices):
            found[:, first + m] = K[_square(block)] @ a
        return found

    def prior(self, theta: Array) -> tuple[float, Array]:
        """Return what weights cost by the prior, and its slope; noise costs nothing."""
        slope = 1.0 / (self.tau + theta)
        slope[-1] = 0.0
        return float(np.sum(np.log1p(theta[:-1] / self.tau))), slope


def _square(block: Block) -> tuple[Block, Block]:
    """Return the place of a block in a matrix between rows."""
    return (block, block) if isinstance(block, slice) else (block[:, None], block)


class Factor:
    """The Cholesky factor of a covariance.

    Parameters
    ----------
    S : ndarray of shape (n, n)
        Positive definite up to rounding; overwritten.
    """

    def __init__(self, S: Array) -> None:
        size = float(np.trace(S)) / max(len(S), 1)
        for jitter in _JITTERS:
            S.flat[:: len(S) + 1] += jitter * size
            self.L, info = lapack.dpotrf(S, lower=1, clean=1)
            if info == 0:
                return
        raise np.linalg.LinAlgError("the covariance is not positive definite")

    def solve(self, right: Array) -> Array:
        """Return ``S^-1 right``."""
        return np.asarray(lapack.dpotrs(self.L, right, lower=1)[0])

    def times(self, right: Array) -> Array:
        """Return ``S right``."""
        return np.asarray(self.L @ (self.L.T @ right))

    def half(self, right: Array) -> Array:
        """Return ``L^-1 right``."""
        return np.asarray(solve_triangular(self.L, right, lower=True, check_finite=False))

    def quadratic(self, right: Array) -> Array:
        """Return ``right' S^-1 right``."""
        half = self.half(right)
        return np.asarray(half.T @ half)

    def blocks(self, groups: Sequence[Indices]) -> Iterator[Array]:
        """Yield the block of ``S^-1`` of every group of rows."""
        for rows in groups:
            yield self.inverse[rows[:, None], rows]

    @property
    def diagonal(self) -> Array:
        """The diagonal of ``S^-1``."""
        return np.diagonal(self.inverse)

    @cached_property
    def inverse(self) -> Array:
        """``S^-1``, of shape (n, n)."""
        found = np.tril(lapack.dpotri(self.L, lower=1)[0])
        return np.asarray(found + np.tril(found, -1).T)

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of S."""
        return 2.0 * float(np.log(np.diagonal(self.L)).sum())


class Point:
    """Weights with their evidence; what a step needs is computed when one is taken.

    Parameters
    ----------
    model : Model
        Everything but the weights.
    theta : ndarray of shape (n_weights,)
        The weights.

    Attributes
    ----------
    factors : list of Factor
        One, or one for each target.
    a : ndarray of shape (n, n_targets)
        ``Sigma^-1 z``.
    value : float
        J.
    """

    def __init__(self, model: Model, theta: Array) -> None:
        self.model, self.theta = model, theta
        self.factors = model.factors(theta)
        self.a = np.column_stack(
            [factor.solve(z) for factor, z in zip(self.factor_of, model.z.T, strict=True)]
        )
        self.fit = 0.5 * float(np.vdot(model.z, self.a))
        self.half_logs = 0.5 * sum(factor.log_determinant for factor in self.factor_of)
        self.value = self.fit + self.half_logs + model.prior(theta)[0]

    @property
    def factor_of(self) -> list[Factor]:
        """The factor of every target."""
        return self.factors * (self.model.z.shape[1] // len(self.factors))

    @property
    def _noise_of(self) -> Array:
        """The noise of every target, one for each row."""
        return np.broadcast_to(self.model.noise, self.model.z.shape).T

    @property
    def log_evidence(self) -> float:
        """The logarithm of the density of the targets at these weights."""
        constant = 0.5 * self.model.z.size * float(np.log(2.0 * np.pi))
        return -self.fit - self.half_logs - constant

    @cached_property
    def products(self) -> list[Array]:
        """For every target, what each weight is multiplied with times a."""
        pairs = zip(self.a.T, self._noise_of, strict=True)
        return [self.model.products(a, noise) for a, noise in pairs]

    @cached_property
    def q(self) -> Array:
        """Minus the slope of the first part of J."""
        pairs = zip(self.a.T, self.products, strict=True)
        return np.asarray(0.5 * sum(a @ own for a, own in pairs))

    @cached_property
    def prices(self) -> Array:
        """The slope of the other two parts of J."""
        found = self.model.prior(self.theta)[1]
        times = self.model.z.shape[1] // len(self.factors)
        for factor, noise in zip(self.factors, self.model.noise.T, strict=True):
            found += 0.5 * times * self.model.traces(factor, noise)
        if self.model.fixed_noise:
            found[-1] = self.q[-1]
        return found

    @cached_property
    def hessian(self) -> Array:
        """The average of the observed and the expected Hessian of J, without the prior's."""
        found = np.zeros((len(self.theta), len(self.theta)))
        for factor, own in zip(self.factor_of, self.products, strict=True):
            found += 0.5 * factor.quadratic(own)
        return found

    @cached_property
    def gap(self) -> float:
        """The relative duality gap of the problem with tangents, 0 at a stationary point.

        Its dual is to maximise ``z'v - INTERCEPT/2 (1'v)^2 - LEAST_NOISE/2 v'Nv`` over all v for
        which no ``v' V_j v / 2`` exceeds its price; a multiple of a is feasible.
        """
        noise, least = self.theta[-1], LEAST_NOISE
        if self.model.fixed_noise:
            least = noise
        free = slice(None, -1) if self.model.fixed_noise else slice(None)
        bound = self.q[free] > self.prices[free]
        ratio = self.prices[free][bound] / self.q[free][bound]
        s = float(np.sqrt(ratio.min(initial=1.0)))
        # What is given anyway is part of the quadratic term: the intercept and the least noise.
        given = INTERCEPT * float(np.sum(self.a.sum(axis=0) ** 2)) + 2.0 * least * self.q[-1]
        lower = 2.0 * s * self.fit - 0.5 * s * s * given
        value = self.fit + float(self.prices[:-1] @ self.theta[:-1])
        value += float(self.prices[-1]) * (noise - least)
        return float(max(value - lower, 0.0) / max(value, _TINY))

    def posterior(self, target: int = 0) -> tuple[Array, Array]:
        """Return mean and variance of the function at the rows, of shape (n,) each."""
        noise = self.theta[-1] * self._noise_of[target]
        precision = self.factor_of[target].diagonal
        mean = self.model.z[:, target] - noise * self.a[:, target]
        return mean, np.maximum(noise - noise**2 * precision, 0.0)

    def left_out(self, groups: Sequence[Indices], target: int = 0) -> tuple[Array, Array]:
        """Return residuals of rows given all rows that are not in their group, and variances.

        Parameters
        ----------
        groups : sequence of ndarray of int
            Rows that are left out together; NaN is returned for rows in no group.
        target : int
            Which target.
        """
        return left_out(self.factor_of[target], self.a[:, target], groups)


def left_out(factor: Factor, a: Array, groups: Sequence[Indices]) -> tuple[Array, Array]:
    """Return residuals of rows given all rows that are not in their group, and variances.

    Parameters
    ----------
    factor : Factor
        Of the covariance of all rows.
    a : ndarray of shape (n,)
        Dual coefficients, ``Sigma^-1 z``.
    groups : sequence of ndarray of int
        Rows that are left out together; NaN is returned for rows in no group.
    """
    residual, variance = np.full_like(a, np.nan), np.full_like(a, np.nan)
    for rows, precision in zip(groups, factor.blocks(groups), strict=True):
        block = np.linalg.inv(precision)
        residual[rows], variance[rows] = block @ a[rows], np.diagonal(block)
    return residual, variance


class _Steps:
    """Which weights to try next, and how far to trust the second-order model."""

    def __init__(self) -> None:
        self.damping, self.stretch, self.failures, self.slow = _FIRST_DAMPING, 1.0, 0, 0

    @property
    def are_over(self) -> bool:
        """Whether nothing more is gained, or nothing that matters."""
        return self.failures >= _FAILURES or self.slow >= _PATIENCE

    def propose(self, here: Point) -> Array:
        """Return weights that the damped model prefers; after failures, the majoriser's."""
        H, slope = here.hessian, here.prices - here.q
        D = np.diagonal(H)
        if self.failures >= _FAILURES - 1 or D.max() <= 0.0:  # no bend: targets are all equal
            new = here.theta * np.sqrt(here.q / np.maximum(here.prices, _TINY))
        else:
            R = np.linalg.cholesky(H + np.diag(self.damping * D + 1e-10 * D.max())).T
            target = R @ here.theta - solve_triangular(R, slope, trans=1, check_finite=False)
            found = nnls(R, target, maxiter=100 * len(target))[0]
            new = np.maximum(here.theta + self.stretch * (found - here.theta), 0.0)
        new[-1] = here.theta[-1] if here.model.fixed_noise else max(new[-1], LEAST_NOISE)
        return np.asarray(new)

    def judge(self, here: Point, there: Point, tol: float) -> bool:
        """Return whether a step gained something, and draw the lessons of it."""
        gained, least = here.value - there.value, _ROUNDING * abs(here.value)
        # If rounding hides what is gained, the slope still tells.
        if gained <= least and not (gained >= -least and there.gap < here.gap):
            if self.stretch > 1.0:
                self.stretch = 1.0
            else:
                self.damping = 10.0 * max(self.damping, 1e-3)
                self.failures += 1
            return False
        step = there.theta - here.theta
        promised = -float((here.prices - here.q + 0.5 * here.hessian @ step) @ step)
        ratio = gained / max(promised, _TINY)
        factor = 0.1 if ratio > _GOOD else 3.0 if ratio < _POOR else 1.0
        self.damping = max(factor * self.damping, _LEAST_DAMPING)
        # What gains more than promised goes on: the prior bends downwards, the model does not.
        further = ratio > 1.0 and there.gap > _HARDLY * here.gap
        self.stretch = 2.0 * self.stretch if further else 1.0
        self.slow = self.slow + 1 if gained < _SLOW * tol else 0
        self.failures = 0
        return True


def maximise_evidence(
    model: Model, theta: Array, *, tol: float = 1e-3, max_iter: int = 50
) -> tuple[Point, int]:
    """Return a stationary point of the evidence, and how many factors it took.

    Parameters
    ----------
    model : Model
        Terms, levels and targets.
    theta : ndarray of shape (n_weights,)
        Where to start. A weight of 0 may become positive.
    tol : float
        Relative gap to reach; steps that gain less than ten times as much end it, too.
    max_iter : int
        Largest number of covariances to factorise.
    """
    here, steps, count = Point(model, theta), _Steps(), 1
    while here.gap > tol and count < max_iter and not steps.are_over:
        there = Point(model, steps.propose(here))
        count += 1
        if steps.judge(here, there, tol):
            here = there
    return here, count


def start_from_some(model: Model, rows: Indices, tol: float) -> Array:
    """Return the weights of some of the rows, to start all of them from.

    Parameters
    ----------
    model : Model
        Of all rows.
    rows : ndarray of int
        Some of them, ascending.
    tol : float
        Relative gap to reach for these.
    """
    theta = maximise_evidence(model.take(rows), model.start(), tol=tol)[0].theta
    return np.maximum(theta, _REVIVED)
