"""What holds for every penalty."""

import numpy as np
import pytest

from kernelhood.penalties import (
    Concave,
    DualPoint,
    Fixed,
    Linear,
    LpBall,
    Penalty,
    Quadratic,
    SharedSimplices,
    Simplex,
)
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp
from tests.penalties.examples import PENALTIES, N, allowed, forms, frobenius, unit_of, unused

each_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
CONVEX = {name: one for name, one in PENALTIES.items() if one.convex}
each_convex = pytest.mark.parametrize("penalty", CONVEX.values(), ids=CONVEX)


def test_no_penalty_is_left_out():
    def kinds(one):
        return {one} | {kind for child in one.__subclasses__() for kind in kinds(child)}

    tested = {type(penalty) for penalty in PENALTIES.values()}
    assert tested == {
        kind
        for kind in kinds(Penalty)
        if kind is not Penalty and kind.__module__.startswith("kernelhood")
    }


def attained(penalty, dual):
    """Return weights at or near which the bound is attained."""
    if isinstance(penalty, Quadratic):
        nothing = np.zeros(len(dual.q))
        best = solve_nonneg_qp(penalty.Q, penalty.price - dual.q, nothing, nothing)
        return [best, 0.9 * best, 1.1 * best, nothing]
    if isinstance(penalty, Simplex):
        held = penalty.row > 0.0
        free = np.where(held, 0.0, dual.q / np.where(penalty.ridge > 0.0, penalty.ridge, 1.0))
        share = np.where(held, penalty.budget / np.where(held, penalty.row, 1.0), 0.0)
        return [free + share * np.eye(len(held))[m] for m in np.flatnonzero(held)]
    if isinstance(penalty, LpBall):
        x = dual.q * penalty.scale
        x = (x / x.max()) ** (1.0 / (penalty.p - 1.0)) if x.max() > 0.0 else np.ones(len(x))
        return [x / np.sum(x**penalty.p) ** (1.0 / penalty.p) * penalty.scale]
    return []


@each_convex
@pytest.mark.parametrize("seed", range(6))
def test_no_weights_fall_below_the_bound(penalty, seed):
    rng = np.random.default_rng(seed)
    dual = DualPoint(
        10.0 ** rng.uniform(-3.0, 3.0) * rng.choice([1.0, 1.0, -0.1]), forms(penalty, rng)
    )
    bound, shrink = penalty.lower_bound(dual), 1.0
    assert np.isfinite(bound)
    if isinstance(penalty, Linear):
        # The gain is that of the vector times its scale, and the forms fall with the square.
        shrink = float(penalty.allowed_scale(penalty.price, dual.q).min())
        assert np.all(shrink**2 * dual.q <= penalty.price * (1.0 + 1e-12))
    for weights in [allowed(penalty, rng) for _ in range(120)] + attained(penalty, dual):
        parts = shrink * dual.gain, shrink**2 * float(dual.q @ weights), penalty.value(weights)
        value = parts[0] - parts[1] + parts[2]
        assert value >= bound - 1e-9 * sum(map(abs, parts))


EXACT = {name: one for name, one in CONVEX.items() if isinstance(one, (Quadratic, Simplex, LpBall))}


@pytest.mark.parametrize("penalty", EXACT.values(), ids=EXACT)
@pytest.mark.parametrize("seed", range(5))
def test_in_the_units_of_a_problem_the_bound_is_attained(penalty, seed):
    rng = np.random.default_rng(seed)
    kept, scale = penalty.units(np.where(unused(penalty), 0.0, 1.0 / unit_of(penalty)), 1.0)
    some, dual = (
        penalty.restricted(kept, scale),
        DualPoint(1.0, (forms(penalty, rng)[kept] * scale)),
    )
    bound = some.lower_bound(dual)
    parts = [(float(dual.q @ w), some.value(w)) for w in attained(some, dual)]
    best, scale = min((1.0 - a + b, 1.0 + abs(a) + abs(b)) for a, b in parts)
    assert bound >= best - 1e-6 * scale


@each_penalty
def test_the_slope_is_that_of_the_value(penalty):
    rng = np.random.default_rng(0)
    for _ in range(5):
        weights = rng.uniform(0.5, 2.0, N) * unit_of(penalty)
        step = 1e-5 * unit_of(penalty)
        ahead = np.array([penalty.value(weights + step * e) for e in np.eye(N)])
        behind = np.array([penalty.value(weights - step * e) for e in np.eye(N)])
        found, rounding = penalty.slope(weights) * step, 1e-15 * np.abs(ahead).max()
        np.testing.assert_allclose(found, 0.5 * (ahead - behind), rtol=1e-6, atol=10 * rounding)


