"""What is solved, what a solver returns, and which other problems a solution serves or starts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kernelhood._typing import Array, Flags
from kernelhood.losses import BoxLoss, RidgeLoss, SampleLoss
from kernelhood.operators import KernelOperator
from kernelhood.parallel import map_in_threads
from kernelhood.penalties import DualPoint, Fixed, Penalty
from kernelhood.solvers.block import Block, BlockPoint, block_of

_GAP_ROUNDING = 1e-10
#: Gaps below this are at the mercy of rounding: they are asked for, but no promise.
FINEST_GAP = 1e-11


class Solution(NamedTuple):
    """The outcome of one problem.

    Attributes
    ----------
    weights : ndarray of shape (n_weights,)
        Kernel weights; kernels that do not take part have exactly 0.
    v : ndarray of shape (n_samples,)
        Signed dual vector, one block after the other.
    intercepts : ndarray of shape (n_groups,)
        Intercepts of the decision functions.
    objective : float
        Value of the primal problem.
    svm_value, gain : float
        The SVMs' part of the objective, and the linear part of their dual.
    q : ndarray of shape (n_weights,)
        ``1/2 v'K^m v``.
    n_iter : int
        SVMs that were solved.
    trace : ndarray of shape (n_iter, 2)
        Objective and relative duality gap after each of them.
    bend : float
        The part of the gain that grows with the square of v; 0 if losses have a box.
    """

    weights: Array
    v: Array
    intercepts: Array
    objective: float
    svm_value: float
    gain: float
    q: Array
    n_iter: int
    trace: Array
    bend: float = 0.0

    @property
    def gap(self) -> float:
        """The relative duality gap that was reached."""
        return float(self.trace[-1, 1])

    @property
    def dual(self) -> DualPoint:
        """Gain and q of the dual vector."""
        return DualPoint(self.gain, self.q, self.bend)

    @property
    def svm_gap(self) -> float:
        """The relative duality gap of the SVMs alone, whatever their weights cost."""
        return svm_gap(self.svm_value, self.dual, self.weights)


def svm_gap(svm_value: float, dual: DualPoint, weights: Array, floor: float = 0.0) -> float:
    """Return the relative duality gap of SVMs at given weights.

    Parameters
    ----------
    svm_value : float
        Their primal value.
    dual : DualPoint
        Of their dual vectors.
    weights : ndarray of shape (n_weights,)
        In the units of the dual point.
    floor : float
        What counts as the value if that is less.
    """
    missing = svm_value - dual.gain + float(dual.q @ weights)
    return relative_gap(missing, svm_value, max(svm_value, floor))


def relative_gap(gap: float, objective: float, svm_value: float) -> float:
    """Return a gap relative to the objective, or to the SVMs' part if that is more.

    Rounding may leave a gap below zero by a trace of its size, which is none. If it is below by
    more, rounding hides where the optimum is, and its distance from zero is what is known.
    """
    size = max(abs(objective), svm_value, 1e-300)
    return 0.0 if -_GAP_ROUNDING * size <= gap < 0.0 else abs(gap) / size


def recertified(solution: Solution, penalty: Penalty, tol: float) -> Solution | None:
    """Return the solution with its certificate for another penalty, or None if it has none.

    The same weights and dual vector often solve the neighbours on a path as well; to see it takes
    no SVM.

    Parameters
    ----------
    solution : Solution
        Of the same SVMs with some penalty.
    penalty : Penalty
        The other penalty.
    tol : float
        Relative duality gap to accept.
    """
    if not penalty.contains(solution.weights):
        return None
    objective = solution.svm_value + penalty.value(solution.weights)
    missing = penalty.gap(solution.weights, solution.svm_value, solution.dual)
    gap = relative_gap(missing, objective, solution.svm_value)
    if not penalty.convex:
        gap = max(gap, solution.svm_gap)
    if gap > tol:
        return None
    return solution._replace(objective=objective, n_iter=0, trace=np.array([[objective, gap]]))


def solved_ahead(
    solution: Solution, penalty_of: Callable[[int], Penalty], count: int, tol: float
) -> int:
    """Return how many of the next penalties on a line the solution solves, without any SVM.

    Along a line of convex penalties the duality gap of fixed weights and a fixed dual vector is
    convex, and the value it is measured against is linear: what the solution solves follows each
    other, and only the ends are looked at.

    Parameters
    ----------
    solution : Solution
        Of the same SVMs.
    penalty_of : callable
        Returns a penalty by its number, 0 for the next one.
    count : int
        How many there are.
    tol : float
        Relative duality gap to accept.
    """

    def missed(number: int) -> bool:
        return recertified(solution, penalty_of(number), tol) is None

    if count == 0 or missed(0):
        return 0
    if not missed(count - 1):
        return count
    return bisect_left(range(count), True, key=missed)


# One or more SVMs whose kernels have weights in common, and what these weights cost.
#
#     min over weights of   sum_b S_b(weights) + penalty(weights)
#
# Inside, weights are in units in which every kernel has a diagonal of one on average, and kernels
# that are zero at all samples are left out.


#: What is this small beside targets that are all missed by their size is nothing.
_ROUNDING = 1e-12
_LARGE = 3000


class State(NamedTuple):
    """Weights with an SVM for every block.

    Attributes
    ----------
    x : ndarray of shape (n_kept,)
        The weights in the problem's units.
    points : list of BlockPoint
        The SVMs.
    objective, svm_value : float
        The primal value, and the SVMs' part of it.
    dual : DualPoint
        Gain and q of the dual vectors, in the problem's units.
    """

    x: Array
    points: list[BlockPoint]
    objective: float
    svm_value: float
    dual: DualPoint

    @property
    def scale(self) -> float:
        """What accuracy is measured against: the objective, or the SVMs' part if it is more.

        A reward lowers the objective, below zero if it is large, and does not count.
        """
        return max(self.objective, self.svm_value, 1e-300)

    @property
    def dual_value(self) -> float:
        """The dual value of the SVMs at the weights."""
        return self.dual.gain - float(self.dual.q @ self.x)


class Problem:
    """The SVMs and the penalty.

    Parameters
    ----------
    blocks : sequence of Block
        The SVMs.
    penalty : Penalty
        Price and set of all weights, in the user's units.
    n_jobs : int, optional
        Threads over blocks.
    """

    def __init__(
        self, blocks: Sequence[Block], penalty: Penalty, n_jobs: int | None = None
    ) -> None:
        self.blocks, self.n_jobs = list(blocks), n_jobs
        self.user_penalty = penalty
        size = max(block.units.weight for block in self.blocks)
        self.kept, self.unit = penalty.units(self._mean_diagonals(), size)
        self.whole = bool(self.kept.all())
        self.penalty = penalty.restricted(self.kept, self.unit)
        self.floor = _ROUNDING * sum(block.n_samples * block.units.value for block in blocks)

    def _mean_diagonals(self) -> Array:
        """Return the mean diagonal of each weight's kernel over the samples it joins."""
        if len(self.blocks) == 1 and self.blocks[0].parts is None:
            traces, counts = self.blocks[0].operator.traces
            return traces / np.maximum(counts, 1.0)
        total = [
            self._spread(block, values)
            for block in self.blocks
            for values in (np.stack(block.operator.traces, axis=1),)
        ]
        traces, counts = np.sum(total, axis=0).T
        return np.asarray(traces / np.maximum(counts, 1.0))

    @property
    def n_weights(self) -> int:
        """The number of all weights."""
        parts = [part for block in self.blocks for part in block.parts or ()]
        if parts:
            return 1 + max(int(part.max()) for part in parts)
        return self.blocks[0].operator.n_weights

    def _spread(self, block: Block, values: Array) -> Array:
        """Return values of a block's weights, summed up at the weights they come from."""
        if block.parts is None:
            return values
        total = np.zeros((self.n_weights, *values.shape[1:]))
        for part in block.parts:
            total[part] += values
        return total

    @cached_property
    def is_large(self) -> bool:
        """Whether an SVM costs much more than a better bound."""
        return max(block.n_samples for block in self.blocks) >= _LARGE

    @cached_property
    def separate(self) -> bool:
        """Whether there are kernels of single tasks: no other kernel can do their work."""
        return any(block.operator.separate for block in self.blocks)

    def start(self) -> Array:
        """Return the penalty's own start; if tasks share kernels, with these alone.

        Kernels of single tasks are many, and most of them are not needed.
        """
        x, operator = self.penalty.start(), self.blocks[0].operator
        shared = np.zeros(len(self.kept), dtype=np.bool_)
        if operator.separate:
            shared[: operator.n_kernels * len(operator.matrices)] = True
        shared = shared[self.kept]
        return self.penalty.nearest(np.where(shared, x, 0.0)) if shared.any() else x

    def weights(self, x: Array) -> Array:
        """Return weights in the user's units."""
        if self.whole:
            return x * self.unit
        weights = np.zeros(len(self.kept))
        weights[self.kept] = x * self.unit
        return weights

    def x_of(self, weights: Array) -> Array:
        """Return weights in the problem's units, moved into the penalty's set."""
        x = weights[self.kept] / self.unit
        return x if self.penalty.contains(x) else self.penalty.nearest(x)

    def _own(self, block: Block, weights: Array) -> Array:
        """Return the weights of a block."""
        if block.parts is None:
            return weights
        return np.sum([weights[part] for part in block.parts], axis=0)

    def _state(self, x: Array, points: list[BlockPoint]) -> State:
        if len(points) == 1 and self.blocks[0].parts is None:
            value, gain, q = points[0].value, points[0].gain, points[0].q
            bend = points[0].bend
        else:
            value, gain = sum(one.value for one in points), sum(one.gain for one in points)
            bend = sum(one.bend for one in points)
            q = np.sum(
                [
                    self._spread(*pair)
                    for pair in zip(self.blocks, (p.q for p in points), strict=True)
                ],
                axis=0,
            )
        q = q * self.unit if self.whole else q[self.kept] * self.unit
        return State(x, points, value + self.penalty.value(x), value, DualPoint(gain, q, bend))

    def _each(self, work: Callable[[int, Array], BlockPoint], x: Array) -> State:
        weights = self.weights(x)
        if len(self.blocks) == 1:
            return self._state(x, [work(0, self._own(self.blocks[0], weights))])
        jobs = [(b, self._own(block, weights)) for b, block in enumerate(self.blocks)]
        return self._state(x, map_in_threads(lambda job: work(*job), jobs, self.n_jobs))

    def at(self, x: Array, v: Array | None = None) -> State:
        """Return what a dual vector says of the weights, without solving; v = 0 by default."""
        vs = [None] * len(self.blocks) if v is None else self.by_block(v)
        return self._each(lambda b, own: self.blocks[b].at(own, vs[b]), x)

    def by_block(self, v: Array) -> list[Array]:
        """Return the parts of a vector over all samples that belong to each block."""
        if len(self.blocks) == 1:
            return [v]
        return np.split(v, np.cumsum([block.n_samples for block in self.blocks])[:-1])

    def solve(
        self,
        x: Array,
        start: State,
        gap: float,
        ridge: float,
        *,
        shrink: float = 1.0,
        exact: bool = False,
    ) -> State:
        """Solve all SVMs at the weights.

        Parameters
        ----------
        x : ndarray of shape (n_kept,)
            The weights.
        start : State
            Where to start from.
        gap, ridge : float
            Duality gap to reach, and what a ridge on the diagonal may cost; both as a share of the
            start's scale.
        shrink : float
            What to multiply the dual vectors with.
        exact : bool
            Whether to go for interior points at once.
        """
        share = start.scale / max(start.svm_value, 1e-300)

        def work(b: int, own: Array) -> BlockPoint:
            block, before = self.blocks[b], start.points[b]
            size = before.value * share
            if size <= 0.0:  # the start solves its SVM, whose value is 0, for all weights
                size = block.units.value * 1e-12
            length = float(before.v @ before.v)
            added = ridge * min(1.0, size / (block.units.value * max(length, 1e-300)))
            return block.solve(own, before, shrink, gap * size, added, exact)

        return self._each(work, x)

    @property
    def predicts(self) -> bool:
        """Whether the SVMs of the next weights can be predicted."""
        return all(block.predicts for block in self.blocks)

    def predicted(self, here: State, x: Array) -> State | None:
        """Return what the Hessians at some weights make expect at others, with its true values.

        None if it is not known, or no better than the dual vectors as they are.
        """
        weights, points, missing = self.weights(x), [], 0.0
        for block, point in zip(self.blocks, here.points, strict=True):
            own = self._own(block, weights)
            new = block.predicted(own, point)
            if new is None:
                return None
            old = block.point(own, point.v, point.products, point.ridge)
            missing += new.missing(own) - old.missing(own)
            points.append(new)
        return self._state(x, points) if missing < 0.0 else None

    def hessian(self, here: State, kept: Flags | None = None) -> Array:
        """Return the Hessian of the SVMs' values, for all weights or those that are kept."""
        weights = self.weights(here.x)
        wanted = self._wanted(kept)
        total: Array | None = None
        for block, point in zip(self.blocks, here.points, strict=True):
            own = self._own(block, weights)
            if block.parts is None:
                found = block.hessian(own, point, wanted)
                total = found if total is None else total + found
            else:
                total = self._added(total, block, block.hessian(own, point, None))
        assert total is not None
        unit = self.unit if kept is None else self.unit[kept]
        return np.asarray(total * unit[:, None] * unit)

    def _wanted(self, kept: Flags | None) -> Flags | None:
        """Return which of all weights are wanted, None for all of them."""
        if kept is None:
            return None if self.whole else self.kept
        wanted = self.kept.copy()
        wanted[self.kept] = kept
        return wanted

    def _added(self, total: Array | None, block: Block, H: Array) -> Array:
        if total is None:
            total = np.zeros((self.n_weights, self.n_weights))
        for rows in block.parts or ():
            for columns in block.parts or ():
                total[np.ix_(rows, columns)] += H
        return total

    def small_unit(self, here: State) -> float:
        """Return a weight that matters if all weights are small.

        With it the function of some kernel is as large as the targets.
        """
        sizes = [
            block.units.target / (block.units.box * max(float(np.abs(one.products).max()), 1e-300))
            for block, one in zip(self.blocks, here.points, strict=True)
        ]
        return min(max(sizes) / float(self.unit.min()), 1e100)


