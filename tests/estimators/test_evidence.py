"""formulation="evidence" and return_std against scikit-learn's GaussianProcessRegressor."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import kernelhood as kh
from kernelhood.estimators.formulations import Evidence
from kernelhood.estimators.functions import UNSEEN
from kernelhood.estimators.reading import TaskRows

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(36, 2))
TASK = np.repeat(["a", "b", "c"], 12)
Y = np.sin(2.0 * X[:, 0]) + (TASK == "b") + 0.2 * RNG.normal(size=36)
NEW = RNG.uniform(-3.0, 3.0, size=(7, 2))


def model(**settings):
    given = {"kernels": [kh.Gaussian(0.7)], "loss": "squared", "formulation": "evidence"}
    return kh.MTONMKLRegressor(**{**given, **settings})


def process(signal, noise, constant, alpha=None):
    """Return scikit-learn's process with a constant of this variance for the intercept."""
    kernel = ConstantKernel(signal, "fixed") * RBF(0.7, "fixed") + ConstantKernel(constant, "fixed")
    if alpha is None:
        return GaussianProcessRegressor(kernel + WhiteKernel(noise, "fixed"), alpha=0.0)
    return GaussianProcessRegressor(kernel, alpha=alpha)


def limit(of_constant):
    """Return what numbers tend to as the intercept's variance grows: errors fall as 1, 1/2, 1/4."""
    one, two, four = (np.asarray(of_constant(c)) for c in (1e4, 2e4, 4e4))
    return (one - 6.0 * two + 8.0 * four) / 3.0


@pytest.mark.parametrize("learn_noise", [True, False])
def test_one_task_and_kernel_is_the_gaussian_process_of_scikit_learn(learn_noise):
    fitted = model(formulation=Evidence(learn_noise), C=12.0).fit(X, Y)
    signal, noise = float(fitted.weights_[0, 0]), float(fitted.noise_variance_[0])
    assert learn_noise or noise == pytest.approx(1.0 / 12.0)
    mean, std = fitted.predict(NEW, return_std=True)

    def theirs(constant, alpha=None):
        # An inverse temperature of one: alpha is the noise, and no part of their std.
        return process(signal, noise, constant, alpha).fit(X, Y).predict(NEW, return_std=True)

    np.testing.assert_allclose(mean, limit(lambda c: theirs(c)[0]), rtol=0, atol=1e-8)
    np.testing.assert_allclose(std, limit(lambda c: theirs(c)[1]), rtol=0, atol=1e-8)
    without = limit(lambda c: theirs(c, noise)[1])
    np.testing.assert_allclose(np.sqrt(std**2 - noise), without, rtol=0, atol=1e-8)

    def likelihood(constant):
        found = process(signal, noise, constant).fit(X, Y).log_marginal_likelihood()
        # The mean of n targets has a density of its own, which is left out of the contrasts'.
        return found + 0.5 * np.log(2.0 * np.pi * constant) + 0.5 * np.log(len(Y))

    assert -fitted.objective_ == pytest.approx(float(limit(likelihood)), abs=1e-7)


def test_the_noise_and_weight_are_those_that_scikit_learn_finds():
    fitted = model(tol=1e-8).fit(X, Y)
    kernel = ConstantKernel(1.0) * RBF(0.7, "fixed") + ConstantKernel(1e5, "fixed")
    theirs = GaussianProcessRegressor(kernel + WhiteKernel(0.1), alpha=0.0).fit(X, Y)
    found = theirs.kernel_
    assert fitted.noise_variance_[0] == pytest.approx(found.k2.noise_level, rel=1e-3)
    assert fitted.weights_[0, 0] == pytest.approx(found.k1.k1.k1.constant_value, rel=1e-3)


def by_hand(fitted, new_task):
    """Return the standard deviations of related tasks, from the definition of the model."""
    bank, tasks = fitted._bank, np.array(fitted.tasks_)
    number = {name: t for t, name in enumerate(tasks.tolist())}
    which = np.array([number[name] for name in TASK.tolist()])
    B, theta = fitted._matrices.written(), fitted._matrix_weights

    def kernels(one, other):
        return np.tensordot(theta, bank(one, other), 1)

    K = sum(b[which][:, which] * k for b, k in zip(B, kernels(X, X), strict=True))
    rows = B[:, number[new_task]] if new_task in number else np.array([np.ones(3), np.zeros(3)])
    cross = sum(r[which] * k for r, k in zip(rows, kernels(NEW, X), strict=True))
    prior = np.array([kernels(x[None], x[None]).sum() for x in NEW])
    noise = fitted.noise_variance_[0] / fitted.target_scale_[0] ** 2
    # The free intercept is a constant of very large variance.
    big = 1e7
    A = K + big + noise * np.eye(len(X))
    cross, prior = cross + big, prior + big
    variance = prior - np.sum(cross * np.linalg.solve(A, cross.T).T, axis=1)
    return fitted.target_scale_[0] * np.sqrt(variance + noise)


