import sys

import numpy as np
import pytest

from kernelhood.datasets import load_digits_tasks, make_multitask

PARTS = {"X", "y", "task", "task_names", "feature_names", "sample_id", "DESCR"}


def test_frames_hold_the_same_numbers_as_arrays():
    pd = pytest.importorskip("pandas")
    arrays, frames = load_digits_tasks(), load_digits_tasks(as_frame=True)
    assert isinstance(frames.X, pd.DataFrame)
    assert list(frames.X.columns) == arrays.feature_names
    for part in ("X", "y", "task", "sample_id"):
        np.testing.assert_array_equal(frames[part].to_numpy(), arrays[part])
    assert [frames[part].name for part in ("y", "task", "sample_id")] == ["y", "task", "sample_id"]


def test_all_parts_are_there():
    assert set(load_digits_tasks()) == PARTS
    assert set(make_multitask()) > PARTS


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'kernelhood\[pandas\]'"):
        load_digits_tasks(as_frame=True)
    load_digits_tasks()
