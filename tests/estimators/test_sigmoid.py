"""One slope, a shrunk shift for each unit: against plain optimisers and known probabilities."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from kernelhood.estimators.calibration import fit_sigmoid


def draw(n_units, size, *, spread, slope=2.0, centre=-0.5, seed=0):
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(n_units), size)
    shifts = spread * rng.normal(size=n_units)
    values = rng.normal(size=len(unit))
    truth = expit(slope * values + centre + shifts[unit])
    return values, rng.random(len(unit)) < truth, unit, truth, shifts


def fitted(values, positive, unit, weight=None, centre_of=None):
    weight = np.ones(len(values)) if weight is None else weight
    centre_of = np.zeros(unit.max() + 1, dtype=int) if centre_of is None else centre_of
    return fit_sigmoid(values, positive, weight, unit, centre_of)


def platt_loss(logit, positive):
    """The cross-entropy with Platt's targets, written down once more."""
    n_plus, n_minus = positive.sum(), (~positive).sum()
    target = np.where(positive, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))
    p = expit(logit)
    return -np.sum(target * np.log(p) + (1 - target) * np.log(1 - p))


def test_one_unit_is_platts_sigmoid():
    values, positive, unit, *_ = draw(1, 60, spread=0.0)
    found = fitted(values, positive, unit)
    plain = minimize(lambda z: platt_loss(z[0] * values + z[1], positive), [0.0, 0.0], tol=1e-10)
    np.testing.assert_allclose([found.slope, found.centres[0]], plain.x, atol=1e-4)
    assert found.spread == 0.0


def test_slope_centre_and_shifts_minimise_the_penalised_loss():
    values, positive, unit, *_ = draw(6, 30, spread=1.5)
    found = fitted(values, positive, unit)
    assert found.spread > 0.0

    def loss(z):
        logit = z[0] * values + z[1] + z[2:][unit]
        return platt_loss(logit, positive) + 0.5 * np.sum(z[2:] ** 2) / found.spread**2

    plain = minimize(loss, np.zeros(8), tol=1e-10)
    np.testing.assert_allclose([found.slope, *found.centres, *found.shifts], plain.x, atol=2e-4)


def test_the_spread_maximises_the_likelihood_that_integrals_give():
    """Slope and centre are well known here: what is left is an integral for each unit."""
    values, positive, unit, *_ = draw(30, 20, spread=1.0, seed=3)
    found = fitted(values, positive, unit)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    base = found.slope * values + found.centres[0]

    def likelihood(spread):
        logit = base[:, None] + spread * nodes
        each = np.where(positive[:, None], np.log(expit(logit)), np.log(expit(-logit)))
        by_unit = np.array([each[unit == u].sum(axis=0) for u in range(30)])
        return np.sum(np.log(np.exp(by_unit) @ weights))

    grid = np.linspace(0.3, 2.0, 35)
    best = grid[np.argmax([likelihood(spread) for spread in grid])]
    assert found.spread == pytest.approx(best, rel=0.15)


def test_known_slope_centre_and_spread_are_found():
    values, positive, unit, truth, shifts = draw(60, 60, spread=1.0)
    found = fitted(values, positive, unit)
    assert found.slope == pytest.approx(2.0, abs=0.2)
    assert found.spread == pytest.approx(shifts.std(), abs=0.2)
    told = expit(found.log_odds(values, 0, None)) * 0.0
    for u in range(60):
        told[unit == u] = expit(found.log_odds(values[unit == u], 0, u))
    assert np.mean(np.abs(told - truth)) < 0.05


def test_units_that_do_not_differ_get_next_to_no_shift():
    spreads = []
    for seed in range(5):
        values, positive, unit, *_ = draw(20, 25, spread=0.0, seed=seed)
        found = fitted(values, positive, unit)
        spreads.append(found.spread)
        assert np.abs(found.shifts).max() < 0.3
    assert min(spreads) == 0.0


def test_tiny_units_are_not_overfitted():
    """Fresh samples of units with eight known ones each, against the three simple ways."""
    gains = []
    for seed in range(3):
        values, positive, unit, truth, _ = draw(40, 108, spread=1.0, seed=seed)
        known = np.tile(np.arange(108) < 8, 40)
        found = fitted(values[known], positive[known], unit[known])
        none = fitted(values[known], positive[known], np.zeros(known.sum(), dtype=int))
        shrunk, own, common = np.zeros(len(unit)), np.zeros(len(unit)), np.zeros(len(unit))
        for u in range(40):
            at, mine = unit == u, known & (unit == u)
            alone = fitted(values[mine], positive[mine], np.zeros(8, dtype=int))
            shrunk[at] = expit(found.log_odds(values[at], 0, u))
            own[at] = expit(alone.log_odds(values[at], 0, 0))
            common[at] = expit(none.log_odds(values[at], 0, None))

        def log_loss(p, truth=truth, fresh=~known):
            return -np.mean((truth * np.log(p) + (1 - truth) * np.log(1 - p))[fresh])

        gains.append([log_loss(own) - log_loss(shrunk), log_loss(common) - log_loss(shrunk)])
    assert np.min(gains) > 0.005


def test_a_weight_of_two_is_a_sample_twice():
    values, positive, unit, *_ = draw(5, 20, spread=1.0)
    twice = np.arange(100) % 3 == 0
    weighted = fitted(values, positive, unit, 1.0 + twice)
    rows = np.r_[np.arange(100), np.flatnonzero(twice)]
    repeated = fitted(values[rows], positive[rows], unit[rows])
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_every_centre_is_its_own():
    values, positive, unit, *_ = draw(2, 200, spread=0.0)
    values, positive = np.tile(values[:200], 2), np.r_[positive[:200], ~positive[:200][::-1]]
    found = fitted(values, positive, unit, centre_of=np.arange(2))
    assert found.centres[0] < -0.2 < 0.2 < found.centres[1]
    assert found.spread == 0.0


@pytest.mark.parametrize("case", ["separated", "reversed", "constant", "one class", "far"])
def test_values_that_decide_nothing_or_everything_leave_it_finite(case):
    values = np.linspace(-1.0, 1.0, 20)
    positive = values > 0.0
    if case == "reversed":
        positive = ~positive
    elif case == "constant":
        values = np.full(20, 3.0)
    elif case == "one class":
        positive = np.ones(20, dtype=bool)
    elif case == "far":
        values = 1e6 * values
    unit = np.arange(20) % 3
    found = fitted(values, positive, unit)
    p = expit(found.log_odds(values, 0, 0))
    assert np.all(np.isfinite([found.slope, *found.centres, *found.shifts]))
    assert np.all((p > 0.0) & (p < 1.0))
    assert np.all(np.diff(p) >= 0.0)
    if case == "reversed":
        assert 0.0 < found.slope < 1e-5
        assert np.all(np.diff(p) > 0.0)
        np.testing.assert_allclose(p, 0.5, atol=1e-5)
    elif case in ("separated", "far"):
        assert np.all((p > 0.5) == positive)