def test_related_tasks_and_one_never_seen_have_their_standard_deviations():
    settings = {"relation": "mixed", "unseen_task": "shared", "standardize_targets": True}
    fitted = model(kernels=[kh.Gaussian(0.7), kh.Linear()], **settings).fit(X, Y, task=TASK)
    found = {}
    for name in ("a", "b", "unheard of"):
        found[name] = fitted.predict(NEW, task=[name] * 7, return_std=True)[1]
        np.testing.assert_allclose(found[name], by_hand(fitted, name), rtol=1e-5)
    assert np.all(found["unheard of"] >= found["a"].min())
    mixed = fitted.predict(NEW[:2], task=["unheard of", "b"], return_std=True)[1]
    np.testing.assert_allclose(mixed, [found["unheard of"][0], found["b"][1]])


@pytest.mark.parametrize(
    "settings",
    [
        {"sharing": "weights"},
        {"relation": "functions"},
        {"relation": "mixed", "intercept": "task"},
        {"relation": kh.TaskGroups({"a": "x", "b": "x", "c": "y"})},
        {"relation": "mixed", "specific_cost": np.inf},
        {"relation": "mixed", "storage": "float32"},
        {"kernels": "auto"},
    ],
    ids=str,
)
def test_what_a_fit_with_standard_deviations_promises(settings):
    fitted = model(**settings).fit(X, Y, task=TASK)
    assert fitted.dual_gap_ <= fitted.tol
    assert all(np.all(np.diff(trace[:, 0]) <= 0.0) for trace in fitted.trace_)
    mean, std = fitted.predict(X, task=TASK, return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict(X, task=TASK))
    noise = fitted.noise_variance_[[fitted.tasks_.index(name) for name in TASK]]
    assert np.all(std**2 >= noise)
    far = fitted.predict(X + 50.0, task=TASK, return_std=True)[1]
    assert np.median(far) > np.median(std)
    again = pickle.loads(pickle.dumps(fitted))
    assert again._posteriors == {}
    np.testing.assert_array_equal(again.predict(X, task=TASK, return_std=True)[1], std)


def test_a_model_file_has_the_standard_deviations(tmp_path):
    settings = {"kernels": "auto", "formulation": Evidence(learn_noise=False)}
    fitted = model(**settings).fit(X, Y, task=TASK)
    expected = fitted.predict(NEW, task=["b"] * 7, return_std=True)[1]
    kh.save(fitted, tmp_path / "model.kh")
    read = kh.load(tmp_path / "model.kh")
    assert read.formulation == fitted.formulation
    np.testing.assert_allclose(read.predict(NEW, task=["b"] * 7, return_std=True)[1], expected)


def test_columns_of_targets_have_columns_of_standard_deviations():
    wide = np.column_stack([Y, 10.0 * Y])
    fitted = model(sharing="weights").fit(X, wide)
    mean, std = fitted.predict(NEW, return_std=True)
    assert std.shape == mean.shape == (7, 2)
    np.testing.assert_allclose(std[:, 1], 10.0 * std[:, 0], rtol=1e-2)


@pytest.mark.parametrize("settings", [{}, {"eta": 3.0, "beta": 9.0}, {"C": 1e4}], ids=str)
def test_neither_c_nor_eta_nor_beta_matters_where_the_noise_is_learned(settings):
    one, other = model(tol=1e-7), model(tol=1e-7, **settings)
    ours, theirs = (m.fit(X, Y).predict(NEW, return_std=True) for m in (one, other))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)


def test_a_search_sees_one_model_in_all_values_of_c():
    search = kh.KernelSearchCV(model(), {"C": [0.1, 1.0, 10.0]}, cv=2).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert np.ptp(scores) == 0.0
    assert search.best_estimator_.predict(NEW, return_std=True)[1].shape == (7,)


def test_targets_lie_as_often_as_a_gaussian_says_within_the_standard_deviations():
    data = kh.datasets.make_multitask(n_samples=200, kind="regression", noise=0.5, random_state=0)
    train = np.random.default_rng(0).random(len(data.y)) < 0.5
    fitted = model(kernels="small").fit(data.X[train], data.y[train], task=data.task[train])
    mean, std = fitted.predict(data.X[~train], task=data.task[~train], return_std=True)
    inside = np.abs(data.y[~train] - mean) <= 1.645 * std
    assert 0.85 <= inside.mean() <= 0.95
    assert fitted.noise_variance_[0] == pytest.approx(0.25, rel=0.25)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "epsilon_insensitive"}, "needs loss='squared'.*got loss='epsilon_insensitive'"),
        ({"loss": "quantile"}, "needs loss='squared'.*got loss='quantile'"),
        ({"operator": "low_rank"}, "got operator='low_rank'; use 'auto' or 'dense'"),
        ({"operator": "on_demand", "relation": "mixed"}, "got operator='on_demand'"),
        ({"neighborhood": "rbf"}, "neighborhood has no place"),
        ({"relation": "mixed", "specific_cost": 4.0}, "specific_cost must be 1 or infinite"),
        ({"relation": "mixed", "cache_size": 0.015}, "cache_size is too small for formulation"),
    ],
    ids=str,
)
def test_what_is_not_offered_is_said(settings, message):
    with pytest.raises(ValueError, match=message):
        model(kernels=[kh.Gaussian(s) for s in (0.5, 1.0)], **settings).fit(X, Y, task=TASK)


