import numpy as np
import pytest
from sklearn.datasets import load_digits

from kernelhood.datasets import load_digits_tasks


def test_each_task_holds_all_images_of_its_two_digits():
    digits, source = load_digits_tasks(), load_digits()
    assert digits.task_names == ["3/8", "4/9", "1/7", "5/6", "1/8", "2/3", "5/8", "7/9"]
    for name in digits.task_names:
        rows = digits.task == name
        expected = np.isin(source.target, [int(digit) for digit in name.split("/")])
        assert rows.sum() == expected.sum()
        np.testing.assert_array_equal(digits.sample_id[rows], np.flatnonzero(expected))


def test_rows_are_the_images_that_their_ids_name():
    digits, source = load_digits_tasks(), load_digits()
    np.testing.assert_array_equal(digits.X * 16, source.data[digits.sample_id])
    np.testing.assert_array_equal(digits.y, source.target[digits.sample_id])
    assert digits.X.min() == 0
    assert digits.X.max() == 1


def test_pairs_can_be_chosen():
    digits = load_digits_tasks(pairs=["0/1"])
    assert set(digits.y) == {0, 1}
    assert set(digits.task) == {"0/1"}


def test_frame():
    pytest.importorskip("pandas")
    assert load_digits_tasks(as_frame=True).X.shape == load_digits_tasks().X.shape