def as_solution(problem: Problem, state: State, trace: Array) -> Solution:
    """Return a state in the user's units."""
    q = np.zeros(len(problem.kept))
    q[problem.kept] = state.dual.q / problem.unit
    pairs = list(zip(problem.blocks, state.points, strict=True))
    return Solution(
        problem.weights(state.x),
        np.concatenate([one.v * block.units.box for block, one in pairs]),
        np.concatenate([one.intercepts for one in state.points]),
        float(trace[-1, 0]),
        state.svm_value,
        state.dual.gain,
        q,
        len(trace),
        trace,
        state.dual.bend,
    )


def start_at(problem: Problem, weights: Array, v: Array | None = None) -> Solution:
    """Return any weights and dual vector as a solution to start from, with its true values.

    Parameters
    ----------
    problem : Problem
        The SVMs and the penalty.
    weights : ndarray of shape (n_weights,)
        Not negative.
    v : ndarray of shape (n_samples,), optional
        Feasible dual vector, 0 by default.
    """
    state = problem.at(problem.x_of(weights), v)
    return as_solution(problem, state, np.array([[state.objective, np.inf]]))


# A solution carried to another box: the same samples and kernels with another C.
#
# Along a path in C, support vectors at their bounds mostly stay at them and free ones hardly move.

