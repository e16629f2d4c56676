"""Folds that survive tiny tasks, tasks of one class, and rows of several tasks."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelhood.estimators.calibration import deal_folds


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=40))
def test_every_sample_is_left_out_once_but_for_what_tasks_keep(samples):
    task, code = np.array(samples).T
    folds = deal_folds(np.arange(len(task)), task, code, task)
    times = np.sum(folds, axis=0) if folds else np.zeros(len(task), dtype=int)
    assert times.max() <= 1
    for one in np.unique(task):
        own = task == one
        assert np.sum(times[own] == 0) <= 1
        assert not any(fold[own].all() for fold in folds)
        if own.sum() > 1 and len(task) == own.sum():
            assert times[own].all()


def test_classes_of_a_task_are_dealt_out_evenly():
    rng = np.random.default_rng(0)
    task, code = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    for fold in deal_folds(np.arange(200), task, code, task):
        for stratum in range(6):
            own = 2 * task + code == stratum
            assert abs(fold[own].sum() - own.sum() / 5) <= 1.0


def test_a_row_is_left_out_of_all_its_tasks_at_once():
    row, task = np.tile(np.arange(20), 3), np.repeat(np.arange(3), 20)
    code = np.random.default_rng(0).integers(0, 2, 60)
    for fold in deal_folds(row, task, code, task):
        parts = fold.reshape(3, 20)
        assert np.all(parts == parts[0])


def test_labels_that_have_to_stay_keep_a_sample():
    code = np.array([0, 1, 1, 2, 2, 2])
    folds = deal_folds(np.arange(6), np.zeros(6, dtype=int), code, code)
    assert not any(fold[0] for fold in folds)
    assert all(set(code[~fold]) == {0, 1, 2} for fold in folds)
