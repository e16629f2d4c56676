import itertools

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.solvers.dual_average import DualVector, LowerBound
from kernelhood.solvers.family import as_family
from kernelhood.solvers.mkl import solve_mkl
from kernelhood.solvers.penalty import Penalty, dual_bound
from tests.solvers.problems import LOSSES, dual_terms, points, simplex, stack, trace_price

PENALTIES = {
    "trace": lambda Ks: trace_price(Ks, 0.05),
    "trace and squares": lambda Ks: trace_price(Ks, 0.02, 1e-4),
    "simplex": lambda Ks: simplex(len(Ks)),
}


def gain(terms, v):
    return terms.target @ v - terms.epsilon * np.abs(v).sum()


def vector(family, terms, rng):
    """Return any vector in the box that sums to zero."""
    sides = [rng.uniform(size=family.n_samples) * side for side in (terms.upper, terms.lower)]
    v = sides[0] / sides[0].sum() - sides[1] / sides[1].sum()
    v *= rng.uniform() * np.min(np.where(v > 0.0, terms.upper, terms.lower) / v)
    products = family.no_products()
    family.add_products(v, products)
    return DualVector(v, products, gain(terms, v), family.curvatures(products, v))


@pytest.fixture(params=LOSSES)
def problem(request):
    X, sign = points(40)
    Ks, terms = stack(X)[[0, 2, 4]], dual_terms(request.param, X, sign, 1.0)
    family, rng = as_family(Ks), np.random.default_rng(0)
    return Ks, terms, family, [vector(family, terms, rng) for _ in range(6)]


@pytest.mark.parametrize("kind", PENALTIES)
def test_the_best_average_of_two_is_found(kind, problem):
    Ks, terms, family, vectors = problem
    penalty, helped = PENALTIES[kind](Ks), []
    for one, other in itertools.combinations(vectors, 2):
        bound = LowerBound(family, terms, penalty)
        for new in (one, other):
            bound.add(new, average=True)
        values = []
        for share in np.linspace(0.0, 1.0, 201):
            v = (1.0 - share) * one.v + share * other.v
            curvatures = 0.5 * np.einsum("mij,i,j->m", Ks, v, v)
            values.append(dual_bound(penalty, gain(terms, v), curvatures))
        assert bound.value >= max(values) - 1e-6 * abs(max(values))
        assert bound.value == pytest.approx(max(values), rel=0.01)
        helped.append(max(values) > max(values[0], values[-1]))
    assert any(helped)  # or averages would not matter


@pytest.mark.parametrize("kind", PENALTIES)
def test_averages_stay_below_the_optimum_and_never_fall(kind, problem):
    Ks, terms, family, vectors = problem
    penalty = PENALTIES[kind](Ks)
    best = solve_mkl(Ks, terms, penalty, tol=1e-8).objective
    bound, before = LowerBound(family, terms, penalty), -np.inf
    for new in vectors * 3:
        bound.add(new, average=True)
        assert before <= bound.value <= best * (1.0 + 1e-9)
        before = bound.value


def test_vectors_alone_count_too_and_are_not_averaged(problem):
    Ks, terms, family, (one, other, *_) = problem
    penalty = trace_price(Ks, 0.05)
    bound = LowerBound(family, terms, penalty)
    for new in (one, other):
        bound.add(new, average=False)
    alone = [dual_bound(penalty, new.gain, new.curvatures) for new in (one, other)]
    assert bound.value == max(alone)


def test_a_concave_penalty_has_no_bound(problem):
    _, terms, family, (one, *_) = problem
    concave = Penalty(np.zeros(3), -np.eye(3), np.ones(3), 1.0)
    bound = LowerBound(family, terms, concave)
    bound.add(one, average=True)
    assert bound.value == -np.inf


def test_where_no_vector_alone_bounds_the_value_averages_do(monkeypatch):
    alone, bounds = [], set()
    add = LowerBound.add

    def noted(self, new, *, average):
        alone.append(dual_bound(self.penalty, new.gain, new.curvatures))
        bounds.add(self)
        add(self, new, average=average)

    monkeypatch.setattr(LowerBound, "add", noted)
    data = kh.datasets.make_multitask(
        20, 20, kind="regression", noise=0.1, relatedness=0.7, random_state=1
    )
    model = kh.MTONMKLRegressor(formulation="corrected", sharing="functions", beta=1.0)
    model.fit(data.X, data.y, task=data.task)
    assert model.dual_gap_ <= 1e-3
    assert len(bounds) == 1
    assert bounds.pop().value > max(alone)
