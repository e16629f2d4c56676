"""Searches on real tables: tasks with fewer rows than folds, tasks that a split lacks."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import kernelhood as kh
from kernelhood.estimators.base import fit_from
from kernelhood.estimators.mtonmkl import MTONMKL
from kernelhood.search.splits import as_splits
from tests.references import make_samples

SIZES = (1, 2, 3, 20, 24)
SHARED = {"relation": "functions", "formulation": "corrected", "tol": 1e-7, "C": 5.0}


def table(kind, seed=0):
    samples = make_samples(kind, seed=seed, sizes=SIZES)
    return samples.X, samples.y, samples.task


@given(st.lists(st.integers(1, 7), min_size=2, max_size=6), st.integers(0, 100), st.booleans())
@settings(deadline=None, max_examples=40)
def test_every_task_keeps_something_to_train_with(sizes, seed, grouped):
    rng = np.random.default_rng(seed)
    task = rng.permutation(np.repeat(np.arange(len(sizes) + 1), [*sizes, 12]))
    y = rng.integers(0, 2, len(task))
    groups = rng.integers(0, 12, len(task)) if grouped else None
    if grouped:  # the large task is in all groups, so that nearly every split has rows to test
        groups[task == len(sizes)] = rng.permutation(12)
    X = np.zeros((len(task), 1))
    splitters = [
        kh.TaskStratifiedKFold(3, shuffle=True, random_state=seed),
        kh.TaskShuffleSplit(3, test_size=0.5, random_state=seed),
    ]
    for splitter in splitters:
        tested, refused = Counter(), None
        try:
            for train, test in splitter.split(X, y, groups, task=task):
                assert set(task[train]) == set(task)
                assert len(test) > 0
                tested.update(task[test].tolist())
        except ValueError as error:  # the groups of a fold may all hold the last row of a task
            refused = str(error)
        assert refused is None or (grouped and "has no test row" in refused)
        if not grouped:
            assert all(tested[name] == 0 for name, size in enumerate(sizes) if size == 1)


def test_small_tasks_are_tested_in_the_folds_they_can():
    task = np.repeat(["one", "two", "many"], [1, 2, 30])
    tests = [test for _, test in kh.TaskStratifiedKFold(5).split(np.zeros((33, 1)), task=task)]
    assert Counter(task[np.concatenate(tests)]) == {"two": 2, "many": 30}
    assert [int(np.sum(task[test] == "two")) for test in tests].count(1) == 2
    with pytest.raises(ValueError, match="split 0 has no test row"):
        next(kh.TaskStratifiedKFold(2).split(np.zeros((4, 1)), task=[1, 2, 3, 4]))


def test_whole_numbers_are_no_classes_in_regression():
    task = np.tile(["a", "b", "c"], 12)
    X, y = np.zeros((36, 1)), np.arange(36)
    for _, test in as_splits(3, X, y, None, task, classes=False):
        assert Counter(task[test]) == {"a": 4, "b": 4, "c": 4}


def by_hand(model, X, y, task, splits):
    """Return the errors and spreads of every split and task, by fits of their own."""
    names = sorted(set(task))
    error, spread = np.full((2, len(splits), len(names)), np.nan)
    for number, (train, test) in enumerate(splits):
        one = clone(model).fit(X[train], y[train], task=task[train])
        guess = one.predict(X[test], task=task[test])
        for place, name in enumerate(names):
            mine = task[test] == name
            if mine.any():
                mean = y[train][task[train] == name].mean()
                error[number, place] = np.sum((guess[mine] - y[test][mine]) ** 2)
                spread[number, place] = np.sum((y[test][mine] - mean) ** 2)
    return error, spread


@pytest.mark.parametrize("settings_", [SHARED, {"formulation": "corrected", "tol": 1e-7}])
def test_regression_is_scored_over_all_rows(settings_):
    X, y, task = table("regression")
    model = kh.MTONMKLRegressor(**settings_)
    search = kh.KernelSearchCV(model, {"beta": [0.02]}, cv=3).fit(X, y, task=task)
    splits = list(kh.TaskStratifiedKFold(3).split(X, task=task))
    error, spread = by_hand(clone(model).set_params(beta=0.02), X, y, task, splits)
    expected = 1.0 - np.nansum(error, axis=1) / np.nansum(spread, axis=1)
    results = search.cv_results_
    found = [results[f"split{k}_test_score"][0] for k in range(3)]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert results["mean_test_score"][0] == pytest.approx(expected.mean(), abs=1e-4)
    names = sorted(set(task))
    own = [results[f"mean_test_score_{name}"][0] for name in names]
    assert np.isnan(own[0])  # its only row always trains
    np.testing.assert_allclose(
        own[1:], 1.0 - np.nansum(error, axis=0)[1:] / np.nansum(spread, axis=0)[1:], atol=1e-3
    )
    assert len(pd.DataFrame(results)) == 1


@pytest.mark.parametrize("settings_", [SHARED, {"tol": 1e-7}])
def test_a_split_may_lack_a_task(settings_):
    """Rows of a task that does not train are not scored, the others as if it were not there."""
    X, y, task = table("classification")
    names = sorted(set(task))
    late = np.flatnonzero(task == names[-1])
    rng = np.random.default_rng(0)
    half = rng.permutation(np.setdiff1d(np.arange(len(y)), late))
    train, test = half[::2], np.concatenate([half[1::2], late])
    train = np.union1d(train, [np.flatnonzero(task == name)[0] for name in names[:-1]])
    test = np.setdiff1d(test, train)
    model = kh.MTONMKLClassifier(**settings_)
    search = kh.KernelSearchCV(model, {"beta": [0.02]}, cv=[(train, test)], refit=False)
    search.fit(X, y, task=task)
    one = clone(model).set_params(beta=0.02)
    with pytest.warns(UserWarning, match="only one class"):
        one.fit(X[train], y[train], task=task[train])
    known = test[task[test] != names[-1]]
    expected = one.score(X[known], y[known], task=task[known])
    assert search.best_score_ == pytest.approx(expected)
    assert np.isnan(search.cv_results_[f"mean_test_score_{names[-1]}"][0])


def test_samples_may_count_instead_of_tasks():
    X, y, task = table("classification")
    splits = list(kh.TaskStratifiedKFold(2).split(X, y, task=task))
    model = kh.MTONMKLClassifier(**SHARED)
    search = kh.KernelSearchCV(model, {"beta": [0.02]}, cv=splits, average="samples", refit=False)
    search.fit(X, y, task=task)
    shares = []
    for train, test in splits:
        one = clone(model).set_params(beta=0.02)
        with pytest.warns(UserWarning, match="only one class"):
            one.fit(X[train], y[train], task=task[train])
        shares.append(np.mean(one.predict(X[test], task=task[test]) == y[test]))
    assert search.best_score_ == pytest.approx(np.mean(shares))


def test_scores_that_few_rows_do_not_define_are_left_out():
    X, y, task = table("classification")
    model = kh.MTONMKLClassifier(**SHARED)
    search = kh.KernelSearchCV(model, {"beta": [0.02]}, cv=2, scoring="roc_auc", refit=False)
    search.fit(X, y, task=task)
    large = sorted(set(task))[-1]
    expected = []
    for train, test in kh.TaskStratifiedKFold(2).split(X, y, task=task):
        one = clone(model).set_params(beta=0.02)
        with pytest.warns(UserWarning, match="only one class"):
            one.fit(X[train], y[train], task=task[train])
        mine = test[task[test] == large]
        expected.append(roc_auc_score(y[mine], one.decision_function(X[mine], task=task[mine])))
    found = search.cv_results_[f"mean_test_score_{large}"][0]
    assert found == pytest.approx(np.mean(expected), abs=1e-6)
    assert np.isfinite(search.best_score_)
    same = [(np.arange(len(y)), np.flatnonzero(y > 0))]
    few = kh.KernelSearchCV(model, {"beta": [0.02]}, cv=same, scoring="roc_auc")
    with pytest.raises(ValueError, match="scoring is not defined on any test part"):
        few.fit(X, y, task=task)


def test_every_task_has_its_own_parameters_even_if_never_tested():
    X, y, task = table("classification")
    search = kh.KernelSearchCV(
        kh.MTONMKLClassifier(kernels="paper"), {"C": [0.1, 10.0]}, cv=3, per_task=True
    )
    with pytest.warns(UserWarning, match="only one class") as heard:
        search.fit(X, y, task=task)
    assert len(heard) == 1
    assert set(search.best_params_) == set(task)
    assert search.predict(X, task=task).shape == y.shape


@pytest.mark.parametrize("sharing", ["independent", "functions"])
def test_starts_of_splits_that_lack_a_task_are_not_mixed_up(sharing):
    X, y, task = table("regression")
    names = sorted(set(task))
    rows = np.arange(len(y))
    without = np.flatnonzero(task != names[-1])
    splits = [(without[::2], without[1::2]), (rows[rows % 3 > 0], rows[rows % 3 == 0])]
    search = kh.KernelSearchCV(
        kh.MTONMKLRegressor(relation=sharing), {"beta": [1e-3, 0.1]}, cv=splits
    ).fit(X, y, task=task)
    assert search.best_estimator_.dual_gap_ <= 1e-3


def test_constant_columns_and_repeated_rows():
    X, y, task = table("regression")
    model = kh.MTONMKLRegressor(**SHARED)
    plain = clone(model).fit(X, y, task=task).predict(X, task=task)
    padded = np.column_stack([X, np.zeros(len(X))])
    same = clone(model).fit(padded, y, task=task).predict(padded, task=task)
    np.testing.assert_allclose(same, plain, atol=1e-3)
    level = np.column_stack([X, np.full(len(X), 7.0)])
    assert clone(model).fit(level, y, task=task).dual_gap_ <= 1e-7
    twice = clone(model).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2), task=np.repeat(task, 2))
    weighted = clone(model).fit(X, y, task=task, sample_weight=np.full(len(y), 2.0))
    assert twice.objective_ == pytest.approx(weighted.objective_, rel=1e-5)
    np.testing.assert_allclose(
        twice.predict(X, task=task), weighted.predict(X, task=task), atol=1e-2
    )


def test_a_refit_whose_given_weights_lead_nowhere_starts_from_nothing(monkeypatch):
    """On tasks of a few rows, weights that were averaged over splits have been seen to stall."""
    minimise, tried = MTONMKL.minimise, []

    def stalled(self, blocks, penalty, problem, *starts):
        found = minimise(self, blocks, penalty, problem, *starts)
        tried.append(problem.weights is not None)
        return found._replace(trace=np.array([[found.objective, 0.5]])) if tried[-1] else found

    monkeypatch.setattr(MTONMKL, "minimise", stalled)
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = kh.MTONMKLClassifier(relation="independent", kernels="paper")
    fit_from(model, X, X[:, 0] > 0.0, None, None, [np.full(10, 0.1)])
    assert tried == [True, False]
    assert model.dual_gap_ <= 1e-3