_SAME_SIDES = 1e-9


def carried_start(
    operator: KernelOperator, loss: SampleLoss, solution: Solution, before: SampleLoss
) -> Solution | None:
    """Return a solution as the start for another box, with its true values there.

    Parameters
    ----------
    operator : KernelOperator
        Base kernels; those beyond the solution's weights get weight 0.
    loss : BoxLoss or RidgeLoss
        The loss to start.
    solution : Solution
        Of the same samples with another loss.
    before : BoxLoss or RidgeLoss
        That loss.

    Returns
    -------
    Solution or None
        None if one box is not a multiple of the other.
    """
    v = _carried(solution.v, loss, before)
    if v is None:
        return None
    weights = np.zeros(operator.n_weights)
    weights[: len(solution.weights)] = solution.weights
    return valued([block_of(operator, loss)], weights, v)


def _carried(v: Array, loss: SampleLoss, before: SampleLoss) -> Array | None:
    """Return a dual vector that is feasible for another loss, or None if it would say little."""
    if isinstance(loss, RidgeLoss) or isinstance(before, RidgeLoss):
        return loss.feasible(v) if type(loss) is type(before) else None
    ratio = _box_ratio(loss, before)
    return None if ratio is None else np.clip(stretched(v, before, ratio), loss.lower, loss.upper)


