"""More than two classes in a task: one SVM for each pair, one kernel for all of them."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC

import kernelhood as kh
from kernelhood.kernels import Gaussian, KernelBank, Linear, Normalized
from kernelhood.relations import SharedFunctions
from tests.references import svm

BANK = KernelBank([Normalized(Linear()), Gaussian(1.0), Gaussian(2.0)])


def three_classes(sizes=(33, 27), seed=0):
    rng = np.random.default_rng(seed)
    task = np.repeat([f"task {t}" for t in range(len(sizes))], sizes)
    X = rng.normal(size=(len(task), 2))
    angle = np.arctan2(X[:, 1], X[:, 0]) + 0.3 * rng.normal(size=len(task))
    y = np.array(["a", "b", "c"])[np.digitize(angle, [-1.0, 1.0])]
    return X, y, task


def estimator(**settings):
    given = {"kernels": BANK, "C": 2.0, "beta": 0.05, "formulation": "corrected", "tol": 1e-8}
    return kh.MTONMKLClassifier(**{**given, **settings})


def sum_of_values(K, y, C):
    """The values of all pairs' SVMs with the same kernel."""
    total = 0.0
    for first, second in combinations(np.unique(y), 2):
        own = np.flatnonzero((y == first) | (y == second))
        sign = np.where(y[own] == second, 1.0, -1.0)
        total += svm(K[np.ix_(own, own)], sign, C=C).value
    return total


def test_pairs_share_one_kernel_whose_scale_is_the_best():
    X, y, _ = three_classes(sizes=(40,))
    bank = KernelBank([Gaussian(1.0)])
    model = estimator(kernels=bank).fit(X, y)
    K = bank(X)[0]

    def objective(log_weight):
        weight = np.exp(log_weight)
        return sum_of_values(weight * K, y, 2.0) + 0.05 * len(y) * weight

    best = minimize_scalar(objective, bounds=(-6.0, 6.0), method="bounded")
    assert model.objective_ == pytest.approx(best.fun, rel=1e-5)
    assert model.weights_[0, 0] == pytest.approx(np.exp(best.x), rel=1e-2)


def test_at_a_fixed_trace_pairs_share_the_best_of_two_kernels():
    X, y, _ = three_classes(sizes=(40,))
    bank = KernelBank([Gaussian(0.5), Gaussian(3.0)])
    model = estimator(kernels=bank, formulation="normalized", eta=1.0, beta=1e-3).fit(X, y)
    Ks, w = bank(X), 2e-3 / (1.0 - 2e-3)
    assert model.weights_.sum() == pytest.approx(1.0)

    def objective(share):
        K = share * Ks[0] + (1.0 - share) * Ks[1]
        return sum_of_values(K, y, 2.0) - 0.5 * w * np.sum(K**2)

    best = min(objective(share) for share in np.linspace(0.0, 1.0, 41))
    assert model.objective_ <= best + 1e-4 * abs(best)
    assert model.objective_ == pytest.approx(objective(model.weights_[0, 0]), rel=1e-4)


def test_the_functions_are_those_of_svc():
    X, y, _ = three_classes(sizes=(40,))
    model = estimator().fit(X, y)
    K = model.task_kernel(X, X, model.tasks_[0])
    reference = SVC(C=2.0, kernel="precomputed", tol=1e-9, break_ties=True).fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(K), atol=1e-3
    )
    np.testing.assert_array_equal(model.predict(X), reference.predict(K))
    assert model.dual_coef_[0].shape == (3, len(model.support_[0]))
    assert model.intercept_[0].shape == (3,)


@pytest.mark.parametrize("sharing", ["independent", "functions"])
def test_tasks_may_have_different_numbers_of_classes(sharing):
    X, y, task = three_classes(sizes=(30, 30, 24))
    y = y.copy()
    second = task == "task 1"
    y[second] = np.where(X[second, 0] > 0, "x", "z")
    model = estimator(relation=sharing, tol=1e-4).fit(X, y, task=task)
    values = model.decision_function(X, task=task)
    assert values.shape == (84, 3)
    assert np.isneginf(values[second, 2]).all()
    assert np.isfinite(values[~second]).all()
    predicted = model.predict(X, task=task)
    assert set(predicted[second]) <= {"x", "z"}
    assert set(predicted[~second]) <= {"a", "b", "c"}
    assert model.score(X, y, task=task) > 0.8
    assert [len(classes) for classes in model.classes_] == [3, 2, 3]