@each_penalty
def test_starts_and_nearest_weights_are_in_the_set(penalty):
    rng = np.random.default_rng(1)
    assert penalty.contains(penalty.start())
    for _ in range(20):
        weights = allowed(penalty, rng)
        assert penalty.contains(weights)
        for other in (weights * rng.uniform(0.5, 2.0, N), -weights, 3.0 * weights, 0.0 * weights):
            nearest = penalty.nearest(other)
            assert penalty.contains(nearest)
            assert np.all(nearest >= 0.0)
        inside = penalty.nearest(rng.uniform(0.5, 2.0, N) * unit_of(penalty))
        np.testing.assert_allclose(penalty.nearest(inside), inside, rtol=1e-12)


BOUNDED = {n: one for n, one in PENALTIES.items() if not isinstance(one, (Linear, Quadratic))}


@pytest.mark.parametrize("penalty", BOUNDED.values(), ids=BOUNDED)
@pytest.mark.parametrize("factor", [0.5, 1.0 - 1e-6, 1.0 + 1e-6, 2.0])
def test_weights_that_break_the_budget_are_not_in_the_set(penalty, factor):
    assert not penalty.contains(factor * penalty.start())


@each_penalty
def test_negative_weights_are_not_in_the_set(penalty):
    weights = penalty.start()
    weights = weights + 1e-3 * unit_of(penalty) * (np.arange(N) - (N - 1) / 2)
    weights[0] = -unit_of(penalty)[0]
    assert not penalty.contains(weights)


def restrictions(penalty, rng):
    """Return units as a problem chooses them, and others where the set allows it."""
    sizes = 1.0 / unit_of(penalty) * 10.0 ** rng.uniform(-1.0, 1.0, N)
    yield penalty.units(np.where(unused(penalty), 0.0, sizes), 10.0 ** rng.uniform(-1.0, 1.0))
    if not isinstance(penalty, SharedSimplices):
        yield np.ones(N, dtype=bool), unit_of(penalty) * 10.0 ** rng.uniform(-1.0, 1.0, N)
        kept = np.arange(N) != 3
        yield kept, np.ones(N - 1)


@each_penalty
def test_in_other_units_it_is_the_same_problem(penalty):
    rng = np.random.default_rng(2)
    for _ in range(5):
        for kept, scale in restrictions(penalty, rng):
            some = penalty.restricted(kept, scale)
            assert type(some) is type(penalty)
            x = some.nearest(rng.uniform(size=int(kept.sum())) * unit_of(penalty)[kept] / scale)
            weights = np.zeros(N)
            weights[kept] = x * scale
            assert some.contains(x)
            if kept.all() or not isinstance(penalty, Fixed):
                assert penalty.contains(weights)
            assert some.value(x) == pytest.approx(penalty.value(weights), rel=1e-9)
            slope = (penalty.slope(weights)[kept]) * scale
            size = 1e-12 * np.abs(slope).max(initial=1e-300)
            np.testing.assert_allclose(some.slope(x), slope, rtol=1e-9, atol=size)


@each_convex
@pytest.mark.parametrize("seed", range(2))
def test_in_other_units_it_has_the_same_bound(penalty, seed):
    rng = np.random.default_rng(seed)
    q, found = forms(penalty, rng), []
    for kept, scale in [*restrictions(penalty, rng), *restrictions(penalty, rng)]:
        if np.all(kept | unused(penalty)):
            some = penalty.restricted(kept, scale)
            found.append(some.lower_bound(DualPoint(1.0, q[kept] * scale)))
    assert found[1:] == pytest.approx([found[0]] * (len(found) - 1), rel=1e-7, abs=1e-7)
    # Where units are far apart, rounding may only cost a part of it.
    assert penalty.lower_bound(DualPoint(1.0, q)) <= found[0] + 1e-7 * abs(found[0]) + 1e-7


@each_penalty
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_kernels_that_are_zero_take_no_part_unless_they_have_a_share_in_a_budget(penalty, size):
    sizes = np.ones(N)
    sizes[[1, 4]] = 0.0
    if isinstance(penalty, Quadratic):
        Q = penalty.Q.copy()
        Q[[1, 4]] = Q[:, [1, 4]] = 0.0
        penalty = Quadratic(penalty.price, Q)
    kept, scale = penalty.units(sizes, size)
    assert len(scale) == kept.sum()
    assert np.all(scale > 0.0)
    assert np.all(np.isfinite(scale))
    assert np.all(kept[(sizes > 0.0) & ~unused(penalty)])
    if isinstance(penalty, (Linear, Quadratic, Fixed)):
        assert not kept[[1, 4]].any()


