"""MTONMKLClassifier(probability=True): what it tells, and that `predict` agrees with it."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import kernelhood as kh
from kernelhood.estimators.calibration import deal_folds
from kernelhood.estimators.probability import _values_left_out

BANK = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0)])
CONVEX = {"formulation": "corrected", "beta": 0.01}


def classifier(**settings):
    return kh.MTONMKLClassifier(**{"kernels": BANK, "probability": True, **settings})


def logistic_tasks(sizes, seed=0, spread=1.0):
    """Return points, classes, tasks, and the true probability of the second class."""
    rng = np.random.default_rng(seed)
    number = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(number), 2))
    shifts = spread * np.linspace(-1.0, 1.0, len(sizes))
    p = expit(2.0 * X[:, 0] + shifts[number])
    y = np.where(rng.random(len(number)) < p, "yes", "no")
    return X, y, np.array([f"site {t}" for t in range(len(sizes))])[number], p


@pytest.fixture(scope="module")
def sites():
    return logistic_tasks((60, 40, 20, 8))


def agrees(model, X, task):
    """Assert that probabilities sum to 1, and that predictions are the largest of them."""
    p = model.predict_proba(X, task=task)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(np.exp(model.predict_log_proba(X, task=task)) > 0.0, p > 0.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X, task=task)), p)
    best, values = p.argmax(axis=1), model.decision_function(X, task=task)
    told = values.argmax(axis=1) if values.ndim == 2 else (values > 0.0).astype(int)
    np.testing.assert_array_equal(told, best)
    if isinstance(model.classes_, list):
        classes = dict(zip(model.tasks_, model.classes_, strict=True))
        expected = [classes[name][place] for name, place in zip(task, best, strict=True)]
    else:
        expected = model.classes_[best]
    np.testing.assert_array_equal(model.predict(X, task=task), expected)
    return p


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sharing": "functions", **CONVEX},
        {"relation": "mixed"},
        {"neighborhood": kh.Gaussian(0.5), "radius": 200.0},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_predict_agrees_with_the_larger_probability(sites, settings):
    X, y, task, _ = sites
    model = classifier(**settings).fit(X, y, task=task)
    p = agrees(model, X, task)
    assert p.shape == (len(X), 2)
    plain = classifier(**settings, probability=False).fit(X, y, task=task)
    for name in model.tasks_:
        values = plain.decision_function(X[task == name], task=task[task == name])
        assert np.all(np.diff(p[task == name, 1][np.argsort(values)]) >= 0.0)
    assert plain.objective_ == model.objective_
    assert model.calibration_.gap <= model.tol
    assert 0.0 < model.calibration_.sigmoid.slope < 20.0


def test_known_probabilities_are_found():
    X, y, task, _ = logistic_tasks((120, 120, 120, 30, 30), seed=1)
    model = classifier(relation="mixed").fit(X, y, task=task)
    fresh, _, site, truth = logistic_tasks((300,) * 5, seed=2)
    told = model.predict_proba(fresh, task=site)[:, 1]
    assert np.mean(np.abs(told - truth)) < 0.1
    loss = -np.mean(truth * np.log(told) + (1 - truth) * np.log(1 - told))
    entropy = -np.mean(truth * np.log(truth) + (1 - truth) * np.log(1 - truth))
    assert loss < entropy + 0.05


def test_tasks_of_different_rates_have_shifts_of_their_own():
    rng = np.random.default_rng(0)
    task, X = np.repeat(np.arange(8), 40), rng.normal(size=(320, 2))
    rate = np.array([0.15, 0.85])[task % 2]
    y = (rng.random(320) < rate).astype(int)
    one = {"sharing": "functions", "specific_cost": np.inf, "intercept": "common"}
    model = classifier(**one, unseen_task="shared").fit(X, y, task=task)
    shifts = model.calibration_.sigmoid.shifts
    assert shifts[1::2].min() > shifts[::2].max()
    unseen = model.predict_proba(X, task=np.full(320, 99))[:, 1]
    assert 0.3 < unseen.mean() < 0.7


def test_values_come_from_fits_without_the_sample(sites):
    X, y, task, _ = sites
    model = classifier(probability=False, tol=1e-8, **CONVEX).fit(X, y, task=task)
    parts = clone(model)
    points, tasks = parts._read_training_data(X, y, task)
    problems = parts._pose(points, tasks, None)
    parts._bank = model._bank
    solved = parts._solve_tasks(parts._evaluate(parts._bank, problems), problems)
    codes = [(one.y == "yes").astype(int) for one in tasks]
    values, gap = _values_left_out(parts, parts._bank, problems, solved, codes)
    assert gap <= 1e-8
    number = np.repeat(np.arange(4), [len(one.rows) for one in tasks])
    row = np.concatenate([one.rows for one in tasks])
    (fold, *_) = deal_folds(row, number, np.concatenate(codes), number)
    rest = np.setdiff1d(np.arange(len(X)), row[fold])
    peer = clone(model).fit(X[rest], y[rest], task=task[rest])
    expected = peer.decision_function(X[row[fold]], task=task[row[fold]])
    np.testing.assert_allclose(np.concatenate(values)[fold, 0], expected, atol=1e-3)


def test_without_probability_there_is_no_such_method(sites):
    X, y, task, _ = sites
    model = classifier(probability=False).fit(X, y, task=task)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    assert not hasattr(model, "calibration_")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(X, task=task)
    assert "probability=True" in str(caught.value.__cause__)
    late = model.set_params(probability=True)
    for ask in (late.predict_proba, late.predict):
        with pytest.raises(NotFittedError, match="fit it again with probability=True"):
            ask(X, task=task)
    with pytest.raises(NotFittedError):
        classifier().predict_proba(X)
    assert not hasattr(late.fit(X, y, task=task).set_params(probability=False), "predict_proba")
    assert not hasattr(late.fit(X, y, task=task), "calibration_")
    with pytest.raises(ValueError, match="'probability' parameter"):
        classifier(probability="yes").fit(X, y, task=task)


def test_copies_tell_the_same(sites):
    X, y, task, _ = sites
    model = classifier().fit(X, y, task=task)
    p = model.predict_proba(X, task=task)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X, task=task), p)
    np.testing.assert_array_equal(clone(model).fit(X, y, task=task).predict_proba(X, task=task), p)


def test_weights_of_samples_and_classes_count(sites):
    X, y, task, _ = sites
    plain = classifier(**CONVEX).fit(X, y, task=task).predict_proba(X, task=task)[:, 1]
    heavy = classifier(class_weight={"yes": 5.0}, **CONVEX).fit(X, y, task=task)
    assert np.mean(heavy.predict_proba(X, task=task)[:, 1]) > np.mean(plain) + 0.1
    weight = np.where(np.arange(len(X)) % 4 == 0, 0.0, 1.0)
    some = classifier(**CONVEX).fit(X, y, task=task, sample_weight=weight)
    kept = weight > 0.0
    fewer = classifier(**CONVEX).fit(X[kept], y[kept], task=task[kept])
    np.testing.assert_allclose(
        some.predict_proba(X, task=task), fewer.predict_proba(X, task=task), atol=1e-8
    )


def test_sparse_points_and_a_task_column(sites):
    X, y, task, _ = sites
    tight = {**CONVEX, "tol": 1e-9}
    p = classifier(**tight).fit(X, y, task=task).predict_proba(X, task=task)
    rows = sparse.csr_matrix(X)
    other = classifier(**tight).fit(rows, y, task=task).predict_proba(rows, task=task)
    np.testing.assert_allclose(other, p, atol=1e-6)
    table = np.column_stack([X, np.unique(task, return_inverse=True)[1]])
    inside = classifier(task_column=2, **tight).fit(table, y)
    np.testing.assert_allclose(inside.predict_proba(table), p, atol=1e-8)


@pytest.mark.parametrize("settings", [{}, {"relation": "mixed"}], ids=str)
def test_many_classes(settings):
    rng = np.random.default_rng(0)
    task, code = np.repeat(["a", "b"], 60), np.tile([0, 1, 2], 40)
    X = np.array([[0, 2], [2, -1], [-2, -1]])[code] + 1.2 * rng.normal(size=(120, 2))
    y = np.array(["p", "q", "r"])[code]
    model = classifier(**settings).fit(X, y, task=task)
    p = agrees(model, X, task)
    assert p.shape == (120, 3)
    assert -np.mean(np.log(p[np.arange(120), code])) < 0.6
    assert len(model.calibration_.sigmoid.centres) == 3
    assert len(model.calibration_.sigmoid.shifts) == 6


def test_tasks_whose_classes_differ():
    rng = np.random.default_rng(0)
    task, X = np.repeat(["a", "b", "c"], 30), rng.normal(size=(90, 2))
    y = np.where(X[:, 0] > 0, "p", "q").astype(object)
    y[30:60] = np.array(["r", "s", "t"])[np.digitize(X[30:60, 0], [-0.5, 0.5])]
    y[60:] = "u"
    with pytest.warns(UserWarning, match="only one class"):
        model = classifier().fit(X, y, task=task)
    p = agrees(model, X, task)
    assert p.shape == (90, 3)
    assert np.all(p[:30, 2] == 0.0)
    np.testing.assert_array_equal(p[60:], np.tile([1.0, 0.0, 0.0], (30, 1)))
    assert np.all(p[30:60] > 0.0)


@pytest.mark.parametrize("settings", [CONVEX, {"sharing": "functions", **CONVEX}], ids=str)
def test_targets_of_two_dimensions(settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    Y = (X + 0.3 * rng.normal(size=X.shape) > 0).astype(float)
    Y[:10, 1] = np.nan
    model = classifier(**settings).fit(X, Y)
    second = model.predict_proba(X)
    assert second.shape == (50, 2)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(second > 0.5).astype(int)])
    np.testing.assert_array_equal(model.decision_function(X) > 0.0, second > 0.5)
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(second))
    assert np.mean(model.predict(X)[:, 0] == Y[:, 0]) > 0.8


def test_targets_of_two_dimensions_with_many_classes():
    X = np.random.default_rng(0).normal(size=(60, 2))
    Y = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), X[:, 1] > 0.0])
    model = classifier(**CONVEX).fit(X, Y)
    told = model.predict_proba(X)
    assert [p.shape for p in told] == [(60, 3), (60, 2)]
    for column, p in enumerate(told):
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.predict(X)[:, column], p.argmax(axis=1))
        np.testing.assert_array_equal(model.predict_log_proba(X)[column], np.log(p))


@pytest.mark.parametrize("settings", [{}, {"relation": "mixed"}], ids=str)
def test_tiny_tasks_and_tasks_of_one_class(settings):
    sizes = (1, 2, 3, 5, 40, 40)
    X, y, task, _ = logistic_tasks(sizes, spread=0.0)
    y[task == "site 3"] = "yes"
    with pytest.warns(UserWarning, match="only one class"):
        model = classifier(**settings).fit(X, y, task=task)
    p = agrees(model, X, task)
    assert np.all((p > 0.0) & (p < 1.0))


def test_a_task_too_small_for_folds_still_has_probabilities():
    model = classifier().fit([[0.0], [1.0]], [0, 1])
    agrees(model, np.array([[0.0], [1.0]]), None)


def test_new_tasks_and_those_that_learned_more(sites):
    X, y, task, _ = sites
    model = classifier(relation="mixed", unseen_task="shared").fit(X, y, task=task)
    new = np.full(len(X), "elsewhere")
    before = agrees(model, X, new)
    model.adapt(X[:20], y[:20], task="elsewhere")
    assert np.abs(agrees(model, X, new) - before).max() > 0.01
