"""One SVM as a function of its weights."""

import numpy as np
import pytest

from kernelhood.losses import dual_gain
from kernelhood.operators import one_task
from kernelhood.solvers.block import Block
from tests.operators.examples import kernels_of, written_out
from tests.primal import best_intercepts, total_loss
from tests.solvers.problems import LOSSES, block_of, feasible, loss_of, points, stack

each_loss = pytest.mark.parametrize("kind", LOSSES)


def example(kind, C, n=40):
    X, sign = points(n)
    return stack(X), loss_of(kind, X, sign, C)


@each_loss
def test_gradient_and_hessian_are_derivatives_of_the_value(kind):
    Ks, loss = example(kind, 3.0)
    block, theta = block_of(Ks, loss), np.full(10, 0.1)

    def solved(weights):
        return block.solve(weights, block.at(weights), 1.0, 1e-13, 0.0)

    here, direction, h = solved(theta), np.linspace(1.0, 2.0, 10), 1e-6
    bends = block.hessian(theta, here, None)
    ahead, behind = solved(theta + h * direction), solved(theta - h * direction)
    slope = (ahead.value - behind.value) / (2.0 * h)
    assert slope == pytest.approx(-here.q @ direction, rel=1e-5)
    bend = -(ahead.q - behind.q) / (2.0 * h)
    np.testing.assert_allclose(bends @ direction, bend, rtol=1e-3)
    np.testing.assert_allclose(block.hessian(theta, here, None), bends, rtol=1e-6)


@each_loss
@pytest.mark.parametrize("C", [1e-3, 1e3])
def test_values_are_those_of_the_user_whatever_the_units(kind, C):
    Ks, loss = example(kind, C)
    large = loss._replace(target=7.0 * loss.target + 100.0, epsilon=7.0 * loss.epsilon)
    for own in (loss, large):
        block, weights = block_of(Ks, own), np.linspace(0.0, 1.0, 10)
        found = block.solve(weights, block.at(weights), 1.0, 1e-6 * C, 0.0)
        v = found.v * block.units.box
        assert feasible(v, own)
        Kv = np.tensordot(weights, Ks, axes=1) @ v
        intercepts = best_intercepts(Kv, own)
        np.testing.assert_allclose(found.intercepts, intercepts, rtol=1e-6, atol=1e-6)
        value = 0.5 * v @ Kv + total_loss(Kv, intercepts, own)
        assert found.value == pytest.approx(value, rel=1e-9)
        assert found.gain == pytest.approx(dual_gain(v, own), rel=1e-9)
        np.testing.assert_allclose(found.q, 0.5 * np.einsum("i,mij,j->m", v, Ks, v), rtol=1e-9)
        assert found.value - found.gain + found.q @ weights <= 2e-6 * C


@each_loss
def test_a_start_that_is_shrunk_is_still_feasible_and_leads_to_the_same_place(kind):
    Ks, loss = example(kind, 1.0)
    block, weights = block_of(Ks, loss), np.full(10, 0.2)
    first = block.solve(weights, block.at(weights), 1.0, 1e-9, 0.0)
    other = block.solve(4.0 * weights, first, 0.25, 1e-9, 0.0)
    cold = block.solve(4.0 * weights, block.at(weights), 1.0, 1e-9, 0.0)
    assert other.value == pytest.approx(cold.value, rel=1e-7)
    assert first.value > other.value


@each_loss
def test_a_ridge_is_no_part_of_the_value(kind):
    Ks, loss = example(kind, 1.0)
    block, weights = block_of(Ks, loss), np.full(10, 0.2)
    exact = block.solve(weights, block.at(weights), 1.0, 1e-10, 0.0)
    ridged = block.solve(weights, block.at(weights), 1.0, 1e-10, 1e-3)
    assert exact.value <= ridged.value * (1.0 + 1e-9)
    assert ridged.value == pytest.approx(exact.value, rel=1e-2)
    bound = ridged.gain - float(ridged.q @ weights)
    assert bound <= exact.value * (1.0 + 1e-9)


@each_loss
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e8])
def test_a_constant_beside_the_kernel_changes_nothing(kind, offset):
    """Dual vectors sum to zero: a kernel plus a constant has the same SVM."""
    Ks, loss = example(kind, 1.0)
    weights = np.linspace(0.1, 1.0, 10)
    plain = block_of(Ks, loss)
    expected = plain.solve(weights, plain.at(weights), 1.0, 1e-6, 0.0)
    moved = block_of(Ks + offset, loss)
    found = moved.solve(weights, moved.at(weights), 1.0, 1e-6, 0.0)
    assert found.value == pytest.approx(expected.value, rel=1e-5)
    v = found.v * moved.units.box
    np.testing.assert_allclose(
        np.tensordot(weights, Ks, axes=1) @ v + found.intercepts + offset * weights.sum() * v.sum(),
        np.tensordot(weights, Ks, axes=1) @ (expected.v * plain.units.box) + expected.intercepts,
        atol=1e-2,
    )


def test_parts_are_summed_over_by_the_problem_alone():
    Ks, loss = example("hinge", 1.0)
    block = Block(one_task(Ks), loss, (np.arange(10), 10 + np.arange(10)))
    assert len(block.at(np.ones(10)).q) == 10


def test_under_a_relation_it_is_the_svm_of_the_matrices_written_out():
    kernels, sign = kernels_of("all tasks", "all kinds")
    loss = loss_of("hinge", points(kernels.n_samples)[0], sign, 1.0)
    loss = loss._replace(group_starts=kernels.cells.starts)
    weights = np.linspace(0.1, 1.0, kernels.n_weights)
    values = []
    for block in (Block(kernels, loss), block_of(written_out(kernels), loss)):
        values.append(block.solve(weights, block.at(weights), 1.0, 1e-10, 0.0).value)
    assert values[0] == pytest.approx(values[1], rel=1e-8)


@each_loss
def test_products_of_one_vector_are_not_those_of_another(kind):
    Ks, loss = example(kind, 3.0)
    block, rng = block_of(Ks, loss), np.random.default_rng(0)
    for _ in range(2):
        v = loss.feasible(rng.normal(size=40))
        for _ in range(2):
            q = 0.5 * np.einsum("mij,i,j->m", Ks, v, v)
            np.testing.assert_allclose(block.at(np.ones(10), v).q, q, rtol=1e-9)
