"""SVMs of low rank that the Hessian makes expect, in the place of some that would be solved."""

import numpy as np
import pytest

from kernelhood.operators import DenseKernels
from kernelhood.penalties import Linear, Simplex
from kernelhood.solvers import hessian
from kernelhood.solvers.block import Block, LowRankBlock
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from tests.operators.examples import KINDS, kernels_of
from tests.operators.test_low_rank import grouped, low_rank_of, written_out
from tests.solvers.problems import LOSSES, loss_of, points


@pytest.fixture(autouse=True)
def _many(monkeypatch):
    """Few free support vectors count as many."""
    monkeypatch.setattr(hessian, "_WRITTEN_OUT", 0)


def posed(kind, loss_kind, intercept="common", most=1000):
    kernels = low_rank_of(kernels_of("all tasks", kind)[0], most)
    X, sign = points(kernels.n_samples)
    return kernels, grouped(loss_of(loss_kind, X, sign, 1.0), kernels, intercept)


@pytest.mark.parametrize(("intercept", "loss_kind"), [("common", LOSSES[0]), ("task", LOSSES[1])])
@pytest.mark.parametrize("kind", KINDS)
def test_near_the_weights_the_solution_is_the_predicted_one(kind, loss_kind, intercept):
    kernels, loss = posed(kind, loss_kind, intercept)
    block, rng = LowRankBlock(kernels, loss), np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.5, kernels.n_weights)
    held = Block(written_out(kernels), loss)  # its solver ends at the bounds, not near them

    def solved(at):
        return block.at(at, block.units.box * held.solve(at, held.at(at), 1.0, 1e-12, 0.0).v)

    here = solved(weights)
    assert block.predicted(weights, here) is None
    block.hessian(weights, here, None)
    other = weights * (1.0 + 1e-4 * rng.normal(size=len(weights)))
    found = block.predicted(other, here)
    expected = solved(other)
    change = np.linalg.norm(expected.v - here.v)
    assert np.linalg.norm(found.v - expected.v) <= 0.05 * change + 1e-7
    stayed = block.point(other, here.v, here.products, 0.0)
    assert found.missing(other) <= 0.1 * stayed.missing(other) + 1e-9


@pytest.mark.parametrize("loss_kind", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_feasible_and_have_their_true_values(kind, loss_kind):
    """Also those that lead far, to where other support vectors are free, and on from there."""
    kernels, loss = posed(kind, loss_kind)
    block, rng = LowRankBlock(kernels, loss), np.random.default_rng(1)
    weights = rng.uniform(0.5, 1.5, kernels.n_weights)
    here = block.solve(weights, block.at(weights), 1.0, 1e-9, 0.0)
    block.hessian(weights, here, None)
    for _ in range(2):
        weights = rng.uniform(0.0, 3.0, kernels.n_weights)
        here = block.predicted(weights, here)
        assert np.all(here.v >= block.loss.lower - 1e-12)
        assert np.all(here.v <= block.loss.upper + 1e-12)
        assert abs(here.v.sum()) <= 1e-9
        anew = LowRankBlock(kernels, loss).at(weights, here.v * block.units.box)
        for name in ("value", "gain", "q", "products"):
            np.testing.assert_allclose(getattr(here, name), getattr(anew, name), rtol=1e-7)
    assert block.predicted(weights, anew) is None


def test_only_some_weights_may_have_moved():
    kernels, loss = posed("all kinds", "hinge")
    block = LowRankBlock(kernels, loss)
    weights = np.ones(kernels.n_weights)
    here = block.solve(weights, block.at(weights), 1.0, 1e-9, 0.0)
    kept = np.arange(len(weights)) % 3 > 0
    other = np.where(kept, 1.001, 1.0)
    found = []
    for wanted in (None, kept):
        block.hessian(weights, here, wanted)
        found.append(block.predicted(other, here).v)
    np.testing.assert_allclose(*found, atol=1e-9)


def test_kernels_in_memory_predict_nothing():
    held, _ = kernels_of("all tasks", next(iter(KINDS)))
    X, sign = points(held.n_samples)
    block = Block(held, grouped(loss_of("hinge", X, sign, 1.0), held, "common"))
    problem = Problem([block], Linear(np.ones(held.n_weights)))
    assert isinstance(held, DenseKernels)
    assert not problem.predicts
    assert problem.predicted(problem.at(problem.start()), problem.start()) is None


@pytest.mark.parametrize(("penalty", "loss_kind"), [("price", LOSSES[0]), ("budget", LOSSES[1])])
@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_that_predictions_close_is_a_true_one(penalty, kind, loss_kind, monkeypatch):
    """The optimum is that of the kernels written out, solved to more digits."""
    kernels, loss = posed(kind, loss_kind, most=8)
    held = written_out(kernels)
    price = 0.02 * np.maximum(kernels.traces[0], 1e-3)
    chosen = Linear(price) if penalty == "price" else Simplex(price, 1.0)
    optimum = solve(Problem([Block(held, loss)], chosen), tol=1e-9)
    svms, solve_svm = [], LowRankBlock.solve

    def counted(self, *arguments, **settings):
        svms.append(1)
        return solve_svm(self, *arguments, **settings)

    monkeypatch.setattr(LowRankBlock, "solve", counted)
    for tol in (1e-2, 1e-3, 1e-5):
        svms.clear()
        found = solve(Problem([LowRankBlock(kernels, loss)], chosen), tol=tol)
        assert found.gap <= tol
        assert len(svms) <= found.n_iter
        missed = found.objective - optimum.objective
        assert -1e-8 * optimum.objective <= missed <= tol * found.objective


def test_predictions_save_svms(monkeypatch):
    def svms_of(predicts):
        count, solve_svm = [], LowRankBlock.solve

        def counted(self, *arguments, **settings):
            count.append(1)
            return solve_svm(self, *arguments, **settings)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LowRankBlock, "solve", counted)
            if not predicts:
                patch.setattr(LowRankBlock, "predicted", Block.predicted)
            for kind in KINDS:
                for loss_kind in LOSSES:
                    kernels, loss = posed(kind, loss_kind, most=8)
                    price = Linear(0.02 * np.maximum(kernels.traces[0], 1e-3))
                    found = solve(Problem([LowRankBlock(kernels, loss)], price), tol=1e-4)
                    assert found.gap <= 1e-4
        return len(count)

    assert svms_of(True) < 0.9 * svms_of(False)