def test_classifiers_have_no_evidence():
    with pytest.raises(ValueError, match="got a classifier"):
        kh.MTONMKLClassifier(formulation="evidence").fit(X, Y > 0.0)


def test_other_fits_have_no_standard_deviations():
    fitted = model(formulation="corrected").fit(X, Y)
    with pytest.raises(ValueError, match=r"formulation='evidence', got loss='squared'"):
        fitted.predict(NEW, return_std=True)


def test_quantiles_are_those_of_the_process():
    fitted = model().fit(X, Y)
    mean, std = fitted.predict(NEW, return_std=True)
    found = fitted.predict_quantiles(NEW, quantiles=[0.05, 0.5, 0.8])
    expected = np.stack([norm(mean, std).ppf(level) for level in (0.05, 0.5, 0.8)], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="quantiles must be levels"):
        fitted.predict_quantiles(NEW, quantiles=[0.5, 0.2])


def test_free_intercepts_say_nothing_of_a_new_task():
    settings = {"relation": "mixed", "intercept": "task", "unseen_task": "shared"}
    fitted = model(**settings).fit(X, Y, task=TASK)
    assert np.all(np.isfinite(fitted.predict(NEW, task=["d"] * 7)))
    with pytest.raises(ValueError, match="fit with intercept='shrunk'"):
        fitted.predict(NEW, task=["d"] * 7, return_std=True)


def test_a_new_task_is_adapted_with_the_noise_that_was_learned():
    fitted = model(relation="mixed", unseen_task="shared", C=1e3).fit(X, Y, task=TASK)
    rows = np.arange(10)
    other = clone(fitted).set_params(C=1.0).fit(X, Y, task=TASK)
    values = [m.adapt(X[rows], Y[rows] + 1.0, task="d").predict(NEW, task=["d"] * 7)
              for m in (fitted, other)]  # fmt: skip
    np.testing.assert_allclose(*values, atol=0.05)
    cost = fitted._adapting_pairs(TaskRows("d", rows, Y[rows]), np.ones(10), UNSEEN)
    np.testing.assert_allclose(1.0 / cost[0].loss.cost, fitted.noise_variance_[0], rtol=1e-9)
    with pytest.raises(ValueError, match="task 'd' learned by adapt"):
        fitted.predict(NEW, task=["d"] * 7, return_std=True)


@pytest.mark.parametrize(
    "settings",
    [
        {"sharing": "weights"},
        {"relation": "mixed"},
        {"relation": "functions", "formulation": "corrected", "beta": 0.05},
    ],
    ids=str,
)
def test_residuals_without_a_row_are_those_of_a_refit_with_the_same_weights(settings):
    weight = RNG.uniform(0.5, 2.0, len(X))
    fitted = model(C=3.0, **settings).fit(X, Y, task=TASK, sample_weight=weight)
    found = fitted.leave_one_out_residuals()
    for t, place in ((0, 2), (1, 7)):
        row = int(fitted.support_[t][place])
        others = np.delete(np.arange(len(X)), row)
        assert found[t][place] == pytest.approx(
            Y[row] - refitted(fitted, others, row, weight), abs=1e-8
        )


def refitted(fitted, others, row, weight):
    """Return the prediction of a row by a linear system of the others, with the weights held."""
    names = fitted.tasks_
    which = np.array([names.index(name) for name in TASK])
    G = kh.Gaussian(0.7)(X)
    bank = fitted._bank(X)
    if fitted.sharing == "weights":
        K = (which[:, None] == which) * fitted.weights_[which, 0] * G
        groups = (which[:, None] == np.arange(3)).astype(float)
        scales = fitted._noise_scales[which]
    else:
        related = np.tensordot(fitted._matrix_weights, bank, 1)
        matrices = fitted._matrices.written()
        K = sum(B[which][:, which] * k for B, k in zip(matrices, related, strict=True))
        own = np.array([np.tensordot(w, bank, 1) for w in fitted._own_weights])
        K = K + (which[:, None] == which) * own[which, np.arange(len(X))]
        free = fitted._groups_of_intercepts == "task"
        groups = (which[:, None] == np.arange(3)).astype(float) if free else np.ones((len(X), 1))
        scales = fitted._noise_scales[which] if hasattr(fitted, "_noise_scales") else 1.0
    noise = scales / (fitted.C * weight)
    A = (K + np.diag(noise))[np.ix_(others, others)]
    E = groups[others]
    system = np.block([[A, E], [E.T, np.zeros((E.shape[1],) * 2)]])
    solved = np.linalg.solve(system, np.append(Y[others], np.zeros(E.shape[1])))
    return float(K[row, others] @ solved[: len(others)] + groups[row] @ solved[len(others) :])


def test_residuals_of_other_losses_are_refused():
    fitted = model(loss="epsilon_insensitive", formulation="corrected").fit(X, Y)
    with pytest.raises(ValueError, match="loss='squared', got loss='epsilon_insensitive'"):
        fitted.leave_one_out_residuals()