def valued(blocks: Sequence[Block], weights: Array, v: Array | None = None) -> Solution:
    """Return any weights and dual vector with their true values, as a solution to start from.

    Parameters
    ----------
    blocks : sequence of Block
        The SVMs.
    weights : ndarray of shape (n_weights,)
        Not negative.
    v : ndarray of shape (n_samples,), optional
        Feasible dual vector, 0 by default.
    """
    return start_at(Problem(blocks, Fixed(weights)), weights, v)


def cut_down(v: Array, blocks: Sequence[Block]) -> Array:
    """Return a vector cut down until it is feasible.

    Entries end at their bounds. In each group, the larger of what is positive and what is negative
    is scaled down to the other.

    Parameters
    ----------
    v : ndarray of shape (n_samples,)
        Over the samples of all blocks.
    blocks : sequence of Block
        The SVMs.
    """
    ends = np.cumsum([block.n_samples for block in blocks])[:-1]
    return np.concatenate(
        [
            _balanced(np.clip(part, box * block.loss.lower, box * block.loss.upper), block.loss)
            for part, block in zip(np.split(v, ends), blocks, strict=True)
            for box in (block.units.box,)
        ]
    )


def _balanced(v: Array, loss: BoxLoss) -> Array:
    """Return a vector of sum zero in each group, no entry of which has grown."""
    starts, sizes = loss.group_starts[:-1], np.diff(loss.group_starts)
    sides = [np.add.reduceat(np.maximum(one, 0.0), starts) for one in (v, -v)]
    least = np.minimum(*sides)
    up, down = (np.repeat(least / np.where(side > 0.0, side, 1.0), sizes) for side in sides)
    return np.where(v > 0.0, up, down) * v