@each_penalty
def test_where_all_kernels_are_zero_units_are_still_units(penalty):
    if isinstance(penalty, Quadratic):
        penalty = Quadratic(np.zeros(N), np.zeros((N, N)))
    kept, scale = penalty.units(np.zeros(N), 1.0)
    assert len(scale) == kept.sum()
    assert np.all(scale > 0.0)
    assert np.all(np.isfinite(scale))
    if isinstance(penalty, (Linear, Quadratic, Fixed)):
        assert not kept.any()
    elif not isinstance(penalty, Simplex):
        assert kept.all()  # somewhere the budget has to go


@each_penalty
@pytest.mark.parametrize("damping", [0.0, 0.01, 10.0])
@pytest.mark.parametrize("reach", [0.0, 10.0])
def test_steps_stay_in_the_set(penalty, damping, reach):
    rng = np.random.default_rng(3)
    unit = unit_of(penalty)
    kept, scale = penalty.units(np.where(unused(penalty), 0.0, 1.0 / unit), 1.0)
    some, n = penalty.restricted(kept, scale), int(kept.sum())
    for rank in (0, 1, 3, n):
        q = forms(penalty, rng)[kept] * scale
        A = rng.normal(size=(n, rank)) * np.sqrt(q)[:, None]
        inside = some.nearest(rng.uniform(size=n) * unit[kept] / scale)
        for x in (some.start(), inside):
            found = some.step(x, q, A @ A.T, damping, reach, 1.0)
            assert np.all(np.isfinite(found.weights))
            assert some.contains(found.weights)
            assert 0.0 < found.shrink <= 1.0
            assert abs(found.ray) <= reach + 1e-9
            assert isinstance(some, Linear | Quadratic) or found.ray == 0.0


@each_convex
def test_damped_steps_lead_downwards(penalty):
    """The model of a step falls: its slope towards the minimiser is never positive."""
    rng = np.random.default_rng(4)
    kept, scale = penalty.units(np.where(unused(penalty), 0.0, 1.0 / unit_of(penalty)), 1.0)
    some, n = penalty.restricted(kept, scale), int(kept.sum())
    for _ in range(20):
        q = rng.uniform(0.1, 2.0, n)
        A = rng.normal(size=(n, 3))
        x = some.nearest(rng.uniform(0.1, 1.0, n))
        found = some.step(x, q, A @ A.T, 0.1, 0.0, 1.0)
        slope = float((some.slope(x) - q) @ (found.weights - x))
        assert slope <= 1e-9 * float(q @ np.abs(found.weights - x))


@each_penalty
def test_the_gap_is_that_of_the_bound(penalty):
    rng = np.random.default_rng(5)
    weights, dual = allowed(penalty, rng), DualPoint(2.0, forms(penalty, rng))
    if isinstance(penalty, Concave):
        tangent = penalty.tangent(weights)
        expected = 5.0 + tangent.value(weights) - tangent.lower_bound(dual)
    else:
        expected = 5.0 + penalty.value(weights) - penalty.lower_bound(dual)
    assert penalty.gap(weights, 5.0, dual) == pytest.approx(expected)


@each_penalty
def test_of_few_weights_all_are_candidates(penalty):
    assert penalty.candidates(penalty.start(), np.ones(N)) is None


MANY = {
    "prices": Linear(np.linspace(1.0, 2.0, 100)),
    "squares": Quadratic(np.linspace(1.0, 2.0, 100), 0.1 * frobenius(n=100)),
    "a budget": Simplex(np.linspace(0.5, 1.0, 100), 1.0, np.linspace(-1.0, 1.0, 100)),
}


@pytest.mark.parametrize("penalty", MANY.values(), ids=MANY)
def test_of_many_weights_those_that_matter_are_candidates(penalty):
    rng = np.random.default_rng(6)
    weights = penalty.nearest(np.where(rng.uniform(size=100) < 0.2, rng.uniform(size=100), 0.0))
    q = rng.uniform(0.0, 2.2, 100)
    kept = penalty.candidates(weights, q)
    assert np.all(kept[weights > 0.0])
    assert 0 < kept.sum() < 100
    fall = q - penalty.slope(weights)
    if isinstance(penalty, Simplex):
        assert kept[np.argmax(fall / penalty.row)]
    else:
        assert np.all(kept[fall > 0.0])
