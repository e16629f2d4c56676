"""The evidence against its definition, its certificate, and rows that are left out."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from kernelhood.solvers.gaussian import (
    INTERCEPT,
    Factor,
    Level,
    Model,
    Point,
    Terms,
    maximise_evidence,
)
from kernelhood.solvers.likelihoods import DEGREES_OF_FREEDOM, fit_student_t


def make_model(seed=0, n=40, n_targets=1, tau=0.03, fixed_noise=False):
    """Two terms with features and one with a matrix, on all rows, on tasks and on occasions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    task = np.sort(rng.integers(5, size=n))
    occasion = rng.integers(4, size=n)
    features = np.column_stack([np.ones(n), X[:, 0], np.sin(X[:, 1]), np.cos(X[:, 1])])
    apart = np.sum((X[:, None] - X) ** 2, axis=2)
    terms = Terms(features, np.array([1, 1, 2]), np.exp(-0.5 * apart)[None])
    levels = [
        Level(np.zeros(n, dtype=np.intp), np.array([False, True, True, True])),
        Level(task, np.array([True, True, False, True])),
        Level(occasion, np.array([True, False, False, False])),
    ]
    z = np.column_stack(
        [np.sin(X[:, 0] + k) + 0.5 * task + 0.3 * rng.normal(size=n) for k in range(n_targets)]
    )
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    noise = rng.uniform(0.5, 2.0, size=(n, n_targets))
    return Model(terms, levels, z, noise, tau, fixed_noise)


def by_definition(model, theta):
    """The covariance of the first target, written out."""
    n, F = len(model.z), model.terms.features
    kernels = [F[:, [0]] @ F[:, [0]].T, F[:, [1]] @ F[:, [1]].T, F[:, 2:] @ F[:, 2:].T]
    kernels.append(model.terms.matrices[0])
    S = np.full((n, n), INTERCEPT) + theta[-1] * np.diag(model.noise[:, 0])
    at = 0
    for level in model.levels:
        same = level.groups[:, None] == level.groups
        for m in np.flatnonzero(level.terms):
            S += theta[at] * same * kernels[m]
            at += 1
    assert at == len(theta) - 1
    return S


def some_weights(model, seed=0):
    return np.random.default_rng(seed).uniform(0.01, 0.5, size=model.n_weights)


def test_the_value_is_that_of_the_density_and_the_prior():
    model = make_model()
    theta = some_weights(model)
    point = Point(model, theta)
    density = multivariate_normal(np.zeros(40), by_definition(model, theta))
    assert point.log_evidence == pytest.approx(density.logpdf(model.z[:, 0]), rel=1e-9)
    prior = np.sum(np.log1p(theta[:-1] / model.tau))
    constant = 20.0 * np.log(2.0 * np.pi)
    assert point.value == pytest.approx(prior - point.log_evidence - constant, rel=1e-9)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_the_slope_is_a_numerical_one(n_targets):
    model = make_model(n_targets=n_targets)
    theta = some_weights(model)
    point = Point(model, theta)
    slope = approx_fprime(theta, lambda x: Point(model, x).value, 1e-7)
    np.testing.assert_allclose(point.prices - point.q, slope, rtol=1e-3, atol=1e-3)


