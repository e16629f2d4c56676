import numpy as np
import pytest

from kernelhood.penalties import Linear, Simplex
from kernelhood.solvers.solution import Solution, recertified, relative_gap


def solution(weights, *, svm_value=3.0, gain=4.0, q=(0.25, 0.25)):
    trace = np.array([[7.0, 0.5]])
    nothing = np.zeros(3)
    return Solution(
        np.array(weights), nothing, np.zeros(1), 7.0, svm_value, gain, np.array(q), 1, trace
    )


def test_gaps_are_relative_to_the_objective_or_the_svms_part():
    assert relative_gap(0.5, 10.0, 2.0) == pytest.approx(0.05)
    assert relative_gap(0.5, -10.0, 2.0) == pytest.approx(0.05)
    assert relative_gap(0.5, -1e-3, 2.0) == pytest.approx(0.25)


def test_no_gap_is_negative_and_none_is_hidden():
    assert relative_gap(-1e-16, 1.0, 1.0) == 0.0
    assert relative_gap(0.0, 0.0, 0.0) == 0.0
    assert relative_gap(-1e-3, 1.0, 1.0) == pytest.approx(1e-3)


def test_a_solution_knows_its_gaps():
    found = solution([1.0, 2.0], gain=3.75)
    assert found.gap == 0.5
    assert found.dual.gain == 3.75
    assert found.svm_gap == pytest.approx(0.0, abs=1e-12)
    assert solution([1.0, 2.0], gain=3.7).svm_gap == pytest.approx((3.0 - 3.7 + 0.75) / 3.0)


def test_a_certificate_for_another_penalty_has_its_own_objective():
    found = solution([1.0, 2.0], gain=3.75)
    price = Linear(np.array([0.25, 0.25]))
    again = recertified(found, price, 1e-6)
    assert again.objective == pytest.approx(3.75)
    assert again.gap == pytest.approx(0.0, abs=1e-9)
    assert again.n_iter == 0
    assert recertified(found, Linear(np.array([0.5, 0.25])), 1e-6) is None
    assert recertified(found, Linear(np.array([0.5, 0.25])), 0.5).gap > 0.0


def test_weights_outside_the_set_have_no_certificate():
    found = solution([1.0, 2.0], gain=3.75)
    assert recertified(found, Simplex(np.ones(2), 3.0), 1.0) is not None
    assert recertified(found, Simplex(np.ones(2), 4.0), 1.0) is None
