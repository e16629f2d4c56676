"""Kernels of low rank: with all points as landmarks they are the kernels themselves."""

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.losses import BoxLoss, Loss
from kernelhood.losses.box import box_loss

N_TASKS, SIZE = 4, 15
BANK = kh.KernelBank([kh.Gaussian(1.0), kh.Gaussian(2.0), kh.Linear()])
NEAR = np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))))
RELATIONS = {
    "independent": {},
    "functions": {"sharing": "functions"},
    "mixed": {"relation": "mixed"},
    "mixed, own intercepts": {"relation": "mixed", "intercept": "task"},
    "groups": {"relation": kh.TaskGroups({t: t // 2 for t in range(N_TASKS)})},
    "similarity": {"relation": kh.TaskSimilarity(NEAR, tasks=list(range(N_TASKS)))},
    "inputs": {"relation": "inputs"},
}


class Quantile(Loss):
    """The pinball loss, a box without a tube."""

    @property
    def key(self):
        return "quantile", 0.7

    def box(self, target, cost) -> BoxLoss:
        return box_loss(target, -0.3 * cost, 0.7 * cost)


LOSSES = {
    "hinge": (kh.MTONMKLClassifier, {}),
    "epsilon-insensitive": (kh.MTONMKLRegressor, {}),
    "quantile": (kh.MTONMKLRegressor, {"loss": Quantile()}),
}


def samples(seed=0, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_TASKS * SIZE, n_features))
    task = np.repeat(np.arange(N_TASKS), SIZE)
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1] * np.cos(task) + 0.3 * task
    return X, f + 0.1 * rng.normal(size=len(X)), task


def fitted(kind, **settings):
    estimator, own = LOSSES[kind]
    X, y, task = samples()
    y = (y > 0.5).astype(int) if kind == "hinge" else y
    defaults = {"kernels": BANK, "C": 5.0, "formulation": "corrected", "beta": 0.05, "tol": 1e-7}
    return estimator(**{**defaults, **own, **settings}).fit(X, y, task=task)


def values_of(model, X, task):
    if hasattr(model, "decision_function"):
        return model.decision_function(X, task=task)
    return model.predict(X, task=task)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_points_as_landmarks_give_the_exact_model(relation, kind):
    X, _, _ = samples()
    settings = RELATIONS[relation]
    exact = fitted(kind, **settings)
    low = fitted(kind, operator="low_rank", landmarks=X, **settings)
    assert low.operator_ == "low_rank"
    assert low.dual_gap_ <= 1e-7
    assert low.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    new, _, of = samples(seed=1)
    order = np.random.default_rng(0).permutation(len(new))
    np.testing.assert_allclose(
        values_of(low, new[order], of[order]), values_of(exact, new[order], of[order]), atol=2e-2
    )
    np.testing.assert_allclose(low.approximation_, 1.0)


@pytest.mark.parametrize("formulation", ["normalized", "printed"])
@pytest.mark.parametrize("relation", ["independent", "functions", "mixed", "similarity"])
def test_frobenius_products_are_those_of_the_kernels(formulation, relation):
    X, _, _ = samples()
    settings = {"formulation": formulation, "eta": 16.0, "tol": 1e-5, **RELATIONS[relation]}
    exact = fitted("epsilon-insensitive", **settings)
    low = fitted("epsilon-insensitive", operator="low_rank", landmarks=X, **settings)
    assert low.objective_ == pytest.approx(exact.objective_, rel=2e-5)
    np.testing.assert_allclose(low.gram_, exact.gram_, rtol=1e-6)
