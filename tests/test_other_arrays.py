"""Arrays of other libraries come in as NumPy's, by the protocol that they all have."""

import numpy as np
import pytest

import kernelhood as kh
from tests.references import make_samples


class Tensor:
    """An array of some other library: a shape, a type and `__array__`, and no NumPy."""

    def __init__(self, values):
        self._values = np.asarray(values)
        self.shape, self.ndim = self._values.shape, self._values.ndim

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype=dtype)


class OnDevice(Tensor):
    """One in the memory of another device, which has to be asked for."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


@pytest.mark.parametrize("estimator", [kh.KernelhoodRegressor(), kh.ITLRegressor(kernels="small")])
def test_tensors_are_read_as_arrays(estimator):
    data = make_samples("regression")
    expected = estimator.fit(data.X, data.y, task=data.task).predict(data.X, task=data.task)
    X, task = Tensor(data.X), Tensor(data.task)
    found = estimator.fit(X, Tensor(data.y), task=task).predict(X, task=task)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected)


def test_an_array_of_another_device_is_refused_by_its_own_words():
    data = make_samples("regression")
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        kh.KernelhoodRegressor().fit(OnDevice(data.X), data.y, task=data.task)


def test_a_label_is_no_sequence_of_labels():
    data = make_samples("regression")
    for task in ("a", 3, np.array("a"), Tensor("a")):
        with pytest.raises(TypeError, match="task must be a sequence of labels"):
            kh.KernelhoodRegressor().fit(data.X, data.y, task=task)
