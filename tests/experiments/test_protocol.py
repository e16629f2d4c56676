import numpy as np
import pytest

from kernelhood.datasets import load_digits_tasks
from kernelhood.experiments.protocol import run_seed, split_rows


def test_every_task_and_class_is_split_alike():
    data = load_digits_tasks()
    parts = split_rows(data.task, data.sample_id, data.y, train_fraction=0.2, seed=1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(data.y)))
    for rows, share in zip(parts, (0.2, 0.4, 0.4), strict=True):
        for task in data.task_names:
            for digit in task.split("/"):
                mine = (data.task == task) & (data.y == int(digit))
                assert mine[rows].sum() == pytest.approx(share * mine.sum(), abs=1)


def test_no_object_is_in_two_parts():
    data = load_digits_tasks()
    parts = split_rows(data.task, data.sample_id, data.y, train_fraction=0.2, seed=1)
    ids = [set(data.sample_id[rows]) for rows in parts]
    assert not ids[0] & ids[1]
    assert not (ids[0] | ids[1]) & ids[2]


def test_regression_tasks_on_the_same_objects_share_one_split():
    task, ids = np.repeat(["a", "b"], 50), np.tile(np.arange(50), 2)
    parts = split_rows(task, ids, None, train_fraction=0.2, seed=0)
    for rows, size in zip(parts, (10, 20, 20), strict=True):
        assert np.array_equal(ids[rows][:size], ids[rows][size:])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_small_strata_reach_every_part_that_they_can(size):
    parts = split_rows(np.zeros(size), np.arange(size), None, train_fraction=0.2, seed=0)
    assert len(parts.train) == 1
    if size >= 3:
        assert min(map(len, parts)) >= 1
        assert abs(len(parts.validation) - len(parts.test)) <= 1


def test_the_seed_decides():
    arguments = (np.zeros(60), np.arange(60), None)
    first, again, other = (split_rows(*arguments, train_fraction=0.5, seed=s) for s in (3, 3, 4))
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)


def test_runs_and_data_sets_have_seeds_of_their_own():
    seeds = {
        run_seed(seed, name, number)
        for seed in (0, 1)
        for name in ("spam", "load")
        for number in range(5)
    }
    assert len(seeds) == 20
    assert run_seed(0, "spam", 3) == run_seed(0, "spam", 3)
