import numpy as np
import pytest

from kernelhood.penalties import DualPoint, Linear, Simplex
from kernelhood.solvers.problem import Solution, recertified, relative_gap, solved_ahead, svm_gap


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


def test_the_gap_of_svms_without_a_value_is_relative_to_the_floor():
    dual = DualPoint(0.0, np.zeros(2), 0.0)
    assert svm_gap(1e-9, dual, np.ones(2), 1e-3) == pytest.approx(1e-6)
    assert svm_gap(1e-9, dual, np.ones(2)) == pytest.approx(1.0)


@pytest.mark.parametrize("tol", [1e-3, 1e-2, 0.1, 0.3])
@pytest.mark.parametrize("first", [0.1, 0.23, 0.25])
def test_penalties_that_are_solved_ahead_are_those_that_certify_one_by_one(first, tol):
    found = solution([1.0, 2.0], gain=3.75)
    prices = np.linspace(first, 0.4, 40)

    def penalty_of(number):
        looked.append(number)
        return Linear(np.full(2, prices[number]))

    looked = []
    count = solved_ahead(found, penalty_of, len(prices), tol)
    assert len(set(looked)) <= 8
    one_by_one = [recertified(found, Linear(np.full(2, price)), tol) for price in prices]
    expected = next((n for n, one in enumerate(one_by_one) if one is None), len(prices))
    assert count == expected


def test_nothing_ahead_is_nothing_solved():
    assert solved_ahead(solution([1.0, 2.0]), lambda _: pytest.fail("none"), 0, 1.0) == 0
