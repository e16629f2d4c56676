import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kernelhood.estimators.reading import (
    check_task,
    known_tasks,
    missing,
    rows_by_label,
    split_by_column,
    split_by_label,
    take_column,
)

LABELS = st.one_of(st.integers(-3, 3), st.text(max_size=2), st.tuples(st.integers(0, 2)))


@given(labels=st.lists(LABELS, min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_every_row_belongs_to_the_task_of_its_label(labels):
    task = check_task(labels, len(labels))
    y = np.arange(len(labels))
    found = split_by_label(task, y)
    assert {one.name for one in found} == set(labels)
    assert sorted(np.concatenate([one.rows for one in found]).tolist()) == y.tolist()
    for one in found:
        assert [labels[row] for row in one.rows] == [one.name] * len(one.rows)
        np.testing.assert_array_equal(one.y, one.rows)
        assert np.all(np.diff(one.rows) > 0)


def test_labels_are_sorted_where_they_can_be():
    assert list(rows_by_label(check_task(["b", "a", "b"], 3))) == ["a", "b"]
    assert list(rows_by_label(check_task(["b", 1, "a"], 3))) == ["b", 1, "a"]


def test_numpy_labels_become_plain_ones():
    assert [type(name) for name in rows_by_label(check_task(np.array([2, 1]), 2))] == [int, int]


def test_columns_of_targets_skip_what_is_missing():
    y = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]])
    first, second = split_by_column(y)
    assert (first.name, first.rows.tolist(), first.y.tolist()) == (0, [0, 2], [1.0, 3.0])
    assert (second.name, second.rows.tolist(), second.y.tolist()) == (1, [1, 2], [2.0, 4.0])


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.array([1.0, np.nan]), [False, True]),
        (np.array(["a", None, np.nan], dtype=object), [False, True, True]),
        (np.array([1, 2]), [False, False]),
        (np.array(["a", "nan"]), [False, False]),
    ],
)
def test_missing(y, expected):
    assert missing(y).tolist() == expected


@pytest.mark.parametrize("column", [1, -2])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, sparse.coo_array, pd.DataFrame])
def test_a_column_is_taken_out(column, wrap):
    X = np.arange(6.0).reshape(2, 3)
    rest, taken = take_column(wrap(X), column)
    rest = rest.toarray() if sparse.issparse(rest) else np.asarray(rest)
    np.testing.assert_array_equal(rest, X[:, [0, 2]])
    np.testing.assert_array_equal(taken, X[:, 1])


def test_a_named_column_is_taken_out():
    X = pd.DataFrame({"a": [1.0, 2.0], "where": ["x", "y"]})
    rest, taken = take_column(X, "where")
    assert list(rest.columns) == ["a"]
    assert taken.tolist() == ["x", "y"]
    assert list(X.columns) == ["a", "where"]


def test_one_dimension_has_no_columns():
    with pytest.raises(ValueError, match="X must be 2-dimensional to take task_column from"):
        take_column([1.0, 2.0], 0)


def test_unseen_tasks_are_named_once():
    task = check_task([*"abcdefgh", "b"], 9)
    message = "not seen in fit: 'b', 'c', 'd', 'e', 'f' and 2 more. Known are 'a'. Do this."
    with pytest.raises(ValueError, match=message):
        known_tasks(task, ["a"], "Do this.")
    known_tasks(task, list("abcdefgh"), "Do this.")
