"""Tasks whose samples are all of one class: the others tell what they can, else it is constant."""

import warnings

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.estimators import METHODS
from kernelhood.estimators.targets import completed_classes
from kernelhood.relations import SharedFunctions

CORRECTED = {"formulation": "corrected", "beta": 0.01}


def table(seed=0, sizes=(1, 2, 5, 40, 40)):
    rng = np.random.default_rng(seed)
    task = np.repeat([f"site {k}" for k in range(len(sizes))], sizes)
    X = rng.normal(size=(len(task), 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    X[task == "site 2", 0] = np.abs(X[task == "site 2", 0])
    y[task == "site 2"] = "yes"
    return X, y, task


@pytest.mark.parametrize("made", [*(pair[0] for pair in METHODS.values()), kh.KTAClassifier])
def test_a_task_on_its_own_predicts_its_class(made):
    X, y, task = table()
    alone = {"relation": "independent"} if made is kh.MTONMKLClassifier else {}
    y[task == "site 1"] = "no"
    with pytest.warns(UserWarning, match="only one class in 3 of 5 .*'site 0', 'site 1', 'site 2'"):
        model = made(**alone).fit(X, y, task=task)
    assert model.dual_gap_ <= model.tol
    far = 3.0 * np.random.default_rng(1).normal(size=(20, 2))
    for name, label in {"site 1": "no", "site 2": "yes"}.items():
        assert set(model.predict(far, task=[name] * 20)) == {label}
    assert model.classes_.tolist() == ["no", "yes"]


def test_only_one_warning_and_none_without_such_a_task():
    X, y, task = table()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        kh.MTONMKLClassifier(kernels="paper").fit(X, y, task=task)
    assert len(heard) == 1
    kept = np.isin(task, ["site 3", "site 4"])
    kh.MTONMKLClassifier(kernels="paper").fit(X[kept], y[kept], task=task[kept])


@pytest.mark.parametrize("formulation", ["corrected", "normalized", "printed"])
def test_tasks_that_share_a_function_predict_both_classes(formulation):
    X, y, task = table()
    model = kh.MTONMKLClassifier(
        relation="functions", formulation=formulation, beta=0.01, eta=16.0, C=10.0, tol=1e-5
    )
    with pytest.warns(UserWarning, match="by what they share with the others: 'site 0'"):
        model.fit(X, y, task=task)
    fresh = np.random.default_rng(1).normal(size=(200, 2))
    found = model.predict(fresh, task=["site 2"] * 200)
    assert np.mean(found == np.where(fresh[:, 0] > 0, "yes", "no")) > 0.85
    assert set(model.predict(X[task == "site 2"], task=["site 2"] * 5)) == {"yes"}
    # Its function is the shared one, moved by its intercept only.
    number = model.tasks_.index("site 2")
    assert len(model.support_[number]) == 0
    apart = model.decision_function(fresh, task=["site 2"] * 200) - model.shared_function(fresh)
    np.testing.assert_allclose(apart, apart[0], atol=1e-8)


def test_an_intercept_that_samples_leave_open_is_that_of_the_others():
    X, y, task = table()
    X[task == "site 2", 0] += 10.0
    bank = kh.KernelBank([kh.Linear()])
    shared = {"relation": SharedFunctions(specific_cost=np.inf)}
    model = kh.MTONMKLClassifier(kernels=bank, **shared, **CORRECTED)
    with pytest.warns(UserWarning, match="only one class"):
        model.fit(X, y, task=task)
    by_name = dict(zip(model.tasks_, model.intercept_, strict=True))
    two = [name for name in model.tasks_ if len(set(y[task == name])) == 2]
    counts = [np.sum(task == name) for name in two]
    mean = np.average([by_name[name] for name in two], weights=counts)
    assert by_name["site 2"] == pytest.approx(mean)
    # Samples on the wrong side pull it away, as far as they need it.
    X[task == "site 2", 0] -= 20.0
    with pytest.warns(UserWarning, match="only one class"):
        model.fit(X, y, task=task)
    values = model.decision_function(X[task == "site 2"], task=["site 2"] * 5)
    assert values.min() == pytest.approx(1.0)


def test_with_one_intercept_for_all_their_samples_count():
    X, y, task = table()
    model = kh.MTONMKLClassifier(relation="functions", intercept="common", C=10.0, **CORRECTED)
    with pytest.warns(UserWarning, match="only one class"):
        model.fit(X, y, task=task)
    X[task == "site 2", 0] *= -1.0
    with pytest.warns(UserWarning, match="only one class"):
        model.fit(X, y, task=task)
    assert len(model.support_[model.tasks_.index("site 2")]) > 0


def test_a_class_that_no_other_task_has_stays_alone():
    X, y, task = table()
    y = y.astype("<U5")
    y[task == "site 2"] = "maybe"
    model = kh.MTONMKLClassifier(relation="functions", intercept="common", **CORRECTED)
    with pytest.warns(UserWarning, match="'site 2'"):
        model.fit(X, y, task=task)
    assert set(model.predict(X, task=["site 2"] * len(X))) == {"maybe"}
    assert model.classes_[2].tolist() == ["maybe"]
    assert np.mean(model.predict(X, task=task) == y) > 0.85


@pytest.mark.parametrize("sharing", ["independent", "functions"])
def test_among_tasks_of_three_classes_it_is_constant(sharing):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    y[task == "c"] = 2
    model = kh.MTONMKLClassifier(relation=sharing, C=10.0)
    with pytest.warns(UserWarning, match="only one class in 1 of 3 tasks.*'c'"):
        model.fit(X, y, task=task)
    assert set(model.predict(X, task=["c"] * 90)) == {2}
    assert model.score(X, y, task=task) > 0.8


def test_balanced_weights_and_zero_weights():
    X, y, task = table()
    model = kh.MTONMKLClassifier(kernels="paper", class_weight="balanced")
    with pytest.warns(UserWarning, match="only one class"):
        model.fit(X, y, task=task)
    weight = np.where((task == "site 3") & (y == "no"), 0.0, 1.0)
    with pytest.warns(UserWarning, match="'site 3'"):
        kh.MTONMKLClassifier(kernels="paper").fit(X, y, task=task, sample_weight=weight)


def test_pooled_svms_do_not_mind():
    X, y, task = table()
    model = kh.PooledClassifier(C=10.0).fit(X, y, task=task)
    flat = kh.PooledClassifier(C=10.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X, task=task), flat.predict(X))
    apart = np.repeat(["a", "b"], [40, 48])
    sorted_ = np.argsort(y)
    kh.PooledClassifier().fit(X[sorted_], np.sort(y), task=apart)


def test_what_completes_a_class():
    both, other = np.array(["a", "b"]), np.array(["b", "c"])
    alone = np.array(["b"])

    def found(*classes, expected=None):
        return [one.tolist() for one in completed_classes(list(classes), expected)]

    assert found(both, alone)[1] == ["a", "b"]
    assert found(both, other, alone)[2] == ["b"]
    assert found(alone, np.array(["a"])) == [["a", "b"]] * 2
    assert found(alone, alone) == [["b"]] * 2
    assert found(alone, np.array(["a"]), np.array(["c"]))[0] == ["b"]
    assert found(alone, expected=[other]) == [["b", "c"]]
    assert found(alone, expected=[alone]) == [["b"]]