def test_one_task_that_shares_functions_is_the_plain_estimator():
    X, y, _ = three_classes(sizes=(40,))
    plain, shared = estimator().fit(X, y), estimator(relation="functions").fit(X, y)
    assert shared.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_allclose(shared.decision_function(X), plain.decision_function(X), atol=1e-3)


def test_only_the_shared_function_is_the_plain_estimator_on_pooled_data():
    X, y, task = three_classes()
    shared = estimator(relation=SharedFunctions(specific_cost=np.inf), intercept="common")
    shared.fit(X, y, task=task)
    pooled = estimator().fit(X, y)
    assert shared.objective_ == pytest.approx(pooled.objective_, rel=1e-6)
    np.testing.assert_allclose(
        shared.decision_function(X, task=task), pooled.decision_function(X), atol=1e-3
    )


def test_pairs_of_the_same_classes_share_their_function():
    X, y, task = three_classes()
    model = estimator(relation=SharedFunctions(specific_cost=1.5), unseen_task="shared", tol=1e-5)
    model.fit(X, y, task=task)
    assert model.shared_weights_.any()
    assert model.shared_function(X).shape == (60, 3)
    unseen = model.predict(X, task=["new"] * 60)
    assert np.mean(unseen == y) > 0.7
    assert model.predict(X, task=task).shape == (60,)


def test_a_wide_y_may_hold_many_classes():
    X, y, _ = three_classes(sizes=(40,))
    both = np.column_stack([y, np.where(X[:, 0] > 0, "a", "b")])
    model = estimator(tol=1e-4).fit(X, both)
    assert model.predict(X).shape == (40, 2)
    assert model.decision_function(X).shape == (40, 2, 3)
    assert model.score(X, both) > 0.8


def test_balanced_weights_count_every_class():
    X, y, _ = three_classes(sizes=(40,))
    counts = {label: np.mean(y == label) for label in "abc"}
    weights = {label: 1.0 / (3.0 * share) for label, share in counts.items()}
    balanced = estimator(class_weight="balanced").fit(X, y)
    given = estimator(class_weight=weights).fit(X, y)
    assert balanced.objective_ == pytest.approx(given.objective_, rel=1e-6)
    assert balanced.objective_ != pytest.approx(estimator().fit(X, y).objective_, rel=1e-3)


@pytest.mark.parametrize("sharing", ["independent", "functions"])
def test_a_search_scores_what_a_fit_scores(sharing):
    X, y, task = three_classes(sizes=(48, 45))
    train, test = next(kh.TaskShuffleSplit(1, test_size=0.5, random_state=0).split(X, y, task=task))
    grid = {"beta": [0.01, 0.1, 1.0]}
    base = estimator(relation=sharing)
    for scoring in (None, "balanced_accuracy"):
        search = kh.KernelSearchCV(base, grid, cv=[(train, test)], scoring=scoring, refit=False)
        search.fit(X, y, task=task)
    plain = kh.KernelSearchCV(base, grid, cv=[(train, test)], refit=False).fit(X, y, task=task)
    for params, score in zip(
        plain.cv_results_["params"], plain.cv_results_["mean_test_score"], strict=True
    ):
        model = estimator(relation=sharing, **params).fit(X[train], y[train], task=task[train])
        assert score == pytest.approx(model.score(X[test], y[test], task=task[test]), abs=1e-9)


@pytest.mark.parametrize("method", [name for name in kh.estimators.METHODS if name != "mt-onmkl"])
def test_other_methods_tell_two_classes_apart(method):
    X, y, task = three_classes()
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        kh.estimators.METHODS[method][0]().fit(X, y, task=task)
