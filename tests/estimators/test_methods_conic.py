"""Optimal values of all methods against a conic solver, on tasks of unequal size."""

from __future__ import annotations

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.estimators import METHODS
from tests.estimators import conic
from tests.references import make_samples

BANK = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0), kh.Gaussian(3.0)])
KINDS = ("classification", "regression")
C = {"classification": 2.0, "regression": 5.0}
EPSILON = {"classification": None, "regression": 0.1}

each_kind = pytest.mark.parametrize("kind", KINDS)


def fitted(name, kind, **options):
    """Return the fitted model, and for every task its points and targets."""
    X, y, task = make_samples(kind)
    options.setdefault("kernels", BANK)
    cls = METHODS[name][KINDS.index(kind)]
    model = cls(C=C[kind], tol=1e-9, **options).fit(X, y, task=task)
    return model, [(X[task == one], y[task == one]) for one in model.tasks_]


def duals(tasks, kind, bank=BANK):
    return [conic.Dual(bank(X), y, C[kind], EPSILON[kind]) for X, y in tasks]


@each_kind
@pytest.mark.parametrize("p", [1.0, 4.0 / 3.0, 2.0, np.inf])
def test_itl(kind, p):
    model, tasks = fitted("itl", kind, p=p)
    expected = sum(conic.independent(dual, p) for dual in duals(tasks, kind))
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    norms = np.linalg.norm(model.weights_, ord=p, axis=1)
    np.testing.assert_allclose(norms, 1.0, rtol=1e-9)


@each_kind
@pytest.mark.parametrize("budget", [0.0, 0.3, 1.0])
def test_mtmkl(kind, budget):
    model, tasks = fitted("mt-mkl", kind, sharing_budget=budget)
    expected = conic.shared(duals(tasks, kind), budget)
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    assert model.shared_weights_.sum() == pytest.approx(budget)
    np.testing.assert_allclose(model.specific_weights_.sum(axis=1), 1.0 - budget)
    assert model.specific_weights_.min() >= 0.0


@each_kind
@pytest.mark.parametrize("rho", [0.25, 10.0])
@pytest.mark.parametrize("level", [1, 3])
def test_rpkl(kind, rho, level):
    model, tasks = fitted("rpkl", kind, rho=rho, spread_level=level, kernels=None)
    expected = 0.0
    for X, y in tasks:
        D = np.square(X[:, None] - X[None]).sum(axis=2)
        Ks = np.exp(-D / (4.0 ** (level - 1) * D.mean()))[None]
        expected += conic.near_one_kernel(conic.Dual(Ks, y, C[kind], EPSILON[kind]), rho)
    assert model.objective_ == pytest.approx(expected, rel=1e-5)


@each_kind
@pytest.mark.parametrize("rho", [0.1, 10.0])
def test_onjkl(kind, rho):
    model, tasks = fitted("onjkl", kind, rho=rho)
    expected = sum(conic.near_a_combination(dual, rho) for dual in duals(tasks, kind))
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0)


@each_kind
@pytest.mark.parametrize("eta", [1e-3, 1.0])
def test_kta(kind, eta):
    model, tasks = fitted("kta", kind, eta=eta)
    expected = sum(conic.aligned(BANK(X), y, C[kind], eta, EPSILON[kind]) for X, y in tasks)
    assert model.objective_ == pytest.approx(expected, rel=1e-5)


@each_kind
def test_centred_kta(kind):
    model, tasks = fitted("kta", kind, centered=True)
    expected = [conic.centred_alignment(BANK(X), y) for X, y in tasks]
    np.testing.assert_allclose(model.weights_, expected, atol=1e-5)
