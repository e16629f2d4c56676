"""A kernel, a relation, a loss, a penalty and a method from outside, each a few lines long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import RegressorMixin
from sklearn.metrics.pairwise import euclidean_distances

import kernelhood as kh
from kernelhood.estimators.base import MultiTaskModel
from kernelhood.estimators.data import TaskSolution
from kernelhood.estimators.docs import estimator
from kernelhood.estimators.formulations import Coefficients, Formulation
from kernelhood.estimators.method import Method
from kernelhood.losses import Loss, box_loss
from kernelhood.penalties import Penalty, Simplex
from kernelhood.relations import TaskRelation
from kernelhood.solvers.loop import solve
from kernelhood.solvers.problem import Problem
from tests.references import make_samples


@dataclass(frozen=True)
class Chain(TaskRelation):
    """Tasks in a row: the nearer, the more alike."""

    length: float = 1.0

    @property
    def key(self):
        return "chain", self.length

    def matrices(self, tasks):
        place = np.arange(len(tasks))
        near = np.exp(-np.abs(place[:, None] - place) / self.length)
        return np.stack([near, np.eye(len(tasks))])


@dataclass(frozen=True)
class Quantile(Loss):
    """The pinball loss."""

    level: float

    def box(self, target, cost):
        return box_loss(target, -(1.0 - self.level) * cost, self.level * cost)


class SquaredWeights(Penalty):
    """R = 1/2 sum_m price_m theta_m^2, whose conjugate is known."""

    def __init__(self, price):
        self.price = price

    def value(self, weights):
        return 0.5 * float(self.price @ weights**2)

    def slope(self, weights):
        return self.price * weights

    def curvature(self, weights):
        return np.diag(self.price)

    def lower_bound(self, dual):
        return dual.gain - 0.5 * float(np.sum(np.maximum(dual.q, 0.0) ** 2 / self.price))

    def start(self):
        return np.full(len(self.price), 1.0 / len(self.price))

    def restricted(self, kept, scale):
        return SquaredWeights(self.price[kept] * scale**2)


@dataclass(frozen=True)
class Squared(Formulation):
    """MT-ONMKL with that penalty."""

    def coefficients(self, eta, beta):
        return Coefficients(1.0, 0.0, beta, 0.0)

    def penalty(self, terms, gram, d, n_samples):
        return SquaredWeights(terms.a * d)


@dataclass(frozen=True)
class Cauchy(kh.Kernel):
    """One over one plus a squared distance."""

    spread: float = 1.0

    def evaluate(self, X, Z):
        return 1.0 / (1.0 + euclidean_distances(X, Z, squared=True) / self.spread**2)

    def diagonal(self, X):
        return np.ones(X.shape[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class SumToOne(Method):
    """Weights that sum to one, each task on its own."""

    def solve_task(self, kernels, problem):
        task = Problem(kernels.blocks(problem), Simplex(np.ones(len(kernels.Ks)), 1.0))
        start = problem.carried  # the same model with another C, in a search
        return TaskSolution(solve(task, start=start, tol=self.tol, max_iter=self.max_iter))


@estimator
class SumToOneRegressor(RegressorMixin, MultiTaskModel):
    """Support vector regression with kernel weights that sum to one."""

    _method = SumToOne
    score = MultiTaskModel.score

    epsilon: float = 0.1


def searched(model, grid, data):
    search = kh.KernelSearchCV(model, grid, cv=3).fit(data.X, data.y, task=data.task)
    assert np.all(search.cv_results_["max_gap"] <= 1e-3)
    assert search.predict(data.X, task=data.task).shape == data.y.shape
    return search


@pytest.mark.parametrize("formulation", ["corrected", "normalized", "printed"])
@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("cache_size", [1000.0, 0.0])
def test_a_relation_is_one_task_with_the_kernels_it_stands_for(formulation, kind, cache_size):
    """With a common intercept the joint model is a single task on the matrices B_r * K^m."""
    data = make_samples(kind)
    estimator = kh.MTONMKLClassifier if kind == "classification" else kh.MTONMKLRegressor
    bank = kh.default_bank()[0:4]
    settings = {"formulation": formulation, "beta": 0.05, "tol": 1e-6}
    model = estimator(
        relation=Chain(2.0),
        intercept="common",
        kernels=bank,
        operator=kh.Dense(cache_size=cache_size),
        **settings,
    )
    model.fit(data.X, data.y, task=data.task)
    number = np.array([model.tasks_.index(name) for name in data.task])
    matrices = [
        B[number][:, number] * K for B in Chain(2.0).matrices(model.tasks_) for K in bank(data.X)
    ]
    rows = np.arange(len(data.y))[:, None]
    alone = estimator(kernels=[kh.Precomputed(K) for K in matrices], **settings).fit(rows, data.y)
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(alone.objective_, rel=3e-6)
    function = "decision_function" if kind == "classification" else "predict"
    together = getattr(model, function)(data.X, task=data.task)
    np.testing.assert_allclose(together, getattr(alone, function)(rows), atol=2e-2)


def test_a_relation_is_searched_like_any_parameter():
    data = make_samples("regression")
    grid = {"relation": ["independent", Chain(0.5), Chain(5.0)], "beta": [0.01, 0.1]}
    search = searched(kh.MTONMKLRegressor(kernels="paper", formulation="corrected"), grid, data)
    assert search.n_models_ == 6
    scores = search.cv_results_["mean_test_score"]
    assert len(np.unique(np.round(scores, 6))) == 6
    again = kh.KernelSearchCV(
        kh.MTONMKLRegressor(kernels="paper", formulation="corrected", relation=Chain(5.0)),
        {"beta": [0.01, 0.1]},
        cv=3,
    ).fit(data.X, data.y, task=data.task)
    alike = [params["relation"] == Chain(5.0) for params in search.cv_results_["params"]]
    np.testing.assert_allclose(scores[alike], again.cv_results_["mean_test_score"], atol=2e-3)


def test_a_relation_without_a_common_function_refuses_unseen_tasks():
    data = make_samples("regression")
    model = kh.MTONMKLRegressor(relation=Chain()).fit(data.X, data.y, task=data.task)
    with pytest.raises(ValueError, match="not seen in fit"):
        model.predict(data.X[:1], task=["another"])
    with pytest.raises(ValueError, match="unseen_task"):
        kh.MTONMKLRegressor(relation=Chain(), unseen_task="shared").fit(
            data.X, data.y, task=data.task
        )


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("sharing", ["independent", "functions"])
def test_a_loss_covers_what_it_says(level, sharing):
    data = make_samples("regression", sizes=(40, 60))
    model = kh.MTONMKLRegressor(
        kernels="paper", loss=Quantile(level), formulation="corrected", beta=0.5, tol=1e-6
    )
    model.set_params(relation=sharing).fit(data.X, data.y, task=data.task)
    assert model.dual_gap_ <= 1e-6
    rest = data.y - model.predict(data.X, task=data.task)
    for name in model.tasks_:
        own = rest[data.task == name]
        # The share below lies between those strictly below and those not above, up to the gap.
        slack = 1e-3 * np.abs(data.y).max()
        assert np.mean(own < -slack) <= level + 1e-9
        assert np.mean(own <= slack) >= level - 1e-9


def test_a_parameter_of_a_loss_is_searched_apart():
    """The boxes of one loss must not serve another."""
    data = make_samples("regression")
    model = kh.MTONMKLRegressor(kernels="paper", formulation="corrected", beta=0.05)
    grid = {"loss": [Quantile(0.2), Quantile(0.8)]}
    search = searched(model, grid, data)
    for number, loss in enumerate(grid["loss"]):
        alone = kh.KernelSearchCV(model, {"loss": [loss]}, cv=3).fit(data.X, data.y, task=data.task)
        score = search.cv_results_["mean_test_score"][number]
        assert score == pytest.approx(alone.cv_results_["mean_test_score"][0], abs=1e-3)


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("sharing", ["independent", "functions"])
def test_a_penalty_is_certified_and_searched(kind, sharing):
    data = make_samples(kind)
    estimator = kh.MTONMKLClassifier if kind == "classification" else kh.MTONMKLRegressor
    model = estimator(formulation=Squared(), relation=sharing, beta=0.05, tol=1e-7)
    model.fit(data.X, data.y, task=data.task)
    assert model.dual_gap_ <= 1e-7
    loose = estimator(formulation=Squared(), relation=sharing, beta=0.05)
    loose.fit(data.X, data.y, task=data.task)
    excess = (loose.objective_ - model.objective_) / model.objective_
    assert -1e-7 <= excess <= loose.dual_gap_ + 1e-7
    searched(loose, {"beta": [0.01, 0.1], "C": [1.0, 4.0]}, data)


def test_a_kernel_is_one_of_the_bank():
    data = make_samples("regression")
    bank = [kh.Gaussian(1.0), Cauchy(2.0)]
    model = kh.MTONMKLRegressor(kernels=bank, formulation="corrected", beta=0.01, tol=1e-6)
    model.fit(data.X, data.y, task=data.task)
    matrix = kh.Precomputed(Cauchy(2.0).evaluate(data.X, data.X))
    rows, near = np.arange(len(data.y))[:, None], kh.Gaussian(1.0).evaluate(data.X, data.X)
    given = model.set_params(kernels=[kh.Precomputed(near), matrix])
    objective = model.objective_
    assert given.fit(rows, data.y, task=data.task).objective_ == pytest.approx(objective, rel=3e-6)


def test_a_method_is_a_model_that_is_searched():
    """The method is ITL with p = 1."""
    data = make_samples("regression")
    model, itl = SumToOneRegressor(tol=1e-7), kh.ITLRegressor(tol=1e-7)
    for one in (model, itl):
        one.set_params(kernels="paper", C=3.0).fit(data.X, data.y, task=data.task)
    assert model.objective_ == pytest.approx(itl.objective_, rel=3e-7)
    search = searched(SumToOneRegressor(kernels="paper"), {"C": [0.5, 2.0]}, data)
    assert search.n_models_ == 2
