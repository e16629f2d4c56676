"""What `operator=` takes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import kernelhood as kh
from kernelhood.operators.choice import Sizes


def test_landmarks_of_ones_own_count_themselves():
    points = np.arange(6.0).reshape(3, 2)
    assert kh.Landmarks(points=points).count == 3
    assert kh.Landmarks(points=sparse.csr_matrix(points)) == kh.Landmarks(points=points)


def test_equal_choices_are_equal():
    assert kh.Landmarks(5) == kh.Landmarks(5)
    assert len({kh.Landmarks(5), kh.Landmarks(5), kh.Landmarks(6), kh.Dense(), kh.Dense()}) == 3
    assert kh.Landmarks(points=[[0.0]]) != kh.Landmarks(points=[[1.0]])
    assert clone(kh.Landmarks(5), safe=False) == kh.Landmarks(5)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: kh.Dense(dtype="int8"), "dtype of Dense must be one of"),
        (lambda: kh.Dense(cache_size=-1.0), "cache_size of Dense must be a number of megabytes"),
        (lambda: kh.Dense(cache_size=np.nan), "cache_size of Dense must be a number of megabytes"),
        (lambda: kh.Landmarks(0), "count of Landmarks must be 1 or more, got 0"),
        (lambda: kh.Landmarks(2.5), "count of Landmarks must be 1 or more, got 2.5"),
        (lambda: kh.Landmarks(points=[1.0, 2.0]), r"must have shape \(n_landmarks, n_features\)"),
        (lambda: kh.Landmarks(points=[["a"]]), "points of Landmarks must be rows of numbers"),
        (lambda: kh.Landmarks(points=[[np.nan]]), "points of Landmarks must be finite"),
    ],
)
def test_what_is_wrong_is_named(make, wanted):
    with pytest.raises(ValueError, match=wanted):
        make()


def test_memory_of_many_landmarks_is_that_of_their_normal_equations():
    few, many = (Sizes(10, 10, 3, count, 1e6).low_rank for count in (1_000, 2_000))
    assert few == pytest.approx(4 * 3_000**2 * 8 / 2**20, rel=0.01)
    assert many == pytest.approx(4.0 * few, rel=0.01)
