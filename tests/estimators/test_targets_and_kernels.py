"""Classes of any type, targets of any scale, kernels of any kind, and the corners of all these."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score

import kernelhood as kh
from tests.references import make_samples

CLASSES = {
    "strings": ("no", "yes"),
    "bools": (False, True),
    "ints": (3, 11),
    "floats": (-1.0, 2.0),
    "tuples": ((0, "a"), (1, "b")),
}


def renamed(y, classes):
    """Return labels -1 and +1 under other names."""
    named = np.empty(len(y), dtype=object)
    for place, label in enumerate(y):
        named[place] = classes[int(label > 0)]
    return named


@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES.keys())
def test_classes_of_any_type(classes, labelled):
    plain = kh.MTONMKLClassifier(kernels="paper", C=3.0).fit(
        labelled.X, labelled.y, task=labelled.task
    )
    y = renamed(labelled.y, classes)
    model = clone(plain).fit(labelled.X, y, task=labelled.task)
    assert model.classes_.tolist() == list(classes)
    np.testing.assert_array_equal(model.weights_, plain.weights_)
    predicted = model.predict(labelled.X, task=labelled.task).tolist()
    expected = renamed(plain.predict(labelled.X, task=labelled.task), classes).tolist()
    assert predicted == expected
    assert {type(label) for label in predicted} == {type(label) for label in classes}
    score = model.score(labelled.X, y, task=labelled.task)
    assert score == plain.score(labelled.X, labelled.y, task=labelled.task)


@pytest.mark.parametrize("wrap", [np.array, pd.Series, list])
def test_native_containers_of_strings_and_bools(wrap, labelled):
    for y in (np.where(labelled.y > 0, "yes", "no"), labelled.y > 0):
        model = kh.MTONMKLClassifier(kernels="paper", C=10.0).fit(
            labelled.X, wrap(y), task=labelled.task
        )
        assert model.score(labelled.X, wrap(y), task=labelled.task) > 0.9


def test_classes_may_differ_from_task_to_task(labelled):
    kinds = {"task 0": ("no", "yes"), "task 1": (False, True), "task 2": (5, 7)}
    y = np.empty(len(labelled.y), dtype=object)
    for place, (label, name) in enumerate(zip(labelled.y, labelled.task, strict=True)):
        y[place] = kinds[name][int(label > 0)]
    model = kh.MTONMKLClassifier(kernels="paper", C=3.0).fit(labelled.X, y, task=labelled.task)
    assert [classes.tolist() for classes in model.classes_] == [list(c) for c in kinds.values()]
    predicted = model.predict(labelled.X, task=labelled.task)
    for name, classes in kinds.items():
        mine = predicted[labelled.task == name].tolist()
        assert set(mine) == set(classes)
        assert {type(label) for label in mine} == {type(classes[0])}
    plain = kh.MTONMKLClassifier(kernels="paper", C=3.0).fit(
        labelled.X, labelled.y, task=labelled.task
    )
    expected = plain.score(labelled.X, labelled.y, task=labelled.task)
    assert model.score(labelled.X, y, task=labelled.task) == expected


def test_one_task_may_mix_types_of_classes(labelled):
    y = renamed(labelled.y, ("none", 1))
    model = kh.MTONMKLClassifier(kernels="paper").fit(labelled.X, y)
    assert set(model.classes_.tolist()) == {"none", 1}
    assert np.mean(model.predict(labelled.X) == y) > 0.7


def test_scores_are_means_over_tasks(labelled, measured, classifier):
    fresh = make_samples(seed=1, sizes=(9, 30, 12))
    predicted = classifier.predict(fresh.X, task=fresh.task)
    weight = np.random.default_rng(0).uniform(size=len(fresh.y))
    per_task = []
    for name in classifier.tasks_:
        mine = fresh.task == name
        part = {"sample_weight": weight[mine]}
        per_task.append(accuracy_score(fresh.y[mine], predicted[mine], **part))
    found = classifier.score(fresh.X, fresh.y, task=fresh.task, sample_weight=weight)
    assert found == pytest.approx(np.mean(per_task))
    model = kh.MTONMKLRegressor(kernels="paper").fit(measured.X, measured.y, task=measured.task)
    guess = model.predict(measured.X, task=measured.task)
    error, spread = (measured.y - guess) ** 2, np.empty(len(guess))
    for name in model.tasks_:
        mine = measured.task == name
        spread[mine] = (measured.y[mine] - measured.y[mine].mean()) ** 2
        r2 = r2_score(measured.y[mine], guess[mine])
        by_task = model.score_by_task(measured.X[mine], measured.y[mine], task=measured.task[mine])
        assert by_task == {name: pytest.approx(r2)}
    found = model.score(measured.X, measured.y, task=measured.task)
    assert found == pytest.approx(1.0 - error.sum() / spread.sum())
    weighted = model.score(measured.X, measured.y, task=measured.task, sample_weight=error)
    assert weighted == pytest.approx(1.0 - (error @ error) / (error @ spread))


def test_the_score_of_single_rows_is_stable(measured):
    """One test row a task: R^2 of each is not defined, the pooled score is."""
    model = kh.MTONMKLRegressor(kernels="paper").fit(measured.X, measured.y, task=measured.task)
    first = [np.flatnonzero(measured.task == name)[0] for name in model.tasks_]
    X, y, task = measured.X[first], measured.y[first], measured.task[first]
    means = np.array([measured.y[measured.task == name].mean() for name in task])
    guess = model.predict(X, task=task)
    expected = 1.0 - np.sum((y - guess) ** 2) / np.sum((y - means) ** 2)
    assert model.score(X, y, task=task) == pytest.approx(expected)
    ones = model.score_by_task(X, y, task=task)
    assert list(ones) == model.tasks_
    assert all(np.isfinite(list(ones.values())))
    pooled = kh.PooledRegressor().fit(measured.X, measured.y, task=measured.task)
    flat = 1.0 - np.sum((y - pooled.predict(X)) ** 2) / np.sum((y - means) ** 2)
    assert pooled.score(X, y, task=task) == pytest.approx(flat)
    shared = kh.MTONMKLRegressor(relation="functions", unseen_task="shared")
    shared.fit(measured.X, measured.y, task=measured.task)
    assert np.isfinite(shared.score(X, y, task=["new"] * len(y)))


def test_class_weights_multiply_c(labelled):
    sample_weight = np.where(labelled.y > 0, 3.0, 1.0)
    data = {"X": labelled.X, "y": labelled.y, "task": labelled.task}
    kernel = kh.Gaussian(1.0)
    weighted = kh.MTONMKLClassifier(kernels=kernel, class_weight={1: 3.0}, tol=1e-8).fit(**data)
    plain = kh.MTONMKLClassifier(kernels=kernel, tol=1e-8).fit(**data)
    values = weighted.decision_function(labelled.X, task=labelled.task)
    assert np.mean(values) > np.mean(plain.decision_function(labelled.X, task=labelled.task)) + 0.1
    for v, support in zip(weighted.dual_coef_, weighted.support_, strict=True):
        assert np.all(np.abs(v) <= sample_weight[support] * (1.0 + 1e-12))
    assert max(np.abs(v).max() for v in weighted.dual_coef_) > 1.5


def test_balanced_classes_count_samples_by_weight(rng):
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0.8, 1, 0)
    weight = rng.integers(1, 4, size=40)
    rare = 0.5 * weight.sum() / weight[y == 1].sum()
    often = 0.5 * weight.sum() / weight[y == 0].sum()
    balanced = kh.MTONMKLClassifier(kernels="paper", C=1.0, class_weight="balanced")
    balanced.fit(X, y, sample_weight=weight)
    by_hand = kh.MTONMKLClassifier(kernels="paper", C=1.0, class_weight={0: often, 1: rare})
    by_hand.fit(X, y, sample_weight=weight)
    assert rare > 1.0 > often
    np.testing.assert_allclose(balanced.weights_, by_hand.weights_)


def test_class_weights_may_name_classes_of_some_tasks_only(labelled):
    y = np.where(labelled.task == "task 0", labelled.y, labelled.y + 10)
    model = kh.MTONMKLClassifier(kernels="paper", class_weight={1: 2.0, 9: 3.0}, C=3.0)
    model.fit(labelled.X, y, task=labelled.task)
    top = [np.abs(v).max() for v in model.dual_coef_]
    assert top[0] <= 6.0 * (1.0 + 1e-12)
    assert top[1] <= 9.0 * (1.0 + 1e-12)
    assert top[1] > 3.0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_regression_does_not_depend_on_the_units_of_y(scale, measured):
    plain = kh.MTONMKLRegressor(
        kernels="paper", C=10.0, beta=1.0, formulation="corrected", tol=1e-9
    )
    plain.fit(measured.X, measured.y, task=measured.task)
    scaled = clone(plain).set_params(epsilon=0.1 * scale)
    scaled.fit(measured.X, scale * measured.y, task=measured.task)
    expected = plain.predict(measured.X, task=measured.task)
    found = scaled.predict(measured.X, task=measured.task)
    np.testing.assert_allclose(found / scale, expected, atol=1e-4)
    np.testing.assert_allclose(scaled.weights_ / scale, plain.weights_, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_targets_far_from_zero_are_no_harder(scale, measured):
    model = kh.MTONMKLRegressor(
        kernels="paper", C=100.0, epsilon=0.01 * scale, formulation="corrected"
    )
    y = scale * (measured.y + 1e3)
    assert model.fit(measured.X, y, task=measured.task).dual_gap_ <= 1e-3
    assert model.score(measured.X, y, task=measured.task) > 0.95


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_sparse_points_give_the_dense_model(kind):
    samples = make_samples(kind)
    X = np.where(np.abs(samples.X) < 0.4, 0.0, samples.X)
    X[0] = 0.0
    made = {"classification": kh.MTONMKLClassifier, "regression": kh.MTONMKLRegressor}[kind]
    dense = made(kernels="paper", C=3.0, tol=1e-9).fit(X, samples.y, task=samples.task)
    for wrap in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array):
        model = clone(dense).fit(wrap(X), samples.y, task=samples.task)
        np.testing.assert_allclose(model.objective_, dense.objective_, rtol=1e-8)
        np.testing.assert_allclose(
            model.predict(wrap(X), task=samples.task),
            model.predict(X, task=samples.task),
            atol=1e-12,
        )
        np.testing.assert_allclose(
            getattr(model, "decision_function", model.predict)(wrap(X), task=samples.task),
            getattr(dense, "decision_function", dense.predict)(X, task=samples.task),
            atol=1e-6,
        )


def test_kernels_of_every_kind_in_one_bank(labelled):
    X = np.abs(labelled.X)

    def overlap(X, Z):
        return np.minimum(X[:, None], Z[None]).sum(axis=2)

    bank = [
        "laplacian",
        kh.Pairwise("chi2", {"gamma": 0.5}),
        overlap,
        kh.Normalized(overlap),
        kh.Normalized(kh.Linear(columns=[0])),
        kh.Gaussian(1.0, columns=[1, 2]),
    ]
    model = kh.MTONMKLClassifier(kernels=bank, C=5.0).fit(X, labelled.y, task=labelled.task)
    assert model.weights_.shape == (3, 6)
    assert model.dual_gap_ <= 1e-3
    for t, name in enumerate(model.tasks_):
        Ks = [kh.KernelBank([kernel])(X)[0] for kernel in bank]
        expected = sum(weight * K for weight, K in zip(model.weights_[t], Ks, strict=True))
        np.testing.assert_allclose(model.task_kernel(X, X, name), expected, atol=1e-11)


def test_named_columns(labelled):
    frame = pd.DataFrame(labelled.X, columns=["a", "b", "c"])
    named = kh.MTONMKLClassifier(kernels=[kh.Gaussian(1.0, columns=["c", "a"]), kh.Linear()])
    numbered = kh.MTONMKLClassifier(kernels=[kh.Gaussian(1.0, columns=[2, 0]), kh.Linear()])
    named.fit(frame, labelled.y, task=labelled.task)
    numbered.fit(labelled.X, labelled.y, task=labelled.task)
    np.testing.assert_array_equal(
        named.decision_function(frame, task=labelled.task),
        numbered.decision_function(labelled.X, task=labelled.task),
    )
