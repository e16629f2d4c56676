from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import PredefinedSplit, cross_val_score

import kernelhood as kh
from kernelhood.search.splits import as_splits

SPLITTERS = [
    kh.TaskStratifiedKFold(4, shuffle=True, random_state=0),
    kh.TaskShuffleSplit(3, test_size=0.25, random_state=0),
]


def rows(rng, n=240):
    task = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    return np.zeros((n, 1)), rng.choice([0, 1], n, p=[0.8, 0.2]), task


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_every_class_of_every_task_keeps_its_share(splitter, rng):
    X, y, task = rows(rng)
    everywhere = Counter(zip(task.tolist(), y.tolist(), strict=True))
    splits = list(splitter.split(X, y, task=task))
    assert len(splits) == splitter.get_n_splits()
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(len(y)))
        found = Counter(zip(task[test].tolist(), y[test].tolist(), strict=True))
        assert all(abs(found[key] - 0.25 * count) <= 1.0 for key, count in everywhere.items())


def test_folds_cover_every_row_once(rng):
    X, y, task = rows(rng)
    folds = [test for _, test in kh.TaskStratifiedKFold(5).split(X, y, task=task)]
    assert sorted(np.concatenate(folds)) == list(range(len(y)))


@pytest.mark.parametrize("splitter", SPLITTERS)
@given(seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=15)
def test_groups_stay_together_and_are_dealt_evenly(splitter, seed):
    rng = np.random.default_rng(seed)
    X, y, task = rows(rng)
    groups = rng.integers(0, 80, len(y))
    for train, test in splitter.split(X, y, groups, task=task):
        assert not set(groups[train]) & set(groups[test])
        assert 0.1 < len(test) / len(y) < 0.4


def test_a_letter_in_two_tasks_is_split_as_one():
    data = kh.datasets.load_digits_tasks()
    splitter = kh.TaskShuffleSplit(1, test_size=0.5, random_state=1)
    train, test = next(splitter.split(data.X, data.y, data.sample_id, task=data.task))
    assert not set(data.sample_id[train]) & set(data.sample_id[test])
    for name in set(data.task):
        part = data.task[test] == name
        assert part.sum() == pytest.approx(0.5 * np.sum(data.task == name), abs=3)


def test_seeds_decide_the_splits(rng):
    X, y, task = rows(rng)

    def first(seed):
        return next(kh.TaskShuffleSplit(1, random_state=seed).split(X, y, task=task))[1].tolist()

    assert first(0) == first(0) != first(1)


def test_continuous_and_wide_targets_are_stratified_by_task_only(rng):
    X, _, task = rows(rng)
    y = rng.normal(size=len(task))
    train, test = next(kh.TaskShuffleSplit(1, random_state=0).split(X, y, task=task))
    counts = Counter(task[test].tolist())
    assert all(abs(counts[name] - 0.5 * np.sum(task == name)) <= 1 for name in "abc")
    wide = rng.normal(size=(len(task), 2))
    assert len(next(kh.TaskStratifiedKFold(2).split(X, wide))[1]) == len(task) // 2
    assert len(next(kh.TaskStratifiedKFold(2).split(X))[1]) == len(task) // 2
    assert len(train) + len(test) == len(task)


def test_scikit_learn_takes_them_with_a_task_column(rng):
    X, y, task = rows(rng, 120)
    codes = np.unique(task, return_inverse=True)[1]
    X = np.column_stack([rng.normal(size=(120, 2)), codes])
    model = kh.MTONMKLClassifier(kernels="paper", task_column=-1)
    cv = kh.TaskStratifiedKFold(3, task_column=-1)
    assert len(cross_val_score(model, X, y, cv=cv)) == 3


def test_what_cv_may_be(rng):
    X, y, task = rows(rng, 60)
    assert len(as_splits(0.5, X, y, None, task)) == 1
    assert len(as_splits(3, X, y, None, task)) == 3
    fold = np.repeat([-1, 0], 30)
    (train, test), *rest = as_splits(PredefinedSplit(fold), X, y, None, task)
    assert (train.tolist(), test.tolist(), rest) == (list(range(30)), list(range(30, 60)), [])
    pairs = [(np.arange(30), np.arange(30, 60))]
    assert as_splits(pairs, X, y, None, task)[0][0].tolist() == list(range(30))
    column = kh.TaskShuffleSplit(2, task_column=0)
    assert len(as_splits(column, X, y, None, None)) == 2


def test_bad_arguments_are_named(rng):
    X, y, task = rows(rng, 30)
    with pytest.raises(ValueError, match="n_splits must be at least 2, got 1"):
        kh.TaskStratifiedKFold(1)
    with pytest.raises(ValueError, match="n_splits must be at least 1, got 0"):
        kh.TaskShuffleSplit(0)
    with pytest.raises(ValueError, match=r"test_size must lie between 0 and 1, got 1.5"):
        kh.TaskShuffleSplit(test_size=1.5)
    with pytest.raises(ValueError, match="n_splits=4 needs as many rows or groups, got 3"):
        next(kh.TaskStratifiedKFold(4).split(X[:3], y[:3]))
    with pytest.raises(ValueError, match="groups must hold one label per row"):
        next(kh.TaskStratifiedKFold(2).split(X, y, groups=[1, 2], task=task))
    with pytest.raises(ValueError, match="leaves no row for the test part"):
        next(kh.TaskShuffleSplit(1, test_size=0.01).split(X[:3], y[:3]))
    with pytest.raises(ValueError, match="cv gave no split"):
        as_splits([], X, y, None, task)
