"""The `normalized` formulation: a fixed trace, and a reward for concentrated kernels."""

import numpy as np
import pytest

import kernelhood as kh
from tests.references import make_samples, svm

SPREADS = [0.05, 0.2, 1.0, 4.0]
BANK = kh.KernelBank([kh.Gaussian(spread) for spread in SPREADS])


def fit(kind, eta=16.0, beta=1.0, tol=1e-5, sizes=(25, 16)):
    made = {"classification": kh.MTONMKLClassifier, "regression": kh.MTONMKLRegressor}[kind]
    samples = make_samples(kind, sizes=sizes)
    model = made(kernels=BANK, C=2.0, eta=eta, beta=beta, formulation="normalized", tol=tol)
    return samples, model.fit(samples.X, samples.y, task=samples.task)


def objective(samples, weights, names, kind, reward):
    """Return the sum over tasks of S_t(K_t) - reward/2 |K_t|^2, the SVMs solved by LIBSVM."""
    total = 0.0
    for name, theta in zip(names, weights, strict=True):
        mine = samples.task == name
        K = np.tensordot(theta, BANK(samples.X[mine]), axes=1)
        epsilon = None if kind == "classification" else 0.1
        value = svm(K, samples.y[mine], C=2.0, epsilon=epsilon).value
        total += value - 0.5 * reward * np.sum(K**2)
    return total


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize(("eta", "beta"), [(16.0, 1e-3), (16.0, 0.05), (16.0, 1.0), (2.1, 1.0)])
def test_the_trace_of_every_task_is_its_number_of_samples(kind, eta, beta):
    samples, model = fit(kind, eta, beta)
    for name, theta in zip(model.tasks_, model.weights_, strict=True):
        X = samples.X[samples.task == name]
        K = model.task_kernel(X, X, name)
        assert np.trace(K) == pytest.approx(len(X), rel=1e-9)
        assert theta.min() >= 0.0
    assert model.dual_gap_ <= 1e-5


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("beta", [0.05, 0.3])
def test_the_objective_is_the_concave_one_and_beats_plain_mkl(kind, beta):
    reward = 2.0 * 16.0 * beta / (16.0 - 2.0 * beta)
    samples, model = fit(kind, beta=beta)
    found = objective(samples, model.weights_, model.tasks_, kind, reward)
    assert model.objective_ == pytest.approx(found, abs=1e-4 * abs(found))
    _, plain = fit(kind, beta=1e-9)
    start = objective(samples, plain.weights_, plain.tasks_, kind, reward)
    assert model.objective_ < start - 1e-3 * abs(start)


def test_no_small_step_towards_another_kernel_lowers_the_objective():
    reward = 2.0 * 16.0 * 0.02 / (16.0 - 2.0 * 0.02)
    samples, model = fit("regression", beta=0.02, tol=1e-7, sizes=(25,))
    here = objective(samples, model.weights_, model.tasks_, "regression", reward)
    for other in np.eye(len(BANK)):
        moved = 0.99 * model.weights_ + 0.01 * other
        assert objective(samples, moved, model.tasks_, "regression", reward) >= here - 1e-6


def test_narrow_kernels_end_at_exactly_zero():
    _, plain = fit("regression", beta=1e-9)
    _, model = fit("regression", beta=1.0)
    narrow = np.array(SPREADS) < 1.0
    assert plain.weights_[:, narrow].sum() > 0.05
    assert np.all(model.weights_[:, narrow] == 0.0)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0)


def test_the_effective_rank_falls_with_beta():
    ranks = []
    for beta in (1e-9, 0.01, 1.0):
        samples, model = fit("regression", beta=beta)
        X = samples.X[samples.task == model.tasks_[0]]
        K = model.task_kernel(X, X, model.tasks_[0])
        ranks.append(np.trace(K) ** 2 / np.sum(K**2))
    assert ranks[0] > ranks[1] > ranks[2]


@pytest.mark.parametrize("relation", ["independent", "mixed"])
def test_beta_is_less_where_more_samples_are_solved_together(relation):
    samples = make_samples("regression", sizes=(300, 40))
    counted = {"independent": [300, 40], "mixed": [340]}[relation]
    C = 0.4
    settings = {"kernels": BANK, "C": C, "relation": relation, "tol": 1e-6}

    def fit(**more):
        model = kh.MTONMKLRegressor(**settings, **more)
        return model.fit(samples.X, samples.y, task=samples.task)

    untuned = fit()
    assert untuned.beta == "auto"
    usual = [min(1e-3, C / (4 * count)) for count in counted]
    assert usual[0] < 1e-3
    for t, name in enumerate(untuned.tasks_):
        mine, same = samples.task == name, fit(beta=usual[min(t, len(usual) - 1)])
        points = samples.X[mine], samples.task[mine]
        expected = same.predict(points[0], task=points[1])
        np.testing.assert_array_equal(untuned.predict(points[0], task=points[1]), expected)
        np.testing.assert_array_equal(
            untuned.neighborhood_weights_[t], same.neighborhood_weights_[t]
        )
    other = fit(beta=1e-3)
    assert not np.array_equal(other.weights_, untuned.weights_)


@pytest.mark.parametrize("formulation", ["corrected", "printed"])
def test_beta_is_the_same_for_all_in_other_formulations(formulation):
    samples = make_samples("regression", sizes=(300, 40))
    fits = [
        kh.MTONMKLRegressor(kernels=BANK, formulation=formulation, beta=beta).fit(
            samples.X, samples.y, task=samples.task
        )
        for beta in ("auto", 1e-3)
    ]
    np.testing.assert_array_equal(fits[0].weights_, fits[1].weights_)


@pytest.mark.parametrize("formulation", ["normalized", "corrected", "printed"])
def test_a_grid_may_hold_the_usual_beta_beside_numbers(formulation):
    samples = make_samples("regression", sizes=(40, 30))
    model = kh.MTONMKLRegressor(kernels=BANK, formulation=formulation, tol=1e-9)
    grid = {"beta": [0.1, "auto", 1e-3], "C": [0.01, 1.0]}
    search = kh.KernelSearchCV(model, grid, cv=2).fit(samples.X, samples.y, task=samples.task)
    results = search.cv_results_
    for number, params in enumerate(results["params"]):
        alone = kh.KernelSearchCV(model, {name: [value] for name, value in params.items()}, cv=2)
        alone.fit(samples.X, samples.y, task=samples.task)
        assert results["mean_test_score"][number] == pytest.approx(alone.best_score_, abs=2e-4)
    # With 0.01 / (4 * 20) "auto" is another number than 0.001 there, and with C = 1 the same.
    same = [
        results["model"][results["params"].index({"C": C, "beta": "auto"})]
        == results["model"][results["params"].index({"C": C, "beta": 1e-3})]
        for C in (0.01, 1.0)
    ]
    assert same == [formulation != "normalized"] * 2


def test_a_word_that_is_no_beta():
    samples = make_samples("regression")
    with pytest.raises(ValueError, match=r"'beta' parameter .* must be .*'auto'.* Got 'small'"):
        kh.MTONMKLRegressor(beta="small").fit(samples.X, samples.y, task=samples.task)
    with pytest.raises(ValueError, match="eta > 2 \\* beta: got eta=0.001, beta=0.001"):
        kh.MTONMKLRegressor(eta=0.001).fit(samples.X, samples.y, task=samples.task)