def test_targets_with_the_same_noise_share_a_factor():
    model = make_model(n_targets=3)
    noise = model.noise[:, :1]
    theta = some_weights(model)
    once = Point(model.with_targets(model.z, noise), theta)
    thrice = Point(model.with_targets(model.z, np.tile(noise, 3)), theta)
    assert len(once.factors) == 1
    assert once.value == pytest.approx(thrice.value, rel=1e-12)
    np.testing.assert_allclose(once.prices, thrice.prices, rtol=1e-9)
    np.testing.assert_allclose(once.hessian, thrice.hessian, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("fixed_noise", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_small_gap_is_a_stationary_point(seed, fixed_noise):
    model = make_model(seed, fixed_noise=fixed_noise)
    found, count = maximise_evidence(model, model.start(), tol=1e-9, max_iter=200)
    # Steps that gain less than 10 tol end it. Near the optimum the gap is of the first order in
    # the distance and the gain of the second, so that it is of the size of their root.
    assert found.gap <= 10.0 * np.sqrt(1e-9)
    assert count < 200
    slope = (found.prices - found.q)[: -1 if fixed_noise else None]
    weights = found.theta[: len(slope)]
    size = float(found.prices.max())
    assert np.abs(slope * weights).max() < 1e-3 * size
    assert slope.min() > -1e-3 * size
    if fixed_noise:
        assert found.theta[-1] == model.start()[-1]


def test_the_gap_bounds_the_tangent_problem():
    """No weights have a smaller value of it than the value here less the gap."""
    model = make_model()
    here = Point(model, some_weights(model))
    value = here.fit + here.prices @ here.theta
    for seed in range(20):
        theta = some_weights(model, seed) * 10.0 ** np.random.default_rng(seed).uniform(-3, 1)
        there = Point(model, theta)
        assert there.fit + here.prices @ theta >= value * (1.0 - here.gap) - 1e-9


def test_every_step_raises_the_evidence():
    model, values = make_model(), []
    for max_iter in range(1, 8):
        values.append(maximise_evidence(model, model.start(), tol=0.0, max_iter=max_iter)[0].value)
    assert np.all(np.diff(values) <= 0.0)
    assert values[-1] < values[0] - 1.0


def test_other_starts_end_at_much_the_same_evidence():
    worse = 0
    for seed in range(10):
        model = make_model(seed)
        usual = maximise_evidence(model, model.start(), tol=1e-6)[0].value
        other = maximise_evidence(model, some_weights(model, seed), tol=1e-6)[0].value
        worse += usual > other + 0.5
    assert worse <= 1


def test_rows_left_out_are_predicted_by_the_others():
    model = make_model()
    point = Point(model, some_weights(model))
    S = by_definition(model, point.theta)
    groups = [np.arange(3), np.array([5, 9, 30])]
    residual, variance = point.left_out(groups)
    for rows in groups:
        rest = np.setdiff1d(np.arange(40), rows)
        gain = np.linalg.solve(S[np.ix_(rest, rest)], S[np.ix_(rest, rows)])
        z = model.z[:, 0]
        np.testing.assert_allclose(residual[rows], z[rows] - gain.T @ z[rest], rtol=1e-7)
        left = S[np.ix_(rows, rows)] - S[np.ix_(rows, rest)] @ gain
        np.testing.assert_allclose(variance[rows], np.diagonal(left), rtol=1e-7)
    assert np.isnan(residual[4])


def test_the_posterior_at_the_rows():
    model = make_model()
    point = Point(model, some_weights(model))
    S = by_definition(model, point.theta)
    K = S - point.theta[-1] * np.diag(model.noise[:, 0])
    mean, variance = point.posterior()
    np.testing.assert_allclose(mean, K @ np.linalg.solve(S, model.z[:, 0]), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        variance, np.diagonal(K - K @ np.linalg.solve(S, K)), rtol=1e-5, atol=1e-8
    )


def test_targets_that_are_all_equal_need_no_function():
    model = make_model()
    flat = model.with_targets(np.zeros_like(model.z), model.noise)
    found, _ = maximise_evidence(flat, flat.start())
    assert not found.theta[:-1].any()


def test_a_singular_covariance_is_made_definite():
    factor = Factor(np.ones((4, 4)))
    np.testing.assert_allclose(factor.L[:, 0], 1.0, rtol=1e-6)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        Factor(-np.eye(2))


def test_precisions_of_student_t_are_those_of_their_own_posterior():
    model = make_model()  # rows have noise of different sizes
    found = fit_student_t(model, np.full(model.n_weights, 0.1), 1e-6, 500).point
    mean, variance = found.posterior()
    square = ((model.z[:, 0] - mean) ** 2 + variance) / (found.theta[-1] * model.noise[:, 0])
    omega = (DEGREES_OF_FREEDOM + 1.0) / (DEGREES_OF_FREEDOM + square)
    # The rounds end when precisions change by less than one percent.
    np.testing.assert_allclose(found.model.noise[:, 0], model.noise[:, 0] / omega, rtol=0.01)
