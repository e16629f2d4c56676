"""Weights on the boundary of what a radius allows, between some inside and some outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array
from kernelhood.penalties import Distance
from kernelhood.solvers.block import Block

_SMALLEST = 1e-300


class Ball(NamedTuple):
    """One task: its SVMs, and the distance of its kernel from a given matrix.

    Attributes
    ----------
    blocks : list of Block
        The SVMs.
    G : ndarray of shape (n_kernels, n_kernels)
        Frobenius products of the kernels.
    centre, slack : ndarray of shape (n_kernels,)
        The weights nearest to the matrix, and their slack; see `penalties.distance`.
    """

    blocks: list[Block]
    G: Array
    centre: Array
    slack: Array

    def penalty(self, eta: float) -> Distance:
        """Return ``(eta/2) |K - Khat|^2`` beyond its smallest value."""
        return Distance(eta, self.G, self.centre, self.slack)

    def distance(self, weights: Array) -> float:
        """Return ``|K - Khat|^2`` beyond its smallest value."""
        return 2.0 * self.penalty(1.0).value(weights)


class Boundary:
    """The weights nearest to the boundary on either side, at first the nearest to the matrices.

    Parameters
    ----------
    balls : sequence of Ball
        The tasks.
    room : float
        The largest sum of squared distances beyond their smallest values.
    """

    def __init__(self, balls: Sequence[Ball], room: float) -> None:
        self.balls, self.room = balls, room
        self.inside = [one.centre for one in balls], 0.0
        self.outside: tuple[list[Array], float] | None = None

    @property
    def is_open_outside(self) -> bool:
        """Whether the weights outside are farther from the boundary than those inside."""
        if self.outside is None:
            return True
        return self.outside[1] - self.room > self.room - self.inside[1]

    def distance(self, weights: Sequence[Array]) -> float:
        """Return the sum of the tasks' squared distances beyond their smallest values."""
        pairs = zip(self.balls, weights, strict=True)
        return sum(ball.distance(own) for ball, own in pairs)

    def place(self, weights: list[Array]) -> float:
        """Keep weights that are nearest to the boundary on either side; return their distance."""
        distance = self.distance(weights)
        if distance <= self.room:
            if distance >= self.inside[1]:
                self.inside = weights, distance
        elif self.outside is None or distance <= self.outside[1]:
            self.outside = weights, distance
        return distance

    def allowed(self) -> list[Array]:
        """Return the last weights on the line from inside to outside that are allowed.

        On it the distance is ``begin + t slope + t^2 bend``.
        """
        if self.outside is None:
            return self.inside[0]
        (near, begin), (far, end) = self.inside, self.outside
        moves = [one - other for one, other in zip(far, near, strict=True)]
        bend = sum(
            float(move @ (ball.G @ move)) for ball, move in zip(self.balls, moves, strict=True)
        )
        slope, left = end - begin - bend, self.room - begin
        reach = slope + np.sqrt(max(slope**2 + 4.0 * bend * left, 0.0))
        t = min(2.0 * left / max(reach, _SMALLEST), 1.0)
        return [one + t * move for one, move in zip(near, moves, strict=True)]
