"""Blocks and features of low rank against the same model with matrices between all rows."""

import numpy as np
import pytest

from kernelhood.solvers import many_rows
from kernelhood.solvers.gaussian import Level, Model, Point, Terms, left_out, maximise_evidence
from kernelhood.solvers.many_rows import BlockFactor, ManyRows


def make_models(sizes, *, groups=False, occasions=False, n_targets=1, noises=1, seed=0):
    """The same model twice: with matrices, and with blocks; tasks are not numbered in order."""
    rng = np.random.default_rng(seed)
    task = np.repeat(rng.permutation(len(sizes)), sizes)
    n = len(task)
    features = np.column_stack([np.ones(n), rng.normal(size=(n, 6))])
    terms = Terms(features, np.array([1, 2, 1, 3]), np.empty((0, n, n)))
    levels = [Level(np.zeros(n, dtype=np.intp), np.array([False, True, True, True]))]
    if groups:
        levels.append(Level(task % 3, np.array([True, True, False, False])))
    levels.append(Level(task, np.array([True, False, True, True])))
    own = len(levels) - 1
    if occasions:
        levels.append(Level(rng.integers(7, size=n), np.array([True, False, False, False])))
    common, of_task = rng.normal(size=7), rng.normal(size=len(sizes))
    f = features @ common + of_task[task]
    z = f[:, None] + rng.normal(size=(n, n_targets))
    noise = rng.uniform(0.5, 2.0, size=(n, noises))
    left = np.zeros((n, 4))
    return Model(terms, levels, z, noise, 0.01), ManyRows(terms, levels, z, noise, 0.01, own, left)


CASES = {
    "tiny tasks": {"sizes": [3, 5, 2, 40, 7, 7, 1, 100]},
    "large tasks": {"sizes": [300, 5, 280], "n_targets": 2},
    "groups and occasions": {"sizes": [3, 50, 2, 40, 7], "groups": True, "occasions": True},
    "large, groups, occasions": {"sizes": [300, 4, 9], "groups": True, "occasions": True},
    "several noises": {"sizes": [30, 40, 2], "n_targets": 3, "noises": 3},
}


@pytest.fixture(params=list(CASES))
def both(request):
    plain, many = make_models(**CASES[request.param])
    theta = np.random.default_rng(1).uniform(0.05, 0.6, size=plain.n_weights)
    theta[1] = theta[-2] = 0.0  # terms without a weight have slopes, too
    return Point(plain, theta), Point(many, theta)


@pytest.mark.parametrize("name", ["value", "log_evidence", "a", "q", "prices", "hessian", "gap"])
def test_the_point_is_that_of_matrices(both, name):
    exact, found = (np.asarray(getattr(one, name)) for one in both)
    np.testing.assert_allclose(found, exact, rtol=1e-7, atol=1e-8 * np.abs(exact).max())


def test_the_inverse_is_that_of_matrices(both):
    rng = np.random.default_rng(2)
    for exact, found in zip(both[0].factors, both[1].factors, strict=True):
        assert isinstance(found, BlockFactor)
        n = len(exact.diagonal)
        groups = [rng.choice(n, size=5, replace=False) for _ in range(4)]
        size = np.abs(exact.inverse).max()
        np.testing.assert_allclose(found.diagonal, exact.diagonal, atol=1e-8 * size)
        for one, other in zip(found.blocks(groups), exact.blocks(groups), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-8 * size)
        right = rng.normal(size=(n, 2))
        np.testing.assert_allclose(found.times(found.solve(right)), right, atol=1e-6)