def stretched(v: Array, before: BoxLoss, ratio: float) -> Array:
    """Return a dual vector that is feasible in a box `ratio` times as wide.

    Entries at a bound go to the new one. Free entries stay where they can, but for those that
    have to make up for the sum.

    Parameters
    ----------
    v : ndarray of shape (n_samples,)
        Feasible, of sum zero.
    before : BoxLoss
        The box it is in.
    ratio : float
        Positive.
    """
    if ratio < 1.0:
        return _shrunk(v, before, ratio)
    nearly = 1.0 - _SAME_SIDES
    bounded = (v <= nearly * before.lower) | (v >= nearly * before.upper)
    rest = float(np.sum(v[~bounded]))
    moved = ~bounded & (v * rest > 0.0)
    total = float(np.sum(v[moved]))
    found = np.where(bounded, ratio * v, v)
    # The entries of the rest's own sign sum to at least the rest: the factor is at most `ratio`.
    found[moved] *= 1.0 + (ratio - 1.0) * rest / total if total != 0.0 else 1.0
    return found


def _shrunk(v: Array, before: BoxLoss, ratio: float) -> Array:
    """Return a dual vector that is feasible in a narrower box."""
    found = np.clip(v, ratio * before.lower, ratio * before.upper)
    rest = float(np.sum(found))
    surplus = found * rest > 0.0
    free = surplus & (found == v)
    if abs(float(np.sum(found[free]))) >= abs(rest):
        surplus = free
    total = float(np.sum(found[surplus]))
    found[surplus] *= 1.0 - rest / total if total != 0.0 else 1.0
    return found


def closest_start(starts: Sequence[Solution], penalty: Penalty) -> Solution | None:
    """Return the start with the smallest duality gap; None if none keeps the budget.

    Parameters
    ----------
    starts : sequence of Solution
        With their true values for the SVM at hand.
    penalty : Penalty
        The price of the weights.
    """
    kept = [one for one in starts if penalty.contains(one.weights)]
    return min(
        kept, key=lambda one: penalty.gap(one.weights, one.svm_value, one.dual), default=None
    )


def _box_ratio(loss: BoxLoss, before: BoxLoss) -> float | None:
    """Return by which factor the box has grown, or None if it changed its shape."""
    ratio = float((loss.upper - loss.lower).sum() / (before.upper - before.lower).sum())
    sides = ((loss.upper, ratio * before.upper), (loss.lower, ratio * before.lower))
    same = all((np.abs(new - old) <= _SAME_SIDES * np.abs(old)).all() for new, old in sides)
    return ratio if same else None