def test_what_is_kept_of_pieces_does_not_change_left_out_rows(both, monkeypatch):
    groups = [np.array([0, 9]), np.array([1]), np.array([2, 3, 4])]
    a = both[0].a[:, 0]
    exact = left_out(both[0].factors[0], a, groups)
    monkeypatch.setattr(many_rows, "_KEPT", 0.0)
    found = left_out(both[1].factors[0], a, groups)
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def test_variances_of_new_rows_are_those_of_matrices(both):
    exact, found = both
    model = found.model
    features = np.random.default_rng(3).normal(size=(4, 7))
    features[:, 0] = 1.0
    group = int(model.levels[model.own].groups[0])
    places = np.full((len(model.levels), 4), group)
    places[0] = 0
    for place in range(1, len(model.levels)):
        if place != model.own:
            places[place] = -1 if place > model.own else group % 3
    weights = model.by_level(exact.theta)[:, model.terms.term_of]
    cross, prior = np.full((4, len(model.z)), 100.0), np.full(4, 100.0)
    for own, level, place in zip(weights, model.levels, places, strict=True):
        same = (place[:, None] == level.groups) & (place[:, None] >= 0)
        cross += same * ((features * own) @ model.terms.features.T)
        prior += (place >= 0) * (features**2 @ own)
    for one, other in zip(exact.factors, found.factors, strict=True):
        right = prior - np.sum(one.half(cross.T) ** 2, axis=0)
        assert isinstance(other, BlockFactor)
        np.testing.assert_allclose(other.variances(features, places, group), right, rtol=1e-6)


def test_what_landmarks_miss_is_noise_of_its_row():
    plain, many = make_models([30, 20, 10], seed=4)
    left = np.zeros((60, 4))
    left[:, 2] = np.random.default_rng(5).uniform(size=60)
    many = ManyRows(many.terms, many.levels, many.z, many.noise, 0.01, many.own, left)
    theta = np.random.default_rng(6).uniform(0.1, 0.5, size=plain.n_weights)
    missed = left @ plain.by_level(theta).sum(axis=0)
    there = plain.with_targets(plain.z, plain.noise + missed[:, None] / theta[-1])
    exact, found = Point(there, theta), Point(many, theta)
    np.testing.assert_allclose(found.value, exact.value, rtol=1e-9)
    step = 1e-5
    for j in range(many.n_weights):  # slopes are those of J
        up, down = theta.copy(), theta.copy()
        up[j] += step
        down[j] -= step
        slope = (Point(many, up).value - Point(many, down).value) / (2.0 * step)
        np.testing.assert_allclose((found.prices - found.q)[j], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", [[300, 280], [30, 2, 3, 40, 7], [4, 3]])
def test_traces_in_single_precision_are_close(sizes, monkeypatch):
    many = make_models(sizes, seed=8)[1]
    left = np.zeros((len(many.z), 4))
    left[:, 1] = np.random.default_rng(9).uniform(size=len(left))
    many = ManyRows(many.terms, many.levels, many.z, many.noise, 0.01, many.own, left)
    theta = np.random.default_rng(10).uniform(0.1, 0.5, size=many.n_weights)
    exact = Point(many, theta).prices
    monkeypatch.setattr(many_rows, "_DOUBLE", 0)
    found = Point(many, theta).prices
    assert np.any(found != exact)
    np.testing.assert_allclose(found, exact, rtol=1e-4)


@pytest.mark.parametrize("at_once", [1, 30])
def test_how_many_rows_are_worked_on_at_a_time_changes_nothing(both, at_once, monkeypatch):
    monkeypatch.setattr(many_rows, "_AT_ONCE", at_once)
    exact = both[1]
    found = Point(exact.model, exact.theta)
    for name in ("a", "q", "prices", "hessian"):
        one, other = getattr(found, name), getattr(exact, name)
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8 * np.abs(other).max())


def test_the_same_weights_are_found():
    plain, many = make_models([12] * 6, seed=7)
    exact, _ = maximise_evidence(plain, plain.start(), tol=1e-9, max_iter=200)
    found, _ = maximise_evidence(many, many.start(), tol=1e-9, max_iter=200)
    np.testing.assert_allclose(found.value, exact.value, rtol=1e-8)
